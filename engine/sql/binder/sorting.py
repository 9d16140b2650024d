"""ORDER BY, DISTINCT, LIMIT and OFFSET (parse_clause.c: transformSortClause, transformDistinctClause,
transformLimitClause).

An item of ORDER BY, GROUP BY or DISTINCT ON is read as SQL-92's (an output column's name or number) before it is read
as SQL-99's (any expression). An expression that is no output column becomes a further, hidden column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from engine.plan_ir.expr import Expr, Node
from engine.plan_ir.logical import Limit, Ordering, OrderKey
from engine.sql.binder.blocks import Bound, extend_columns, refer
from engine.sql.binder.known_exprs import hash_of
from engine.sql.binder.levels import check_plain, own_columns
from engine.sql.binder.same_exprs import comparable, is_same
from engine.sql.binder.scope import Scope, Source, Sources
from engine.sql.parser.lexical.positions import cursor, leftmost, position
from wire.common.digits import parse_digits
from wire.dataclass import dataclass
from wire.errors import (
    AmbiguousColumn,
    FeatureNotSupported,
    InvalidColumnReference,
    SqlSyntaxError,
    UndefinedColumn,
)
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


@dataclass(slots=True)
class Target:
    """An item of a select list. hidden: whether another clause added it."""

    name: str
    expr: Expr
    hidden: bool = False
    #: The expression that `key` was computed for, and the key.
    _keyed: tuple[Expr, tuple[int | None, Expr]] | None = field(default=None, init=False, repr=False, compare=False)

    def key(self) -> tuple[int | None, Expr]:
        """Return a hash, and an expression that equals that of another target exactly if both are written alike."""
        if self._keyed is None or self._keyed[0] is not self.expr:
            self._keyed = self.expr, _key_of(self.expr)
        return self._keyed[1]


def _key_of(expr: Expr) -> tuple[int | None, Expr]:
    compared = comparable(expr)
    return hash_of(compared), compared


@dataclass(frozen=True, slots=True)
class SortItem:
    """A sort key: the index of its target."""

    target: int
    descending: bool
    nulls_first: bool
    at: int = field(compare=False)


def find_target(binder: QueryBinder, node: exp.Expression, targets: list[Target], scope: Scope, clause: str) -> int:
    """Return the target that an item refers to, which is added if it is missing (findTargetlistEntrySQL92 and -SQL99)."""
    named = _by_name(node, targets, scope, clause)
    if named is None:
        named = by_number(node, [x for x in targets if not x.hidden], clause)
    if named is not None:
        targets[named].expr = binder.expressions.settle(targets[named].expr)
        return named
    expr = binder.expressions.settle(binder.expressions.bind(node, scope))
    key = _key_of(expr)
    # Most hashes differ, so comparing with all targets costs little.
    for index, target in enumerate(targets):
        if target.key() == key:
            return index
    targets.append(Target("", expr, hidden=True))
    return len(targets) - 1


def _by_name(node: exp.Expression, targets: Sequence[Target], scope: Scope, clause: str) -> int | None:
    """Find an output column by name; in GROUP BY a column of FROM takes precedence."""
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or node.args.get("table") is not None:
        return None
    if clause == "GROUP BY" and scope.has_column(node.name, position(node)):
        return None
    found: int | None = None
    for index, target in enumerate(targets):
        if target.hidden or target.name != node.name:
            continue
        if found is not None and not is_same(targets[found].expr, target.expr):
            raise AmbiguousColumn(f'{clause} "{node.name}" is ambiguous', position=cursor(position(node)))
        found = index if found is None else found
    return found


def by_number(node: exp.Expression, targets: Sequence[object], clause: str) -> int | None:
    """Find an output column by number; any other constant is an error."""
    negative = isinstance(node, exp.Neg)
    literal = node.this if negative else node
    if not isinstance(literal, exp.Literal | exp.Null | exp.Boolean):
        return None
    at = cursor(position(node))
    if (
        not isinstance(literal, exp.Literal)
        or literal.is_string
        or not literal.name.isdecimal()
        or parse_digits(literal.name) > 2**31 - 1
    ):
        raise SqlSyntaxError(f"non-integer constant in {clause}", position=at)
    number = -parse_digits(literal.name) if negative else parse_digits(literal.name)
    if not 1 <= number <= len(targets):
        raise InvalidColumnReference(f"{clause} position {number} is not in select list", position=at)
    return number - 1


def sort_items(binder: QueryBinder, tree: exp.Expression, targets: list[Target], scope: Scope) -> list[SortItem]:
    """Return the keys of a query's ORDER BY, each target once."""
    order = tree.args.get("order")
    found: dict[int, SortItem] = {}
    for item in order.expressions if order is not None else ():
        index = find_target(binder, item.this, targets, scope, "ORDER BY")
        binder.expressions.require_ordering(replace(targets[index].expr, position=leftmost(item.this)))
        if index not in found:
            at = position(item)
            found[index] = SortItem(index, bool(item.args["desc"]), bool(item.args["nulls_first"]), at)
    return list(found.values())


def ordering(node: Node, items: Sequence[SortItem]) -> Ordering:
    """Return the keys over the columns of `node`, which are the targets."""
    return tuple(OrderKey(node.columns[i.target], i.descending, i.nulls_first) for i in items)


def add_limit(binder: QueryBinder, tree: exp.Expression, scope: Scope, bound: Bound) -> Bound:
    """Add LIMIT, OFFSET and FETCH to a bound query."""
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    skipped = _row_count(binder, offset.expression, scope, "OFFSET") if offset is not None else None
    written = None
    ties = False
    if isinstance(limit, exp.Fetch):
        written, ties = limit.args["count"], bool(limit.args.get("with_ties"))
    elif limit is not None:
        written = limit.args.get("expression")
    count = _row_count(binder, written, scope, "LIMIT") if written is not None else None
    if count is None and skipped is None:
        return bound
    plan = Limit(bound.plan.columns, bound.plan, count, skipped, bound.requirement, ties)
    return replace(bound, plan=plan)


def _row_count(binder: QueryBinder, node: exp.Expression, scope: Scope, clause: str) -> Expr:
    expr = binder.expressions.bind(node, scope)
    check_plain(expr, clause, scope)
    expr = binder.expressions.as_type(expr, t.INT8, clause)
    for column, _ in own_columns(expr, scope):
        message = f"argument of {clause} must not contain variables"
        raise InvalidColumnReference(message, position=cursor(column.position))
    return expr


def ordered_and_limited(
    binder: QueryBinder, tree: exp.Expression, scope: Scope, plan: Node, names: tuple[str, ...]
) -> Bound:
    """Add ORDER BY and LIMIT to a query other than a SELECT, with hidden columns for the expressions of its ORDER BY."""
    targets = [Target(name, refer(column)) for name, column in zip(names, plan.columns, strict=True)]
    items = sort_items(binder, tree, targets, scope)
    for target in targets:
        check_plain(target.expr, "ORDER BY", scope)
    node, columns = extend_columns(binder.context, plan, [x.expr for x in targets], "")
    requirement = tuple(OrderKey(columns[i.target], i.descending, i.nulls_first) for i in items)
    return add_limit(binder, tree, scope, Bound(node, names, requirement))


def ordered_set_operation(
    binder: QueryBinder,
    tree: exp.Expression,
    scope: Scope,
    plan: Node,
    names: tuple[str, ...],
    source: Source,
    unasked: Ordering = (),
) -> Bound:
    """Add ORDER BY and LIMIT to a set operation: by output columns only. unasked: the order of its rows without an
    ORDER BY.
    """
    order = tree.args.get("order")
    keys: list[OrderKey] = list(unasked) if order is None else []
    for item in order.expressions if order is not None else ():
        index = _output(binder, item.this, names, scope, source)
        binder.expressions.require_ordering(refer(plan.columns[index]))
        keys.append(OrderKey(plan.columns[index], bool(item.args["desc"]), bool(item.args["nulls_first"])))
    return add_limit(binder, tree, scope, Bound(plan, names, tuple(keys)))


def _output(binder: QueryBinder, node: exp.Expression, names: Sequence[str], scope: Scope, source: Source) -> int:
    number = by_number(node, names, "ORDER BY")
    if number is not None:
        return number
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or node.args.get("table") is not None:
        scope.sources = Sources([source])
        binder.expressions.bind(node, scope)
        _only_names(node)
    if node.name not in names:
        raise UndefinedColumn(f'column "{node.name}" does not exist', position=cursor(position(node)))
    if names.count(node.name) > 1:
        raise AmbiguousColumn(f'ORDER BY "{node.name}" is ambiguous', position=cursor(position(node)))
    return list(names).index(node.name)


def _only_names(node: exp.Expression) -> NoReturn:
    raise FeatureNotSupported(
        "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
        detail="Only result column names can be used, not expressions or functions.",
        hint="Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
        position=cursor(leftmost(node)),
    )

"""WITH: common table expressions, including recursive ones (parse_cte.c).

An item is bound once, where it is written. An item that is referenced once is then inlined at its reference, as
PostgreSQL does unless it is MATERIALIZED. An item that nothing references is only checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import MAX_PRECISION, SqlType
from engine.plan_ir.expr import AggregateCall, Expr, Node
from engine.plan_ir.logical import Cte, CteReader
from engine.plan_ir.rewrite import walk_all
from engine.sql.binder import search_cycle, set_operations
from engine.sql.binder.blocks import Bound, pass_through, project
from engine.sql.binder.scope import CommonTable, Scope
from engine.sql.binder.with_items import WithItem
from engine.sql.parser.lexical.positions import branch_position, cursor, leftmost, position
from wire.errors import (
    DatatypeMismatch,
    DuplicateAlias,
    FeatureNotSupported,
    InvalidColumnReference,
    InvalidRecursion,
)

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder

#: The maximum number of times that a recursive term is bound until the digits of its numerics no longer change.
_ROUNDS: Final = 4


def bind_with(binder: QueryBinder, with_: exp.With, scope: Scope) -> list[WithItem]:
    """Bind a WITH clause's items and add them to `scope`."""
    written = list(with_.expressions)
    seen: set[str] = set()
    for item in written:
        name = item.args["alias"].this.name
        if name in seen:
            message = f'WITH query name "{name}" specified more than once'
            raise DuplicateAlias(message, position=cursor(position(item)))
        seen.add(name)
    if with_.args.get("recursive"):
        written = _in_order(written)
    for item in written:
        table = CommonTable(binder.context.new_cte_id(), item.args["alias"].this.name, available=False)
        scope.ctes[table.name] = table
    recursive = bool(with_.args.get("recursive"))
    return [bound for item in written for bound in _bind_item(binder, item, scope, recursive)]


def _bind_item(binder: QueryBinder, item: exp.CTE, scope: Scope, recursive: bool) -> list[WithItem]:
    """Bind an item. The items of a recursive query's own WITH come before it, because both of its terms may read them."""
    table = scope.ctes[item.args["alias"].this.name]
    if "changes" in item.this.meta:
        message = "WITH clause containing a data-modifying statement must be at the top level"
        raise FeatureNotSupported(message, position=cursor(position(item)))
    inner: list[WithItem] = []
    if recursive and reads(item.this, table.name):
        _check_form(item, item.this, table.name)
        around = Scope(binder.context, binder, scope)
        if (with_ := item.this.args.get("with_")) is not None:
            inner = bind_with(binder, with_, around)
        cte = _bind_recursive(binder, item, table, around)
    else:
        search_cycle.refuse_of_plain(item)
        bound = binder.bind(item.this, scope)
        plan = bound.subquery_plan()
        table.columns, table.names = plan.columns, _names(item, bound.names)
        cte = Cte(table.id, table.name, plan)
    table.available = True
    return [*inner, WithItem(cte, item.args.get("materialized"))]


def _names(item: exp.CTE, names: Sequence[str]) -> tuple[str, ...]:
    alias = item.args["alias"]
    given = [c.name for c in alias.args.get("columns") or ()]
    if len(given) > len(names):
        raise InvalidColumnReference(
            f'WITH query "{alias.this.name}" has {len(names)} columns available but {len(given)} columns specified',
            position=cursor(position(item)),
        )
    return (*given, *names[len(given) :])


# -- which item reads which ---------------------------------------------------------------------------------------


def reads(tree: exp.Expression, name: str) -> bool:
    """Return whether a query reads a WITH item of that name. An inner item of the same name hides it."""
    return any(True for _ in references(tree, name))


def references(tree: exp.Expression, name: str) -> Iterator[exp.Table]:
    """Yield the places where a query reads `name`."""
    if isinstance(tree, exp.Table) and not tree.args.get("rows_from"):
        if tree.name == name and tree.args.get("db") is None:
            yield tree
        return
    with_ = tree.args.get("with_")
    if with_ is not None and any(c.args["alias"].this.name == name for c in with_.expressions):
        return
    for child in tree.iter_expressions():
        yield from references(child, name)


def _in_order(items: list[exp.CTE]) -> list[exp.CTE]:
    """Sort the items of WITH RECURSIVE so that each follows those it reads. Raises FeatureNotSupported for a cycle."""
    left = list(items)
    found: list[exp.CTE] = []
    while left:
        names = {i.args["alias"].this.name for i in left}
        ready = next(
            (i for i in left if not any(n != i.args["alias"].this.name and reads(i.this, n) for n in names)), None
        )
        if ready is None:
            message = "mutual recursion between WITH items is not implemented"
            raise FeatureNotSupported(message, position=cursor(position(left[0])))
        left.remove(ready)
        found.append(ready)
    return found


# -- recursion ----------------------------------------------------------------------------------------------------


def _bind_recursive(binder: QueryBinder, item: exp.CTE, table: CommonTable, scope: Scope) -> Cte:
    """Bind a recursive item. Its columns have the types of the non-recursive term; a numeric gets as many digits as it
    needs.
    """
    tree = item.this
    table.recursive = True
    first = binder.bind(tree.this, scope)
    names = _names(item, first.names)
    types = [c.type for c in first.columns]
    paths = search_cycle.Paths(binder, item, names, scope) if {"search", "cycle"} & item.meta.keys() else None
    for _ in range(_ROUNDS):
        plan = _with_types(binder, first, types)
        if paths is not None:
            plan = paths.begun(plan)
        table.columns, table.names, table.available = plan.columns, names, True
        table.added = paths.names if paths is not None else ()
        step = binder.bind(tree.expression, scope, settle=False)
        _check_step(step.plan, table)
        if paths is not None:
            step = paths.handed_on(step, table.id)
        operation = set_operations.combine(binder, tree, Bound(plan, (*first.names, *table.added)), step)
        own = operation.columns[: len(types)]
        _check_types(table, [c.type for c in plan.columns[: len(types)]], [c.type for c in own], item)
        wider = [_next_digits(before, c.type) for before, c in zip(types, own, strict=True)]
        if wider == types:
            table.names, table.added = (*names, *table.added), ()
            right = operation.right if paths is None else paths.extend_step(operation.right)
            return Cte(table.id, table.name, operation.left, right, not tree.args["distinct"])
        types = wider
    message = f'not supported: recursive query "{table.name}" whose numerics grow digits in each step'
    raise FeatureNotSupported(message, position=cursor(position(item)))


def _with_types(binder: QueryBinder, first: Bound, types: Sequence[SqlType]) -> Node:
    plan = first.subquery_plan()
    if [c.type for c in plan.columns] == list(types):
        return plan
    coerced: list[Expr] = [
        binder.expressions.coercer.relabel(expr, typ)
        for expr, typ in zip(pass_through(plan.columns), types, strict=True)
    ]
    return project(binder.context, plan, coerced, first.names)


def _next_digits(before: SqlType, after: SqlType) -> SqlType:
    """Return the digits to try next. If they changed, the precision goes to the limit at once, because the integer
    part could grow with each step.
    """
    if before == after or before.precision == 0:
        return before
    return replace(after, precision=max(after.precision, MAX_PRECISION), typmod=before.typmod)


def _check_types(table: CommonTable, before: Sequence[SqlType], after: Sequence[SqlType], item: exp.CTE) -> None:
    for index, (first, overall) in enumerate(zip(before, after, strict=True), 1):
        if (first.pg, first.typmod) != (overall.pg, overall.typmod):
            message = (
                f'recursive query "{table.name}" column {index} has type {first} in non-recursive term'
                f" but type {overall} overall"
            )
            hint = "Cast the output of the non-recursive term to the correct type."
            raise DatatypeMismatch(message, hint=hint, position=cursor(branch_position(item.this.this)))


def _check_form(item: exp.CTE, tree: exp.Expression, name: str) -> None:
    """Check the form of a recursive query on its tree as written (parse_cte.c: checkWellFormedRecursion)."""

    def refuse(what: str, at: exp.Expression) -> None:
        raise InvalidRecursion(what, position=cursor(position(at)))

    if not isinstance(tree, exp.Union):
        refuse(f'recursive query "{name}" does not have the form non-recursive-term UNION [ALL] recursive-term', item)
    within = next(references(tree.this, name), None)
    if within is not None:
        refuse(f'recursive reference to query "{name}" must not appear within its non-recursive term', within)
    if (with_ := tree.args.get("with_")) is not None:
        for reference in (r for inner in with_.expressions for r in references(inner.this, name)):
            refuse(f'recursive reference to query "{name}" must not appear within a subquery', reference)
    for key, what in (("order", "ORDER BY"), ("offset", "OFFSET"), ("limit", "LIMIT")):
        if (clause := tree.args.get(key)) is not None:
            message = f"{what} in a recursive query is not implemented"
            raise FeatureNotSupported(message, position=cursor(_argument_position(clause)))
    if tree.args.get("locks"):
        raise FeatureNotSupported("FOR UPDATE/SHARE in a recursive query is not implemented")
    _check_references(tree.expression, name)


def _argument_position(clause: exp.Expression) -> int:
    """Return the position that PostgreSQL reports for ORDER BY, LIMIT and OFFSET: their first expression."""
    first = next(clause.iter_expressions(), None)
    return leftmost(first) if first is not None else position(clause)


def _check_references(term: exp.Expression, name: str) -> None:
    """Check that the recursive term reads the item once, at its own level, and not where rows might be missed."""
    for count, reference in enumerate(references(term, name)):
        what = _place(reference, term)
        message = f'recursive reference to query "{name}" must not appear '
        if what is not None:
            raise InvalidRecursion(f"{message}within {what}", position=cursor(position(reference)))
        if count:
            raise InvalidRecursion(f"{message}more than once", position=cursor(position(reference)))


def _place(reference: exp.Expression, term: exp.Expression) -> str | None:
    """Name the outermost construct around a recursive reference in which it is not allowed."""
    found: str | None = None
    node: exp.Expr | None = reference
    while node is not None and node is not term:
        found = _forbidden(node.parent, node) or found
        node = node.parent
    return found


def _forbidden(above: exp.Expr | None, below: exp.Expr) -> str | None:
    match above:
        case exp.Join():
            kind = above.args["kind"]
            right = above.this is below
            if kind == "FULL" or (kind == "LEFT" and right) or (kind == "RIGHT" and not right):
                return "an outer join"
        case exp.Except() if above.expression is below or not above.args["distinct"]:
            return "EXCEPT"
        case exp.Intersect() if not above.args["distinct"]:
            return "INTERSECT"
        case exp.Exists() | exp.In() | exp.Any() | exp.All() | exp.Array():
            return "a subquery"
        case exp.Subquery() if above.args.get("alias") is None:
            return "a subquery"
    return None


def _check_step(step: Node, table: CommonTable) -> None:
    """Refuse a recursive term that aggregates over the rows of the previous step."""
    for node in walk_all(step):
        aggregates: tuple[AggregateCall, ...] = getattr(node, "aggregates", ())
        if aggregates and any(isinstance(n, CteReader) and n.cte == table.id for n in walk_all(node)):
            message = "aggregate functions are not allowed in a recursive query's recursive term"
            raise InvalidRecursion(message, position=cursor(aggregates[0].position))

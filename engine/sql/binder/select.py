"""One SELECT (analyze.c: transformSelectStmt).

The clauses are bound in PostgreSQL's order, so that the same one of several errors is reported. They are planned in
SQL's order: FROM, WHERE, groups, windows, sets, select list, DISTINCT, ORDER BY, LIMIT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.plan_ir.expr import Column, Expr, Node
from engine.plan_ir.logical import Aggregator, DistinctOn, Limit, Ordering, OrderKey
from engine.sql.binder import from_clause, row_locks, set_returning, sorting, windows
from engine.sql.binder.blocks import Bound, extend_columns, filter_rows, project, refer, row_items
from engine.sql.binder.grouping import GroupBy, add_aggregator, bind_group_by, is_grouped
from engine.sql.binder.labels import label
from engine.sql.binder.levels import check_no_sets, check_no_windows, check_plain
from engine.sql.binder.scope import Scope, SourceColumn
from engine.sql.binder.sorting import SortItem, Target, find_target
from engine.sql.parser.lexical.positions import cursor, leftmost, position
from wire.dataclass import dataclass
from wire.errors import InvalidColumnReference, SqlSyntaxError, WindowingError

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


def bind(binder: QueryBinder, tree: exp.Select, scope: Scope, settle: bool) -> Bound:
    """Bind a SELECT in its scope. settle: see `QueryBinder.bind`."""
    if "into" in tree.meta:
        raise SqlSyntaxError("SELECT ... INTO is not allowed here", position=cursor(tree.meta["into"][0].position))
    node = base = from_clause.bind(binder, tree.args.get("from_"), scope)
    _name_windows(tree, scope)
    targets = select_list(binder, tree, scope)
    where = _condition(binder, tree, "where", scope)
    if where is not None:
        node = filter_rows(node, where)
    having = _condition(binder, tree, "having", scope)
    order = sorting.sort_items(binder, tree, targets, scope)
    group = _group_by(binder, tree, targets, scope)
    distinct = _bind_distinct(binder, tree, targets, order, scope)
    if settle or distinct is not None:
        for target in targets:
            target.expr = binder.expressions.settle(target.expr)
    node, exprs = _compute_targets(binder, node, targets, group, having, scope)
    sets_last = _has_sets_last(exprs, distinct, order)
    if sets_last:
        node, exprs = _in_order(binder, node, exprs, distinct, order)
    node, exprs = set_returning.expand_sets(binder.context, node, exprs)
    plan: Node = project(binder.context, node, exprs, [x.name for x in targets])
    names = tuple(x.name for x in targets if not x.hidden)
    requirement = sorting.ordering(plan, order)
    rows = row_locks.rows_of(tree, plan, base, scope)
    row_locks.lock(binder.context, tree, rows, scope)
    if distinct is not None and not sets_last:
        plan = _distinct(plan, distinct, order)
    return sorting.add_limit(binder, tree, scope, Bound(plan, names, requirement, rows))


# -- clauses -----------------------------------------------------------------------------------------------------


def _name_windows(tree: exp.Select, scope: Scope) -> None:
    """Register the windows of the WINDOW clause; a window may refer to those before it."""
    for window in tree.args.get("windows") or ():
        name = window.this
        if name.name in scope.windows:
            raise WindowingError(f'window "{name.name}" is already defined', position=cursor(position(window)))
        scope.windows[name.name] = scope.resolve_window(window)


def select_list(binder: QueryBinder, tree: exp.Select, scope: Scope) -> list[Target]:
    found: list[Target] = []
    for item in tree.expressions:
        found += _item(binder, item, scope)
    for target in found:
        set_returning.check_placement(target.expr)
    return found


def _item(binder: QueryBinder, item: exp.Expression, scope: Scope) -> list[Target]:
    """Bind one item of a select list: one target, or the columns of a star, which keep their names in `t.* AS name`
    too.
    """
    if isinstance(item, exp.Alias) and _is_star_of_row(item.this):
        item = item.this
    if isinstance(item, exp.Star):
        if not scope.sources:
            message = "SELECT * with no tables specified is not valid"
            raise SqlSyntaxError(message, position=cursor(position(item)))
        return [_star_target(c, item) for c in scope.star((), position(item))]
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        parts = [p for p in item.parts if isinstance(p, exp.Identifier)]
        return [_star_target(c, item) for c in scope.star(parts, position(item))]
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Star):
        return _fields(binder, item, scope)
    value = item.this if isinstance(item, exp.Alias) else item
    return [Target(label(item), binder.expressions.bind(value, scope))]


def _is_star_of_row(item: exp.Expression) -> bool:
    """Whether the item is `t.*` or `(record).*`."""
    star = item.this if isinstance(item, exp.Column) else item.expression if isinstance(item, exp.Dot) else None
    return isinstance(star, exp.Star)


def _star_target(column: SourceColumn, star: exp.Expression) -> Target:
    return Target(column.name, replace(column.expr, position=position(star)))


def _fields(binder: QueryBinder, item: exp.Dot, scope: Scope) -> list[Target]:
    """Bind (record).*"""
    row = binder.expressions.bind(item.this, scope)
    if not row.type.pg.is_row:
        message = f"type {row.type} is not composite"
        raise SqlSyntaxError(message, position=cursor(position(item)), sqlstate="42809")
    return [Target(name, e) for (name, _), e in zip(row.type.fields, row_items(row), strict=True)]


def _condition(binder: QueryBinder, tree: exp.Select, key: str, scope: Scope) -> Expr | None:
    """Bind WHERE or HAVING; only HAVING may contain aggregates."""
    written = tree.args.get(key)
    if written is None:
        return None
    bound, clause = binder.expressions.bind(written.this, scope), key.upper()
    if key == "where":
        check_plain(bound, clause, scope)
    check_no_windows(bound, clause)
    check_no_sets(bound, clause)
    return binder.expressions.as_boolean(bound, clause)


def _group_by(binder: QueryBinder, tree: exp.Select, targets: list[Target], scope: Scope) -> GroupBy | None:
    group = tree.args.get("group")
    return bind_group_by(binder, group, targets, scope) if group is not None else None


@dataclass(frozen=True, slots=True)
class _Distinct:
    """The targets that DISTINCT compares. on: for DISTINCT ON, which keeps a whole row of each group."""

    keys: tuple[int, ...]
    on: bool


def _bind_distinct(
    binder: QueryBinder, tree: exp.Select, targets: list[Target], order: Sequence[SortItem], scope: Scope
) -> _Distinct | None:
    """Bind DISTINCT and DISTINCT ON (transformDistinctClause, transformDistinctOnClause); None without DISTINCT."""
    distinct = tree.args.get("distinct")
    if distinct is None:
        return None
    on = distinct.args.get("on")
    if on is None:
        return _Distinct(_all_distinct(binder, targets, order), False)
    keys = [find_target(binder, item, targets, scope, "DISTINCT ON") for item in on.expressions]
    for key in keys:
        binder.expressions.require_equality(targets[key].expr)
    _check_leading(keys, on.expressions, order)
    return _Distinct(tuple(dict.fromkeys(keys)), True)


def _check_leading(keys: Sequence[int], written: Sequence[exp.Expression], order: Sequence[SortItem]) -> None:
    """Check that ORDER BY begins with DISTINCT ON's expressions, in any order. It may lack some of them only if it has
    no other items.
    """
    message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
    passed_over = False
    for item in order:
        if item.target not in keys:
            passed_over = True
        elif passed_over:
            raise InvalidColumnReference(message, position=cursor(leftmost(written[keys.index(item.target)])))
    sorted_by = {item.target for item in order}
    for key, node in zip(keys, written, strict=True):
        if passed_over and key not in sorted_by:
            raise InvalidColumnReference(message, position=cursor(leftmost(node)))


def _all_distinct(binder: QueryBinder, targets: list[Target], order: Sequence[SortItem]) -> tuple[int, ...]:
    for item in order:
        if targets[item.target].hidden:
            message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
            raise InvalidColumnReference(message, position=cursor(targets[item.target].expr.position))
    for target in targets:
        binder.expressions.require_equality(target.expr)
    return tuple(range(len(targets)))


# -- the plan ----------------------------------------------------------------------------------------------------


def _compute_targets(
    binder: QueryBinder,
    node: Node,
    targets: list[Target],
    group: GroupBy | None,
    having: Expr | None,
    scope: Scope,
) -> tuple[Node, list[Expr]]:
    """Return the node below the select list, and the select list's expressions over it. Set-returning functions have
    not been run yet.
    """
    exprs = [target.expr for target in targets]
    if group is not None or having is not None or is_grouped(exprs, scope):
        node, exprs = add_aggregator(binder, node, group or GroupBy(), exprs, having, scope)
    return windows.add_windows(binder.context, node, exprs, scope)


def _has_sets_last(exprs: Sequence[Expr], distinct: _Distinct | None, order: Sequence[SortItem]) -> bool:
    """Return whether set-returning calls run over sorted rows. They do if there is an ORDER BY and neither it nor
    DISTINCT needs one of them (planner.c: make_sort_input_target).
    """
    compared = {*(distinct.keys if distinct is not None else ()), *(item.target for item in order)}
    sets = {n for n, expr in enumerate(exprs) if set_returning.has_sets(expr)}
    return bool(order) and bool(sets) and not sets & compared


def _in_order(
    binder: QueryBinder, node: Node, exprs: list[Expr], distinct: _Distinct | None, order: Sequence[SortItem]
) -> tuple[Node, list[Expr]]:
    """Sort the rows by ORDER BY and keep the first of each of DISTINCT ON's groups. Returns the plan and the select
    list's expressions over it.
    """
    keys = () if distinct is None else distinct.keys
    known = sorted({*keys, *(item.target for item in order)})
    node, columns = extend_columns(binder.context, node, [exprs[target] for target in known], "key")
    found = dict(zip(known, columns, strict=True))
    requirement = tuple(OrderKey(found[i.target], i.descending, i.nulls_first) for i in order)
    if distinct is not None:
        node = _first(node, [found[key] for key in keys], requirement)
    ordered = Limit(node.columns, node, requirement=requirement)
    return ordered, [refer(found[n]) if n in found else expr for n, expr in enumerate(exprs)]


def _distinct(plan: Node, distinct: _Distinct, order: Sequence[SortItem]) -> Node:
    """Plan DISTINCT as an AGGREGATOR without aggregates, and DISTINCT ON as the first row of each group."""
    if not distinct.on:
        return Aggregator(plan.columns, plan, plan.columns)
    return _first(plan, [plan.columns[key] for key in distinct.keys], sorting.ordering(plan, order))


def _first(node: Node, keys: Sequence[Column], requirement: Ordering) -> DistinctOn:
    sorted_by = {key.column.id for key in requirement}
    rest = tuple(OrderKey(c) for c in keys if c.id not in sorted_by)
    return DistinctOn(node.columns, node, tuple(keys), (*requirement, *rest))

"""Takes out the columns that nobody uses: of readers, of evaluators, aggregates and window calls.

A column is used when some expression, key or group of the statement names it, or when it is among the columns of a query
that are taken by position (FINAL's, a set operation's, a cte's, a subquery's). Taking a column out may leave those that only
it was computed from unused, so this goes on until nothing changes. A group key is never taken out, since it makes the
groups, nor is a set-returning call, which makes rows. A call that returns nothing (`FROM pg_sleep(1)`) is made for what it
does: where its column goes, it becomes a condition that all rows fulfil, since engines take out unused columns too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.common.sql_type import of
from engine.plan_ir.conjuncts import conjunction, conjuncts
from engine.plan_ir.expr import Call, Column, ColumnRef, Expr, IsNull, Node
from engine.plan_ir.logical import (
    Aggregator,
    DistinctOn,
    Evaluator,
    Join,
    Limit,
    Ordering,
    ProjectSet,
    Root,
    SetOperation,
    Sort,
    TableReader,
    Window,
    With,
)
from engine.plan_ir.rewrite import expressions, rewrite_plan, subplans, walk_all
from engine.plan_ir.volatility import is_volatile
from wire.types import pg_types as t


def prune_columns(plan: Node) -> Node:
    while True:
        used = {column.id for node in walk_all(plan) for column in _used_by(node)}
        pruned = rewrite_plan(plan, lambda node, used=used: _prune(node, used))  # type: ignore[misc]
        if _width(pruned) == _width(plan):
            return pruned
        plan = pruned


def _width(plan: Node) -> int:
    return sum(len(node.columns) for node in walk_all(plan))


def _used_by(node: Node) -> Iterator[Column]:
    """The columns that this node itself names, or takes by position. One that is passed on as it is is not used by that."""
    for expr in _own_expressions(node):
        yield from (part.column for part in expr.walk() if isinstance(part, ColumnRef))
    for plan in subplans(node):
        yield from plan.columns
    match node:
        case Root():
            yield from node.input.columns
            yield from _keys(node.requirement)
        case SetOperation():
            yield from (*node.left.columns, *node.right.columns)
        case With():
            yield from (
                c for cte in node.ctes for plan in (cte.plan, cte.step) if plan is not None for c in plan.columns
            )
        case Aggregator():
            yield from node.group
        case DistinctOn():
            yield from (*node.keys, *_keys(node.order))
        case Limit():
            yield from _keys(node.requirement)
        case Sort():
            yield from _keys(node.keys)


def _own_expressions(node: Node) -> Iterator[Expr]:
    if not isinstance(node, (Evaluator, ProjectSet)):
        yield from expressions(node)
        return
    for column, expr in zip(node.columns, node.emit, strict=True):
        if not (isinstance(expr, ColumnRef) and expr.column == column):
            yield expr
    if isinstance(node, Evaluator) and node.filter is not None:
        yield node.filter


def _keys(ordering: Ordering) -> Iterator[Column]:
    return (key.column for key in ordering)


def _prune(node: Node, used: set[int]) -> Node:
    match node:
        case TableReader():
            kept = [i for i, column in enumerate(node.columns) if column.id in used]
            if len(kept) == len(node.columns):
                return node
            return replace(node, columns=_at(node.columns, kept), names=tuple(node.names[i] for i in kept))
        case Evaluator() | ProjectSet():
            kept = [
                i
                for i, (c, e) in enumerate(zip(node.columns, node.emit, strict=True))
                if c.id in used or _makes_rows(e)
            ]
            if len(kept) == len(node.columns):
                return node
            pruned = replace(node, columns=_at(node.columns, kept), emit=tuple(node.emit[i] for i in kept))
            return _with_effects(pruned, [e for e in node.emit if _acts(e) and e not in pruned.emit])
        case Aggregator():
            return _prune_aggregates(node, used)
        case Window():
            return _prune_calls(node, used)
        case Join() | Limit() | Sort() | DistinctOn():
            below = {column.id for child in node.inputs() for column in child.columns}
            kept = [i for i, column in enumerate(node.columns) if column.id in below]
            return node if len(kept) == len(node.columns) else replace(node, columns=_at(node.columns, kept))
        case With():
            return node if node.columns == node.body.columns else replace(node, columns=node.body.columns)
        case _:
            return node


def _at(columns: tuple[Column, ...], indexes: list[int]) -> tuple[Column, ...]:
    return tuple(columns[i] for i in indexes)


def _makes_rows(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function.returns_set


def _acts(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.type.pg is t.VOID and is_volatile(expr)


def _with_effects(node: Evaluator | ProjectSet, calls: list[Expr]) -> Node:
    if not calls or isinstance(node, ProjectSet):
        return node
    done = (IsNull(of(t.BOOL), call) for call in calls)
    return replace(node, filter=conjunction((*conjuncts(node.filter), *done)))


def _prune_aggregates(node: Aggregator, used: set[int]) -> Node:
    keys = len(node.group)
    kept = [i for i in range(len(node.aggregates)) if node.columns[keys + i].id in used]
    if len(kept) == len(node.aggregates):
        return node
    columns = (
        *node.columns[:keys],
        *(node.columns[keys + i] for i in kept),
        *node.columns[keys + len(node.aggregates) :],
    )
    return replace(node, columns=columns, aggregates=tuple(node.aggregates[i] for i in kept))


def _prune_calls(node: Window, used: set[int]) -> Node:
    own = node.columns[len(node.columns) - len(node.calls) :]
    kept = [i for i, column in enumerate(own) if column.id in used]
    below = node.input.columns
    if len(kept) == len(own) and len(below) + len(own) == len(node.columns):
        return node
    return replace(node, columns=(*below, *(own[i] for i in kept)), calls=tuple(node.calls[i] for i in kept))

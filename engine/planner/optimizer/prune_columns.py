"""Removes unused columns from readers, evaluators, aggregates and window calls.

A column is used when some expression, key or group of the statement names it, or when it is among the columns of a
query that are taken by position (FINAL's, a set operation's, a cte's, a subquery's). The inputs of a column's
expression are used only if the column is. A group key is never removed, since it makes the groups, nor is a
set-returning call, which makes rows. A call that returns nothing (`FROM pg_sleep(1)`) is made for its effect: where its
column is removed, it becomes a condition that all rows fulfil, since engines remove unused columns too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from engine.common.interrupts import check_for_interrupts
from engine.common.sql_type import of
from engine.plan_ir.conjuncts import conjunction, conjuncts
from engine.plan_ir.expr import Call, Column, ColumnRef, Expr, IsNull, Node, Subquery
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
from engine.plan_ir.rewrite import expressions, rewrite_plan
from engine.plan_ir.volatility import is_volatile
from wire.types import pg_types as t


def prune_columns(plan: Node) -> Node:
    used = _Uses(plan).used
    return rewrite_plan(plan, lambda node: _prune(node, used))


class _Uses:
    """The ids of the columns that are used: those that a plan names in any case, and those from which they are
    computed.

    Each expression is visited once, when the first use of its column is found: a chain of a thousand subqueries, each
    over the one before, is pruned in one walk.
    """

    def __init__(self, plan: Node) -> None:
        self.used: set[int] = set()
        #: The expressions of columns that nobody has used yet, by the columns' ids.
        self._waiting: dict[int, list[Expr]] = {}
        self._plans: list[Node] = [plan]
        self._columns: list[Column] = []
        while self._plans or self._columns:
            if self._columns:
                self._use(self._columns.pop())
            else:
                self._look_at(self._plans.pop())

    def _use(self, column: Column) -> None:
        if column.id not in self.used:
            self.used.add(column.id)
            for expr in self._waiting.pop(column.id, ()):
                self._read(expr)

    def _read(self, expr: Expr) -> None:
        """Note the columns of an expression that stays, and the plans of its subqueries, whose columns are taken by
        position.
        """
        for part in expr.walk():
            if isinstance(part, ColumnRef):
                self._columns.append(part.column)
            elif isinstance(part, Subquery):
                self._columns += part.plan.columns
                self._plans.append(part.plan)

    def _look_at(self, node: Node) -> None:
        check_for_interrupts()
        self._columns += _find_taken(node)
        for column, expr in _find_computed(node):
            if column.id in self.used or _makes_rows(expr) or _acts(expr):
                self._read(expr)
            else:
                self._waiting.setdefault(column.id, []).append(expr)
        for expr in _find_lasting(node):
            self._read(expr)
        self._plans += node.inputs()


def _find_computed(node: Node) -> Iterable[tuple[Column, Expr]]:
    """Return the columns that are removed if nobody uses them, with their expressions. Passing a column on does not use
    it.
    """
    match node:
        case Evaluator() | ProjectSet():
            return zip(node.columns, node.emit, strict=True)
        case Aggregator():
            return zip(node.columns[len(node.group) :], node.aggregates, strict=False)
        case Window():
            return zip(node.columns[len(node.columns) - len(node.calls) :], node.calls, strict=True)
        case _:
            return ()


def _find_lasting(node: Node) -> Iterable[Expr]:
    """Return the expressions that stay whatever is used."""
    match node:
        case Evaluator() | Aggregator():
            return () if node.filter is None else (node.filter,)
        case ProjectSet() | Window():
            return ()
        case _:
            return expressions(node)


def _find_taken(node: Node) -> Iterator[Column]:
    """Yield the columns that this node names outside of expressions, or takes by position."""
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
            given = tuple(chain.from_iterable(child.columns for child in node.inputs()))
            if node.columns == given:
                return node
            below = {column.id for column in given}
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

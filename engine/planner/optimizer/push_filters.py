"""Predicate pushdown: conjuncts of a filter that concern one table only become that reader's filter.

The engines push filters by themselves. This pass serves the decisions that the planner takes before them: which files
and row groups are read, and how large the input is. A conjunct goes through joins to the side whose columns it names,
but never to the side of an outer join that is padded with nulls. Conjuncts of a join's ON are pushed too: an inner
join's to both sides, an outer join's to the padded side, since a row of that side that fails the condition matches
nothing. A conjunct with a subquery or a volatile function stays.

Leakproof conjuncts are also pushed into a view with security_barrier, which the engines cannot look into, with the
view's columns replaced by those below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from engine.common import sql_type as st
from engine.plan_ir.conjuncts import conjunction, conjuncts
from engine.plan_ir.expr import AggregateCall, Call, ColumnRef, Const, Expr, Node, Subquery, WindowCall
from engine.plan_ir.logical import Evaluator, Join, TableReader
from engine.plan_ir.rewrite import rewrite_expr, rewrite_plan, walk_all
from engine.planner.optimizer.leakproof import is_leakproof
from wire.types import pg_types as t


def push_filters(plan: Node) -> Node:
    goals = {
        column.id: node.columns[0].id
        for node in walk_all(plan)
        if isinstance(node, TableReader) or (isinstance(node, Evaluator) and node.barrier)
        for column in node.columns
    }
    return rewrite_plan(plan, _Pusher(goals).push_from)


class _Pusher:
    """Pushes conditions down. goals: the reader or the view that has a column, by the column's id; each goal is named
    by the id of its first column. So a plan is searched only for conditions that have a goal in it, and not for each
    condition of each join.
    """

    def __init__(self, goals: Mapping[int, int]) -> None:
        self._goals = goals

    def push_from(self, node: Node) -> Node:
        """Push the conditions of a node down."""
        if isinstance(node, Evaluator) and node.filter is not None:
            below, left = self._push(node.input, conjuncts(node.filter))
            return replace(node, input=below, filter=conjunction(left)) if below is not node.input else node
        if isinstance(node, Join) and node.condition is not None:
            left_side, right_side, rest = node.left, node.right, conjuncts(node.condition)
            if node.kind in ("inner", "right"):
                left_side, rest = self._push(left_side, rest)
            if node.kind in ("inner", "left"):
                right_side, rest = self._push(right_side, rest)
            if left_side is not node.left or right_side is not node.right:
                return _with_condition(replace(node, left=left_side, right=right_side), rest)
        return node

    def _push(self, node: Node, parts: tuple[Expr, ...]) -> tuple[Node, tuple[Expr, ...]]:
        """Return `node` with the parts that its readers can take, and the parts that stay above."""
        waiting: dict[int, list[Expr]] = {}
        for part in parts:
            goals = {self._goals.get(name) for name in _names(part)}
            if len(goals) == 1 and (goal := goals.pop()) is not None:
                waiting.setdefault(goal, []).append(part)
        if not waiting:
            return node, parts
        offered = {id(part) for group in waiting.values() for part in group}
        pushed = self._bring_down(node, waiting)
        left = {id(part) for group in waiting.values() for part in group}
        return pushed, tuple(part for part in parts if id(part) not in offered or id(part) in left)

    def _bring_down(self, node: Node, waiting: dict[int, list[Expr]]) -> Node:
        """Return `node` with the conditions that its readers can take; these are removed from `waiting`. waiting:
        conditions by their goals.
        """
        if not waiting:
            return node
        if isinstance(node, TableReader):
            mine = _take(node, waiting, _is_movable)
            return replace(node, filter=conjunction((*conjuncts(node.filter), *mine))) if mine else node
        if isinstance(node, Evaluator) and node.barrier:
            return self._bring_into(node, waiting)
        if isinstance(node, Join):
            left, right = node.left, node.right
            if node.kind in ("inner", "cross", "left"):
                left = self._bring_down(left, waiting)
            if node.kind in ("inner", "cross", "right"):
                right = self._bring_down(right, waiting)
            if left is not node.left or right is not node.right:
                return replace(node, left=left, right=right)
        return node

    def _bring_into(self, view: Evaluator, waiting: dict[int, list[Expr]]) -> Node:
        """Add the leakproof conditions to a view's own filter."""
        below = {c.id: expr for c, expr in zip(view.columns, view.emit, strict=True) if isinstance(expr, ColumnRef)}
        mine = _take(view, waiting, lambda part: is_leakproof(part) and _names(part) <= below.keys())
        if not mine:
            return view
        own = (rewrite_expr(part, lambda e: below[e.column.id] if isinstance(e, ColumnRef) else e) for part in mine)
        return self.push_from(replace(view, filter=conjunction((*conjuncts(view.filter), *own))))


def _take(node: Node, waiting: dict[int, list[Expr]], fits: Callable[[Expr], bool]) -> Sequence[Expr]:
    """Take those of the conditions that have the node as their goal and fit there."""
    found = waiting.get(node.columns[0].id, ()) if node.columns else ()
    mine = [part for part in found if fits(part)]
    if mine:
        stay = [part for part in found if not fits(part)]
        waiting[node.columns[0].id] = stay
        if not stay:
            del waiting[node.columns[0].id]
    return mine


def _with_condition(join: Join, condition: tuple[Expr, ...]) -> Join:
    """Return a join with what is left of its condition. An inner join without one becomes a cross join; an outer join
    keeps a condition.
    """
    if join.kind != "inner":
        return replace(join, condition=conjunction(condition) or Const(st.of(t.BOOL), value=True))
    return replace(join, condition=conjunction(condition), kind="inner" if condition else "cross")


def _names(part: Expr) -> set[int]:
    """Return the ids of the columns in it."""
    return {expr.column.id for expr in part.walk() if isinstance(expr, ColumnRef)}


def _is_movable(part: Expr) -> bool:
    """Whether it has the same result wherever it stands."""
    return not any(
        isinstance(expr, (Subquery, AggregateCall, WindowCall))
        or (isinstance(expr, Call) and (expr.function.volatility == "volatile" or expr.function.returns_set))
        for expr in part.walk()
    )

"""Brings conditions down to the readers: conjuncts of a filter that concern one table only become that reader's filter.

The engines push filters by themselves; here it is for what the planner decides before them: which files and row groups are
read, and how large the input is. A conjunct goes through joins to the side whose columns it names (never to the side of an
outer join that is padded with nulls), and from a join's ON too: an inner join's to both sides, an outer join's to the side that
is padded, since a row of it that fails matches nothing. One with a subquery or a volatile function stays.

Into a view with security_barrier, which the engines cannot look into, goes what is leakproof, in the names of what is below it.
"""

from __future__ import annotations

from dataclasses import replace

from engine.common import sql_type as st
from engine.plan_ir.conjuncts import conjunction, conjuncts
from engine.plan_ir.expr import AggregateCall, Call, ColumnRef, Const, Expr, Node, Subquery, WindowCall
from engine.plan_ir.logical import Evaluator, Join, TableReader
from engine.plan_ir.rewrite import rewrite_expr, rewrite_plan
from engine.planner.optimizer.leakproof import is_leakproof
from wire.types import pg_types as t


def push_filters(plan: Node) -> Node:
    return rewrite_plan(plan, _from_evaluator_or_join)


def _from_evaluator_or_join(node: Node) -> Node:
    if isinstance(node, Evaluator) and node.filter is not None:
        below, left = _push(node.input, conjuncts(node.filter))
        return replace(node, input=below, filter=conjunction(left)) if below is not node.input else node
    if isinstance(node, Join) and node.condition is not None:
        left_side, right_side, rest = node.left, node.right, conjuncts(node.condition)
        if node.kind in ("inner", "right"):
            left_side, rest = _push(left_side, rest)
        if node.kind in ("inner", "left"):
            right_side, rest = _push(right_side, rest)
        if left_side is not node.left or right_side is not node.right:
            return _with_condition(replace(node, left=left_side, right=right_side), rest)
    return node


def _with_condition(join: Join, condition: tuple[Expr, ...]) -> Join:
    """A join whose whole condition has gone elsewhere: an inner one is a cross join, an outer one keeps a condition."""
    if join.kind != "inner":
        return replace(join, condition=conjunction(condition) or Const(st.of(t.BOOL), value=True))
    return replace(join, condition=conjunction(condition), kind="inner" if condition else "cross")


def _push(node: Node, parts: tuple[Expr, ...]) -> tuple[Node, tuple[Expr, ...]]:
    """`node` with those parts in its readers that can go there, and the parts that stay above."""
    if isinstance(node, TableReader):
        mine = tuple(part for part in parts if _concerns(part, node))
        if not mine:
            return node, parts
        whole = conjunction((*conjuncts(node.filter), *mine))
        return replace(node, filter=whole), _without(parts, mine)
    if isinstance(node, Evaluator) and node.barrier:
        return _pushed_into(node, parts)
    if isinstance(node, Join):
        left, right = node.left, node.right
        if node.kind in ("inner", "cross", "left"):
            left, parts = _push(left, parts)
        if node.kind in ("inner", "cross", "right"):
            right, parts = _push(right, parts)
        if left is not node.left or right is not node.right:
            return replace(node, left=left, right=right), parts
    return node, parts


def _pushed_into(view: Evaluator, parts: tuple[Expr, ...]) -> tuple[Node, tuple[Expr, ...]]:
    """A view with the leakproof ones of these conditions among its own, and the others."""
    below = {c.id: expr for c, expr in zip(view.columns, view.emit, strict=True) if isinstance(expr, ColumnRef)}
    mine = tuple(part for part in parts if is_leakproof(part) and _names(part) and _names(part) <= below.keys())
    if not mine:
        return view, parts
    own = (rewrite_expr(part, lambda e: below[e.column.id] if isinstance(e, ColumnRef) else e) for part in mine)
    filtered = replace(view, filter=conjunction((*conjuncts(view.filter), *own)))
    return _from_evaluator_or_join(filtered), _without(parts, mine)


def _without(parts: tuple[Expr, ...], gone: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple(part for part in parts if not any(part is other for other in gone))


def _concerns(part: Expr, reader: TableReader) -> bool:
    """Whether `part` can be computed from the reader's columns alone, with the same result wherever it stands."""
    columns = {column.id for column in reader.columns}
    named = _names(part)
    return bool(named) and named <= columns and all(_movable(expr) for expr in part.walk())


def _names(part: Expr) -> set[int]:
    """The columns in it, by their numbers."""
    return {expr.column.id for expr in part.walk() if isinstance(expr, ColumnRef)}


def _movable(expr: Expr) -> bool:
    if isinstance(expr, (Subquery, AggregateCall, WindowCall)):
        return False
    return not (isinstance(expr, Call) and (expr.function.volatility == "volatile" or expr.function.returns_set))

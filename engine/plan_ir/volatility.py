"""Volatile expressions, whose value may differ from one evaluation to the next, and constant plans, whose rows never do
(pg_proc.provolatile)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.plan_ir.expr import (
    AggregateCall,
    Call,
    Column,
    ContextRef,
    Expr,
    InList,
    Node,
    Parameters,
    ParamRef,
    Subquery,
)
from engine.plan_ir.logical import Evaluator, Root, Values
from engine.plan_ir.rewrite import expressions, walk_all

#: Nodes that read nothing.
_OF_CONSTANTS: Final = (Root, Evaluator, Values)


def is_volatile(expr: Expr) -> bool:
    return any(
        _is_volatile_call(part) or (isinstance(part, Subquery) and plan_is_volatile(part.plan)) for part in expr.walk()
    )


def plan_is_volatile(plan: Node) -> bool:
    """Whether an expression of a plan is volatile, at any depth."""
    # `walk_all` enters the plans of subqueries: `is_volatile` would enter those at depth n 2^n times.
    return any(_is_volatile_call(part) for node in walk_all(plan) for expr in expressions(node) for part in expr.walk())


def _is_volatile_call(part: Expr) -> bool:
    return isinstance(part, (Call, AggregateCall)) and part.function.volatility == "volatile"


def volatile_ids(columns: Sequence[Column], exprs: Sequence[Expr]) -> set[int]:
    return {c.id for c, expr in zip(columns, exprs, strict=True) if is_volatile(expr)}


def is_constant_plan(plan: Node) -> bool:
    """Whether a plan gives the same rows whenever it runs: it reads nothing, and computes by immutable functions from
    constants. PostgreSQL folds constant expressions likewise (eval_const_expressions), but not a query as a whole.
    """
    return all(isinstance(node, _OF_CONSTANTS) and all(map(_is_constant, expressions(node))) for node in walk_all(plan))


def _is_constant(expr: Expr) -> bool:
    return not any(
        isinstance(part, (ParamRef, ContextRef, Subquery, AggregateCall))
        or (isinstance(part, InList) and isinstance(part.items, Parameters))
        or (isinstance(part, Call) and part.function.volatility != "immutable")
        for part in expr.walk()
    )

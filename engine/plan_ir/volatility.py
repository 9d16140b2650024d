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
    for part in expr.walk():
        if isinstance(part, (Call, AggregateCall)) and part.function.volatility == "volatile":
            return True
        if isinstance(part, Subquery) and _plan_is_volatile(part.plan):
            return True
    return False


def _plan_is_volatile(plan: Node) -> bool:
    return any(is_volatile(expr) for node in walk_all(plan) for expr in expressions(node))


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

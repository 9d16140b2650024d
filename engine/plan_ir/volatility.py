"""Volatile expressions: those whose value may differ from one evaluation to the next (pg_proc.provolatile)."""

from __future__ import annotations

from collections.abc import Sequence

from engine.plan_ir.expr import AggregateCall, Call, Column, Expr, Node, Subquery
from engine.plan_ir.rewrite import expressions, walk_all


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

"""Conversion between a condition and its conjuncts, the parts that AND joins."""

from __future__ import annotations

from engine.common import sql_type as st
from engine.plan_ir.expr import And, Expr
from wire.types import pg_types as t


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """Return the parts of a conjunction; no parts for None."""
    if expr is None:
        return ()
    if isinstance(expr, And):
        return tuple(part for arg in expr.args for part in conjuncts(arg))
    return (expr,)


def conjunction(parts: tuple[Expr, ...]) -> Expr | None:
    """Join the parts by AND; None for no parts."""
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(st.of(t.BOOL), parts)

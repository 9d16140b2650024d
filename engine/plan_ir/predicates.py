"""Predicates on conditions that several passes use."""

from __future__ import annotations

from typing import TypeGuard

from engine.plan_ir.expr import Call, Expr, Subquery


def has_subquery(expr: Expr) -> bool:
    """Whether an expression contains a subquery."""
    return any(isinstance(part, Subquery) for part in expr.walk())


def is_equality(expr: Expr) -> TypeGuard[Call]:
    """Whether it is the operator =, with two operands."""
    return isinstance(expr, Call) and expr.function.kind == "operator" and expr.function.name == "="

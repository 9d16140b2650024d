"""Evaluation order of the conditions that AND joins in WHERE and ON.

PostgreSQL evaluates such conditions from left to right, so that a condition can keep those after it from raising an
error. DuckDB reorders the conditions that no scan takes: above a LIMIT, comparisons of columns with constants come
last, and in an outer join's condition the operands of each comparison are computed for all rows of their side. A part
that may raise an error is therefore wrapped so that it is computed only where the parts before it hold. In a comparison
the operands are wrapped instead of the whole, so that a join keeps its key.

Source: PostgreSQL 15, execExprInterp.c (EEOP_QUAL).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from engine.plan_ir.conjuncts import conjunction
from engine.plan_ir.expr import And, Call, Case, Const, Expr
from engine.planner.codegen.short_circuit import is_repeatable, is_safe_operator, may_raise

#: Returns whether the first condition may be written into the second expression, which then needs the columns of both.
MayGuard = Callable[[Expr, Expr], bool]
#: Conditions with more parts are left as they are: programs generate them as lists of similar tests. A part gets the
#: first few guards.
_PARTS_MAX: Final = 64
_GUARDS_MAX: Final = 8


def keep_order(test: Expr, may_guard: MayGuard) -> Expr:
    """Rewrite a condition of WHERE or ON for the local engine, so that it is true for the same rows and raises no
    needless error.
    """
    if not isinstance(test, And) or len(test.args) > _PARTS_MAX:
        return test
    args = tuple(_in_turn(test.args[:place], arg, may_guard) for place, arg in enumerate(test.args))
    return test if all(a is b for a, b in zip(args, test.args, strict=True)) else replace(test, args=args)


def put_safe_first(test: Expr) -> Expr:
    """Return a condition of WHERE for Spark, its parts that cannot raise an error before the others. PostgreSQL orders
    parts by cost (order_qual_clauses), by which a comparison with a constant comes before a function that may raise one.
    """
    if not isinstance(test, And):
        return test
    return replace(test, args=tuple(sorted(test.args, key=may_raise)))


def _in_turn(before: Sequence[Expr], test: Expr, may_guard: MayGuard) -> Expr:
    if isinstance(test, Call) and is_safe_operator(test.function) and test.function.strict:
        args = tuple(_behind(before, arg, None, may_guard) for arg in test.args)
        return test if all(a is b for a, b in zip(args, test.args, strict=True)) else replace(test, args=args)
    return _behind(before, test, Const(test.type, False), may_guard)


def _behind(before: Sequence[Expr], value: Expr, otherwise: Expr | None, may_guard: MayGuard) -> Expr:
    if not before or not may_raise(value) or not is_repeatable(value):
        return value
    guards = (test for test in before if is_repeatable(test) and may_guard(test, value))
    guard = conjunction(tuple(islice(guards, _GUARDS_MAX)))
    return value if guard is None else Case(value.type, ((guard, value),), otherwise)

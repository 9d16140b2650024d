"""Wide numerics, which no engine's decimal holds: NaN, the infinities, and constants of more than 38 digits.

They have a type of their own below PostgreSQL's (`SqlType.is_wide`), stored and carried as the text that numeric_out
writes. Constants and parameters have this type, and so do expressions that pass them on without computing with them:
select lists, subqueries, coalesce of one of them. A cast returns the text, reads a float from it, or reads a decimal
from it where it fits one. Comparing two constants needs no engine, nor does comparing any decimal with NaN, an infinity
or a number beyond 10^38. Everything else is refused with 0A000.

Rejected: numbers above 10^38 inside decimal(38, s) that stand for NaN and the infinities, as int4's limits stand for
those of dates. They sort in the right order, but each arithmetic operator, aggregate and cast of each engine would have
to test for them in each row.

Source: PostgreSQL 15, numeric.c (cmp_numerics: NaN equals itself and is greatest).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne
from typing import Final

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.plan_ir.expr import Case, Const, Expr, IsNull
from engine.sql.parser.lexical.positions import cursor
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
#: Functions that accept any argument and do not use its value.
_BLIND: Final = frozenset({"count", "pg_typeof", "num_nulls", "num_nonnulls"})
_BOOL: Final = SqlType(t.BOOL)


def apply_operator(symbol: str, operands: Sequence[Expr]) -> Expr | None:
    """Return the result of a comparison or a negation that needs no engine; None if no operand is wide, or if an
    engine is needed.
    """
    if not any(operand.type.is_wide for operand in operands):
        return None
    if symbol == "-" and len(operands) == 1:
        return _negate(operands[0])
    if symbol not in _COMPARISONS or len(operands) != 2:
        return None
    left, right = operands
    holds = _COMPARISONS[symbol]
    if _is_known(left) and _is_known(right):
        order = compare(_decimal(left), _decimal(right))
        return Const(_BOOL, holds(order, 0), position=left.position)
    if _is_known(right) and (side := _side(right)) and _is_bounded(left):
        return _unless_null(left, holds(0, side))
    if _is_known(left) and (side := _side(left)) and _is_bounded(right):
        return _unless_null(right, holds(side, 0))
    return None


def compare(left: Decimal, right: Decimal) -> int:
    """Return -1, 0 or 1 as left is less than, equal to or greater than right (cmp_numerics)."""
    if left.is_nan() or right.is_nan():
        return int(left.is_nan()) - int(right.is_nan())
    return (left > right) - (left < right)


def refuse_wide(function: str, args: Sequence[Expr]) -> None:
    """Raises FeatureNotSupported for a call that would have to compute with a wide numeric."""
    if function in _BLIND:
        return
    for arg in args:
        if arg.type.is_wide:
            raise refusal(f"{function} of", arg.position)


def refusal(what: str, at: int) -> FeatureNotSupported:
    """Return the error for an operation on a wide numeric. what: as in "sum of", "a column with"."""
    return FeatureNotSupported(
        f"not supported: {what} a numeric NaN, infinity or of more than 38 digits",
        hint="Such numerics can be shown, compared with constants, and cast to text or float8.",
        position=cursor(at),
    )


def _is_known(expr: Expr) -> bool:
    return isinstance(expr, Const) and isinstance(expr.value, Decimal | int) and not isinstance(expr.value, bool)


def _decimal(expr: Expr) -> Decimal:
    assert isinstance(expr, Const)
    return Decimal(expr.value)


def _side(expr: Expr) -> int:
    """Return 1 for a constant above all decimals, -1 for one below them, 0 for one among them."""
    value = _decimal(expr)
    if value.is_nan():
        return 1
    beyond = value.is_infinite() or value.adjusted() >= st.MAX_PRECISION
    return 0 if not beyond else -1 if value.is_signed() else 1


def _is_bounded(expr: Expr) -> bool:
    return not expr.type.is_wide and expr.type.pg in (t.NUMERIC, t.INT2, t.INT4, t.INT8)


def _unless_null(expr: Expr, value: bool) -> Expr:
    if isinstance(expr, Const) and expr.value is None:
        return Const(_BOOL, None, position=expr.position)
    unknown = (IsNull(_BOOL, expr), Const(_BOOL, None))
    return Case(_BOOL, (unknown,), Const(_BOOL, value), position=expr.position)


def _negate(expr: Expr) -> Expr | None:
    if not isinstance(expr, Const) or expr.value is None:
        return None
    value = _decimal(expr)
    return expr if value.is_nan() else replace(expr, value=value.copy_negate())

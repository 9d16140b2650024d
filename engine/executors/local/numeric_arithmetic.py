"""Arithmetic on single numerics with PostgreSQL's digits; a number's trailing zeros are its display scale.

Sums and products are exact. A quotient has at least 16 significant digits, counted in groups of four, and at least as
many fractional digits as either operand. A remainder has the sign of the dividend. Zero has no sign. The results are
numbers of JSON (`json_documents`); columns of numerics are computed by DuckDB (`division`).

Source: PostgreSQL 15, numeric.c (add_var, mul_var, select_div_scale, div_var, mod_var, make_result).
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import Final

from wire.errors import DivisionByZero, NumericValueOutOfRange

#: The maximal numbers of digits before and after the decimal point of a numeric.
_WHOLE_MAX: Final = 131_072
_SCALE_MAX: Final = 16_383
_EXACT: Final = Context(
    prec=4 * (_WHOLE_MAX + _SCALE_MAX), Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_HALF_UP, traps=[]
)
_GROUP: Final = 4
_SIGNIFICANT: Final = 16
_DISPLAYED_MAX: Final = 1000


def scale_of(value: Decimal) -> int:
    """Return the number of fractional digits."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return max(0, -exponent)


def add(a: Decimal, b: Decimal) -> Decimal:
    return _check_range(_EXACT.add(a, b))


def subtract(a: Decimal, b: Decimal) -> Decimal:
    return _check_range(_EXACT.subtract(a, b))


def multiply(a: Decimal, b: Decimal) -> Decimal:
    return _check_range(_with_scale(_EXACT.multiply(a, b), min(scale_of(a) + scale_of(b), _SCALE_MAX)))


def divide(a: Decimal, b: Decimal) -> Decimal:
    """Divide two numbers. Raises DivisionByZero."""
    if not b:
        raise DivisionByZero("division by zero")
    scale = _quotient_scale(a, b)
    dividend, divisor = int(a.scaleb(scale_of(a), _EXACT)), int(b.scaleb(scale_of(b), _EXACT))
    shift = scale - scale_of(a) + scale_of(b)
    quotient, rest = divmod(abs(dividend) * 10 ** max(shift, 0), abs(divisor) * 10 ** max(-shift, 0))
    quotient += 2 * rest >= abs(divisor) * 10 ** max(-shift, 0)
    value = Decimal(-quotient if (dividend < 0) != (divisor < 0) else quotient)
    return _check_range(value.scaleb(-scale, _EXACT))


def remainder(a: Decimal, b: Decimal) -> Decimal:
    """Return the remainder of a division. Raises DivisionByZero."""
    if not b:
        raise DivisionByZero("division by zero")
    return _check_range(_with_scale(_EXACT.remainder(a, b), max(scale_of(a), scale_of(b))))


def negate(value: Decimal) -> Decimal:
    return value.copy_negate() if value else value


def floor(value: Decimal) -> Decimal:
    return _check_range(value.to_integral_value(ROUND_FLOOR, _EXACT))


def ceiling(value: Decimal) -> Decimal:
    return _check_range(value.to_integral_value(ROUND_CEILING, _EXACT))


def groups(value: Decimal) -> tuple[int, int, int]:
    """Describe a number other than 0 in base 10000: the weight of its first digit, that digit, and the number of
    digits without trailing zeros.
    """
    weight = value.adjusted() // _GROUP
    first = int(value.copy_abs().scaleb(-weight * _GROUP, _EXACT))
    exponent = value.normalize(_EXACT).as_tuple().exponent
    assert isinstance(exponent, int)
    return weight, first, weight - exponent // _GROUP + 1


def _quotient_scale(a: Decimal, b: Decimal) -> int:
    weight_a, first_a, _count = groups(a) if a else (0, 0, 0)
    weight_b, first_b, _count = groups(b)
    weight = weight_a - weight_b - (first_a <= first_b)
    return min(max(_SIGNIFICANT - weight * _GROUP, scale_of(a), scale_of(b)), _DISPLAYED_MAX)


def _with_scale(value: Decimal, scale: int) -> Decimal:
    return value.quantize(Decimal((0, (1,), -scale)), context=_EXACT)


def _check_range(value: Decimal) -> Decimal:
    if not value:
        return value.copy_abs()
    if value.adjusted() >= _WHOLE_MAX:
        raise NumericValueOutOfRange("value overflows numeric format")
    return value

"""exp, ln, log and power of numerics: the value, and the number of fractional digits that PostgreSQL gives it.

PostgreSQL computes these to sixteen significant digits or more, exactly rounded; no vectorised library does. Python's
decimals therefore compute them. `engine.executors.local.powers` calls this module for each distinct value of a batch,
`engine.sql.functions.math` for constants, whose result's scale is then known.

Source: PostgreSQL 15, numeric.c (exp_var, ln_var, log_var, power_var: the choice of the result's scale).
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

from wire.errors import (
    DivisionByZero,
    FeatureNotSupported,
    InvalidArgumentForLogarithm,
    InvalidArgumentForPower,
    NumericValueOutOfRange,
)

_CONTEXT: Final = Context(prec=100, rounding=ROUND_HALF_UP, Emax=10**6, Emin=-(10**6))
_SIGNIFICANT: Final = 16
_WIDEST: Final = 38
_LOG10_E: Final = 0.434294481903252
#: The maximum number of digits before the point in PostgreSQL's numeric.
_MOST_DIGITS: Final = 131_072
#: exp_var overflows from this exponent on, and gives zero from its negative down.
_GREATEST_EXPONENT: Final = 6000
#: A value, and the number of fractional digits that PostgreSQL shows of it.
Exact = tuple[Decimal, int]


def _too_long_error() -> FeatureNotSupported:
    return FeatureNotSupported("not supported: a numeric with more digits than 38")


def round_value(value: Decimal, digits: int, scale: int) -> str:
    """Return `value` rounded to `digits` fractional digits; trailing zeros may be left out. Raises FeatureNotSupported
    if they do not fit decimal(38, scale).
    """
    if value == 0:
        return "0"
    if value.adjusted() >= _WIDEST - scale:
        raise _too_long_error()
    rounded = value.quantize(Decimal((0, (1,), -digits)), context=_CONTEXT)
    if given_digits(rounded) > scale or rounded.adjusted() >= _WIDEST - scale:
        raise _too_long_error()
    return (
        format(rounded, "f")
        if digits <= scale
        else format(rounded.quantize(Decimal((0, (1,), -scale)), context=_CONTEXT), "f")
    )


def given_digits(value: Decimal) -> int:
    """Return the number of fractional digits that a value has."""
    return max(0, -int(value.normalize(_CONTEXT).as_tuple().exponent)) if value else 0


def quotient_digits(value: Decimal) -> int:
    """Return the number of fractional digits of a quotient: at least those that its magnitude requires, and those that
    it has.
    """
    return max(0, _SIGNIFICANT - 4 * (value.adjusted() // 4) if value else 20, given_digits(value))


def _weight_of_ln(value: Decimal) -> int:
    """Return the decimal weight of a number's logarithm (estimate_ln_dweight)."""
    if Decimal("0.9") <= value <= Decimal("1.1"):
        return (value - 1).adjusted() if value != 1 else 0
    return math.trunc(math.log10(abs(float(value.ln(_CONTEXT)))))


def _logarithm(value: Decimal) -> Decimal:
    if value == 0:
        raise InvalidArgumentForLogarithm("cannot take logarithm of zero")
    if value < 0:
        raise InvalidArgumentForLogarithm("cannot take logarithm of a negative number")
    return value.ln(_CONTEXT)


def exponential(value: Decimal, minimum: int) -> Exact:
    if value >= _GREATEST_EXPONENT:
        raise NumericValueOutOfRange("value overflows numeric format")
    weight = max(-1000.0, min(1000.0, float(value) * _LOG10_E))
    if abs(weight) > _WIDEST:
        raise _too_long_error()
    return value.exp(_CONTEXT), max(_SIGNIFICANT - math.trunc(weight), minimum, 0)


def natural(value: Decimal, minimum: int) -> Exact:
    logarithm = _logarithm(value)
    return logarithm, max(_SIGNIFICANT - _weight_of_ln(value), minimum, 0)


def logarithm(base: Decimal, value: Decimal, minimum: int) -> Exact:
    below, above = _logarithm(base), _logarithm(value)
    if below == 0:
        raise DivisionByZero("division by zero")
    digits = max(_SIGNIFICANT - (_weight_of_ln(value) - _weight_of_ln(base)), minimum, 0)
    return _CONTEXT.divide(above, below), digits


def power(base: Decimal, exponent: Decimal, minimum: int) -> Exact:
    whole = exponent == exponent.to_integral_value()
    if base == 0 and exponent < 0:
        raise InvalidArgumentForPower("zero raised to a negative power is undefined")
    if base < 0 and not whole:
        raise InvalidArgumentForPower("a negative number raised to a non-integer power yields a complex result")
    if whole or base == 0:
        return _whole_power(base, exponent), max(_SIGNIFICANT, minimum)
    raised = _CONTEXT.multiply(exponent, base.ln(_CONTEXT))
    weight = float(raised) * _LOG10_E
    if abs(weight) > _WIDEST:
        raise _too_long_error()
    return raised.exp(_CONTEXT), max(_SIGNIFICANT - math.trunc(weight), minimum, 0)


def _whole_power(base: Decimal, exponent: Decimal) -> Decimal:
    if exponent == 0:
        return Decimal(1)
    if base == 0:
        return Decimal(0)
    weight = float(exponent) * math.log10(abs(float(base)))
    if weight > _MOST_DIGITS:
        raise NumericValueOutOfRange("value overflows numeric format")
    if abs(weight) > 1000:
        raise _too_long_error()
    return _CONTEXT.power(base, exponent)

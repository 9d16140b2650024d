"""`sluice_exp`, `sluice_ln`, `sluice_log`, `sluice_power` of numerics as PostgreSQL's, for the local engine.

PostgreSQL computes these to sixteen significant digits or more, exactly rounded; no vectorised library does. So Python's
decimals compute each *distinct* value of a batch once and remember the last; rows only look them up. What takes floats is
the engines' own (`engine.sql.functions.math`).

The functions take the operands as texts and three constants: the digits that the operands show by their types, a sum of 1
and 2 for operands whose values say it (quotients), and the result's scale.

Source: PostgreSQL 15, numeric.c (exp_var, ln_var, log_var, power_var: the choice of the result's scale).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from engine.executors.local.udf import arrow_function
from wire.errors import DivisionByZero, InvalidArgumentForLogarithm, InvalidArgumentForPower, NumericValueOutOfRange

_CONTEXT: Final = Context(prec=100, rounding=ROUND_HALF_UP, Emax=10**6, Emin=-(10**6))
_SIGNIFICANT: Final = 16
_WIDEST: Final = 38
_LOG10_E: Final = 0.434294481903252
_REMEMBERED: Final = 65_536


def _round_value(value: Decimal, digits: int, scale: int) -> str:
    """`value` to `digits` fractional digits. Raises NumericValueOutOfRange where they do not fit decimal(38, scale)."""
    if value == 0:
        return "0"
    if digits > scale or value.adjusted() >= _WIDEST - scale:
        raise NumericValueOutOfRange("value out of range: more digits than numeric can hold here")
    return format(value.quantize(Decimal((0, (1,), -digits)), context=_CONTEXT), "f")


def _shown_digits(text: str) -> int:
    """The fractional digits of a quotient: those of its size's class, and those that it has."""
    value = Decimal(text).normalize()
    given = max(0, -int(value.as_tuple().exponent)) if value else 0
    return max(0, _SIGNIFICANT - 4 * (value.adjusted() // 4) if value else 20, given)


def _weight_of_ln(value: Decimal) -> int:
    """estimate_ln_dweight: the decimal weight of a number's logarithm."""
    if Decimal("0.9") <= value <= Decimal("1.1"):
        return (value - 1).adjusted() if value != 1 else 0
    return math.trunc(math.log10(abs(float(value.ln(_CONTEXT)))))


def _logarithm(value: Decimal) -> Decimal:
    if value == 0:
        raise InvalidArgumentForLogarithm("cannot take logarithm of zero")
    if value < 0:
        raise InvalidArgumentForLogarithm("cannot take logarithm of a negative number")
    return value.ln(_CONTEXT)


@lru_cache(_REMEMBERED)
def exponential(text: str, minimum: int, scale: int) -> str:
    value = Decimal(text)
    weight = max(-1000.0, min(1000.0, float(value) * _LOG10_E))
    if abs(weight) > _WIDEST:
        raise NumericValueOutOfRange("value overflows numeric format")
    return _round_value(value.exp(_CONTEXT), max(_SIGNIFICANT - math.trunc(weight), minimum, 0), scale)


@lru_cache(_REMEMBERED)
def natural(text: str, minimum: int, scale: int) -> str:
    value = Decimal(text)
    logarithm = _logarithm(value)
    return _round_value(logarithm, max(_SIGNIFICANT - _weight_of_ln(value), minimum, 0), scale)


@lru_cache(_REMEMBERED)
def logarithm(base_text: str, text: str, minimum: int, scale: int) -> str:
    base, value = Decimal(base_text), Decimal(text)
    below, above = _logarithm(base), _logarithm(value)
    if below == 0:
        raise DivisionByZero("division by zero")
    digits = max(_SIGNIFICANT - (_weight_of_ln(value) - _weight_of_ln(base)), minimum, 0)
    return _round_value(_CONTEXT.divide(above, below), digits, scale)


@lru_cache(_REMEMBERED)
def power(base_text: str, exponent_text: str, minimum: int, scale: int) -> str:
    base, exponent = Decimal(base_text), Decimal(exponent_text)
    whole = exponent == exponent.to_integral_value()
    if base == 0 and exponent < 0:
        raise InvalidArgumentForPower("zero raised to a negative power is undefined")
    if base < 0 and not whole:
        raise InvalidArgumentForPower("a negative number raised to a non-integer power yields a complex result")
    if whole or base == 0:
        return _round_value(_whole_power(base, exponent), max(_SIGNIFICANT, minimum), scale)
    raised = _CONTEXT.multiply(exponent, base.ln(_CONTEXT))
    weight = float(raised) * _LOG10_E
    if abs(weight) > _WIDEST:
        raise NumericValueOutOfRange("value overflows numeric format")
    return _round_value(raised.exp(_CONTEXT), max(_SIGNIFICANT - math.trunc(weight), minimum, 0), scale)


def _whole_power(base: Decimal, exponent: Decimal) -> Decimal:
    if exponent == 0:
        return Decimal(1)
    if base == 0:
        return Decimal(0)
    if abs(float(exponent) * math.log10(abs(float(base)))) > 1000:
        raise NumericValueOutOfRange("value overflows numeric format")
    return _CONTEXT.power(base, exponent)


def _distinct(texts: Any, compute: Callable[[str], str]) -> Any:
    """`compute` of every text, called once for each distinct one."""
    encoded = pc.dictionary_encode(texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts)
    return pa.array([compute(text) for text in encoded.dictionary.to_pylist()], pa.utf8()).take(encoded.indices)


def _of_one(compute: Callable[[str, int, int], str]) -> Callable[..., Any]:
    def compute_vector(values: Any, minima: Any, kinds: Any, scales: Any) -> Any:
        if len(values) == 0:
            return pa.array([], pa.utf8())
        minimum, kind, scale = (c[0].as_py() for c in (minima, kinds, scales))

        def of_text(text: str) -> str:
            return compute(text, max(minimum, _shown_digits(text)) if kind else minimum, scale)

        return _distinct(values, of_text)

    return compute_vector


def _of_two(compute: Callable[[str, str, int, int], str]) -> Callable[..., Any]:
    def compute_vector(first: Any, second: Any, minima: Any, kinds: Any, scales: Any) -> Any:
        if len(first) == 0:
            return pa.array([], pa.utf8())
        minimum, kind, scale = (c[0].as_py() for c in (minima, kinds, scales))

        def of_pair(pair: str) -> str:
            a, b = pair.split(" ")
            shown = [_shown_digits(text) for bit, text in ((1, a), (2, b)) if kind & bit]
            return compute(a, b, max([minimum, *shown]), scale)

        return _distinct(pc.binary_join_element_wise(first, second, " "), of_pair)

    return compute_vector


_ONE: Final = ["VARCHAR", "INTEGER", "INTEGER", "INTEGER"]
_TWO: Final = ["VARCHAR", "VARCHAR", "INTEGER", "INTEGER", "INTEGER"]
arrow_function("sluice_exp", _ONE, "VARCHAR")(_of_one(exponential))
arrow_function("sluice_ln", _ONE, "VARCHAR")(_of_one(natural))
arrow_function("sluice_log", _TWO, "VARCHAR")(_of_two(logarithm))
arrow_function("sluice_power", _TWO, "VARCHAR")(_of_two(power))

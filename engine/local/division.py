"""`sluice_divide`: numeric division as PostgreSQL's, for the local engine, vectorised over Arrow arrays.

Operands come as texts, since one function serves all scales. The quotient is cut off with digits to spare (256-bit decimals),
so that rounding it half away from zero is rounding the true quotient. How many digits are kept is counted per value and
rounded per number of digits, of which there are a handful.

The rule is told in `engine.sql.functions.division`, which builds the calls. Source: PostgreSQL 15, numeric.c.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.local.udf import arrow_function
from wire.errors import DivisionByZero, NumericValueOutOfRange

_WIDEST: Final = 76
_GROUP: Final = 4
_SIGNIFICANT: Final = 16
_TEN: Final = 10
#: Doubles just below a whole number that stand for it.
_CLOSE: Final = 1 + 1e-15

Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@arrow_function(
    "sluice_divide",
    ["VARCHAR", "VARCHAR", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER"],
    "VARCHAR",
)
def divide(dividends: Any, divisors: Any, scales_a: Any, scales_b: Any, scales: Any, minima: Any, kinds: Any) -> Any:
    """a / b as texts. The rest are constants: the scales of a and b, the result's scale, its least display scale, and a sum
    of 1 where a's display scale is its value's and 2 where b's is. Raises DivisionByZero, NumericValueOutOfRange."""
    if len(dividends) == 0:
        return pa.array([], pa.utf8())
    scale_a, scale_b, scale, minimum, flags = (c[0].as_py() for c in (scales_a, scales_b, scales, minima, kinds))
    a, b = _exact(dividends, scale_a), _exact(divisors, scale_b)
    if pc.any(pc.equal(b, pa.scalar(0, b.type))).as_py():
        raise DivisionByZero("division by zero")
    wanted = np.minimum(_digits_wanted(a, b, minimum, flags), scale)
    quotient = _cut_off(a, b, scale)
    rounded = _rounded(quotient, wanted)
    try:
        return pc.cast(pc.cast(rounded, pa.decimal256(_WIDEST, scale)), pa.utf8())
    except pa.ArrowInvalid:
        raise NumericValueOutOfRange("value overflows numeric format") from None


def _exact(texts: Any, scale: int) -> Any:
    return pc.cast(pa.chunked_array([texts]) if isinstance(texts, pa.Array) else texts, pa.decimal256(38, scale))


def _digits_wanted(a: Any, b: Any, minimum: int, flags: int) -> Integers:
    """select_div_scale for each pair, and the display scales of operands that are quotients themselves."""
    first, second = (np.abs(pc.cast(x, pa.float64()).to_numpy()) for x in (a, b))
    weight_a, weight_b = _weight(first), _weight(second)
    lower = _leading(first, weight_a) <= _leading(second, weight_b)
    wanted = _SIGNIFICANT - _GROUP * (weight_a - weight_b - lower)
    for flag, weight in ((1, weight_a), (2, weight_b)):
        if flags & flag:
            wanted = np.maximum(wanted, _SIGNIFICANT - _GROUP * weight)
    least: Integers = np.maximum(wanted, minimum)
    return least


def _weight(values: Doubles) -> Integers:
    """The exponent of the leading base-10000 group; 0 of zero."""
    with np.errstate(divide="ignore"):
        logarithms = np.log10(values)
    return np.where(values == 0, 0, np.floor(logarithms / _GROUP)).astype(np.int64)


def _leading(values: Doubles, weight: Integers) -> Doubles:
    return np.floor(values / np.power(10_000.0, weight) * _CLOSE)


def _cut_off(a: Any, b: Any, scale: int) -> Any:
    """The quotient toward zero, with at least two digits more than `scale`.

    Arrow's quotient has s1 + p2 + 1 fractional digits and p1 - s1 + s2 integer ones, 76 together; so the divisor is
    narrowed to the digits it has, and the dividend widened to make up for it.
    """
    precision_b = max(_width(b), b.type.scale, 1)
    extra = max(0, scale + 2 - (a.type.scale + precision_b + 1))
    precision_a = max(_width(a), a.type.scale, 1)
    whole = precision_a - a.type.scale + b.type.scale
    if whole + a.type.scale + extra + precision_b + 1 > _WIDEST:
        raise NumericValueOutOfRange("value out of range: a quotient with more digits than numeric can hold here")
    top = pc.cast(a, pa.decimal256(precision_a + extra, a.type.scale + extra))
    return pc.divide(top, pc.cast(b, pa.decimal256(precision_b, b.type.scale)))


def _width(values: Any) -> int:
    """Digits of the longest value, its fraction included."""
    largest = pc.max(pc.abs(values)).as_py()
    return max(1, len(str(int(largest.scaleb(values.type.scale)))))


def _rounded(quotient: Any, wanted: Integers) -> Any:
    """Each value rounded to its own number of digits, half away from zero."""
    found = None
    for digits in np.unique(wanted):
        part = pc.round(quotient, int(digits), round_mode="half_towards_infinity")
        found = part if found is None else pc.if_else(pa.array(wanted == digits), part, found)
    return found

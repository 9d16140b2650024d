"""`sluice_divide`: numeric division by PostgreSQL's rules, for the local engine, vectorised over Arrow arrays.

Operands are passed as texts, so that one function serves all scales. The quotient is truncated with some digits to
spare (256-bit decimals), so that rounding it half away from zero gives the same as rounding the true quotient. The
number of digits to keep is computed per value. Values are then rounded in groups, one for each number of digits, of
which there are only a handful.

`engine.sql.functions.division` states the rule and builds the calls. Source: PostgreSQL 15, numeric.c.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.executors.local.udf import arrow_function
from wire.errors import DivisionByZero, NumericValueOutOfRange
from wire.types.decimal_arithmetic import divide_decimals, round_decimals, truncate_decimals

_WIDEST: Final = 76
_NUMERIC: Final = 38
_GROUP: Final = 4
_SIGNIFICANT: Final = 16
_TEN: Final = 10
_TOO_LONG: Final = "value out of range: a quotient with more digits than numeric can hold here"

Integers = npt.NDArray[np.int64]


@arrow_function(
    "sluice_divide",
    ["VARCHAR", "VARCHAR", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER"],
    "VARCHAR",
)
def divide(dividends: Any, divisors: Any, scales_a: Any, scales_b: Any, scales: Any, minima: Any, kinds: Any) -> Any:
    """Divide a by b, both given as texts. The remaining arguments are constants: the scales of a and b, the scale of
    the result, its least display scale, and flags for operands whose display scale depends on the value: 1 for a, 2 for
    b. Raises DivisionByZero, NumericValueOutOfRange.
    """
    if len(dividends) == 0:
        return pa.array([], pa.utf8())
    scale_a, scale_b, scale, minimum, flags = (c[0].as_py() for c in (scales_a, scales_b, scales, minima, kinds))
    digits_a, digits_b = Digits(dividends, scale_a), Digits(divisors, scale_b)
    a, b = _exact(dividends, scale_a, digits_a), _exact(divisors, scale_b, digits_b)
    if pc.any(pc.equal(b, pa.scalar(0, b.type))).as_py():
        raise DivisionByZero("division by zero")
    wanted = _digits_wanted(digits_a, digits_b, minimum, flags)
    quotient = _cut_off(a, b, scale)
    rounded = truncate_decimals(rounded_to(quotient, np.minimum(wanted, scale)), scale)
    rounded = pc.cast(rounded, pa.decimal256(_WIDEST, scale))
    _check_whole(rounded, a, b, wanted > scale)
    return pc.cast(rounded, pa.utf8())


def _check_whole(quotient: Any, a: Any, b: Any, short: npt.NDArray[np.bool_]) -> None:
    """Raise NumericValueOutOfRange for a quotient that should have more digits than it has, unless it is exact."""
    if not short.any():
        return
    rows = pa.array(short)
    q, divisor, dividend = (pc.filter(x, rows) for x in (quotient, b, a))
    try:
        # Limited to 37 digits, so that the product has at most 76.
        narrow = pc.cast(q, pa.decimal256(37, q.type.scale))
        exact = pc.equal(pc.multiply(narrow, divisor), dividend)
    except pa.ArrowInvalid:
        exact = pa.array([False])
    if not pc.all(exact).as_py():
        raise NumericValueOutOfRange(_TOO_LONG)


def _exact(texts: Any, scale: int, digits: Digits) -> Any:
    """Return the decimals without the fractional digits that are zero in all of them, which would take digits away
    from the quotient.
    """
    column = pa.chunked_array([texts]) if isinstance(texts, pa.Array) else texts
    figures = lengths(column) - np.asarray(pc.starts_with(column, "-").to_numpy(zero_copy_only=False), np.int64)
    precision = _NUMERIC if figures.max() <= _NUMERIC + (scale > 0) else _WIDEST
    exact = pc.cast(column, pa.decimal256(precision, scale))
    return truncate_decimals(exact, max(0, int(digits.decimals.max())))


def lengths(texts: Any) -> Integers:
    return np.asarray(pc.binary_length(texts).to_numpy(zero_copy_only=False), np.int64)


class Digits:
    """The leading digits of decimals given as texts: the exponent of the first base-10000 group (0 for zero), the
    group itself, and the number of fractional digits without trailing zeros.
    """

    def __init__(self, texts: Any, scale: int) -> None:
        plain = pc.ascii_ltrim(pc.replace_substring(texts, ".", ""), "-0")
        length = lengths(plain)
        place = length - 1 - scale
        self.weight: Integers = np.where(length == 0, 0, place // _GROUP)
        first = pc.utf8_slice_codeunits(pc.ascii_rpad(plain, _GROUP, "0"), 0, _GROUP).cast(pa.int64())
        self.decimals: Integers = np.where(length == 0, 0, scale - length + lengths(pc.ascii_rtrim(plain, "0")))
        self.leading: Integers = np.asarray(first.to_numpy(zero_copy_only=False)) // _TEN ** (
            _GROUP - 1 - place % _GROUP
        )


def _digits_wanted(a: Digits, b: Digits, minimum: int, flags: int) -> Integers:
    """Compute select_div_scale for each pair, taking account of the display scales of operands that are quotients
    themselves.
    """
    wanted = _SIGNIFICANT - _GROUP * (a.weight - b.weight - (a.leading <= b.leading))
    for flag, operand in ((1, a), (2, b)):
        if flags & flag:
            wanted = np.maximum(wanted, _SIGNIFICANT - _GROUP * operand.weight)
    least: Integers = np.maximum(wanted, minimum)
    return least


def _cut_off(a: Any, b: Any, scale: int) -> Any:
    """Return the quotient, truncated toward zero, with at least two digits more than `scale`.

    Arrow's quotient has s1 + p2 - s2 + 1 fractional digits, out of p1 + p2 + 1 in all, which must not exceed 76. So the
    operands are narrowed to the digits that they have, and the dividend is widened to make up for it.
    """
    precision_a, precision_b = (max(_width(x), x.type.scale, 1) for x in (a, b))
    extra = max(0, scale + 2 - (a.type.scale + precision_b - b.type.scale + 1))
    if precision_a + extra + precision_b + 1 > _WIDEST:
        raise NumericValueOutOfRange(_TOO_LONG)
    top = pc.cast(a, pa.decimal256(precision_a + extra, a.type.scale + extra))
    return divide_decimals(top, pc.cast(b, pa.decimal256(precision_b, b.type.scale)))


def _width(values: Any) -> int:
    """Return the number of digits of the longest value, including its fraction."""
    largest = pc.max(pc.abs(values)).as_py()
    return max(1, len(str(int(largest.scaleb(values.type.scale)))))


def rounded_to(quotient: Any, wanted: Integers) -> Any:
    """Round each value to its own number of digits, half away from zero."""
    found = None
    for digits in np.unique(wanted):
        part = round_decimals(quotient, int(digits))
        found = part if found is None else pc.if_else(pa.array(wanted == digits), part, found)
    return found

"""Exact division and rounding of Arrow's decimals.

Arrow (26.0.1; basic_decimal.cc, DecimalDivide) divides by Knuth's algorithm D. If the divisor has more than 32 bits,
Arrow computes some digits of the quotient, in base 2**32, as one or two less than they are. These are digits with the
maximal value 2**32-1, because the sum of two 32-bit numbers is kept in 32 bits. The digits after such a digit are wrong
as well. Rounding and casts to another scale divide by a power of ten and have the same error:
18446744073709551615.00000000000000 as decimal(38, 0) is 18446744067664922516.

Division by a divisor of 32 bits is exact. This module therefore drops at most nine digits at a time, and computes
quotients again if one of their digits is as large as these.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

#: The exponent of the largest power of ten that fits into 32 bits.
_STEP: Final = 9
_DIGITS_MAX: Final = 76
_WORDS: Final = 8
#: A digit of a quotient, in base 2**32, may be wrong if it is at least as large as this.
_DOUBTFUL: Final = np.uint32(2**32 - 16)


def truncate_decimals(values: Any, scale: int) -> Any:
    """Truncate decimals to `scale` fractional digits, toward zero. values: an array or chunked array with at least that
    many.
    """
    make = pa.decimal256 if pa.types.is_decimal256(values.type) else pa.decimal128
    while values.type.scale > scale:
        values = pc.cast(values, make(values.type.precision, max(scale, values.type.scale - _STEP)), safe=False)
    return values


def round_decimals(values: Any, digits: int) -> Any:
    """Round decimals to `digits` fractional digits, half away from zero, in the same type. Raises pa.ArrowInvalid if a
    rounded value does not fit into the type.
    """
    if values.type.scale - digits <= _STEP:
        return pc.round(values, ndigits=digits, round_mode="half_towards_infinity")
    # The digit after the last one decides about rounding.
    rounded = pc.round(truncate_decimals(values, digits + 1), ndigits=digits, round_mode="half_towards_infinity")
    return pc.cast(rounded, values.type)


def divide_decimals(dividends: Any, divisors: Any) -> Any:
    """Return the quotients of two arrays of decimal256 as `pc.divide` gives them, truncated toward zero. They have
    `s1+p2-s2+1` fractional digits.
    """
    quotients = pc.divide(dividends, divisors)
    if isinstance(quotients, pa.ChunkedArray):
        quotients = quotients.combine_chunks()
    words = np.frombuffer(pc.abs(quotients).buffers()[1], np.uint32).reshape(-1, _WORDS)[: len(quotients)]
    doubtful = np.flatnonzero((words >= _DOUBTFUL).any(axis=1))
    if len(doubtful) == 0:
        return quotients
    rows = pa.array(doubtful)
    scale = quotients.type.scale
    exact = [
        _divide(a, b, scale)
        for a, b in zip(*(pc.take(c, rows).to_pylist() for c in (dividends, divisors)), strict=True)
    ]
    mask = np.zeros(len(quotients), bool)
    mask[doubtful] = True
    return pc.replace_with_mask(quotients, pa.array(mask), pa.array(exact, quotients.type))


def _divide(dividend: Decimal | None, divisor: Decimal | None, scale: int) -> Decimal | None:
    """Return the quotient of one pair. Few are computed this way: of random quotients, one value in some 10 million."""
    if dividend is None or divisor is None:
        return None
    with localcontext(prec=4 * _DIGITS_MAX):
        a, b = (int(value.scaleb(_DIGITS_MAX)) for value in (dividend, divisor))
        size = abs(a) * 10**scale // abs(b)
        return Decimal(size if (a < 0) == (b < 0) else -size).scaleb(-scale)

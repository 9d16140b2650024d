"""Text to boolean, integers, floats and numeric, by the rules of PostgreSQL 15's input functions.

`wire.types.input` chooses among the readers by type. Each takes the text and returns the canonical value.

Sources: PostgreSQL 15 documentation 8.1 and 8.6; behaviour compared with a real server
(tests/unit/wire/test_values_*.py).
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Final, NoReturn

import numpy as np

from wire.common.digits import SPACE, parse_digits
from wire.errors import InvalidTextRepresentation, NumericValueOutOfRange
from wire.types import pg_types as t

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_OID: Final = re.compile(r"[+-]?[0-9]+")
# Digits are matched possessively; otherwise a mismatch after them would be retried with every smaller number of digits.
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_HEX_FLOAT: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]++\.?[0-9a-fA-F]*+|\.[0-9a-fA-F]++)(?:[pP][+-]?[0-9]++)?")
_SPECIAL_FLOAT: Final = re.compile(r"[+-]?(?:nan(?:\([a-z0-9_]*\))?|inf|infinity)", re.IGNORECASE | re.ASCII)
_NUMERIC: Final = re.compile(r"([+-]?)(?:([0-9]++)\.?([0-9]*+)|\.([0-9]++))(?:[eE][ \t\n\r\v\f]*+([+-]?[0-9]++))?")
_SPECIAL_NUMERIC: Final = re.compile(r"nan|[+-]?(?:inf|infinity)", re.IGNORECASE | re.ASCII)

#: The maximum number of digits before and after the decimal point in PostgreSQL's numeric.
_NUMERIC_WEIGHT_MAX: Final = 131_072
_NUMERIC_SCALE_MAX: Final = 16_383
#: A precision that never limits the shifting and rounding of decimals.
_EXACT: Final = Context(prec=_NUMERIC_WEIGHT_MAX + _NUMERIC_SCALE_MAX + 10)

_INTEGER_BITS: Final = {t.INT2: 16, t.INT4: 32, t.INT8: 64}
_TRUE: Final = ("true", "yes")
_FALSE: Final = ("false", "no")


def invalid(name: str, text: str) -> InvalidTextRepresentation:
    """Return 22P02 for a text that is not a value of the type called `name`."""
    return InvalidTextRepresentation(f'invalid input syntax for type {name}: "{text}"')


def read_bool(text: str) -> bool:
    """Read true, yes, on, 1 and their opposites; any unambiguous prefix of a word; any letter case."""
    word = text.strip(SPACE).lower()
    if word:
        if word in ("1", "on") or any(full.startswith(word) for full in _TRUE):
            return True
        if word in ("0", "of", "off") or any(full.startswith(word) for full in _FALSE):
            return False
    raise invalid("boolean", text)


def read_integer(typ: t.PgType, text: str) -> int:
    """Read an int2, int4 or int8: decimal digits with an optional sign."""
    word = text.strip(SPACE)
    if not _INTEGER.fullmatch(word):
        raise invalid(typ.sql_name, text)
    bound = 1 << (_INTEGER_BITS[typ] - 1)
    value = parse_digits(word)
    if not -bound <= value < bound:
        raise NumericValueOutOfRange(f'value "{text}" is out of range for type {typ.sql_name}')
    return value


def read_oid(text: str) -> int:
    """Read an OID: unsigned 32 bits; a negative number wraps, as in strtoul()."""
    word = text.strip(SPACE)
    if not _OID.fullmatch(word):
        raise invalid("oid", text)
    value = parse_digits(word)
    if not -(1 << 31) <= value < 1 << 32:
        raise NumericValueOutOfRange(f'value "{text}" is out of range for type oid')
    return value & 0xFFFF_FFFF


def read_float(typ: t.PgType, text: str) -> float:
    """Read a float4 or float8 as strtof() and strtod() do, Infinity and NaN included; over- and underflow are 22003."""
    word = text.strip(SPACE)
    if _SPECIAL_FLOAT.fullmatch(word):
        return _special_float(word)
    if _FLOAT.fullmatch(word):
        value = float(word)
    elif _HEX_FLOAT.fullmatch(word):
        value = _hex_float(typ, text, word)
    else:
        raise invalid(typ.sql_name, text)
    if typ is t.FLOAT4:
        value = _nearest_float4(value, word)
    if math.isinf(value) or (value == 0 and _has_nonzero_digit(word)):
        _float_out_of_range(typ, word)
    return value


def _special_float(word: str) -> float:
    if "nan" in word.lower():
        return math.nan
    return -math.inf if word.startswith("-") else math.inf


def _hex_float(typ: t.PgType, text: str, word: str) -> float:
    try:
        return float.fromhex(word)
    except OverflowError:
        _float_out_of_range(typ, text.strip(SPACE))


def _float_out_of_range(typ: t.PgType, word: str) -> NoReturn:
    raise NumericValueOutOfRange(f'"{word}" is out of range for type {typ.sql_name}')


def _has_nonzero_digit(word: str) -> bool:
    mantissa = re.split("[pP]" if "x" in word.lower() else "[eE]", word.lower().replace("0x", ""))[0]
    return any(c not in "+-.0" for c in mantissa)


def _nearest_float4(value: float, word: str) -> float:
    """Return the float4 nearest to the number in `word`. Rounding by way of the float8 `value` is wrong in one case
    only: the float8 lies exactly between two float4s and the number does not.
    """
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.float32(value)
    if not np.isfinite(nearest) or "x" in word.lower() or float(nearest) == value:
        return float(nearest)
    with np.errstate(over="ignore"):
        other = np.nextafter(nearest, np.float32(math.inf if value > nearest else -math.inf))
    if np.isfinite(other) and (float(nearest) + float(other)) / 2 == value:
        exact = Fraction(Decimal(word))
        if exact != Fraction(value):
            toward_other = (exact > Fraction(value)) == (other > nearest)
            return float(other if toward_other else nearest)
    return float(nearest)


def read_numeric(text: str, typmod: int = -1) -> Decimal:
    """Read a numeric. All digits are kept, also trailing zeros after the decimal point (they are the value's display
    scale); the value is rounded half away from zero to `typmod`'s scale.

    NaN and the infinities are values too, which decimal128 cannot carry.
    """
    word = text.strip(SPACE)
    if _SPECIAL_NUMERIC.fullmatch(word):
        return apply_numeric_typmod(Decimal(word), typmod)
    match = _NUMERIC.fullmatch(word)
    if not match:
        raise invalid("numeric", text)
    sign, integer, fraction, bare_fraction, exponent_text = match.groups()
    fraction = bare_fraction if bare_fraction is not None else fraction
    exponent = _exponent(exponent_text)
    digits = ((integer or "") + fraction).lstrip("0") or "0"
    point = exponent - len(fraction)
    if -point > _NUMERIC_SCALE_MAX or (digits != "0" and len(digits) + point > _NUMERIC_WEIGHT_MAX):
        raise NumericValueOutOfRange("value overflows numeric format")
    value = _EXACT.create_decimal(("-" if sign == "-" and digits != "0" else "") + digits)
    shifted = _EXACT.scaleb(value, point) if digits != "0" else Decimal(0)
    return apply_numeric_typmod(_with_scale(shifted, max(0, -point)), typmod)


def _exponent(digits: str | None) -> int:
    if digits is None:
        return 0
    value = parse_digits(digits)
    if abs(value) >= (1 << 31) // 2:
        raise NumericValueOutOfRange("value overflows numeric format")
    return value


def _with_scale(value: Decimal, scale: int) -> Decimal:
    rounded = value.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, _EXACT)
    return rounded.copy_abs() if rounded.is_zero() else rounded


def numeric_overflow(precision: int, scale: int) -> NumericValueOutOfRange:
    """Return the error for a number that does not fit numeric(precision, scale)."""
    limit = "1" if precision == scale else f"10^{precision - scale}"
    return NumericValueOutOfRange(
        "numeric field overflow",
        detail=f"A field with precision {precision}, scale {scale} must round to an absolute value less than {limit}.",
    )


def apply_numeric_typmod(value: Decimal, typmod: int) -> Decimal:
    """Round `value` to the scale of numeric(p, s). Raises 22003 if it then needs more than p digits."""
    if typmod == -1:
        return value
    if value.is_nan():
        return value
    precision, scale = t.numeric_precision_scale(typmod)
    if value.is_infinite():
        detail = f"A field with precision {precision}, scale {scale} cannot hold an infinite value."
        raise NumericValueOutOfRange("numeric field overflow", detail=detail)
    rounded = _with_scale(value, scale)
    if not rounded.is_zero() and rounded.adjusted() >= precision - scale:
        raise numeric_overflow(precision, scale)
    return rounded if scale >= 0 else _with_scale(rounded, 0)

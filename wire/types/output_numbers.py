"""Booleans, integers, floats and numeric as text, a column at a time.

Floats print as PostgreSQL's: the shortest decimal that lies strictly between the midpoints to the neighbouring floats
and is nearest to the value, in scientific notation outside 1e-4 .. 1e15 (1e6 for float4). Arrow's cast gives the
shortest decimal with the midpoints allowed, in other notations. We take its digits, correct the few where this makes a
difference, and rewrite those in another notation.

Numerics print with the digits that `wire.types.carriers.NumericScale` states.

`wire.types.output` calls this module. Source: PostgreSQL 15 documentation 8.1.3; a real server, with which the tests
compare.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wire.types.byte_columns import (
    Bools,
    ByteColumn,
    Ints,
    Sheet,
    as_binary,
    binary_array,
    digit_matrix,
    join,
    lengths_of,
    matrix_of,
    of_array,
    validity_of,
    values_of,
)
from wire.types.carriers import NumericScale
from wire.types.decimal_arithmetic import round_decimals

_POWERS: Final = np.array([10**n for n in range(20)], np.uint64)
#: Powers of ten modulo 2**64.
_WRAPPED_POWERS: Final = np.array([10**n % (1 << 64) for n in range(40)], np.uint64)
#: The number of decimals of a quotient: 16 significant ones, in groups of four (PostgreSQL: select_div_scale).
_QUOTIENT_DIGITS: Final = 16


def bool_text(array: pa.Array) -> ByteColumn:
    """Return booleans as t and f."""
    flags = values_of(array.cast(pa.uint8()), np.uint8)
    return ByteColumn(len(array), (np.where(flags, np.uint8(ord("t")), np.uint8(ord("f"))).reshape(-1, 1),))


def integer_text(array: pa.Array) -> ByteColumn:
    return of_array(array.cast(pa.string()))


# --- floats -------------------------------------------------------------------------------------------------------------


def float_text(array: pa.Array, extra_digits: int) -> ByteColumn:
    """Return float4 and float8 as text.

    extra_digits: extra_float_digits; above 0 the shortest exact decimal, else that many digits more than the type's
    own.
    """
    single = pa.types.is_float32(array.type)
    values = values_of(array, np.float32 if single else np.float64)
    if extra_digits <= 0:
        text = _rounded_text(values, max((6 if single else 15) + extra_digits, 1))
    else:
        text = _shortest_text(array, values, single=single)
    return ByteColumn(len(array), (_with_specials(text, values),))


def _rounded_text(values: npt.NDArray[np.floating], digits: int) -> pa.BinaryArray:
    """Format as printf's %g, which numpy offers for whole arrays."""
    printed = np.strings.mod(f"%.{digits}g", values.astype(np.float64))
    return as_binary(pa.array(printed, pa.string()))


def _shortest_text(array: pa.Array, values: npt.NDArray[np.floating], *, single: bool) -> pa.BinaryArray:
    text = as_binary(array.cast(pa.string()))
    size = np.abs(values)
    upper = 1e6 if single else 1e10
    with np.errstate(invalid="ignore"):
        regular = (size >= np.array(1e-4, values.dtype)) & (size < upper) | (size == 0)
    irregular = ~regular & np.isfinite(values)
    if not irregular.any():
        return text
    laid_out = _layout(text.filter(pa.array(irregular)), values[irregular], single=single)
    return pc.replace_with_mask(text, pa.array(irregular), laid_out)


def _with_specials(text: pa.BinaryArray, values: npt.NDArray[np.floating]) -> pa.BinaryArray:
    if np.isfinite(values).all():
        return text
    for rows, word in (
        (np.isnan(values), b"NaN"),
        (np.isposinf(values), b"Infinity"),
        (np.isneginf(values), b"-Infinity"),
    ):
        if rows.any():
            text = pc.if_else(pa.array(rows), pa.scalar(word, pa.binary()), text)
    return text


def _layout(text: pa.BinaryArray, values: npt.NDArray[np.floating], *, single: bool) -> pa.BinaryArray:
    """Return finite non-zero values in PostgreSQL's notation; `text`: the same values in Arrow's."""
    mantissa, exponent = _decimal_of_text(text)
    mantissa, exponent = _off_midpoints(mantissa, exponent, values, 24 if single else 53)
    count = np.searchsorted(_POWERS, mantissa, side="right").astype(np.int64)
    place = count - 1 + exponent
    return _notation(mantissa, count, place, values < 0, 6 if single else 15)


def _decimal_of_text(text: pa.BinaryArray) -> tuple[npt.NDArray[np.uint64], Ints]:
    """Return (mantissa, exponent of ten) of decimal texts, the mantissa without trailing zeros."""
    characters, _ = matrix_of(text, 26)
    rows = len(text)
    mantissa, exponent = np.zeros(rows, np.uint64), np.zeros(rows, np.int64)
    decimals, sign = np.zeros(rows, np.int64), np.ones(rows, np.int64)
    fractional, scientific = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
    for column in characters.T:
        digit = (column >= ord("0")) & (column <= ord("9"))
        number = np.where(digit, column - ord("0"), 0)
        mantissa = np.where(digit & ~scientific, mantissa * np.uint64(10) + number.astype(np.uint64), mantissa)
        exponent = np.where(digit & scientific, exponent * 10 + number, exponent)
        decimals += digit & fractional & ~scientific
        fractional |= column == ord(".")
        sign = np.where(scientific & (column == ord("-")), -1, sign)
        scientific |= column == ord("e")
    return _without_trailing_zeros(mantissa, sign * exponent - decimals)


def _without_trailing_zeros(mantissa: npt.NDArray[np.uint64], exponent: Ints) -> tuple[npt.NDArray[np.uint64], Ints]:
    for step in (16, 8, 4, 2, 1):
        power = np.uint64(10**step)
        whole = (mantissa % power == 0) & (mantissa != 0)
        mantissa = np.where(whole, mantissa // power, mantissa)
        exponent = np.where(whole, exponent + step, exponent)
    return mantissa, exponent


def _off_midpoints(
    mantissa: npt.NDArray[np.uint64], exponent: Ints, values: npt.NDArray[np.floating], bits: int
) -> tuple[npt.NDArray[np.uint64], Ints]:
    """Replace decimals that lie exactly on a midpoint between two floats by PostgreSQL's choice.

    Only integers of more than `bits` bits have such decimals. The distance of decimal and value fits 64 bits, so it is
    computed modulo 2**64.
    """
    fraction, power = np.frexp(np.abs(values).astype(np.float64))
    shift = power - bits
    candidates = (shift > 0) & (shift <= 63) & (exponent >= 0) & (exponent < len(_WRAPPED_POWERS))
    if not candidates.any():
        return mantissa, exponent
    shift = np.where(candidates, shift, 1).astype(np.uint64)
    units = (fraction * 2.0**bits).astype(np.uint64)
    decimal = mantissa * _WRAPPED_POWERS[np.where(candidates, exponent, 0)]
    distance = decimal - (units << shift)
    half = np.uint64(1) << (shift - np.uint64(1))
    below = np.where(fraction == 0.5, half >> np.uint64(1), half)
    rows = np.flatnonzero(candidates & ((distance == half) | (distance == np.uint64(0) - below)))
    if not len(rows):
        return mantissa, exponent
    distinct, inverse = np.unique(np.abs(values[rows]).astype(np.float64), return_inverse=True)
    mended = [_strictly_inside(float(value), bits) for value in distinct]
    mantissa, exponent = mantissa.copy(), exponent.copy()
    mantissa[rows] = np.array([m for m, _ in mended], np.uint64)[inverse]
    exponent[rows] = np.array([e for _, e in mended], np.int64)[inverse]
    return mantissa, exponent


def _strictly_inside(value: float, bits: int) -> tuple[int, int]:
    """Return (mantissa, exponent) of the shortest decimal strictly between the midpoints around an integral float;
    exact.
    """
    whole = int(value)
    unit = 1 << (whole.bit_length() - bits)
    # All values are multiplied by four, so that midpoints are integers even below a power of two.
    low = 4 * whole - (unit if whole & (whole - 1) == 0 else 2 * unit)
    high = 4 * whole + 2 * unit
    for exponent in range(len(str(whole)), -1, -1):
        step = 4 * 10**exponent
        first, last = low // step + 1, -(-high // step) - 1
        if first <= last:
            nearest, rest = divmod(4 * whole, step)
            nearest += rest * 2 > step or (rest * 2 == step and nearest % 2 == 1)
            return min(max(nearest, first), last), exponent
    raise AssertionError("an integer lies inside its own interval")


def _notation(
    mantissa: npt.NDArray[np.uint64], count: Ints, place: Ints, negative: Bools, limit: int
) -> pa.BinaryArray:
    """Lay out digits with a decimal point or an exponent.

    count: digits of the mantissa. place: exponent of ten of its first digit. limit: the place from which on the
    notation is scientific.
    """
    scientific = (place < -4) | (place >= limit)
    small = ~scientific & (place < 0)
    fixed = ~scientific & ~small
    digits = digit_matrix(mantissa * _POWERS[np.clip(17 - count, 0, 17)], 17)
    last = np.where(fixed, np.maximum(count, place + 1), count)
    point = np.where(fixed, place, np.where(scientific, 0, -1))
    sheet = Sheet(len(mantissa))
    sheet.literal(b"-", negative)
    sheet.literal(b"0.", small)
    for zeros in (1, 2, 3):
        sheet.literal(b"0", small & (place <= -1 - zeros))
    for column in range(17):
        sheet.part(digits[:, column : column + 1], last > column)
        sheet.literal(b".", (point == column) & (count > column + 1))
    sheet.literal(b"e", scientific)
    sheet.literal(b"+", scientific & (place >= 0))
    sheet.literal(b"-", scientific & (place < 0))
    sheet.number(np.abs(place), least=2, keep=scientific)
    return sheet.finish().join()


# --- numeric ------------------------------------------------------------------------------------------------------------


def numeric_text(array: pa.Array, display: NumericScale, minimum: int) -> ByteColumn:
    """Return decimal128 as text with the decimals that `display` prescribes. minimum: the least number of decimals if
    they depend on the value.
    """
    scale = array.type.scale
    if display is not NumericScale.FIXED and (display is not NumericScale.TRIMMED or minimum):
        return ByteColumn(len(array), (_text_by_value(array, value_scales(array, display, minimum)),))
    small = small_unscaled(array)
    if small is None or scale > 18:
        text = _wide_text(array)
        return ByteColumn(len(array), (_trim_zeros(text, scale) if display is NumericScale.TRIMMED else text,))
    return _small_text(small, scale, trimmed=display is NumericScale.TRIMMED)


def small_unscaled(array: pa.Array) -> npt.NDArray[np.int64] | None:
    """Return the unscaled integers of decimals if all of them fit 64 bits, else None."""
    words = values_of(array, np.dtype([("low", "<i8"), ("high", "<i8")]))
    low = np.ascontiguousarray(words["low"])
    high = words["high"]
    valid = validity_of(array)
    if valid is not None:
        low, high = np.where(valid, low, 0), np.where(valid, high, 0)
    fits = bool((high == low >> 63).all()) and not (len(low) and int(low.min()) == -(1 << 63))
    return low if fits else None


def _small_text(unscaled: npt.NDArray[np.int64], scale: int, *, trimmed: bool) -> ByteColumn:
    rows = len(unscaled)
    if scale == 0:
        return ByteColumn(rows, (as_binary(pa.array(unscaled).cast(pa.string())),))
    power = 10**scale
    size = np.abs(unscaled)
    whole = size // power
    decimals = size - whole * power
    negative = unscaled < 0
    text = pa.array(np.where(negative, -whole, whole)).cast(pa.string())
    minus_zero = negative & (whole == 0)
    if minus_zero.any():
        text = pc.if_else(pa.array(minus_zero), pa.scalar("-0"), text)
    matrix = np.empty((rows, scale + 1), np.uint8)
    matrix[:, 0] = ord(".")
    matrix[:, 1:] = digit_matrix(decimals, scale)
    if not trimmed:
        return ByteColumn(rows, (as_binary(text), matrix))
    sheet = Sheet(rows)
    keep = np.empty((rows, scale + 1), np.bool_)
    keep[:, 0] = decimals != 0
    for column in range(scale):
        keep[:, column + 1] = decimals % 10 ** (scale - column) != 0
    sheet.part(matrix, keep)
    return ByteColumn(rows, (as_binary(text), *sheet.finish().pieces))


def unscaled_digits(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return (digits, sign) of decimals as text: the unscaled integer without its sign, and `-` or nothing."""
    buffers = [None, array.buffers()[1]]
    integers = pa.Array.from_buffers(pa.decimal128(38, 0), len(array), buffers, offset=array.offset)
    if array.null_count:
        integers = pc.if_else(pc.is_valid(array), integers, pa.scalar(0, pa.decimal128(38, 0)))
    text = integers.cast(pa.string())
    negative = pc.starts_with(text, "-")
    return pc.ascii_ltrim(text, "-"), pc.if_else(negative, "-", "")


def _wide_text(array: pa.Array) -> pa.BinaryArray:
    """Return decimals of any size as text, with all decimals."""
    scale = array.type.scale
    digits, sign = unscaled_digits(array)
    if scale == 0:
        return join([as_binary(sign), as_binary(digits)])
    padded = as_binary(pc.ascii_lpad(digits, scale + 1, "0"))
    whole, decimals = pc.binary_slice(padded, 0, -scale), pc.binary_slice(padded, -scale)
    return join([as_binary(sign), whole, pa.array([b"."] * len(array), pa.binary()), decimals])


def _trim_zeros(text: pa.BinaryArray, scale: int) -> pa.BinaryArray:
    if scale == 0:
        return text
    return as_binary(pc.ascii_rtrim(pc.ascii_rtrim(text.cast(pa.string()), "0"), "."))


def value_scales(array: pa.Array, display: NumericScale, minimum: int) -> npt.NDArray[np.int64]:
    """Return how many decimals of each value are printed if its size decides (`NumericScale`), never more than the
    carrier has.

    For quotients PostgreSQL computes the scale from the first base-10000 digit of both operands. From the result alone,
    two things are known: a quotient that is a power of 10000 came from operands with equal first digits, which count as
    if it were just below; and a value with more decimals than its size requires got them from its operands.
    """
    scale, given = array.type.scale, trimmed_scales(array)
    if display is NumericScale.TRIMMED:
        return np.asarray(np.minimum(np.maximum(given, minimum), scale))
    digits, _ = unscaled_digits(array)
    length = pc.binary_length(digits).to_numpy(zero_copy_only=False).astype(np.int64)
    power = np.asarray(pc.equal(pc.ascii_rtrim(digits, "0"), "1").to_numpy(zero_copy_only=False))
    zero = np.asarray(pc.equal(digits, "0").to_numpy(zero_copy_only=False))
    place = np.where(zero, 0, length - 1 - scale)
    if display is NumericScale.QUOTIENT:
        weight = np.where(zero, -1, place // 4 - (power & (place % 4 == 0)))
        wanted: Ints = np.clip(_QUOTIENT_DIGITS - 4 * weight, max(minimum, 0), None)
        wanted = wanted + 4 * (given > wanted)
    elif display is NumericScale.ROOT:
        wanted = np.clip(_QUOTIENT_DIGITS - 1 - 2 * (place // 2), minimum, None)
    else:
        wanted = np.clip(_QUOTIENT_DIGITS - place - ((place < 0) & ~power), minimum, None)
    return np.asarray(np.minimum(np.maximum(wanted, given), scale))


def _text_by_value(array: pa.Array, scales: npt.NDArray[np.int64]) -> pa.BinaryArray:
    order = np.argsort(scales, kind="stable")
    parts = []
    for shown in np.unique(scales).tolist():
        rows = array.take(pa.array(np.flatnonzero(scales == shown)))
        text = _wide_text(round_decimals(rows, shown))
        cut = array.type.scale - shown + (shown == 0 and array.type.scale > 0)
        parts.append(pc.binary_slice(text, 0, -cut) if cut else text)
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    joined = pa.concat_arrays(parts) if parts else binary_array(np.zeros(1), b"")
    return joined.take(pa.array(back))


def trimmed_scales(array: pa.Array) -> npt.NDArray[np.int64]:
    """Return the number of decimals of each value without its trailing zeros."""
    digits, _ = unscaled_digits(array)
    kept = lengths_of(as_binary(pc.ascii_rtrim(digits, "0"))).astype(np.int64)
    zeros = lengths_of(as_binary(digits)) - kept
    return np.where(kept == 0, 0, np.maximum(array.type.scale - zeros, 0))

"""Columns in the binary format: the bytes of PostgreSQL's send functions in, Arrow carriers out. The reverse of
`binary`.

Fixed-width types are byte swaps of the whole column, text is validated and used as it is, and numerics of up to 18
digits are computed from their base-10000 digits with numpy. Values that do not fit (another width, a wider numeric,
dates out of range) and all other types go through the receive functions that read parameters
(`wire.pg.values.parameters`), each distinct value once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wire.copy.exact import read_values
from wire.errors import InvalidBinaryRepresentation, ProtocolViolation, SqlError
from wire.pg.values.parameters import MODIFIED, decode_parameter, with_modifier
from wire.types import pg_types as t
from wire.types.byte_columns import Ints, data_of, lengths_of, offsets_of, validity_of
from wire.types.carriers import PG_EPOCH_DAYS, PG_EPOCH_MICROS, carrier, nested_lists
from wire.types.civil_calendar import DAY_MICROS
from wire.types.datetime_input import DATE_END, DATE_FIRST, TIMESTAMP_END, TIMESTAMP_FIRST
from wire.types.input import InputSettings

#: Decimal digits that always fit 64 bits.
_SMALL_DIGITS: Final = 18
_NEGATIVE: Final = 0x4000
_LIMIT: Final = 1 << 62


def receive_column(
    array: pa.BinaryArray,
    typ: t.PgType,
    typmod: int,
    digits: tuple[int, int],
    settings: InputSettings,
    dimensions: int = 1,
) -> tuple[pa.Array, SqlError | None]:
    """Return the values before the first invalid one, and its error. digits: precision and scale of a numeric.
    dimensions: of arrays.
    """
    fast = _FAST.get(typ)
    found = None if fast is None or (typmod >= 0 and typ in _MODIFIED) else fast(array, typ, digits)
    if found is not None:
        return found, None
    carried = carrier(typ, digits[1])
    if typ.is_array:
        carried = nested_lists(carried, dimensions - 1)
    return read_values(array, lambda data: _value(data, typ, typmod, settings), carried)


def _value(data: bytes, typ: t.PgType, typmod: int, settings: InputSettings) -> Any:
    try:
        value = decode_parameter(typ, 1, data, replace(settings, client_encoding="UTF8"))
    except ProtocolViolation as error:
        # The value is invalid, not the message: the connection continues.
        raise InvalidBinaryRepresentation(error.message, sqlstate=error.sqlstate) from None
    return with_modifier(typ, typmod, value, settings)


# -- whole columns ------------------------------------------------------------------------------------------------------


def _numbers(array: pa.BinaryArray, kind: str) -> npt.NDArray[Any] | None:
    """Return values of a fixed width, zeros for nulls; None if a value has another width."""
    dtype = np.dtype(f">{kind}")
    valid, lengths = validity_of(array), lengths_of(array)
    if not (lengths == dtype.itemsize if valid is None else lengths[valid] == dtype.itemsize).all():
        return None
    offsets = offsets_of(array)
    if valid is not None and lengths[~valid].any():
        return None
    packed = data_of(array)[offsets[0] : offsets[-1]].view(dtype)
    if valid is None:
        return packed.astype(dtype.newbyteorder("="))
    found = np.zeros(len(array), dtype.newbyteorder("="))
    found[valid] = packed
    return found


def _with_nulls(values: npt.NDArray[Any], array: pa.BinaryArray, typ: pa.DataType) -> pa.Array:
    valid = validity_of(array)
    return pa.array(values, mask=None if valid is None else ~valid).view(typ)


def _plain(kind: str) -> _Fast:
    def read(array: pa.BinaryArray, typ: t.PgType, _digits: tuple[int, int]) -> pa.Array | None:
        values = _numbers(array, kind)
        return None if values is None else _with_nulls(values, array, carrier(typ))

    return read


def _truths(array: pa.BinaryArray, _typ: t.PgType, _digits: tuple[int, int]) -> pa.Array | None:
    values = _numbers(array, "u1")
    valid = validity_of(array)
    return None if values is None else pa.array(values != 0, mask=None if valid is None else ~valid)


def _oids(array: pa.BinaryArray, typ: t.PgType, _digits: tuple[int, int]) -> pa.Array | None:
    values = _numbers(array, "u4")
    return None if values is None else _with_nulls(values.astype(np.int64), array, carrier(typ))


def _within(kind: str, epoch: int, first: int, end: int) -> _Fast:
    """Return the reader of dates or timestamps, which converts from the epoch 2000 to 1970; its result is None if a
    value is out of range, or infinite.
    """

    def read(array: pa.BinaryArray, typ: t.PgType, _digits: tuple[int, int]) -> pa.Array | None:
        values = _numbers(array, kind)
        if values is None or ((values < first - epoch) | (values >= end - epoch)).any():
            return None
        return _with_nulls(values + values.dtype.type(epoch), array, carrier(typ))

    return read


def _texts(array: pa.BinaryArray, _typ: t.PgType, _digits: tuple[int, int]) -> pa.Array | None:
    offsets = offsets_of(array)
    if not data_of(array)[offsets[0] : offsets[-1]].all():
        return None  # a zero byte
    try:
        return array.cast(pa.utf8())
    except pa.ArrowInvalid:
        return None


def _bytes(array: pa.BinaryArray, _typ: t.PgType, _digits: tuple[int, int]) -> pa.Array | None:
    return array


def _numerics(array: pa.BinaryArray, _typ: t.PgType, digits: tuple[int, int]) -> pa.Array | None:
    """Return decimals; None if a value has more digits, before or after the decimal point, than its column and 64 bits
    hold.
    """
    precision, scale = digits
    valid = validity_of(array)
    present = array if valid is None else array.drop_null()
    lengths, offsets = lengths_of(present), offsets_of(present)[:-1].astype(np.int64)
    if not len(present) or (lengths < 8).any() or precision > 38:
        return None
    raw = np.append(data_of(present), np.zeros(8, np.uint8))
    count, weight, sign, shown = (_int16(raw, offsets + 2 * i) for i in range(4))
    fits = (lengths == 8 + 2 * count) & (count >= 0) & (4 * (weight + 1) + scale <= _SMALL_DIGITS) & (shown <= scale)
    # No digit may be below the last decimal place of the column.
    fits &= ((sign == 0) | (sign == _NEGATIVE)) & (4 * (weight - count + 1) + 4 + scale >= 1) & (shown >= 0)
    if not fits.all():
        return None
    unscaled = np.zeros(len(present), np.int64)
    for place in range(int(count.max()) if len(count) else 0):
        some = place < count
        digit = np.where(some, _int16(raw, np.where(some, offsets + 8 + 2 * place, 0)), 0)
        power = np.where(some, 4 * (weight - place) + scale, 0)
        up, down = 10 ** np.clip(power, 0, _SMALL_DIGITS), 10 ** np.clip(-power, 0, 4)
        if ((digit < 0) | (digit > 9999) | (digit % down != 0)).any():
            return None
        unscaled += digit * up // down
    if (unscaled >= 10 ** min(precision, _SMALL_DIGITS)).any():
        return None
    return _decimals(np.where(sign == _NEGATIVE, -unscaled, unscaled), valid, len(array), scale)


def _decimals(unscaled: Ints, valid: npt.NDArray[np.bool_] | None, rows: int, scale: int) -> pa.Array:
    words = np.zeros((rows, 2), np.int64)
    at = slice(None) if valid is None else valid
    words[at, 0], words[at, 1] = unscaled, unscaled >> 63
    bitmap = None if valid is None else pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(pa.decimal128(38, scale), rows, [bitmap, pa.py_buffer(words)])


def _int16(raw: npt.NDArray[np.uint8], at: Ints) -> Ints:
    high, low = raw[at].astype(np.int16), raw[at + 1].astype(np.int16)
    return np.asarray((high << 8) | low, np.int64)


_Fast = Callable[[pa.BinaryArray, t.PgType, tuple[int, int]], pa.Array | None]

#: Types whose modifier truncates or refuses values; a numeric's rounds them, which `digits` describes.
_MODIFIED: Final = MODIFIED - {t.NUMERIC}
_MOMENTS: Final = _within("i8", PG_EPOCH_MICROS, TIMESTAMP_FIRST, min(TIMESTAMP_END, _LIMIT))

_FAST: Final[dict[t.PgType, _Fast]] = {
    t.BOOL: _truths,
    t.INT2: _plain("i2"),
    t.INT4: _plain("i4"),
    t.INT8: _plain("i8"),
    t.FLOAT4: _plain("f4"),
    t.FLOAT8: _plain("f8"),
    t.OID: _oids,
    t.NUMERIC: _numerics,
    t.DATE: _within("i4", PG_EPOCH_DAYS, DATE_FIRST, DATE_END),
    t.TIME: _within("i8", 0, 0, DAY_MICROS + 1),
    t.TIMESTAMP: _MOMENTS,
    t.TIMESTAMPTZ: _MOMENTS,
    t.BYTEA: _bytes,
    t.TEXT: _texts,
    t.VARCHAR: _texts,
}

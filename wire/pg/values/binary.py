"""Result columns in the binary format: Arrow carriers in, the bytes of PostgreSQL's send functions out.

As `wire.types.output` does for text, this module encodes a column at a time. Fixed-width types are byte swaps of the
whole column; numerics are split into base-10000 digits; arrays and records are joined from the bytes of their elements.

Source: PostgreSQL's send functions, as real drivers read their output; tests compare with a real server byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wire.errors import FeatureNotSupported, UndefinedFunction
from wire.pg.values.wide_numerics import send_numeric
from wire.types import pg_types as t
from wire.types.byte_columns import (
    ByteColumn,
    Bytes2D,
    Ints,
    Sheet,
    as_binary,
    binary_array,
    constant,
    fixed_array,
    join,
    matrix_of,
    of_array,
    offsets_of,
    validity_of,
    values_of,
)
from wire.types.carriers import PG_EPOCH_DAYS, PG_EPOCH_MICROS, NumericScale, carrier
from wire.types.client_encodings import column_to_client
from wire.types.datetime_input import DATE_INFINITY, DATE_MINUS_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY
from wire.types.decimal_arithmetic import round_decimals
from wire.types.enums import enum_text
from wire.types.multiranges import RANGES, send_multirange
from wire.types.numbers_input import read_numeric
from wire.types.output import EncodedColumn, OutputSettings
from wire.types.output_nested import check_rectangular, elements_of
from wire.types.output_numbers import small_unscaled, unscaled_digits, value_scales
from wire.types.output_times import interval_fields, timetz_fields
from wire.types.range_bounds import read_bound
from wire.types.ranges import send_range
from wire.types.value_codecs import CODECS, WORDS, each

_NEGATIVE: Final = 0x4000
#: Decimal digits that always fit 64 bits.
_SMALL_DIGITS: Final = 18
_JSONB_VERSION: Final = b"\x01"
#: The types that regtype's output function names, "-" being none.
_TYPES: Final = {"-": 0} | {typ.sql_name: typ.oid for typ in t.BY_OID.values()}
_TYPE_NAMES: Final = pa.array(_TYPES)
_TYPE_NUMBERS: Final = pa.array(_TYPES.values(), pa.uint32())


def big_endian(values: Ints, kind: str) -> Bytes2D:
    """Return integers or floats as big-endian bytes. kind: numpy's type, such as `i4`."""
    swapped = np.ascontiguousarray(values.astype(f">{kind}"))
    return swapped.view(np.uint8).reshape(len(values), swapped.dtype.itemsize)


def _fixed_width_writer(kind: str, source: npt.DTypeLike) -> _Writer:
    return lambda _c, array, _s: _one(big_endian(values_of(array, source), kind))


def _one(matrix: Bytes2D) -> ByteColumn:
    return ByteColumn(len(matrix), (matrix,))


_Writer = Callable[[EncodedColumn, Any, OutputSettings], ByteColumn]


def binary_column(column: EncodedColumn, array: pa.Array, settings: OutputSettings) -> ByteColumn:
    """Return the binary values of a column. The content of null rows is undefined.

    Raises FeatureNotSupported for types without a binary format here.
    """
    typ = column.type
    if typ.category == "A":
        return _array(column, array, settings)
    if typ in CODECS or typ.category == "R":
        return _whole(column, array, settings)
    if typ.category == "C":
        return _record(column, array, settings)
    if typ is t.ACLITEM:
        raise UndefinedFunction("no binary output function available for type aclitem")
    if typ is t.ANYARRAY:
        raise FeatureNotSupported(f"not supported: binary output of type {typ.sql_name}")
    if pa.types.is_string(array.type) and typ not in (t.JSONB, t.UUID, t.NUMERIC):
        return _string(column, array, settings)
    if typ.category == "E":
        text = enum_text(typ, array).join()
        return ByteColumn(len(array), (column_to_client(text, settings.client_encoding),))
    writer = _WRITERS.get(typ)
    if writer is None:
        raise FeatureNotSupported(f"not supported: binary output of type {typ.sql_name}")
    return writer(column, array, settings)


def _whole(column: EncodedColumn, array: pa.Array, settings: OutputSettings) -> ByteColumn:
    """Return the values of types that are carried as another type (`wire.types.value_codecs`), and of ranges."""
    typ = column.type
    if typ in (t.XML, t.REFCURSOR):
        return ByteColumn(len(array), (column_to_client(as_binary(array), settings.client_encoding),))
    if typ.category == "R":
        send = send_multirange if typ in RANGES else send_range
        return each(array, lambda text: send(typ, text, _send_bound))
    if typ in WORDS and settings.client_encoding not in ("UTF8", "SQL_ASCII"):
        raise FeatureNotSupported(f"not supported: binary {typ.sql_name} in {settings.client_encoding}")
    return each(array, CODECS[typ].send)


def _send_bound(subtype: t.PgType, text: str) -> bytes:
    value = pa.array([read_bound(subtype, text)], None if subtype is t.NUMERIC else carrier(subtype))
    if subtype is t.NUMERIC:
        value = value.cast(pa.decimal128(38, max(value.type.scale, 0)))
    return bytes(binary_column(EncodedColumn(subtype), value, OutputSettings()).join()[0].as_py())


def _bool(_column: EncodedColumn, array: pa.Array, _settings: OutputSettings) -> ByteColumn:
    return _one(values_of(array.cast(pa.uint8()), np.uint8).reshape(-1, 1))


def _string(column: EncodedColumn, array: pa.Array, settings: OutputSettings) -> ByteColumn:
    if column.type is t.REGTYPE:
        return _type_number(array)
    if column.type in t.REG_TYPES:
        raise _from_a_name(column.type)
    text = column_to_client(as_binary(array), settings.client_encoding)
    if column.type is t.CHAR:
        return ByteColumn(
            len(array), (pc.if_else(pc.equal(pc.binary_length(text), 0), pa.scalar(b"\0", pa.binary()), text),)
        )
    return ByteColumn(len(array), (text,))


def _from_a_name(typ: t.PgType) -> FeatureNotSupported:
    return FeatureNotSupported(f"not supported: binary output of {typ.name} from a name")


def _type_number(array: pa.Array) -> ByteColumn:
    """The numbers of types whose names the planner has put in their place; those of users are not known here."""
    places = pc.index_in(array, value_set=_TYPE_NAMES.cast(array.type))
    if pc.any(pc.and_(array.is_valid(), places.is_null())).as_py():
        raise _from_a_name(t.REGTYPE)
    return _one(big_endian(values_of(_TYPE_NUMBERS.take(pc.fill_null(places, 0)), np.uint32), "u4"))


def _jsonb(_column: EncodedColumn, array: pa.Array, settings: OutputSettings) -> ByteColumn:
    text = column_to_client(as_binary(array), settings.client_encoding)
    return ByteColumn(len(array), (constant(len(array), _JSONB_VERSION), text))


def _uuid(_column: EncodedColumn, array: pa.Array, _settings: OutputSettings) -> ByteColumn:
    letters, _ = matrix_of(as_binary(array), 36)
    hexadecimal = np.delete(letters, (8, 13, 18, 23), axis=1)
    nibbles = np.where(hexadecimal >= ord("a"), hexadecimal - (ord("a") - 10), hexadecimal - ord("0")).astype(np.uint8)
    return _one((nibbles[:, ::2] * np.uint8(16) + nibbles[:, 1::2]).astype(np.uint8))


def _date(_column: EncodedColumn, array: pa.Array, _settings: OutputSettings) -> ByteColumn:
    days = values_of(array, np.int32).astype(np.int64)
    infinite = (days == DATE_INFINITY) | (days == DATE_MINUS_INFINITY)
    return _one(big_endian(np.where(infinite, days, days - PG_EPOCH_DAYS), "i4"))


def _timestamp(_column: EncodedColumn, array: pa.Array, _settings: OutputSettings) -> ByteColumn:
    micros = values_of(array, np.int64)
    infinite = (micros == TIMESTAMP_INFINITY) | (micros == TIMESTAMP_MINUS_INFINITY)
    with np.errstate(over="ignore"):
        shifted = micros - PG_EPOCH_MICROS
    return _one(big_endian(np.where(infinite, micros, shifted), "i8"))


def _timetz(_column: EncodedColumn, array: pa.Array, _settings: OutputSettings) -> ByteColumn:
    micros, west = timetz_fields(array)
    return ByteColumn(len(array), (big_endian(micros, "i8"), big_endian(west, "i4")))


def _interval(_column: EncodedColumn, array: pa.Array, _settings: OutputSettings) -> ByteColumn:
    months, days, micros = interval_fields(array)
    return ByteColumn(len(array), (big_endian(micros, "i8"), big_endian(days, "i4"), big_endian(months, "i4")))


# --- numeric ------------------------------------------------------------------------------------------------------------


def _numeric(column: EncodedColumn, array: pa.Array, _settings: OutputSettings) -> ByteColumn:
    if pa.types.is_string(array.type):
        return each(array, lambda text: send_numeric(read_numeric(text)))
    scale = array.type.scale
    if column.display is NumericScale.FIXED:
        shown = np.full(len(array), scale, np.int64)
    else:
        shown = value_scales(array, column.display, column.minimum)
        if column.display is not NumericScale.TRIMMED:
            array = _round_decimals(array, shown)
    return _numeric_bytes(array, shown)


def _round_decimals(array: pa.Array, shown: Ints) -> pa.Array:
    """Round decimals half away from zero, each row to its own number of decimals."""
    for decimals in np.unique(shown).tolist():
        rounded = round_decimals(array, decimals)
        array = pc.if_else(pa.array(shown == decimals), rounded, array)
    return array


def _numeric_bytes(array: pa.Array, shown: Ints) -> ByteColumn:
    """Return numerics in the binary format: groups of four decimal digits around the decimal point, without leading and
    trailing zero groups, after a header with the number of groups, the weight of the first, the sign and the display
    scale.
    """
    rows, scale = len(array), array.type.scale
    groups, before_point = _base_10000(array)
    nonzero = groups != 0
    some = nonzero.any(axis=1)
    first = np.where(some, nonzero.argmax(axis=1), 0)
    last = np.where(some, groups.shape[1] - nonzero[:, ::-1].argmax(axis=1), 0)
    header = np.zeros((rows, 4), np.int64)
    header[:, 0] = last - first
    header[:, 1] = np.where(some, before_point - 1 - first, 0)
    header[:, 2] = np.where(_negative(array) & some, _NEGATIVE, 0)
    header[:, 3] = np.minimum(shown, scale)
    place = np.arange(groups.shape[1])
    keep = (place >= first[:, None]) & (place < last[:, None])
    sheet = Sheet(rows)
    sheet.part(header.astype(">i2").view(np.uint8).reshape(rows, 8))
    sheet.part(groups.astype(">i2").view(np.uint8).reshape(rows, 2 * groups.shape[1]), np.repeat(keep, 2, axis=1))
    return sheet.finish()


def _negative(array: pa.Array) -> npt.NDArray[np.bool_]:
    return values_of(array, np.dtype([("low", "<i8"), ("high", "<i8")]))["high"] < 0


def _base_10000(array: pa.Array) -> tuple[Ints, int]:
    """Return the groups of four digits of every row, and how many of them are before the decimal point."""
    scale = array.type.scale
    fill = -scale % 4
    small = small_unscaled(array) if scale + fill <= _SMALL_DIGITS else None
    if small is not None:
        return _small_base_10000(np.abs(small), scale, fill)
    digits, _ = unscaled_digits(array)
    widest = int(pc.max(pc.binary_length(digits)).as_py() or 1) if len(array) else 1
    before_point = max((widest - scale + 3) // 4, 0)
    width = before_point * 4 + scale
    padded = as_binary(pc.ascii_lpad(digits, width, "0"))
    matrix, _ = matrix_of(padded, width)
    numbers = np.concatenate((matrix - ord("0"), np.zeros((len(array), fill), np.uint8)), axis=1)
    by_group = numbers.reshape(len(array), (width + fill) // 4, 4).astype(np.int64)
    return by_group @ np.array([1000, 100, 10, 1]), before_point


def _small_base_10000(size: Ints, scale: int, fill: int) -> tuple[Ints, int]:
    """Return the same as `_base_10000`, for sizes that fit into 64 bits."""
    whole = size // 10**scale
    decimals = (size - whole * 10**scale) * 10**fill
    after_point = (scale + fill) // 4
    before_point = (len(str(int(whole.max()))) + 3) // 4 if len(whole) else 1
    groups = np.empty((len(size), before_point + after_point), np.int64)
    for rest, first, last in ((whole, 0, before_point), (decimals, before_point, before_point + after_point)):
        left = rest
        for column in range(last - 1, first - 1, -1):
            higher = left // 10_000
            groups[:, column] = left - higher * 10_000
            left = higher
    return groups, before_point


# --- arrays and records -------------------------------------------------------------------------------------------------


def prefix_lengths(column: ByteColumn, array: pa.Array) -> pa.BinaryArray:
    """Put the length in front of each value, and encode nulls as length -1 alone, as in rows, arrays and records."""
    lengths = column.lengths()
    valid = validity_of(array)
    if valid is None:
        return join([fixed_array(big_endian(lengths, "i4")), column.join()])
    data = pc.if_else(pa.array(valid), column.join(), pa.scalar(b"", pa.binary()))
    return join([fixed_array(big_endian(np.where(valid, lengths, -1), "i4")), data])


def _array(column: EncodedColumn, array: pa.ListArray, settings: OutputSettings) -> ByteColumn:
    """Return arrays: a header (dimensions, null flag, element type, length and lower bound of each dimension), then the
    elements.
    """
    offsets, elements = elements_of(array)
    dimensions = [np.diff(offsets)]
    while pa.types.is_list(elements.type):
        check_rectangular(offsets, elements)
        inner, elements = elements_of(elements)
        lengths = np.append(np.diff(inner), 0)
        outer_count = np.diff(offsets)
        dimensions.append(np.where(outer_count > 0, lengths[np.minimum(offsets[:-1], len(lengths) - 1)], 0))
        offsets = inner[offsets]
    element = column.element()
    items = prefix_lengths(binary_column(element, elements, settings), elements)
    data_offsets = offsets_of(items)[offsets] if len(elements) else np.zeros(len(array) + 1, np.int32)
    data = (
        binary_array(data_offsets, items.buffers()[2])
        if len(elements)
        else fixed_array(np.empty((len(array), 0), np.uint8))
    )
    return ByteColumn(len(array), (_array_header(column, array, dimensions, offsets, elements), data))


def _array_header(
    column: EncodedColumn, array: pa.ListArray, dimensions: list[Ints], offsets: Ints, elements: pa.Array
) -> pa.BinaryArray:
    rows = len(array)
    empty = np.diff(offsets) == 0
    valid = validity_of(elements)
    nulls = np.concatenate(([0], np.cumsum(~valid))) if valid is not None else np.zeros(len(elements) + 1, np.int64)
    lower = 0 if column.type.oid in (22, 30) else 1
    words = np.zeros((rows, 3 + 2 * len(dimensions)), np.int64)
    words[:, 0] = np.where(empty, 0, len(dimensions))
    words[:, 1] = nulls[offsets[1:]] != nulls[offsets[:-1]]
    words[:, 2] = column.type.element
    for index, lengths in enumerate(dimensions):
        words[:, 3 + 2 * index] = lengths
        words[:, 4 + 2 * index] = lower
    matrix = words.astype(">i4").view(np.uint8).reshape(rows, 4 * words.shape[1])
    sheet = Sheet(rows)
    sheet.part(matrix[:, :12])
    # An empty vector keeps its one dimension without elements; an empty array has no dimension.
    sheet.part(matrix[:, 12:], None if lower == 0 else ~empty)
    if lower == 0:
        matrix[:, :4] = big_endian(np.full(rows, 1), "i4")
    return sheet.finish().join()


def _record(column: EncodedColumn, array: pa.StructArray, settings: OutputSettings) -> ByteColumn:
    rows, fields = len(array), column.parts()
    oids = [item.type.oid for item in column.type.attributes] or [field.type.oid for field in fields]
    pieces: list[Any] = [big_endian(np.full(rows, len(fields)), "i4")]
    for index, (field, oid) in enumerate(zip(fields, oids, strict=True)):
        values = array.field(index)
        pieces.append(constant(rows, oid.to_bytes(4, "big")))
        pieces.append(prefix_lengths(binary_column(field, values, settings), values))
    return ByteColumn(rows, tuple(pieces))


_WRITERS: Final[dict[t.PgType, _Writer]] = {
    t.BOOL: _bool,
    t.INT2: _fixed_width_writer("i2", np.int16),
    t.INT4: _fixed_width_writer("i4", np.int32),
    t.INT8: _fixed_width_writer("i8", np.int64),
    t.FLOAT4: _fixed_width_writer("f4", np.float32),
    t.FLOAT8: _fixed_width_writer("f8", np.float64),
    t.NUMERIC: _numeric,
    t.BYTEA: lambda _c, array, _s: of_array(array),
    t.JSONB: _jsonb,
    t.UUID: _uuid,
    t.DATE: _date,
    t.TIME: _fixed_width_writer("i8", np.int64),
    t.TIMETZ: _timetz,
    t.TIMESTAMP: _timestamp,
    t.TIMESTAMPTZ: _timestamp,
    t.INTERVAL: _interval,
    t.VOID: lambda _c, array, _s: ByteColumn(len(array), ()),
    t.RECORD: _record,
    **dict.fromkeys(t.UNSIGNED, _fixed_width_writer("u4", np.int64)),
}

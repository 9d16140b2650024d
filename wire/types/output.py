"""PostgreSQL's type output functions, a column at a time: Arrow carriers in, text out.

`text_column` is the one entry point. `format_value` does the same for one canonical value, for constants that the
binder folds. The writers behind it are grouped by subject: `wire.types.output_numbers`, `wire.types.output_times`,
`wire.types.output_nested`.

`wire.types.carriers` defines the carriers. Source: PostgreSQL 15; tests compare with a real server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t
from wire.types.byte_columns import ByteColumn, Piece, as_binary, binary_array, constant, data_of, of_array, offsets_of
from wire.types.carriers import NumericScale, carrier
from wire.types.client_encodings import column_to_client
from wire.types.enums import enum_text
from wire.types.output_nested import array_text, record_text, vector_text
from wire.types.output_numbers import bool_text, float_text, integer_text, numeric_text
from wire.types.output_times import date_text, interval_text, time_text, timestamp_text, timetz_text
from wire.types.range_bounds import range_text
from wire.types.text_settings import OutputSettings
from wire.types.value_codecs import CODECS, text_of

__all__ = ["EncodedColumn", "OutputSettings", "format_value", "text_column"]


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """The properties of a result column that an encoder needs besides its batches.

    type, typmod: PostgreSQL's. display, minimum: a numeric's digits (`wire.types.carriers.NumericScale`), also inside
        arrays.
    fields: the columns of an anonymous record, else empty.
    """

    type: t.PgType
    typmod: int = -1
    display: NumericScale = NumericScale.FIXED
    minimum: int = 0
    fields: tuple[EncodedColumn, ...] = ()

    def element(self) -> EncodedColumn:
        """Return the column of an array's elements."""
        return replace(self, type=t.element_of(self.type))

    def parts(self) -> tuple[EncodedColumn, ...]:
        """Return the columns of the fields of a record or a composite type."""
        return tuple(_part(item) for item in self.type.attributes) if self.type.category == "C" else self.fields


def _part(item: t.Attribute) -> EncodedColumn:
    typ, typmod = t.attribute_type(item)
    return EncodedColumn(typ, typmod, NumericScale.TRIMMED if typmod == -1 else NumericScale.FIXED)


#: Element types whose texts never need quotes in an array.
_PLAIN: Final = frozenset(
    (t.BOOL, t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8, t.NUMERIC, t.OID, t.UUID, t.TIME, t.TIMETZ)
)
_VECTORS: Final = (22, 30)


def text_column(column: EncodedColumn, array: pa.Array, settings: OutputSettings) -> ByteColumn:
    """Return the texts of a column in the client's encoding. The content of null rows is undefined.

    Raises FeatureNotSupported for types without text output, 2202E for an array that is not rectangular, 22P05 for a
    character that the client's encoding lacks.
    """
    written = _write(column, array, settings)
    if settings.client_encoding in ("UTF8", "SQL_ASCII"):
        return written
    return ByteColumn(written.rows, tuple(_encode_piece(piece, settings) for piece in written.pieces))


def _encode_piece(piece: Piece, settings: OutputSettings) -> Piece:
    return piece if isinstance(piece, np.ndarray) else column_to_client(piece, settings.client_encoding)


def _write(column: EncodedColumn, array: pa.Array, settings: OutputSettings) -> ByteColumn:
    typ = column.type
    if typ.category == "R":
        return range_text(typ, array, settings)
    if typ in CODECS:
        return text_of(typ, array)
    if pa.types.is_string(array.type):
        # Names of objects too, which the binder has made from reg* values.
        return of_array(array)
    if typ.category == "A":
        return _array_text(column, array, settings)
    if typ.category == "E":
        return enum_text(typ, array)
    if typ.category == "C":
        return _record_text(column, array, settings)
    writer = _WRITERS.get(typ)
    if writer is None:
        raise FeatureNotSupported(f"not supported: text output of type {typ.sql_name}")
    return writer(column, array, settings)


def _array_text(column: EncodedColumn, array: pa.ListArray, settings: OutputSettings) -> ByteColumn:
    element = column.element()

    def element_text(elements: pa.Array) -> pa.BinaryArray:
        return _write(element, elements, settings).join()

    if column.type.oid in _VECTORS:
        return vector_text(array, element_text)
    return array_text(array, element_text, t.delimiter_of(element.type), quoted=element.type not in _PLAIN)


def _record_text(column: EncodedColumn, array: pa.StructArray, settings: OutputSettings) -> ByteColumn:
    fields = [array.field(index) for index in range(array.type.num_fields)]
    texts = [_write(known, field, settings).join() for known, field in zip(column.parts(), fields, strict=True)]
    return record_text(array, texts, fields)


# --- bytea --------------------------------------------------------------------------------------------------------------

_HEX: Final = np.array([list(b"%02x" % byte) for byte in range(256)], np.uint8)
#: Each byte in the escape format, padded to four bytes, and how many of the four count.
_ESCAPED: Final = [
    b"\\\\" if byte == 0x5C else bytes([byte]) if 0x20 <= byte <= 0x7E else b"\\%03o" % byte for byte in range(256)
]
_ESCAPE: Final = np.array([list(text.ljust(4)) for text in _ESCAPED], np.uint8)
_ESCAPE_SIZE: Final = np.array([len(text) for text in _ESCAPED], np.int64)


def _bytea_text(array: pa.BinaryArray, settings: OutputSettings) -> ByteColumn:
    array = as_binary(array)
    offsets = offsets_of(array)
    data = data_of(array)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    if settings.bytea_output == "hex":
        return ByteColumn(len(array), (constant(len(array), b"\\x"), binary_array(offsets * 2, _HEX[data])))
    sizes = _ESCAPE_SIZE[data]
    ends = np.concatenate(([0], np.cumsum(sizes)))
    return ByteColumn(len(array), (binary_array(ends[offsets], _ESCAPE[data][np.arange(4) < sizes[:, None]]),))


# --- by type ---------------------------------------------------------------------------------------------------------------

_Writer = Callable[[EncodedColumn, Any, OutputSettings], ByteColumn]

_WRITERS: Final[dict[t.PgType, _Writer]] = {
    t.BOOL: lambda _c, array, _s: bool_text(array),
    t.NUMERIC: lambda column, array, _s: _numeric_text(column, array),
    t.BYTEA: lambda _c, array, settings: _bytea_text(array, settings),
    t.DATE: lambda _c, array, settings: date_text(array, settings),
    t.TIME: lambda _c, array, _s: time_text(array),
    t.TIMETZ: lambda _c, array, _s: timetz_text(array),
    t.TIMESTAMP: lambda _c, array, settings: timestamp_text(array, settings),
    t.TIMESTAMPTZ: lambda _c, array, settings: timestamp_text(array, settings),
    t.INTERVAL: lambda _c, array, settings: interval_text(array, settings),
    t.VOID: lambda _c, array, _s: ByteColumn(len(array), ()),
    t.RECORD: _record_text,
    **dict.fromkeys((t.FLOAT4, t.FLOAT8), lambda _c, array, settings: float_text(array, settings.extra_float_digits)),
    **dict.fromkeys(
        (t.INT2, t.INT4, t.INT8, *t.UNSIGNED),
        lambda _c, array, _s: integer_text(array),
    ),
    **dict.fromkeys(
        (t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.CHAR, t.UNKNOWN, t.JSON, t.JSONB, t.UUID, t.PG_NODE_TREE),
        lambda _c, array, _s: of_array(array),
    ),
}


def _numeric_text(column: EncodedColumn, array: pa.Array) -> ByteColumn:
    return of_array(array) if pa.types.is_string(array.type) else numeric_text(array, column.display, column.minimum)


# --- one value ----------------------------------------------------------------------------------------------------------


def format_value(typ: t.PgType, value: Any, settings: OutputSettings | None = None) -> str:
    """Return one canonical value (not None) as text: the result of a cast of a constant to text.

    A Decimal is printed with the digits it has. Raises FeatureNotSupported for records and pseudo-types.
    """
    settings = settings or OutputSettings()
    if isinstance(value, Decimal):
        return f"{value:f}"
    base = t.element_of(typ) if typ.is_array else typ
    if base is t.NUMERIC:
        base, value = t.TEXT, _decimals_as_text(value)
    if base is t.RECORD or base.category == "P":
        raise FeatureNotSupported(f"not supported: text output of a constant of type {typ.sql_name}")
    arrow = carrier(base)
    probe = value
    while isinstance(probe, list):
        arrow = pa.list_(arrow)
        probe = next((item for item in probe if item is not None), None)
    if typ.is_array and not pa.types.is_list(arrow):
        arrow = pa.list_(arrow)
    array = pa.array([value], arrow)
    column = EncodedColumn(t.array_of(base) if typ.is_array else typ)
    text = text_column(column, array, replace(settings, client_encoding="UTF8")).join()
    return bytes(text[0].as_py()).decode()


def _decimals_as_text(value: Any) -> Any:
    if isinstance(value, list):
        return [_decimals_as_text(item) for item in value]
    return f"{value:f}" if isinstance(value, Decimal) else value

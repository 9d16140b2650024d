"""Types of file columns that PostgreSQL lacks: structs, maps, lists of these, lists of lists. Such a column is jsonb.

A `FileType` records what the files hold, as the table's definition or log states it, so that values can be written as
PostgreSQL's to_jsonb would write them (`engine.planner.codegen.nested_values`), even if some of the files lack a field.

Types that have no place in a document are not represented: maps whose keys are not plain values, structs with fields
that differ in case only (DuckDB does not distinguish these), and all types that `type_of_arrow` does not know.

Rejected: composite types. Each would be a type of its own in the catalog, made by reading a file and changed when the
files' struct gets a field; PostgreSQL has no composite types without a name for columns, and none for maps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec
import pyarrow as pa

from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from wire.types import pg_types as t

_SIMPLE: Final = (
    (pa.types.is_boolean, t.BOOL),
    (lambda a: pa.types.is_int8(a) or pa.types.is_uint8(a) or pa.types.is_int16(a), t.INT2),
    (lambda a: pa.types.is_uint16(a) or pa.types.is_int32(a), t.INT4),
    (lambda a: pa.types.is_uint32(a) or pa.types.is_int64(a), t.INT8),
    (lambda a: pa.types.is_float16(a) or pa.types.is_float32(a), t.FLOAT4),
    (pa.types.is_float64, t.FLOAT8),
    (pa.types.is_date, t.DATE),
    (pa.types.is_time, t.TIME),
    (lambda a: isinstance(a, pa.UuidType), t.UUID),
    (
        lambda a: (
            pa.types.is_string(a) or pa.types.is_large_string(a) or pa.types.is_string_view(a) or pa.types.is_null(a)
        ),
        t.TEXT,
    ),
    (
        lambda a: (
            pa.types.is_binary(a)
            or pa.types.is_large_binary(a)
            or pa.types.is_fixed_size_binary(a)
            or pa.types.is_binary_view(a)
        ),
        t.BYTEA,
    ),
)


class FileType(msgspec.Struct, frozen=True, omit_defaults=True):
    """The type of a file column. oid, typmod: of a plain value, its PostgreSQL type. parts: the type of a list's
    elements; the types of a map's keys and values; the types of a struct's fields, which clients know as `names` and
    files as `stored`.
    """

    kind: Literal["value", "list", "map", "struct"]
    oid: int = 0
    typmod: int = -1
    parts: tuple[FileType, ...] = ()
    names: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()

    @property
    def type(self) -> SqlType:
        """The type of a plain value."""
        return st.of(t.BY_OID[self.oid], self.typmod)

    def values(self) -> Iterator[SqlType]:
        """Yield the types of all plain values inside it."""
        if self.kind == "value":
            yield self.type
        for part in self.parts:
            yield from part.values()


def is_list(arrow: pa.DataType) -> bool:
    """Return whether an Arrow type is a list type, of any layout."""
    return bool(
        pa.types.is_list(arrow)
        or pa.types.is_large_list(arrow)
        or pa.types.is_fixed_size_list(arrow)
        or pa.types.is_list_view(arrow)
        or pa.types.is_large_list_view(arrow)
    )


def type_of_arrow(arrow: pa.DataType) -> SqlType | None:
    """Return the PostgreSQL type for an Arrow type of a file, or None if there is none."""
    if pa.types.is_dictionary(arrow):
        return type_of_arrow(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return st.of(t.TIMESTAMPTZ if arrow.tz else t.TIMESTAMP)
    if pa.types.is_decimal(arrow) and arrow.precision <= st.MAX_PRECISION:
        return st.of(t.NUMERIC, t.numeric_typmod(arrow.precision, arrow.scale))
    if pa.types.is_uint64(arrow):
        return st.of(t.NUMERIC, t.numeric_typmod(20, 0))
    if is_list(arrow):
        element = type_of_arrow(arrow.value_type)
        return None if element is None or element.pg.is_array else st.of(t.array_of(element.pg), element.typmod)
    return next((st.of(pg) for matches, pg in _SIMPLE if matches(arrow)), None)


def nested_type(arrow: pa.DataType) -> FileType | None:
    """Return the file type for an Arrow type that `type_of_arrow` does not know, or None if there is none either."""
    return None if type_of_arrow(arrow) is not None else _file_type(arrow)


def _file_type(arrow: pa.DataType) -> FileType | None:
    if pa.types.is_struct(arrow):
        return _struct(arrow)
    if pa.types.is_map(arrow):
        key, value = _file_type(arrow.key_type), _file_type(arrow.item_type)
        return None if key is None or key.kind != "value" or value is None else FileType("map", parts=(key, value))
    if is_list(arrow):
        element = _file_type(arrow.value_type)
        return None if element is None else FileType("list", parts=(element,))
    plain = type_of_arrow(arrow)
    return None if plain is None else FileType("value", plain.pg.oid, plain.typmod)


def _struct(arrow: pa.StructType) -> FileType | None:
    names = tuple(field.name for field in arrow)
    parts = tuple(part for field in arrow if (part := _file_type(field.type)) is not None)
    if not names or len(parts) < len(names) or len({name.lower() for name in names}) < len(names):
        return None
    return FileType("struct", parts=parts, names=names, stored=names)

"""The type that files have for each PostgreSQL type, and the conversion of carriers to it.

Delta has no TIME, INTERVAL, uuid or json, so files use a type that it has, and the catalog keeps the PostgreSQL type.
The readers of both engines cast a file's column to their storage type (`engine.planner.codegen.sources`,
`engine.executors.spark.tables`). The types are chosen so that the cast restores the value, and so that the files'
values sort as in PostgreSQL wherever files have statistics.

| PostgreSQL | in files | |
|---|---|---|
| bool, int2/4/8, float4/8, bytea, date | the same | |
| enums | int64 | as their carriers: a label may be renamed, and files stay |
| oid, reg* | int64 | |
| numeric(p, s) | decimal(p, s); decimal(38, 16) without a modifier | as expressions: ADR 1 |
| text, varchar, bpchar, name, "char", json, jsonb, uuid | string | as their carriers |
| time | string, `23:59:59.999999` | sorts as times do; 24:00:00 too |
| timetz | struct<micros, zone> | |
| timestamp / timestamptz | timestamp without / with UTC, microseconds | |
| interval | struct<months, days, micros> | |
| composite types | struct of the attributes' types, `PgType.field` | files from before an attribute was added lack it |
| T[] | list of T's type | several dimensions: lists of lists |

No attribute of a composite type may be a time, timetz or interval.

-infinity of dates and timestamps is stored in files as DuckDB has it, one more than the carrier's, because DuckDB's reader fails on
the least integer. Floats have no least and greatest value in Parquet's footers: those leave NaN out, which is greater
than all other values in PostgreSQL, so readers would skip it. Nor has character(n): trailing blanks count in the files'
order, and do not in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.catalog.model.objects import TableColumn
from engine.common.sql_type import SqlType, element_type
from engine.contracts.output_cast import with_elements
from engine.storage.infinities import without_infinities
from wire.errors import FeatureNotSupported, NumericValueOutOfRange
from wire.types import pg_types as t
from wire.types.carriers import carrier, nested_lists

_INTERVAL: Final = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("micros", pa.int64())])
_INTERVAL_VALUES: Final = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])
_NANOS_PER_MICRO: Final = 1000
_DAY_MICROS: Final = 86_400_000_000
#: Types that files store as another type; attributes of composite types must not have them.
_CHANGED: Final = frozenset((t.TIME, t.TIMETZ, t.INTERVAL))
#: Types that files store as their carriers.
_AS_CARRIED: Final = frozenset(
    (
        t.BOOL, t.INT2, t.INT4, t.INT8, *t.UNSIGNED, t.FLOAT4, t.FLOAT8,
        t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.CHAR, t.JSON, t.JSONB, t.UUID, t.BYTEA, t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ,
    )
)  # fmt: skip
#: The file types of types whose file type does not depend on modifiers.
_PLAIN: Final = {
    **{pg: carrier(pg) for pg in _AS_CARRIED},
    t.TIME: pa.utf8(),
    t.TIMETZ: carrier(t.TIMETZ),
    t.INTERVAL: _INTERVAL,
}
#: Types whose form in files no other reader recognises as such a value.
OUR_FORMS: Final = frozenset((t.TIMETZ, t.INTERVAL, t.array_of(t.TIMETZ), t.array_of(t.INTERVAL)))


def file_type(typ: SqlType) -> pa.DataType:
    """Return the type that a column has in files. Raises FeatureNotSupported for a type that files cannot store."""
    pg = typ.pg.carried or typ.pg
    if pg is t.NUMERIC:
        return pa.decimal128(typ.precision, typ.scale)
    if pg in _PLAIN:
        return _PLAIN[pg]
    if pg.is_array:
        return nested_lists(_element_type(typ), typ.dimensions)
    if pg.category == "C" and pg.attributes:
        return _struct_type(typ)
    raise FeatureNotSupported(f"not supported: a table's column of type {typ}")


def _element_type(typ: SqlType) -> pa.DataType:
    element = t.element_of(typ.pg)
    if element.category == "C":
        return _struct_type(SqlType(element))
    if (element.carried or element) not in (t.NUMERIC, *_PLAIN):
        raise FeatureNotSupported(f"not supported: a table's column of type {typ}")
    return file_type(element_type(typ))


def _struct_type(typ: SqlType) -> pa.DataType:
    if any(field.pg in _CHANGED for _, field in typ.fields):
        raise FeatureNotSupported(f"not supported: a table's column of type {typ}")
    return pa.struct([pa.field(typ.pg.field(i), file_type(field)) for i, (_, field) in enumerate(typ.fields)])


def file_schema(columns: Iterable[TableColumn]) -> pa.Schema:
    """Return the schema of a table's files. Raises FeatureNotSupported, naming the column."""
    return pa.schema([pa.field(column.file_column, _file_type(column)) for column in columns])


def _file_type(column: TableColumn) -> pa.DataType:
    try:
        return file_type(column.type)
    except FeatureNotSupported as error:
        raise FeatureNotSupported(f'not supported: column "{column.name}" of type {column.type} in a table') from error


def without_statistics(columns: Sequence[TableColumn]) -> frozenset[str]:
    """Return the file columns whose least and greatest value no reader may use."""
    return frozenset(column.file_column for column in columns if column.type.pg in (t.FLOAT4, t.FLOAT8, t.BPCHAR))


def to_files(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Convert a batch of carriers, in the order of the columns, to the values that files of this schema hold.

    Raises NumericValueOutOfRange for a numeric that has more digits than its column.
    """
    arrays = [_to_file(array, typ) for array, typ in zip(batch.columns, schema.types, strict=True)]
    return without_infinities(pa.RecordBatch.from_arrays(arrays, schema=schema))


def _to_file(array: pa.Array, target: pa.DataType) -> pa.Array:
    source = array.type
    if source == target:
        return array
    if pa.types.is_time(source):
        return _time_text(array)
    if pa.types.is_interval(source):
        return _interval_fields(array)
    if pa.types.is_null(source):
        return pa.nulls(len(array), target)
    if pa.types.is_list(target) and pa.types.is_list(source):
        if pa.types.is_list(source.value_type) != pa.types.is_list(target.value_type) and len(array.values):
            raise FeatureNotSupported("not supported: arrays of several numbers of dimensions in one column")
        if pa.types.is_list(source.value_type):
            return with_elements(array, _to_file(array.values, target.value_type), target)
        if pa.types.is_time(source.value_type) or pa.types.is_interval(source.value_type):
            return with_elements(array, _to_file(array.values, target.value_type), target)
    try:
        return array.cast(target)
    except pa.ArrowInvalid as error:
        if not _has_decimals(target):
            raise
        raise NumericValueOutOfRange("numeric field overflow") from error


def _has_decimals(typ: pa.DataType) -> bool:
    while pa.types.is_list(typ):
        typ = typ.value_type
    return bool(pa.types.is_decimal(typ))


def _time_text(array: pa.Array) -> pa.Array:
    """Convert times to text. Arrow's own conversion cannot express 24:00:00, which PostgreSQL has."""
    micros = array.view(pa.int64())
    midnight = pc.equal(micros, _DAY_MICROS)
    within = pc.if_else(midnight, 0, micros).cast(pa.int64()).view(array.type)
    return pc.if_else(midnight, "24:00:00.000000", within.cast(pa.utf8()))


def _interval_fields(array: pa.Array) -> pa.Array:
    if not len(array):
        return pa.nulls(0, _INTERVAL)
    values = np.frombuffer(array.buffers()[1], _INTERVAL_VALUES, len(array), array.offset * _INTERVAL_VALUES.itemsize)
    fields: list[Any] = [values["months"], values["days"], values["nanos"] // _NANOS_PER_MICRO]
    arrays = [pa.array(values, field.type) for values, field in zip(fields, _INTERVAL, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(_INTERVAL), mask=pc.is_null(array))

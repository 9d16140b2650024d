"""The one cast at an executor's boundary: from an engine's output to the carriers of `wire.types.carriers`.

Both executors use it: Spark's in the tasks that send (which is why it imports nothing but Arrow and numpy), DuckDB's in
the member. Where the bytes already are those of the carrier, arrays are re-labelled, not copied; the rest goes through
Arrow's kernels. Sources: the storage types of `engine.sql.trees.storage_types`, as each engine exports them.

| from | to | how |
|---|---|---|
| decimal128(p, s) | decimal128(38, s) | re-labelled; another scale is cast, and must not lose digits |
| int64 (Spark's time) | time64[us] | re-labelled: 24:00:00 stays |
| struct<months, days, micros> | month_day_nano_interval | numpy, field by field |
| timestamp[us, any zone] | timestamp[us, UTC] | re-labelled: both are microseconds since 1970 in UTC |
| boolean, null (void) | null | |
| lists, structs | their carriers | element by element, offsets kept |
| large, view and dictionary layouts, other widths | the carrier | Arrow's safe cast |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wire.errors import NumericValueOutOfRange
from wire.types import pg_types as t
from wire.types.carriers import carrier, nested_lists
from wire.types.decimal_arithmetic import truncate_decimals

if TYPE_CHECKING:
    from engine.common.sql_type import SqlType
    from engine.contracts.executor import OutputColumn

_INTERVAL: Final = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])
_NANOS_PER_MICRO: Final = 1000


def carrier_of(typ: SqlType) -> pa.DataType:
    """Return the carrier of an expression's type, records included."""
    if typ.pg.is_row:
        return pa.struct([pa.field(typ.pg.field(i), carrier_of(field)) for i, (_, field) in enumerate(typ.fields)])
    if typ.pg is t.RECORDS:
        return pa.list_(carrier_of(replace(typ, pg=t.RECORD)))
    if typ.pg.is_array:
        return nested_lists(carrier_of(replace(typ, pg=t.element_of(typ.pg), dimensions=1)), typ.dimensions)
    if typ.is_wide:
        return pa.utf8()
    return carrier(typ.pg, typ.scale)


def carrier_schema(columns: Sequence[OutputColumn]) -> pa.Schema:
    """Return the schema of the batches that leave an executor for these columns."""
    return pa.schema([pa.field(column.label, carrier_of(column.type)) for column in columns])


def carry(batch: pa.RecordBatch, columns: Sequence[OutputColumn]) -> pa.RecordBatch:
    """Cast an engine's batch to the carriers of `columns`, in their order and under their labels.

    Raises NumericValueOutOfRange when a numeric does not fit its carrier.
    """
    return carry_to(batch, match_dimensions(carrier_schema(columns), batch.schema))


def match_dimensions(schema: pa.Schema, source: pa.Schema) -> pa.Schema:
    """Return a schema of carriers whose arrays have as many dimensions as the engine's arrays, where these have more
    than is known: a parameter's.
    """
    if not any(pa.types.is_list(typ) for typ in schema.types):
        return schema
    types = [_match_nesting(typ, given) for typ, given in zip(schema.types, source.types, strict=True)]
    return pa.schema([field.with_type(typ) for field, typ in zip(schema, types, strict=True)])


def _match_nesting(target: pa.DataType, source: pa.DataType) -> pa.DataType:
    if not pa.types.is_list(target):
        return target
    return nested_lists(target, max(_depth(source) - _depth(target), 0))


def _depth(typ: pa.DataType) -> int:
    return 1 + _depth(typ.value_type) if _is_any_list(typ) else 0


def _is_any_list(typ: pa.DataType) -> bool:
    return bool(pa.types.is_list(typ) or pa.types.is_large_list(typ) or pa.types.is_list_view(typ))


def carry_to(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Cast a batch as `carry` does, to a schema of carriers that is known already. A result without columns has rows all
    the same: the engines' statements have a column in place of none.
    """
    if not schema.names:
        return batch.select([])
    arrays = [carry_array(array, typ) for array, typ in zip(batch.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def carry_array(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Cast one column, or the elements of one, to a carrier."""
    source = array.type
    if source == target:
        return array
    if isinstance(array, pa.ExtensionArray):
        return carry_array(array.storage, target)
    if pa.types.is_null(target) or pa.types.is_null(source):
        return pa.nulls(len(array), target)
    if pa.types.is_decimal(target):
        return _decimal(array, target)
    if pa.types.is_time64(target) and pa.types.is_int64(source):
        return array.view(target)
    if pa.types.is_timestamp(target) and pa.types.is_timestamp(source) and source.unit == target.unit:
        return array.view(target)
    if pa.types.is_interval(target) and pa.types.is_struct(source):
        return _interval(array)
    if pa.types.is_list(target):
        return _list(array, target)
    if pa.types.is_struct(target) and pa.types.is_struct(source):
        return _struct(array, target)
    return array.cast(target)


def _decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    source = array.type
    if pa.types.is_decimal128(source) and source.scale == target.scale:
        return pa.Array.from_buffers(target, len(array), array.buffers(), array.null_count, array.offset)
    try:
        cut = truncate_decimals(array, target.scale) if pa.types.is_decimal(source) else array
        found = cut.cast(target)
        if cut is not array and not pc.all(pc.equal(cut.cast(source), array)).as_py():
            raise pa.ArrowInvalid("digits would be lost")
    except pa.ArrowInvalid as error:
        raise NumericValueOutOfRange("value overflows numeric format") from error
    return found


def _interval(array: pa.StructArray) -> pa.Array:
    months, days, micros = (pc.fill_null(field, 0) for field in array.flatten())
    values = np.empty(len(array), _INTERVAL)
    values["months"] = months.to_numpy()
    values["days"] = days.to_numpy()
    values["nanos"] = _nanos(micros.to_numpy())
    return pa.Array.from_buffers(pa.month_day_nano_interval(), len(array), [_validity(array), pa.py_buffer(values)])


def _nanos(micros: np.ndarray) -> np.ndarray:
    """Convert microseconds to the carrier's nanoseconds, which reach to 292 years: more is refused."""
    limit = np.iinfo(np.int64).max // _NANOS_PER_MICRO
    if len(micros) and (micros.max() > limit or micros.min() < -limit):
        raise NumericValueOutOfRange("interval out of range")
    nanos: np.ndarray = micros * _NANOS_PER_MICRO
    return nanos


def with_elements(array: pa.Array, elements: pa.Array, typ: pa.DataType) -> pa.Array:
    """Return the list array over other elements, as many as its `values` are: a list array of `typ`, with the same
    nulls and bounds.
    """
    return pa.Array.from_buffers(
        typ, len(array), array.buffers()[:2], array.null_count, array.offset, children=[elements]
    )


def _list(array: pa.Array, target: pa.DataType) -> pa.Array:
    if not pa.types.is_list(array.type):
        array = array.cast(pa.list_(array.type.value_type))
    values = carry_array(array.values, target.value_type)
    return with_elements(array, values, target)


def _struct(array: pa.StructArray, target: pa.DataType) -> pa.Array:
    fields = [carry_array(values, field.type) for values, field in zip(array.flatten(), target, strict=True)]
    return pa.Array.from_buffers(target, len(array), [_validity(array)], children=fields)


def _validity(array: pa.Array) -> pa.Buffer | None:
    """Return the array's null bitmap at offset 0; None if nothing is null."""
    if array.null_count == 0:
        return None
    valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
    return pa.py_buffer(np.packbits(valid, bitorder="little"))

"""-infinity of dates and timestamps. In DuckDB it is the negative of infinity, in the carrier it is the least integer.

Files of stored tables have DuckDB's value (`engine.storage.types`). Spark treats it as an ordinary date, so it comes
out of Spark unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from engine.contracts.output_cast import with_elements

_STORED: Final = {32: pa.int32(), 64: pa.int64()}


def with_infinities(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return an engine's batch with -infinity as `wire.types.carriers` defines it."""
    return _with_columns(batch, lambda least: least + 1, lambda least: least)


def without_infinities(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch of carriers with -infinity as DuckDB defines it."""
    return _with_columns(batch, lambda least: least, lambda least: least + 1)


def _with_columns(batch: pa.RecordBatch, before: Callable[[int], int], after: Callable[[int], int]) -> pa.RecordBatch:
    for index, field in enumerate(batch.schema):
        column = batch.column(index)
        replaced = _within(column, before, after)
        if replaced is not column:
            batch = batch.set_column(index, field, replaced)
    return batch


def _within(column: Any, before: Callable[[int], int], after: Callable[[int], int]) -> Any:
    """Replace one representation of -infinity by the other in a column, also inside arrays and rows."""
    typ = column.type
    if pa.types.is_date32(typ) or pa.types.is_timestamp(typ):
        least = -(2 ** (typ.bit_width - 1))
        return _replace_infinity(column, before(least), after(least))
    if pa.types.is_list(typ):
        values = column.values
        found = _within(values, before, after)
        return column if found is values else with_elements(column, found, typ)
    if pa.types.is_struct(typ):
        fields = [column.field(index) for index in range(typ.num_fields)]
        inside = [_within(field, before, after) for field in fields]
        if all(field is found for field, found in zip(fields, inside, strict=True)):
            return column
        return pa.StructArray.from_arrays(inside, fields=list(typ), mask=pc.is_null(column))
    return column


def _replace_infinity(column: Any, before: int, after: int) -> Any:
    """Replace one value of a column by another. No value but another infinity may be less than it."""
    integers = column.view(_STORED[column.type.bit_width])
    if pc.min(integers).as_py() != before:
        return column
    found = pc.equal(integers, pa.scalar(before, integers.type))
    return pc.if_else(found, pa.scalar(after, integers.type), integers).view(column.type)

"""-infinity of dates and timestamps: DuckDB's is the negative of its infinity, the carrier's is the least integer.

Files of stored tables have DuckDB's (`engine.storage.types`), so it comes out of Spark too, for which it is a day like others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_STORED: Final = {32: pa.int32(), 64: pa.int64()}


def with_infinities(batch: pa.RecordBatch) -> pa.RecordBatch:
    """An engine's batch with -infinity as `wire.carriers` has it."""
    return _with_columns(batch, lambda least: least + 1, lambda least: least)


def without_infinities(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of carriers with -infinity as DuckDB has it."""
    return _with_columns(batch, lambda least: least, lambda least: least + 1)


def _with_columns(batch: pa.RecordBatch, before: Callable[[int], int], after: Callable[[int], int]) -> pa.RecordBatch:
    for index, field in enumerate(batch.schema):
        if pa.types.is_date32(field.type) or pa.types.is_timestamp(field.type):
            column = batch.column(index)
            least = -(2 ** (column.type.bit_width - 1))
            replaced = _replaced(column, before(least), after(least))
            if replaced is not column:
                batch = batch.set_column(index, field, replaced)
    return batch


def _replaced(column: Any, before: int, after: int) -> Any:
    """The column with one value, which nothing but another infinity may be less than, in another's place."""
    integers = column.view(_STORED[column.type.bit_width])
    if pc.min(integers).as_py() != before:
        return column
    found = pc.equal(integers, pa.scalar(before, integers.type))
    return pc.if_else(found, pa.scalar(after, integers.type), integers).view(column.type)

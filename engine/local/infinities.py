"""-infinity of dates and timestamps: DuckDB's is the negative of its infinity, the carrier's is the least integer."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_STORED: Final = {32: pa.int32(), 64: pa.int64()}


def with_infinities(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with -infinity as `wire.carriers` has it."""
    for index, field in enumerate(batch.schema):
        if pa.types.is_date32(field.type) or pa.types.is_timestamp(field.type):
            column = batch.column(index)
            carried = _carried(column)
            if carried is not column:
                batch = batch.set_column(index, field, carried)
    return batch


def _carried(column: Any) -> Any:
    bits = column.type.bit_width
    integers = column.view(_STORED[bits])
    theirs = pa.scalar(-(2 ** (bits - 1) - 1), integers.type)
    if pc.min(integers).as_py() != theirs.as_py():
        return column
    ours = pa.scalar(-(2 ** (bits - 1)), integers.type)
    return pc.if_else(pc.equal(integers, theirs), ours, integers).view(column.type)

"""Output routers, which decide which rows of a batch go to which receiver.

The single and the mirror router look at no row. For the hash and the range router the statement has already computed
the receiver's number, as its last column (`bucket`): the engine that runs the fragment hashes faster than any kernel
that could be called here, and both sides of a join agree because the function is the same everywhere. What remains is
to split a batch by that column: one stable sort of small integers, one gather, and slices.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def part_by_bucket(batch: pa.RecordBatch, receivers: int) -> list[tuple[int, pa.RecordBatch]]:
    """Split a batch by receiver. Returns (receiver, its rows) for receivers that get any; the order of rows is kept,
    and `bucket` is removed.

    Shapes: bucket is int32[rows] in [0, receivers), never null.
    """
    bucket = batch.column(batch.num_columns - 1).to_numpy(zero_copy_only=False)
    rows = pa.RecordBatch.from_arrays(batch.columns[:-1], schema=batch.schema.remove(batch.num_columns - 1))
    if len(bucket) and (bucket == bucket[0]).all():
        return [(int(bucket[0]), rows)]
    order = np.argsort(bucket, kind="stable")
    ends = np.cumsum(np.bincount(bucket, minlength=receivers))
    gathered = rows.take(pa.array(order))
    starts = [0, *ends[:-1].tolist()]
    return [
        (number, gathered.slice(start, end - start))
        for number, (start, end) in enumerate(zip(starts, ends.tolist(), strict=True))
        if end > start
    ]

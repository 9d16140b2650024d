"""Sizes of record batches."""

from __future__ import annotations

import pyarrow as pa


def fits(batch: pa.RecordBatch, bytes_max: int) -> bool:
    """Return whether a batch has at most `bytes_max` bytes."""
    # pyarrow takes 12 microseconds for the bytes of a batch, and none for those of the buffers that its columns share.
    return bool(batch.get_total_buffer_size() * batch.num_columns <= bytes_max or batch.nbytes <= bytes_max)

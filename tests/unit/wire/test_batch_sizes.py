"""Sizes of batches, of which columns may share buffers, or be parts of longer ones."""

from __future__ import annotations

import pyarrow as pa
import pytest

from wire.common.batch_sizes import fits

_WORDS = pa.array(["some words"] * 1000)
_BATCHES = (
    pa.RecordBatch.from_arrays([_WORDS], ["a"]),
    pa.RecordBatch.from_arrays([_WORDS, _WORDS, _WORDS], ["a", "b", "c"]),
    pa.RecordBatch.from_arrays([_WORDS.slice(10, 3), _WORDS.slice(500, 4)[:3]], ["a", "b"]),
    pa.RecordBatch.from_arrays([pa.array([], pa.int32())], ["a"]),
    pa.RecordBatch.from_pylist([]),
)


@pytest.mark.parametrize("batch", _BATCHES)
def test_a_batch_fits_into_its_bytes_and_no_less(batch: pa.RecordBatch) -> None:
    size = batch.nbytes
    assert fits(batch, size)
    assert not fits(batch, size - 1) or size == 0

"""The hash router's partitioning of batches."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.exchange.routers import part_by_bucket


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60))
def test_each_row_goes_where_its_bucket_says_in_order(buckets: list[int]) -> None:
    rows = list(range(len(buckets)))
    batch = pa.record_batch([pa.array(rows), pa.array(buckets, pa.int32())], names=["v", "bucket"])
    parts = dict(part_by_bucket(batch, 5))
    expected = {b: [r for r in rows if buckets[r] == b] for b in set(buckets)}
    assert {number: part.column("v").to_pylist() for number, part in parts.items()} == expected
    assert all(part.schema.names == ["v"] for part in parts.values())

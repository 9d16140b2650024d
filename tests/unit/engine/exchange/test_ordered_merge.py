"""The ordered merge against sorting everything at once, over random batches."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.exchange.ordered_merge import OrderedMerge

_SCHEMA = pa.schema([("v", pa.int64()), ("sort_key", pa.binary())])


class Source:
    """A stream that notes how many batches have been asked of it."""

    def __init__(self, keys: Sequence[bytes], cuts: Sequence[int]) -> None:
        ordered = sorted(keys)
        bounds = sorted({0, len(ordered), *(c for c in cuts if c < len(ordered))})
        self.batches = [_batch(ordered[a:b]) for a, b in itertools.pairwise(bounds)]
        self.asked = 0

    def pull(self) -> pa.RecordBatch | None:
        self.asked += 1
        return self.batches[self.asked - 1] if self.asked <= len(self.batches) else None


def _batch(keys: Sequence[bytes]) -> pa.RecordBatch:
    return pa.record_batch([[int.from_bytes(k, "big") for k in keys], keys], schema=_SCHEMA)


def _merge(sources: Sequence[Source]) -> OrderedMerge:
    async def pull(number: int) -> pa.RecordBatch | None:
        return sources[number].pull()

    return OrderedMerge(len(sources), pull)


async def _read(merge: OrderedMerge) -> list[int]:
    values: list[int] = []
    while (batch := await merge.next_batch()) is not None:
        assert batch.num_rows
        assert batch.schema.names == ["v"]
        values += batch.column(0).to_pylist()
    return values


_KEYS = st.lists(st.integers(0, 30).map(lambda i: i.to_bytes(1, "big")), max_size=30)


@given(st.lists(st.tuples(_KEYS, st.lists(st.integers(1, 30), max_size=4)), max_size=4))
def test_merging_is_sorting(parts: list[tuple[list[bytes], list[int]]]) -> None:
    sources = [Source(keys, cuts) for keys, cuts in parts]
    expected = sorted(int.from_bytes(k, "big") for keys, _ in parts for k in keys)
    assert asyncio.run(_read(_merge(sources))) == expected


_CUTS = st.lists(st.integers(1, 12), max_size=4)


@given(st.lists(st.tuples(st.lists(st.integers(0, 2), max_size=12), _CUTS), max_size=4))
def test_rows_that_tie_come_by_stream(parts: list[tuple[list[int], list[int]]]) -> None:
    """Rows that tie keep their stream's order, wherever batches end."""
    sources = [Source([bytes([key]) for key in keys], cuts) for keys, cuts in parts]
    numbers = itertools.count()
    for source in sources:
        source.batches = [
            batch.set_column(0, "v", pa.array([next(numbers) for _ in range(batch.num_rows)], pa.int64()))
            for batch in source.batches
        ]
    rows = [
        (key, value)
        for source in sources
        for batch in source.batches
        for value, key in zip(batch["v"].to_pylist(), batch["sort_key"].to_pylist(), strict=True)
    ]
    assert asyncio.run(_read(_merge(sources))) == [value for _, value in sorted(rows)]


async def test_a_batch_a_stream_is_held() -> None:
    low = Source([bytes([i]) for i in range(6)], [3])
    high = Source([bytes([i]) for i in range(100, 106)], [3])
    merge = _merge([low, high])
    first = await merge.next_batch()
    assert first is not None
    assert first.column(0).to_pylist() == [0, 1, 2]
    assert (low.asked, high.asked) == (1, 1)
    await merge.next_batch()
    assert (low.asked, high.asked) == (2, 1)

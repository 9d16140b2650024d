"""The ORDERED synchronizer: a merge of several ordered streams into one ordered stream.

Each batch ends in a binary column `sort_key` whose bytewise order is the required ordering (the sender's engine
computes it). So the merge needs to know nothing of types, directions or nulls, and it removes the column.

**Theory.** With a batch at the head of each stream that has not ended, let the *bound* be the least of the last keys of
all heads. No key that is still to come is less than the bound, so all rows below it can be emitted: in each head they
are a prefix, found by bisection. Rows at the bound can be emitted too, stream by stream: if a whole head is emitted,
more rows with that key may follow in its stream, and later streams keep theirs until then. The prefixes are
concatenated and sorted by one Arrow kernel, which is stable. If only one prefix has rows (streams whose ranges hardly
overlap), nothing is copied. So rows with equal keys come stream by stream, and within a stream in its order, wherever
batches end; those of one set, which no key distinguishes, stay together.

The work in Python is therefore per batch, not per row. A stream is asked for its next batch only when its head has been
used up, so one batch per stream is held.

Considered and rejected: a heap of rows (one step in Python per row), and concatenating everything before one sort (an
ORDER BY with a LIMIT that the client never reads to its end would read all of every stream).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable

import pyarrow as pa
import pyarrow.compute as pc

#: Returns the next batch of a stream, given by its number; None at its end.
Pull = Callable[[int], Awaitable[pa.RecordBatch | None]]


class OrderedMerge:
    """The merge of `streams` streams, numbered from 0. `next_batch` returns batches without their sort key, and None
    at the end.
    """

    def __init__(self, streams: int, pull: Pull) -> None:
        self._pull = pull
        self._heads: dict[int, pa.RecordBatch] = {}
        self._wanted = set(range(streams))

    async def next_batch(self) -> pa.RecordBatch | None:
        for number in sorted(self._wanted):
            head = await self._pull(number)
            if head is not None:
                self._heads[number] = head
            self._wanted.discard(number)
        if not self._heads:
            return None
        return _without_key(_sort_batches(self._take_up_to(self._bound())))

    def _bound(self) -> bytes:
        return min(_key(head, head.num_rows - 1) for head in self._heads.values())

    def _take_up_to(self, bound: bytes) -> list[pa.RecordBatch]:
        taken = []
        bisect: Callable[..., int] = bisect_right
        for number, head in sorted(self._heads.items()):
            count = bisect(range(head.num_rows), bound, key=lambda row, head=head: _key(head, row))
            if count:
                taken.append(head.slice(0, count))
            if count == head.num_rows:
                del self._heads[number]
                self._wanted.add(number)
                bisect = bisect_left
            else:
                self._heads[number] = head.slice(count)
        return taken


def _key(batch: pa.RecordBatch, row: int) -> bytes:
    key: bytes = batch.column(batch.num_columns - 1)[row].as_py()
    return key


def _sort_batches(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    joined = pa.concat_batches(batches)
    return joined.take(pc.sort_indices(joined.column(joined.num_columns - 1)))


def _without_key(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(batch.columns[:-1], schema=batch.schema.remove(batch.num_columns - 1))

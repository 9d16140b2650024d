"""ORDERED synchronizer: streams that are each ordered, merged into one that is.

Each batch ends in a binary column `sort_key` that compares bytewise as the ordering does (the sender's engine makes it), so
the merge knows nothing of types, directions or nulls, and takes the column away.

**Theory.** With a batch at the head of each stream that has not ended, let the *bound* be the least of the heads' last keys.
No key that is still to come is less than it, so all rows below the bound may go: in each head that is a prefix, found by
bisection. So may rows at the bound, by stream: where a head goes whole, more of them may follow, and later streams keep theirs
until then. The prefixes are joined and sorted by one Arrow kernel, which is stable; where only one of them has rows (streams
whose ranges hardly overlap) nothing is copied. Rows that tie come by stream, then, and in their stream's order, wherever batches
end: those of one set, which no key tells apart, stay together.

So the work in Python is per batch,
not per row, and a stream is asked for its next batch only when its head has been used up: what is held is a batch a stream.

Considered and rejected: a heap of rows (a Python step a row), and concatenating everything before one sort (an ORDER BY
with a LIMIT that the client never reads to its end would read all of every stream).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable

import pyarrow as pa
import pyarrow.compute as pc

#: The next batch of a stream, by its number; None at its end.
Pull = Callable[[int], Awaitable[pa.RecordBatch | None]]


class OrderedMerge:
    """The merge of `streams` streams, numbered from 0. `next_batch` gives batches without their key, None at the end."""

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

"""LIMIT over a stream, in process: skip `skip` rows, return `count` rows, and then read no more.

It is placed at the root of a distributed plan, where stopping early matters: a consumer that has read it to its end
closes it, which stops the producers.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa


class Rows(Protocol):
    async def next_batch(self) -> pa.RecordBatch | None: ...


class LimitedRows:
    """The rows of `source` from number `skip` on, `count` of them (-1: all)."""

    def __init__(self, source: Rows, skip: int, count: int) -> None:
        self._source = source
        self._skip = skip
        self._left = count

    async def next_batch(self) -> pa.RecordBatch | None:
        while self._left and (batch := await self._source.next_batch()) is not None:
            skipped = min(self._skip, batch.num_rows)
            self._skip -= skipped
            rest = batch.num_rows - skipped
            taken = rest if self._left < 0 else min(self._left, rest)
            if taken:
                self._left -= taken if self._left > 0 else 0
                return batch.slice(skipped, taken)
        return None

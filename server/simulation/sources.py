"""Batches of a local stream, cut into pieces by chance: small tables make long streams."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

import pyarrow as pa

from engine.executor import BatchStream

_WHOLE: Final = 0.3


class InPieces:
    """`engine.executor.BatchStream` over another."""

    def __init__(self, stream: BatchStream, chance: Random) -> None:
        self._stream = stream
        self._chance = chance
        self._rest: pa.RecordBatch | None = None

    async def next_batch(self) -> pa.RecordBatch | None:
        batch = self._rest if self._rest is not None else await self._stream.next_batch()
        self._rest = None
        if batch is None or batch.num_rows < 2 or self._chance.random() < _WHOLE:
            return batch
        count = self._chance.randint(1, batch.num_rows)
        if count < batch.num_rows:
            self._rest = batch.slice(count)
        return batch.slice(0, count)

    async def close(self) -> None:
        self._rest = None
        await self._stream.close()

    def statistics(self) -> Mapping[str, int]:
        return self._stream.statistics()

"""Results that are there before they are asked for: of SHOW, EXPLAIN and their kin, and of RETURNING."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from engine.contracts.batch_stream import BatchStream
from engine.contracts.query_id import QueryId
from engine.contracts.sessions import ResultColumn
from wire.types.carriers import carrier


class RowsStream:
    """A `BatchStream` over rows that are already there; an empty one ends at once."""

    def __init__(self, columns: Sequence[ResultColumn], rows: Sequence[Sequence[Any]]) -> None:
        self._batch: pa.RecordBatch | None = None
        self._rows = len(rows)
        if rows:
            arrays = [
                pa.array([row[i] for row in rows], carrier(column.type.pg, column.type.scale))
                for i, column in enumerate(columns)
            ]
            self._batch = pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(columns))])

    async def next_batch(self) -> pa.RecordBatch | None:
        batch, self._batch = self._batch, None
        return batch

    async def close(self) -> None:
        self._batch = None

    def statistics(self) -> Mapping[str, int]:
        return {"rows": self._rows, "bytes": 0, "batches": int(self._rows > 0)}


class BatchesStream:
    """A `BatchStream` over batches that are already there; none of them is empty."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = deque(batches)
        self._counts = {
            "rows": sum(batch.num_rows for batch in self._batches),
            "bytes": sum(batch.nbytes for batch in self._batches),
            "batches": len(self._batches),
        }

    async def next_batch(self) -> pa.RecordBatch | None:
        return self._batches.popleft() if self._batches else None

    async def close(self) -> None:
        self._batches.clear()

    def statistics(self) -> Mapping[str, int]:
        return self._counts


@dataclass(slots=True)
class StreamExecution:
    """An `engine.contracts.sessions.Execution`: a stream and the words of its command tag. `counted`: the tag ends in a row
    count."""

    columns: tuple[ResultColumn, ...] | None
    command: str
    counted: bool = False
    stream: BatchStream = field(default_factory=lambda: RowsStream((), ()))
    query: QueryId | None = None

    def tag(self, rows: int) -> str:
        return f"{self.command} {rows}" if self.counted else self.command

    async def close(self) -> None:
        await self.stream.close()


def explanation(columns: tuple[ResultColumn, ...], lines: Sequence[str]) -> StreamExecution:
    """The result of EXPLAIN: a row a line."""
    return StreamExecution(columns, "EXPLAIN", stream=RowsStream(columns, [(line,) for line in lines]))

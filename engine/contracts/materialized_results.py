"""Results that are complete before they are fetched: of SHOW, EXPLAIN and similar statements, of RETURNING, and of
constant queries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from engine.contracts.batch_stream import BatchStream, engine_of
from engine.contracts.query_id import QueryId
from engine.contracts.sessions import ResultColumn
from wire.types.carriers import carrier

#: Bytes of the rows of a constant query that are kept with its plan.
_CONSTANT_BYTES: Final = 1 << 12


class RowsStream:
    """A `BatchStream` over rows in memory; an empty one ends at once."""

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
    """A `BatchStream` over batches in memory, none of which is empty. engine_name: the engine that has computed them;
    None: no engine. counts: its statistics, if they are known.
    """

    def __init__(
        self,
        batches: Sequence[pa.RecordBatch],
        engine_name: str | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        self.engine_name = engine_name
        self._batches = deque(batches)
        self._counts = count_batches(batches) if counts is None else counts

    async def next_batch(self) -> pa.RecordBatch | None:
        return self._batches.popleft() if self._batches else None

    async def close(self) -> None:
        self._batches.clear()

    def statistics(self) -> Mapping[str, int]:
        return self._counts


def count_batches(batches: Sequence[pa.RecordBatch]) -> Mapping[str, int]:
    """Return the statistics of a stream of these batches."""
    return {
        "rows": sum(batch.num_rows for batch in batches),
        "bytes": sum(batch.nbytes for batch in batches),
        "batches": len(batches),
    }


class ConstantRows:
    """The rows of a constant query, kept from its first run for all later ones. Results of more than `_CONSTANT_BYTES`
    are not kept.
    """

    def __init__(self) -> None:
        self._batches: tuple[pa.RecordBatch, ...] | None = None
        self._engine_name: str | None = None
        self._counts: Mapping[str, int] | None = None

    def stream(self) -> BatchStream | None:
        """Return the rows as a stream; None if they are not known."""
        return None if self._batches is None else BatchesStream(self._batches, self._engine_name, self._counts)

    def learn_from(self, stream: BatchStream) -> BatchStream:
        """Return the stream of a run unchanged, and keep its rows once it has ended."""
        return _ObservedStream(stream, self)

    def keep(self, batches: Sequence[pa.RecordBatch], engine_name: str | None) -> None:
        if sum(batch.nbytes for batch in batches) <= _CONSTANT_BYTES:
            self._batches, self._engine_name, self._counts = tuple(batches), engine_name, count_batches(batches)


class _ObservedStream:
    """Passes a stream on, and keeps its batches as the rows of a constant query at its end."""

    def __init__(self, stream: BatchStream, rows: ConstantRows) -> None:
        self.engine_name = engine_of(stream)
        self._stream = stream
        self._rows = rows
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0

    async def next_batch(self) -> pa.RecordBatch | None:
        batch = await self._stream.next_batch()
        if batch is None:
            self._rows.keep(self._batches, self.engine_name)
        elif (size := self._bytes + batch.nbytes) <= _CONSTANT_BYTES:
            self._bytes = size
            self._batches.append(batch)
        else:
            # Stop keeping batches: the remaining ones alone would be few enough.
            self._bytes = _CONSTANT_BYTES + 1
            self._rows = ConstantRows()
            self._batches.clear()
        return batch

    async def close(self) -> None:
        await self._stream.close()

    def statistics(self) -> Mapping[str, int]:
        return self._stream.statistics()


@dataclass(slots=True)
class StreamExecution:
    """An `engine.contracts.sessions.Execution`: a stream and the words of its command tag. `counted`: the tag ends in a
    row count.
    """

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
    """Return the result of EXPLAIN: one row for each line."""
    return StreamExecution(columns, "EXPLAIN", stream=RowsStream(columns, [(line,) for line in lines]))

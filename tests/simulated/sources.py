"""Stand-ins for DuckDB in the local engines of simulated members: streams of small batches, and cached results.

`InPieces` splits the batches of a local stream at random, so that small tables make long streams.

`RememberedAnswers` replaces the members' databases. The tables never change, so a statement over the same files and the same
inputs returns the same batches each time, and DuckDB computes them only once. DuckDB, which the simulation does not test, took
half of the time of a run. The stream above it, its threads, its closing and its errors are the real ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, Final

import pyarrow as pa

from engine.catalog.model.objects import SystemTable, Table
from engine.common.weighted_lru_cache import WeightedLruCache
from engine.contracts.batch_stream import BatchStream
from engine.executors.local.database import LocalCursor, LocalDatabase

_WHOLE: Final = 0.3
#: Limits of the cache: results, and the bytes of all of them.
_ANSWERS: Final = 1 << 15
_ANSWER_BYTES: Final = 256 << 20
_Batches = tuple[pa.RecordBatch, ...]


class InPieces:
    """An `engine.contracts.batch_stream.BatchStream` that splits the batches of another."""

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


class RememberedAnswers:
    """The `LocalDatabase` of a member, on top of one that all members share. See the module's docstring."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database
        self._answers: WeightedLruCache[Hashable, _Batches] = WeightedLruCache(
            _ANSWERS, _ANSWER_BYTES, lambda _, batches: sum(batch.nbytes for batch in batches)
        )

    def borrow(self, time_zone: str) -> RememberingCursor:
        return RememberingCursor(self._database.borrow(time_zone), self._answers)

    def give_back(self, cursor: RememberingCursor, *, healthy: bool) -> None:
        self._database.give_back(cursor.cursor, healthy=healthy)

    def statistics(self) -> dict[str, int]:
        return self._database.statistics()


class RememberingCursor:
    """A `LocalCursor`. Inputs are passed to DuckDB only where it has to compute. Results over stored inputs are not cached."""

    def __init__(self, cursor: LocalCursor, answers: WeightedLruCache[Hashable, _Batches]) -> None:
        self.cursor = cursor
        self._answers = answers
        self._inputs: dict[str, pa.Table] = {}
        self._stored = False

    def run(
        self,
        statement: str,
        tables: Sequence[Table | SystemTable],
        batch_rows: int,
        parameters: Mapping[str, Any] | None = None,
        *,
        in_memory: bool = False,
    ) -> _Reader:
        def compute() -> _Batches:
            for name, rows in self._inputs.items():
                self.cursor.hold(name, rows)
            reader = self.cursor.run(statement, tables, batch_rows, parameters, in_memory=in_memory)
            return tuple(reader)

        if self._stored:
            return _Reader(compute())
        values = tuple(sorted((name, str(value)) for name, value in (parameters or {}).items()))
        inputs = tuple((name, _content(rows)) for name, rows in sorted(self._inputs.items()))
        key = statement, batch_rows, values, inputs
        return _Reader(self._answers.get(key, compute))

    def hold(self, name: str, rows: pa.Table) -> None:
        self._inputs[name] = rows

    def store(self, name: str, rows: pa.Table) -> None:
        self._stored = True
        self.cursor.store(name, rows)

    def forget_inputs(self) -> bool:
        self._inputs.clear()
        self._stored = False
        return self.cursor.forget_inputs()

    def interrupt(self) -> None:
        self.cursor.interrupt()


class NoSmallFiles:
    """An `engine.executors.local.small_files.SmallFiles` that keeps no table, since results are cached already."""

    def place(
        self, _text: str, _parameters: Mapping[str, Any], _inputs: Iterable[pa.Table], _tree: object = None
    ) -> None:
        return None

    def release(self, _placed: object) -> None:
        """Do nothing, because nothing is kept."""

    def statistics(self) -> dict[str, int]:
        return {}


class _Reader:
    """A reader of Arrow batches that are already in memory."""

    def __init__(self, batches: _Batches) -> None:
        self._batches = iter(batches)

    def read_next_batch(self) -> pa.RecordBatch:
        """Return the next batch. Raises StopIteration at the end."""
        return next(self._batches)


def _content(rows: pa.Table) -> bytes:
    """Return a value that is equal for equal rows in equal batches."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())

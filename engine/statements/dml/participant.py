"""A participant's part of a MUTATE: it writes the rows of its fragment into files, and sends its intents to the
initiator's collector.

The rows come as batches to this process, or this member's Spark produces them, and its tasks write them.

The member decides itself where it writes: the folder that the initiator names must be a statement's folder of a table
below this member's own folder of tables. The initiator makes that folder, and removes it with all that is in it,
however the statement ends (`engine.storage.staging_area`); so the files of a participant that is killed concern the
initiator only. A participant that is stopped removes the files that it has written, if the folder still exists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.catalog.model.objects import Sequence
from engine.catalog.store.store import CatalogStore
from engine.common.shielded import shielded
from engine.contracts.executor import ExecutionContext
from engine.contracts.memory_share import MemoryShare
from engine.executors.spark.executor import SparkExecutor
from engine.executors.spark.rows import SparkRows
from engine.plan_ir.mutation_spec import rules_of, sequences_of
from engine.plan_ir.spec import MutationSpec
from engine.statements.dml.collector import InPool
from engine.statements.dml.run import drain
from engine.statements.dml.tasks import WritingJob
from engine.statements.shared.sequences import SessionSequences
from engine.storage import staging_area
from engine.writers.parts import Writer, writer_of
from engine.writers.sink import RowSink
from engine.writers.write_result import Written, encode_result
from wire.dataclass import dataclass
from wire.errors import InsufficientPrivilege


def open_writers(store: CatalogStore, in_pool: InPool, spark: SparkExecutor) -> StagedWriters:
    """Return the writers of a member that has this catalog."""
    return StagedWriters(store.tables, in_pool, spark, lambda: SessionSequences(store))


class Rows(Protocol):
    async def next_batch(self) -> pa.RecordBatch | None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StagedWriters:
    """The writers of this member (`engine.runtime.run_services.Writers`). tables: its folder of tables. sequences:
    makes the source of sequence values for one statement.
    """

    tables: Path
    in_pool: InPool
    spark: SparkExecutor
    sequences: Callable[[], SessionSequences]

    def intents(self, rows: Rows, spec: MutationSpec, memory: MemoryShare | None = None) -> StagedIntents:
        return StagedIntents(rows, lambda: self._writer(spec, memory), spec, self.in_pool, self.sequences, memory)

    def intents_of_tasks(
        self, find: Callable[[], SparkRows], context: ExecutionContext, spec: MutationSpec
    ) -> TaskIntents:
        async def write() -> Written:
            folder: Path = await shielded(self.in_pool(lambda: self._folder(spec)))
            rows: SparkRows = await shielded(self.in_pool(find))
            job = WritingJob(self.spark, self.in_pool, rows, context, spec.output)
            return await job.run(rules_of(spec), folder, alone=spec.alone)

        return TaskIntents(write)

    def _writer(self, spec: MutationSpec, memory: MemoryShare | None) -> Writer:
        return writer_of(rules_of(spec), self._folder(spec), spec.output, memory)

    def _folder(self, spec: MutationSpec) -> Path:
        table = (self.tables / spec.location).resolve()
        inside = table != self.tables.resolve() and table.is_relative_to(self.tables.resolve())
        if not inside or not staging_area.NAME.fullmatch(spec.area):
            raise InsufficientPrivilege(f'a member may not write to "{spec.location}/{spec.area}"')
        return table / spec.area


class StagedIntents:
    """A stream of intents, which it returns when all rows are in files; see `engine.runtime.run_services.Writers`.
    begin: makes the writer, and may block.
    """

    def __init__(
        self,
        rows: Rows,
        begin: Callable[[], Writer],
        spec: MutationSpec,
        in_pool: InPool,
        sequences: Callable[[], SessionSequences],
        memory: MemoryShare | None,
    ) -> None:
        self._memory = memory
        self._rows = rows
        self._begin = begin
        self._spec = spec
        self._in_pool = in_pool
        self._sequences = sequences
        self._writer: Writer | None = None
        self._told: Iterator[pa.RecordBatch] | None = None

    async def next_batch(self) -> pa.RecordBatch | None:
        if self._told is None:
            self._told = encode_result(await self._write_rows())
        return next(self._told, None)

    async def _write_rows(self) -> Written:
        writer: Writer = await shielded(self._in_pool(self._open_writer))
        taker = _Taker(sequences_of(self._spec), self._sequences())
        sink = RowSink(rules_of(self._spec), writer, taker.take, self._spec.output, memory=self._memory)
        await drain(self._rows, sink.write, self._in_pool)
        written = sink.summarize(await shielded(self._in_pool(writer.finish)))
        return replace(written, given=taker.last_values())

    def _open_writer(self) -> Writer:
        """Make the writer and keep it. No cancel can come between the two, so `close` always finds the writer."""
        self._writer = self._begin()
        return self._writer

    async def close(self) -> None:
        try:
            await self._rows.close()
        finally:
            if self._writer is not None and self._told is None:
                await shielded(self._in_pool(self._writer.abandon))


class TaskIntents:
    """A stream of intents of rows that Spark's tasks write. A cancel ends the job."""

    def __init__(self, write: Callable[[], Awaitable[Written]]) -> None:
        self._write = write
        self._told: Iterator[pa.RecordBatch] | None = None

    async def next_batch(self) -> pa.RecordBatch | None:
        if self._told is None:
            self._told = encode_result(await self._write())
        return next(self._told, None)

    async def close(self) -> None:
        """Do nothing: the job has ended with `next_batch`."""


@dataclass(frozen=True, slots=True)
class _Taker:
    """Takes values of sequences from the catalog that all members share, one for each row. Each value is given once;
    which row gets which value is not defined.
    """

    sequences: Mapping[int, Sequence]
    counters: SessionSequences

    def take(self, sequence: int, count: int) -> npt.NDArray[np.int64]:
        return self.counters.take(self.sequences[sequence], count)

    def last_values(self) -> tuple[tuple[int, int], ...]:
        """Return the last value of each sequence that gave any."""
        last = ((oid, self.counters.last_given(sequence)) for oid, sequence in self.sequences.items())
        return tuple((oid, value) for oid, value in last if value is not None)

"""The member's services that a query's part uses: its engines, its writers, its mailboxes and channels."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

import pyarrow as pa

from engine.catalog.model.objects import Table
from engine.contracts.executor import ExecutionContext
from engine.contracts.memory_share import MemoryShare
from engine.contracts.query_id import EngineName
from engine.exchange.edge_totals import EdgeTotals
from engine.exchange.partition_streams import Sent
from engine.exchange.send import Edge
from engine.executors.local.executor import LocalExecutor
from engine.executors.spark.rows import SparkRows
from engine.plan_ir.spec import (
    MutationSpec,
)
from engine.runtime.channels import Channels
from engine.runtime.mailboxes import Mailboxes
from engine.runtime.query_state import Cause
from engine.runtime.readable_files import ReadableFiles


class Host(Protocol):
    """The services of a member that a run uses."""

    @property
    def local(self) -> LocalExecutor: ...

    @property
    def spark(self) -> TaskSenders: ...

    @property
    def mailboxes(self) -> Mailboxes: ...

    @property
    def files(self) -> ReadableFiles: ...

    @property
    def writers(self) -> Writers: ...

    @property
    def member(self) -> str: ...

    @property
    def totals(self) -> EdgeTotals: ...

    @property
    def channels(self) -> Channels: ...

    def instance_ended(self, query: str, number: int, cause: Cause | None) -> None:
        """Note that an instance has ended and holds no resources."""
        ...

    def report_counters(self, query: str, counters: Mapping[str, int]) -> None:
        """Report the counters of all instances, which have ended (`engine.runtime.analysis`), if the query is analyzed."""
        ...


class Production(Protocol):
    """A job whose tasks send rows (`engine.executors.spark.production`). ended: the streams that they have sent, or the
    job's error.
    """

    @property
    def ended(self) -> asyncio.Future[Sent]: ...

    async def close(self) -> None: ...


class TaskSenders(Protocol):
    """The engine whose tasks send by themselves: `engine.executors.spark.productions.Productions`. name: the engine in
    whose dialect its statements are.
    """

    @property
    def name(self) -> EngineName: ...

    async def produce(
        self,
        context: ExecutionContext,
        statement: str,
        tables: Mapping[str, Table],
        edges: tuple[Edge | None, ...],
        *,
        parting: str | None = None,
        base: int = 0,
    ) -> Production: ...


class Source(Protocol):
    async def next_batch(self) -> pa.RecordBatch | None: ...

    async def close(self) -> None: ...


class Writers(Protocol):
    """The writer of a member's part of a MUTATE: `engine.statements.dml.participant.StagedWriters`.

    Its sources yield their result when all rows are in files, and raise SqlError for a folder that this member may not write.
    """

    def intents(self, rows: Source, spec: MutationSpec, memory: MemoryShare | None) -> Source:
        """Return a source that writes the rows of another one. Closing it closes that source, and removes files that were not
        reported. memory: as in `ExecutionContext`."""
        ...

    def intents_of_tasks(self, find: Callable[[], SparkRows], context: ExecutionContext, spec: MutationSpec) -> Source:
        """Return a source for which this member's Spark writes the rows that it computes. find: may block."""
        ...

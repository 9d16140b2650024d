"""The contract between a query and the two engines that run its fragments.

A fragment's relational part is one sqlglot tree in one engine's dialect (`engine.planner.codegen`). An `Executor` runs it and
gives a `BatchStream` of Arrow record batches in the carriers of `wire.types.carriers`. `engine.executors.local` and
`engine.executors.spark` are the two executors; a receiver of a mesh stream is a `BatchStream` too.

Rules that hold for every implementation:
- Pull, with bounded read-ahead. A stream that nobody pulls holds a window of bytes, no thread of a pool and no lock.
- Errors are `SqlError`s: the cause, translated where it happened.
- `close` is the one shutdown path: at the end, on error, on LIMIT reached, on cancel. It may be called at any time, from
  the loop's thread, any number of times; it returns when nothing of the stream is left: no thread at work, no job, no
  socket, no file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa
from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table
from engine.common.sql_type import SqlType
from engine.contracts.memory_share import MemoryShare
from engine.contracts.output_cast import carrier_schema
from wire.dataclass import dataclass

EngineName = Literal["local", "spark"]

if TYPE_CHECKING:
    from engine.planner.codegen.scans import Scan
    from engine.sql.trees.printed import PrintedStatement


@dataclass(frozen=True, slots=True)
class QueryId:
    """Cluster-wide id of a running query (network-protocol seed, 3.1). Printed as `initiator:local`, parsed back."""

    initiator: str
    local: int

    def __str__(self) -> str:
        return f"{self.initiator}:{self.local}"

    @classmethod
    def parse(cls, token: str) -> QueryId:
        initiator, separator, local = token.rpartition(":")
        if not separator or not initiator or not local.isdecimal():
            raise ValueError(f"not a query id: {token!r}")
        return cls(initiator, int(local))


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a fragment's output: its label in the statement, and the type whose carrier leaves the executor."""

    label: str
    type: SqlType


@dataclass(frozen=True)
class CompiledFragment:
    """A fragment ready to run.

    statement: the relational part, a tree in the dialect of `engine`.
    columns: its output, in order.
    tables: the catalog tables it reads; the statement names them by `engine.sql.trees.storage_types.relation_name` where the
        engine needs them registered first (Spark), or reads their files in place (local).
    ordered: whether the rows' order matters to the consumer.
    small: the output is small by construction (global aggregate, LIMIT n <= a few thousand rows): Spark collects it
        through the driver instead of streaming from its tasks.
    scans: on Spark: what its tasks read through DuckDB, by the names that the statement has for it.
    printed: the statement as its engine is given it, where that has been made already.
    """

    engine: EngineName
    statement: exp.Expression
    columns: tuple[OutputColumn, ...]
    tables: tuple[Table | SystemTable, ...] = ()
    ordered: bool = False
    small: bool = False
    scans: Mapping[str, Scan] = field(default_factory=dict)
    printed: PrintedStatement | None = None

    @functools.cached_property
    def schema(self) -> pa.Schema:
        """The carriers of its columns: what its batches are, but for the dimensions of arrays."""
        return carrier_schema(self.columns)


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """What an execution needs beside the fragment.

    time_zone: the session's TimeZone, as an IANA name or a fixed offset that both engines accept.
    page_bytes: the wanted size of a batch, and the window of a stream: `cursor_buffer_size`.
    memory: within what the statement runs together with others of its role, where the engine can tell; None: no limit.
    analyze: what the engine counts by operators is wanted, where it can tell (`engine.contracts.profile`).
    notice: called (from any thread) with a message worth telling the client while it waits.
    """

    query: QueryId
    time_zone: str = "UTC"
    page_bytes: int = 1 << 20
    notice: Callable[[str], None] = lambda _message: None
    settings: Mapping[str, Any] = field(default_factory=dict)
    analyze: bool = False
    memory: MemoryShare | None = None


class BatchStream(Protocol):
    """Record batches, pulled one at a time by one consumer."""

    async def next_batch(self) -> pa.RecordBatch | None:
        """The next batch (never empty), or None at the end. Raises `SqlError`, after which only `close` may follow."""
        ...

    async def close(self) -> None:
        """Stop and release everything; see the module's rules. Never raises for the query's own errors."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """Counters for EXPLAIN ANALYZE and the views: at least `rows`, `bytes`, `batches`."""
        ...


class Executor(Protocol):
    """An engine of one member. Created once; `start` may be slow and runs in the background for Spark."""

    name: EngineName

    async def start(self) -> None: ...

    async def open(self, fragment: CompiledFragment, context: ExecutionContext) -> BatchStream:
        """Begin to run a fragment. Returns when it is under way; its errors may come here or from `next_batch`."""
        ...

    @property
    def state(self) -> str:
        """`starting`, `ready`, `failed: why` or `closed`."""
        ...

    def statistics(self) -> Mapping[str, int]:
        """What is open and held right now: streams, connections, bytes."""
        ...

    def sql(self, fragment: CompiledFragment) -> str:
        """The statement as it is given to the engine, for EXPLAIN VERBOSE."""
        ...

    async def close(self) -> None:
        """End the engine: cancels whatever runs and leaves no thread and no process."""
        ...

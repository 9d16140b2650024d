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

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from engine.common.sql_type import SqlType
from engine.contracts.memory_share import MemoryShare
from engine.contracts.progress import RunningQuery
from engine.contracts.query_id import QueryId
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of a fragment's output: its label in the statement, and the type whose carrier leaves the executor."""

    label: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class ExecutionContext:
    """The environment in which a fragment is executed.

    time_zone: the session's TimeZone, as an IANA name or a fixed offset that both engines accept.
    page_bytes: the desired size of a batch, and the window of a stream: `cursor_buffer_size`.
    memory: the memory that all statements of the role share, where the engine can measure it; None: no limit.
    values: the values of the fragment's parameters, by the names that its statement has for them.
    analyze: whether the engine counts rows and time by operator, where it can (`engine.contracts.profile`).
    result_cache: whether the result may be kept for an equal statement, or be that of one.
    notice: called (from any thread) with a message for the client while it waits.
    underway: records the progress of the execution, on the loop's thread.
    trace: the traceparent of the statement's span (`engine.common.tracing`); empty: none.
    """

    query: QueryId
    time_zone: str = "UTC"
    page_bytes: int = 1 << 20
    notice: Callable[[str], None] = lambda _message: None
    settings: Mapping[str, Any] = field(default_factory=dict)
    analyze: bool = False
    memory: MemoryShare | None = None
    result_cache: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    underway: RunningQuery = field(default_factory=RunningQuery, compare=False)
    trace: str = field(default="", compare=False)

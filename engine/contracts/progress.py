"""The progress of a session's statement, for a client that wants reports while it waits (`sluice.progress`).

`RunningQuery` belongs to the session. The code that begins to run the session's queries writes it, at no cost for each
row: the query, the engines that run it, and the stream that its rows come from. `Progress` is one reading of it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.contracts.batch_stream import BatchStream
    from engine.contracts.query_id import EngineName, QueryId


@dataclass(frozen=True, slots=True)
class Progress:
    """One reading of a statement's progress.

    query: the query that was begun last; None: the statement has begun none. engines: those that run it. starting:
        whether it waits for Spark to start. rows: how many have been read, or copied.
    tasks: those of this member's Spark, how many have succeeded and how many there are in all; None if there are none.
        More may follow: Spark creates the tasks of a stage when the stages before it have ended.
    """

    query: QueryId | None = None
    engines: tuple[EngineName, ...] = ()
    starting: bool = False
    tasks: tuple[int, int] | None = None
    rows: int = 0


@dataclass(slots=True, eq=False)
class RunningQuery:
    """The query that a session has begun last, with its engines and its stream."""

    query: QueryId | None = None
    engines: set[EngineName] = field(default_factory=set)
    _stream: weakref.ref[BatchStream] | None = None

    def clear(self) -> None:
        """Forget the query, as another statement begins."""
        self.query, self._stream = None, None
        self.engines.clear()

    def begin(self, query: QueryId, engines: Iterable[EngineName]) -> None:
        """Record that a query begins to run on these engines. A statement may have several queries, one after another."""
        if self.query != query:
            self.clear()
            self.query = query
        self.engines.update(engines)

    def attach_stream(self, stream: BatchStream) -> BatchStream:
        """Count the query's rows in this stream, which belongs to its reader."""
        self._stream = weakref.ref(stream)
        return stream

    @property
    def rows(self) -> int:
        stream = None if self._stream is None else self._stream()
        return 0 if stream is None else stream.statistics().get("rows", 0)

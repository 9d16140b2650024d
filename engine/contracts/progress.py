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
    """One reading.

    query: the one that was begun last; None: the statement has begun none. engines: those that run it. starting: it waits for
    Spark to start. tasks: those of this member's Spark, how many have succeeded and how many there are in all; None where there are
    none. More may follow: Spark makes the tasks of a stage when the stages before it have ended.
    rows: how many have been read, or copied.
    """

    query: QueryId | None = None
    engines: tuple[EngineName, ...] = ()
    starting: bool = False
    tasks: tuple[int, int] | None = None
    rows: int = 0


@dataclass(slots=True, eq=False)
class RunningQuery:
    """The query that a session has begun last, and what runs it."""

    query: QueryId | None = None
    engines: set[EngineName] = field(default_factory=set)
    _stream: weakref.ref[BatchStream] | None = None

    def clear(self) -> None:
        """Another statement begins."""
        self.query, self._stream = None, None
        self.engines.clear()

    def begin(self, query: QueryId, engines: Iterable[EngineName]) -> None:
        """A query begins to run on these engines. A statement may have several, one after another."""
        if self.query != query:
            self.clear()
            self.query = query
        self.engines.update(engines)

    def attach_stream(self, stream: BatchStream) -> BatchStream:
        """Its rows come from this stream, which is its reader's."""
        self._stream = weakref.ref(stream)
        return stream

    @property
    def rows(self) -> int:
        stream = None if self._stream is None else self._stream()
        return 0 if stream is None else stream.statistics().get("rows", 0)

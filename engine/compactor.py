"""Compaction in the background: after so many small files in a table, the member that committed them writes them anew.

Commits tell how many small files they added. When enough have come to a table since it was last looked at, it is looked at: one
table at a time for each member, on the loop, as a query like a client's. Members know nothing of each other's; two that compact
one table at a time conflict over its files, and the later one has worked for nothing.

It gives up quietly, because nobody asked for it and the next commits ask again: on a conflict, and where an open transaction of
whichever member would lose by it (one that takes files of the table away, or concludes from all of its rows): that one is the
client's. Members tell each other by `engine.storage.claims`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from engine.catalog.objects import Table
from engine.distribution import Terms
from engine.executor import ExecutionContext
from engine.mutation.compaction import Compacted, compact, is_contested, small_files
from engine.runtime.shielded import stopped
from engine.settings import SessionSettings
from engine.storage import tables
from wire.errors import SerializationFailure

if TYPE_CHECKING:
    from engine.engine import Engine

_LOG: Final = logging.getLogger(__name__)


class Compactor:
    """after: how many small files make a table due; 0: never. `compacted`: how many tables were."""

    def __init__(self, engine: Engine, after: int) -> None:
        self.compacted = 0
        self._engine = engine
        self._after = after
        self._added: Counter[str] = Counter()
        self._due: asyncio.Queue[str] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._supervised = engine.background.supervise("compactor")

    def start(self) -> None:
        if self._after:
            loop = asyncio.get_running_loop()
            self._engine.store.watch = lambda added: _call(loop, self._count, added)
            self._task = asyncio.create_task(self._run(), name="sluice-compactor")

    async def close(self) -> None:
        if self._task is not None:
            self._engine.store.watch = None
            await stopped(self._task)

    def _count(self, added: Mapping[str, int]) -> None:
        """A commit added so many small files to tables, by location."""
        for location, count in added.items():
            before = self._added[location]
            self._added[location] += count
            if before < self._after <= before + count:
                self._due.put_nowait(location)

    async def _run(self) -> None:
        while True:
            location = await self._due.get()
            self._added.pop(location, None)
            # Not tried again by itself: the next commits ask again.
            await self._supervised.attempt_async(lambda location=location: self._looked_at(location))  # type: ignore[misc]

    async def _looked_at(self, location: str) -> None:
        try:
            done = await self._compact(location)
        except SerializationFailure:
            _LOG.debug("a table was not compacted, as its files were changed meanwhile")
        else:
            self.compacted += bool(done.before)

    async def _compact(self, location: str) -> Compacted:
        engine = self._engine
        await engine.see_commits()
        table = _table(engine, location)
        if table is None or await engine.in_operation_pool(lambda: is_contested(table)):
            return Compacted()
        files = await engine.in_operation_pool(lambda: tables.described(table).values())
        if len(small_files(files, engine.config.small_file_bytes)) < self._after:
            return Compacted()
        settings = SessionSettings(engine.config.settings)
        context = ExecutionContext(
            engine.new_query_id(),
            time_zone=settings.get("TimeZone"),
            page_bytes=settings.size_bytes("cursor_buffer_size"),
            settings={"spool_limit": settings.size_bytes("sluice.spool_limit")},
        )
        return await compact(engine, table, Terms.of(settings), context, yielding=True)


def _call(
    loop: asyncio.AbstractEventLoop, count: Callable[[Mapping[str, int]], None], added: Mapping[str, int]
) -> None:
    """From any thread; a loop that has ended has nobody left to compact."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(count, added)


def _table(engine: Engine, location: str) -> Table | None:
    stored = (table for table in engine.store.snapshot.tables() if table.storage is not None)
    return next((table for table in stored if table.storage and table.storage.location == location), None)

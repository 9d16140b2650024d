"""Background compaction: when a table has received a certain number of small files, the member that committed them
compacts it.

Commits report how many small files they added. A table becomes due when enough have been added since the compactor last
looked at it. Each member compacts one table at a time, on the event loop, by queries like a client's. Members do not
know of each other's compactions; two that compact the same table at the same time conflict over its files, and the work
of the later one is lost.

**It makes progress.** If rows are constantly deleted from a table, its files are removed while they are being rewritten, and a
compaction that only retries loses its work each time: a table had 3,109 files after ten minutes. So files are rewritten
in batches of a size that takes about a second, and a conflict loses no more than that. After a conflict the next batch
is written in the table's turn (`engine.statements.dml.autocommit_retry`): autocommit statements of this member wait for
that second, and none of them can conflict with it. Between batches, other tables are compacted, and statements run.

It gives up without an error, because no client asked for it and the next commits trigger it again: when conflicts do
not end, which then come from other members, and when an open transaction of any member would fail because of it (one
that removes files of the table, or whose result depends on all of its rows), because a client's transaction takes
precedence. Members announce such transactions to each other by `engine.storage.claims`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from engine.catalog.model.objects import Table
from engine.common.loop_calls import call_on_loop
from engine.common.shielded import stop_task
from engine.contracts.executor import ExecutionContext
from engine.settings.session_settings import SessionSettings
from engine.statements.maintenance.compaction import Compacted, batch_of, compact_files, is_contested, small_files
from engine.statements.shared.terms import Terms
from engine.storage import tables
from wire.errors import SerializationFailure

if TYPE_CHECKING:
    from engine.statements.shared.engine_services import EngineServices

_LOG: Final = logging.getLogger(__name__)

#: The limits of one batch: what can be read and written within about a second.
_BATCH_FILES: Final = 256
_BATCH_BYTES: Final = 128 << 20
#: The number of conflicts in a row after which a table waits for the next commits.
_LOSSES_MAX: Final = 5


class Compactor:
    """See the module's docstring. after: the number of small files that make a table due; 0: never. `compacted`: the
    number of batches of files that were compacted.
    """

    def __init__(self, engine: EngineServices, after: int) -> None:
        self.compacted = 0
        self._engine = engine
        self._after = after
        self._added: Counter[str] = Counter()
        #: Conflicts in a row, by location.
        self._losses: Counter[str] = Counter()
        self._due: asyncio.Queue[str] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._supervised = engine.background.supervise("compactor")

    def start(self) -> None:
        if self._after:
            loop = asyncio.get_running_loop()
            self._engine.store.watch = lambda added: call_on_loop(loop, self._count, added)
            self._task = asyncio.create_task(self._run(), name="sluice-compactor")

    async def close(self) -> None:
        if self._task is not None:
            self._engine.store.watch = None
            await stop_task(self._task)

    def _count(self, added: Mapping[str, int]) -> None:
        """Count the small files that a commit has added to tables, by location."""
        for location, count in added.items():
            before = self._added[location]
            self._added[location] += count
            if before < self._after <= before + count:
                self._due.put_nowait(location)

    async def _run(self) -> None:
        while True:
            location = await self._due.get()
            self._added.pop(location, None)
            await self._supervised.attempt_async(lambda location=location: self._looked_at(location))  # type: ignore[misc]

    async def _looked_at(self, location: str) -> None:
        """Compact a batch of a table's files. The table is looked at again later, after the tables that are due by now."""
        try:
            done = await self._compact(location, in_turn=self._losses[location] > 0)
        except SerializationFailure:
            _LOG.debug("a table was not compacted, as its files were changed meanwhile")
            self._losses[location] += 1
            if self._losses[location] < _LOSSES_MAX:
                self._due.put_nowait(location)
                return
        else:
            if done.before:
                self.compacted += 1
                self._due.put_nowait(location)
        # It is not retried by itself: the next commits trigger it again.
        self._losses.pop(location, None)

    async def _compact(self, location: str, *, in_turn: bool) -> Compacted:
        """Compact a batch of files. in_turn: in the table's turn, so that no autocommit statement of this member
        changes the table meanwhile.
        """
        engine = self._engine
        table = await self._newest(location)
        if table is None or not in_turn:
            return await self._compact_batch(table, in_turn=False)
        async with engine.turns.of(table.oid):
            return await self._compact_batch(await self._newest(location), in_turn=True)

    async def _newest(self, location: str) -> Table | None:
        await self._engine.see_commits()
        return _table(self._engine, location)

    async def _compact_batch(self, table: Table | None, *, in_turn: bool) -> Compacted:
        engine = self._engine
        if table is None or await engine.in_operation_pool(lambda: is_contested(table)):
            return Compacted()
        present = await engine.in_operation_pool(lambda: tables.data_files(table).values())
        files = small_files(present, engine.config.small_file_bytes)
        if len(files) < self._after:
            return Compacted()
        settings = SessionSettings(engine.config.settings)
        context = ExecutionContext(
            engine.queries.new_query_id(),
            time_zone=settings.get("TimeZone"),
            page_bytes=settings.size_bytes("cursor_buffer_size"),
            settings={"spool_limit": settings.size_bytes("sluice.spool_limit")},
        )
        batch = batch_of(files, _BATCH_FILES, _BATCH_BYTES)
        terms = Terms.of(settings, engine.speeds.model)
        return await compact_files(engine, table, batch, terms, context, yielding=True, has_turn=in_turn)


def _table(engine: EngineServices, location: str) -> Table | None:
    stored = (table for table in engine.store.snapshot.tables() if table.storage is not None)
    return next((table for table in stored if table.storage and table.storage.location == location), None)

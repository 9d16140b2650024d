"""The local executor: fragments run by DuckDB in the member's own process.

**Pulls.** DuckDB streams its results: a reader returns a batch when it is asked for one, and between two requests
DuckDB's workers fill a bounded buffer (`engine.executors.local.database`) and then stop. A pull is therefore a call
that may block, and it runs on a thread of the small fragment pool. A stream that nobody pulls occupies no thread, only
its cursor and DuckDB's buffer. A batch of less than a vector is most likely the last one, so the thread that fetched it
looks for another and only then reports both to the event loop. This saves a short query a second trip through the pool,
and it keeps the two threads from contending for the interpreter. A few rows may therefore wait for the next ones, as
they do in PostgreSQL's own buffer. This is the only read-ahead.

**Databases.** There are two DuckDBs, and one more for each role whose memory is limited
(`engine.executors.local.role_databases`). The general one has one thread per core. The other has a single thread, the
calling one, so that its statements neither wait for the general one's workers, which a long query keeps busy, nor hand
work to them. It runs

- short statements over small files (`engine.executors.local.small_files`), for which that is half of their time;
- statements over nothing but the system catalog, which is small;
- plain scans, which a client reads more slowly than one thread produces them, and which a portal may leave half read: DuckDB holds
  0.4 MB there for a suspended scan of `orders`, against 17 MB with two threads.

**Repetition.** The result of a short statement that is sent again and again is kept, by everything that it depends on
(`engine.executors.local.result_cache`).

**Planning.** DuckDB does not check for interrupts while it parses, binds and optimises, which takes seconds when a
statement has thousands of conditions. Long statements therefore take turns, and the remaining fragment threads serve
others. Closing a stream whose statement is being planned does not wait for long: its thread is set aside, and another
takes its place in the pool. The stream is closed when that thread returns, and is counted among the streams until then.
Only a few threads may be set aside (`engine.common.fragment_pool.ASIDE_MAX`), and statements that are known to take
long to plan share one turn, so a client that cancels one after the other eventually waits for the planner. A member
that is stopping waits for none of them for long (`engine.executors.local.abandonment`).

**Internal errors.** A DuckDB that meets an internal error is unusable for every statement. The executor soon replaces
it, for later statements. A statement that was running in the general one at that time, and has returned no row yet,
runs once more in the single-threaded one. This also helps the statement that met the error: DuckDB 2.0.0 keeps texts
that come out of a join as a dictionary, and fails where the dictionaries of two threads meet in the next join
("dict-surviving join: ...").

**Inputs.** A fragment with inputs (`engine.executors.local.inputs`) runs when they have arrived. Until then it has no
thread, and it has a cursor only if the inputs are large.

**Close.** Closing interrupts a running pull and waits for its thread. An interrupt that arrives before DuckDB has begun
is lost, so it is repeated until the thread has returned. There is one shutdown path, which always runs to its end
(`engine.executors.local.stream`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from engine.common.fragment_pool import FragmentPool
from engine.common.pool_calls import Pool
from engine.common.shielded import closed_in_turn, shielded, together, wait_out
from engine.common.weighted_lru_cache import WeightedLruCache
from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.contracts.materialized_results import BatchesStream
from engine.contracts.query_id import EngineName
from engine.executors.engine_config import EngineConfig
from engine.executors.local.abandonment import Abandonment
from engine.executors.local.database import LocalDatabase
from engine.executors.local.point_reads import PointReads
from engine.executors.local.result_cache import ResultCache
from engine.executors.local.role_databases import RoleDatabase, RoleDatabases
from engine.executors.local.small_files import SmallFiles
from engine.executors.local.statement_cursor import Databases
from engine.executors.local.statements import TEXTS_ROOM
from engine.executors.local.stream import LocalStream
from engine.executors.local.work import LocalWork
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.sql.trees.printed import PrintedStatement, print_statement
from wire.errors import AdminShutdown

_log = logging.getLogger(__name__)
_TEXTS: Final = 512
#: The total bytes of the pages of all streams of a member. Each stream gets an equal share, but at least the minimum.
_PAGES_BYTES: Final = 64 << 20
_PAGE_BYTES_MIN: Final = 128 << 10


class LocalExecutor:
    """The `engine.executors.executor.Executor` of one member's DuckDB; see the module's docstring."""

    name: EngineName = "local"

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._state = "starting"
        self._database: LocalDatabase | None = None
        self._single: LocalDatabase | None = None
        self._small: SmallFiles | None = None
        self._points: PointReads | None = None
        self._roles = RoleDatabases(config)
        self._results = ResultCache()
        self._broken: set[LocalDatabase] = set()
        self._replacing: asyncio.Task[None] | None = None
        self._pool: Pool | None = None
        self._streams: set[LocalStream] = set()
        self._turns = asyncio.Semaphore(1)
        self._abandonment = Abandonment()
        # Keyed by identity: an entry keeps its fragment alive, so no other fragment can have the same id.
        self._printed: WeightedLruCache[int, tuple[CompiledFragment, PrintedStatement]] = WeightedLruCache(
            _TEXTS, TEXTS_ROOM, lambda _, kept: kept[1].length
        )

    @property
    def state(self) -> str:
        return self._state

    async def start(self) -> None:
        """Open the databases, which takes some tens of milliseconds."""
        assert self._database is None, "started twice"
        pool = FragmentPool(self._config.fragment_threads)
        loop = asyncio.get_running_loop()
        general = await loop.run_in_executor(pool, self._general)
        single = await loop.run_in_executor(pool, self._of_one_thread)
        self.begin(pool, general, single, SmallFiles(single))

    def begin(self, pool: Pool, general: LocalDatabase, single: LocalDatabase, small: SmallFiles) -> None:
        """Use this pool and these databases from now on; `close` closes them."""
        self._pool, self._database, self._single, self._small = pool, general, single, small
        self._points = PointReads(pool.post)
        self._state = "ready"

    def _general(self) -> LocalDatabase:
        return LocalDatabase(self._config)

    def _of_one_thread(self) -> LocalDatabase:
        return LocalDatabase(replace(self._config, local_threads=1), "single")

    def _replace(self, broken: LocalDatabase | RoleDatabase) -> None:
        """Replace a DuckDB that has become unusable."""
        if isinstance(broken, RoleDatabase):
            self._roles.drop(broken)
        elif self._state == "ready" and broken in (self._database, self._single) and broken not in self._broken:
            _log.error("an internal error has ended one of DuckDB's databases: another takes its place")
            self._broken.add(broken)
            self._replacing = asyncio.get_running_loop().create_task(self._put_another(broken, self._replacing))

    async def _put_another(self, broken: LocalDatabase, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await wait_out(before)
        general = broken is self._database
        try:
            made = await self.in_pool(self._general if general else self._of_one_thread)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next statement that meets the broken one tries again
            _log.error("there is no other database for the broken one yet", exc_info=error)
            self._broken.discard(broken)
            return
        if general:
            self._database = made
        else:
            self._single, self._small = made, SmallFiles(made)
        self._broken.discard(broken)
        await self.in_pool(broken.retire)

    def find_rows(self, fragment: CompiledFragment, context: ExecutionContext) -> BatchStream | None:
        """Answer a fragment from what is held in memory: columns (`engine.executors.local.point_reads`), or the result of an
        equal one (`engine.executors.local.result_cache`). Returns None where it is to be opened."""
        if context.memory is not None or context.analyze:
            return None
        if fragment.point_read is not None and self._points is not None:
            rows = self._points.find(fragment.point_read, fragment.schema, context.values)
            if rows is not None:
                return BatchesStream(rows, self.name)
        found = self._results.find(self._work(fragment, context)) if context.result_cache else None
        return found or self._join_points(fragment, context)

    def _join_points(self, fragment: CompiledFragment, context: ExecutionContext) -> BatchStream | None:
        """Begin to run a fragment over the few rows that it joins, if they are found in columns that are held."""
        if fragment.point_join is None or self._points is None:
            return None
        steps, narrowed = fragment.point_join
        relations = self._points.find_joined(steps, context.values)
        if relations is None:
            return None
        values = {name: context.values[name] for name in narrowed.parameters}
        return self.run(replace(self._work(narrowed, replace(context, values=values)), relations=relations))

    async def open(self, fragment: CompiledFragment, context: ExecutionContext) -> BatchStream:
        """Begin to run a fragment; its errors come from `next_batch`."""
        work = self._work(fragment, context)
        if not context.result_cache:
            return self.run(work)
        return self._results.observe(work, partial(self.run, work))

    def _work(self, fragment: CompiledFragment, context: ExecutionContext) -> LocalWork:
        printed = self.print_fragment(fragment)
        values, row = ({}, context.values) if fragment.values_in_row else (context.values, {})
        return LocalWork(
            printed.text,
            fragment.schema,
            context.page_bytes,
            context.time_zone,
            fragment.tables,
            {**printed.values, **values} if values else printed.values,
            analyze=context.analyze,
            memory=context.memory,
            row=row,
            query=str(context.query),
            fragment=None if printed.values else fragment,
        )

    def run(self, work: LocalWork) -> LocalStream:
        """Begin to run a statement that is already compiled."""
        running = self._state == "ready"
        if not running or not (self._database and self._single and self._small and self._pool):
            raise AdminShutdown("the local engine is not running")
        databases = Databases(self._database, self._single, self._small)
        if work.memory is not None:
            own = self._roles.enter(work.memory)
            databases = Databases(own, own, None)
        share = max(_PAGES_BYTES // (len(self._streams) + 1), _PAGE_BYTES_MIN)
        if work.page_bytes > share:
            work = replace(work, page_bytes=share)
        stream = LocalStream(
            databases, self._pool, self._streams, work, self._replace, self._over, self._turns, self._abandonment
        )
        stream.begin()
        return stream

    def _over(self, stream: LocalStream) -> None:
        """Handle the end of a stream, which holds no resources any more. A stream may report its end twice."""
        if stream not in self._streams:
            return
        self._streams.discard(stream)
        if isinstance(own := stream.databases.general, RoleDatabase):
            assert self._pool is not None, "streams end before the executor does"
            for unused in self._roles.leave(own):
                self._pool.post(partial(_end_database, unused))

    def post(self, call: Callable[[], object]) -> None:
        """Run a short call on a fragment thread, without waiting for it."""
        assert self._pool is not None, "the executor has been started"
        self._pool.post(call)

    @property
    def pool_statistics(self) -> Mapping[str, int]:
        """The fragment pool's calls that are queued, that run, and whose threads are set aside; zeros before the start."""
        if self._pool is None:
            return {"queued": 0, "running": 0, "aside": 0}
        return {**self._pool.statistics(), "aside": self._pool.aside}

    async def in_pool(self, call: Callable[[], Any]) -> Any:
        """Run a call of some milliseconds on a fragment thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def sql(self, fragment: CompiledFragment) -> str:
        return self.print_fragment(fragment).text

    def print_fragment(self, fragment: CompiledFragment) -> PrintedStatement:
        """Return the text of a fragment's statement, from a cache if the fragment has been printed before."""
        if fragment.printed is not None:
            return fragment.printed
        return self._printed.get(id(fragment), lambda: (fragment, print_statement(fragment.statement, "local")))[1]

    @property
    def load(self) -> int:
        return len(self._streams)

    def statistics(self) -> Mapping[str, int]:
        if self._database is None or self._single is None or self._small is None or self._points is None:
            return {"streams": self.load}
        cursors = Counter(self._database.statistics())
        cursors.update(self._single.statistics())
        cursors.update(self._roles.statistics())
        held = {**self._small.statistics(), **self._points.statistics(), **self._results.statistics()}
        return {"streams": self.load, **cursors, **held}

    def abandon_late(self) -> None:
        """Limit the wait of every close of a stream to `ABANDON_SECONDS` from now on."""
        self._abandonment.begin(asyncio.get_running_loop().time())

    @property
    def abandoned_threads(self) -> Sequence[str]:
        """The names of the threads that `close` has left behind: the interpreter must not be torn down before they end."""
        return self._abandonment.abandoned

    async def close(self) -> None:
        """Cancel everything that runs and close the databases; idempotent."""
        ready, self._state = self._state == "ready", "closed"
        if not ready:
            return
        self.abandon_late()
        pool = self._pool
        assert pool is not None, "it was ready"
        try:
            await closed_in_turn(
                lambda: together(*(stream.close_planned() for stream in list(self._streams))),
                lambda: None if self._replacing is None else asyncio.wait([self._replacing]),
                self._close_databases,
            )
        finally:
            await shielded(asyncio.to_thread(pool.close))

    async def _close_databases(self) -> None:
        database, single, pool = self._database, self._single, self._pool
        assert database is not None, "it was ready"
        assert single is not None
        self._database = self._single = self._small = self._points = self._pool = None
        loop = asyncio.get_running_loop()
        databases: list[LocalDatabase | RoleDatabase] = [database, single, *self._roles.close()]
        await closed_in_turn(*(partial(loop.run_in_executor, pool, _end_database, each) for each in databases))


def _end_database(database: LocalDatabase | RoleDatabase) -> None:
    """Close a database, unless an abandoned statement still uses it. Blocks."""
    if database.statistics().get("cursors"):
        database.abandon()
    else:
        database.close()

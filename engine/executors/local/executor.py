"""The local executor: fragments run by DuckDB in the member's own process.

Theory. DuckDB streams: a reader gives a batch when it is asked for one, and between two asks its workers fill a bounded buffer
(`engine.executors.local.database`) and then stop. So a pull is a call that may block, made on a thread of the small fragment
pool; a stream that nobody pulls holds no thread, only its cursor and DuckDB's buffer. A batch of less than a vector is most
likely the last: the thread that fetched it looks for another and only then tells the loop of both. That saves a short query a
second trip through the pool, and the two threads a fight for the interpreter; few rows may wait for the next ones, as in
PostgreSQL's own buffer. It is the only read-ahead there is.

There are two DuckDBs, and one for each role whose memory is limited (`engine.executors.local.role_databases`). The general one
has a thread a core. The other one has one thread, the one that asks, so that what runs there neither waits for the
general one's workers, which a long query keeps busy, nor hands anything to them: short statements over small files
(`engine.executors.local.small_files`), for which that is half of their time; those over nothing but the system catalog, which is
small; and plain scans, which a client reads slower than one thread makes them, and which a portal may leave half read:
there DuckDB holds 0.4 MB of a suspended scan of `orders`, against 17 with two threads.

DuckDB does not look for interrupts while it parses, binds and optimises, which takes it seconds where a statement has thousands of
conditions. So long statements take turns, and the fragment threads that are left go on for others; and who closes the stream of
any that is being planned does not wait for it for long. It is closed when its thread comes back, and counted among the streams
until then.

A DuckDB that meets an internal error is of no more use, whoever asks it. So there is soon another in its place, for those who
come later; and what ran in the general one meanwhile, and has given no row yet, is run once more in the other. That helps who met
the error, too: DuckDB 2.0.0 keeps texts that come out of a join as a dictionary, and gives up where the dictionaries of two
threads meet in the next join ("dict-surviving join: ...").

A fragment with inputs (`engine.executors.local.inputs`) is run when they have arrived; until then it has no thread, and a
cursor only if they are large.

Close interrupts a running pull and waits for its thread. An interrupt that comes before DuckDB has begun is lost, so it is
repeated until the thread has come back. It is one way, which is gone to its end (`LocalStream._shut`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, Final

import duckdb
import pyarrow as pa

from engine.catalog.model.objects import SystemTable, Table
from engine.common.fragment_pool import FragmentPool
from engine.common.pool_calls import Pool
from engine.common.shielded import closed_in_turn, shielded, stop_task, together, wait_out
from engine.common.weighted_lru_cache import WeightedLruCache
from engine.contracts.executor import ExecutionContext
from engine.contracts.memory_share import MemoryShare
from engine.contracts.output_cast import carry_to, match_dimensions
from engine.contracts.profile import Operator
from engine.contracts.query_id import EngineName
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalCursor, LocalDatabase
from engine.executors.local.errors import translate
from engine.executors.local.inputs import HELD_BYTES, Inflow, take_all
from engine.executors.local.profile import operators
from engine.executors.local.role_databases import RoleDatabase, RoleDatabases
from engine.executors.local.small_files import Placed, SmallFiles
from engine.executors.local.statements import TEXTS_ROOM, is_scan
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.sql.trees.printed import PrintedStatement, print_statement
from engine.storage.infinities import with_infinities
from wire.dataclass import dataclass
from wire.errors import AdminShutdown, OutOfMemory, QueryCanceled, SqlError

_log = logging.getLogger(__name__)
#: What a DuckDB says that has met an internal error: to who met it, and to everybody from then on.
_BROKEN: Final = (duckdb.InternalException, duckdb.FatalException)
#: DuckDB's vector: a batch of fewer rows is most likely the last.
_VECTOR: Final = 2048
_BATCH_ROWS_MAX: Final = 131_072
_INTERRUPT_SECONDS: Final = 0.01
#: Characters of a statement that DuckDB may take long to plan.
_LONG_TEXT: Final = 1 << 16
#: Aggregates of DISTINCT values, each of which DuckDB makes a join of: 100 take it a tenth of a second, 1,000 many minutes.
_DISTINCTS: Final = 100
#: Subqueries, of which DuckDB makes joins one above the other: 50 may take it seconds (`engine.planner.codegen.many_subqueries`).
_SUBQUERIES: Final = 12
#: How long who closes a stream waits for DuckDB to have planned its statement.
_PLANNING_SECONDS: Final = 0.2
_TEXTS: Final = 512
#: Pages that a batch has whose rows may be of any width. With one, each page would cost a trip to the pool.
_PAGES: Final = 2
#: Bytes that the pages of all streams of a member may have together, each of which gets its share, from the least on.
_PAGES_BYTES: Final = 64 << 20
_PAGE_BYTES_MIN: Final = 128 << 10
#: Bytes that a value is taken to have in a batch, where its type does not say.
_VARIABLE_WIDTH: Final = 24


@dataclass(frozen=True, slots=True)
class LocalWork:
    """A statement for DuckDB, and what it needs.

    schema: its columns in carriers. page_bytes: the wanted size of a batch, while few streams are under way.
    tables: the catalog's that it reads.
    parameters: values of `$name`s: the files and row ranges of its readers, long strings. inputs: relations that arrive as streams.
    find: gives the parameters instead, when the statement begins, on a thread that may block; raises SqlError.
    analyze: operators are to be counted: over the files, since tables in memory are nobody's. memory: as in `ExecutionContext`.
    """

    statement: str
    schema: pa.Schema
    page_bytes: int
    time_zone: str = "UTC"
    tables: tuple[Table | SystemTable, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Inflow] = field(default_factory=dict)
    find: Callable[[], Mapping[str, Any]] | None = None
    analyze: bool = False
    memory: MemoryShare | None = None


class LocalExecutor:
    """See the module's docstring. `engine.executors.executor.Executor` of one member."""

    name: EngineName = "local"

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._state = "starting"
        self._database: LocalDatabase | None = None
        self._single: LocalDatabase | None = None
        self._small: SmallFiles | None = None
        self._roles = RoleDatabases(config)
        self._broken: set[LocalDatabase] = set()
        self._replacing: asyncio.Task[None] | None = None
        self._pool: Pool | None = None
        self._streams: set[LocalStream] = set()
        self._turns = asyncio.Semaphore(1)
        # By identity: what is kept keeps its fragment, so that no other can be in its place.
        self._printed: WeightedLruCache[int, tuple[CompiledFragment, PrintedStatement]] = WeightedLruCache(
            _TEXTS, TEXTS_ROOM, lambda _, kept: kept[1].length
        )

    @property
    def state(self) -> str:
        return self._state

    async def start(self) -> None:
        """Open the database: some tens of milliseconds."""
        assert self._database is None, "started twice"
        pool = FragmentPool(self._config.fragment_threads)
        loop = asyncio.get_running_loop()
        general = await loop.run_in_executor(pool, self._general)
        single = await loop.run_in_executor(pool, self._of_one_thread)
        self.begin(pool, general, single, SmallFiles(single))

    def begin(self, pool: Pool, general: LocalDatabase, single: LocalDatabase, small: SmallFiles) -> None:
        """Work with these from now on, which `close` closes."""
        self._pool, self._database, self._single, self._small = pool, general, single, small
        self._state = "ready"

    def _general(self) -> LocalDatabase:
        return LocalDatabase(self._config)

    def _of_one_thread(self) -> LocalDatabase:
        return LocalDatabase(replace(self._config, local_threads=1), "single")

    def _replace(self, broken: LocalDatabase | RoleDatabase) -> None:
        """Have another DuckDB in the place of one that is of no more use."""
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
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever meets the broken one next has it tried again
            _log.error("there is no other database for the broken one yet", exc_info=error)
            self._broken.discard(broken)
            return
        if general:
            self._database = made
        else:
            self._single, self._small = made, SmallFiles(made)
        self._broken.discard(broken)
        await self.in_pool(broken.retire)

    async def open(self, fragment: CompiledFragment, context: ExecutionContext) -> LocalStream:
        """Begin to run a fragment; its errors come from `next_batch`."""
        printed = self.print_fragment(fragment)
        return self.run(
            LocalWork(
                printed.text,
                fragment.schema,
                context.page_bytes,
                context.time_zone,
                fragment.tables,
                {**printed.values, **context.values} if context.values else printed.values,
                analyze=context.analyze,
                memory=context.memory,
            )
        )

    def run(self, work: LocalWork) -> LocalStream:
        """Begin to run a statement that is compiled already."""
        running = self._state == "ready"
        if not running or not (self._database and self._single and self._small and self._pool):
            raise AdminShutdown("the local engine is not running")
        databases: _Databases = _Databases(self._database, self._single, self._small)
        if work.memory is not None:
            own = self._roles.enter(work.memory)
            databases = _Databases(own, own, None)
        share = max(_PAGES_BYTES // (len(self._streams) + 1), _PAGE_BYTES_MIN)
        if work.page_bytes > share:
            work = replace(work, page_bytes=share)
        stream = LocalStream(databases, self._pool, self._streams, work, self._replace, self._over, self._turns)
        stream.begin()
        return stream

    def _over(self, stream: LocalStream) -> None:
        """A stream holds nothing any more; it may say so again."""
        if stream not in self._streams:
            return
        self._streams.discard(stream)
        if isinstance(own := stream.databases.general, RoleDatabase):
            assert self._pool is not None, "streams end before the executor does"
            for unused in self._roles.leave(own):
                self._pool.post(unused.close)

    def post(self, call: Callable[[], object]) -> None:
        """Have a short call run on a fragment thread, for which nobody waits."""
        assert self._pool is not None, "the executor has been started"
        self._pool.post(call)

    @property
    def pool_statistics(self) -> Mapping[str, int]:
        """Calls of the pool of fragments that wait and that run; none before the start."""
        return {"queued": 0, "running": 0} if self._pool is None else self._pool.statistics()

    async def in_pool(self, call: Callable[[], Any]) -> Any:
        """Run a call of some milliseconds on a fragment thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def sql(self, fragment: CompiledFragment) -> str:
        return self.print_fragment(fragment).text

    def print_fragment(self, fragment: CompiledFragment) -> PrintedStatement:
        """The fragment's statement, remembered for those that run often."""
        if fragment.printed is not None:
            return fragment.printed
        return self._printed.get(id(fragment), lambda: (fragment, print_statement(fragment.statement, "local")))[1]

    @property
    def load(self) -> int:
        return len(self._streams)

    def statistics(self) -> Mapping[str, int]:
        if self._database is None or self._single is None or self._small is None:
            return {"streams": self.load}
        cursors = Counter(self._database.statistics())
        cursors.update(self._single.statistics())
        cursors.update(self._roles.statistics())
        return {"streams": self.load, **cursors, **self._small.statistics()}

    async def close(self) -> None:
        """Cancel what runs and end the databases; idempotent."""
        ready, self._state = self._state == "ready", "closed"
        if not ready:
            return
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
        self._database = self._single = self._small = self._pool = None
        loop = asyncio.get_running_loop()
        databases: list[LocalDatabase | RoleDatabase] = [database, single, *self._roles.close()]
        await closed_in_turn(*(partial(loop.run_in_executor, pool, each.close) for each in databases))


@dataclass(frozen=True, slots=True)
class _Databases:
    """Where a statement may run. single: with one thread. small: tables in memory that lie there; None: none for this one."""

    general: LocalDatabase | RoleDatabase
    single: LocalDatabase | RoleDatabase
    small: SmallFiles | None


def _is_long(statement: str) -> bool:
    """Whether DuckDB may take long to plan a statement."""
    many = statement.count("(SELECT ") > _SUBQUERIES or statement.count("(DISTINCT ") > _DISTINCTS
    return many or len(statement) > _LONG_TEXT


class LocalStream:
    """A fragment under way (`engine.contracts.batch_stream.BatchStream`).

    The loop's thread owns the state; `_cursor` and `_reader` belong to the pool's thread while `_running`, and a job tells
    what came of it through `_on_batches`.
    """

    engine_name: Final = "local"

    def __init__(
        self,
        databases: _Databases,
        pool: Pool,
        streams: set[LocalStream],
        work: LocalWork,
        replace: Callable[[LocalDatabase | RoleDatabase], None],
        over: Callable[[LocalStream], None],
        turns: asyncio.Semaphore,
    ) -> None:
        self.databases = databases
        self._placed: Placed | None = None
        self._pool = pool
        self._streams = streams
        self._work = work
        self._replace = replace
        self._over = over
        self._turns: asyncio.Semaphore | None = turns if _is_long(work.statement) else None
        self._has_turn = False
        self._planning = False
        self._schema = work.schema
        self._sizes = _BatchSizes.of(work.schema, work.page_bytes)
        self._drained = False
        self._gathering: asyncio.Task[None] | None = None
        self._inputs: dict[str, pa.Table] = {}
        self._stored = False
        self._again = False
        self._in_turn = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._cursor: LocalCursor | None = None
        self._reader: Any = None
        self._running = False
        self._closing = False
        self._ended = False
        self._error: SqlError | None = None
        self._ready: deque[pa.RecordBatch] = deque()
        self._waiters: list[asyncio.Future[None]] = []
        self._closed: asyncio.Task[None] | None = None
        self._counts = {"rows": 0, "bytes": 0, "batches": 0}
        #: What DuckDB's operators gave, after the end; None where it was not asked for, or the end was not reached.
        self.operators: Operator | None = None

    def begin(self) -> None:
        self._streams.add(self)
        if self._work.inputs or self._turns is not None:
            self._gathering = self._loop.create_task(self._gather())
        else:
            self._pull()

    async def next_batch(self) -> pa.RecordBatch | None:
        while self._closing or not self._ready:
            if self._error is not None:
                raise self._error
            if self._closing:
                raise QueryCanceled("canceling statement due to user request")
            if self._ended:
                return None
            if not self._running and self._gathering is None:
                self._pull()
            await self._next_change()
        batch = self._ready.popleft()
        self._counts["rows"] += batch.num_rows
        self._counts["bytes"] += batch.nbytes
        self._counts["batches"] += 1
        return batch

    async def close(self) -> None:
        self._closing = True
        self._wake()
        if self._closed is None:
            if not self._running and self._gathering is None and self._cursor is None:
                self._forget()
                return
            self._closed = self._loop.create_task(self._shut())
        closed = self._closed
        if self._turns is not None or self._planning:
            await shielded(asyncio.wait([closed], timeout=_PLANNING_SECONDS))
            if not closed.done() and self._planning:
                _log.debug("a stream is closed while DuckDB plans its statement")
                return
        await wait_out(closed)
        if closed.cancelled():
            # Before it had begun: nothing was done yet.
            self._closed = None
            await self.close()

    async def close_planned(self) -> None:
        """Close the stream as `close` does, but wait for a statement that is being planned."""
        await self.close()
        if self._closed is not None:
            await wait_out(self._closed)

    def statistics(self) -> Mapping[str, int]:
        return dict(self._counts)

    # -- on the loop's thread -----------------------------------------------------------------------------------

    def _pull(self) -> None:
        self._running = True
        self._pool.post(self._job)

    async def _gather(self) -> None:
        """Take the inputs and, for a long statement, a turn; then begin. What goes wrong with the inputs is the stream's error."""
        try:
            memory = self._work.memory
            held = HELD_BYTES if memory is None else min(memory.input_bytes, HELD_BYTES)
            if self._work.inputs:
                self._inputs = await take_all(self._work.inputs, self._store, held)
            if self._turns is not None:
                await self._turns.acquire()
                self._has_turn = True
        except Exception as error:  # noqa: BLE001 - as in `_job`
            self._error = self._translate_error(error)
        self._gathering = None
        if self._error is None and not self._closing:
            self._pull()
        else:
            self._give_turn_back()
        self._wake()

    def _give_turn_back(self) -> None:
        if self._has_turn and self._turns is not None:
            self._has_turn = False
            self._turns.release()

    async def _store(self, name: str, rows: pa.Table) -> None:
        self._stored = True
        await self._in_pool(lambda: self._borrow().store(name, rows))

    async def _in_pool(self, call: Callable[[], Any]) -> Any:
        """Run a call on a thread of the pool, one at a time; it has ended when this returns, or is cancelled."""
        async with self._in_turn:
            return await shielded(self._loop.run_in_executor(self._pool, call))

    def _next_change(self) -> asyncio.Future[None]:
        """Done when a job has told something, or the stream is being closed."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        return waiter

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _on_batches(self, batches: Sequence[pa.RecordBatch | None], error: SqlError | None) -> None:
        """Take the result of a job: batches, None at the end, or an error."""
        self._running = False
        self._give_turn_back()
        self._ready.extend(batch for batch in batches if batch is not None)
        self._ended = None in batches
        self._error = error
        self._wake()

    async def _shut(self) -> None:
        """The one way to the end. Each step is taken whatever became of the one before, and waits as long as it takes, whatever
        number of cancels come: what a thread still uses is not let go of."""
        for step in (self._end_gathering, self._end_pull, self._end_cursor):
            try:
                await step()
            except asyncio.CancelledError:
                _log.debug("a stream that is being closed is closed all the same")
            except Exception:  # noqa: BLE001 - the steps that follow are to be taken
                _log.exception("a stream could not be closed in order")
        self._forget()

    async def _end_gathering(self) -> None:
        if self._gathering is not None:
            await stop_task(self._gathering)

    async def _end_pull(self) -> None:
        while self._running:
            cursor = self._cursor
            if cursor is not None:
                # Its thread may have closed it just now.
                with contextlib.suppress(duckdb.Error):
                    cursor.interrupt()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([self._next_change()], timeout=_INTERRUPT_SECONDS)

    async def _end_cursor(self) -> None:
        if self._cursor is not None:
            await shielded(self._loop.run_in_executor(self._pool, self._release))

    def _forget(self) -> None:
        self._ready.clear()
        self._inputs.clear()
        self._over(self)

    # -- on a pool's thread -------------------------------------------------------------------------------------

    def _job(self) -> None:
        """Fetch one batch, and after a small one what follows, if anything does."""
        try:
            batches = [self._fetch()]
            last = batches[0]
            if last is not None and (self._drained or last.num_rows < _VECTOR) and not self._closing:
                batches.append(self._fetch())
            if batches[-1] is None:
                self._end()
            self._tell(batches, None)
        except Exception as error:  # noqa: BLE001 - whatever DuckDB or Arrow raise ends the stream, translated
            try:
                self._release(healthy=False)
            finally:
                # Whatever becomes of the cursor: who waits for the stream, or for its close, must not wait for ever.
                self._tell((), self._translate_error(error))

    def _translate_error(self, error: Exception) -> SqlError:
        told = translate(error, self._work.statement)
        memory = self._work.memory
        return memory.exceeded_error() if isinstance(told, OutOfMemory) and memory is not None else told

    def _end(self) -> None:
        """Let go of what has ended, and keep what was counted of it."""
        if self._work.analyze and self._cursor is not None:
            self._reader = None
            self.operators = operators(self._cursor.read_profile())
        self._release(healthy=not self._work.analyze)

    def _fetch(self) -> pa.RecordBatch | None:
        """The next batch that is not empty, in carriers; None at the end."""
        if self._reader is not None:
            return self._read()
        if self._closing:
            raise QueryCanceled("canceling statement due to user request")
        inputs = dict(self._inputs)
        try:
            self._reader = self._plan_and_start()
            return self._read()
        except _BROKEN:
            self._loop.call_soon_threadsafe(self._replace, self._home())
            if self._placed is not None or self._stored or self._work.memory is not None:
                raise
        self._release(healthy=False)
        self._again, self._inputs = True, inputs
        self._reader = self._plan_and_start()
        return self._read()

    def _plan_and_start(self) -> Any:
        """Start the statement as `_start` does. Meanwhile `_planning` tells `close` that the statement is being planned."""
        self._planning = True
        try:
            return self._start()
        finally:
            self._planning = False

    def _read(self) -> pa.RecordBatch | None:
        sizes, parts, rows, size, largest = self._sizes, list[pa.RecordBatch](), 0, 0, 0
        # As many as fit: one that passes the page's size would have the rest of it sent as a page of its own.
        while rows < sizes.rows_max and size + largest <= sizes.bytes_max and (part := self._next_part()) is not None:
            parts.append(part)
            rows += part.num_rows
            size += part.nbytes
            largest = max(largest, part.nbytes)
            if self._closing:
                break
        if len(parts) > 1:
            return pa.concat_batches(parts)
        return parts[0] if parts else None

    def _next_part(self) -> pa.RecordBatch | None:
        """Return the next batch of DuckDB that is not empty, in carriers; None at the end."""
        while not self._drained:
            try:
                batch = self._reader.read_next_batch()
            except StopIteration:
                self._drained = True
                break
            if batch.num_rows:
                if not self._schema.names:
                    return batch.select([])
                return with_infinities(carry_to(batch, match_dimensions(self._schema, batch.schema)))
        return None

    def _start(self) -> Any:
        """Begin to run the statement, in the database that is made for its like."""
        work, statement = self._work, self._work.statement
        parameters = work.parameters if work.find is None else work.find()
        in_memory = False
        if self._cursor is None and not work.analyze:  # else its inputs are large, and stored where it will run
            small = self.databases.small
            if (
                small is not None and not self._of_catalog()
            ):  # whose texts are long, and to read one takes as long as to run it
                self._placed = small.place(statement, parameters, self._inputs.values())
            in_memory = self._placed is not None
            if self._placed is None and (self._of_catalog() or self._again or is_scan(statement)):
                self._placed = Placed(statement, parameters)
        if self._placed is not None:
            statement, parameters = self._placed.statement, self._placed.parameters
        cursor = self._borrow()
        while self._inputs:
            cursor.hold(*self._inputs.popitem())
        if work.analyze:
            cursor.profile()
        return cursor.run(statement, work.tables, self._sizes.read_rows, parameters, in_memory=in_memory)

    def _of_catalog(self) -> bool:
        """Whether it reads the system catalog and nothing else."""
        tables = self._work.tables
        return bool(tables) and not self._work.inputs and all(isinstance(table, SystemTable) for table in tables)

    def _home(self) -> LocalDatabase | RoleDatabase:
        return self.databases.general if self._placed is None else self.databases.single

    def _borrow(self) -> LocalCursor:
        if self._cursor is None:
            self._cursor = self._home().borrow(self._work.time_zone)
        return self._cursor

    def _release(self, *, healthy: bool = True) -> None:
        """Let go of the result and the cursor; what a half-read result holds is freed here, off the loop's thread."""
        home = self._home()
        cursor, self._cursor, self._reader = self._cursor, None, None
        placed, self._placed = self._placed, None
        try:
            if cursor is not None:
                home.give_back(cursor, healthy=healthy and cursor.forget_inputs())
        finally:
            if placed is not None and (small := self.databases.small) is not None:
                small.release(placed)

    def _tell(self, batches: Sequence[pa.RecordBatch | None], error: SqlError | None) -> None:
        self._loop.call_soon_threadsafe(self._on_batches, batches, error)


@dataclass(frozen=True, slots=True)
class _BatchSizes:
    """The sizes of a stream's batches. read_rows: rows that DuckDB gives at once. rows_max, bytes_max: a batch is
    complete when it has reached either."""

    read_rows: int
    rows_max: int
    bytes_max: int

    @classmethod
    def of(cls, schema: pa.Schema, page_bytes: int) -> _BatchSizes:
        """Rows whose width the schema tells come from DuckDB as whole batches. Others may be of any width, and DuckDB makes two
        batches more before the first one is taken: they come a vector at a time and are put together here."""
        rows = batch_rows(schema, page_bytes)
        known = all(_width(typ) is not None for typ in schema.types)
        return cls(rows if known else _VECTOR, rows, _PAGES * page_bytes)


def batch_rows(schema: pa.Schema, page_bytes: int) -> int:
    """How many rows of these carriers make a batch of about `page_bytes`: a multiple of DuckDB's vector."""
    width = sum(_width(typ) or _VARIABLE_WIDTH for typ in schema.types) or 1
    vectors = min(page_bytes // width, _BATCH_ROWS_MAX) // _VECTOR
    return max(vectors, 1) * _VECTOR


def _width(typ: pa.DataType) -> int | None:
    """Bytes of a value; None where values differ."""
    try:
        return max(int(typ.bit_width) // 8, 1)
    except ValueError:
        return None

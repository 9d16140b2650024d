"""A running fragment in DuckDB: its pulls on threads of the pool, and its single shutdown path.

`engine.executors.local.executor` has the theory.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import duckdb
import pyarrow as pa

from engine.common.pool_calls import Pool
from engine.common.shielded import shielded, stop_task, wait_out
from engine.contracts.profile import Operator
from engine.executors.local.abandonment import Abandonment
from engine.executors.local.database import LocalDatabase
from engine.executors.local.errors import translate
from engine.executors.local.inputs import HELD_BYTES, take_all
from engine.executors.local.page_reader import VECTOR, PageReader
from engine.executors.local.profile import operators
from engine.executors.local.role_databases import RoleDatabase
from engine.executors.local.statement_cursor import Databases, StatementCursor
from engine.executors.local.work import LocalWork
from wire.errors import OutOfMemory, QueryCanceled, SqlError

_log = logging.getLogger(__name__)
#: DuckDB's errors for an internal error: for the statement that meets it, and for every statement from then on.
_BROKEN: Final = (duckdb.InternalException, duckdb.FatalException)
_INTERRUPT_SECONDS: Final = 0.01
#: The number of characters from which DuckDB may take long to plan a statement.
_LONG_TEXT: Final = 1 << 16
#: Aggregates of DISTINCT values: DuckDB turns each into a join. Planning 100 takes a tenth of a second, 1,000 many minutes.
_DISTINCTS: Final = 100
#: Subqueries: DuckDB turns them into nested joins. Planning 50 may take seconds (`engine.planner.codegen.many_subqueries`).
_SUBQUERIES: Final = 12
#: The time that the close of a stream waits for DuckDB to plan its statement before the thread is set aside.
_PLANNING_SECONDS: Final = 0.2


def _is_long(statement: str) -> bool:
    """Return whether DuckDB may take long to plan a statement."""
    many = statement.count("(SELECT ") > _SUBQUERIES or statement.count("(DISTINCT ") > _DISTINCTS
    return many or len(statement) > _LONG_TEXT


def _translate_error(error: Exception, work: LocalWork) -> SqlError:
    told = translate(error, work.statement)
    memory = work.memory
    return memory.exceeded_error() if isinstance(told, OutOfMemory) and memory is not None else told


class LocalStream:
    """A running fragment (`engine.contracts.batch_stream.BatchStream`).

    The event loop's thread owns the state. `_statement` and `_pages` belong to the pool's thread while `_running` is
    set, and a job reports its result through `_on_batches`.
    """

    engine_name: Final = "local"

    def __init__(
        self,
        databases: Databases,
        pool: Pool,
        streams: set[LocalStream],
        work: LocalWork,
        replace: Callable[[LocalDatabase | RoleDatabase], None],
        over: Callable[[LocalStream], None],
        turns: asyncio.Semaphore,
        abandonment: Abandonment,
    ) -> None:
        self.databases = databases
        self._statement = StatementCursor(databases, work)
        self._pool = pool
        self._streams = streams
        self._work = work
        self._replace = replace
        self._over = over
        self._turns: asyncio.Semaphore | None = turns if _is_long(work.statement) else None
        self._has_turn = False
        self._planning = False
        self._abandonment = abandonment
        self._abandoned = False
        self._thread = 0
        self._pages = PageReader(work.schema, work.page_bytes)
        self._gathering: asyncio.Task[None] | None = None
        self._inputs: dict[str, pa.Table] = dict(work.relations)
        self._stored = False
        self._again = False
        self._in_turn = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._running = False
        self._closing = False
        self._ended = False
        self._error: SqlError | None = None
        self._ready: deque[pa.RecordBatch] = deque()
        self._waiters: list[asyncio.Future[None]] = []
        self._closed: asyncio.Task[None] | None = None
        #: Done when the thread that plans the statement is set aside, so that `close` need not wait for it.
        self._left: asyncio.Future[None] = self._loop.create_future()
        self._counts = {"rows": 0, "bytes": 0, "batches": 0}
        #: The profile of DuckDB's operators after the end; None if it was not requested, or the end was not reached.
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
        self._closing = self._pages.is_stopped = True
        self._wake()
        if self._closed is None:
            if not self._running and self._gathering is None and self._statement.cursor is None:
                self._forget()
                return
            self._closed = self._loop.create_task(self._shut())
        closed = self._closed
        await shielded(asyncio.wait([closed, self._left], return_when=asyncio.FIRST_COMPLETED))
        if not closed.done():
            _log.debug("a stream is closed while DuckDB plans its statement")
            return
        await wait_out(closed)
        if closed.cancelled():
            # Cancelled before it had begun, so nothing has been done yet.
            self._closed = None
            await self.close()

    async def close_planned(self) -> None:
        """Close the stream as `close` does, but also wait for a statement that is being planned, until it ends or is
        abandoned.
        """
        await self.close()
        if self._closed is not None:
            await wait_out(self._closed)

    def statistics(self) -> Mapping[str, int]:
        return dict(self._counts)

    # -- on the loop's thread -----------------------------------------------------------------------------------

    def _pull(self) -> None:
        self._running, self._thread = True, 0
        self._pool.post(self._job)

    async def _gather(self) -> None:
        """Read the inputs and, for a long statement, wait for its turn; then begin. An error of the inputs becomes the
        stream's error.
        """
        try:
            memory = self._work.memory
            held = HELD_BYTES if memory is None else min(memory.input_bytes, HELD_BYTES)
            if self._work.inputs:
                self._inputs = await take_all(self._work.inputs, self._store, held)
            if self._turns is not None:
                await self._turns.acquire()
                self._has_turn = True
        except Exception as error:  # noqa: BLE001 - as in `_job`
            self._error = _translate_error(error, self._work)
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
        await self._in_pool(lambda: self._statement.borrow().store(name, rows))

    async def _in_pool(self, call: Callable[[], Any]) -> Any:
        """Run a call on a thread of the pool, one at a time. The call has ended when this returns or is cancelled."""
        async with self._in_turn:
            return await shielded(self._loop.run_in_executor(self._pool, call))

    def _next_change(self) -> asyncio.Future[None]:
        """Return a future that is done when a job has reported, or the stream is being closed."""
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
        """Shut the stream down. This is the only path. Each step is taken whatever the outcome of the one before, and
        waits as long as necessary, however often it is cancelled, so that nothing is released that a thread still uses.
        """
        for step in (self._end_gathering, self._end_pull, self._end_cursor):
            try:
                await step()
            except asyncio.CancelledError:
                _log.debug("a stream that is being closed is closed all the same")
            except Exception:  # noqa: BLE001 - the following steps must run all the same
                _log.exception("a stream could not be closed in order")
        self._forget()

    async def _end_gathering(self) -> None:
        if self._gathering is not None:
            await stop_task(self._gathering)

    async def _end_pull(self) -> None:
        """Interrupt the pull until its thread has returned. A thread that plans a statement is set aside, so that
        closing does not wait for it. A thread that does not return for long while the member stops is abandoned.
        """
        began = self._loop.time()
        while self._running and not self._abandoned:
            # The thread may have closed the cursor just now.
            with contextlib.suppress(duckdb.Error):
                self._statement.interrupt()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([self._next_change()], timeout=_INTERRUPT_SECONDS)
            if self._running:
                self._leave_behind(began)

    def _leave_behind(self, canceled: float) -> None:
        """Set aside or abandon the thread of a pull that has not returned, if it is due. canceled: the time of the
        first interrupt.
        """
        now, thread = self._loop.time(), self._thread
        if thread and self._abandonment.is_due(canceled, now):
            self._abandoned = True
            self._pool.set_aside(thread, forced=True)
            self._abandonment.note(self._work.query, self._work.statement, thread)
        elif self._left.done() or now - canceled < _PLANNING_SECONDS:
            return
        elif not thread or (self._planning and self._pool.set_aside(thread)):
            # A pull that has no thread yet notices the close when it gets one.
            self._left.set_result(None)

    async def _end_cursor(self) -> None:
        # The cursor of an abandoned pull is released by its thread.
        if self._statement.cursor is not None and not self._running:
            await shielded(self._loop.run_in_executor(self._pool, self._statement.release))

    def _forget(self) -> None:
        self._ready.clear()
        self._inputs.clear()
        self._over(self)

    # -- on a pool's thread -------------------------------------------------------------------------------------

    def _job(self) -> None:
        """Fetch one batch, and after a small one the next, if there is one."""
        self._thread = threading.get_ident()
        try:
            batches = [self._fetch()]
            last = batches[0]
            if last is not None and (self._pages.is_drained or last.num_rows < VECTOR) and not self._closing:
                batches.append(self._fetch())
            if batches[-1] is None:
                self._end()
            self._tell(batches, None)
        except Exception as error:  # noqa: BLE001 - any error of DuckDB or Arrow ends the stream, translated
            try:
                self._statement.release(healthy=False)
            finally:
                # Reported even if the release fails: waiters for the stream, or for its close, must not wait for ever.
                self._tell((), _translate_error(error, self._work))

    def _end(self) -> None:
        """Release a finished statement, and keep its profile."""
        if self._work.analyze and self._statement.cursor is not None:
            self._statement.reader = None
            self.operators = operators(self._statement.cursor.read_profile())
        self._statement.release(healthy=not self._work.analyze)

    def _fetch(self) -> pa.RecordBatch | None:
        """Return the next non-empty batch, in carriers; None at the end. A statement that meets an internal error
        before its first batch is started once more.
        """
        if self._statement.reader is not None:
            return self._pages.next_page(self._statement.reader)
        if self._closing:
            raise QueryCanceled("canceling statement due to user request")
        inputs = dict(self._inputs)
        try:
            self._plan_and_start()
            return self._pages.next_page(self._statement.reader)
        except _BROKEN:
            self._loop.call_soon_threadsafe(self._replace, self._statement.home)
            if self._statement.placed is not None or self._stored or self._work.memory is not None:
                raise
        self._statement.release(healthy=False)
        self._again, self._inputs = True, inputs
        self._plan_and_start()
        return self._pages.next_page(self._statement.reader)

    def _plan_and_start(self) -> None:
        """Start the statement. Meanwhile `_planning` tells `close` that DuckDB is planning it."""
        self._planning = True
        try:
            self._statement.start(self._inputs, self._pages.sizes.read_rows, again=self._again)
        finally:
            self._planning = False

    def _tell(self, batches: Sequence[pa.RecordBatch | None], error: SqlError | None) -> None:
        if self._abandoned:
            # Nobody waits for the report any more; even the event loop may be gone.
            self._statement.release(healthy=False)
        else:
            self._loop.call_soon_threadsafe(self._on_batches, batches, error)

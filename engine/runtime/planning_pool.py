"""Parses, plans and compiles statements on threads: interruptible, in turns, within the member's memory.

The work runs on the operation threads. Four measures keep one client's statement from disturbing all others:

- *Interrupts.* When the wait of the session's task ends (a cancel request, `statement_timeout`, a termination), the
  work is marked and ends at its next step (`engine.common.interrupts`). The session does not wait for that: its client
  is answered at once.
- *Disposal.* The values that long work has made are freed a piece at a time (`engine.common.disposal`), as a long work
  of its own: by the thread of a work that failed, and, for a result that its owner has dropped (`dispose_with`), in the
  next turn.
- *Turns.* Work on long statements leaves at least one operation thread to other work. A session has one statement at a
  time, and turns are given in the order of the requests, so each client gets its share of them. Work that was
  interrupted keeps its turn until its thread is free.
- *Memory.* Every few hundredths of a second the process's resident memory is compared with the configured limit (`memory`);
  above it the statement ends with 53200. Short statements make too few steps to be checked.
"""

from __future__ import annotations

import asyncio
import functools
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final, Generic, TypeVar, cast

from engine.catalog.store.request_clock import asked_now
from engine.common.disposal import frames_of, take_apart
from engine.common.interrupts import StatementWork, work_scope
from engine.common.loop_calls import call_on_loop
from engine.common.resident_memory import resident_bytes
from engine.common.shielded import shielded
from engine.runtime.operation_pool import OperationPool
from engine.settings.session_settings import size_text
from wire.errors import OutOfMemory, SqlError

T = TypeVar("T")
#: The characters of a statement and the nodes of a plan up to which the work takes some ten milliseconds.
SHORT_CHARACTERS: Final = 4096
SHORT_NODES: Final = 1000
#: The number of tokens, nodes and expressions up to which the values of failed work are freed within a few
#: milliseconds.
_SHORT_STEPS: Final = 10_000


class PlanningPool:
    """See the module's docstring. Used from the loop's thread.

    operations: the threads. memory_bytes: the limit of the process's memory. resident: returns the memory that it uses.
    """

    def __init__(
        self, operations: OperationPool, memory_bytes: int, resident: Callable[[], int] = resident_bytes
    ) -> None:
        self._operations = operations
        self._memory_bytes = memory_bytes
        self._resident = resident
        self._turns = asyncio.Semaphore(max(operations.threads - 1, 1))
        self._waiting = 0
        self._works: set[StatementWork] = set()
        self._held = 0
        self._disposals: set[asyncio.Task[None]] = set()
        self._interrupted = 0
        self._refused = 0

    async def run(self, call: Callable[[], T], *, long: bool = False) -> T:
        """Run a call that parses or plans a statement on an operation thread. long: it waits for its turn.

        Raises what the call raises, and OutOfMemory.
        """
        if not long:
            return await self._start(call, None)
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        return await self._start(call, self._turns.release)

    def require_memory(self) -> None:
        """Raise OutOfMemory if the process takes more memory than it may."""
        try:
            self._require_memory()
        except OutOfMemory:
            self._refused += 1
            raise

    @property
    def live_nodes(self) -> int:
        """The approximate number of tokens, nodes and expressions of long statements. May be read on any thread."""
        return self._held + sum(work.steps for work in list(self._works))

    def dispose_with(self, owner: object, parts: list[Any], nodes: int, *, cached: bool = False) -> None:
        """Free the parts of `owner` a piece at a time when it is freed, as long work, except those that something else
        refers to.

        owner: any object that supports weak references. parts: values that only the owner refers to; not the owner
        itself. nodes: their approximate number of nodes. cached: the owner outlives its statement, so that its nodes
        count only from its end on.
        """
        loop = asyncio.get_running_loop()
        finalizer = weakref.finalize(owner, _tell, loop, functools.partial(self._dispose, parts, nodes, cached=cached))
        finalizer.atexit = False
        self._held += 0 if cached else nodes

    async def close(self) -> None:
        """Stop freeing values; the rest ends with the process. Idempotent."""
        for task in self._disposals:
            task.cancel()
        if self._disposals:
            await asyncio.wait(self._disposals)

    def _dispose(self, parts: list[Any], nodes: int, *, cached: bool) -> None:
        self._held += nodes if cached else 0
        task = asyncio.get_running_loop().create_task(self._take_apart(parts, nodes))
        self._disposals.add(task)
        task.add_done_callback(self._disposals.discard)

    async def _take_apart(self, parts: list[Any], nodes: int) -> None:
        await self._turns.acquire()
        try:
            await shielded(asyncio.wrap_future(self._operations.submit(None, functools.partial(take_apart, parts))))
        finally:
            self._held -= nodes
            self._turns.release()

    def statistics(self) -> Mapping[str, int]:
        """Return the pool's counters. waiting: long statements that wait for their turn. live_nodes: as the property.
        interrupted, refused: statements that ended during planning since the member's start, by an interrupt and for
        lack of memory.
        """
        return {
            "waiting": self._waiting,
            "live_nodes": self.live_nodes,
            "interrupted": self._interrupted,
            "refused": self._refused,
        }

    async def _start(self, call: Callable[[], T], release: Callable[[], None] | None) -> T:
        work = StatementWork(self._require_memory)
        try:
            future = self._operations.submit(None, asked_now(functools.partial(_run_work, work, call)))
        except BaseException:
            if release is not None:
                release()
            raise
        if release is not None:
            self._works.add(work)
            ended = functools.partial(self._finish_work, work, release)
            future.add_done_callback(functools.partial(_tell, asyncio.get_running_loop(), ended))
        try:
            return (await asyncio.wrap_future(future)).take()
        except asyncio.CancelledError:
            work.interrupted = True
            self._interrupted += 1
            raise
        except OutOfMemory:
            self._refused += 1
            raise

    def _finish_work(self, work: StatementWork, release: Callable[[], None]) -> None:
        self._works.discard(work)
        release()

    def _require_memory(self) -> None:
        taken = self._resident()
        if taken > self._memory_bytes:
            raise OutOfMemory(
                "out of memory",
                detail=f"The member's process takes {size_text(taken)}; the limit is {size_text(self._memory_bytes)}.",
                hint="Write the statement with fewer expressions, load rows with COPY, or raise memory in the configuration.",
            )


class _Outcome(Generic[T]):
    """The result or the error of a work. It is taken out of here, because the futures that bring it to the session are
    cycles: the trees that the error's frames refer to would exist until a collection.
    """

    def __init__(self, result: T | None, error: SqlError | None) -> None:
        self._result = result
        self._error = error

    def take(self) -> T:
        """Return the result, or raise the error. Called once."""
        result, error = self._result, self._error
        self._result = self._error = None
        if error is None:
            return cast("T", result)
        try:
            raise error
        finally:
            del error


def _run_work(work: StatementWork, call: Callable[[], T]) -> _Outcome[T]:
    try:
        with work_scope(work):
            return _Outcome(call(), None)
    except SqlError as error:
        frames = frames_of(error)
        if work.steps > _SHORT_STEPS:
            take_apart(frames)
        # They refer to this call's frame.
        frames.clear()
        return _Outcome(None, error)


def _tell(loop: asyncio.AbstractEventLoop, call: Callable[[], None], _ended: Future[T] | None = None) -> None:
    """Run a call on the loop's thread; may be called on any thread. A loop that is closed does not run it."""
    call_on_loop(loop, call)

"""The operation pool: runs short calls in the order in which they were submitted (threading seed, 2.2).

It has a fixed number of threads, each with a queue of its own. A call with a partition runs on thread `partition %
threads`, so two calls of one partition never overlap and never change places: `start` precedes `cancel`, batch N
precedes N + 1. A call without a partition (binding a statement) goes to the thread with the shortest queue.

A call that is certain to be short may be offered instead (`run_or_post`): if its thread has no call queued or running,
it runs at once on the thread that offers it, and calls that are posted meanwhile wait for it, as they would have
otherwise. Waking a thread and being woken by it costs ten times as much as a step of a query's machine, and a short
query has several such steps.

Considered and rejected: distributing calls without a partition round-robin or at random, as the seed does. Now and then
one of them is not short (a statement of a thousand columns, the schema of a folder of files), and every second short
call would queue up behind it. A shared queue (`ThreadPoolExecutor`) keeps no order.

A call without a partition may have to wait for another process (the catalog is locked). It reports that
(`engine.catalog.store.request_clock.mark_waiting`), and another thread takes the queue over; the thread that waited
completes its call and ends. So calls do not queue behind those that wait, up to `_ASIDE_MAX` of them in each queue.
Rejected: repeating such a call when the lock is free, since it has done a part of its work.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import Final, Protocol, TypeVar

from engine.catalog.store.request_clock import WAITING
from engine.common.pool_calls import Call, run, with_future

T = TypeVar("T")
#: The number of threads of each queue that may wait for another process; further ones block their queue.
_ASIDE_MAX: Final = 256


class Operations(Protocol):
    """A pool that runs calls by partitions: an `OperationPool`."""

    @property
    def threads(self) -> int: ...

    def post(self, partition: int | None, call: Call) -> None: ...

    def run_or_post(self, partition: int, call: Call) -> None: ...


class OperationPool:
    """See the module's docstring. threads: their number. name: that of the threads, which are numbered."""

    def __init__(self, threads: int, name: str = "sluice-operation") -> None:
        assert threads > 0, "a pool without threads runs nothing"
        self._lanes = [_Lane(f"{name}-{number}") for number in range(threads)]
        self._turns = itertools.cycle(range(threads))
        self._lock = threading.Lock()
        self._closed = False

    @property
    def threads(self) -> int:
        return len(self._lanes)

    def submit(self, partition: int | None, call: Callable[[], T]) -> Future[T]:
        """Run the call after those of its partition. The Future receives its result or error."""
        future, settling = with_future(call)
        self.post(partition, settling)
        return future

    def post(self, partition: int | None, call: Call) -> None:
        """Submit a call whose result nobody needs. Raises RuntimeError once closed."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the operation pool is closed")
            if partition is not None:
                self._lanes[partition % len(self._lanes)].put(call)
            else:
                lane = self._shortest()
                lane.put(partial(lane.run_unordered, call))

    def run_or_post(self, partition: int, call: Call) -> None:
        """Run a call at once on this thread if the partition's thread has no call queued or running, otherwise post it.
        Raises RuntimeError once closed.
        """
        lane = self._lanes[partition % len(self._lanes)]
        with self._lock:
            if self._closed:
                raise RuntimeError("the operation pool is closed")
            if lane.ahead:
                lane.put(call)
                return
            lane.begin()
        lane.run(call)
        del call

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of calls. queued: those that wait. running: those that run."""
        return {
            "queued": sum(lane.calls.qsize() for lane in self._lanes),
            "running": sum(lane.running for lane in self._lanes),
        }

    @property
    def aside(self) -> int:
        """The number of calls that wait for another process, or have waited for it and now run beside the others."""
        return sum(len(lane.aside) for lane in self._lanes)

    def close(self) -> None:
        """Run the submitted calls, then end the threads. Returns when they have ended. Idempotent."""
        with self._lock:
            if not self._closed:
                self._closed = True
                for lane in self._lanes:
                    lane.calls.put(None)
        for lane in self._lanes:
            lane.join()

    def _shortest(self) -> _Lane:
        """Return the shortest lane; among equal ones the next in turn, so that no thread is always the first."""
        first = next(self._turns)
        return min(self._lanes[first:] + self._lanes[:first], key=lambda lane: lane.ahead)


class _Lane:
    """A thread and its queue; None in the queue ends the thread. ahead: the number of calls that have not ended; it is
    zero only if none waits.

    `put` and `begin` are called under the pool's lock. The turn is held while a call runs, on whichever thread, except
    by calls that have stepped aside. aside: the threads of these calls; such a thread ends with its call.
    """

    def __init__(self, name: str) -> None:
        self.calls: SimpleQueue[Call | None] = SimpleQueue()
        self.ahead = 0
        self.running = False
        self._turn = threading.Lock()
        self._count = threading.Lock()
        self._name = name
        self.aside: set[threading.Thread] = set()
        self._thread = self._start_thread()

    def _start_thread(self) -> threading.Thread:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        thread.start()
        return thread

    def join(self) -> None:
        """Return when the lane's threads have ended, once None is in the queue."""
        while (thread := self._thread).is_alive():
            thread.join()
        with self._count:
            aside = list(self.aside)
        for thread in aside:
            thread.join()

    def put(self, call: Call) -> None:
        with self._count:
            self.ahead += 1
        self.calls.put(call)

    def begin(self) -> None:
        """Take the turn for a call that `run` then runs. No call is ahead, so the turn is free."""
        with self._count:
            self.ahead += 1
        self._turn.acquire()

    def run(self, call: Call) -> None:
        """Run a call that has the turn."""
        self.running = True
        try:
            run(call)
        finally:
            del call
            if threading.current_thread() not in self.aside:
                self._give_turn_back()

    def _give_turn_back(self) -> None:
        self.running = False
        self._turn.release()
        with self._count:
            self.ahead -= 1

    def run_unordered(self, call: Call) -> None:
        """Run a call that may step aside."""
        token = WAITING.set(self._stepping_aside)
        try:
            call()
        finally:
            del call
            WAITING.reset(token)

    @contextmanager
    def _stepping_aside(self) -> Iterator[None]:
        """Leave the queue to another thread. The call of this thread continues beside those that follow."""
        this = threading.current_thread()
        if this not in self.aside and len(self.aside) < _ASIDE_MAX:
            with self._count:
                self.aside.add(this)
            self._thread = self._start_thread()
            self._give_turn_back()
        yield

    def _run(self) -> None:
        this = threading.current_thread()
        while (call := self.calls.get()) is not None:
            self._turn.acquire()
            self.run(call)
            # The objects that the call refers to must not live until the next call arrives.
            del call
            if this in self.aside:
                with self._count:
                    self.aside.discard(this)
                return

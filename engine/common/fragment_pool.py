"""The fragment pool: steps of fragments, short or long, distributed by work-stealing (threading seed, 2.3).

Theory. A step is a call that may block for as long as its engine computes; a fragment that waits for input or credits
submits none. Each thread has a deque. A call from outside goes to the thread with the fewest calls before it. A call
that a step submits goes to its own thread's deque, whose memory is warm. A thread takes the oldest call of its own
deque, then the oldest of another's, then sleeps. Of the sleeping threads the one that fell asleep last is woken,
because its data is still in its core's caches.

Calls are taken oldest first, unlike in a fork-join pool, which takes the newest: nobody here joins a child, and a
fragment that submits its next step from its last would otherwise monopolise its thread. Thieves take the oldest too.
Elsewhere, stealing from the other end has two purposes: fewer collisions, which a deque under the interpreter's lock
does not have, and larger pieces of work, which steps are not. Here it would let the call behind a long step wait
longest.

No wake-up is lost. A call is put into a deque, and a sleeper woken, under the lock; a thread looks at all deques once
more under that lock before it sleeps. So either it sees the call, or it already sleeps when it is woken. Taking a call
needs no lock.

A thread whose call does not return for long may be set aside: another one takes its place and its deque, and it ends
with its call. Only a few threads may be set aside at a time, so that the pool is bounded.

Considered and rejected: one shared queue (`ThreadPoolExecutor`): measured, it is as fast with four threads, but a
fragment's steps wander over all of them. A lock-free list of sleepers: it would save a few microseconds of a round trip
in which two threads hand the interpreter to each other, and it would need a proof instead of a rule.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Final, ParamSpec, TypeVar

from engine.common.pool_calls import Call, Pool, run, with_future

P = ParamSpec("P")
T = TypeVar("T")
#: The maximal number of threads that are set aside at a time.
ASIDE_MAX: Final = 4


class FragmentPool(Pool):
    """The pool; see the module's docstring. It is an executor for `loop.run_in_executor`. threads: their number; name:
    the prefix of their names.
    """

    def __init__(self, threads: int, name: str = "sluice-fragment") -> None:
        assert threads > 0, "a pool without threads runs nothing"
        self._lock = threading.Lock()
        self._closed = False
        self._name = name
        self._workers = [_Worker(self._lock) for _ in range(threads)]
        self._asleep: list[_Worker] = []
        self._aside: set[_Worker] = set()
        self._threads = [self._start_thread(number) for number in range(threads)]

    def _start_thread(self, number: int) -> threading.Thread:
        own = self._workers[number]
        thread = threading.Thread(target=self._work, args=(own,), name=f"{self._name}-{number}", daemon=True)
        thread.start()
        return thread

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the call on some thread. The Future receives its result or exception."""
        future, settling = with_future(partial(fn, *args, **kwargs))
        self.post(settling)
        return future

    def post(self, call: Call) -> None:
        """Submit a call without a waiter. Raises RuntimeError once the pool is closed."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the fragment pool is closed")
            self._nearest().calls.append(call)
            if self._asleep:
                self._asleep.pop().awake.notify()

    def statistics(self) -> Mapping[str, int]:
        """Count the calls. queued: those that wait. running: those that run."""
        return {
            "queued": sum(len(worker.calls) for worker in self._workers),
            "running": sum(worker.running for worker in self._workers),
        }

    @property
    def aside(self) -> int:
        return len(self._aside)

    def set_aside(self, thread: int, *, forced: bool = False) -> bool:
        with self._lock:
            found = [number for number, worker in enumerate(self._workers) if worker.ident == thread and worker.running]
            if not found or (len(self._aside) >= ASIDE_MAX and not forced):
                return any(worker.ident == thread for worker in self._aside)
            [number] = found
            worker, other = self._workers[number], _Worker(self._lock)
            worker.calls, other.calls = other.calls, worker.calls
            self._workers[number] = other
            self._aside.add(worker)
            self._threads[number] = self._start_thread(number)
        return True

    def close(self) -> None:
        """Run all submitted calls, then end the threads. Returns when they have ended, except those that are set
        aside. Idempotent.
        """
        with self._lock:
            self._closed = True
            for worker in self._asleep:
                worker.awake.notify()
            self._asleep.clear()
        for thread in self._threads:
            thread.join()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the pool under the name of `concurrent.futures.Executor`. Always waits, and cancels nothing."""
        del wait, cancel_futures
        self.close()

    def _nearest(self) -> _Worker:
        """Return the worker of this thread; otherwise the one that fell asleep last; otherwise the one with the fewest
        calls.
        """
        ident = threading.get_ident()
        own = next((worker for worker in self._workers if worker.ident == ident), None)
        if own is not None:
            return own
        return self._asleep[-1] if self._asleep else min(self._workers, key=lambda worker: len(worker.calls))

    def _work(self, own: _Worker) -> None:
        own.ident = threading.get_ident()
        while (call := self._next(own)) is not None:
            own.running = True
            run(call)
            # Otherwise the objects that the call references would stay alive until the next call.
            del call
            with self._lock:
                own.running = False
                if own in self._aside:
                    self._aside.discard(own)
                    return

    def _next(self, own: _Worker) -> Call | None:
        """Return the next call as soon as there is one; None once the pool is closed and empty."""
        call = self._take(own)
        if call is None:
            with self._lock:
                while (call := self._take(own)) is None and not self._closed:
                    self._asleep.append(own)
                    own.awake.wait()
        return call

    def _take(self, own: _Worker) -> Call | None:
        """Remove and return the oldest call of the worker's own deque, otherwise of the longest other one."""
        if (call := own.take()) is not None:
            return call
        for worker in sorted(self._workers, key=lambda worker: -len(worker.calls)):
            if (call := worker.take()) is not None:
                return call
        return None


class _Worker:
    """A thread's deque, whose appends and pops are atomic; whether the thread is working; and its wake-up, which needs
    the pool's lock.
    """

    __slots__ = ("awake", "calls", "ident", "running")

    def __init__(self, lock: threading.Lock) -> None:
        self.calls: deque[Call] = deque()
        self.awake = threading.Condition(lock)
        self.ident = 0
        self.running = False

    def take(self) -> Call | None:
        try:
            return self.calls.popleft()
        except IndexError:
            return None

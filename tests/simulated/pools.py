"""Threads of a process: calls that run between its turns, some time after they were submitted.

`SimulatedOperations` stands for `engine.runtime.operation_pool.OperationPool`, `SimulatedPool` for any other executor.
Each has a number of lanes, and a lane has one call at a time. A call runs at one moment, at the end of the time that it
takes, outside of the event loop: code that wants the running loop on a pool's thread fails here as it would there. When
a process is paused, so are its threads.
"""

from __future__ import annotations

from asyncio import events
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, TypeVar

from engine.common.pool_calls import Call, Pool, run, with_future
from simulated.world import Process

T = TypeVar("T")
#: The minimum and maximum duration of a call, in seconds.
_CALL: Final = (20e-6, 2e-3)


class _Lane:
    """A thread."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._calls: deque[Call] = deque()
        self.ahead = 0

    def put(self, call: Call) -> None:
        self._calls.append(call)
        self.ahead += 1
        if self.ahead == 1:
            self._begin()

    def _begin(self) -> None:
        process = self._process
        seconds = process.world.chance.uniform(*_CALL) * process.slowness
        process.world.after(seconds, lambda: process.call_soon(self._happen))

    def _happen(self) -> None:
        events._set_running_loop(None)
        try:
            run(self._calls.popleft())
        finally:
            events._set_running_loop(self._process)
            self.ahead -= 1
            if self._calls:
                self._begin()


class SimulatedPool(Pool):
    """A pool; see the module's docstring. It stands for `engine.common.fragment_pool.FragmentPool` and for executors of
    the library.
    """

    def __init__(self, process: Process, threads: int) -> None:
        self._lanes = [_Lane(process) for _ in range(threads)]

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future, settling = with_future(partial(fn, *args, **kwargs))
        self.post(settling)
        return future

    def statistics(self) -> Mapping[str, int]:
        ahead = [lane.ahead for lane in self._lanes]
        return {"queued": sum(max(0, count - 1) for count in ahead), "running": sum(count > 0 for count in ahead)}

    def post(self, call: Call) -> None:
        min(self._lanes, key=lambda lane: lane.ahead).put(call)

    def close(self) -> None:
        """Do nothing: the world owns the threads."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do the same as `close`."""


class SimulatedOperations:
    """A pool of operation threads; see the module's docstring."""

    def __init__(self, process: Process, threads: int) -> None:
        self._lanes = [_Lane(process) for _ in range(threads)]

    @property
    def threads(self) -> int:
        return len(self._lanes)

    def submit(self, partition: int | None, call: Callable[[], T]) -> Future[T]:
        future, settling = with_future(call)
        self.post(partition, settling)
        return future

    def post(self, partition: int | None, call: Call) -> None:
        if partition is None:
            min(self._lanes, key=lambda lane: lane.ahead).put(call)
        else:
            self._lanes[partition % len(self._lanes)].put(call)

    def run_or_post(self, partition: int, call: Call) -> None:
        lane = self._lanes[partition % len(self._lanes)]
        if lane.ahead:
            lane.put(call)
        else:
            run(call)

    def statistics(self) -> Mapping[str, int]:
        return {"queued": sum(max(lane.ahead - 1, 0) for lane in self._lanes), "running": 0}

    def close(self) -> None:
        """Do nothing: the world owns the threads."""

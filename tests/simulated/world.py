"""Virtual time, and processes that live in it.

A `World` is a queue of events, ordered by time; the order of simultaneous events is random. A `Process` is one
operating system process as far as asyncio sees it: its own event loop, whose calls run in order, a turn at a time, as
asyncio's own loop does it. Between the turns of one process other processes have theirs. So a process can be

- paused (SIGSTOP): nothing of it runs, arriving bytes and timers wait, and its clock has moved when it continues;
- killed (SIGKILL): nothing of it runs ever again, no `finally` and no goodbye;
- slow: each of its turns takes longer;
- wrong about time: its clock has another origin and another speed.

Tasks of a killed process still exist as Python objects that hold cursors and files. `World.bury` runs them to their
ends at the end of the run, cancelled and without a network, where they have no effect.

Considered and rejected: one loop for all members (no pause, no kill, one clock); patching `time` and `socket` (whatever
a library does in its own way stays real).
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import zlib
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from simulated.network import Network
    from simulated.pools import SimulatedPool

_log = logging.getLogger(__name__)
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Event = Callable[[], object]
#: To the type checker every method of it is abstract; nobody calls those that are not here.
_Loop: Any = asyncio.AbstractEventLoop

#: The minimum and maximum duration of a turn of a process, in seconds.
_TURN: Final = (5e-6, 60e-6)
#: How many times the tasks of a dead process are cancelled, since some start others when they end, and how long they
#: may run each time.
_BURIALS: Final = 5
_BURIAL_SECONDS: Final = 5.0


class World:
    """The queue of events; see the module's docstring. chance: the only source of randomness. now: seconds since the
    beginning.
    """

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.now = 0.0
        self.events = 0
        self.digest = 0
        self.failures: list[str] = []
        self.trace: list[str] | None = None
        self._queue: list[tuple[float, float, int, Event]] = []
        self._numbers = itertools.count()

    def at(self, when: float, event: Event) -> None:
        """Schedule an event at a time that is not in the past."""
        heapq.heappush(self._queue, (max(when, self.now), self.chance.random(), next(self._numbers), event))

    def after(self, seconds: float, event: Event) -> None:
        self.at(self.now + seconds, event)

    def run(self, done: Callable[[], bool], until: float) -> bool:
        """Let time pass until `done()` holds, which is called after each event. Returns False if `until` came first, or
        no event is left.
        """
        while not done():
            if not self._queue or self._queue[0][0] > until:
                self.now = max(self.now, until)
                return False
            self.now, _, _, event = heapq.heappop(self._queue)
            self.events += 1
            event()
        return True

    def note(self, *words: object) -> None:
        """Record an event for readers of the trace and for the comparison of two runs."""
        line = " ".join(map(str, words))
        self.digest = zlib.crc32(b"%.9f %s" % (self.now, line.encode()), self.digest)
        if self.trace is not None:
            self.trace.append(f"{self.now * 1e3:12.3f}  {line}")

    def bury(self, processes: list[Process]) -> None:
        """Run what is left of these processes to its end, without a network."""
        for _ in range(_BURIALS):
            for process in processes:
                process.bury()
            if self.run(lambda: not any(process.tasks() for process in processes), self.now + _BURIAL_SECONDS):
                break
        for process in processes:
            process.end()


class Process(_Loop):  # type: ignore[misc]
    """A process; see the module's docstring. name: its host in the network. skew: by how many seconds its clock is
    ahead, and how many seconds it counts for one of the world's. slowness: by how much its turns are longer than
    others'.
    """

    def __init__(
        self,
        world: World,
        network: Network,
        name: str,
        *,
        skew: tuple[float, float] = (0.0, 1.0),
        slowness: float = 1.0,
    ) -> None:
        self.world = world
        self.name = name
        self.slowness = slowness
        self.state: Literal["running", "paused", "killed", "buried", "ended"] = "running"
        self.pool: SimulatedPool | None = None
        self._network = network
        self._ahead, self._rate = skew
        self._ready: deque[asyncio.Handle] = deque()
        self._turning = False
        self._busy_until = 0.0

    # -- what the world does with it -----------------------------------------------------------------------------

    def pause(self) -> None:
        self.state = "paused"

    def go_on(self) -> None:
        if self.state == "paused":
            self.state = "running"
            self._wake()

    def kill(self) -> None:
        self.state = "killed"

    def bury(self) -> None:
        """Cancel all tasks and let them run without any effect on others."""
        if self.state != "buried":
            self.state = "buried"
            self._turning = False
        for task in self.tasks():
            task.cancel()
        self._wake()

    def end(self) -> None:
        self.state = "ended"
        self._ready.clear()

    def tasks(self) -> list[asyncio.Task[Any]]:
        return [task for task in asyncio.all_tasks(self) if not task.done()]

    def do(self, call: Callable[[*Ts], T], *args: *Ts) -> T:
        """Run a call within the process, now."""
        events._set_running_loop(self)
        try:
            return call(*args)
        finally:
            events._set_running_loop(None)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin a task of the process."""
        return self.do(lambda: self.create_task(work))

    # -- turns ---------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        if not self._turning and self._ready and self.state in ("running", "buried"):
            self._turning = True
            self.world.at(self._busy_until, self._turn)

    def _turn(self) -> None:
        self._turning = False
        if self.state not in ("running", "buried"):
            return
        events._set_running_loop(self)
        try:
            for _ in range(len(self._ready)):
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            events._set_running_loop(None)
        self._busy_until = self.world.now + self.world.chance.uniform(*_TURN) * self.slowness
        self._wake()

    def _due(self, handle: asyncio.TimerHandle) -> None:
        if not handle.cancelled() and self.state != "ended":
            self._ready.append(handle)
            self._wake()

    # -- asyncio.AbstractEventLoop: time and calls ---------------------------------------------------------------

    def time(self) -> float:
        return self._ahead + self.world.now * self._rate

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if self.state != "ended":
            self._ready.append(handle)
            self._wake()
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self.world.at((when - self._ahead) / self._rate, lambda: self._due(handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Ignore asyncio's notice that a timer was cancelled: `_due` sees it."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, **kwargs)

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        pool = executor if executor is not None else self.pool
        assert pool is not None, "a process has a pool of its own"
        return asyncio.wrap_future(pool.submit(func, *args), loop=self)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self.state != "ended"

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Handle an uncaught exception: it is a fault of the member, unless its process was killed."""
        if self.state not in ("running", "paused"):
            return
        error = context.get("exception")
        words = f"{self.name}: {context.get('message')}: {error!r}"
        _log.error("%s", words, exc_info=error)
        self.world.failures.append(words)

    # -- asyncio.AbstractEventLoop: the network ------------------------------------------------------------------

    async def create_connection(
        self, protocol_factory: Callable[[], Any], host: str = "", port: int = 0, **_options: Any
    ) -> tuple[Any, Any]:
        return await self._network.connect(self, protocol_factory, host, port)

    async def create_server(
        self, protocol_factory: Callable[[], Any], host: str = "", port: int = 0, **_options: Any
    ) -> Any:
        return self._network.listen(self, protocol_factory, host, port)

    def remove_reader(self, _fd: Any) -> bool:
        """Do nothing: a listening socket has no reader, because the network hands its connections over."""
        return False

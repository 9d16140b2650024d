"""Processes that share a disk, one step at a time: of their threads one runs, until its next step; then a random one
continues.

A step lies before each change of the disk and around each transaction of the catalog database. So two publishers, a
commit and a VACUUM, a reader and a process that removes its files meet in all the orders that the seeds produce. A
process is killed between two steps: each of its threads receives `Died` at its step, and again at each later one. So
the changes of the disk that its `except` and `finally` clauses would still make are refused, because no code of a
killed process runs any more.

State that a process keeps only in memory is its own while it runs: its files that are being written
(`engine.storage.in_flight_files`).

Considered and rejected: coroutines (the code under test is not asynchronous, and suspends in the middle of it); real
processes with real kills (a thousand times the cost; the kernel would decide the order, and nothing could be replayed).
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from random import Random
from typing import Any, Final, Protocol

from engine.storage.in_flight_files import IN_FLIGHT_FILES, InFlightFiles


class Died(BaseException):
    """The process was killed."""


class Pending(Protocol):
    """Work that will complete: a future, or a task."""

    def done(self) -> bool: ...

    def add_done_callback(self, call: Callable[[Any], object], /) -> object: ...


class Process:
    """A process. name: the member's name, and the number of its start."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.underway = InFlightFiles()


class Actor:
    """A thread of a process. is_publisher: whether it publishes commits for as long as the process lives. error: the
    exception that its work has raised. asleep: whether it waits for something, and takes no step.
    """

    def __init__(self, process: Process, name: str, work: Callable[[], object]) -> None:
        self.process = process
        self.name = f"{process.name} {name}"
        self.is_publisher = name == "publisher"
        self.over = False
        self.asleep = False
        self.error: BaseException | None = None
        self._work = work
        # Each is held while there is nothing to wake up for. Plain locks: a semaphore of `threading` costs ten times as much.
        self._go, self._stopped = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._stopped.acquire()
        _run_on_thread(self._run)

    def resume(self) -> None:
        """Let it run to its next step, or to its end."""
        self._go.release()
        self._stopped.acquire()

    def rest(self) -> None:
        """Let other actors run. Called on the actor's own thread."""
        self._stopped.release()
        self._go.acquire()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if self.process.alive:
                self._work()
        except BaseException as error:  # noqa: BLE001 - whoever looks at the actor is told
            self.error = None if isinstance(error, Died) else error
        finally:
            self.over = True
            self._stopped.release()


class _Worker:
    """A thread that runs the work of one actor after the other: to start a thread for each took a tenth of a run."""

    def __init__(self) -> None:
        self._work: Callable[[], object] | None = None
        self._given = threading.Lock()
        self._given.acquire()
        threading.Thread(target=self._run, name="actors", daemon=True).start()

    def give(self, work: Callable[[], object]) -> None:
        self._work = work
        self._given.release()

    def _run(self) -> None:
        while True:
            self._given.acquire()
            work, self._work = self._work, None
            assert work is not None, "it was given"
            work()
            del work
            _IDLE.append(self)


#: Workers whose actors are over.
_IDLE: Final[list[_Worker]] = []


def _run_on_thread(work: Callable[[], object]) -> None:
    (_IDLE.pop() if _IDLE else _Worker()).give(work)


class Stage:
    """The scheduler of actors; see the module's docstring. chance: the only source of randomness. trace: the events,
    for people, if they are recorded.
    """

    def __init__(self, chance: Random, *, trace: bool = False) -> None:
        self.chance = chance
        self.steps = 0
        self.digest = 0
        self.trace: list[str] | None = [] if trace else None
        self.actors: list[Actor] = []
        #: The probability that the actor that has taken a step takes the next one, too. The higher, the longer others pause
        #: between two of their steps: some faults need one that does not move while another does all of its work.
        self.persistence = 0.0
        self._last: Actor | None = None
        self._at: Actor | None = None

    def start(self, process: Process, name: str, work: Callable[[], object]) -> Actor:
        actor = Actor(process, name, work)
        self.actors.append(actor)
        return actor

    def step(self, *words: object) -> None:
        """Announce the actor's next action; other actors may run first. Called on an actor's thread, elsewhere it does
        nothing. Raises Died.
        """
        actor = self._at
        if actor is None:
            return
        self.require_alive()
        self.note(actor.name, *words)
        actor.rest()
        self.require_alive()

    def sleep_until(self, pending: Pending, *words: object) -> None:
        """Wait until something is done. Called on an actor's thread. words: as of `step`. Raises Died."""
        actor = self._at
        assert actor is not None, "only actors wait"
        if pending.done():
            return
        actor.asleep = True
        pending.add_done_callback(lambda _: self.wake(actor))
        self.step(*words)

    def wake(self, actor: Actor) -> None:
        """Let a sleeping actor continue."""
        actor.asleep = False

    def require_alive(self) -> None:
        """Raise Died if the process of the running actor was killed."""
        if self._at is not None and not self._at.process.alive:
            raise Died

    @property
    def runs(self) -> Actor | None:
        """Return the running actor, or None."""
        return self._at

    def resume_one(self) -> Actor | None:
        """Let one actor continue. Returns it; None if none is left that can."""
        awake = [actor for actor in self.actors if not actor.asleep]
        if not awake:
            return None
        actor = self._last
        if actor not in awake or self.chance.random() >= self.persistence:
            actor = self._last = self.chance.choice(awake)
        assert actor is not None, "one of those that are awake"
        self.steps += 1
        self.resume(actor)
        return actor

    def kill(self, process: Process) -> None:
        """End a process and all its actors, now."""
        process.alive = False
        for actor in [actor for actor in self.actors if actor.process is process]:
            while not actor.over:
                self.resume(actor)

    def resume(self, actor: Actor) -> None:
        """Let this actor continue to its next step or its end."""
        self._at = actor
        try:
            self.within(actor.process, actor.resume)
        finally:
            self._at = None
        if actor.over:
            self.actors.remove(actor)

    def within(self, process: Process, call: Callable[[], object]) -> None:
        """Run a call with the in-memory state of that process."""
        before = IN_FLIGHT_FILES.__dict__
        IN_FLIGHT_FILES.__dict__ = process.underway.__dict__
        try:
            call()
        finally:
            IN_FLIGHT_FILES.__dict__ = before

    def note(self, *words: object) -> None:
        """Record an event for readers of the trace and for the comparison of two runs. It must not contain names that
        come from the clock or from chance.
        """
        line = " ".join(map(str, words))
        self.digest = zlib.crc32(line.encode(), self.digest)
        if self.trace is not None:
            self.trace.append(f"{self.steps:5} {line}")

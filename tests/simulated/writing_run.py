"""One run of a cluster whose members write: cursors over the simulated mesh and transactions over the simulated disk,
on one clock.

    outcome = WritingGround().run(seed)

The members are those of `simulated.run`: real membership, runtimes, streams and local engines. Each also opens the
catalog and the disk that all share (`simulated.shared_storage`), and has actors that work on the tables as in
`simulated.storage_run`: clients, a publisher, compaction and VACUUM. Clients read by distributed cursors
(`simulated.cursors`).

**One scheduler.** An actor is a thread that rests at each of its steps. Its continuation is an event of the world, as a
turn of a member's loop or the arrival of bytes is: some time after its last step, longer on a slow member, and not
while the member is paused. So steps of storage, messages, and reads of DuckDB interleave in any order, which the seed
decides. A member that is killed loses its loop, its connections and its actors at once.

**What goes wrong** is the union of both simulations: members are killed, leave, or are paused; connections are cut, the
network is slow or partitioned; the power of all members fails, and unsynced data are lost; the disk fails; more time
passes than any retention.

**What must hold**: a cursor that is read to its end returns exactly the rows of its snapshot and of its transaction's
own changes, whatever others commit or remove meanwhile, and otherwise a part of them (`simulated.verdict`); all of
`simulated.history`; nothing is held at the end; no acknowledged commit is lost.

Considered and rejected: actors in the place of loops (the mesh's timers need the time that a world has); SQL sessions
(they have thread pools and an event loop of their own below them, and no step to stop at).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

from engine.storage import disk
from simulated.clients import Manner, Question, put
from simulated.cursors import Cursors
from simulated.member import SimulatedMember
from simulated.quiet import quiet
from simulated.run import ANSWER, Outcome, Run
from simulated.scenario import scenario
from simulated.shared_storage import SharedStorage, StorageMember
from simulated.stage import Actor, Process, Stage
from simulated.storage_ground import Beginning, StorageGround, fixed_names
from simulated.versioned_tables import ASKED, EngineGround, VersionedTables
from simulated.world import World

#: Seconds from one step of an actor to the next; a publisher's; and until a member that is paused is looked at again.
_STEP: Final = (20e-6, 1e-3)
_PUBLISHER_STEP: Final = (1e-3, 2e-2)
_PAUSED: Final = 0.01
#: Seconds that the disk is bad.
_BAD: Final = (0.002, 0.02)
#: Within so many seconds the things happen that go wrong with storage.
_HORIZON: Final = 0.15
_REST: Final = 30.0
#: How often the clients of a member commit after each statement.
_BRIEF: Final = 0.25


class WorldStage(Stage):
    """A stage that records its notes in the world. go_on: schedules an actor's next step."""

    def __init__(self, world: World, go_on: Callable[[Actor], None]) -> None:
        super().__init__(world.chance)
        self._world = world
        self._go_on = go_on

    def start(self, process: Process, name: str, work: Callable[[], object]) -> Actor:
        actor = super().start(process, name, work)
        self._go_on(actor)
        return actor

    def wake(self, actor: Actor) -> None:
        super().wake(actor)
        self._go_on(actor)

    def note(self, *words: object) -> None:
        self._world.note(*words)


class WritingRun(Run):
    """A run in progress; see the module's docstring. first: the state that it begins with, whose folder is relative to
    the working folder, which is no part of the run.
    """

    def __init__(self, seed: int, first: Beginning, ground: EngineGround, *, trace: bool = False) -> None:
        chance = Random(f"{seed} writes")
        super().__init__(seed, ground, scenario(chance, may_be_large=False), trace=trace)
        self._manners = [manner for visit in self.plan.visits for _, manner in visit.asks]
        self._mishaps = _mishaps(chance)
        self.stage = WorldStage(self.world, self._go_on)
        self.storage = SharedStorage(self.stage, first)
        self._storages: dict[SimulatedMember, StorageMember] = {}
        #: The clients and the upkeep whose work is not over.
        self._busy: set[Actor] = set()
        self._members_of: dict[Process, SimulatedMember] = {}
        self._due = 0
        self._clients_come = False
        self._power_failed = False

    def outcome(self) -> Outcome:
        with quiet(), fixed_names(self.seed), disk.replace_disk(self.storage.disk):
            outcome = super().outcome()
        return replace(outcome, commits=self.storage.commits)

    def _in_order(self) -> Sequence[Callable[[], str | None]]:
        return self._meet, self._be_asked, self._end_work, self._come_to_rest, self._leave, self._look

    # -- phases --------------------------------------------------------------------------------------------------

    def _begin_clients(self) -> None:
        self._clients_come = True
        for member in self._living_members():
            self._begin_work(member)
        for when, happen in self._mishaps:
            self._due += 1
            self.world.after(when, partial(self._mishap, happen))

    def _wait_for_clients(self) -> str | None:
        over = self.world.run(lambda: not (self._busy or self._due or self._undoing), self.world.now + ANSWER)
        return None if over or not self._busy else f"{sorted(actor.name for actor in self._busy)} go on for ever"

    def _disturbs(self, manner: Manner) -> bool:
        return super()._disturbs(manner) or self._power_failed

    def _end_work(self) -> str | None:
        """End the disk's failures, and let publishers end. A member that had left and returns only now has no clients."""
        self._clients_come = False
        self.storage.heal()
        over = self.world.run(lambda: not self.stage.actors, self.world.now + _REST)
        return None if over else f"{[actor.name for actor in self.stage.actors]} do not end"

    def _look(self) -> str | None:
        """Check that all commits are published and survive a last power failure."""
        try:
            self.storage.require_unviolated()
            self.storage.publish_all()
            self.storage.fail_power()
            self.storage.require_whole(self._open_storage("reader", self._refuse))
        except Exception as error:  # noqa: BLE001 - whatever it is, the run has failed
            return f"{type(error).__name__}: {error}"
        return None

    # -- members -------------------------------------------------------------------------------------------------

    def _start(self, number: int) -> None:
        super()._start(number)
        member = self.members[number]
        storage = self._open_storage(f"{member.name}.{self._starts}", partial(self._ask, member))
        self._storages[member] = storage
        self._members_of[storage.process] = member
        if self._clients_come:
            self._begin_work(member)

    def _open_storage(self, name: str, ask: Callable[[Actor, VersionedTables], Callable[[], None]]) -> StorageMember:
        return self.storage.open(name, lambda shared: Cursors(shared, ask))

    def _end_of(self, number: int, *, host: bool) -> None:
        member = self.members[number]
        super()._end_of(number, host=host)
        self.storage.end(self._storages.pop(member))
        self._busy = {actor for actor in self._busy if not actor.over}

    def _begin_to_leave(self, number: int, member: SimulatedMember) -> None:
        """Let a member's clients end their transactions before the member leaves."""
        storage = self._storages.get(member)
        if storage is None:
            return
        storage.writers.closing = True
        if any(actor.process is storage.process for actor in self._busy):
            self.world.after(_PAUSED, partial(self._begin_to_leave, number, member))
        else:
            super()._begin_to_leave(number, member)

    def _bury(self) -> None:
        super()._bury()
        self.storage.end_all()

    # -- actors --------------------------------------------------------------------------------------------------

    def _begin_work(self, member: SimulatedMember) -> None:
        storage, chance = self._storages[member], self.world.chance
        process, writers = storage.process, storage.writers
        transactions = chance.choice((1, 2, 3))
        self.stage.start(process, "publisher", writers.publisher)
        self._busy.add(self.stage.start(process, "upkeep", partial(writers.upkeep, chance.choice((0, 1, 2)))))
        brief = chance.random() < _BRIEF
        for number in range(4 if brief else 2):
            work = partial(writers.client, transactions, brief=brief)
            self._busy.add(self.stage.start(process, f"client {number}", work))

    def _go_on(self, actor: Actor) -> None:
        """Schedule an actor's next step."""
        member = self._members_of[actor.process]
        seconds = self.world.chance.uniform(*(_PUBLISHER_STEP if actor.name.endswith("publisher") else _STEP))
        self.world.after(seconds * member.process.slowness, partial(self._step, member, actor))

    def _step(self, member: SimulatedMember, actor: Actor) -> None:
        if actor.over:
            return
        if member.process.state == "paused":
            self.world.after(_PAUSED, partial(self._step, member, actor))
            return
        self.stage.steps += 1
        self.stage.resume(actor)
        if actor.over:
            self._busy.discard(actor)
            if actor.error is not None:
                self.world.failures.append(f"{actor.name}: {type(actor.error).__name__}: {actor.error}")
        elif not actor.asleep:
            self._go_on(actor)

    def _ask(self, member: SimulatedMember, actor: Actor, source: VersionedTables) -> Callable[[], None]:
        """Open a cursor, on an actor's thread, while the world waits for it. Returns the function that waits for its
        end.
        """
        chance = self.world.chance
        asked, manner = chance.choice(ASKED), chance.choice(self._manners)
        question = Question(len(self.questions) + 1, asked, manner, member, source)
        self.questions.append(question)
        task = member.process.start(put(question, self.plan.topology, self._living_members))
        task.add_done_callback(partial(self._note_error, question))

        return partial(self.stage.sleep_until, task, "waits for its cursor")

    def _note_error(self, question: Question, task: asyncio.Task[None]) -> None:
        """Fail the run for an exception in a client's task."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.world.failures.append(f"{question.name}: {type(error).__name__}: {error}")

    @staticmethod
    def _refuse(_actor: Actor, _source: VersionedTables) -> Callable[[], None]:
        raise AssertionError("all clients have left")

    # -- what goes wrong with storage ----------------------------------------------------------------------------

    def _mishap(self, happen: str) -> None:
        self._due -= 1
        match happen:
            case "age":
                self.storage.age()
            case "bad disk":
                self.world.note("the disk is bad")
                self.storage.disk.bad = True
                self._due += 1
                self.world.after(self.world.chance.uniform(*_BAD), self._heal_disk)
            case _:
                self._fail_power()

    def _heal_disk(self) -> None:
        self._due -= 1
        self.world.note("the disk is well")
        self.storage.disk.bad = False

    def _fail_power(self) -> None:
        """Let all members lose their power, and start again."""
        self._power_failed = True
        for number in list(self.members):
            self._end_of(number, host=True)
        self.storage.fail_power()
        for number in range(self.plan.members):
            self._start(number)


def _mishaps(chance: Random) -> list[tuple[float, str]]:
    """Return the mishaps: when each happens, in seconds after the first client, and its kind."""
    kinds = ("age", "age", "bad disk", "power")
    return [(chance.uniform(0, _HORIZON), chance.choice(kinds)) for _ in range(chance.choice((0, 1, 1, 2, 3)))]


class WritingGround:
    """The environment that runs share: the tables with which each begins, and a DuckDB. Its owner closes it."""

    def __init__(self) -> None:
        self._storage = StorageGround()
        with contextlib.chdir(self._storage.folder):
            self._engine = EngineGround()

    def run(self, seed: int, *, trace: bool = False) -> Outcome:
        """Run a seed. trace: record the events, for people to read. The working folder is the ground's meanwhile."""
        with self._storage.run(seed) as first, contextlib.chdir(self._storage.folder):
            return WritingRun(seed, replace(first, folder=Path(str(seed))), self._engine, trace=trace).outcome()

    def close(self) -> None:
        self._engine.close()
        self._storage.close()

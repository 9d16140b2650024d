"""One run: a seed, from the first member's start to the last one's end.

    outcome = run(seed, lake)
    outcome.failure        # the violated invariant, or None
    outcome.digest         # of all messages and notes: equal for equal seeds

The same seed gives the same run, in any process: nothing in it depends on the real clock, on addresses of objects, or
on what other runs have left in a cache.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Final

from engine.exchange.listener import DataConnection
from simulated.clients import Manner, Question, put
from simulated.lake import Lake
from simulated.member import PORT, Ground, SimulatedMember
from simulated.network import Network
from simulated.quiet import quiet
from simulated.scenario import SLOWNESS, Fault, Scenario, Visit, name_of, scenario
from simulated.verdict import judge, left_over, strangers, too_many_cancels
from simulated.world import World
from wire.dataclass import dataclass

#: The maximum duration of each phase, in virtual seconds.
_MEET: Final = 30.0
ANSWER: Final = 120.0
_REST: Final = 60.0
_LEAVE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run.

    failure: the violated invariant.
    seconds: of virtual time.
    states: the states of the questions.
    commits: the number of the clients' commits.
    """

    seed: int
    failure: str | None
    digest: int
    seconds: float
    events: int
    members: int
    states: tuple[str, ...]
    trace: tuple[str, ...]
    commits: int = 0


def run(seed: int, lake: Lake, *, trace: bool = False) -> Outcome:
    """Run one seed. trace: record the events, for people to read."""
    with quiet():
        return LakeRun(seed, lake, trace=trace).outcome()


class Run(ABC):
    """A run in progress. ground: the files and database of its members. plan: the scenario."""

    def __init__(self, seed: int, ground: Ground, plan: Scenario, *, trace: bool = False) -> None:
        self.seed = seed
        self.ground = ground
        self.plan = plan
        self.world = World(seed)
        if trace:
            self.world.trace = []
        self.network = Network(self.world, self.plan.latency)
        self.members: dict[int, SimulatedMember] = {}
        self.dead: list[SimulatedMember] = []
        self.questions: list[Question] = []
        self._starts = 0
        self._undoing = 0

    def outcome(self) -> Outcome:
        failure = self._phases()
        world = self.world
        self._bury()
        states = tuple(question.state for question in self.questions)
        return Outcome(
            self.seed,
            failure,
            world.digest,
            world.now,
            world.events,
            self.plan.members,
            states,
            tuple(world.trace or ()),
        )

    def _phases(self) -> str | None:
        for phase in self._in_order():
            failure = phase() or (self.world.failures[0] if self.world.failures else None)
            if failure is not None:
                return f"{phase.__name__[1:].replace('_', ' ')}: {failure}"
        return None

    # -- phases --------------------------------------------------------------------------------------------------

    def _in_order(self) -> Sequence[Callable[[], str | None]]:
        """The phases of the run: each returns a violated invariant, or None."""
        return self._meet, self._be_asked, self._come_to_rest, self._leave

    @abstractmethod
    def _begin_clients(self) -> None:
        """Start the clients."""

    @abstractmethod
    def _wait_for_clients(self) -> str | None:
        """Let time pass until the work of all clients and every fault is over. Returns the name of a client that does
        not end, or None.
        """

    def _meet(self) -> str | None:
        for number, when in enumerate(self.plan.starts):
            self.world.at(when, partial(self._start, number))
        count = self.plan.members
        self.world.run(lambda: len(self.members) == count, _MEET)
        if self.plan.early:
            return None
        return self._until(lambda: strangers(self._living_members()), _MEET)

    def _be_asked(self) -> str | None:
        self._begin_clients()
        for fault in self.plan.faults:
            self._undoing += 1
            self.world.after(fault.when, partial(self._begin, fault))
        if wrong := self._wait_for_clients():
            return wrong
        linked = self.plan.topology is not None
        everybody = [*self.members.values(), *self.dead]
        troubled = frozenset[str]().union(*(member.tasks.troubled for member in everybody))
        for question in self.questions:
            disturbed = self._disturbs(question.manner)
            if wrong := judge(question, disturbed=disturbed, linked=linked, troubled=troubled):
                return wrong
        return too_many_cancels(everybody)

    def _disturbs(self, manner: Manner) -> bool:
        """Return whether anything happens for which a query that is run in this manner may fail."""
        return self.plan.disturbs(manner) or self.plan.early

    def _come_to_rest(self) -> str | None:
        return self._until(
            lambda: self._unfinished_leaver() or left_over(self._living_members()) or strangers(self._living_members()),
            _REST,
        )

    def _unfinished_leaver(self) -> str | None:
        """Return the name of a member that was told to shut down and has not ended, or None."""
        return next((f"{member.name} has not left" for member in self._living_members() if member.leaving), None)

    def _leave(self) -> str | None:
        leaving = [(member, member.process.start(member.leave())) for member in self._living_members()]
        if not self.world.run(lambda: all(task.done() for _, task in leaving), self.world.now + _LEAVE):
            return f"{', '.join(m.name for m, task in leaving if not task.done())} cannot end"
        for member, task in leaving:
            if (error := task.exception()) is not None:
                return f"{member.name} could not end: {error!r}"
        self.world.run(lambda: not any(m.process.tasks() for m, _ in leaving), self.world.now + 1)
        for member, _ in leaving:
            if tasks := member.process.tasks():
                return f"{member.name} has left {tasks}"
        return None

    def _until(self, wrong: Callable[[], str | None], seconds: float) -> str | None:
        """Let time pass until `wrong` returns None, for at most `seconds`. Returns its last result."""
        deadline, step = self.world.now + seconds, 0.005
        while (failure := wrong()) is not None:
            if self.world.now >= deadline:
                return failure
            self.world.run(lambda: False, min(self.world.now + step, deadline))
            step = min(step * 2, 0.5)
        return None

    # -- members -------------------------------------------------------------------------------------------------

    def _living_members(self) -> list[SimulatedMember]:
        return [self.members[number] for number in sorted(self.members)]

    def _start(self, number: int) -> None:
        self._starts += 1
        self.network.light(name_of(number))
        seeds = tuple(f"{name_of(other)}:{PORT}" for other in range(min(self.plan.members, 3)) if other != number)
        member = SimulatedMember(self.world, self.network, self.ground, name_of(number), self._starts, seeds)
        self.members[number] = member
        self.world.note(member.name, "starts")
        member.process.start(member.start())

    def _end_of(self, number: int, *, host: bool) -> None:
        member = self.members.pop(number)
        member.process.kill()
        self.network.kill(member.process, host=host)
        self.dead.append(member)

    def _bury(self) -> None:
        """End whatever is left; cursors return to their database."""
        for number in list(self.members):
            self._end_of(number, host=False)
        self.world.trace, kept = None, self.world.trace
        digest = self.world.digest
        self.world.bury([member.process for member in self.dead])
        self.world.trace, self.world.digest = kept, digest

    # -- faults --------------------------------------------------------------------------------------------------

    def _begin(self, fault: Fault) -> None:
        """Cause a fault, if it is still possible, and schedule its undoing."""
        one, other = name_of(fault.member), name_of(fault.other)
        undo = self._do(fault, one, other)
        if undo is None:
            self._undoing -= 1
            return
        self.world.note("fault:", fault.kind, one, other, fault.lasts)
        if fault.lasts is None:
            self._undoing -= 1
        else:
            self.world.after(fault.lasts, partial(self._undo, fault, undo))

    def _undo(self, fault: Fault, undo: Callable[[], object]) -> None:
        self.world.note("over:", fault.kind, name_of(fault.member))
        undo()
        self._undoing -= 1

    def _do(self, fault: Fault, one: str, other: str) -> Callable[[], object] | None:
        """Cause a fault. Returns the function that undoes it, or None if the fault is no longer possible."""
        network, member = self.network, self.members.get(fault.member)
        match fault.kind:
            case "cut":
                network.cut(one, other)
                return _nothing
            case "cut one":
                return _nothing if network.cut_one() else None
            case "fragile":
                network.fragile = DataConnection
                return partial(setattr, network, "fragile", None)
            case "part":
                network.part([one], [name_of(number) for number in range(self.plan.members) if name_of(number) != one])
                return network.heal
            case "slow":
                network.slow[one] = SLOWNESS
                return partial(network.slow.pop, one, None)
        if member is None or member.leaving:
            return None
        match fault.kind:
            case "pause":
                member.process.pause()
                return member.process.go_on
            case "full":
                member.spooler.full = True
                return partial(setattr, member.spooler, "full", False)
            case "leave":
                member.leaving = True
                self._begin_to_leave(fault.member, member)
            case _:
                self._end_of(fault.member, host=fault.kind == "power")
        return partial(self._come_again, fault.member)

    def _begin_to_leave(self, number: int, member: SimulatedMember) -> None:
        member.process.start(self._left(number, member))

    async def _left(self, number: int, member: SimulatedMember) -> None:
        await member.leave()
        if self.members.get(number) is member:
            self.world.at(self.world.now, partial(self._end_of, number, host=False))

    def _come_again(self, number: int) -> None:
        if number not in self.members:
            self._start(number)
        elif self.members[number].leaving:
            self.world.after(0.1, partial(self._come_again, number))


class LakeRun(Run):
    """A run whose tables never change: clients visit members and run statements, each as the scenario says."""

    def __init__(self, seed: int, lake: Lake, *, trace: bool = False) -> None:
        super().__init__(seed, lake, scenario(Random(seed)), trace=trace)
        self.lake = lake
        self._due = 0
        self._visits: list[tuple[SimulatedMember, asyncio.Task[None]]] = []

    def _begin_clients(self) -> None:
        for visit in self.plan.visits:
            self._due += 1
            self.world.after(visit.when, partial(self._visit, visit))

    def _wait_for_clients(self) -> str | None:
        self.world.run(self._all_is_asked, self.world.now + ANSWER)
        return None

    def _visit(self, visit: Visit) -> None:
        self._due -= 1
        member = self.members.get(visit.member)
        if member is not None and not member.leaving:
            self._visits.append((member, member.process.start(self._ask(visit, member))))

    def _all_is_asked(self) -> bool:
        """Return whether every fault is over and the work of every client: it is done, or its member has ended."""
        if self._due or self._undoing:
            return False
        visits = self._visits
        while visits and (visits[-1][1].done() or visits[-1][0].process.state not in ("running", "paused")):
            visits.pop()
        return not visits

    async def _ask(self, visit: Visit, member: SimulatedMember) -> None:
        for asked, manner in visit.asks:
            question = Question(len(self.questions) + 1, asked, manner, member, self.lake)
            self.questions.append(question)
            await put(question, self.plan.topology, self._living_members)


def _nothing() -> None:
    """Do nothing, because there is nothing to undo."""

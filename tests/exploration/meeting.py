"""A world of members that discover each other: control connections that both ends dial, that break, that outlive a
member or that arrive too late.

`links.Links` is the product's; the world adds the network. A connection exists for the member that dialled it before
the other process has accepted it. Bytes arrive in order, after any delay. If an end closes a connection in good order,
its bytes are delivered; if the connection breaks, the last bytes may be lost. When a process ends, its connections
break. A machine that is switched off sends nothing, and nothing on it refuses a connection either.

Invariants of each state: no member is considered lost to which nothing happened; and the assertions of `Links` about
messages. Invariants of the end, when only time passes and has passed for long enough: each pair of live members has one
connection, both use the same one and know each other's incarnation, no other connection is held, and no member
considers an ended one to be up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from chart import arrow, event
from explorer import Step, Violation
from learned import Learned
from links import JUMP_SECONDS, Accepted, Dialled, Effect, Ended, GivenUp, Links, LinksView, LostSight, Sent

from wire.mesh.control_messages import Identity, Members, decode
from wire.mesh.framing import PREFACE, FrameReader

#: kill: a member's process ends. off: its machine is switched off. restart: an ended process starts again at its
#: address; move: at another one. part: a connection breaks. say: a member sends a message to another. late: time passes
#: while something is in flight. leave: a member sends a goodbye.
Incident = Literal["kill", "off", "restart", "move", "part", "say", "late", "leave"]
INCIDENTS: Final[tuple[Incident, ...]] = ("kill", "off", "restart", "move", "part", "say", "late", "leave")
#: The number of clock jumps, when nothing else can happen, after which everything must be in order: longer than a
#: silence and the longest pause.
_JUMPS: Final = 9
#: The end of a connection, after which nothing arrives: closed in good order, or broken.
_CLOSED: Final = b"closed"
_BROKEN: Final = b"broken"


@dataclass(frozen=True, slots=True)
class Meeting:
    """The configuration of a world. seeds: for each member, the one that it dials first. incidents: how often each may
    happen.
    """

    name: str
    seeds: Mapping[str, str]
    incidents: Mapping[Incident, int] = field(default_factory=dict)


class Process(NamedTuple):
    """A member's process. links: the number of its machine, -1 when it has ended. off: whether its host is switched off
    too.
    """

    links: int
    incarnation: int = 1
    address: str = ""
    off: bool = False


class Attempt(NamedTuple):
    """A dial in progress. unwanted: whether it was given up; it may succeed nevertheless."""

    process: int
    number: int
    address: str
    unwanted: bool = False


class End(NamedTuple):
    """An end of a connection. number: its number at its member, -1 when it is closed or not yet open. arriving: the
    bytes in flight to it.
    """

    process: int
    incarnation: int
    number: int
    arriving: tuple[bytes, ...] = ()


class Wire(NamedTuple):
    """A connection. ends: the dialling one, the accepting one. accepted: whether the other process has accepted it yet."""

    ends: tuple[End, End]
    accepted: bool = False


class State(NamedTuple):
    """A state of the world.

    left: the incidents that may still happen.
    jumps: the number of jumps of the clock while nothing else could happen.
    calm: whether no incident has happened yet.
    """

    processes: tuple[Process, ...]
    attempts: tuple[Attempt, ...]
    wires: tuple[Wire, ...]
    left: tuple[int, ...]
    now: float = 0.0
    jumps: int = 0
    calm: bool = True


class MeetingWorld:
    """The world of members that discover each other; an `explorer.Explorable`. See the module's docstring."""

    def __init__(self, meeting: Meeting) -> None:
        self.meeting = meeting
        self.names = tuple(meeting.seeds)
        self.links: Learned[Links] = Learned()

    @property
    def name(self) -> str:
        return self.meeting.name

    @property
    def learned(self) -> int:
        return self.links.known

    def identity(self, process: int, incarnation: int, address: str) -> Identity:
        return Identity(self.names[process], str(incarnation), address, "client:1", "data", "0")

    def machine(self, process: int, incarnation: int, address: str) -> int:
        seeds = tuple(_address(name) for name in self.meeting.seeds[self.names[process]])
        return self.links.number(Links(self.identity(process, incarnation, address), seeds))

    def first(self) -> State:
        left = tuple(self.meeting.incidents.get(kind, 0) for kind in INCIDENTS)
        draft = Draft(self, State((Process(-1),) * len(self.names), (), (), left))
        for process, name in enumerate(self.names):
            draft.begin(process, 1, _address(name))
        return draft.done()

    def after(self, state: State, step: Step) -> State:
        draft = Draft(self, state)
        getattr(draft, f"do_{step[0]}")(*step[1:])
        return draft.done()

    # -- what may happen ----------------------------------------------------------------------------------------

    def steps(self, state: State) -> list[Step]:
        found = list(self._course(state))
        if not found and (left_over := self._left_over(state)):
            if state.jumps >= _JUMPS:
                raise Violation(left_over)
            found.append(("jump",))
        return [*found, *self._incidents(state, bool(found))]

    def _course(self, state: State) -> Iterator[Step]:
        for number, attempt in enumerate(state.attempts):
            there = _at(state, attempt.address)
            if attempt.unwanted:
                yield ("vanish", number)
            if there is not None and state.processes[there].links >= 0:
                yield ("connect", number)
            elif not attempt.unwanted and (there is None or not state.processes[there].off):
                yield ("refuse", number)
        for number, wire in enumerate(state.wires):
            if waiting(wire, state.processes):
                yield ("accept", number)
            for side, end in enumerate(wire.ends):
                if end.number >= 0 and end.arriving:
                    yield ("deliver", number, side)
                    if end.arriving[-1] == _BROKEN and len(end.arriving) > 1:
                        yield ("lose", number, side)

    def _incidents(self, state: State, under_way: bool) -> Iterator[Step]:
        left = dict(zip(INCIDENTS, state.left, strict=True))
        for process, it in enumerate(state.processes):
            if it.links >= 0:
                yield from ((kind, process) for kind in ("kill", "off", "leave") if left[kind])
                if left["say"]:
                    yield from (("say", process, name) for name in self.view(it).open)
            else:
                yield from ((kind, process) for kind in ("restart", "move") if left[kind])
        if left["part"]:
            for number, wire in enumerate(state.wires):
                if wire.accepted and all(end.number >= 0 and not _over(end) for end in wire.ends):
                    yield ("part", number)
        if left["late"] and under_way:
            yield ("late",)

    def view(self, process: Process) -> LinksView:
        found: LinksView = self.links.observed(process.links)
        return found

    # -- what must hold ------------------------------------------------------------------------------------------

    def _left_over(self, state: State) -> str | None:
        """Return what is wrong in a state in which nothing more happens, or None."""
        for process, it in enumerate(state.processes):
            if it.links < 0:
                continue
            view = self.view(it)
            for other, that in enumerate(state.processes):
                if other != process and (wrong := self._not_settled(state, (process, other), view, that)):
                    return f"{self.names[process]} {wrong}"
            if len(view.ends) != len(view.open):
                return f"{self.names[process]} holds {len(view.ends)} connections for {len(view.open)} members"
        return None

    def _not_settled(self, state: State, pair: tuple[int, int], view: LinksView, that: Process) -> str | None:
        one, other = pair
        name = self.names[other]
        if that.links < 0:
            return f"believes in {name}, which is gone" if name in view.open else None
        if view.states.get(name) != ("up", str(that.incarnation)):
            return f"has {name} as {view.states.get(name)}, which is up in incarnation {that.incarnation}"
        mine = (one, view.open[name])
        theirs = (other, self.view(that).open.get(self.names[one], -1))
        between = [{(end.process, end.number) for end in wire.ends} for wire in state.wires]
        if {mine, theirs} not in between:
            return f"and {name} do not believe in the same connection"
        return None

    # -- told ----------------------------------------------------------------------------------------------------

    def charted(self, way: Sequence[Step]) -> str:
        state = self.first()
        lines = ["".join(f"{name:<34}" for name in self.names)]
        for number, step in enumerate(way):
            lines.append(self._line(state, step))
            if number < len(way) - 1:
                state = self.after(state, step)
        return "\n".join(lines)

    def _line(self, state: State, step: Step) -> str:
        kind, *arguments = step
        match kind:
            case "deliver" | "lose":
                wire, side = arguments
                to, other = state.wires[wire].ends[side], state.wires[wire].ends[1 - side]
                what = f"{wire}: {_told(to.arriving[0]) if kind == 'deliver' else 'breaks, and all is lost'}"
                return arrow(self, other.process, to.process, what)
            case "connect" | "refuse" | "vanish":
                attempt = state.attempts[arguments[0]]
                return event(self, attempt.process, f"{kind}: {attempt.address}, as {len(state.wires)}")
            case "accept":
                return event(self, state.wires[arguments[0]].ends[1].process, f"accept {arguments[0]}")
            case "part":
                return f"  x x x  connection {arguments[0]} breaks  x x x"
            case "late" | "jump":
                return f"  . . .  {JUMP_SECONDS:g} s go by"
        return event(self, arguments[0], " ".join(map(str, (kind, *arguments[1:]))))


class Draft:
    """A state that is being changed into the next one."""

    def __init__(self, world: MeetingWorld, state: State) -> None:
        self._world = world
        self._state = state
        self._processes = list(state.processes)
        self._attempts = list(state.attempts)
        self._wires = list(state.wires)
        self._left = state.left
        self._now = state.now
        self._jumps = state.jumps
        self._calm = state.calm

    def done(self) -> State:
        # Those that neither end has, and nobody will come to have, are forgotten.
        wires = tuple(w for w in self._wires if any(end.number >= 0 for end in w.ends) or waiting(w, self._processes))
        return State(
            tuple(self._processes), tuple(sorted(self._attempts)), wires, self._left, self._now, self._jumps, self._calm
        )

    def begin(self, process: int, incarnation: int, address: str) -> None:
        machine = self._world.machine(process, incarnation, address)
        self._processes[process] = Process(machine, incarnation, address)
        self._tell(process, "start")

    # -- by themselves -------------------------------------------------------------------------------------------

    def do_connect(self, number: int) -> None:
        attempt = self._attempts.pop(number)
        there = _at(self._state, attempt.address)
        assert there is not None
        ends = (
            End(attempt.process, self._processes[attempt.process].incarnation, attempt.number),
            End(there, self._processes[there].incarnation, -1),
        )
        self._wires.append(Wire(ends))
        self._tell(attempt.process, "connect", attempt.number)

    def do_refuse(self, number: int) -> None:
        attempt = self._attempts.pop(number)
        self._tell(attempt.process, "refuse", attempt.number)

    def do_vanish(self, number: int) -> None:
        del self._attempts[number]

    def do_accept(self, number: int) -> None:
        wire = self._wires[number]
        self._wires[number] = wire._replace(accepted=True)
        self._tell(wire.ends[1].process, "accept", accepted=number)

    def do_deliver(self, number: int, side: int) -> None:
        end = self._wires[number].ends[side]
        data, *rest = end.arriving
        self._put(number, side, end._replace(arriving=tuple(rest)))
        if data in (_CLOSED, _BROKEN):
            self._put(number, side, end._replace(number=-1, arriving=()))
            self._tell(end.process, "gone", end.number)
        else:
            self._tell(end.process, "hear", end.number, data)

    def do_lose(self, number: int, side: int) -> None:
        end = self._wires[number].ends[side]
        self._put(number, side, end._replace(arriving=(_BROKEN,)))

    def do_jump(self) -> None:
        self._jumps += 1
        self._pass_time()

    # -- incidents -----------------------------------------------------------------------------------------------

    def do_kill(self, process: int) -> None:
        self._spend("kill")
        self._gone(process, off=False)

    def do_off(self, process: int) -> None:
        self._spend("off")
        self._gone(process, off=True)

    def do_leave(self, process: int) -> None:
        self._spend("leave")
        self._tell(process, "leave")
        self._gone(process, off=False)

    def do_restart(self, process: int) -> None:
        self._spend("restart")
        it = self._processes[process]
        # Its kernel knows nothing of the connections that it had, and says so to who writes on them.
        self._break_all(process)
        self.begin(process, it.incarnation + 1, it.address)

    def do_move(self, process: int) -> None:
        self._spend("move")
        incarnation = self._processes[process].incarnation + 1
        self.begin(process, incarnation, f"{self._world.names[process]}{incarnation}:1")

    def do_part(self, number: int) -> None:
        self._spend("part")
        for side, end in enumerate(self._wires[number].ends):
            self._put(number, side, end._replace(arriving=(*end.arriving, _BROKEN)))

    def do_say(self, process: int, member: str) -> None:
        self._spend("say", calm=self._calm)
        self._tell(process, "say", member)

    def do_late(self) -> None:
        self._spend("late")
        self._pass_time()

    # -- what comes of it ----------------------------------------------------------------------------------------

    def _spend(self, kind: Incident, *, calm: bool = False) -> None:
        place = INCIDENTS.index(kind)
        self._left = (*self._left[:place], self._left[place] - 1, *self._left[place + 1 :])
        self._calm = calm

    def _pass_time(self) -> None:
        self._now += JUMP_SECONDS
        for process, it in enumerate(self._processes):
            if it.links >= 0:
                self._tell(process, "tick")

    def _gone(self, process: int, *, off: bool) -> None:
        if not off:
            self._break_all(process)
        for number, wire in enumerate(self._wires):
            for side, end in enumerate(wire.ends):
                if end.process == process:
                    self._put(number, side, end._replace(number=-1, arriving=()))
        self._attempts = [attempt for attempt in self._attempts if attempt.process != process]
        self._processes[process] = self._processes[process]._replace(links=-1, off=off)

    def _break_all(self, process: int) -> None:
        """Break the connections of a process; the other ends notice it at any later time."""
        for number, wire in enumerate(self._wires):
            for side, end in enumerate(wire.ends):
                other = wire.ends[1 - side]
                if other.process == process and end.number >= 0 and not _over(end):
                    self._put(number, side, end._replace(arriving=(*end.arriving, _BROKEN)))

    def _tell(self, process: int, name: str, *arguments: Any, accepted: int = -1) -> None:
        it = self._processes[process]
        links, effects = self._world.links.step(it.links, name, self._now, *arguments)
        self._processes[process] = it._replace(links=links)
        for effect in effects:
            self._perform(process, effect, accepted)

    def _perform(self, process: int, effect: Effect, accepted: int) -> None:
        match effect:
            case Dialled(number, address):
                self._attempts.append(Attempt(process, number, address))
            case GivenUp(number):
                self._attempts = [
                    a._replace(unwanted=True) if (a.process, a.number) == (process, number) else a
                    for a in self._attempts
                ]
            case Accepted(number):
                self._put(accepted, 1, self._wires[accepted].ends[1]._replace(number=number))
            case Sent(number, data):
                self._send(process, number, data)
            case Ended(number, aborted):
                self._send(process, number, _BROKEN if aborted else _CLOSED)
                wire, side = self._end_of(process, number)
                self._put(wire, side, self._wires[wire].ends[side]._replace(number=-1, arriving=()))
            case LostSight(member):
                if self._calm:
                    raise Violation(f"{self._world.names[process]} takes {member} for lost, and nothing has happened")

    def _send(self, process: int, number: int, data: bytes) -> None:
        wire, side = self._end_of(process, number)
        other = self._wires[wire].ends[1 - side]
        alive = other.number >= 0 or not self._wires[wire].accepted
        if alive and self._processes[other.process].incarnation == other.incarnation and not _over(other):
            self._put(wire, 1 - side, other._replace(arriving=(*other.arriving, data)))

    def _end_of(self, process: int, number: int) -> tuple[int, int]:
        incarnation = self._processes[process].incarnation
        for place, wire in enumerate(self._wires):
            for side, end in enumerate(wire.ends):
                if (end.process, end.incarnation, end.number) == (process, incarnation, number):
                    return place, side
        raise AssertionError(f"{self._world.names[process]} speaks on a connection that it has not")

    def _put(self, number: int, side: int, end: End) -> None:
        wire = self._wires[number]
        ends = (end, wire.ends[1]) if side == 0 else (wire.ends[0], end)
        self._wires[number] = wire._replace(ends=ends)


def _address(name: str) -> str:
    return f"{name}:1"


def _at(state: State, address: str) -> int | None:
    """Return the process, alive or not, that has the address."""
    return next((n for n, process in enumerate(state.processes) if process.address == address), None)


def waiting(wire: Wire, processes: Sequence[Process]) -> bool:
    """Return whether the connection exists and the other process only has to accept it. The process that dialled it may
    have ended.
    """
    called = processes[wire.ends[1].process]
    return not wire.accepted and called.links >= 0 and called.incarnation == wire.ends[1].incarnation


def _over(end: End) -> bool:
    return bool(end.arriving) and end.arriving[-1] in (_CLOSED, _BROKEN)


def _told(data: bytes) -> str:
    if data in (_CLOSED, _BROKEN):
        return data.decode()
    reader = FrameReader(preface=data.startswith(PREFACE))
    messages = [decode(item.kind, item.header) for item in reader.feed(data)]
    return " ".join(
        f"Members({', '.join(i.member for i in m.members)})" if isinstance(m, Members) else type(m).__name__
        for m in messages
    )

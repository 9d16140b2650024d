"""A member's links to the others, as a part of a world (`learned.Part`): the product's `MeshLink` with the membership
machine, and its `ControlConnection`s with their channels.

Only the network is left out: dials are recorded (`Dialled`), and so are the calls to a transport. The bytes on a
connection are those that a channel produced, the handshake's proofs included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple, cast

from learned import Event, readers_memory
from parts import STANDSTILL
from transport import Transport

from server.cluster.control_connection import ControlConnection
from server.cluster.membership import Timing
from server.cluster.membership_actions import Action, Dial
from server.cluster.mesh_link import LinkOptions, MeshLink
from wire.mesh.control_messages import Check, ControlMessage, Identity

#: A jump of the clock is half of the time that a member may be silent, so that no member takes a jump for its own
#: pause.
TIMING: Final = Timing(heartbeat=1.0, failure_after=5.0, forget_after=600.0)
JUMP_SECONDS: Final = TIMING.failure_after / 2


@dataclass(frozen=True, slots=True)
class Dialled:
    number: int
    address: str


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The effect that a dial attempt is no longer wanted."""

    number: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """The effect that a connection was accepted, under this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Sent:
    number: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """The effect that this end of a connection is closed. aborted: whether bytes that it had sent may be lost."""

    number: int
    aborted: bool


@dataclass(frozen=True, slots=True)
class LostSight:
    """The effect that the handler of messages is told that messages to and from that member are lost."""

    member: str


Effect = Dialled | GivenUp | Accepted | Sent | Ended | LostSight


class LinksView(NamedTuple):
    """The observable state of the links.

    open: the number of the link through which each member can be reached.
    states: the state that each member is believed to be in, and of which incarnation.
    ends: the numbers of the connections that are held.
    attempts: the dials in progress.
    """

    open: Mapping[str, int]
    states: Mapping[str, tuple[str, str]]
    ends: frozenset[int]
    attempts: int


class _Steady(Random):
    """A source of randomness that makes pauses as long as they may be."""

    def uniform(self, _least: float, most: float) -> float:
        return most


class _Attempt:
    """A stand-in for the task that dials."""

    def __init__(self, links: Links, number: int) -> None:
        self._links = links
        self._number = number

    def cancel(self) -> None:
        self._links.attempt_ended(self._number, "given up")
        self._links.did(GivenUp(self._number))


class _Link(MeshLink):
    """A link that records its dials."""

    links: Links

    def _do(self, action: Action) -> None:
        match action:
            case Dial(number, address):
                self._dials.tasks[number] = cast("asyncio.Task[None]", _Attempt(self.links, number))
                self.links.did(Dialled(number, address))
            case _:
                super()._do(action)


class Links:
    """The links of one member; see the module's docstring. Events: a name, the time, its arguments. Outcome: effects.

    It asserts what a handler of messages is promised. The messages of a member arrive in the order in which the member
    sent them, each at most once, and none from an incarnation other than the current one. The loss is reported between
    the messages of two incarnations, and whenever a connection ends through which a member could be reached.
    """

    def __init__(self, me: Identity, seeds: tuple[str, ...]) -> None:
        options = LinkOptions("explored", b"secret", seeds, TIMING, None, _Steady())
        self.link = _Link(me, options, _no_load, _whole)
        self.link.links = self
        self.link.listen(self._acted, self._lost)
        self.ends: dict[int, ControlConnection] = {}
        self._me = me
        self._now = 0.0
        self._said = 0
        self._heard: dict[str, tuple[str, int]] = {}
        self._effects: list[Effect] = []
        self._broken: list[int] = []

    # -- learned.Part --------------------------------------------------------------------------------------------

    def take(self, event: Event) -> Hashable:
        name, now, *arguments = event
        self._now = STANDSTILL.now = cast("float", now)
        before = self.observed().open
        getattr(self, f"_{name}")(*arguments)
        while self._broken:
            # The loop says so soon after a connection was closed here.
            self._gone(self._broken.pop(0))
        self._check()
        effects, self._effects = tuple(self._effects), []
        if name != "leave":
            after = self.observed().open
            for member, number in before.items():
                assert after.get(member) == number or LostSight(member) in effects, (
                    f"nobody is told that {member} is lost"
                )
        return effects

    def shared(self) -> Iterable[object]:
        return (STANDSTILL, self.link._options)

    def spent(self) -> Iterable[object]:
        readers = (connection._channel._reader for connection in self.ends.values())
        return (*self.shared(), self.link._gone, *readers_memory(*readers))

    def observed(self) -> LinksView:
        membership = self.link._membership
        others = [info for info in membership.members(self._now) if not info.local]
        opened = {info.id: number for info in others if (number := membership.known.link_to(info.id)) is not None}
        states = {info.id: (info.state, info.incarnation) for info in others}
        return LinksView(opened, states, frozenset(self.ends), len(self.link._dials.tasks))

    # -- events --------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self.link.start(self._me)

    def _tick(self) -> None:
        self.link._tick()

    def _accept(self) -> None:
        connection = self.link.accept()
        assert connection is not None, "there are not so many"
        self.did(Accepted(connection.number))
        self._made(connection)

    def _connect(self, number: int) -> None:
        # What was given up may have been made already.
        self.link._dials.tasks.pop(number, None)
        self._made(self.link._connection(number, dialled=True))

    def _refuse(self, number: int) -> None:
        self.attempt_ended(number, "Connection refused")

    def _hear(self, number: int, data: bytes) -> None:
        connection = self.ends[number]
        connection.get_buffer(-1)[: len(data)] = data
        connection.buffer_updated(len(data))

    def _gone(self, number: int) -> None:
        self.ends.pop(number).connection_lost(None)

    def _say(self, member: str) -> None:
        """Send a message that only this incarnation sends."""
        self._said += 1
        self.link.send(member, Check((f"{self._me.incarnation}:{self._said}",)))

    def _leave(self) -> None:
        self.link._perform(self.link._membership.leave())

    # -- what it does --------------------------------------------------------------------------------------------

    def did(self, effect: Effect) -> None:
        self._effects.append(effect)

    def wrote(self, number: int, data: bytes) -> None:
        self.did(Sent(number, data))

    def broke(self, number: int, *, aborted: bool) -> None:
        self.did(Ended(number, aborted))
        self._broken.append(number)

    def attempt_ended(self, number: int, reason: str) -> None:
        del self.link._dials.tasks[number]
        self.link._give_up(number, (), reason)

    def _made(self, connection: ControlConnection) -> None:
        self.ends[connection.number] = connection
        connection.connection_made(cast("asyncio.BaseTransport", Transport(self, connection.number)))

    def _acted(self, member: str, message: ControlMessage, _body: bytes) -> None:
        assert isinstance(message, Check)
        incarnation, number = message.queries[0].split(":")
        shown = self.observed().states[member]
        assert shown == ("up", incarnation), (
            f"a message of {member}'s incarnation {incarnation}, which is shown as {shown}"
        )
        before = self._heard.get(member, (incarnation, 0))
        assert before[0] == incarnation, f"nobody was told that incarnation {before[0]} of {member} is lost"
        assert int(number) > before[1], f"message {number} of {member} after message {before[1]}"
        self._heard[member] = (incarnation, int(number))

    def _lost(self, member: str) -> None:
        # Where another incarnation takes the place of this one, it is shown already. Nothing may be raised: the link would log it.
        self._heard.pop(member, None)
        self.did(LostSight(member))

    def _check(self) -> None:
        membership = self.link._membership
        for number, link in membership.links.by_number.items():
            assert not link.open or membership.known.link_to(membership.links.member_of(number) or "") == number, (
                f"{self._me.member} has an open connection that leads to nobody"
            )
        assert set(self.link._connections) == set(self.ends), (
            "connections are held that are none, or the other way round"
        )
        assert not self.link._closing


def _no_load() -> int:
    return 0


def _whole(address: str) -> tuple[str, int]:
    return address, 0

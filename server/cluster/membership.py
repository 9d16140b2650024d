"""Cluster membership: events and the time in, actions out. `server.cluster.mesh_link` owns the sockets and performs them.

Every member keeps a control connection with every other, and believes only its own: a member is up because *we* hear it. What
members tell each other is whom they are connected to, which says where to dial and nothing more. So there is no opinion about
a third member to spread, to be outdated, or to keep a dead one alive.

    joining --> up <--> suspect      suspect: half of `failure_after` without a byte
                 |  draining         as up; it said that it takes no new queries
                 v
            lost, left               back to up with a new connection; forgotten after `forget_after`

**One connection a pair.** Both may dial at once. The connection that the member with the smaller id dialled is kept: it refuses
the other's ("redundant") from when its own has reached the other end, and the other accepts and gives its own attempt up.
A member only dials when it has no connection, so one that calls although we have its earlier call open has lost that: the new
one takes its place, and the old one is reported as lost.

**One name, one member.** An incarnation is one start of a process. A new incarnation takes the old one's place when that is
gone, or when it has the same address, where only one process can be; else the name is taken, and the later one is refused.

Lost connections are dialled again at once, then with growing pauses: by both ends, so that one way through is enough. Seeds
are dialled for ever.

Considered and rejected: gossip with a failure detector of rumours (SWIM: fewer connections with thousands of members, but
queries need the connection to each participant anyway, and fail-fast is about that connection), and a coordinator.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from random import Random
from typing import Final, Literal

from engine.contracts.mesh import MemberInfo, MemberState
from wire.dataclass import dataclass
from wire.mesh.control_messages import ControlMessage, Goodbye, GoodbyeReason, Heartbeat, Identity, Members

_PAUSE_SECONDS_MIN: Final = 0.1
_PAUSE_SECONDS_MAX: Final = 5.0
#: Identities in one `members` message, so that its header has room for the longest.
_TOLD_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Timing:
    """In seconds; see the `cluster` section of `server.config.config`."""

    heartbeat: float = 1.0
    failure_after: float = 5.0
    forget_after: float = 60.0


@dataclass(frozen=True, slots=True)
class Dial:
    """Connect to address, as link `link`; say `link_connected` or `link_closed`."""

    link: int
    address: str


@dataclass(frozen=True, slots=True)
class Proceed:
    """Go on with the handshake (`ControlChannel.proceed`)."""

    link: int


@dataclass(frozen=True, slots=True)
class Say:
    link: int
    message: ControlMessage


@dataclass(frozen=True, slots=True)
class Close:
    """The link is over. goodbye: what to tell the peer first."""

    link: int
    goodbye: Goodbye | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """Tell whoever listens that messages to and from this member are lost."""

    member: str


@dataclass(frozen=True, slots=True)
class Log:
    level: int
    text: str


Action = Dial | Proceed | Say | Close | Lost | Log
Actions = list[Action]


@dataclass(slots=True)
class _Link:
    """A connection or the attempt at one. dialled: the address, where this member made it. expected: whom it reckons
    to find there. connected: it has reached the other end. heard: when the last byte came."""

    number: int
    since: float
    dialled: str | None = None
    expected: Identity | None = None
    connected: bool = False
    peer: Identity | None = None
    open: bool = False
    heard: float = 0.0

    def may_be(self, other: Identity) -> bool:
        known = self.peer or self.expected
        return known is not None and (known.member, known.incarnation) == (other.member, other.incarnation)


@dataclass(slots=True)
class _Record:
    """A member that is known. link: the open one. since: when `state` began."""

    identity: Identity
    state: Literal["joining", "up", "lost", "left"]
    since: float
    link: _Link | None = None
    load: int = 0
    draining: bool = False


@dataclass(slots=True)
class _Target:
    """An address worth dialling. member: who answered there last. told: what was logged about it last."""

    address: str
    seed: bool = False
    member: str | None = None
    own: bool = False
    failures: int = 0
    next_at: float = 0.0
    told: str = ""


@dataclass(slots=True)
class Membership:
    """See the module's docstring. me: this member. seeds: addresses. chance: spreads the pauses. load: as told last."""

    me: Identity
    seeds: Sequence[str]
    timing: Timing
    chance: Random
    load: int = 0
    draining: bool = False
    _ending: bool = False
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _links: dict[int, _Link] = field(default_factory=dict)
    _records: dict[str, _Record] = field(default_factory=dict)
    _targets: dict[str, _Target] = field(default_factory=dict)
    _ticked: float | None = None
    _said: float = 0.0
    _told_all: float = 0.0

    # -- what is known -------------------------------------------------------------------------------------------

    def members(self, now: float) -> list[MemberInfo]:
        """All that are known, this one included, ordered by id."""
        me = _info(self.me, "draining" if self.draining else "up", self.load, local=True)
        others = [_info(r.identity, self._state(r, now), r.load) for r in self._records.values()]
        return sorted([me, *others], key=lambda info: info.id)

    def link_to(self, member: str) -> int | None:
        """The link by which a member can be reached now."""
        record = self._records.get(member)
        return record.link.number if record is not None and record.link is not None else None

    def member_of(self, link: int) -> str | None:
        """Return the member at the other end of an open link."""
        found = self._links.get(link)
        return found.peer.member if found is not None and found.open and found.peer is not None else None

    @property
    def strangers(self) -> int:
        """Connections that were accepted and have proved nothing yet."""
        return sum(link.dialled is None and not link.open for link in self._links.values())

    def _state(self, record: _Record, now: float) -> MemberState:
        if record.link is None:
            return record.state
        if now - record.link.heard > self.timing.failure_after / 2:
            return "suspect"
        return "draining" if record.draining else "up"

    # -- links come and go ---------------------------------------------------------------------------------------

    def start(self, now: float) -> Actions:
        for address in self.seeds:
            self._targets[address] = _Target(address, seed=True)
        return self.tick(now)

    def link_accepted(self, now: float) -> int:
        """Somebody has connected: the number of the link."""
        link = _Link(next(self._numbers), now)
        self._links[link.number] = link
        return link.number

    def link_connected(self, number: int) -> bool:
        """The other end has been reached. False: it need not have been."""
        link = self._links.get(number)
        if link is not None:
            link.connected = True
        return link is not None

    def peer_introduced(self, number: int, peer: Identity, now: float) -> Actions:
        """The peer has said who it is; proved, if it was the one that dialled."""
        link = self._links.get(number)
        if link is None:
            return []
        link.peer = peer
        return self._admit(link, peer, now) if link.dialled is None else self._met(link, link.dialled, peer)

    def link_established(self, number: int, now: float) -> Actions:
        """The peer that was dialled has proved itself, and takes us."""
        link = self._links.get(number)
        if link is None or link.peer is None:
            return []
        refusal = self._name_taken(link.peer)
        if refusal is not None:
            return self._refuse(link, "name", refusal, now)
        return [*self._replace(link.peer, now), *self._open_link(link, link.peer, now)]

    def heard(self, number: int, now: float) -> None:
        """Bytes have come."""
        if (link := self._links.get(number)) is not None:
            link.heard = now

    def message_received(self, number: int, message: ControlMessage, now: float) -> Actions:
        """A heartbeat, members, or goodbye."""
        link = self._links.get(number)
        if link is None:
            return []
        match message:
            case Goodbye():
                return self._handle_goodbye(link, message, now)
            case Heartbeat(load, draining) if link.open and link.peer is not None:
                record = self._records[link.peer.member]
                record.load, record.draining = load, draining
            case Members(members) if link.open:
                return self._learn_members(members, now)
        return []

    def link_closed(self, number: int, reason: str, now: float, level: int = logging.INFO) -> Actions:
        """The link is no more (also: could not be made), without a goodbye from here. level: of its log line."""
        link = self._links.pop(number, None)
        if link is None:
            return []
        if link.open:
            return self._lose(link, reason, now)
        if link.dialled is None:
            return [Log(level, f"a member that connected is refused: {reason}")] if level > logging.INFO else []
        return self._note_failure(link.dialled, reason, now, level)

    def tick(self, now: float) -> Actions:
        """To be called several times within a heartbeat."""
        self._excuse_absence(now)
        actions = [action for link in list(self._links.values()) for action in self._examine(link, now)]
        if now - self._said >= self.timing.heartbeat:
            self._said = now
            actions += self._beat()
        if now - self._told_all >= self.timing.forget_after / 2:
            self._told_all = now
            actions += self._tell_all()
        self._forget(now)
        return actions if self._ending else [*actions, *self._dial(now)]

    # -- this member's own state ---------------------------------------------------------------------------------

    def drain(self) -> Actions:
        """Tell the others that this member takes no new queries."""
        self.draining = True
        return self._beat()

    def leave(self) -> Actions:
        """Say goodbye to all. Nothing is dialled any more."""
        self._ending = True
        actions: Actions = []
        for link in self._links.values():
            actions.append(Close(link.number, Goodbye("leave", f"{self.me.member} has ended") if link.open else None))
        self._links.clear()
        for record in self._records.values():
            record.link = None
        return actions

    # -- who is taken --------------------------------------------------------------------------------------------

    def _met(self, link: _Link, address: str, peer: Identity) -> Actions:
        """Somebody answered at an address. Nothing is proved yet; that we need not go on can be seen."""
        target = self._targets.get(address)
        if peer == self.me:
            if target is not None:
                target.own = True
            return self._drop(link)
        record = self._records.get(peer.member)
        if record is not None and record.link is not None and record.identity.incarnation == peer.incarnation:
            if target is not None:
                target.member = peer.member
            return self._drop(link)
        return [Proceed(link.number)]

    def _admit(self, link: _Link, peer: Identity, now: float) -> Actions:
        """Somebody has connected and proved who it is."""
        refusal = self._name_taken(peer)
        if refusal is not None:
            return self._refuse(link, "name", refusal, now)
        if self.me.member < peer.member and any(
            other.dialled and other.connected and other.may_be(peer) for other in self._links.values()
        ):
            return self._refuse(link, "redundant", f"{self.me.member} has called already", now)
        actions = self._replace(peer, now)
        for other in list(self._links.values()):
            if other.dialled and not other.open and other.may_be(peer):
                actions += self._drop(other)
        return [*actions, Proceed(link.number), *self._open_link(link, peer, now)]

    def _name_taken(self, peer: Identity) -> str | None:
        """Why a member of that name cannot be taken in, if so."""
        record = self._records.get(peer.member)
        if peer.member == self.me.member:
            other = self.me
        elif record is not None and record.link is not None:
            other = record.identity
        else:
            return None
        if other.incarnation == peer.incarnation or (other is not self.me and other.mesh == peer.mesh):
            return None
        return f'the name "{peer.member}" of {peer.mesh} is taken: {other.mesh} is in the cluster under it'

    def _replace(self, peer: Identity, now: float) -> Actions:
        """The member's earlier connection, if there is one, is over."""
        record = self._records.get(peer.member)
        if record is None or record.link is None:
            return []
        link = record.link
        del self._links[link.number]
        return [*self._lose(link, "it has connected anew", now), Close(link.number)]

    def _open_link(self, link: _Link, peer: Identity, now: float) -> Actions:
        link.open, link.heard = True, now
        others = self._connected_members()
        told: Actions = [Say(r.link.number, Members((peer,))) for r in self._records.values() if r.link is not None]
        self._records[peer.member] = _Record(peer, "up", now, link)
        self._aim(peer, link.dialled)
        return [
            Log(logging.INFO, f"{peer.member} at {peer.mesh} is up"),
            Say(link.number, Heartbeat(self.load, self.draining)),
            *(Say(link.number, Members(part)) for part in _parts(others)),
            *told,
        ]

    def _aim(self, peer: Identity, reached: str | None) -> None:
        """Where this member is to be dialled should it be lost: seeds, and the address it has now."""
        for address, target in list(self._targets.items()):
            if target.member == peer.member and not target.seed and address != peer.mesh:
                del self._targets[address]
        for address in {peer.mesh, reached or peer.mesh}:
            target = self._targets.setdefault(address, _Target(address))
            target.member, target.failures, target.told = peer.member, 0, ""

    # -- who is not ----------------------------------------------------------------------------------------------

    def _drop(self, link: _Link) -> Actions:
        """An attempt that is not needed."""
        del self._links[link.number]
        return [Close(link.number)]

    def _refuse(self, link: _Link, reason: GoodbyeReason, message: str, now: float) -> Actions:
        del self._links[link.number]
        level = logging.DEBUG if reason == "redundant" else logging.ERROR
        actions: Actions = [Log(level, f"a member is refused: {message}"), Close(link.number, Goodbye(reason, message))]
        if link.dialled is not None and (target := self._targets.get(link.dialled)) is not None:
            self._pause(target, now, longest=True)
        return actions

    def _handle_goodbye(self, link: _Link, goodbye: Goodbye, now: float) -> Actions:
        """The peer has said goodbye; its connection is over."""
        del self._links[link.number]
        actions: Actions = [Close(link.number)]
        if link.open and goodbye.reason == "leave":
            return [*actions, *self._left(link)]
        if link.open:
            return [*actions, *self._lose(link, f"it said: {goodbye.message!r}", now)]
        if link.dialled is None:
            return actions
        if goodbye.reason == "redundant":
            return [*actions, *self._note_failure(link.dialled, goodbye.message, now, logging.DEBUG)]
        reason = f"we are refused ({goodbye.reason}): {goodbye.message!r}"
        return [*actions, *self._note_failure(link.dialled, reason, now, logging.ERROR)]

    def _lose(self, link: _Link, reason: str, now: float) -> Actions:
        assert link.peer is not None, "an open link leads to somebody"
        record = self._records[link.peer.member]
        record.state, record.since, record.link, record.load = "lost", now, None, 0
        for target in self._targets.values():
            if target.member == link.peer.member:
                target.next_at = now
        return [Log(logging.WARNING, f"{link.peer.member} is lost: {reason}"), Lost(link.peer.member)]

    def _left(self, link: _Link) -> Actions:
        assert link.peer is not None, "an open link leads to somebody"
        record = self._records[link.peer.member]
        record.state, record.since, record.link, record.load = "left", link.heard, None, 0
        return [Log(logging.INFO, f"{link.peer.member} has left"), Lost(link.peer.member)]

    def _note_failure(self, address: str, reason: str, now: float, level: int) -> Actions:
        """An attempt has failed. The log has each reason once."""
        target = self._targets.get(address)
        if target is None:
            return []
        self._pause(target, now, longest=level >= logging.ERROR)
        if target.told == reason or level < logging.INFO:
            return []
        target.told = reason
        return [Log(level, f"cannot join the member at {address}: {reason}; trying on")]

    def _pause(self, target: _Target, now: float, *, longest: bool) -> None:
        pause = _PAUSE_SECONDS_MAX if longest else min(_PAUSE_SECONDS_MAX, _PAUSE_SECONDS_MIN * 2**target.failures)
        target.failures = min(target.failures + 1, 16)
        target.next_at = now + pause * self.chance.uniform(0.5, 1.0)

    # -- what members tell each other -----------------------------------------------------------------------------

    def _connected_members(self) -> list[Identity]:
        return [record.identity for record in self._records.values() if record.link is not None]

    def _tell_all(self) -> Actions:
        """Repeated, for those who have lost each other so long that they have forgotten each other."""
        parts = list(_parts(self._connected_members()))
        return [Say(link.number, Members(part)) for link in self._links.values() if link.open for part in parts]

    def _learn_members(self, members: Iterable[Identity], now: float) -> Actions:
        learned = [self._learn(identity, now) for identity in members if identity.member != self.me.member]
        return self._dial(now) if any(learned) and not self._ending else []

    def _learn(self, identity: Identity, now: float) -> bool:
        """Whether there is somebody to connect to."""
        record = self._records.get(identity.member)
        same = record is not None and record.identity.incarnation == identity.incarnation
        if record is not None and (record.link is not None or (same and record.state == "left")):
            return False
        if not same:
            self._records[identity.member] = _Record(identity, "joining", now)
        target = self._targets.setdefault(identity.mesh, _Target(identity.mesh))
        target.member = identity.member
        target.next_at = min(target.next_at, now)
        return True

    # -- as time goes by -----------------------------------------------------------------------------------------

    def _excuse_absence(self, now: float) -> None:
        """This process was stopped, or its loop was: what came meanwhile has not been read, so nobody was silent."""
        absence = 0.0 if self._ticked is None else now - self._ticked
        if absence > self.timing.failure_after / 2:
            for link in self._links.values():
                link.heard += absence
                link.since += absence
        self._ticked = now

    def _examine(self, link: _Link, now: float) -> Actions:
        since = link.heard if link.open else link.since
        if now - since <= self.timing.failure_after:
            return []
        what = "not a byte" if link.open else "no end of the handshake"
        return [*self.link_closed(link.number, f"{what} for {self.timing.failure_after:g} s", now), Close(link.number)]

    def _beat(self) -> Actions:
        message = Heartbeat(self.load, self.draining)
        return [Say(link.number, message) for link in self._links.values() if link.open]

    def _forget(self, now: float) -> None:
        for member, record in list(self._records.items()):
            if record.link is None and now - record.since > self.timing.forget_after:
                del self._records[member]
                for address, target in list(self._targets.items()):
                    if target.member == member and not target.seed:
                        del self._targets[address]

    def _dial(self, now: float) -> Actions:
        under_way = {link.dialled for link in self._links.values()}
        actions: Actions = []
        for target in self._targets.values():
            if target.address not in under_way and now >= target.next_at and self._is_wanted(target):
                record = self._records.get(target.member) if target.member is not None else None
                link = _Link(next(self._numbers), now, target.address, record.identity if record else None)
                self._links[link.number] = link
                actions.append(Dial(link.number, target.address))
        return actions

    def _is_wanted(self, target: _Target) -> bool:
        if target.own:
            return False
        record = self._records.get(target.member) if target.member is not None else None
        if record is None:
            return True
        return record.link is None and (target.seed or record.state != "left")


def _info(identity: Identity, state: MemberState, load: int, *, local: bool = False) -> MemberInfo:
    i = identity
    return MemberInfo(i.member, i.incarnation, i.mesh, i.client, i.role, state, load, i.version, local)


def _parts(members: Sequence[Identity]) -> Iterator[tuple[Identity, ...]]:
    for at in range(0, len(members), _TOLD_AT_ONCE):
        yield tuple(members[at : at + _TOLD_AT_ONCE])

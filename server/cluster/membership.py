"""Cluster membership as a pure machine: events and the time in, actions out. `server.cluster.mesh_link` owns the
sockets and performs the actions.

Every member keeps a control connection to every other member, and derives a member's state from its own connection
only: a member is up because *this* member hears it. Members tell each other to whom they are connected, but that only
says which addresses to dial. So no member spreads an opinion about a third one, which could be outdated or keep a dead
member alive.

    joining --> up <--> suspect      suspect: half of `failure_after` without a byte
                 |  draining         as up; it said that it takes no new queries
                 v
            lost, left               back to up with a new connection; forgotten after `forget_after`

**One connection per pair.** Both members may dial at the same time. The connection that the member with the smaller id
dialled is kept: once its own attempt has reached the other end, this member refuses the other's connection
("redundant"), and the other member accepts and gives up its own attempt. A member dials only while it has no
connection. If a peer dials although its earlier connection to us is still open here, the peer has lost that one: the
new connection replaces it, and the old one is reported as lost.

**One member per name.** An incarnation is one start of a process. A new incarnation replaces the old one if the old one
is gone or has the same address, at which only one process can listen. Otherwise the name is taken, and the new
incarnation is refused.

A lost connection is dialled again at once, then with growing pauses. Both ends dial, so one direction that works is
enough. Seeds are dialled for ever.

**Who is told.** A new peer is told of all connected members at once, so of two peers of one member the later one knows
the earlier one. The earlier ones are told of the new peers of a heartbeat together, for the case that only they can
dial: a message for each of N connections to each of N members would grow with the third power of N. The whole list is
repeated for members that lost each other so long ago that they have forgotten each other.

The parts: connections and their silence (`control_links`), members and what they reported (`member_table`), addresses
(`dial_targets`). This module makes the decisions that need all of them.

Considered and rejected: gossip with a failure detector of rumours (SWIM: fewer connections with thousands of members,
but queries need the connection to each participant anyway, and fail-fast is about that connection), and a coordinator.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import field
from random import Random
from typing import Final

from engine.contracts.mesh import MemberInfo
from engine.contracts.shared_spark import UNSHARED, Application, SharedSpark
from server.cluster.control_links import ControlLink, ControlLinks
from server.cluster.dial_targets import DialTargets
from server.cluster.member_table import MemberRecord, MemberTable, describe
from server.cluster.membership_actions import Actions, Close, Dial, Log, Lost, Proceed, Say
from wire.dataclass import dataclass
from wire.mesh.control_messages import ControlMessage, Goodbye, GoodbyeReason, Heartbeat, Identity, Members

#: Identities in one `members` message, so that its header has room for the longest.
_TOLD_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class Timing:
    """In seconds; see the `cluster` section of `server.config.config`."""

    heartbeat: float = 1.0
    failure_after: float = 5.0
    forget_after: float = 60.0


@dataclass(slots=True)
class Membership:
    """See the module's docstring. me: this member. seeds: addresses. chance: randomizes the pauses. load, spark: as
    reported last.
    """

    me: Identity
    seeds: Sequence[str]
    timing: Timing
    chance: Random
    load: int = 0
    spark: SharedSpark = UNSHARED
    draining: bool = False
    links: ControlLinks = field(init=False)
    known: MemberTable = field(init=False)
    _targets: DialTargets = field(init=False)
    _ending: bool = False
    _said: float = 0.0
    _told_all: float = 0.0

    def __post_init__(self) -> None:
        self.links = ControlLinks(self.timing.failure_after)
        self.known = MemberTable(self.links, self.timing.forget_after)
        self._targets = DialTargets(self.known, self.chance)

    def members(self, now: float) -> list[MemberInfo]:
        """Return all known members, this one included, ordered by id."""
        me = describe(self.me, "draining" if self.draining else "up", self.load, self.spark, local=True)
        return sorted([me, *self.known.infos(now)], key=lambda info: info.id)

    # -- events of links -----------------------------------------------------------------------------------------

    def start(self, now: float) -> Actions:
        for address in self.seeds:
            self._targets.add_seed(address)
        return self.tick(now)

    def peer_introduced(self, number: int, peer: Identity, now: float) -> Actions:
        """Handle a peer's identity, which is proved if the peer dialled."""
        link = self.links.by_number.get(number)
        if link is None:
            return []
        link.peer = peer
        return self._admit(link, peer, now) if link.dialled is None else self._met(link, link.dialled, peer)

    def link_established(self, number: int, now: float) -> Actions:
        """Handle the acceptance of this member by the peer that it dialled; the peer is authenticated."""
        link = self.links.by_number.get(number)
        if link is None or link.peer is None:
            return []
        refusal = self._name_taken(link.peer)
        if refusal is not None:
            return self._refuse(link, "name", refusal, now)
        return [*self._replace(link.peer, now), *self._open_link(link, link.peer, now)]

    def message_received(self, number: int, message: ControlMessage, now: float) -> Actions:
        """Handle a heartbeat, a list of members, or a goodbye."""
        link = self.links.by_number.get(number)
        if link is None:
            return []
        match message:
            case Goodbye():
                return self._handle_goodbye(link, message, now)
            case Heartbeat(load, draining, key, application, waits_for, failed) if link.open and link.peer is not None:
                record = self.known.by_name[link.peer.member]
                record.load, record.draining = load, draining
                record.spark = SharedSpark(key, Application(application), waits_for, failed)
            case Members(members) if link.open:
                return self._learn(members, now)
        return []

    def link_closed(self, number: int, reason: str, now: float, level: int = logging.INFO) -> Actions:
        """Handle the end of a link, or a failed attempt to open one, without a goodbye from here. level: of its log
        line.
        """
        link = self.links.by_number.pop(number, None)
        if link is None:
            return []
        if link.open:
            return self._lose(link, reason, now)
        if link.dialled is None:
            return [Log(level, f"a member that connected is refused: {reason}")] if level > logging.INFO else []
        return self._targets.fail(link.dialled, reason, now, level)

    def tick(self, now: float) -> Actions:
        """Advance the time. To be called several times within a heartbeat."""
        self.links.excuse_absence(now)
        actions: Actions = []
        for link in list(self.links.by_number.values()):
            if (silence := self.links.silence_of(link, now)) is not None:
                actions += [*self.link_closed(link.number, silence, now), Close(link.number)]
        if now - self._said >= self.timing.heartbeat:
            actions += [
                *(Say(link, Members(p)) for link, new in self.known.news(self._said) for p in _parts(new)),
                *self._beat(),
            ]
            self._said = now
        if now - self._told_all >= self.timing.forget_after / 2:
            self._told_all = now
            actions += self._tell(self.known.connected_members())
        for member in self.known.forget(now):
            self._targets.forget(member)
        return actions if self._ending else [*actions, *self._dial(now)]

    # -- this member's own state ---------------------------------------------------------------------------------

    def drain(self) -> Actions:
        """Tell the others that this member takes no new queries."""
        self.draining = True
        return self._beat()

    def leave(self) -> Actions:
        """Say goodbye to all. No address is dialled any more."""
        self._ending = True
        actions: Actions = []
        for link in self.links.by_number.values():
            actions.append(Close(link.number, Goodbye("leave", f"{self.me.member} has ended") if link.open else None))
        self.links.by_number.clear()
        for record in self.known.by_name.values():
            record.link = None
        return actions

    # -- accepting peers -----------------------------------------------------------------------------------------

    def _met(self, link: ControlLink, address: str, peer: Identity) -> Actions:
        """Handle the answer of a peer at an address. It is not authenticated yet, but it may already be clear that the
        connection is not needed.
        """
        if peer == self.me:
            self._targets.note_own(address)
            return self._drop(link)
        record = self.known.by_name.get(peer.member)
        if record is not None and record.link is not None and record.identity.incarnation == peer.incarnation:
            self._targets.note_answer(address, peer.member)
            return self._drop(link)
        return [Proceed(link.number)]

    def _admit(self, link: ControlLink, peer: Identity, now: float) -> Actions:
        """Handle a peer that has connected to this member and is authenticated."""
        refusal = self._name_taken(peer)
        if refusal is not None:
            return self._refuse(link, "name", refusal, now)
        if self.me.member < peer.member and any(call.connected for call in self.links.calls_to(peer)):
            return self._refuse(link, "redundant", f"{self.me.member} has called already", now)
        actions = self._replace(peer, now)
        for call in self.links.calls_to(peer):
            if not call.open:
                actions += self._drop(call)
        return [*actions, Proceed(link.number), *self._open_link(link, peer, now)]

    def _name_taken(self, peer: Identity) -> str | None:
        """Return the reason why a member of that name must be refused, if there is one."""
        record = self.known.by_name.get(peer.member)
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
        """Close the member's earlier connection, if there is one."""
        record = self.known.by_name.get(peer.member)
        if record is None or record.link is None:
            return []
        link = record.link
        del self.links.by_number[link.number]
        return [*self._lose(link, "it has connected anew", now), Close(link.number)]

    def _open_link(self, link: ControlLink, peer: Identity, now: float) -> Actions:
        link.open, link.heard = True, now
        others = self.known.connected_members()
        self.known.by_name[peer.member] = MemberRecord(peer, "up", now, link)
        self._targets.reach(peer, link.dialled)
        return [
            Log(logging.INFO, f"{peer.member} at {peer.mesh} is up"),
            Say(link.number, self._heartbeat()),
            *(Say(link.number, Members(part)) for part in _parts(others)),
        ]

    # -- refusing and losing peers -------------------------------------------------------------------------------

    def _drop(self, link: ControlLink) -> Actions:
        """Drop an attempt that is not needed."""
        del self.links.by_number[link.number]
        return [Close(link.number)]

    def _refuse(self, link: ControlLink, reason: GoodbyeReason, message: str, now: float) -> Actions:
        del self.links.by_number[link.number]
        level = logging.DEBUG if reason == "redundant" else logging.ERROR
        actions: Actions = [Log(level, f"a member is refused: {message}"), Close(link.number, Goodbye(reason, message))]
        if link.dialled is not None:
            self._targets.refuse(link.dialled, now)
        return actions

    def _handle_goodbye(self, link: ControlLink, goodbye: Goodbye, now: float) -> Actions:
        """Handle a goodbye of the peer, which ends its connection."""
        del self.links.by_number[link.number]
        actions: Actions = [Close(link.number)]
        if link.open and goodbye.reason == "leave":
            return [*actions, *self._left(link)]
        if link.open:
            return [*actions, *self._lose(link, f"it said: {goodbye.message!r}", now)]
        if link.dialled is None:
            return actions
        if goodbye.reason == "redundant":
            return [*actions, *self._targets.fail(link.dialled, goodbye.message, now, logging.DEBUG)]
        reason = f"we are refused ({goodbye.reason}): {goodbye.message!r}"
        return [*actions, *self._targets.fail(link.dialled, reason, now, logging.ERROR)]

    def _lose(self, link: ControlLink, reason: str, now: float) -> Actions:
        assert link.peer is not None, "an open link leads to somebody"
        self.known.end(link.peer.member, "lost", now)
        self._targets.lose(link.peer.member, now)
        return [Log(logging.WARNING, f"{link.peer.member} is lost: {reason}"), Lost(link.peer.member)]

    def _left(self, link: ControlLink) -> Actions:
        assert link.peer is not None, "an open link leads to somebody"
        self.known.end(link.peer.member, "left", link.heard)
        return [Log(logging.INFO, f"{link.peer.member} has left"), Lost(link.peer.member)]

    # -- lists of members -----------------------------------------------------------------------------------------

    def _tell(self, members: Sequence[Identity]) -> Actions:
        """Send a list of connected members to all."""
        parts = list(_parts(members))
        return [Say(link.number, Members(part)) for link in self.links.open_links() for part in parts]

    def _learn(self, members: Sequence[Identity], now: float) -> Actions:
        """Handle the list of members to which another member is connected."""
        learned = False
        for identity in members:
            if identity.member != self.me.member and self.known.learn(identity, now):
                self._targets.learn(identity, now)
                learned = True
        return self._dial(now) if learned and not self._ending else []

    # -- heartbeats and dialling ---------------------------------------------------------------------------------

    def _beat(self) -> Actions:
        message = self._heartbeat()
        return [Say(link.number, message) for link in self.links.open_links()]

    def _heartbeat(self) -> Heartbeat:
        spark = self.spark
        return Heartbeat(self.load, self.draining, spark.key, spark.application, spark.waits_for, spark.failed)

    def _dial(self, now: float) -> Actions:
        under_way = {link.dialled for link in self.links.by_number.values()}
        actions: Actions = []
        for target in self._targets.due(under_way, now):
            record = self.known.by_name.get(target.member) if target.member is not None else None
            number = self.links.dial(target.address, record.identity if record else None, now)
            actions.append(Dial(number, target.address))
        return actions


def _parts(members: Sequence[Identity]) -> Iterator[tuple[Identity, ...]]:
    for at in range(0, len(members), _TOLD_AT_ONCE):
        yield tuple(members[at : at + _TOLD_AT_ONCE])

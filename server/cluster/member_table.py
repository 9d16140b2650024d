"""The other members that are known: for each a record with its identity, its state and the link to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from engine.contracts.mesh import MemberInfo, MemberState
from engine.contracts.shared_spark import UNSHARED, SharedSpark
from server.cluster.control_links import ControlLink, ControlLinks
from wire.dataclass import dataclass
from wire.mesh.control_messages import Identity


@dataclass(slots=True)
class MemberRecord:
    """A known member. link: the open link. since: when `state` began."""

    identity: Identity
    state: Literal["joining", "up", "lost", "left"]
    since: float
    link: ControlLink | None = None
    load: int = 0
    draining: bool = False
    spark: SharedSpark = UNSHARED


class MemberTable:
    """See the module's docstring. links: report which members are silent. forget_after: seconds after which a member
    that is gone is forgotten.
    """

    def __init__(self, links: ControlLinks, forget_after: float) -> None:
        self.by_name: dict[str, MemberRecord] = {}
        self._links = links
        self._forget_after = forget_after

    def link_to(self, member: str) -> int | None:
        """Return the number of the open link to a member; None if there is none."""
        record = self.by_name.get(member)
        return record.link.number if record is not None and record.link is not None else None

    def infos(self, now: float) -> list[MemberInfo]:
        return [describe(r.identity, self._state(r, now), r.load, r.spark) for r in self.by_name.values()]

    def _state(self, record: MemberRecord, now: float) -> MemberState:
        if record.link is None:
            return record.state
        if self._links.is_suspect(record.link, now):
            return "suspect"
        return "draining" if record.draining else "up"

    def connected_members(self) -> list[Identity]:
        return [record.identity for record in self.by_name.values() if record.link is not None]

    def news(self, since: float) -> Iterator[tuple[int, list[Identity]]]:
        """Yield the number of each open link, and the members that have connected since that time and after its own
        member.
        """
        linked = [(r, r.link.number) for r in self.by_name.values() if r.link is not None]
        new = [record for record, _ in linked if record.since >= since]
        for old, number in linked if new else ():
            yield number, [record.identity for record in new if record.since >= old.since and record is not old]

    def learn(self, identity: Identity, now: float) -> bool:
        """Record a member to which another member is connected. Returns whether this member should connect to it."""
        record = self.by_name.get(identity.member)
        same = record is not None and record.identity.incarnation == identity.incarnation
        if record is not None and (record.link is not None or (same and record.state == "left")):
            return False
        if not same:
            self.by_name[identity.member] = MemberRecord(identity, "joining", now)
        return True

    def end(self, member: str, state: Literal["lost", "left"], since: float) -> None:
        """Record that a member's link has ended."""
        record = self.by_name[member]
        record.state, record.since, record.link, record.load = state, since, None, 0

    def forget(self, now: float) -> list[str]:
        """Forget the members that have been gone for longer than `forget_after`. Returns their names."""
        gone = [m for m, r in self.by_name.items() if r.link is None and now - r.since > self._forget_after]
        for member in gone:
            del self.by_name[member]
        return gone


def describe(
    identity: Identity, state: MemberState, load: int, spark: SharedSpark, *, local: bool = False
) -> MemberInfo:
    """Return a member's description for the engine."""
    i = identity
    return MemberInfo(i.member, i.incarnation, i.mesh, i.client, i.role, state, load, i.version, local, spark)

"""The control connections of a member by number, dial attempts included, with the time at which each was last heard.

A member is suspected, and then lost, because of the silence of its own connection only (`server.cluster.membership`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from wire.dataclass import dataclass
from wire.mesh.control_messages import Identity


@dataclass(slots=True)
class ControlLink:
    """A connection, or an attempt to open one. dialled: the address, if this member dialled. expected: the member that
    it expects there. connected: the other end has been reached. heard: the time of the last byte.
    """

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


class ControlLinks:
    """See the module's docstring. failure_after: seconds without a byte after which a connection counts as broken."""

    def __init__(self, failure_after: float) -> None:
        self.by_number: dict[int, ControlLink] = {}
        self._failure_after = failure_after
        self._numbers: Iterator[int] = itertools.count(1)
        self._ticked: float | None = None

    def accept(self, now: float) -> int:
        """Add a link that the other end has dialled. Returns its number."""
        return self._add(ControlLink(next(self._numbers), now))

    def dial(self, address: str, expected: Identity | None, now: float) -> int:
        """Add a link that this member dials. Returns its number."""
        return self._add(ControlLink(next(self._numbers), now, address, expected))

    def _add(self, link: ControlLink) -> int:
        self.by_number[link.number] = link
        return link.number

    def connect(self, number: int) -> bool:
        """Note that the other end has been reached. Returns False if the link is no longer wanted."""
        link = self.by_number.get(number)
        if link is not None:
            link.connected = True
        return link is not None

    def hear(self, number: int, now: float) -> None:
        """Note that bytes have arrived."""
        if (link := self.by_number.get(number)) is not None:
            link.heard = now

    def member_of(self, number: int) -> str | None:
        """Return the member at the other end of an open link."""
        found = self.by_number.get(number)
        return found.peer.member if found is not None and found.open and found.peer is not None else None

    @property
    def strangers(self) -> int:
        """The number of accepted connections that have not authenticated yet."""
        return sum(link.dialled is None and not link.open for link in self.by_number.values())

    def calls_to(self, peer: Identity) -> list[ControlLink]:
        """Return the links that this member has dialled and that may lead to that peer."""
        return [link for link in self.by_number.values() if link.dialled and link.may_be(peer)]

    def open_links(self) -> list[ControlLink]:
        return [link for link in self.by_number.values() if link.open]

    def excuse_absence(self, now: float) -> None:
        """Extend all links' deadlines after a pause of this process or its loop: data that arrived meanwhile was not
        read, so no peer was silent.
        """
        absence = 0.0 if self._ticked is None else now - self._ticked
        if absence > self._failure_after / 2:
            for link in self.by_number.values():
                link.heard += absence
                link.since += absence
        self._ticked = now

    def silence_of(self, link: ControlLink, now: float) -> str | None:
        """Return the reason to give up a connection that has been silent for too long; None if it has not."""
        since = link.heard if link.open else link.since
        if now - since <= self._failure_after:
            return None
        what = "not a byte" if link.open else "no end of the handshake"
        return f"{what} for {self._failure_after:g} s"

    def is_suspect(self, link: ControlLink, now: float) -> bool:
        """Return whether a connection has been silent for half of `failure_after`."""
        return now - link.heard > self._failure_after / 2

"""Delivers the notifications of committed transactions (NOTIFY) to the sessions of this member and to the other
members.

Every member is sent all notifications, even if none of its sessions listens. A sender that tracked listeners would have
to know of each before its LISTEN could return, and a lost message would leave a listener that never hears anything. A
transaction's notifications are sent complete and in order; long ones in several messages, whose order the one
connection keeps. A member that is unreachable when a transaction commits misses its notifications: nothing is stored
for it, as PostgreSQL stores nothing for a client that is not connected.

Rejected: a queue in the catalog database that all members poll. It would survive a lost connection, but costs a disk
write for each notification and a delay; an application that needs this can use a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from server.cluster.routing import ServerMesh
from server.session.cancel import SessionRegistry
from server.session.notifications import Said
from wire.mesh.control_messages import ControlMessage, Notified

#: The limit of text in one message, whose header has at most 64 kB; the lengths of the names add little.
_MESSAGE_BYTES: Final = 48 << 10


class NotificationRouter:
    """The counterpart of `server.session.cancel.Elsewhere` for notifications. Made and used on the loop's thread."""

    def __init__(self, mesh: ServerMesh, registry: SessionRegistry) -> None:
        self._mesh = mesh
        self._registry = registry
        registry.announce = self._announce
        mesh.take(Notified, self._receive)

    def _announce(self, pid: int, said: Sequence[Said]) -> None:
        others = [info.id for info in self._mesh.members() if not info.local]
        if others:
            for message in _messages(pid, said):
                for member in others:
                    self._mesh.send(member, message)

    def _receive(self, _member: str, message: ControlMessage, _body: bytes) -> None:
        assert isinstance(message, Notified)
        self._registry.hear(message.pid, message.notifications)


def _messages(pid: int, said: Sequence[Said]) -> Iterator[Notified]:
    """Pack notifications into as few messages as hold them all."""
    some: list[Said] = []
    size = 0
    for one in said:
        length = len(one[0].encode()) + len(one[1].encode()) + 8
        if some and size + length > _MESSAGE_BYTES:
            yield Notified(pid, tuple(some))
            some, size = [], 0
        some.append(one)
        size += length
    yield Notified(pid, tuple(some))

"""Notifications of committed transactions (NOTIFY), brought to the sessions of this member and to the other members.

Every member is told everything, also one on which nobody listens: who knew where listeners are would have to know it before a
LISTEN could return, and a lost message would mean a listener that hears nothing for ever. A transaction's notifications are told
whole and in order; long ones in several messages, which one connection keeps in order. A member that cannot be reached when a
transaction commits misses what it said: nothing is kept for it, as PostgreSQL keeps nothing for a client that is not connected.

Rejected: a queue in the catalog database, which all members would poll. It would survive a lost connection, for a write to disk
each time and a delay; who needs that has a table for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from server.cluster.routing import ServerMesh
from server.session.cancel import SessionRegistry
from server.session.notifications import Said
from wire.mesh.control_messages import ControlMessage, Notified

#: Of one message, whose header has at most 64 kB: bytes of text, beside which names' lengths are little.
_MESSAGE_BYTES: Final = 48 << 10


class NotificationRouter:
    """`server.session.cancel.Elsewhere`'s neighbour for notifications. Made and used on the loop's thread."""

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

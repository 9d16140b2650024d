"""The meshes of two members without sockets: messages are encoded and decoded, and arrive one turn of the event loop
later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from engine.contracts.mesh import Handler, MemberInfo
from wire.mesh.control_messages import ControlMessage, decode, encode
from wire.mesh.framing import FrameReader


class PairedMesh:
    """The mesh of one of two members. A message that one sends arrives at the other one turn of the loop later, decoded
    from its bytes.

    silent: whether the member behaves as if it were stopped.
    sent: the names of the messages' types.
    """

    def __init__(self, member: str, known: Sequence[str]) -> None:
        self.member = member
        self.peer: PairedMesh | None = None
        self.silent = False
        self.sent: list[str] = []
        self._known = known
        self._on_message: Handler | None = None
        self.on_lost: Callable[[str], None] = lambda _member: None
        self._kept: list[tuple[ControlMessage, bytes]] = []

    def members(self) -> Sequence[MemberInfo]:
        return [MemberInfo(m, "1", "", "", "data", "up", 0, "", local=m == self.member) for m in self._known]

    def send(self, member: str, message: ControlMessage, body: bytes = b"") -> bool:
        if self.peer is None or member != self.peer.member:
            return False
        self.sent.append(type(message).__name__)
        reader = FrameReader(preface=False, body_limit=len(body))
        [read] = reader.feed(encode(message, len(body)) + body)
        asyncio.get_running_loop().call_soon(self.peer.hear, decode(read.kind, read.header), bytes(read.body))
        return True

    def hear(self, message: ControlMessage, body: bytes) -> None:
        assert self.peer is not None
        assert self._on_message is not None
        if self.silent:
            self._kept.append((message, body))
        else:
            self._on_message(self.peer.member, message, body)

    def speak(self) -> None:
        """Continue as a member does that runs again after it was stopped."""
        self.silent = False
        kept, self._kept = self._kept, []
        for message, body in kept:
            self.hear(message, body)

    def listen(self, on_message: Handler, on_lost: Callable[[str], None]) -> None:
        self._on_message, self.on_lost = on_message, on_lost


def paired_meshes(names: Sequence[str]) -> tuple[PairedMesh, PairedMesh]:
    """Return the meshes of the first two members, both of which know all of `names`."""
    meshes = PairedMesh(names[0], names), PairedMesh(names[1], names)
    meshes[0].peer, meshes[1].peer = meshes[1], meshes[0]
    return meshes

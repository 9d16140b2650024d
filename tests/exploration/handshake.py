"""A world of handshakes: members open control connections through a network that an attacker controls.

The attacker is that of Dolev and Yao (1983). It hears every message, and sends on each connection any message that it
has heard or can construct without the cluster's secret: hellos and welcomes in another member's name, invalid proofs,
messages before the handshake is complete. Each end of a connection is the product's `ControlChannel`, created as
`MeshLink` creates it.

The invariant of each state is agreement (Lowe, 1997): a connection is open at one end only if the member that the peer
claims to be takes part in exactly this connection. That is, there is an end of that member, in the other role, that has
sent a proof for the same hello and the same welcome, and there is no other such end. Both belong to one cluster and
speak the same version. Before that, no end acts upon anything but the handshake, and none accepts a header that is
longer than the handshake's.

The traffic after a handshake is neither encrypted nor signed, so this world does not model it.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from unittest import mock

from chart import arrow, event
from explorer import Step, Violation
from learned import Event, Learned, readers_memory

from server.cluster.mesh_link import LinkOptions, MeshLink
from wire.mesh.control_channel import HANDSHAKE_BYTES_MAX, Introduced, Received, State
from wire.mesh.control_messages import (
    NONCE_BYTES,
    Check,
    ControlMessage,
    Goodbye,
    Hello,
    Identity,
    Proof,
    Welcome,
    decode,
    encode,
)
from wire.mesh.framing import PREFACE, FrameReader, RemoteProtocolError
from wire.mesh.messages import VERSION

_CLUSTER: Final = "explored"
_SECRET: Final = b"secret"
#: The beginning of a frame whose header is longer than one of the handshake may be.
_OVERLONG: Final = struct.pack("!HHI", 64, HANDSHAKE_BYTES_MAX + 1, 0)


@dataclass(frozen=True, slots=True)
class End:
    """An end of a connection. dialled: whether its member opened the connection; otherwise it accepted it. version: the
    protocol version that it speaks.
    """

    member: str
    dialled: bool
    cluster: str = _CLUSTER
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Handshakes:
    """The configuration of a world of handshakes."""

    name: str
    ends: tuple[End, ...]


class SessionView(NamedTuple):
    """The observable state of an end.

    open, over: whether the connection is open, or has ended.
    proving: whether it has sent its proof and waits for the peer's.
    peer: the member that the peer claims to be.
    transcript: the hello and the welcome.
    acted: the messages that it acted upon before the connection was open.
    """

    open: bool
    over: bool
    proving: bool
    peer: str
    transcript: tuple[bytes, bytes]
    acted: tuple[str, ...]


class Session:
    """An end (`learned.Part`). The outcome of an event is the frames that it sends."""

    def __init__(self, end: End, nonce: bytes) -> None:
        identity = _identity(end.member)
        link = MeshLink(identity, LinkOptions(end.cluster, _SECRET), lambda: 0, lambda address: (address, 0))
        with mock.patch("secrets.token_bytes", return_value=nonce):
            self.channel = link._connection(1, dialled=end.dialled)._channel
        if end.version != VERSION:
            self.channel._hello = encode(Hello(end.version, end.cluster, nonce, identity))
        self.over = False
        self.acted: tuple[str, ...] = ()

    def take(self, event: Event) -> Hashable:
        match event:
            case ("call",):
                return (self.channel.opening_bytes().removeprefix(PREFACE),)
            case ("hear", bytes() as frame):
                try:
                    return self._heard(frame)
                except RemoteProtocolError:
                    self.over = True
                    return ()
        raise AssertionError(event)

    def _heard(self, frame: bytes) -> tuple[bytes, ...]:
        said: list[bytes] = []
        begins = self.channel.state is State.CALLED and frame != _OVERLONG
        for happened in self.channel.receive_data((PREFACE if begins else b"") + frame):
            if isinstance(happened, Introduced):
                said.append(self.channel.proceed())
            elif isinstance(happened, Received) and not isinstance(happened.message, Goodbye):
                self.acted += (type(happened.message).__name__,)
        said.append(self.channel.answers())
        self.over = self.channel.state is State.CLOSED
        return tuple(each for each in said if each)

    def shared(self) -> Iterable[object]:
        return ()

    def spent(self) -> Iterable[object]:
        return readers_memory(self.channel._reader)

    def observed(self) -> SessionView:
        channel = self.channel
        return SessionView(
            channel.state is State.OPEN and not self.over,
            self.over,
            channel.state is State.PROVING and not self.over,
            channel._peer.member,
            (channel._hello, channel._welcome),
            self.acted,
        )


class Run(NamedTuple):
    """A state.

    sessions: the machine of each end.
    heard: the messages that the attacker has heard.
    proved: the ends that have sent a proof, each with the hello and the welcome that it proves.
    """

    sessions: tuple[int, ...]
    heard: frozenset[bytes] = frozenset()
    proved: frozenset[tuple[int, tuple[bytes, bytes]]] = frozenset()


class HandshakeWorld:
    """The world of handshakes; an `explorer.Explorable`. See the module's docstring."""

    def __init__(self, handshakes: Handshakes) -> None:
        self.handshakes = handshakes
        self.ends = handshakes.ends
        self.names = (*dict.fromkeys(end.member for end in self.ends), "stranger")
        self.sessions: Learned[Session] = Learned()
        self._forged = tuple(_forged(self.names[:-1]))

    @property
    def name(self) -> str:
        return self.handshakes.name

    @property
    def learned(self) -> int:
        return self.sessions.known

    def first(self) -> Run:
        """Return the state in which all dialling ends have sent their first message."""
        run = Run(tuple(self.sessions.number(Session(end, _nonce(number))) for number, end in enumerate(self.ends)))
        for number, end in enumerate(self.ends):
            if end.dialled:
                run = self._told(run, number, "call")
        return run

    def steps(self, state: Run) -> list[Step]:
        found: list[Step] = []
        for number, session in enumerate(state.sessions):
            view: SessionView = self.sessions.observed(session)
            if not view.open and not view.over:
                found += [("give", number, frame) for frame in (*sorted(state.heard), *self._forged)]
        return found

    def after(self, state: Run, step: Step) -> Run:
        _, number, frame = step
        after = self._told(state, number, "hear", frame)
        view: SessionView = self.sessions.observed(after.sessions[number])
        if frame == _OVERLONG and not view.over:
            raise Violation("a header longer than the handshake's is taken in from who has proved nothing")
        self._check(after)
        return after

    def _told(self, run: Run, number: int, *event: Hashable) -> Run:
        session, said = self.sessions.step(run.sessions[number], *event)
        view: SessionView = self.sessions.observed(session)
        proved = run.proved | ({(number, view.transcript)} if view.open or view.proving else set())
        if view.over:
            # Ends that are over are all alike.
            session = self.sessions.number(_OVER)
        return Run((*run.sessions[:number], session, *run.sessions[number + 1 :]), run.heard | set(said), proved)

    # -- what must hold ------------------------------------------------------------------------------------------

    def _check(self, state: Run) -> None:
        views: list[SessionView] = [self.sessions.observed(session) for session in state.sessions]
        for number, view in enumerate(views):
            if view.acted:
                raise Violation(f"{self.ends[number].member} acts upon {view.acted[0]} before the handshake is over")
            if view.open:
                self._require_peer(state, number, view)

    def _require_peer(self, state: Run, number: int, mine: SessionView) -> None:
        """Check that the peer of an open end is the member that it claims to be, and in this connection only."""
        me = self.ends[number]
        same = [n for n, transcript in sorted(state.proved) if transcript == mine.transcript and n != number]
        peers = [n for n in same if self.ends[n].member == mine.peer and self.ends[n].dialled != me.dialled]
        if not peers:
            raise Violation(f"{me.member} takes the stranger for {mine.peer}")
        if any(self.ends[n].dialled == me.dialled for n in same):
            raise Violation(f"{me.member} takes one call of {mine.peer} for two")
        other = self.ends[peers[0]]
        if (me.cluster, me.version) != (other.cluster, other.version):
            raise Violation(f"{me.member} takes {mine.peer} for a member, which is of another cluster or version")

    # -- told ----------------------------------------------------------------------------------------------------

    def charted(self, way: Sequence[Step]) -> str:
        lines = ["".join(f"{name:<34}" for name in self.names)]
        stranger = len(self.names) - 1
        for _, number, frame in way:
            end = self.ends[number]
            lines.append(arrow(self, stranger, self.names.index(end.member), f"{number}: {_named(frame)}"))
        return "\n".join([*lines, event(self, stranger, f"{len(way)} messages")])


class _Over:
    """The one state that represents every ended connection."""

    def take(self, event: Event) -> Hashable:
        raise AssertionError(event)

    def shared(self) -> Iterable[object]:
        return ()

    def spent(self) -> Iterable[object]:
        return ()

    def observed(self) -> SessionView:
        return SessionView(open=False, over=True, proving=False, peer="", transcript=(b"", b""), acted=())


_OVER: Final[Any] = _Over()


def _forged(members: Iterable[str]) -> Iterable[bytes]:
    """Return the messages that the attacker can construct alone."""
    nonce = b"s" * NONCE_BYTES
    for member in members:
        yield encode(Hello(VERSION, _CLUSTER, nonce, _identity(member)))
        yield encode(Welcome(VERSION, _CLUSTER, nonce, _identity(member)))
    yield encode(Proof(b"\0" * 32))
    yield encode(Check(("a:1",)))
    yield _OVERLONG


def _nonce(number: int) -> bytes:
    """Return a nonce that differs between connections."""
    return bytes([number + 1]) * NONCE_BYTES


def _identity(member: str) -> Identity:
    return Identity(member, "1", f"{member}:1", f"{member}:2", "data", "0")


def _named(frame: bytes) -> str:
    if frame == _OVERLONG:
        return "a header too long"
    [item] = FrameReader(preface=False).feed(frame)
    message: ControlMessage = decode(item.kind, item.header)
    return f"{type(message).__name__}({getattr(message, 'identity', message).__class__.__name__})"

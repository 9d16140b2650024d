"""One end of a control connection: bytes in, events out. The caller owns the socket.

    the end that dialled                        the end that accepted
      PREFACE Hello(nonce, identity) --------->
                                     <---------  Welcome(nonce, identity)
      Proof                          --------->
                                     <---------  Proof            or Goodbye(why not)
      Heartbeat, Members, Start ...  <-------->  Heartbeat, Members, Start ...
      Goodbye                        <-------->  Goodbye

| state | hears | then |
|---|---|---|
| CALLING | Welcome | MEETING |
| CALLED | Hello | ANSWERED |
| ANSWERED | Proof | MEETING |
| MEETING | nothing: the owner decides (`proceed`, `goodbye`) | PROVING where we dialled, else OPEN |
| PROVING | Proof | OPEN |
| OPEN | whatever is not of the handshake | OPEN |
| CLOSED | nothing | |

Goodbye is allowed in every state but CLOSED, and leads to CLOSED.

**The handshake** is a mutual challenge and response. A proof is HMAC-SHA256, keyed by the cluster's secret, over the
prover's role and the frames of Hello and Welcome as they were sent. These frames hold both nonces (no replay), both
identities and addresses (no relay in another member's name), and cluster and version (no downgrade). The role keeps a
proof from being reflected to its maker. The end that dialled proves first, so that a stranger who only connects
receives no proof against which it could test guesses of the secret. The secret keeps strangers out; it neither encrypts
nor signs later messages.

Considered and rejected: sending the secret (an impostor of a member would then have it), and a password-authenticated
key exchange (it protects short secrets from a false acceptor; a cluster's secret can be long instead).
"""

from __future__ import annotations

import enum
import hmac
from collections.abc import Iterator
from typing import Final

from wire.dataclass import dataclass
from wire.mesh.control_messages import (
    WITH_BODY,
    ControlMessage,
    Goodbye,
    GoodbyeReason,
    Hello,
    Identity,
    Proof,
    Welcome,
    decode,
    encode,
)
from wire.mesh.framing import (
    HEADER_BYTES_MAX,
    PREFACE,
    Frame,
    FrameReader,
    LocalProtocolError,
    RemoteProtocolError,
    frame,
)
from wire.mesh.messages import VERSION

#: The maximum size of a header before its sender has proved its identity.
HANDSHAKE_BYTES_MAX: Final = 4096
#: The maximum size of the plan in a `start`, and of a page of a cursor.
BODY_BYTES_MAX: Final = 64 << 20


class State(enum.Enum):
    CALLING = "calling"
    CALLED = "called"
    ANSWERED = "answered"
    MEETING = "meeting"
    PROVING = "proving"
    OPEN = "open"
    CLOSED = "closed"


class Refused(RemoteProtocolError):
    """The peer was refused in the handshake. reason: the reason to send with `ControlChannel.goodbye`."""

    def __init__(self, reason: GoodbyeReason, message: str) -> None:
        super().__init__(message)
        self.reason: GoodbyeReason = reason


@dataclass(frozen=True, slots=True)
class Introduced:
    """The peer has stated its identity; the owner answers with `proceed` or `goodbye`. At the end that accepted, the
    peer has proved it already; at the other end not yet.
    """

    identity: Identity


@dataclass(frozen=True, slots=True)
class Established:
    """The peer has proved its identity to this end, which dialled; the connection is open."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message of an open connection, or Goodbye. body: empty except for the messages in `WITH_BODY`."""

    message: ControlMessage
    body: bytearray


ControlEvent = Introduced | Established | Received

_HANDSHAKE: Final = (Hello, Welcome, Proof)
_HEARS: Final[dict[State, tuple[type[ControlMessage], ...]]] = {
    State.CALLING: (Welcome,),
    State.CALLED: (Hello,),
    State.ANSWERED: (Proof,),
    State.MEETING: (),
    State.PROVING: (Proof,),
}


class ControlChannel:
    """One end of a control connection (see the module's docstring).

    identity, cluster, secret: this member's; the secret is not empty. nonce: NONCE_BYTES random bytes, used for this
        connection only.
    dialled: whether this end made the connection.
    """

    def __init__(self, identity: Identity, cluster: str, secret: bytes, nonce: bytes, *, dialled: bool) -> None:
        assert secret, "a member proves that it knows the secret: without one there is no connection"
        self.state = State.CALLING if dialled else State.CALLED
        self.dialled = dialled
        self._cluster = cluster
        self._secret = secret
        self._hello = encode(Hello(VERSION, cluster, nonce, identity)) if dialled else b""
        self._welcome = b"" if dialled else encode(Welcome(VERSION, cluster, nonce, identity))
        self._reader = FrameReader(preface=not dialled)
        self._reader.header_limit = HANDSHAKE_BYTES_MAX
        self._answers: list[bytes] = []
        self._peer = identity

    def opening_bytes(self) -> bytes:
        """Return the first bytes of the end that dialled."""
        assert self.dialled, "the end that accepted waits to be spoken to"
        return PREFACE + self._hello

    def proceed(self) -> bytes:
        """Continue the handshake with the peer of an `Introduced` event."""
        if self.state is not State.MEETING:
            raise LocalProtocolError(f"proceeded while {self.state.value}")
        if self.dialled:
            self.state = State.PROVING
        else:
            self._open()
        return encode(Proof(self._code(by_dialler=self.dialled)))

    def send(self, message: ControlMessage, body: bytes = b"") -> tuple[bytes, ...]:
        """Return the bytes of a message. Raises LocalProtocolError if the connection is not open, or the message too
        large.
        """
        if self.state is not State.OPEN:
            raise LocalProtocolError(f"{type(message).__name__} was sent while {self.state.value}")
        if len(body) > BODY_BYTES_MAX or (body and not isinstance(message, WITH_BODY)):
            raise LocalProtocolError(f"{type(message).__name__} with a body of {len(body)} bytes")
        head = encode(message, len(body))
        return (head, body) if body else (head,)

    def goodbye(self, reason: GoodbyeReason, message: str) -> bytes:
        """End the connection and tell the peer the reason. Returns the frame; empty if the connection has ended
        already.
        """
        if self.state is State.CLOSED:
            return b""
        self.state = State.CLOSED
        return encode(Goodbye(reason, message[:1000]))

    def buffer(self) -> memoryview:
        """Return the buffer for the next bytes; see `buffer_updated`."""
        return self._reader.buffer()

    def buffer_updated(self, count: int) -> Iterator[ControlEvent]:
        """Return the events in the `count` bytes written to `buffer()`. The caller exhausts them, and answers each
        before it takes the next.
        Raises RemoteProtocolError.
        """
        return self._events(self._reader.buffer_updated(count))

    def receive_data(self, data: bytes) -> Iterator[ControlEvent]:
        """Return the events in `data`, like `buffer_updated`, for bytes that the caller already has."""
        return self._events(self._reader.feed(data))

    def answers(self) -> bytes:
        """Return the frames that the protocol itself sends. The caller writes them when the events are exhausted."""
        said, self._answers = b"".join(self._answers), []
        return said

    def _events(self, frames: Iterator[Frame]) -> Iterator[ControlEvent]:
        while self.state is not State.CLOSED and (item := next(frames, None)) is not None:
            event = self._receive(item)
            if event is not None:
                yield event

    def _receive(self, item: Frame) -> ControlEvent | None:
        message = decode(item.kind, item.header)
        if item.body and not isinstance(message, WITH_BODY):
            raise RemoteProtocolError(f"{type(message).__name__} with a body")
        if isinstance(message, Goodbye):
            self.state = State.CLOSED
            return Received(message, item.body)
        self._check_turn(message)
        match message:
            case Hello():
                self._accept_hello(item, message)
                return None
            case Welcome():
                return self._accept_welcome(item, message)
            case Proof():
                return self._check_proof(message)
        return Received(message, item.body)

    def _check_turn(self, message: ControlMessage) -> None:
        heard = (
            not isinstance(message, _HANDSHAKE) if self.state is State.OPEN else isinstance(message, _HEARS[self.state])
        )
        if not heard:
            raise RemoteProtocolError(f"{type(message).__name__} while {self.state.value}")

    def _accept_hello(self, item: Frame, hello: Hello) -> None:
        self._check_fit(hello)
        self._peer = hello.identity
        self._hello = frame(item.kind, bytes(item.header))
        self._answers.append(self._welcome)
        self.state = State.ANSWERED

    def _accept_welcome(self, item: Frame, welcome: Welcome) -> Introduced:
        self._check_fit(welcome)
        self._peer = welcome.identity
        self._welcome = frame(item.kind, bytes(item.header))
        self.state = State.MEETING
        return Introduced(welcome.identity)

    def _check_proof(self, proof: Proof) -> Introduced | Established:
        if not hmac.compare_digest(proof.code, self._code(by_dialler=not self.dialled)):
            raise Refused("secret", f"{self._peer.member} does not know the secret of cluster {self._cluster}")
        if self.dialled:
            self._open()
            return Established()
        self.state = State.MEETING
        return Introduced(self._peer)

    def _check_fit(self, opening: Hello | Welcome) -> None:
        who = opening.identity.member
        if opening.version != VERSION:
            raise Refused("version", f"{who} speaks version {opening.version} of the protocol, this member {VERSION}")
        if opening.cluster != self._cluster:
            raise Refused("cluster", f"{who} belongs to cluster {opening.cluster}, this member to {self._cluster}")

    def _code(self, *, by_dialler: bool) -> bytes:
        role = b"sluice dialler\0" if by_dialler else b"sluice acceptor\0"
        return hmac.digest(self._secret, role + self._hello + self._welcome, "sha256")

    def _open(self) -> None:
        self.state = State.OPEN
        self._reader.header_limit = HEADER_BYTES_MAX
        self._reader.body_limit = BODY_BYTES_MAX

"""What members say to each other on their control connection. Typed structs in MessagePack; nothing a peer sends is code.

Names and fields are the network-protocol seed's (`start`, `cancel`, `check`, `check_response`) and the channel seed's
(`open_channel`, `ok`, `deny`). Numbers begin at 64 (below it are the data connection's, `wire.mesh.messages`); a message
that changes incompatibly gets a new number. A query is named by its token `initiator:local`, from which the initiator is
read (3.1).

A `Start` has the plan as its frame's body: an encoding that only the engine knows (`engine.plan.spec`).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from wire.mesh.framing import RemoteProtocolError, frame
from wire.mesh.messages import DenyReason, Message


class ControlMessage(Message, frozen=True):
    """A message of the control connection."""


class Start(ControlMessage, frozen=True):
    """Initiator to participant: run your fragments of this query, at once. participants: fixed, the initiator first."""

    query: str
    participants: tuple[str, ...]


class Cancel(ControlMessage, frozen=True):
    """Participant to initiator, or initiator to participants: the query is over.

    member: who wants it. sqlstate, message, detail, hint: why; sqlstate 00000 is an end without an error (enough rows).
    """

    query: str
    member: str
    sqlstate: str
    message: str
    detail: str = ""
    hint: str = ""


class Check(ControlMessage, frozen=True):
    """Participant to initiator: are these queries, of which I still hold something, running?"""

    queries: tuple[str, ...]


class CheckResponse(ControlMessage, frozen=True):
    """Initiator to participant: those of them that are not."""

    queries: tuple[str, ...]


class OpenChannel(ControlMessage, frozen=True):
    """Sender's member to receiver's member: where is the receiving end of this stream?

    request: the sender's own number for the answer. edge: of the query. receiver: the consuming instance's number;
    sender: the producing instance's.
    """

    request: int
    query: str
    edge: int
    sender: int
    receiver: int


class ChannelOk(ControlMessage, frozen=True):
    """The answer: connect to host:port and introduce yourself with channel and token (`wire.mesh.messages.Open`)."""

    request: int
    channel: str
    token: bytes
    host: str
    port: int


class ChannelDeny(ControlMessage, frozen=True):
    """The answer: not now (`unknown`: ask again later) or not any more."""

    request: int
    reason: DenyReason
    message: str


class Produced(ControlMessage, frozen=True):
    """Sender's member to receiver's member: instance `sender` of the edge's producer is done; `partitions` are the
    streams it opened, which are to arrive whole. Sent where their number was not known before (Spark's partitions)."""

    query: str
    edge: int
    sender: int
    receiver: int
    partitions: tuple[int, ...]


class Counted(ControlMessage, frozen=True):
    """Participant to initiator, when its part of an EXPLAIN ANALYZE is over. counters: as the engine names them."""

    query: str
    counters: tuple[tuple[str, int], ...]


_BY_KIND: Final[dict[int, type[ControlMessage]]] = {
    70: Start,
    71: Cancel,
    72: Check,
    73: CheckResponse,
    74: OpenChannel,
    75: ChannelOk,
    76: ChannelDeny,
    77: Produced,
    78: Counted,
}
_KINDS: Final = {message: kind for kind, message in _BY_KIND.items()}
_DECODERS: Final[dict[int, msgspec.msgpack.Decoder[Any]]] = {
    kind: msgspec.msgpack.Decoder(message) for kind, message in _BY_KIND.items()
}
_ENCODER: Final = msgspec.msgpack.Encoder()


def encode(message: ControlMessage, body_length: int = 0) -> bytes:
    """The frame of a message, up to its body."""
    return frame(_KINDS[type(message)], _ENCODER.encode(message), body_length)


def decode(kind: int, header: bytes | memoryview) -> ControlMessage:
    """The message in a frame. Raises RemoteProtocolError."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise RemoteProtocolError(f"unknown message {kind}")
    try:
        message: ControlMessage = decoder.decode(header)
    except msgspec.MsgspecError as error:
        raise RemoteProtocolError(f"malformed message {kind}: {error}") from error
    return message

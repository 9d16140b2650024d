"""A set of messages, each with a number: encoding of messages as frames, and decoding of frames.

A message is a msgspec struct whose fields are encoded by position in MessagePack. Data from a peer is validated against
the struct's types before other code sees it; none of it is executed as code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec

from wire.mesh.framing import RemoteProtocolError, frame

M = TypeVar("M", bound=msgspec.Struct)
_ENCODER: Final = msgspec.msgpack.Encoder()


class Vocabulary(Generic[M]):
    """The messages of one kind of connection, by their numbers in frames."""

    def __init__(self, by_kind: Mapping[int, type[M]]) -> None:
        self._kinds = {message: kind for kind, message in by_kind.items()}
        self._decoders: dict[int, msgspec.msgpack.Decoder[Any]] = {
            kind: msgspec.msgpack.Decoder(message) for kind, message in by_kind.items()
        }

    def encode(self, message: M, body_length: int = 0) -> bytes:
        """Return the frame of a message without its body."""
        return frame(self._kinds[type(message)], _ENCODER.encode(message), body_length)

    def decode(self, kind: int, header: bytes | memoryview) -> M:
        """Return the message in a frame. Raises RemoteProtocolError."""
        decoder = self._decoders.get(kind)
        if decoder is None:
            raise RemoteProtocolError(f"unknown message {kind}")
        try:
            message: M = decoder.decode(header)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RemoteProtocolError(f"malformed message {kind}: {error}") from error
        return message

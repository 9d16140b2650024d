"""Frames of the member protocol: cutting a byte stream into them, and building them.

A frame is a fixed prefix, a header (one MessagePack struct of `wire.mesh.messages`) and a body of raw bytes (Arrow
IPC):

    kind: u16 | header length: u16 | body length: u32 | header | body        big-endian

A connection starts with `PREFACE`, so that a peer that speaks another protocol is refused at its first bytes; these
would otherwise be read as a frame of absurd length. The protocol's version is in the opening message.

`FrameReader` offers the buffer into which the caller receives (`buffer`, `buffer_updated`), so a body of a megabyte is
received into its own memory without a copy. `feed` does the same for bytes that the caller already has. The sizes of
header and body are checked against `header_limit` and `body_limit` before memory for them is allocated.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

PREFACE: Final = b"sluice\x00\x01"
HEADER_BYTES_MAX: Final = (1 << 16) - 1
_PREFIX: Final = struct.Struct("!HHI")
_SCRATCH_BYTES: Final = 1 << 16


class LocalProtocolError(Exception):
    """This end did something that the connection's state does not allow."""


class RemoteProtocolError(Exception):
    """The peer did something that the protocol does not allow; the connection cannot be used any more."""


class Frame(NamedTuple):
    kind: int
    header: memoryview
    body: bytearray


def frame(kind: int, header: bytes, body_length: int = 0) -> bytes:
    """Return the prefix and header of a frame. The caller writes the frame's body, of `body_length` bytes, after it."""
    if len(header) > HEADER_BYTES_MAX:
        raise LocalProtocolError(f"message {kind} has {len(header)} bytes where {HEADER_BYTES_MAX} are allowed")
    return _PREFIX.pack(kind, len(header), body_length) + header


class FrameReader:
    """The receiving half of a connection's framing.

    header_limit, body_limit: the largest header and body, in bytes, that the next frame may have; the owner sets them
        as its state changes.
    preface: whether the peer must open with `PREFACE`.
    """

    def __init__(self, *, preface: bool, body_limit: int = 0) -> None:
        self.header_limit = HEADER_BYTES_MAX
        self.body_limit = body_limit
        self._preface = preface
        self._head = bytearray()
        self._scratch = bytearray(_SCRATCH_BYTES)
        self._kind = 0
        self._header = memoryview(b"")
        self._body: bytearray | None = None
        self._body_filled = 0

    @property
    def amid_frame(self) -> bool:
        """Whether the received bytes end within a frame."""
        return self._preface or self._body is not None or bool(self._head)

    def buffer(self) -> memoryview:
        """Return the buffer for the next bytes of the stream. The caller passes their number to `buffer_updated`."""
        if self._body is not None:
            return memoryview(self._body)[self._body_filled :]
        return memoryview(self._scratch)

    def buffer_updated(self, count: int) -> Iterator[Frame]:
        """Return the frames that are complete, now that `count` bytes have been written to `buffer()`."""
        if self._body is None:
            yield from self.feed(bytes(memoryview(self._scratch)[:count]))
            return
        self._body_filled += count
        if self._body_filled == len(self._body):
            yield self._complete(self._body)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Return the frames that `data` completes. Raises RemoteProtocolError at the first one that is not acceptable."""
        rest = memoryview(data)
        while rest:
            rest = self._feed_head(rest) if self._body is None else self._feed_body(rest)
            if self._body is not None and self._body_filled == len(self._body):
                yield self._complete(self._body)

    def _complete(self, body: bytearray) -> Frame:
        self._body = None
        return Frame(self._kind, self._header, body)

    def _feed_body(self, rest: memoryview) -> memoryview:
        assert self._body is not None
        count = min(len(rest), len(self._body) - self._body_filled)
        self._body[self._body_filled : self._body_filled + count] = rest[:count]
        self._body_filled += count
        return rest[count:]

    def _feed_head(self, rest: memoryview) -> memoryview:
        if not self._preface and not self._head and len(rest) >= _PREFIX.size:
            # The fast path of nearly all frames: no part of the frame was buffered before, and its header is complete
            # here.
            kind, header_length, body_length = _PREFIX.unpack_from(rest)
            self._check_lengths(header_length, body_length)
            end = _PREFIX.size + header_length
            if len(rest) >= end:
                self._begin_body(kind, rest[_PREFIX.size : end], body_length)
                return rest[end:]
        count = min(len(rest), self._head_length() - len(self._head))
        self._head += rest[:count]
        if self._preface:
            self._check_preface()
        elif len(self._head) >= _PREFIX.size:
            kind, header_length, body_length = _PREFIX.unpack_from(self._head)
            self._check_lengths(header_length, body_length)
            if len(self._head) == _PREFIX.size + header_length:
                self._begin_body(kind, memoryview(bytes(self._head[_PREFIX.size :])), body_length)
                self._head.clear()
        return rest[count:]

    def _head_length(self) -> int:
        if self._preface:
            return len(PREFACE)
        if len(self._head) < _PREFIX.size:
            return _PREFIX.size
        return _PREFIX.size + int.from_bytes(self._head[2:4], "big")

    def _check_preface(self) -> None:
        if not PREFACE.startswith(bytes(self._head)):
            raise RemoteProtocolError("the peer does not speak the member protocol")
        if len(self._head) == len(PREFACE):
            self._head.clear()
            self._preface = False

    def _check_lengths(self, header: int, body: int) -> None:
        if header > self.header_limit:
            raise RemoteProtocolError(f"a header of {header} bytes where {self.header_limit} are allowed")
        if body > self.body_limit:
            raise RemoteProtocolError(f"a body of {body} bytes where {self.body_limit} are allowed")

    def _begin_body(self, kind: int, header: memoryview, length: int) -> None:
        self._kind, self._header = kind, header
        self._body = bytearray(length)
        self._body_filled = 0

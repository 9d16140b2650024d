"""A bounded reader of one message's body, which reports malformed input as a protocol violation of the peer.

`wire.pg.messages` decodes with it. The reader knows fields, not messages. The texts of the errors are those of
PostgreSQL's pqformat.c.
"""

from __future__ import annotations

import struct

from wire.errors import ProtocolViolation
from wire.types.client_encodings import from_client

_INT16 = struct.Struct("!h")
_INT32 = struct.Struct("!i")


class Body:
    """A cursor over a message's body. Every read is checked against the body's end."""

    __slots__ = ("_at", "_data", "_encoding")

    def __init__(self, data: bytes, encoding: str) -> None:
        self._data = data
        self._at = 0
        self._encoding = encoding

    def _take(self, size: int) -> int:
        start = self._at
        if size < 0 or start + size > len(self._data):
            raise ProtocolViolation("insufficient data left in message")
        self._at = start + size
        return start

    def byte(self) -> bytes:
        start = self._take(1)
        return self._data[start : start + 1]

    def int16(self) -> int:
        value: int = _INT16.unpack_from(self._data, self._take(2))[0]
        return value

    def int32(self) -> int:
        value: int = _INT32.unpack_from(self._data, self._take(4))[0]
        return value

    def count(self) -> int:
        """Read a number of items. A negative number is an error."""
        value = self.int16()
        # PostgreSQL reads these as unsigned where 65535 parameters are allowed (Bind, Parse).
        return value & 0xFFFF

    def int16s(self) -> tuple[int, ...]:
        count = self.count()
        return struct.unpack_from(f"!{count}h", self._data, self._take(2 * count))

    def oids(self) -> tuple[int, ...]:
        count = self.count()
        return struct.unpack_from(f"!{count}I", self._data, self._take(4 * count))

    def raw(self, size: int) -> bytes:
        start = self._take(size)
        return self._data[start : start + size]

    def rest(self) -> bytes:
        start, self._at = self._at, len(self._data)
        return self._data[start:]

    def string_bytes(self) -> bytes:
        """Read a NUL-terminated string, without decoding it."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("invalid string in message")
        start, self._at = self._at, end + 1
        return self._data[start:end]

    def string(self) -> str:
        """Read a NUL-terminated string in the client's encoding. Raises CharacterNotInRepertoire, which is not fatal."""
        return from_client(self.string_bytes(), self._encoding)

    def value(self) -> bytes | None:
        """Read a length and that many bytes; None for length -1, which is NULL."""
        size = self.int32()
        if size == -1:
            return None
        return self.raw(size)

    def end(self) -> None:
        if self._at != len(self._data):
            raise ProtocolViolation("invalid message format")

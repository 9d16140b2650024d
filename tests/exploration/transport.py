"""A stand-in for the transport of a connection in a world's part: it reports the calls that it receives to the part."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Holder(Protocol):
    """The owner of connections, by number."""

    def wrote(self, number: int, data: bytes) -> None: ...

    def broke(self, number: int, *, aborted: bool) -> None:
        """Handle that this end closed the connection. aborted: whether bytes that were written before may be lost."""
        ...


class Transport:
    def __init__(self, holder: Holder, number: int) -> None:
        self._holder = holder
        self._number = number
        self._closing = False

    def write(self, data: bytes) -> None:
        if not self._closing:
            self._holder.wrote(self._number, bytes(data))

    def writelines(self, data: Iterable[bytes]) -> None:
        self.write(b"".join(data))

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._end(aborted=False)

    def abort(self) -> None:
        self._end(aborted=True)

    def get_extra_info(self, _name: str) -> None:
        return None

    def _end(self, *, aborted: bool) -> None:
        if not self._closing:
            self._closing = True
            self._holder.broke(self._number, aborted=aborted)

"""The source of the bytes of a COPY FROM: the server provides it, and the engine reads from it."""

from __future__ import annotations

from typing import Protocol


class RowSource(Protocol):
    """The client's pieces, in their order; a piece ends anywhere."""

    async def next_piece(self) -> bytes | None:
        """The next piece; None at the end. Raises QueryCanceled where the client gave up."""
        ...

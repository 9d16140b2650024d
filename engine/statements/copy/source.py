"""The source of the bytes of a COPY FROM: the server provides it, and the engine reads from it."""

from __future__ import annotations

from typing import Protocol


class RowSource(Protocol):
    """The data that a client sends, as pieces in their order. A piece may end anywhere, even within a row."""

    async def next_piece(self, pause: float | None = None) -> bytes | None:
        """Return the next piece; None at the end. Raises QueryCanceled if the client aborted the COPY.

        pause: if a source that has to wait for its pieces gets none within these seconds, it returns an empty one.
        """
        ...

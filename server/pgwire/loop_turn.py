"""A session's turn on the event loop.

A short statement is answered without a wait: nothing in it lets other sessions run. A client that sends thousands of
them at once, in one string or as pipelined messages, would keep the loop until the last. Its session therefore lets
the others run between two statements when its turn is over.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from server.pgwire.client_stream import ClientStream

#: The length of a turn, in seconds. Another session needs some turns to answer a short statement.
_SECONDS: Final = 0.005


class LoopTurn:
    """See the module's docstring. stream: the client's. A turn begins when its message arrives, which shows that the
    loop was free, or when the session has given way.
    """

    def __init__(self, stream: ClientStream) -> None:
        self._stream = stream
        self._began = 0.0

    @property
    def is_over(self) -> bool:
        return time.monotonic() - max(self._began, self._stream.turn) >= _SECONDS

    async def give_way(self) -> None:
        """Let the other tasks of the loop run once, and begin another turn."""
        await asyncio.sleep(0)
        self._began = time.monotonic()

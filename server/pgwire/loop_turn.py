"""A session's turn on the event loop.

A short statement is answered without a wait: nothing in it lets other sessions run. A client that sends thousands of
them at once, in one string or as pipelined messages, would keep the loop until the last. Its session therefore lets
the others run between two statements when its turn is over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

#: The length of a turn, in seconds. Another session needs some turns to answer a short statement.
_SECONDS: Final = 0.005


class LoopTurn:
    """See the module's docstring. clock: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = 0.0

    async def give_way(self) -> None:
        """Let the other tasks of the loop run once if the turn is over."""
        if self._clock() >= self._end:
            await asyncio.sleep(0)
            self._end = self._clock() + _SECONDS

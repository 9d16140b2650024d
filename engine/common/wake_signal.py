"""A wait for news: one task sleeps until others say that something has changed, and then looks for itself.

It is for conditions that are cheap to ask again and that many calls may change (a stream's credit, what a receiver holds). So
the waiting task asks, and waits only if the answer is no:

    while not covered():
        await bell.next_ring()

Everything here runs on the loop's thread, and a ring is for who waits at that time: it is not kept. Nothing is missed all the
same, since no other call runs between the question and `next_ring`, and a ring counts from then on, awaited already or not.
Another thread rings with `loop.call_soon_threadsafe`.

Considered and rejected: `asyncio.Event`, which keeps a ring until somebody clears it, so that each loop would have to clear it
before it asks; `asyncio.Condition`, whose lock the callbacks of a transport cannot wait for.
"""

from __future__ import annotations

import asyncio


class WakeSignal:
    """See the module's docstring. One task waits at a time; it may be cancelled."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: asyncio.Future[None] | None = None

    def next_ring(self) -> asyncio.Future[None]:
        """To be awaited: done when it rings."""
        assert self._waiting is None or self._waiting.done(), "somebody waits already"
        self._waiting = asyncio.get_running_loop().create_future()
        return self._waiting

    def ring(self) -> None:
        """Wake who waits, if anybody does."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

"""A wait for changes: one task sleeps until others signal that something has changed, and then checks for itself.

It is for conditions that are cheap to check again and that many calls may change (a stream's credit, the content of a
receiver). The waiting task checks, and waits only if the condition does not hold:

    while not covered():
        await bell.next_ring()

Everything here runs on the event loop's thread. A ring wakes only the task that waits at that time; it is not stored.
No ring is missed all the same, because no other call runs between the check and `next_ring`, and a ring counts from
that call on, whether or not the future is awaited yet. Another thread rings with `loop.call_soon_threadsafe`.

Considered and rejected: `asyncio.Event`, which stores a ring until it is cleared, so that each loop would have to clear
it before it checks; `asyncio.Condition`, whose lock the callbacks of a transport cannot wait for.
"""

from __future__ import annotations

import asyncio


class WakeSignal:
    """The signal; see the module's docstring. Only one task may wait at a time; the wait may be cancelled."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: asyncio.Future[None] | None = None

    def next_ring(self) -> asyncio.Future[None]:
        """Return a future that is done at the next ring."""
        assert self._waiting is None or self._waiting.done(), "somebody waits already"
        self._waiting = asyncio.get_running_loop().create_future()
        return self._waiting

    def ring(self) -> None:
        """Wake the waiting task, if there is one."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

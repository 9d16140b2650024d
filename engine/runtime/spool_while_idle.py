"""Spools to disk while a consumer is away, so that its producers can go on and finish.

A portal that is suspended, or whose client reads slowly, asks for no rows; then the windows fill, and every producer
waits (`SET sluice.fault_policy = fail`, and all others except `spool`). With `spool` the receiver keeps reading until
the consumer is back. The pause between two pages does not count as an absence: spooling rows that are read at once
would only keep the disk busy.
"""

from __future__ import annotations

import asyncio
from typing import Final

from engine.exchange.receive import Receiver

_PAUSE_SECONDS: Final = 0.1


class IdleSpool:
    """The spool of one receiver, for the time in which its consumer is idle. bytes_max: the limit on disk; when it is
    reached, producers wait as they would without a spool.
    """

    def __init__(self, receiver: Receiver, bytes_max: int) -> None:
        receiver.share.bytes_max = bytes_max
        self._receiver = receiver
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Note that the consumer has the rows that it asked for."""
        self._timer = asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self._receiver.spool, True)

    def end(self) -> None:
        """Note that the consumer asks for more rows, or never will. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._receiver.spool(False)

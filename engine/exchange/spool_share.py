"""The share of one edge in the member's spool (`engine.exchange.spool`): how much its streams may have on disk."""

from __future__ import annotations

from engine.exchange.spool import Spooler


class SpoolShare:
    """The share of one receiver. spooler: the member's.

    is_open: whether its streams may continue into files now. bytes_max: how much they may write in all; None: as much
    as the member's budget allows. bytes_used: how much they have written.
    """

    def __init__(self, spooler: Spooler) -> None:
        self.spooler = spooler
        self.is_open = False
        self.bytes_max: int | None = None
        self.bytes_used = 0

    def covers(self, size: int) -> bool:
        """Return whether there is room for so many more bytes."""
        within = self.bytes_max is None or self.bytes_used + size <= self.bytes_max
        return within and self.spooler.covers(size)

"""A budget for the encoded output that a member holds for all of its clients; it sets the size of each next page.

A page is the rows that are encoded at once. It is held in memory until the client has read all but the last of it, so
each client that does not read costs a page. The next page takes a share of what is free of the budget: with few such
clients it has the wanted size; with many it becomes smaller, down to a minimum at which rows still go out in a few
large writes. No client waits for another one.
"""

from __future__ import annotations

from typing import Final

#: A page takes the free budget divided by this.
_PARTS: Final = 32
_PAGE_MIN: Final = 64 << 10


class OutputBudget:
    """bytes_max: the limit for the pages of all clients, except pages of the minimal size. held: the bytes of their
    pages now.
    """

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.held = 0

    def page_bytes(self, wanted: int) -> int:
        """Return the size of the next page. wanted: its size while the budget allows it."""
        return min(wanted, max((self.bytes_max - self.held) // _PARTS, _PAGE_MIN))

    def add(self, size: int) -> None:
        self.held += size

    def release(self, size: int) -> None:
        assert size <= self.held, "what is given back was taken"
        self.held -= size

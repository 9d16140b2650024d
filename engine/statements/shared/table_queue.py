"""Queues of the statements that change the same table, and of definitions. `engine.statements.dml.autocommit_retry`
says
when a statement waits in one.
"""

from __future__ import annotations

import asyncio
from typing import Final
from weakref import WeakValueDictionary

#: The place of definitions among the tables.
_DEFINITIONS: Final = 0


class TableQueue:
    """The queues of a member's tables. Used on the event loop's thread only."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def of(self, table: int) -> asyncio.Lock:
        """The turn of a table, by its OID: in the order in which they ask. Kept for as long as somebody has it."""
        return self._locks.setdefault(table, asyncio.Lock())

    def of_definitions(self) -> asyncio.Lock:
        """The turn of definitions that others were in the way of."""
        return self.of(_DEFINITIONS)

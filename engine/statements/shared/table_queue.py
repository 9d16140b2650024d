"""Queues of the statements that change the same table, and of definitions. `engine.statements.dml.autocommit_retry`
says when a statement waits in one.
"""

from __future__ import annotations

import asyncio
from typing import Final
from weakref import WeakValueDictionary

#: The number of the queue of definitions, among the OIDs of tables.
_DEFINITIONS: Final = 0


class TableQueue:
    """The queues of a member's tables. Used on the event loop's thread only."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def of(self, table: int) -> asyncio.Lock:
        """Return the turn of a table, by its OID; it is given in the order of the requests. It is kept as long as a
        statement refers to it.
        """
        return self._locks.setdefault(table, asyncio.Lock())

    def of_definitions(self) -> asyncio.Lock:
        """Return the turn of definitions that have conflicted with others."""
        return self.of(_DEFINITIONS)

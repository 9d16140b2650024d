"""A statement that is a transaction of its own: nobody is told of a conflict, as nobody is by PostgreSQL, which waits for a row.

Commits are optimistic: of two that are in each other's way the later one fails with 40001, and its work is for nothing. Two
things keep that from clients whose statement is all of its transaction (autocommit):

- *turns*: within a member such statements wait for each other, by table, where their commits would conflict. It is not a lock:
  rows that only come, transactions of several statements, and other members do not wait.
- *again*: where the commit conflicts all the same, the statement runs again on what is there now. By then its client may have
  been told how many rows it changed, and RETURNING's; if the second run comes to anything else, the 40001 stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

import pyarrow as pa

from engine.mutation.run import Outcome
from engine.plan.logical import Mutate


class Turns:
    """On the loop's thread."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    def of(self, table: int) -> asyncio.Lock:
        """The turn of a table, by its OID: in the order in which they ask. Kept for as long as somebody has it."""
        return self._locks.setdefault(table, asyncio.Lock())


def needs_turn(plan: Mutate) -> bool:
    """Whether another commit to the table can be in its way."""
    return bool(plan.keys or plan.targets or plan.whole)


class LoneStatement:
    """again: runs it once more; in a transaction that has begun. told: what it came to, as its client may know."""

    def __init__(self, again: Callable[[], Awaitable[Outcome]], told: Outcome) -> None:
        self.again = again
        self._rows = told.rows
        self._returned = _table(told)

    def is_as_told(self, outcome: Outcome) -> bool:
        if outcome.rows != self._rows:
            return False
        returned = _table(outcome)
        return returned is self._returned or (
            returned is not None and self._returned is not None and returned.equals(self._returned)
        )


def _table(outcome: Outcome) -> pa.Table | None:
    return pa.Table.from_batches(outcome.returned) if outcome.returned else None

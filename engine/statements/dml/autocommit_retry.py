"""A statement that is a transaction of its own: nobody is told of a conflict, as nobody is by PostgreSQL, which waits for a row,
or for whoever changes a definition.

Commits are optimistic: of two that are in each other's way the later one fails with 40001, and its work is for nothing. Three
things keep that from clients whose statement is all of its transaction (autocommit):

- *turns*: within a member statements that change rows wait for each other, by table, where their commits would conflict. It is
  not a lock: rows that only come, transactions of several statements, and other members do not wait.
- *again, while it runs*: a definition is made on the catalog as it is, and then tried on the newest one. Where another commit has
  come in between it is taken back and made on what is there now, as nothing of it was seen: so the second of two that create one
  table is told that the table is there. Those that are made again wait for each other, lest they be in each other's way again.
- *again, at the commit*: where the commit conflicts all the same, the statement runs again on what is there now. By then its
  client may have been told how many rows it changed, and RETURNING's; if the second run comes to anything else, the 40001 stands.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import pyarrow as pa

from engine.plan_ir.logical import Mutate
from engine.session.context.transaction_context import ChangeOutcome


def needs_turn(plan: Mutate) -> bool:
    """Whether another commit to the table can be in its way."""
    return bool(plan.keys or plan.targets or plan.whole)


class Lone(Protocol):
    """A statement that has run, and is all of its transaction. definition: it changes no rows, or only of what it defines."""

    definition: bool

    async def repeats(self) -> bool:
        """Run it once more, in a transaction that has begun; whether it comes to what its client may have been told.
        Raises SqlError."""
        ...


class LoneDefinition:
    """run: carries it out, and gives its tag. tag: what it was."""

    definition = True

    def __init__(self, run: Callable[[], Awaitable[str]], tag: str) -> None:
        self._run = run
        self._tag = tag

    async def repeats(self) -> bool:
        return await self._run() == self._tag


class LoneStatement:
    """One that changes rows. again: runs it once more. told: what it came to, as its client may know."""

    definition = False

    def __init__(self, again: Callable[[], Awaitable[ChangeOutcome]], told: ChangeOutcome) -> None:
        self.again = again
        self._rows = told.rows
        self._returned = _table(told)

    async def repeats(self) -> bool:
        return self._is_as_told(await self.again())

    def _is_as_told(self, outcome: ChangeOutcome) -> bool:
        if outcome.rows != self._rows:
            return False
        returned = _table(outcome)
        return returned is self._returned or (
            returned is not None and self._returned is not None and returned.equals(self._returned)
        )


def _table(outcome: ChangeOutcome) -> pa.Table | None:
    return pa.Table.from_batches(outcome.returned) if outcome.returned else None

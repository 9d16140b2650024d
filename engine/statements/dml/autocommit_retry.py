"""Autocommit statements run again after a conflict, so that their clients see no serialization failure. PostgreSQL's
clients see none either: there, the statement waits for the row, or for the transaction that changes a definition.

Commits are optimistic: of two that conflict the later one fails with 40001, and its work is lost. Three measures hide
that from clients whose statement is its whole transaction (autocommit):

- *turns*: within a member, statements that change rows wait for each other, by table, if their commits would conflict.
  A turn is not a lock: statements that only add rows, transactions of several statements, and other members do not
  wait.
- *retry while it runs*: a definition is made on the session's snapshot of the catalog, and then tried on the newest
  one. If another commit has come in between, the definition is rolled back and made again on the newest state, since
  its client has seen nothing of it yet: so the second of two statements that create one table fails because the table
  exists. Definitions that are repeated wait for each other, unless they may take long, so that they do not conflict
  with each other again. A statement that changes rows is repeated too if it meets a conflict while it runs.
- *retry at the commit*: if the commit conflicts nevertheless, the statement runs again on the newest state. By then its
  client may have received the number of changed rows, and RETURNING's rows; if the second run has any other result, the
  40001 stands.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import pyarrow as pa

from engine.plan_ir.logical import Mutate
from engine.session.context.transaction_context import ChangeOutcome


def needs_turn(plan: Mutate) -> bool:
    """Return whether another commit to the table can conflict with the statement's."""
    return bool(plan.keys or plan.targets or plan.whole)


class Lone(Protocol):
    """An autocommit statement that has run. definition: it changes no rows, or only rows of what it defines."""

    definition: bool

    async def repeats(self) -> bool:
        """Run it again, in a transaction that has begun. Returns whether the result is the one that its client may have
        received. Raises SqlError.
        """
        ...


class LoneDefinition:
    """An autocommit definition. run: runs it, and returns its command tag. tag: the command tag of the first run."""

    definition = True

    def __init__(self, run: Callable[[], Awaitable[str]], tag: str) -> None:
        self._run = run
        self._tag = tag

    async def repeats(self) -> bool:
        return await self._run() == self._tag


class LoneStatement:
    """An autocommit statement that changes rows. again: runs it again. told: the result of the first run, which its
    client may have received.
    """

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

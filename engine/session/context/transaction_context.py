"""The interface of a session's transaction for the handlers of statements.
`engine.session.transaction.SessionTransaction` provides it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import pyarrow as pa

from engine.catalog.model.objects import Table
from engine.statements.shared.deferral import Deferral


class ChangeOutcome(Protocol):
    """The outcome of a statement that changes rows. returned: RETURNING's rows."""

    @property
    def rows(self) -> int: ...

    @property
    def returned(self) -> Sequence[pa.RecordBatch]: ...


OutcomeT = TypeVar("OutcomeT", bound=ChangeOutcome)


class TransactionContext(Protocol):
    """deferral: the constraints that the transaction has deferred."""

    deferral: Deferral

    def now(self) -> int:
        """The start of the transaction, or outside of one the time. Microseconds since 1970."""
        ...

    async def take_turn(self, table: Table) -> None:
        """Wait in the queue of a table, and see what those before have committed."""
        ...

    async def define(self, run: Callable[[], Awaitable[str]], *, waits: bool) -> str:
        """Run a definition that is all of the transaction, again while commits of others conflict with it; returns its tag.
        waits: whether it waits in the queue of definitions then. Raises SqlError."""
        ...

    async def change(self, run: Callable[[], Awaitable[OutcomeT]]) -> OutcomeT:
        """Run a statement that changes rows and is all of the transaction, likewise. Raises SqlError."""
        ...

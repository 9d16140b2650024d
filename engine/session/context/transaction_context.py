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
    """The result of a statement that changes rows. returned: RETURNING's rows."""

    @property
    def rows(self) -> int: ...

    @property
    def returned(self) -> Sequence[pa.RecordBatch]: ...


OutcomeT = TypeVar("OutcomeT", bound=ChangeOutcome)


class TransactionContext(Protocol):
    """See the module's docstring. deferral: the constraints that the transaction has deferred."""

    deferral: Deferral

    def now(self) -> int:
        """Return the start of the transaction, or the current time outside of one, in microseconds since 1970."""
        ...

    async def take_turn(self, table: Table) -> None:
        """Wait in the queue of a table, and load what the statements before have committed."""
        ...

    async def define(self, run: Callable[[], Awaitable[str]], *, waits: bool) -> str:
        """Run an autocommit definition, and repeat it while commits of others conflict with it; return its tag. waits:
        whether repetitions wait in the queue of definitions. Raises SqlError.
        """
        ...

    async def change(self, run: Callable[[], Awaitable[OutcomeT]]) -> OutcomeT:
        """Run an autocommit statement that changes rows, and repeat it likewise. Raises SqlError."""
        ...

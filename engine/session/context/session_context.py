"""A session as handlers of statements see it: its state, and the planning and execution of queries in its transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from engine.catalog.model.objects import Relation
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.contracts.executor import ExecutionContext
from engine.contracts.memory_share import MemoryShare
from engine.contracts.sessions import Execution, Prepared
from engine.session.context.parameter_digits import Digits
from engine.session.context.session_state import SessionState
from engine.session.context.statement_cache import PlannedQuery
from engine.sql.binder.scope import RowLock
from engine.sql.parser.nodes import statements as s
from engine.statements.shared.deferral import Deferral
from engine.statements.shared.definer import Definer
from engine.statements.shared.distribution import Terms


class SessionContext(SessionState, Protocol):
    """`engine.session.session.Session` provides it."""

    @property
    def memory(self) -> MemoryShare | None:
        """The memory that the statements of the session's user share."""
        ...

    @property
    def deferral(self) -> Deferral:
        """The constraints that the transaction has deferred."""
        ...

    @deferral.setter
    def deferral(self, now: Deferral) -> None: ...

    async def plan(
        self, query: s.Query, parameter_types: tuple[int, ...], digits: Digits, before: PlannedQuery | None = None
    ) -> PlannedQuery:
        """Bind and optimise a query against the catalog as it is now. before: an earlier plan of it, used again if it still holds.
        Raises SqlError."""
        ...

    async def run_query(
        self, prepared: Prepared, query: s.Query, arguments: Sequence[Any], *, trusted: bool = False
    ) -> Execution:
        """Start a prepared query. trusted: without asking for privileges again. Raises SqlError."""
        ...

    async def run_planned(self, planned: PlannedQuery, arguments: Sequence[Any]) -> Execution:
        """Start a query that has been planned. Raises SqlError."""
        ...

    async def guard(self, locks: Sequence[RowLock], reads: Sequence[Relation]) -> None:
        """Have the commit fail if another one changes these rows. Raises SqlError."""
        ...

    def execution_context(self) -> ExecutionContext:
        """The context of a new query, under the settings as they are."""
        ...

    def terms(self) -> Terms:
        """The settings under which a query is compiled."""
        ...

    def definer(self) -> Definer:
        """What a statement that defines something uses."""
        ...

    def taken(self, sequence: int, count: int) -> npt.NDArray[np.int64]:
        """Take values of a sequence (by OID) for so many rows. May block."""
        ...

    def sequence_of(self, oid: int) -> NumberSequence:
        """The sequence with an OID. Raises InternalError where there is none."""
        ...

    async def write_kept(self) -> None:
        """Write the rows that the transaction keeps in memory, so that statements can read them. Raises SqlError."""
        ...

"""The interface of a session for the server, and of the factory that makes it. The rest of the contract is in
`engine.contracts.sessions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from engine.contracts.progress import Progress
from engine.contracts.query_id import QueryId
from engine.contracts.session_settings import Settings
from engine.contracts.sessions import Client, Execution, Prepared
from engine.monitor.record import StatementRecord
from engine.sql.parser.nodes.copy import CopyTo
from engine.sql.parser.nodes.statements import Statement


class SessionFactory(Protocol):
    """The maker of sessions for the server: `Engine.session`.

    user, database: from the startup packet. options: the settings the client began with, by name as sent; a bad one
    raises SqlError. client: kept by the session for as long as it lives.
    """

    def __call__(self, *, user: str, database: str, options: Mapping[str, str], client: Client) -> EngineSession: ...


class EngineSession(Protocol):
    """See the module's docstring. `settings` is read by the server for its own keys (statement_timeout, DateStyle ...)."""

    settings: Settings
    #: Of the statement that the session prepares or executes; set by the server, None where nobody watches.
    record: StatementRecord | None

    def new_query_id(self) -> QueryId:
        """The next id of a query that this member initiates."""
        ...

    async def parse(self, sql: str) -> Sequence[Statement]:
        """Split and parse a query string; empty for one without statements. Raises SqlSyntaxError with a position."""
        ...

    async def prepare(self, statement: Statement, parameter_types: Sequence[int]) -> Prepared:
        """Bind a statement. `parameter_types`: OIDs, 0 where the client leaves it to us. Raises SqlError."""
        ...

    async def execute(self, prepared: Prepared, arguments: Sequence[Any], *, single: bool = False) -> Execution:
        """Run a prepared statement with canonical values (`engine.plan_ir.expr`) for its parameters.

        single: nobody began the transaction, which ends by itself: it may be this statement's alone.
        """
        ...

    def copy_rows(self, statement: CopyTo, rows: Execution) -> Execution:
        """A COPY TO STDOUT of rows that another session's query gives. Raises SqlError for its options."""
        ...

    async def progress(self) -> Progress:
        """Return the progress of the statement that runs now, or that ran last. Called by another task while it runs."""
        ...

    def takes_rows(self, prepared: Prepared) -> bool:
        """Whether `execute_rows` is worth a try: an INSERT of one row without RETURNING that depends on its parameters alone."""
        ...

    async def execute_rows(self, prepared: Prepared, rows: Sequence[Sequence[Any]]) -> bool:
        """Run an INSERT once for each of these arguments, in their order and all at once; each inserts one row.

        Returns False, with nothing changed but values taken of sequences, where this cannot be done or one of the rows is
        refused: `execute` of each then says which and why.
        """
        ...

    def begin(self) -> None: ...
    async def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def savepoint(self, name: str) -> None: ...
    def rollback_to(self, name: str) -> None:
        """Raises InvalidSavepointSpecification."""
        ...

    def release(self, name: str) -> None: ...
    async def discard(self, target: str) -> None:
        """DISCARD's part that is the engine's: temporary objects, settings, plans."""
        ...

    async def close(self) -> None: ...

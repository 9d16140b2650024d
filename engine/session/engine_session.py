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

    user, database: from the startup packet. options: the settings that the client gives at startup, by name as sent; an
    invalid one raises SqlError. client: the session keeps it as long as it lives.
    """

    def __call__(self, *, user: str, database: str, options: Mapping[str, str], client: Client) -> EngineSession: ...


class EngineSession(Protocol):
    """See the module's docstring. The server reads `settings` for its own keys (statement_timeout, DateStyle ...)."""

    settings: Settings
    #: The record of the statement that the session prepares or executes; set by the server, None without monitoring.
    record: StatementRecord | None

    def new_query_id(self) -> QueryId:
        """Return the next id of a query that this member initiates."""
        ...

    async def parse(self, sql: str) -> Sequence[Statement]:
        """Split and parse a query string; empty for one without statements. Raises SqlSyntaxError with a position."""
        ...

    async def prepare(self, statement: Statement, parameter_types: Sequence[int]) -> Prepared:
        """Bind a statement. `parameter_types`: OIDs, 0 if the type is to be inferred. Raises SqlError."""
        ...

    async def execute(self, prepared: Prepared, arguments: Sequence[Any], *, single: bool = False) -> Execution:
        """Run a prepared statement with canonical values (`engine.plan_ir.expr`) for its parameters.

        single: the transaction is implicit and ends by itself, so it may consist of this statement only.
        """
        ...

    def copy_rows(self, statement: CopyTo, rows: Execution) -> Execution:
        """Return a COPY TO STDOUT of the rows of another session's query. Raises SqlError for its options."""
        ...

    async def progress(self) -> Progress:
        """Return the progress of the statement that runs now, or that ran last. Called by another task while it runs."""
        ...

    def takes_rows(self, prepared: Prepared) -> bool:
        """Return whether `execute_rows` may succeed: for an INSERT of one row without RETURNING that depends on its
        parameters alone.
        """
        ...

    async def execute_rows(self, prepared: Prepared, rows: Sequence[Sequence[Any]]) -> bool:
        """Run an INSERT once for each row of arguments, in their order and all at once; each inserts one row.

        Returns False, with nothing changed except that values may have been taken from sequences, if this is impossible
        or one of the rows is refused: `execute` of each then tells which row and why.
        """
        ...

    def begin(self) -> None: ...
    async def commit(self) -> None: ...
    async def rollback(self) -> None: ...
    def savepoint(self, name: str) -> None: ...
    async def rollback_to(self, name: str) -> None:
        """Roll back to a savepoint. Raises InvalidSavepointSpecification."""
        ...

    def release(self, name: str) -> None: ...
    async def discard(self, target: str) -> None:
        """Run the engine's part of DISCARD: temporary objects, settings, plans."""
        ...

    async def close(self) -> None: ...

"""What the engine offers to the server: sessions that prepare and execute statements.

    engine = Engine(config); await engine.start()
    session = engine.session(user="ann", database="sluice", options={"TimeZone": "Europe/Paris"})
    [statement] = session.parse("select $1::int4 + 1")
    prepared = await session.prepare(statement, parameter_types=(0,))
    execution = await session.execute(prepared, (41,))
    while (batch := await execution.stream.next_batch()) is not None: ...
    await execution.close()
    await session.close(); await engine.close()

A session belongs to one client connection and is used by one task at a time, but several of its executions may be
suspended at once (portals). It owns the client's settings, its catalog transaction and its temporary objects. The server
owns what the protocol owns: prepared statements' and portals' names, transaction status, pages.

Transactions: the server calls `begin` at BEGIN (or at the start of an implicit block), then exactly one of `commit` or
`rollback`; `savepoint`, `rollback_to`, `release` in between. They cover the catalog and transactional settings
(SET is undone by ROLLBACK, SET LOCAL by both).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.executor import BatchStream
from engine.sql.statements import Statement
from engine.sql.types import SqlType
from wire import types as t


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column as RowDescription tells it. table_oid, attribute: where it is a plain table column, else 0."""

    name: str
    type: SqlType
    table_oid: int = 0
    attribute: int = 0


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement analysed: what Describe can tell before execution.

    parameters: the types of $1 ..., inferred where the client named none.
    columns: None for a statement that returns no rows.
    plan: the engine's own; opaque to the server.
    """

    statement: Statement
    parameters: tuple[t.PgType, ...]
    columns: tuple[ResultColumn, ...] | None
    plan: Any = field(default=None, repr=False, compare=False)


class Execution(Protocol):
    """A statement under way. For one without rows `columns` is None and the stream is at its end at once."""

    columns: tuple[ResultColumn, ...] | None
    stream: BatchStream

    def tag(self, rows: int) -> str:
        """The command tag, given how many rows went to the client: `SELECT 5`, `CREATE VIEW`, `SET`."""
        ...

    async def close(self) -> None:
        """Cancel if running, release everything; idempotent."""
        ...


class SettingChange(Protocol):
    """Called with (name, value) when a setting that clients are told of (GUC_REPORT) changed."""

    def __call__(self, name: str, value: str) -> None: ...


class EngineSession(Protocol):
    """See the module's docstring. `settings` is read by the server for its own keys (statement_timeout, DateStyle ...)."""

    settings: Settings

    def parse(self, sql: str) -> Sequence[Statement]:
        """Split and parse a query string; empty for one without statements. Raises SqlSyntaxError with a position."""
        ...

    async def prepare(self, statement: Statement, parameter_types: Sequence[int]) -> Prepared:
        """Bind a statement. `parameter_types`: OIDs, 0 where the client leaves it to us. Raises SqlError."""
        ...

    async def execute(self, prepared: Prepared, arguments: Sequence[Any]) -> Execution:
        """Run a prepared statement with canonical values (`engine.sql.expr`) for its parameters."""
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


class Settings(Protocol):
    """A session's settings (GUCs): see `engine.settings`."""

    def get(self, name: str) -> str:
        """The current value as SHOW prints it. Raises UndefinedObject for an unknown name."""
        ...

    def set(self, name: str, value: str | None, *, local: bool = False) -> None:
        """SET; None is DEFAULT. Raises InvalidParameterValue, UndefinedObject or CantChangeRuntimeParam."""
        ...

    def reset_all(self) -> None: ...
    def reported(self) -> Mapping[str, str]:
        """The settings that ParameterStatus tells, with their present values."""
        ...

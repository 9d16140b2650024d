"""The engine's interface to the server: sessions that prepare and execute statements.

    engine = Engine(config); await engine.start()
    session = engine.session(user="ann", database="sluice", options={"TimeZone": "Europe/Paris"}, client=client)
    [statement] = await session.parse("select $1::int4 + 1")
    prepared = await session.prepare(statement, parameter_types=(0,))
    execution = await session.execute(prepared, (41,))
    while (batch := await execution.stream.next_batch()) is not None: ...
    await execution.close()
    await session.close(); await engine.close()

A session belongs to one client connection and is used by one task at a time, but several of its executions may be
suspended at once (portals). It owns the client's settings, its catalog transaction and its temporary objects. The
server owns the objects of the protocol: prepared statements' and portals' names, transaction status, pages.

Transactions: the server calls `begin` at BEGIN (or at the start of an implicit block), then exactly one of `commit` or
`rollback`; `savepoint`, `rollback_to`, `release` in between. They cover the catalog and transactional settings (SET is
undone by ROLLBACK, SET LOCAL by both).

Interruption: a cancel, a timeout or a client that has gone is an `asyncio.CancelledError` inside whatever the server
awaits here. `prepare` and `execute` then leave nothing of theirs behind; after an interrupted `next_batch` the server
awaits the execution's `close`, and the session is usable again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Protocol

from engine.common.sql_type import SqlType
from engine.contracts.activity import ClusterReport, Part, StatementsKept
from engine.contracts.batch_stream import BatchStream
from engine.contracts.query_id import QueryId
from engine.sql.parser.nodes.statements import Statement
from wire.dataclass import dataclass
from wire.errors import Notice
from wire.types import pg_types as t


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column as RowDescription describes it. table_oid, attribute: the table's column, if it is a plain table column,
    else 0.
    """

    name: str
    type: SqlType
    table_oid: int = 0
    attribute: int = 0


@dataclass(frozen=True, slots=True)
class Prepared:
    """An analysed statement: the data that Describe returns before execution.

    parameters: the types of $1 ..., inferred where the client named none.
    columns: None for a statement that returns no rows.
    plan: the engine's own; opaque to the server.
    """

    statement: Statement
    parameters: tuple[t.PgType, ...]
    columns: tuple[ResultColumn, ...] | None
    plan: Any = field(default=None, repr=False, compare=False)


class Execution(Protocol):
    """A running statement. If it returns no rows, `columns` is None and the stream is at its end at once. A stream of
    one engine, or of several members, has the engine's name as `engine_name`
    (`engine.contracts.batch_stream.engine_of`).
    """

    columns: tuple[ResultColumn, ...] | None
    stream: BatchStream

    @property
    def query(self) -> QueryId | None:
        """The id by which all members know the query; None for a statement that is not a query."""
        ...

    def tag(self, rows: int) -> str:
        """Return the command tag, given how many rows went to the client: `SELECT 5`, `CREATE VIEW`, `SET`."""
        ...

    async def close(self) -> None:
        """Cancel if running, release everything; idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class Activity:
    """One connection, for pg_stat_activity. Times are seconds since the epoch, or None where there is none yet.

    state: PostgreSQL's words: `active`, `idle`, `idle in transaction`, `idle in transaction (aborted)`.
    """

    pid: int
    user: str
    database: str
    application_name: str
    client_address: str | None
    client_port: int | None
    state: str
    query: str
    backend_start: float
    transaction_start: float | None
    query_start: float | None
    state_change: float | None
    server_address: str | None = None
    server_port: int | None = None


@dataclass(frozen=True, slots=True)
class CursorState:
    """One open cursor or portal, for pg_cursors. created: seconds since the epoch."""

    name: str
    statement: str
    holdable: bool
    binary: bool
    scrollable: bool
    created: float


@dataclass(frozen=True, slots=True)
class PreparedState:
    """One prepared statement, for pg_prepared_statements. from_sql: by PREPARE, not by the protocol."""

    name: str
    statement: str
    prepared_at: float
    parameters: tuple[t.PgType, ...]
    from_sql: bool


class Client(Protocol):
    """The client connection, as a session of the engine sees it. Every method may be called from any thread."""

    backend_pid: int

    @property
    def turn(self) -> float:
        """The time at which the client's last message had arrived, by `time.monotonic`. It is the same for messages
        that had all arrived when the first of them was taken: the client sent them without having learnt anything in
        between.
        """
        ...

    def notice(self, notice: Notice) -> None:
        """Send a notice to the client at once, also while a statement runs; `client_min_messages` is applied here."""
        ...

    def cancel_backend(self, pid: int) -> bool:
        """Interrupt the statement of that connection (pg_cancel_backend); return False if there is no such connection."""
        ...

    def terminate_backend(self, pid: int) -> bool:
        """End that connection (pg_terminate_backend); return False if there is no such connection."""
        ...

    def activity(self) -> Sequence[Activity]:
        """Return all connections of this member."""
        ...

    def cursors(self) -> Sequence[CursorState]:
        """Return this connection's open cursors."""
        ...

    def cluster(self, *parts: Part) -> ClusterReport:
        """Return the activity of all members. Waits for them, for a bounded time, and warns the client of those that do
        not answer.
        """
        ...

    def statement_statistics(self) -> StatementsKept:
        """Return the costs of this member's statements."""
        ...

    def reset_statement_statistics(self, user: str | None, query_id: int) -> None:
        """Reset statement statistics on all members (pg_stat_statements_reset). Waits for them, for a bounded time, and
        warns the client of those that do not answer. user: None is any; query_id: 0 is any.
        """
        ...

    def prepared_statements(self) -> Sequence[PreparedState]:
        """Return this connection's prepared statements."""
        ...

    def notify(self, channel: str, payload: str) -> None:
        """Send a notification (pg_notify). Raises InvalidParameterValue."""
        ...

    def listening_channels(self) -> Sequence[str]:
        """Return the channels that this connection listens on (pg_listening_channels)."""
        ...

    def notifications_waiting(self) -> float:
        """Return how full the fullest listener's queue of this member is, from 0 to 1 (pg_notification_queue_usage)."""
        ...

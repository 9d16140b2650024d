"""The statement that a session runs, through whichever door its client has come: its portal, clock, record and log.

`server.pgwire.exchange_of_messages` adds the PostgreSQL protocol's socket; `server.http.session` has none. The cleanup
after an error finds here what ran (`active`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from engine.contracts.batch_stream import engine_of
from engine.monitor.record import StatementRecord
from engine.sql.parser.masking import ACTIVITY_BYTES, activity_text
from engine.sql.parser.nodes.statements import Query, Statement
from server.cursors.portal import Portal, PortalState
from server.logs.explained import explain_plan
from server.logs.lines import Origin
from server.logs.statements import StatementLog
from server.monitor.records import SessionRecords
from server.pgwire.statement_counts import StatementCounts
from server.session.commands import Commands
from server.session.cursor_statements import Fetching
from server.session.session_settings import SettingsView
from server.session.statement_statistics import StatementStatistics, counted_statement
from server.session.transaction_control import EXITS
from wire.errors import ConfigurationLimitExceeded, QueryCanceled, SqlError


def _rows(portal: Portal, tag: str) -> int:
    """Return the number of rows that a statement gave or changed, over all its pages; 0 if its tag has no count
    (EXPLAIN, SHOW).
    """
    if tag.startswith("SELECT ") and portal.columns is not None and portal.cursor is not None:
        return portal.cursor.position
    return _count_of(tag)


class Running:
    """See the module's docstring.

    commands, settings: the session's.
    interrupt: stops what runs, with a cause.
    others: returns how many statements the same user's other sessions run.
    counts, statistics: the member's, of statements that have ended.
    records: makes the records of its statements.
    origin: returns the session, for the log.
    active: the portal that runs now; the cleanup after an error closes it.
    record: of the statement that is parsed, planned or run, until it is over; a suspended portal has its own.
    query, query_start, transaction_start: for pg_stat_activity; seconds since the epoch.
    """

    def __init__(
        self,
        commands: Commands,
        settings: SettingsView,
        interrupt: Callable[[SqlError], None],
        others: Callable[[], int],
        counts: StatementCounts,
        records: SessionRecords,
        statistics: StatementStatistics,
        origin: Callable[[], Origin],
    ) -> None:
        self.commands = commands
        self.settings = settings
        self.log = StatementLog(settings, commands.prepared, origin)
        self.active: Portal | None = None
        self._text = ""
        self.query_start: float | None = None
        self.transaction_start: float | None = None
        self._interrupt = interrupt
        self._others = others
        self._counts = counts
        self._records = records
        self.record: StatementRecord | None = None
        commands.portals.on_closed = self._on_portal_closed
        self._statistics = statistics
        #: When the statement began, by the monotonic clock.
        self._begun = 0.0
        self._timeout: asyncio.TimerHandle | None = None

    def read(self, text: str) -> None:
        """Begin the record of a text before it is parsed, which may take long."""
        self._note(self._records.begin(text, self.commands.engine.new_query_id, self.settings.now.traceparent))

    def note_parsed(self) -> None:
        """Record the end of parsing."""
        if self.record is not None:
            self.record.parse = self.record.seconds

    def _note(self, record: StatementRecord | None) -> None:
        self.record = self.commands.engine.record = record

    def begin(self, text: str, *, shared: bool = False) -> None:
        """Begin a statement, or a step towards one: start its transaction and its clock unless they have started."""
        if not self.commands.block.open:
            self.transaction_start = time.time()
        self._text, self.query_start, self._begun = text[:ACTIVITY_BYTES], time.time(), time.monotonic()
        record = self.record
        if record is None or not record.is_fresh or not record.is_of(text):
            self.read(text)
        self.start_clock()
        self.commands.transaction.start(shared=shared)

    def require_usable(self, statement: Statement | None) -> None:
        """Raise an error if the block has failed, or if the user already runs as many statements as allowed.
        Statements that end a block, and the empty query, are always let through.
        """
        if statement is not None and not isinstance(statement, EXITS):
            self.commands.block.require_usable()
            limit = self.settings.now.statements_max
            if limit and self._others() >= limit:
                raise ConfigurationLimitExceeded(
                    f"too many statements of one user: {limit} are running already",
                    hint="Repeat it later. The limit is sluice.statements_max, which ALTER ROLE sets.",
                )

    def statements(self) -> list[StatementRecord]:
        """Return the records of the statements that this session parses, plans, runs or has suspended. May be called
        from any thread.
        """
        active, record = self.active, self.record
        moved = active.execution.portal if active is not None and isinstance(active.execution, Fetching) else None
        found: list[StatementRecord] = []
        for portal in self.commands.portals:
            kept = portal.record
            if kept is not None and kept is not record and not kept.is_finished:
                kept.state = "running" if portal in (active, moved) else "suspended"
                found.append(kept)
        if record is not None and not record.is_finished:
            found.append(record)
        return found

    @property
    def query(self) -> str:
        """The text of the statement that began last, as pg_stat_activity shows it."""
        return activity_text(self._text)

    @property
    def seconds(self) -> float:
        """The seconds since the statement began."""
        return time.monotonic() - self._begun

    # -- the statement's clock -----------------------------------------------------------------------------------

    def start_clock(self) -> None:
        """Start the clock of statement_timeout, unless it runs."""
        seconds = self.settings.now.statement_timeout
        if seconds and self._timeout is None:
            loop = asyncio.get_running_loop()
            self._timeout = loop.call_later(seconds, self._timed_out)

    def stop_clock(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _timed_out(self) -> None:
        self._timeout = None
        self._interrupt(QueryCanceled("canceling statement due to statement timeout"))

    # -- running -------------------------------------------------------------------------------------------------

    async def open(self, portal: Portal) -> None:
        """Begin to run a portal, which becomes the active one."""
        self.active, record, begun = portal, self.record, time.monotonic()
        portal.record = record
        await self.commands.open(portal)
        if record is None:
            return
        record.record_start(time.monotonic() - begun)
        if self.commands.engine.record is None:
            # After DECLARE the record belongs to the new cursor, and ends when the cursor is closed.
            self.record = portal.record = None
        else:
            record.portal, record.position = portal.name or None, portal.cursor

    def resume(self, portal: Portal) -> None:
        """Note that a suspended portal runs on."""
        if portal.record is not None:
            portal.record.state = "running"
            self._note(portal.record)

    def complete(self, portal: Portal, tag: str, seconds: float | None = None) -> None:
        """Count a statement that has run to its end. seconds: its duration, if it is one of several that ran together,
        whose record the caller ends. Otherwise the duration is the time since `begin` plus that of the portal's earlier
        pages.
        """
        if seconds is None:
            seconds = portal.seconds + self.seconds
            self.end(_count_of(tag))
        stream = portal.execution.stream if portal.execution is not None else None
        engine = engine_of(stream) if stream is not None else None
        self._counts.count_completed(tag, seconds, engine)
        view = self.settings.now
        if not view.counts_statements:
            return
        found = counted_statement(portal.command.statement, self.commands.prepared)
        if found is not None and (found[1] or view.counts_utility):
            self._statistics.add(self._records.user, found, seconds, _rows(portal, tag), engine)

    async def log_slow_plan(self, portal: Portal) -> None:
        """Log the plan of a query that took at least `auto_explain.log_min_duration`."""
        view, seconds, statement = self.settings.now.log, self.seconds, portal.command.statement
        if not 0 <= view.plan_min_duration <= seconds or not isinstance(statement, Query):
            return
        try:
            plan = await explain_plan(self.commands, portal.command, portal.arguments, verbose=view.plan_verbose)
        except SqlError as error:
            plan = f"not explained: {error.message}"
        self.log.plan(seconds, portal.source or statement.text, plan)

    def end(self, rows: int = 0) -> None:
        """End the record of a statement that has run to its end. rows: the number of rows changed or given, if no
        cursor counts them.
        """
        record, self.record = self.record, None
        if record is not None and not record.is_finished:
            record.rows = rows
            self._records.end(record, "finished")

    def _on_portal_closed(self, portal: Portal) -> None:
        """End the record of a closed portal, unless it is that of the current statement, whose end is recorded
        separately.
        """
        record = portal.record
        if record is not None and record is not self.record and not record.is_finished:
            self._records.end(record, "failed" if portal.state is PortalState.FAILED else "finished")

    def over(self) -> None:
        """End the command."""
        self._note(None)
        self.stop_clock()
        if not self.commands.block.open:
            self.transaction_start = None

    async def abandon(self, error: SqlError) -> None:
        """Clean up after an error: end what ran, and the transaction as far as an error ends it."""
        self._counts.count_failed(error.sqlstate)
        self.log.error(error)
        self.stop_clock()
        self._fail(error)
        portal, self.active = self.active, None
        if portal is not None:
            portal.fail()
            await portal.close()
        await self.commands.transaction.fail()

    def _fail(self, error: SqlError) -> None:
        record = self.record
        self._note(None)
        if record is not None and not record.is_finished:
            cancelled = error.sqlstate == QueryCanceled.default_sqlstate
            self._records.end(record, "cancelled" if cancelled else "failed", error)

    async def release(self) -> None:
        """End the session: close what runs and everything suspended, roll back, end the engine's session."""
        self._fail(QueryCanceled("the session has ended"))
        portal, self.active = self.active, None
        if portal is not None:
            await portal.close()
        await self.commands.close()
        self.log.on_message("")
        self._records.close()


def _count_of(tag: str) -> int:
    """Return the number of rows at the end of a command tag; 0 if it has none."""
    count = tag.rpartition(" ")[2]
    return int(count) if count.isdigit() else 0

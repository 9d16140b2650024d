"""What a session runs, whichever door its client has come through: its portal, its statement's clock, what it tells of itself.

`server.pgwire.exchange_of_messages` adds the PostgreSQL protocol's socket; `server.http.session` has none. Whoever cleans up
after an error finds here what ran (`active`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from engine.contracts.sessions import QueryState
from engine.sql.parser.masking import masked, shown
from engine.sql.parser.nodes.statements import Statement
from server.cursors.portal import Portal
from server.log_text import tabbed
from server.pgwire.commands import EXITS, Commands, Fetching
from server.pgwire.session_settings import SettingsView
from server.pgwire.statement_counts import StatementCounts
from wire.errors import ConfigurationLimitExceeded, QueryCanceled, SqlError

log = logging.getLogger(__name__)


class Running:
    """See the module's docstring.

    commands, settings: the session's. interrupt: stops what runs, with a cause. others: how many statements the same user's
    other sessions run. counts: the member's, of statements that have ended.
    active: the portal that runs now; whoever finds one after an error closes it.
    query, query_start, transaction_start: for pg_stat_activity; seconds since the epoch.
    """

    def __init__(
        self,
        commands: Commands,
        settings: SettingsView,
        interrupt: Callable[[SqlError], None],
        others: Callable[[], int],
        counts: StatementCounts,
    ) -> None:
        self.commands = commands
        self.settings = settings
        self.active: Portal | None = None
        self.query = ""
        self.query_start: float | None = None
        self.transaction_start: float | None = None
        self._interrupt = interrupt
        self._others = others
        self._counts = counts
        #: When the statement began, by the monotonic clock.
        self._begun = 0.0
        self._text = ""
        self._timeout: asyncio.TimerHandle | None = None

    def begin(self, text: str, *, shared: bool = False) -> None:
        """A statement begins, or a step towards one: its transaction and its clock start unless they have."""
        if not self.commands.block.open:
            self.transaction_start = time.time()
        self.query, self.query_start, self._begun = shown(text), time.time(), time.monotonic()
        self._text = text
        self.start_clock()
        self.commands.start_transaction(shared=shared)

    def require_usable(self, statement: Statement | None) -> None:
        """In a failed block only what ends it is let through; an empty query too, since it does nothing. The same holds where the
        user runs as many statements as he may."""
        if statement is not None and not isinstance(statement, EXITS):
            self.commands.block.require_usable()
            limit = self.settings.now.statements_max
            if limit and self._others() >= limit:
                raise ConfigurationLimitExceeded(
                    f"too many statements of one user: {limit} are running already",
                    hint="Repeat it later. The limit is sluice.statements_max, which ALTER ROLE sets.",
                )

    def queries(self, pid: int, user: str, database: str) -> list[QueryState]:
        """What runs in this session, and what is suspended in it. May be called from any thread."""
        active = self.active
        moved = active.execution.portal if active is not None and isinstance(active.execution, Fetching) else None
        found: list[QueryState] = []
        for portal in dict.fromkeys((*self.commands.portals, *([active] if active is not None else []))):
            if portal.query is not None and portal.cursor is not None:
                state = "running" if portal in (active, moved) else "suspended"
                statement, rows = portal.source or self.query, portal.cursor.position
                found.append(
                    QueryState(
                        str(portal.query), pid, user, database, portal.name, statement, state, portal.created, rows
                    )
                )
        return found

    # -- the statement's clock -----------------------------------------------------------------------------------

    def start_clock(self) -> None:
        """statement_timeout begins to run, unless it does."""
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
        """Begin to run a portal; from here on it is the active one."""
        self.active = portal
        await self.commands.open(portal)

    def completed(self, tag: str, seconds: float | None = None) -> None:
        """A statement has run to its end: count it, and log it where it took `log_min_duration_statement` and longer. seconds:
        what it took, where that is not the time since `begin`."""
        seconds = time.monotonic() - self._begun if seconds is None else seconds
        self._counts.completed(tag, seconds)
        if 0 <= self.settings.now.log_min_duration <= seconds:
            log.info("duration: %.3f ms  statement: %s", seconds * 1000, tabbed(masked(self._text)))

    def over(self) -> None:
        """The command is over."""
        self.stop_clock()
        if not self.commands.block.open:
            self.transaction_start = None

    async def abandon(self, error: SqlError) -> None:
        """After an error: end what ran and the transaction, as far as an error ends it."""
        self._counts.failed(error.sqlstate)
        self.stop_clock()
        portal, self.active = self.active, None
        if portal is not None:
            portal.fail()
            await portal.close()
        await self.commands.fail()

    async def release(self) -> None:
        """The session ends: close what runs and everything that is suspended, roll back, end the engine's session."""
        portal, self.active = self.active, None
        if portal is not None:
            await portal.close()
        await self.commands.close()

"""A session whose client has no connection: `buenavista.core.Session`, with a task of its own.

It runs one statement after another, each into a `Result`. A session without a transaction ends after its first
statement, since the client's next request may reach any other session. One with a transaction lives until the
transaction ends, or until no request has come for a while. It is in the registry like every session: pg_stat_activity
shows it, and pg_cancel_backend and limits apply to it.

An error is handled as in `server.pgwire.session`: the statement is closed and rolled back before the client is told.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from buenavista import core

from engine.contracts.progress import Progress
from engine.contracts.sessions import Activity
from engine.monitor.record import StatementRecord
from server.auth.gate import Visitor
from server.cursors.cursor_lease import CursorLeases
from server.cursors.remote_cursors import Asker
from server.http.result import Ending, Result
from server.http.statement_run import Translate, answer
from server.logs.lines import Entry, Origin, report
from server.monitor.records import SessionRecords
from server.pgwire.client import ConnectionClient
from server.pgwire.host import STATES, Host
from server.pgwire.interrupts import ClientGone, Interrupts
from server.pgwire.running import Running
from server.pgwire.startup import as_fatal
from server.session.commands import Commands
from server.session.notifications import Said
from server.session.session_settings import SettingsView
from wire.dataclass import dataclass
from wire.errors import (
    FatalError,
    IdleInTransactionSessionTimeout,
    IdleSessionTimeout,
    InternalError,
    InvalidCursorName,
    Notice,
    SqlError,
)

log: Final = logging.getLogger(__name__)
_PROTOCOL: Final = (3, 0)


@dataclass(frozen=True, slots=True)
class Bounds:
    """rows_max: of a result; 0: without limit. abandoned_after: seconds without a request after which a client is
    considered gone.
    """

    rows_max: int = 1_000_000
    abandoned_after: float = 300.0


class Session(core.Session):
    """See the module's docstring. Everything is called on the loop's thread.

    translate: runs the translation of a statement. settings: the settings in the client's headers, by PostgreSQL's
    names. peer: address and port of the client.
    """

    pid = 0
    cancel_key = b""

    def __init__(
        self,
        host: Host,
        bounds: Bounds,
        translate: Translate,
        visitor: Visitor,
        settings: Mapping[str, str],
        peer: tuple[str, int] | None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.visits = CursorLeases()
        self.user = visitor.beginning.user
        self._host = host
        self._bounds = bounds
        self._translate = translate
        self._database = visitor.beginning.database
        self._options = settings
        self._peer = peer
        self._inbox: asyncio.Queue[Result] = asyncio.Queue()
        self._running: Running | None = None
        self._result: Result | None = None
        self._turn = time.monotonic()
        self._born = self._state_change = time.time()
        self._state = "starting"
        self.task = asyncio.get_running_loop().create_task(self._run())
        self._interrupts: Interrupts | None = Interrupts(self.task)

    # -- buenavista's interface --------------------------------------------------------------------------------------

    def execute_sql(self, sql: str, params: Any = None) -> Result:
        """Begin a statement in Trino's SQL. params: the client's prepared statements by name."""
        result = Result(sql, dict(params or {}))
        self._inbox.put_nowait(result)
        return result

    def in_transaction(self) -> bool:
        return self._running is not None and self._running.commands.block.status != "I"

    def close(self) -> None:
        """End the session and the statement that it runs."""
        self.interrupt(ClientGone("the session was closed"))

    # -- the registry's interface ------------------------------------------------------------------------------------

    def interrupt(self, cause: SqlError) -> None:
        if self._interrupts is not None:
            self._interrupts.request(cause)

    async def progress(self, result: Result) -> Progress | None:
        """Return the progress of a statement, if it is the one that runs."""
        running = self._running
        if running is None or result is not self._result or result.ending is not None or running.active is None:
            return None
        return await running.commands.engine.progress()

    def cancel(self, result: Result, cause: SqlError) -> None:
        """Cancel a statement, whether it runs or waits for others of its transaction."""
        if result is self._result:
            self.interrupt(cause)
        else:
            result.end(Ending(error=cause))

    def activity(self) -> Activity:
        assert self._running is not None
        host, port = self._peer or (None, None)
        return Activity(
            pid=self.pid,
            user=self.user,
            database=self._database,
            application_name=self._running.commands.engine.settings.get("application_name"),
            client_address=host,
            client_port=port,
            state=self._state,
            query=self._running.query,
            backend_start=self._born,
            transaction_start=self._running.transaction_start,
            query_start=self._running.query_start,
            state_change=self._state_change,
        )

    def statements(self) -> list[StatementRecord]:
        return [] if self._running is None else self._running.statements()

    def hear(self, pid: int, said: Sequence[Said]) -> None:
        """Do nothing: no client waits for notifications over HTTP."""

    notifications_waiting = 0.0

    def commands_of(self, user: str, database: str) -> Commands | None:
        if self._running is None or (user, database) != (self.user, self._database):
            return None
        return self._running.commands

    # -- statements --------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        farewell: SqlError = ClientGone("the session has ended")
        try:
            await self._serve(self._begin())
        except SqlError as error:
            farewell = error
        except Exception:
            log.exception("a session ended by an error of our own")
            farewell = _internal()
        finally:
            await self._end(farewell)

    def _begin(self) -> Running:
        registry = self._host.registry
        registry.assign(self, _PROTOCOL)
        client = ConnectionClient(self.pid, registry, self._deliver, lambda: self._turn)
        engine = self._host.new_session(user=self.user, database=self._database, options=self._options, client=client)
        assert self._interrupts is not None
        asker = Asker(registry.far_cursors, self.user, self._database)
        commands = Commands(
            engine, client.notice, asker, self._interrupts.run_undisturbed, lambda said: registry.say(self.pid, said)
        )
        client.commands = commands
        self._running = Running(
            commands,
            SettingsView(engine.settings),
            self.interrupt,
            lambda: registry.busy_beside(self, self.user),
            self._host.statements,
            SessionRecords(self.pid, self.user, self._database, self._host.ended),
            registry.statistics,
            self._origin,
        )
        registry.register(self)
        return self._running

    def _origin(self) -> Origin:
        assert self._running is not None
        host, port = self._peer or ("", None)
        name = self._running.commands.engine.settings.get("application_name")
        return Origin(self.pid, self.user, self._database, host, port, name, self._born)

    def _deliver(self, notice: Notice) -> None:
        if self._running is not None:
            self._running.log.notice(notice)
        if self._running is not None and self._result is not None and self._running.settings.wants(notice.severity):
            self._result.notices.append(notice)

    async def _serve(self, running: Running) -> None:
        while True:
            self._result = result = await self._next(running)
            if result.ending is None:
                await self._run_one(running, result)
            if not running.commands.block.open:
                return

    async def _run_one(self, running: Running, result: Result) -> None:
        self._turn = time.monotonic()
        try:
            assert self._interrupts is not None
            with self._interrupts.command():
                await self.visits.over()
                ending = await answer(running, result, self._bounds.rows_max, self._translate)
            running.over()
            result.end(ending)
        except FatalError:
            raise
        except SqlError as error:
            await self._on_failure(running, result, error)
        except Exception:
            log.exception("a statement failed by an error of our own")
            await self._on_failure(running, result, _internal())

    async def _on_failure(self, running: Running, result: Result, error: SqlError) -> None:
        await running.abandon(error)
        running.over()
        result.end(Ending(error=error))

    async def _next(self, running: Running) -> Result:
        """Wait for the next statement. During the wait, between two statements of a transaction, other sessions may
        move cursors, and the idle timeouts run.
        """
        assert self._interrupts is not None
        self._tell(STATES[running.commands.block.status])
        seconds, cause = limit_of_wait(self._bounds.abandoned_after, running.settings.now.idle_in_transaction_timeout)
        timer = asyncio.get_running_loop().call_later(seconds, self.interrupt, cause)
        self.visits.welcome = True
        try:
            with self._interrupts.idle():
                return await self._inbox.get()
        finally:
            self.visits.welcome = False
            timer.cancel()
            self._tell("active")

    def _tell(self, state: str) -> None:
        if state != self._state:
            self._state, self._state_change = state, time.time()

    # -- shutdown ----------------------------------------------------------------------------------------------------

    async def _end(self, farewell: SqlError) -> None:
        """Stop and release everything, and end the results for which clients wait."""
        running, self._interrupts = self._running, None
        if running is not None and isinstance(farewell, FatalError) and not isinstance(farewell, ClientGone):
            report(
                log,
                Entry("FATAL", farewell.message, self._origin(), farewell.sqlstate, farewell.detail, farewell.hint),
            )
        try:
            await self.visits.close(InvalidCursorName("cursor does not exist any more: its session has ended"))
            if running is not None:
                running.stop_clock()
                await running.release()
        except Exception:
            log.exception("a session could not release everything")
        finally:
            self._host.registry.forget(self)
        waiting = [self._result] if self._result is not None else []
        while not self._inbox.empty():
            waiting.append(self._inbox.get_nowait())
        for result in waiting:
            result.end(Ending(error=farewell))


def limit_of_wait(abandoned_after: float, idle_in_transaction: float) -> tuple[float, FatalError]:
    """Return the seconds for which a session waits for its client's next request, and the error with which it ends
    then: that of the shorter limit. idle_in_transaction: the client's own limit; 0: none.
    """
    if 0 < idle_in_transaction <= abandoned_after:
        return idle_in_transaction, IdleInTransactionSessionTimeout(
            "terminating connection due to idle-in-transaction timeout"
        )
    return abandoned_after, IdleSessionTimeout(
        f"terminating session: its client has sent no request for {abandoned_after:g} s",
        hint="The limit is http.abandoned_after.",
    )


def _internal() -> FatalError:
    return as_fatal(InternalError("internal error; the member's log has the details"))

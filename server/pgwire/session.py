"""One client's connection, from its first byte to its last: the task that reads messages and has them answered.

It joins what knows nothing of each other: the protocol's machine (through `server.pgwire.client_stream`), the two query
protocols (`server.pgwire.simple_query`, `server.pgwire.extended_query`) over the session's commands, and interrupts from
outside. Here is the one place where an error becomes an answer, and the one where a session ends.

An error is handled in steps that cannot be interrupted: the portal that ran is closed, the transaction rolled back or
marked failed, and only then the client is told, so that its next command finds the session as it should be.

Source: PostgreSQL 15, 55.2 "Message Flow"; postgres.c (PostgresMain).
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from typing import Any, Final

from engine.common.shielded import shielded
from engine.contracts.sessions import Activity
from engine.monitor.record import StatementRecord
from engine.session.engine_session import SessionFactory
from server.auth.beginning import Beginning
from server.auth.client_tls import common_name
from server.auth.gate import Gate, Visitor
from server.auth.login_attempts import TooManyFailedLogins
from server.cursors.cursor_lease import CursorLeases
from server.cursors.remote_cursors import Asker
from server.logs.lines import Entry, Origin, report
from server.monitor.records import EndedStatements, SessionRecords
from server.pgwire import extended_query, pipelined_rows
from server.pgwire.client import ConnectionClient
from server.pgwire.client_stream import ClientStream
from server.pgwire.exchange_of_messages import Exchange
from server.pgwire.function_call import function_call
from server.pgwire.interrupts import ClientGone, Interrupts
from server.pgwire.lite import LiteDoor, Relay
from server.pgwire.simple_query import simple_query
from server.pgwire.startup import as_fatal, authenticate, check_database, check_startup, read_startup
from server.pgwire.statement_counts import StatementCounts
from server.session.cancel import SessionRegistry
from server.session.commands import Commands
from server.session.notifications import Said
from server.session.session_settings import SettingsView
from wire.dataclass import dataclass
from wire.errors import (
    CannotConnectNow,
    FatalError,
    IdleInTransactionSessionTimeout,
    IdleSessionTimeout,
    InternalError,
    InvalidAuthorizationSpecification,
    InvalidCursorName,
    InvalidPassword,
    Notice,
    ProgramLimitExceeded,
    SqlError,
    TooManyConnections,
)
from wire.pg import messages as m
from wire.pg.connection import State

log: Final = logging.getLogger(__name__)
Handler = Callable[[Exchange, Any], Awaitable[None]]

#: What pg_stat_activity calls the status of a transaction between commands.
STATES: Final = {"I": "idle", "T": "idle in transaction", "E": "idle in transaction (aborted)"}


#: Connections beyond `max_connections` that may be between their first byte and their admission, or bring a cancel request.
UNADMITTED_MAX: Final = 100


def too_many() -> TooManyConnections:
    return TooManyConnections("sorry, too many clients already")


def _deaf() -> FatalError:
    return FatalError(
        "too many notifications wait for this connection",
        sqlstate=ProgramLimitExceeded.default_sqlstate,
        detail="They are delivered between transactions, to a client that reads.",
    )


@dataclass(frozen=True, slots=True)
class Host:
    """The member, as its sessions use it.

    new_session: `Engine.session`. gate: authenticates clients. authentication_timeout: seconds from the first byte to the end
    of authentication. superuser_reserved_connections: how many of `max_connections` are for superusers only. door: on a lite
    member, decides which clients are relayed to a data member. draining: whether new clients are refused. statements: counts of
    completed statements. ended: their history. log_connections: whether connections are logged when they arrive and when they
    are authorized.
    """

    registry: SessionRegistry
    new_session: SessionFactory
    gate: Gate
    authentication_timeout: float = 60.0
    max_connections: int = 500
    superuser_reserved_connections: int = 0
    door: LiteDoor | None = None
    draining: Callable[[], bool] = lambda: False
    statements: StatementCounts = field(default_factory=StatementCounts)
    ended: EndedStatements = field(default_factory=EndedStatements)
    log_connections: bool = False

    def require_room(self, *, superuser: bool = True) -> None:
        """Raises TooManyConnections where one more session is too many."""
        free = self.max_connections - self.registry.sessions_of_server()
        if free <= 0:
            raise too_many()
        if free <= self.superuser_reserved_connections and not superuser:
            raise TooManyConnections(
                "remaining connection slots are reserved for non-replication superuser connections"
            )


async def _ignore(_exchange: Exchange, _message: Any) -> None:
    """Ignore the messages of a COPY that has failed, which the frontend may still send."""


_HANDLERS: Final[dict[type, Handler]] = {
    m.Query: simple_query,
    m.FunctionCall: function_call,
    m.Parse: extended_query.parse,
    m.Bind: extended_query.bind,
    m.Describe: extended_query.describe,
    m.Execute: extended_query.execute,
    m.Close: extended_query.close,
    m.Flush: extended_query.flush,
    m.Sync: extended_query.sync,
    m.CopyData: _ignore,
    m.CopyDone: _ignore,
    m.CopyFail: _ignore,
}


class Session:
    """See the module's docstring. `run` is its life; all else is called on the loop's thread meanwhile."""

    pid = 0
    cancel_key = b""

    def __init__(self, stream: ClientStream, host: Host) -> None:
        self._stream = stream
        self._host = host
        self._interrupts: Interrupts | None = None
        self._exchange: Exchange | None = None
        self._beginning: Beginning | None = None
        self._draining: FatalError | None = None
        self._gone = False
        self._relaying = False
        self.visits = CursorLeases()
        #: Whether its client is one too many.
        self.crowded = False
        #: Whether its client has been asked who it is and has not proved it.
        self.is_stranger = False
        self._gives_way = False
        self._born = self._state_change = time.time()
        self._state = "starting"

    # -- from outside --------------------------------------------------------------------------------------------

    def interrupt(self, cause: SqlError) -> None:
        """Stop what runs, or the session if the cause is fatal. Never called from the session's own task."""
        if self._interrupts is not None:
            self._interrupts.request(cause)

    def client_gone(self) -> None:
        self._gone = True
        self.interrupt(ClientGone("the client closed the connection"))

    @property
    def host(self) -> str:
        """The client's address; empty where it has none."""
        return self._stream.peer[0] if self._stream.peer is not None else ""

    def give_way(self, task: asyncio.Task[None]) -> None:
        """End a stranger's connection for another one. task: runs the session."""
        assert self.is_stranger, "whoever has proved who it is stays"
        self.is_stranger, self._gives_way = False, True
        task.cancel()

    def drain(self, cause: FatalError) -> None:
        """End the session with `cause` as soon as nothing runs and no transaction is open."""
        self._draining = cause
        if self._stream.connection.state is State.IDLE and self._may_end():
            self.interrupt(cause)

    @property
    def is_admitted(self) -> bool:
        """Whether its client has been let in, and can be told why the session ends."""
        return self._interrupts is not None

    @property
    def is_serving(self) -> bool:
        """Whether it has a client: its own, or one that it carries to another member."""
        return self.is_admitted or self._relaying

    def _may_end(self) -> bool:
        return self._exchange is None or not self._exchange.commands.block.open

    def activity(self) -> Activity:
        assert self._beginning is not None
        assert self._exchange is not None
        peer, address, exchange = self._stream.peer, self._stream.address, self._exchange
        return Activity(
            pid=self.pid,
            user=self._beginning.user,
            database=self._beginning.database,
            application_name=exchange.commands.engine.settings.get("application_name"),
            client_address=peer[0] if peer else None,
            client_port=peer[1] if peer else None,
            server_address=address[0] if address else None,
            server_port=address[1] if address else None,
            state=self._state,
            query=exchange.query,
            backend_start=self._born,
            transaction_start=exchange.transaction_start,
            query_start=exchange.query_start,
            state_change=self._state_change,
        )

    def statements(self) -> list[StatementRecord]:
        return [] if self._exchange is None else self._exchange.statements()

    def hear(self, pid: int, said: Sequence[Said]) -> None:
        exchange = self._exchange
        if exchange is None or not exchange.commands.notifications.hear(pid, said):
            return
        if exchange.commands.notifications.fullness >= 1:
            # Whoever says it may be this very session's task.
            asyncio.get_running_loop().call_soon(self.interrupt, _deaf())
        else:
            self.tell_idle()

    @property
    def notifications_waiting(self) -> float:
        return self._exchange.commands.notifications.fullness if self._exchange is not None else 0.0

    def tell_idle(self) -> None:
        """Tell a client that has nothing else to wait for what its channels have said."""
        if self._exchange is not None and self._stream.connection.state is State.IDLE:
            self._exchange.tell_notifications()
            self._stream.flush()

    def commands_of(self, user: str, database: str) -> Commands | None:
        if self._exchange is None or self._beginning is None:
            return None
        own = self._beginning.user, self._beginning.database
        return self._exchange.commands if own == (user, database) else None

    # -- its life ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve the client until it or we end it. Never raises, but for a cancellation of the task."""
        farewell: FatalError | None = None
        try:
            await self._live()
        except FatalError as error:
            farewell = error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._gives_way or task is None:
                raise
            task.uncancel()
            farewell = too_many()
        except Exception:
            log.exception("a session ended by an error of our own")
            farewell = FatalError("internal error", sqlstate=InternalError.default_sqlstate)
        finally:
            await self._end(farewell)

    async def _live(self) -> None:
        if self._host.log_connections:
            self._note(f"connection received: host={self._remote}")
        try:
            async with asyncio.timeout(self._host.authentication_timeout):
                admitted = await self._admit()
        except TimeoutError:
            raise FatalError("canceling authentication due to timeout", sqlstate="57014") from None
        except (OSError, ssl.SSLError) as error:
            raise ClientGone(f"TLS handshake failed: {error}") from None
        if isinstance(admitted, Relay):
            self._relaying = True
            await admitted.run()
        elif admitted is not None:
            await self._converse(admitted)

    async def _converse(self, beginning: Beginning) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._interrupts = Interrupts(task)
        if self._gone:
            raise ClientGone("the client closed the connection")
        exchange = self._begin(beginning)
        await self._serve(exchange)

    async def _admit(self) -> Beginning | Relay | None:
        """Everything up to AuthenticationOk; None for a cancel request, which has been carried out; a relay for a client
        that a data member will answer."""
        gate, self.is_stranger = self._host.gate, True
        startup = await read_startup(self._stream, gate.access.tls)
        if isinstance(startup, m.CancelRequest):
            self._host.registry.cancel_request(startup.pid, startup.key)
            return None
        if self._host.draining():
            raise CannotConnectNow("the database system is shutting down")
        beginning, negotiation = check_startup(startup)
        if self.crowded:
            raise too_many()
        self._host.require_room()
        forwards = self._host.door is not None and self._forwards(self._host.door, beginning)
        if negotiation is not None and not forwards:
            self._stream.send(negotiation)
        visitor = self._visitor(beginning)
        await self._prove(visitor)
        self.is_stranger = False
        if forwards:
            assert self._host.door is not None
            return self._host.door.relay(self._stream, startup)
        superuser = await gate.admit(visitor, self._host.registry.connections_of)
        self._host.require_room(superuser=superuser)
        check_database(beginning.database)
        self._stream.send(m.AuthenticationOk())
        return beginning

    def _visitor(self, beginning: Beginning) -> Visitor:
        stream = self._stream
        return Visitor(beginning, self.host, stream.here, stream.tls, common_name(stream.ssl_object))

    async def _prove(self, visitor: Visitor) -> None:
        """Authenticate the client. A failure is reported after a delay, so that guessing passwords takes long."""
        gate = self._host.gate
        machine = await gate.meet(visitor)
        try:
            await authenticate(self._stream, machine, lambda answer: gate.advance(visitor, machine, answer))
        except (InvalidPassword, InvalidAuthorizationSpecification):
            await asyncio.sleep(gate.access.delay)
            raise

    @staticmethod
    def _forwards(door: LiteDoor, beginning: Beginning) -> bool:
        try:
            return door.forwards(beginning.settings)
        except SqlError as error:
            raise as_fatal(error) from None

    def _begin(self, beginning: Beginning) -> Exchange:
        """Make the engine's session and tell the client all it has to know. Raises FatalError."""
        registry = self._host.registry
        registry.assign(self, beginning.protocol)
        client = ConnectionClient(self.pid, registry, self._deliver, lambda: self._stream.turn)
        try:
            engine = self._host.new_session(
                user=beginning.user, database=beginning.database, options=beginning.settings, client=client
            )
        except SqlError as error:
            raise as_fatal(error) from None
        asker = Asker(registry.far_cursors, beginning.user, beginning.database)
        assert self._interrupts is not None
        commands = Commands(
            engine, client.notice, asker, self._interrupts.run_undisturbed, lambda said: registry.say(self.pid, said)
        )
        client.commands = commands
        exchange = Exchange(
            self._stream,
            commands,
            SettingsView(engine.settings),
            self.interrupt,
            lambda: registry.busy_beside(self, beginning.user),
            self._host.statements,
            SessionRecords(self.pid, beginning.user, beginning.database, self._host.ended),
            registry.statistics,
            self._origin,
        )
        self._beginning, self._exchange = beginning, exchange
        if self._host.log_connections:
            self._note(self._authorization_message(beginning))
        registry.register(self)
        exchange.tell_settings()
        exchange.send(m.BackendKeyData(self.pid, self.cancel_key))
        exchange.ready()
        return exchange

    def _deliver(self, notice: Notice) -> None:
        if self._exchange is not None:
            self._exchange.notice(notice)

    async def _serve(self, exchange: Exchange) -> None:
        while True:
            try:
                message = await self._next_message(exchange)
                if isinstance(message, m.Terminate):
                    return
                await self._answer(exchange, message)
            except FatalError:
                raise
            except SqlError as error:
                await self._on_failure(exchange, error)
            except Exception:
                log.exception("a statement failed by an error of our own")
                await self._on_failure(exchange, InternalError("internal error; the member's log has the details"))
            if self._draining is not None and self._stream.connection.state is State.IDLE and self._may_end():
                raise self._draining

    async def _answer(self, exchange: Exchange, message: m.FrontendMessage) -> None:
        assert self._interrupts is not None
        with self._interrupts.command():
            await self.visits.over()
            if exchange.rows is not None and not pipelined_rows.continues(exchange, message):
                await pipelined_rows.run(exchange)
            await _HANDLERS[type(message)](exchange, message)
            if exchange.rows is not None and not self._stream.connection.is_executing_on:
                await pipelined_rows.run(exchange)
        if self._stream.connection.state in (State.SIMPLE, State.SYNCING):
            exchange.ready()

    async def _on_failure(self, exchange: Exchange, error: SqlError) -> None:
        """Clean up after a command that failed, then tell the client. Nothing here is interrupted."""
        if exchange.rows is not None:
            error = await self._failed_before(exchange, error)
        await exchange.abandon(error)
        exchange.send(m.ErrorResponse.of(error))
        if self._stream.connection.state in (State.SIMPLE, State.SYNCING):
            exchange.ready()

    async def _failed_before(self, exchange: Exchange, error: SqlError) -> SqlError:
        """Run what waited when a later message failed. Returns the error that came first."""
        assert self._interrupts is not None
        try:
            with self._interrupts.command():
                await pipelined_rows.run(exchange)
        except FatalError:
            raise
        except SqlError as earlier:
            return earlier
        return error

    # -- waiting for the client ----------------------------------------------------------------------------------

    async def _next_message(self, exchange: Exchange) -> m.FrontendMessage:
        assert self._interrupts is not None
        idle = self._stream.connection.state is State.IDLE
        self._set_state(STATES[exchange.commands.block.status] if idle else "active")
        timer = self._idle_timer(exchange) if idle else None
        self.visits.welcome = idle
        try:
            with self._interrupts.idle():
                return await self._stream.next_event()
        finally:
            self.visits.welcome = False
            if timer is not None:
                timer.cancel()
            self._set_state("active")

    def _set_state(self, state: str) -> None:
        if state != self._state:
            self._state, self._state_change = state, time.time()

    def _idle_timer(self, exchange: Exchange) -> asyncio.TimerHandle | None:
        view = exchange.settings.now
        cause: FatalError
        if exchange.commands.block.open:
            seconds = view.idle_in_transaction_timeout
            cause = IdleInTransactionSessionTimeout("terminating connection due to idle-in-transaction timeout")
        else:
            seconds = view.idle_timeout
            cause = IdleSessionTimeout("terminating connection due to idle-session timeout")
        return asyncio.get_running_loop().call_later(seconds, self.interrupt, cause) if seconds else None

    # -- its end -------------------------------------------------------------------------------------------------

    async def _end(self, farewell: FatalError | None) -> None:
        """Stop and release everything, say why if somebody is left to hear it, and close the socket."""
        exchange, self._interrupts, self.is_stranger = self._exchange, None, False
        try:
            await shielded(self._release(exchange))
        finally:
            await self._part(farewell)

    async def _release(self, exchange: Exchange | None) -> None:
        try:
            await self.visits.end(InvalidCursorName("cursor does not exist any more: its session has ended"))
            if exchange is not None:
                exchange.stop_clock()
                await exchange.release()
        except Exception:
            log.exception("a session could not release everything")
        finally:
            self._host.registry.forget(self)

    async def _part(self, farewell: FatalError | None) -> None:
        self._note_disconnection()
        if farewell is not None and not isinstance(farewell, ClientGone):
            self._log(farewell)
            self._say(farewell)
        await self._stream.close()
        self._stream.connection.close()

    def _log(self, farewell: FatalError) -> None:
        """Log why a session ends. A client that is not logged in may say anything of itself, so only its address is logged."""
        if isinstance(farewell, TooManyFailedLogins):
            return
        report(
            log,
            Entry("FATAL", farewell.message, self._origin(), farewell.sqlstate, farewell.detail, farewell.hint),
        )

    def _origin(self) -> Origin:
        """A client that is not let in may say anything of itself, so only its address is known until then."""
        host, port = self._stream.peer or ("", None)
        if self._beginning is None or self._exchange is None:
            return Origin(self.pid, host=host, port=port, started=self._born)
        name = self._exchange.commands.engine.settings.get("application_name")
        return Origin(self.pid, self._beginning.user, self._beginning.database, host, port, name, self._born)

    def _note(self, message: str) -> None:
        report(log, Entry("LOG", message, self._origin()))

    @property
    def _remote(self) -> str:
        """The client's end, as PostgreSQL's messages about connections tell it."""
        peer = self._stream.peer
        return f"{peer[0]} port={peer[1]}" if peer is not None else "[local]"

    def _authorization_message(self, beginning: Beginning) -> str:
        name = beginning.settings.get("application_name")
        application = f" application_name={name}" if name else ""
        tls = self._stream.ssl_object
        said = tls.cipher() if tls is not None else None
        cipher = "" if said is None else f" SSL enabled (protocol={said[1]}, cipher={said[0]}, bits={said[2]})"
        return f"connection authorized: user={beginning.user} database={beginning.database}{application}{cipher}"

    def _note_disconnection(self) -> None:
        exchange, beginning = self._exchange, self._beginning
        if (
            exchange is None
            or beginning is None
            or exchange.commands.engine.settings.get("log_disconnections") == "off"
        ):
            return
        seconds = time.time() - self._born
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(int(minutes), 60)
        self._note(
            f"disconnection: session time: {hour}:{minute:02}:{second:06.3f} user={beginning.user} "
            f"database={beginning.database} host={self._remote}"
        )

    def _say(self, farewell: FatalError) -> None:
        if self._stream.connection.state is not State.CLOSED:
            self._stream.send(m.ErrorResponse.of(farewell))

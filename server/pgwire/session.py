"""One client's connection, from its first byte to its last: the task that reads messages and has them answered.

A session joins parts that do not know each other: the protocol's machine (through `server.pgwire.client_stream`), the
two query protocols (`server.pgwire.simple_query`, `server.pgwire.extended_query`) over the session's commands, and
interrupts from outside. The admission (`server.pgwire.admission`) and the message loop (`server.pgwire.conversation`)
are modules of their own; this module is the one place where a session begins and ends.

Source: PostgreSQL 15, 55.2 "Message Flow"; postgres.c (PostgresMain).
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Sequence
from typing import Final

from engine.common.shielded import shielded
from engine.contracts.sessions import Activity
from engine.monitor.record import StatementRecord
from server.auth.beginning import Beginning
from server.cursors.cursor_lease import CursorLeases
from server.cursors.remote_cursors import Asker
from server.monitor.records import SessionRecords
from server.pgwire.admission import Admission
from server.pgwire.client import ConnectionClient
from server.pgwire.client_stream import ClientStream
from server.pgwire.connection_log import ConnectionLog
from server.pgwire.conversation import Conversation
from server.pgwire.exchange_of_messages import Exchange
from server.pgwire.host import Host, too_many
from server.pgwire.interrupts import ClientGone, Interrupts
from server.pgwire.lite import Relay
from server.pgwire.startup import as_fatal
from server.session.commands import Commands
from server.session.notifications import Said
from server.session.session_settings import SettingsView
from wire.errors import FatalError, InternalError, InvalidCursorName, Notice, ProgramLimitExceeded, SqlError
from wire.pg import messages as m
from wire.pg.connection import State

log: Final = logging.getLogger(__name__)


def _deaf() -> FatalError:
    return FatalError(
        "too many notifications wait for this connection",
        sqlstate=ProgramLimitExceeded.default_sqlstate,
        detail="They are delivered between transactions, to a client that reads.",
    )


class Session:
    """See the module's docstring. `run` serves the client; everything else is called on the loop's thread meanwhile."""

    pid = 0
    cancel_key = b""

    def __init__(self, stream: ClientStream, host: Host) -> None:
        self._stream = stream
        self._host = host
        self.admission = Admission(stream, host)
        self._log = ConnectionLog(stream)
        self._interrupts: Interrupts | None = None
        self._conversation: Conversation | None = None
        self._beginning: Beginning | None = None
        self._draining: FatalError | None = None
        self._gone = False
        self._relaying = False
        self.visits = CursorLeases()
        self._gives_way = False

    # -- calls from outside of the task --------------------------------------------------------------------------

    def interrupt(self, cause: SqlError) -> None:
        """Stop what runs, or end the session if the cause is fatal. Never called from the session's own task."""
        if self._interrupts is not None:
            self._interrupts.request(cause)

    def client_gone(self) -> None:
        self._gone = True
        self.interrupt(ClientGone("the client closed the connection"))

    @property
    def host(self) -> str:
        """The client's address; empty if it has none."""
        peer = self._stream.socket.peer
        return peer[0] if peer is not None else ""

    def give_way(self, task: asyncio.Task[None]) -> None:
        """End the connection of an unauthenticated client in favour of another one. task: runs the session."""
        assert self.admission.is_stranger, "whoever has proved who it is stays"
        self.admission.is_stranger, self._gives_way = False, True
        task.cancel()

    def drain(self, cause: FatalError) -> None:
        """End the session with `cause` as soon as nothing runs and no transaction is open."""
        self._draining = cause
        if self._conversation is not None:
            self._conversation.drain(cause)

    @property
    def is_admitted(self) -> bool:
        """Whether its client is admitted, and can be told why the session ends."""
        return self._interrupts is not None

    @property
    def is_serving(self) -> bool:
        """Whether it has a client: its own, or one that it relays to another member."""
        return self.is_admitted or self._relaying

    def activity(self) -> Activity:
        assert self._beginning is not None
        assert self._conversation is not None
        peer, address, exchange = self._stream.socket.peer, self._stream.socket.address, self._conversation.exchange
        return Activity(
            pid=self.pid,
            user=self._beginning.user,
            database=self._beginning.database,
            application_name=exchange.commands.engine.settings.get("application_name"),
            client_address=peer[0] if peer else None,
            client_port=peer[1] if peer else None,
            server_address=address[0] if address else None,
            server_port=address[1] if address else None,
            state=self._conversation.state,
            query=exchange.query,
            backend_start=self._log.born,
            transaction_start=exchange.transaction_start,
            query_start=exchange.query_start,
            state_change=self._conversation.state_change,
        )

    def statements(self) -> list[StatementRecord]:
        return [] if self._conversation is None else self._conversation.exchange.statements()

    def hear(self, pid: int, said: Sequence[Said]) -> None:
        if self._conversation is None:
            return
        notifications = self._conversation.exchange.commands.notifications
        if not notifications.hear(pid, said):
            return
        if notifications.fullness >= 1:
            # call_soon, because the sender may be this session's own task.
            asyncio.get_running_loop().call_soon(self.interrupt, _deaf())
        else:
            self.tell_idle()

    @property
    def notifications_waiting(self) -> float:
        talk = self._conversation
        return talk.exchange.commands.notifications.fullness if talk is not None else 0.0

    def tell_idle(self) -> None:
        """Send pending notifications to a client for which nothing runs."""
        if self._conversation is not None and self._stream.connection.state is State.IDLE:
            self._conversation.exchange.tell_notifications()
            self._stream.flush()

    def commands_of(self, user: str, database: str) -> Commands | None:
        if self._conversation is None or self._beginning is None:
            return None
        own = self._beginning.user, self._beginning.database
        return self._conversation.exchange.commands if own == (user, database) else None

    # -- messages ------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve the client until either side ends the session. Never raises, except when the task is cancelled."""
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
            self._log.note(f"connection received: host={self._log.remote}")
        try:
            async with asyncio.timeout(self._host.authentication_timeout):
                admitted = await self.admission.run()
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
        await self._begin(beginning).run()

    def _begin(self, beginning: Beginning) -> Conversation:
        """Make the engine's session and send the client the start-up messages. Raises FatalError."""
        registry = self._host.registry
        registry.assign(self, beginning.protocol)
        self._log.pid = self.pid
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
            self._log.origin,
        )
        conversation = Conversation(
            self._stream, exchange, self._interrupts, self.visits, self._draining, self.interrupt
        )
        self._beginning, self._conversation = beginning, conversation
        self._log.identify(beginning, engine.settings)
        if self._host.log_connections:
            self._log.authorize(beginning)
        registry.register(self)
        exchange.tell_settings()
        exchange.send(m.BackendKeyData(self.pid, self.cancel_key))
        exchange.ready()
        return conversation

    def _deliver(self, notice: Notice) -> None:
        if self._conversation is not None:
            self._conversation.exchange.notice(notice)

    # -- shutdown ------------------------------------------------------------------------------------------------

    async def _end(self, farewell: FatalError | None) -> None:
        """Stop and release everything, tell the client the reason if it is still connected, and close the socket."""
        self._interrupts, self.admission.is_stranger = None, False
        try:
            await shielded(self._release())
        finally:
            await self._part(farewell)

    async def _release(self) -> None:
        try:
            await self.visits.close(InvalidCursorName("cursor does not exist any more: its session has ended"))
            if self._conversation is not None:
                self._conversation.exchange.stop_clock()
                await self._conversation.exchange.release()
        except Exception:
            log.exception("a session could not release everything")
        finally:
            self._host.registry.forget(self)

    async def _part(self, farewell: FatalError | None) -> None:
        self._log.disconnect()
        if farewell is not None and not isinstance(farewell, ClientGone):
            self._log.farewell(farewell)
            self._say(farewell)
        await self._stream.close()
        self._stream.connection.close()

    def _say(self, farewell: FatalError) -> None:
        if self._stream.connection.state is not State.CLOSED:
            self._stream.send(m.ErrorResponse.of(farewell))

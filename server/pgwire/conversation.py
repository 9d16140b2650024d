"""The message loop of an admitted client: reads each message, passes it to the query protocols, and sends the answer
or the error.

An error is handled in steps that cannot be interrupted: the portal that ran is closed, the transaction is rolled back
or marked failed, and only then the client is told, so that its next command finds the session in a consistent state.

Source: PostgreSQL 15, 55.2 "Message Flow"; postgres.c (PostgresMain).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from server.cursors.cursor_lease import CursorLeases
from server.pgwire import extended_query, pipelined_rows
from server.pgwire.client_stream import ClientStream
from server.pgwire.exchange_of_messages import Exchange
from server.pgwire.function_call import function_call
from server.pgwire.host import STATES
from server.pgwire.interrupts import Interrupts
from server.pgwire.simple_query import simple_query
from wire.errors import FatalError, IdleInTransactionSessionTimeout, IdleSessionTimeout, InternalError, SqlError
from wire.pg import messages as m
from wire.pg.connection import State

log: Final = logging.getLogger(__name__)
Handler = Callable[[Exchange, Any], Awaitable[None]]


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


#: The states in which ReadyForQuery is due once a message has been answered.
_COMMAND_OVER: Final = (State.SIMPLE, State.SYNCING)


class Conversation:
    """See the module's docstring. `run` handles all messages, in the session's task.

    exchange: used by the handlers of messages to answer. interrupts: of that task. visits: of other sessions to this
    one's cursors. draining: why the session is to end as soon as nothing runs and no transaction is open. interrupt:
    ends the session from outside of its task. state, state_change: for pg_stat_activity; in seconds since the epoch.
    """

    def __init__(
        self,
        stream: ClientStream,
        exchange: Exchange,
        interrupts: Interrupts,
        visits: CursorLeases,
        draining: FatalError | None,
        interrupt: Callable[[SqlError], None],
    ) -> None:
        self.exchange = exchange
        self.draining = draining
        self.state = "starting"
        self.state_change = time.time()
        self._stream = stream
        self._interrupts = interrupts
        self._visits = visits
        self._interrupt = interrupt
        self._idle_timer: asyncio.TimerHandle | None = None

    def drain(self, cause: FatalError) -> None:
        """End the session with `cause` as soon as nothing runs and no transaction is open."""
        self.draining = cause
        if self._stream.connection.state is State.IDLE and self._may_end():
            self._interrupt(cause)

    def _may_end(self) -> bool:
        return not self.exchange.commands.block.open

    async def run(self) -> None:
        """Answer messages until the client ends the session. Raises FatalError if the server ends it."""
        exchange = self.exchange
        self._set_state("active")
        while True:
            try:
                message = self._stream.arrived_event() or await self._next_message()
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
            if self.draining is not None and self._stream.connection.state is State.IDLE and self._may_end():
                raise self.draining

    async def _answer(self, exchange: Exchange, message: m.FrontendMessage) -> None:
        with self._interrupts.command():
            if exchange.loop_turn.is_over:
                await exchange.loop_turn.give_way()
            if self._visits.under_way:
                await self._visits.over()
            if exchange.rows is not None and not pipelined_rows.continues(exchange, message):
                await pipelined_rows.run(exchange)
            await _HANDLERS[type(message)](exchange, message)
            if exchange.rows is not None and not self._stream.connection.is_executing_on:
                await pipelined_rows.run(exchange)
        if self._stream.connection.state in _COMMAND_OVER:
            exchange.ready()

    async def _on_failure(self, exchange: Exchange, error: SqlError) -> None:
        """Clean up after a command that failed, then tell the client. Nothing here is interrupted."""
        if exchange.rows is not None:
            error = await self._failed_before(exchange, error)
        await exchange.abandon(error)
        exchange.send(m.ErrorResponse.of(error))
        if self._stream.connection.state in _COMMAND_OVER:
            exchange.ready()

    async def _failed_before(self, exchange: Exchange, error: SqlError) -> SqlError:
        """Run the pipelined rows that waited when a later message failed. Returns the error that came first."""
        try:
            with self._interrupts.command():
                await pipelined_rows.run(exchange)
        except FatalError:
            raise
        except SqlError as earlier:
            return earlier
        return error

    async def _next_message(self) -> m.FrontendMessage:
        """Wait for the client's next message. Meanwhile others may visit the session's cursors, and its idle time
        counts.
        """
        idle = self._stream.connection.state is State.IDLE
        self._set_state(STATES[self.exchange.commands.block.status] if idle else "active")
        if idle:
            self._begin_idle_timer()
        self._visits.welcome = idle
        try:
            with self._interrupts.idle():
                return await self._stream.next_event()
        finally:
            self._visits.welcome = False
            if self._idle_timer is not None:
                self._idle_timer.cancel()
                self._idle_timer = None
            self._set_state("active")

    def _set_state(self, state: str) -> None:
        if state != self.state:
            self.state, self.state_change = state, time.time()

    def _begin_idle_timer(self) -> None:
        view = self.exchange.settings.now
        cause: FatalError
        if self.exchange.commands.block.open:
            seconds = view.idle_in_transaction_timeout
            cause = IdleInTransactionSessionTimeout("terminating connection due to idle-in-transaction timeout")
        else:
            seconds = view.idle_timeout
            cause = IdleSessionTimeout("terminating connection due to idle-session timeout")
        if seconds:
            self._idle_in(seconds, seconds, cause)

    def _idle_in(self, left: float, seconds: float, cause: FatalError) -> None:
        self._idle_timer = asyncio.get_running_loop().call_later(left, self._idle_too_long, seconds, cause)

    def _idle_too_long(self, seconds: float, cause: FatalError) -> None:
        """End an idle session. The time counts from the last visit of another session to its cursors, during which it
        is not idle.
        """
        left = (
            seconds if self._visits.under_way else self._visits.last_visit + seconds - asyncio.get_running_loop().time()
        )
        if left > 0:
            self._idle_in(left, seconds, cause)
        else:
            self._interrupt(cause)

"""A client's socket: joins `wire.pg.connection` to an asyncio transport, with bounds in both directions.

Output: small messages are gathered and written together. Long ones are written in pieces, with a wait for the transport
between them, so that a client that reads slowly holds one page in memory and not a whole result. Gathered messages are
written at `flush`. Rows, notices, notifications and ReadyForQuery, and what was gathered before them, are written a
short time later if no flush comes first. The answers of steps, such as BindComplete, wait for those, as in PostgreSQL.

Input: the socket is also read while a statement runs, so that the loss of a client is noticed, but only up to a bound;
beyond it the kernel holds the client back (`server.pgwire.input_throttle`). While the server waits for the client to
read, the bound is larger: otherwise a client that writes its whole pipeline before it reads anything would deadlock
with the server (the larger bound applies as long as all clients together hold no more than `wire.pg.input_budget`
allows).

Neighbours: `server.pgwire.listener` makes a stream for each client; `server.pgwire.session` and its parts use it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from server.auth.client_tls import ClientTls
from server.pgwire.client_socket import ClientSocket
from server.pgwire.input_throttle import InputThrottle
from server.pgwire.interrupts import ClientGone
from server.pgwire.output_budget import OutputBudget
from wire.pg import messages as m
from wire.pg.connection import Connection, Nothing

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: Bytes that are passed to the transport at once; some libpq users stall on very large writes over TLS.
PIECE_BYTES: Final = 128 << 10
#: Bytes that the transport may hold before the server waits for the client.
WRITE_WINDOW_BYTES: Final = 256 << 10
#: Gathered bytes are written when there are this many, or, if a client may wait for them, after so many seconds.
GATHER_BYTES: Final = 16 << 10
GATHER_SECONDS: Final = 0.01
#: The messages that a client may wait for while the next command runs.
_PROMPT: Final = (m.ReadyForQuery, m.NoticeResponse, m.NotificationResponse)
#: Seconds for the client to read the pending output when the connection is closed.
CLOSE_SECONDS: Final = 5.0


def _nothing() -> None: ...


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


class ClientStream(asyncio.Protocol):
    """See the module's docstring. Call `watch` before the socket is connected. output: the budget in which output to
    clients is counted.
    """

    def __init__(self, connection: Connection, output: OutputBudget | None = None) -> None:
        self.connection = connection
        self.output = output or OutputBudget(sys.maxsize)
        #: The TLS context with which encryption began; None without encryption.
        self.tls: ClientTls | None = None
        #: The arrival of the newest input when the current message was taken (`engine.contracts.sessions.Client`).
        self.turn = 0.0
        self._arrived_at = 0.0
        self._on_open: Callable[[], None] = _nothing
        self._on_gone: Callable[[], None] = _nothing
        self._on_writable: Callable[[], None] = _nothing
        self._loop = asyncio.get_running_loop()
        self.socket = ClientSocket()
        self.reading = InputThrottle(connection, self.socket, self._set_gone)
        self._gone = False
        self._arrived: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._gathered = bytearray()
        #: Whether a long message is being written in pieces, within which no other may begin.
        self._in_pieces = False
        self._timer: asyncio.TimerHandle | None = None

    def watch(
        self, on_open: Callable[[], None], on_gone: Callable[[], None], on_writable: Callable[[], None] = _nothing
    ) -> None:
        """Set callbacks: `on_open` is called once, when the socket is connected; `on_gone` once, when the client has
        disconnected; and `on_writable` whenever a slow client has read.
        """
        self._on_open, self._on_gone, self._on_writable = on_open, on_gone, on_writable

    # -- asyncio.Protocol ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        first = self.socket.transport is None
        self.socket.transport = cast("asyncio.Transport", transport)
        self.socket.transport.set_write_buffer_limits(high=WRITE_WINDOW_BYTES)
        if first:
            self._on_open()

    def data_received(self, data: bytes) -> None:
        self.connection.receive_data(data)
        self._arrived_at = time.monotonic()
        _wake(self._arrived)
        self.reading.adjust()

    def eof_received(self) -> None:
        self._set_gone()

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_gone()
        self._stop_timer()
        self.reading.stop_polling()
        if not self._lost.done():
            self._lost.set_result(None)

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        waiter, self._writable = self._writable, None
        _wake(waiter)
        self._on_writable()

    # -- input ---------------------------------------------------------------------------------------------------

    async def next_event(self) -> m.FrontendMessage:
        """Return the client's next message. Raises the errors of `Connection.next_event`, and ClientGone."""
        while True:
            event = self.arrived_event()
            if event is not None:
                return event
            if self._gone:
                raise ClientGone("the client closed the connection")
            await self._wait_data()

    def arrived_event(self) -> m.FrontendMessage | None:
        """Return the client's next message if it has arrived. Raises the errors of `Connection.next_event`."""
        event = self.connection.next_event()
        if isinstance(event, Nothing):
            return None
        self.turn = self._arrived_at
        if not self.reading.is_reading:
            self.reading.adjust()
        return event

    async def _wait_data(self) -> None:
        self.flush()
        self._arrived, self.reading.is_awaited = self._loop.create_future(), True
        # A message that is longer than the bound must still arrive whole.
        self.reading.resume()
        try:
            await self._arrived
        finally:
            self._arrived, self.reading.is_awaited = None, False

    def _set_gone(self) -> None:
        if self._gone:
            return
        self._gone = True
        _wake(self._arrived)
        _wake(self._writable)
        self._on_gone()

    # -- output --------------------------------------------------------------------------------------------------

    def send(self, message: m.BackendMessage) -> None:
        """Queue a message. Raises the errors of `Connection.send`."""
        self._gathered += self.connection.send(message)
        if isinstance(message, _PROMPT):
            self._start_timer()
        if len(self._gathered) >= GATHER_BYTES:
            self.flush()

    async def send_long(self, message: m.Rows | m.CopiedRows) -> None:
        """Queue encoded rows: with the other gathered messages if they are few, else in pieces, at the client's pace."""
        data = memoryview(self.connection.send(message)).cast("B")
        if len(data) < GATHER_BYTES:
            self._start_timer()
            self._gathered += data
            if len(self._gathered) >= GATHER_BYTES:
                self.flush()
        else:
            self.flush()
            await self._write_in_pieces(data)
        await self.drain()

    async def _write_in_pieces(self, data: memoryview) -> None:
        written = 0
        self.output.add(len(data))
        self._in_pieces = True
        try:
            while written < len(data):
                await self.drain()
                self._write(data[written : written + PIECE_BYTES])
                written += PIECE_BYTES
        except BaseException:
            # Pieces end anywhere; the message is completed, so that the next one does not begin within it.
            self._write(data[written:])
            raise
        finally:
            self.output.release(len(data))
            self._in_pieces = False
            self.flush()

    def flush(self) -> None:
        """Pass the gathered messages to the transport. While a long message is written in pieces, this happens after
        its end.
        """
        self._stop_timer()
        if self._gathered and not self._in_pieces:
            data, self._gathered = self._gathered, bytearray()
            self._write(data)

    def _write(self, data: Buffer) -> None:
        transport = self.socket.transport
        if transport and not transport.is_closing():
            transport.write(cast("bytes", data))

    @property
    def is_congested(self) -> bool:
        """Whether the client must read before more is written."""
        return self._writable is not None

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be written. Raises ClientGone."""
        while self._writable is not None:
            if self._gone:
                raise ClientGone("the client closed the connection")
            self.reading.is_stalled = True
            self.reading.adjust()
            try:
                # Shielded, so that an interrupt ends this wait only and does not cancel the shared future.
                await asyncio.shield(self._writable)
            finally:
                self.reading.is_stalled = False

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(GATHER_SECONDS, self.flush)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # -- encryption and shutdown ---------------------------------------------------------------------------------

    async def start_tls(self, tls: ClientTls) -> None:
        """Switch to TLS; our `S` was queued. Raises OSError or ssl.SSLError if the handshake fails."""
        assert self.socket.transport is not None
        self.flush()
        self.socket.transport = await self._loop.start_tls(self.socket.transport, self, tls.context, server_side=True)
        self.tls = tls
        assert self.socket.transport is not None
        self.socket.transport.set_write_buffer_limits(high=WRITE_WINDOW_BYTES)

    def hand_over(self) -> tuple[asyncio.Transport, bytes] | None:
        """Hand the socket over to another protocol, with the bytes that were read and not used. Returns None if the
        client has disconnected.
        """
        self.flush()
        self.reading.stop_polling()
        transport, self.socket.transport = self.socket.transport, None
        if self._gone or transport is None or transport.is_closing():
            self.socket.transport = transport
            return None
        if not self.reading.is_reading:
            transport.resume_reading()
        return transport, self.connection.release()

    def refuse(self) -> None:
        """Drop a connection that will not be served."""
        if self.socket.transport is not None:
            self.socket.transport.abort()

    async def close(self, *, abort: bool = False) -> None:
        """Close the socket: after the queued output is written, or at once. Returns when it is closed."""
        if self.socket.transport is None:
            return
        if abort or self._gone:
            self.socket.transport.abort()
        else:
            self.flush()
            self.socket.transport.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.shield(self._lost)
        except TimeoutError:
            self.socket.transport.abort()
            await self._lost

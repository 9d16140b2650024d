"""A client's socket: joins `wire.pg.connection` to an asyncio transport, with bounds in both directions.

*Outward* small messages are gathered and written together; long ones in pieces, waiting for the transport between them, so
that a client that reads slowly holds one page and not a result. What was gathered is written at `flush`, or by itself
shortly after, whichever comes first.

*Inward* the socket is read also while a statement runs, which is how a client that has gone is noticed, but only up to a
bound; from there the kernel holds the client back. While we wait for the client to read, the bound is a larger one: a
client that writes its whole pipeline before it reads anything must not meet a server that does the same (as long as all
clients together hold no more than `wire.pg.input_budget` allows). While reading is
paused, the kernel is asked now and then whether the client has hung up.

Neighbours: `server.pgwire.session` is its only user; `server.pgwire.listener` makes it.
"""

from __future__ import annotations

import asyncio
import select
import ssl
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from server.auth.client_tls import ClientTls
from server.pgwire.interrupts import ClientGone
from server.pgwire.output_budget import OutputBudget
from wire.pg import messages as m
from wire.pg.connection import Connection, Nothing, State

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: Bytes of unread input at which reading pauses: normally, and while we wait for the client to read.
INBOUND_BYTES_MAX: Final = 1 << 20
INBOUND_STALLED_BYTES_MAX: Final = 64 << 20
#: The same before it is known who the client is, who has to wait there for nothing but us.
INBOUND_STRANGER_BYTES_MAX: Final = 64 << 10
_STRANGER: Final = frozenset((State.STARTUP, State.ENCRYPTING, State.AUTHENTICATING))
#: Bytes handed to the transport at once; some libpq users stall on very large writes over TLS.
PIECE_BYTES: Final = 128 << 10
#: Bytes that the transport may hold before we wait for the client.
WRITE_WINDOW_BYTES: Final = 256 << 10
#: Gathered bytes are written when there are this many, or after so many seconds.
GATHER_BYTES: Final = 16 << 10
GATHER_SECONDS: Final = 0.01
#: How often a socket that is not read is asked whether its client has hung up.
POLL_SECONDS: Final = 0.5
#: How long a client may take to read what was written before we closed.
CLOSE_SECONDS: Final = 5.0


def _nothing() -> None: ...


class ClientStream(asyncio.Protocol):
    """See the module's docstring. `watch` before the socket is there. output: what clients are sent counts there."""

    def __init__(self, connection: Connection, output: OutputBudget | None = None) -> None:
        self.connection = connection
        self.output = output or OutputBudget(sys.maxsize)
        #: What the client was shown when encryption began; None in the clear.
        self.tls: ClientTls | None = None
        #: Grows with each message that may not have been there yet when the one before it was taken
        #: (`engine.contracts.sessions.Client`).
        self.turn = 0
        self._arrivals = self._arrivals_taken = 0
        self._on_open: Callable[[], None] = _nothing
        self._on_gone: Callable[[], None] = _nothing
        self._on_writable: Callable[[], None] = _nothing
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._gone = False
        self._reading = True
        self._stalled = False
        self._arrived: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._gathered = bytearray()
        #: Whether a long message is under way to the transport: no other may begin within it.
        self._in_pieces = False
        self._timer: asyncio.TimerHandle | None = None
        self._poll_timer: asyncio.TimerHandle | None = None

    def watch(
        self, on_open: Callable[[], None], on_gone: Callable[[], None], on_writable: Callable[[], None] = _nothing
    ) -> None:
        """Have `on_open` called once, when the socket is there, `on_gone` once, when the client has gone, and `on_writable`
        whenever a client that was slow has read."""
        self._on_open, self._on_gone, self._on_writable = on_open, on_gone, on_writable

    # -- asyncio.Protocol ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        first = self._transport is None
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_WINDOW_BYTES)
        if first:
            self._on_open()

    def data_received(self, data: bytes) -> None:
        self.connection.receive_data(data)
        self._arrivals += 1
        self._wake(self._arrived)
        self._adjust_reading()

    def eof_received(self) -> None:
        self._set_gone()

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_gone()
        self._stop_timer()
        self._stop_polling()
        if not self._lost.done():
            self._lost.set_result(None)

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        waiter, self._writable = self._writable, None
        self._wake(waiter)
        self._on_writable()

    # -- inward --------------------------------------------------------------------------------------------------

    @property
    def address(self) -> tuple[str, int] | None:
        """Where the client has come to; None for a socket in a folder."""
        name = self._transport.get_extra_info("sockname") if self._transport else None
        return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None

    @property
    def peer(self) -> tuple[str, int] | None:
        """The client's address and port, or None where it has none."""
        name = self._transport.get_extra_info("peername") if self._transport else None
        return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None

    @property
    def descriptor(self) -> int:
        """The number of its socket, -1 where it has none any more."""
        found = self._transport.get_extra_info("socket") if self._transport else None
        return int(found.fileno()) if found is not None else -1

    @property
    def here(self) -> str:
        """The address that the client has connected to; empty where it has none."""
        return self.address[0] if self.address else ""

    @property
    def ssl_object(self) -> ssl.SSLObject | None:
        """TLS's side of the connection; None in the clear."""
        return self._transport.get_extra_info("ssl_object") if self._transport else None

    async def next_event(self) -> m.FrontendMessage:
        """The next message of the client. Raises what `Connection.next_event` raises, and ClientGone."""
        while True:
            event = self.connection.next_event()
            if not isinstance(event, Nothing):
                if self._arrivals != self._arrivals_taken:
                    self._arrivals_taken = self._arrivals
                    self.turn += 1
                if not self._reading:
                    self._adjust_reading()
                return event
            if self._gone:
                raise ClientGone("the client closed the connection")
            await self._wait_data()

    async def _wait_data(self) -> None:
        self.flush()
        self._arrived = self._loop.create_future()
        # A message that is longer than the bound must still arrive whole.
        self._resume_reading()
        try:
            await self._arrived
        finally:
            self._arrived = None

    def _adjust_reading(self) -> None:
        if self.connection.state in _STRANGER:
            bound = INBOUND_STRANGER_BYTES_MAX
        else:
            patient = self._stalled and not self.connection.is_crowded
            bound = INBOUND_STALLED_BYTES_MAX if patient else INBOUND_BYTES_MAX
        if self._arrived is None and self.connection.buffered_bytes > bound:
            self._pause_reading()
        else:
            self._resume_reading()

    def _pause_reading(self) -> None:
        if self._reading and self._transport and not self._transport.is_closing():
            self._reading = False
            self._transport.pause_reading()
            self._poll_timer = self._loop.call_later(POLL_SECONDS, self._poll_gone)

    def _resume_reading(self) -> None:
        if not self._reading and self._transport and not self._transport.is_closing():
            self._reading = True
            self._stop_polling()
            self._transport.resume_reading()

    def _poll_gone(self) -> None:
        """Reading is paused and would not tell that the client has gone."""
        self._poll_timer = None
        if self._gone or self._transport is None or self._transport.is_closing():
            return
        poller = select.poll()
        poller.register(self._transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
        if poller.poll(0):
            self._set_gone()
            return
        # All connections together may hold less by now.
        self._adjust_reading()
        if not self._reading:
            self._poll_timer = self._loop.call_later(POLL_SECONDS, self._poll_gone)

    def _stop_polling(self) -> None:
        if self._poll_timer is not None:
            self._poll_timer.cancel()
            self._poll_timer = None

    def _set_gone(self) -> None:
        if self._gone:
            return
        self._gone = True
        self._wake(self._arrived)
        self._wake(self._writable)
        self._on_gone()

    @staticmethod
    def _wake(waiter: asyncio.Future[None] | None) -> None:
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # -- outward -------------------------------------------------------------------------------------------------

    def send(self, message: m.BackendMessage) -> None:
        """Queue a message. Raises what `Connection.send` raises."""
        data = self.connection.send(message)
        if not self._gathered:
            self._start_timer()
        self._gathered += data
        if len(self._gathered) >= GATHER_BYTES:
            self.flush()

    async def send_rows(self, rows: Buffer) -> None:
        """Queue encoded rows: together with what else is gathered if they are few, else in pieces, at the client's pace."""
        await self._send_long(m.Rows(rows))

    async def send_copied(self, rows: Buffer) -> None:
        """The same of rows that are copied."""
        await self._send_long(m.CopiedRows(rows))

    async def _send_long(self, message: m.BackendMessage) -> None:
        data = memoryview(self.connection.send(message)).cast("B")
        if len(data) < GATHER_BYTES:
            if not self._gathered:
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
            # Pieces are cut anywhere: what follows an interrupt must not begin within a message.
            self._write(data[written:])
            raise
        finally:
            self.output.release(len(data))
            self._in_pieces = False
            self.flush()

    def flush(self) -> None:
        """Give the transport what was gathered; while a long message is written in pieces, after its end."""
        self._stop_timer()
        if self._gathered and not self._in_pieces:
            data, self._gathered = self._gathered, bytearray()
            self._write(data)

    def _write(self, data: Buffer) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(cast("bytes", data))

    @property
    def is_congested(self) -> bool:
        """Whether the client has to read before more is written."""
        return self._writable is not None

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be written. Raises ClientGone."""
        while self._writable is not None:
            if self._gone:
                raise ClientGone("the client closed the connection")
            self._stalled = True
            self._adjust_reading()
            try:
                # Shielded: an interrupt ends our wait, not the transport's promise.
                await asyncio.shield(self._writable)
            finally:
                self._stalled = False

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(GATHER_SECONDS, self._on_timer)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timer(self) -> None:
        self._timer = None
        self.flush()

    # -- encryption and the end ----------------------------------------------------------------------------------

    async def start_tls(self, tls: ClientTls) -> None:
        """Go on under TLS; our `S` was queued. Raises OSError or ssl.SSLError where the handshake fails."""
        assert self._transport is not None
        self.flush()
        self._transport = await self._loop.start_tls(self._transport, self, tls.context, server_side=True)
        self.tls = tls
        assert self._transport is not None
        self._transport.set_write_buffer_limits(high=WRITE_WINDOW_BYTES)

    def hand_over(self) -> tuple[asyncio.Transport, bytes] | None:
        """Give up the socket to another protocol, with what was read and not taken; None if the client has gone."""
        self.flush()
        self._stop_polling()
        transport, self._transport = self._transport, None
        if self._gone or transport is None or transport.is_closing():
            self._transport = transport
            return None
        if not self._reading:
            transport.resume_reading()
        return transport, self.connection.release()

    def refuse(self) -> None:
        """Drop a connection that nobody will serve."""
        if self._transport is not None:
            self._transport.abort()

    async def close(self, *, abort: bool = False) -> None:
        """Close the socket: after what was queued is written, or at once. Returns when it is closed."""
        if self._transport is None:
            return
        if abort or self._gone:
            self._transport.abort()
        else:
            self.flush()
            self._transport.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.shield(self._lost)
        except TimeoutError:
            self._transport.abort()
            await self._lost

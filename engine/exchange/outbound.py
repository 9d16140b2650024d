"""SEND for the event loop: streams of an edge from this member, to another member or to itself.

    stream = await open_remote(host, port, opening)   # or LoopbackStream(receiver, opening)
    await stream.send(body, rows)                     # returns when the batch is on its way: a wait for credit is a future,
    await stream.finish()                             #   never a thread
    stream.abandon(sqlstate, message)                 # instead of finish: tells the receiver why

A `LastingStream` is a remote stream that continues over another connection when its own breaks (`sluice.fault_policy =
wait`). It has no deadline: it retries until the receiver has everything or refuses it, or until its query ends and the
stream is cancelled.

All kinds obey one rule for a sender without credit: exactly one batch is pending. A receiver that needs no more rows
raises `StreamRefused` at the sender, a broken connection `ConnectionFailure`. A loopback stream uses the receiver's
credit account but no socket: a member that is both ends of an edge avoids the copy through the kernel, and its
connection cannot break.

Neighbours: `engine.exchange.send` does the same for a blocking worker, `engine.exchange.receive` is the other end.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Protocol, cast

import pyarrow as pa

from engine.common.wake_signal import WakeSignal
from engine.exchange.inbound_stream import InboundStream
from engine.exchange.mesh_tls import MeshTls, UntrustedPeer, explain_failure, require_member
from engine.exchange.receive import Receiver
from engine.exchange.send import StreamRefused
from wire.errors import ConnectionFailure
from wire.mesh.backlog import Backlog
from wire.mesh.channel import BatchArrived, DataSender, SenderEvent, State
from wire.mesh.credits import ReceiveCredits
from wire.mesh.error_fields import ErrorFields
from wire.mesh.framing import RemoteProtocolError
from wire.mesh.messages import Cancel, Deny, DenyReason, Ok, Open

_log = logging.getLogger(__name__)
_CONNECT_SECONDS: Final = 10.0
#: Pauses between attempts to reconnect; the last one is repeated.
_RECONNECT_SECONDS: Final = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5)


class Stalls:
    """The waits of a stream for credit: their number and their total time, including a wait in progress."""

    __slots__ = ("_loop", "_since", "_spent", "count")

    def __init__(self, earlier: Stalls | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self._spent = 0.0 if earlier is None else earlier.seconds
        self.count: int = 0 if earlier is None else earlier.count

    def __enter__(self) -> None:
        self.count += 1
        self._since = self._loop.time()

    def __exit__(self, *_: object) -> None:
        self._spent, self._since = self.seconds, None

    @property
    def seconds(self) -> float:
        return self._spent + (0.0 if self._since is None else self._loop.time() - self._since)


class OutboundStream(Protocol):
    """One outgoing stream; see the module's docstring. bytes: the bytes sent so far. stalls: its waits for credit."""

    bytes: int

    @property
    def stalls(self) -> Stalls: ...

    async def send(self, body: pa.Buffer, rows: int) -> None:
        """Send a batch (an Arrow IPC record batch message). Raises StreamRefused, ConnectionFailure."""
        ...

    async def finish(self) -> None:
        """Announce the end of the stream. Returns when the receiver has everything. Raises StreamRefused,
        ConnectionFailure.
        """
        ...

    def abandon(
        self, sqlstate: str, message: str, detail: str = "", hint: str = "", fields: ErrorFields | None = None
    ) -> None:
        """Abandon the stream, unless it has ended. Never raises, and leaves no socket open."""
        ...


class ConnectionBroken(ConnectionFailure):
    """A connection broke or could not be made. Another connection may carry the stream."""


class DeniedNow(Exception):
    """The receiver does not know the channel. The sender may try again."""


def refusal(reason: DenyReason, message: str) -> Exception:
    """Return the error that a deny raises at the sender. Rows may remain unsent only if the receiver needs no more of
    them; every other deny is a fault.
    """
    if reason == "unknown":
        return DeniedNow(message)
    if reason in ("closed", "complete"):
        return StreamRefused(message)
    return ConnectionFailure(f"a data connection was refused: {message}")


async def open_remote(
    host: str,
    port: int,
    opening: Open,
    *,
    tls: MeshTls | None = None,
    member: str = "",
    backlog: Backlog | None = None,
) -> RemoteStream:
    """Connect and introduce the stream. member: the member at that address; with `tls`, it must prove its name. tls:
    None: without TLS. backlog: the backlog of a stream that outlives this connection.

    Raises DeniedNow, StreamRefused, ConnectionFailure (ConnectionBroken where another attempt may succeed).
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, stream = await loop.create_connection(
                lambda: RemoteStream(opening, member, proved=tls is not None, backlog=backlog),
                host,
                port,
                ssl=tls.dialling if tls is not None else None,
                server_hostname="" if tls is not None else None,
            )
            try:
                await stream.wait_opened()
            except BaseException:
                # The caller that abandoned the stream knows why; the receiver sees a lost connection.
                stream.abandon(
                    ConnectionFailure.default_sqlstate, "a data connection was given up before its stream was opened"
                )
                raise
    except OSError as error:
        why = "timed out" if isinstance(error, TimeoutError) else explain_failure(error)
        raise ConnectionBroken(
            f"could not open a data connection to member {member} at {host}:{port}: {why}"
        ) from error
    return stream


class RemoteStream(asyncio.Protocol):
    """A stream over a data connection of its own. member: the receiving member. proved: whether the receiver must
    present that member's certificate. backlog: the backlog of a stream that outlives this connection (`LastingStream`).
    """

    def __init__(
        self, opening: Open, member: str = "", *, proved: bool = False, backlog: Backlog | None = None
    ) -> None:
        self._proved = proved
        self.bytes = 0
        self.stalls = Stalls()
        self._member = member
        self._machine = DataSender(opening, backlog)
        self._transport: asyncio.Transport | None = None
        self._failure: Exception | None = None
        self._gone = False
        self._bell = WakeSignal()

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not registered as asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        if self._is_trusted():
            self._transport.write(self._machine.opening_bytes())

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._machine.receive_data(data):
                self._hear(event)
        except RemoteProtocolError as error:
            self._fail(ConnectionFailure(f"a data connection to member {self._member} failed: {error}"))
        self._bell.ring()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._gone = True
        self._bell.ring()

    # Called by the sender.

    async def wait_opened(self) -> None:
        await self._until(lambda: self._machine.state is not State.OPENING)

    async def send(self, body: pa.Buffer, rows: int) -> None:
        self.offer(memoryview(body), rows)
        await self.drain()
        self.bytes += body.size

    async def finish(self) -> None:
        self.offer(b"", 0, last=True)
        # The receiver closes when it has everything. (If this end closed first, TCP would discard unacknowledged data.)
        await self.wait_closed()

    async def wait_closed(self) -> None:
        await self._until(lambda: self._gone)

    def offer(self, body: memoryview | bytes, rows: int, *, last: bool = False) -> None:
        """Send a batch, or keep it as the pending one. Raises as `send`."""
        if self._failure is not None:
            raise self._failure
        self._write(self._machine.offer(body, rows, last=last))

    async def drain(self) -> None:
        """Wait until no batch is pending."""
        if self._machine.has_pending:
            with self.stalls:
                await self._until(self._sent_pending)

    async def wait_confirmed(self) -> None:
        """Wait until the receiver has confirmed that it has everything. Only for a stream whose batches the receiver
        counts.
        """
        await self._until(lambda: self._machine.is_confirmed)

    def require_connected(self) -> None:
        """Raise ConnectionBroken if the connection has ended."""
        if self._gone and self._failure is None:
            raise self._broken()

    def abandon(
        self, sqlstate: str, message: str, detail: str = "", hint: str = "", fields: ErrorFields | None = None
    ) -> None:
        if self._transport is None:
            return
        if self._machine.state is not State.OPENING:
            self._write((self._machine.cancel(sqlstate, message, detail, hint, fields),))
        self._transport.close()

    def _is_trusted(self) -> bool:
        """Return whether the token may be sent to the receiver."""
        assert self._transport is not None, "asked of a connection that is made"
        if not self._proved:
            return True
        try:
            require_member(self._transport.get_extra_info("ssl_object"), self._member)
        except UntrustedPeer as error:
            self._fail(ConnectionFailure(f"a data connection was refused: {error}"))
            return False
        return True

    def _hear(self, event: SenderEvent) -> None:
        match event:
            case Deny(reason, message):
                self._fail(refusal(reason, message))
            case Cancel():
                self._fail(StreamRefused(event.message))
            case Ok():
                self._write(self._machine.send_pending())

    def _sent_pending(self) -> bool:
        self._write(self._machine.send_pending())
        return not self._machine.has_pending

    async def _until(self, reached: Callable[[], bool]) -> None:
        """Wait until `reached()` is true. It is evaluated again whenever something was received."""
        while True:
            if self._failure is not None:
                raise self._failure
            if reached():
                return
            if self._gone:
                raise self._broken()
            await self._bell.next_ring()

    def _broken(self) -> ConnectionBroken:
        return ConnectionBroken(f"a data connection to member {self._member} was lost")

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        if self._transport is not None:
            self._transport.close()

    def _write(self, chunks: tuple[bytes | memoryview, ...]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(chunk for chunk in chunks if chunk)


#: Makes a connection for a stream. Arguments: the number of the attempt, and the stream's backlog. Raises as `open_remote`.
Connector = Callable[[int, Backlog], Awaitable[RemoteStream]]


class LastingStream:
    """A stream to another member that outlives its connections: `await LastingStream.open(connect)`."""

    def __init__(self, connect: Connector) -> None:
        self.bytes = 0
        self._connect = connect
        self._backlog = Backlog(keeps=True)
        self._attempts = itertools.count()
        self._stalls = Stalls()
        self._stream: RemoteStream | None = None

    @classmethod
    async def open(cls, connect: Connector) -> LastingStream:
        """Open the stream. Raises StreamRefused, ConnectionFailure."""
        stream = cls(connect)
        await stream._reconnect()
        return stream

    @property
    def stalls(self) -> Stalls:
        return self._stalls if self._stream is None else self._stream.stalls

    async def send(self, body: pa.Buffer, rows: int) -> None:
        self.bytes += body.size
        self._connected_stream.offer(memoryview(body), rows)
        await self._through(self._sent)

    async def finish(self) -> None:
        self._connected_stream.offer(b"", 0, last=True)
        await self._through(self._wait_delivered)

    def abandon(
        self, sqlstate: str, message: str, detail: str = "", hint: str = "", fields: ErrorFields | None = None
    ) -> None:
        self._connected_stream.abandon(sqlstate, message, detail, hint, fields)

    @property
    def _connected_stream(self) -> RemoteStream:
        assert self._stream is not None, "used before it was opened"
        return self._stream

    async def _sent(self, stream: RemoteStream) -> None:
        await stream.drain()
        # Detects a broken connection now rather than when credit runs out, because the receiver waits for the lost batches.
        stream.require_connected()

    async def _wait_delivered(self, stream: RemoteStream) -> None:
        await stream.drain()
        await (stream.wait_confirmed() if self._backlog.keeps else stream.wait_closed())

    async def _through(self, step: Callable[[RemoteStream], Awaitable[None]]) -> None:
        """Perform a step, over as many connections as it needs."""
        while True:
            try:
                await step(self._connected_stream)
            except ConnectionBroken as error:
                if not self._backlog.keeps:
                    raise
                _log.warning("%s; the stream goes on over another connection", error.message)
                self._stalls = self._connected_stream.stalls
                await self._reconnect()
            else:
                return

    async def _reconnect(self) -> None:
        for attempt in self._attempts:
            try:
                stream = await self._connect(attempt, self._backlog)
            except (DeniedNow, ConnectionBroken):
                await asyncio.sleep(_RECONNECT_SECONDS[min(attempt, len(_RECONNECT_SECONDS) - 1)])
            else:
                stream.stalls = Stalls(self._stalls)
                self._stream = stream
                return


class LoopbackStream:
    """A stream whose receiver is in this process. It is its own link. Raises Denied."""

    def __init__(self, receiver: Receiver, opening: Open) -> None:
        self.bytes = 0
        self.stalls = Stalls()
        self._account = ReceiveCredits(receiver.window)
        self._refused: str | None = None
        self._over = False
        self._bell = WakeSignal()
        self._inbound: InboundStream = receiver.admit(opening, self)

    # Called by the receiver (`engine.exchange.inbound_stream.Link`).

    @property
    def account(self) -> ReceiveCredits:
        return self._account

    def release(self, cost: int) -> None:
        self._account.release(cost)
        self._account.due()
        self._bell.ring()

    def cancel(self, sqlstate: str, message: str) -> None:
        del sqlstate
        self._refused = message
        self._bell.ring()

    # Called by the sender.

    async def send(self, body: pa.Buffer, rows: int) -> None:
        size = body.size
        if not self._covers(size):
            with self.stalls:
                while not self._covers(size):
                    await self._bell.next_ring()
        self._account.receive(size)
        self.bytes += size
        self._inbound.arrive(BatchArrived(cast("bytearray", memoryview(body)), rows, False, size))

    async def finish(self) -> None:
        self._require_wanted()
        self._over = True
        self._inbound.arrive(BatchArrived(bytearray(), 0, True, 0))

    def abandon(
        self, sqlstate: str, message: str, detail: str = "", hint: str = "", fields: ErrorFields | None = None
    ) -> None:
        if not self._over and self._refused is None:
            self._over = True
            self._inbound.on_cancelled(Cancel(sqlstate, message, detail, hint, fields))

    def _covers(self, size: int) -> bool:
        self._require_wanted()
        if size > self._account.window and not self._account.held:
            self._account.announce_oversize(size)
            self._account.due()
        return size <= self._account.available

    def _require_wanted(self) -> None:
        if self._refused is not None:
            raise StreamRefused(self._refused)

"""SEND for the loop: streams of an edge from this member, to another one or to itself.

    stream = await open_remote(host, port, opening)   # or LoopbackStream(receiver, opening)
    await stream.send(body, rows)                     # returns when the batch is on its way: a wait for credit is a future,
    await stream.finish()                             #   never a thread
    stream.abandon(sqlstate, message)                 # instead of finish: tells the receiver why

Both kinds keep the one rule of a sender without credit: exactly one batch is pending. A receiver that wants no more shows as
`StreamRefused`, a connection that broke as `ConnectionFailure`. A loopback stream has the receiver's account but no socket: a
member that is both ends of an edge pays for no copy through the kernel.

Neighbours: `engine.operators.send` is the same for a blocking worker, `engine.operators.receive` the other end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, cast

import pyarrow as pa

from engine.operators.bell import Bell
from engine.operators.mesh_tls import MeshTls, UntrustedPeer, explained, require_member
from engine.operators.receive import InboundStream, Receiver
from engine.operators.send import StreamRefused
from wire.errors import ConnectionFailure
from wire.mesh.channel import BatchArrived, DataSender, SenderEvent, State
from wire.mesh.credits import ReceiveCredits
from wire.mesh.error_fields import ErrorFields
from wire.mesh.framing import RemoteProtocolError
from wire.mesh.messages import Cancel, Deny, DenyReason, Ok, Open

_CONNECT_SECONDS: Final = 10.0


class OutboundStream(Protocol):
    """One stream on its way out; see the module's docstring. bytes, stalls: sent so far, and how often credit was waited for."""

    bytes: int
    stalls: int

    async def send(self, body: pa.Buffer, rows: int) -> None:
        """Send a batch (an Arrow IPC record batch message). Raises StreamRefused, ConnectionFailure."""
        ...

    async def finish(self) -> None:
        """Say that this was all; returns when the receiver has it. Raises StreamRefused, ConnectionFailure."""
        ...

    def abandon(
        self, sqlstate: str, message: str, detail: str = "", hint: str = "", fields: ErrorFields | None = None
    ) -> None:
        """Give the stream up, unless it is over; never raises, leaves no socket."""
        ...


class DeniedNow(Exception):
    """The receiver does not know the channel; it may be asked again."""


def refusal(reason: DenyReason, message: str) -> Exception:
    """What a deny means to a sender. Only who is done with the query may leave rows unsent; all else is a fault."""
    if reason == "unknown":
        return DeniedNow(message)
    if reason in ("closed", "complete"):
        return StreamRefused(message)
    return ConnectionFailure(f"a data connection was refused: {message}")


async def open_remote(
    host: str, port: int, opening: Open, *, tls: MeshTls | None = None, member: str = ""
) -> RemoteStream:
    """Connect and introduce the stream. member: who is there; with `tls`, it has to prove that. tls: None: in the clear.

    Raises DeniedNow, StreamRefused, ConnectionFailure.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, stream = await loop.create_connection(
                lambda: RemoteStream(opening, member, proved=tls is not None),
                host,
                port,
                ssl=tls.dialling if tls is not None else None,
                server_hostname="" if tls is not None else None,
            )
            try:
                await stream.opened()
            except BaseException:
                # Whoever gave it up knows why; to the receiver it is a connection that was lost.
                stream.abandon(
                    ConnectionFailure.default_sqlstate, "a data connection was given up before its stream was opened"
                )
                raise
    except OSError as error:
        why = "timed out" if isinstance(error, TimeoutError) else explained(error)
        raise ConnectionFailure(
            f"could not open a data connection to member {member} at {host}:{port}: {why}"
        ) from error
    return stream


class RemoteStream(asyncio.Protocol):
    """A stream over a data connection of its own. member: where it goes. proved: whether the receiver has to show the
    certificate of that member."""

    def __init__(self, opening: Open, member: str = "", *, proved: bool = False) -> None:
        self._proved = proved
        self.bytes = 0
        self.stalls = 0
        self._member = member
        self._machine = DataSender(opening)
        self._transport: asyncio.Transport | None = None
        self._failure: Exception | None = None
        self._gone = False
        self._bell = Bell()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not registered as asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        if self._trusted():
            self._transport.write(self._machine.opening())

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

    # What the sender calls.

    async def opened(self) -> None:
        await self._until(lambda: self._machine.state is not State.OPENING)

    async def send(self, body: pa.Buffer, rows: int) -> None:
        await self._until(lambda: True)
        self._write(self._machine.offer(memoryview(body), rows))
        if self._machine.pending:
            self.stalls += 1
            await self._until(self._sent_pending)
        self.bytes += body.size

    async def finish(self) -> None:
        await self._until(lambda: True)
        self._write(self._machine.offer(b"", 0, last=True))
        # It closes when it has everything. (Closing first would make TCP discard what its grants have not acknowledged.)
        await self._until(lambda: self._gone)

    def abandon(
        self, sqlstate: str, message: str, detail: str = "", hint: str = "", fields: ErrorFields | None = None
    ) -> None:
        if self._transport is None:
            return
        if self._machine.state is not State.OPENING:
            self._write((self._machine.cancel(sqlstate, message, detail, hint, fields),))
        self._transport.close()

    def _trusted(self) -> bool:
        """Whether the receiver may be shown the token."""
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
                pass

    def _sent_pending(self) -> bool:
        self._write(self._machine.send_pending())
        return not self._machine.pending

    async def _until(self, reached: Callable[[], bool]) -> None:
        """Wait until `reached()`, which is asked again whenever something was heard."""
        while True:
            if self._failure is not None:
                raise self._failure
            if reached():
                return
            if self._gone:
                raise ConnectionFailure(f"a data connection to member {self._member} was lost")
            await self._bell.next_ring()

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        if self._transport is not None:
            self._transport.close()

    def _write(self, chunks: tuple[bytes | memoryview, ...]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(chunk for chunk in chunks if chunk)


class LoopbackStream:
    """A stream whose receiver is in this process; it is its own link. Raises Denied."""

    def __init__(self, receiver: Receiver, opening: Open) -> None:
        self.bytes = 0
        self.stalls = 0
        self._account = ReceiveCredits(receiver.window)
        self._refused: str | None = None
        self._over = False
        self._bell = Bell()
        self._inbound: InboundStream = receiver.admit(opening, self)

    # The receiver's view of it (`engine.operators.receive.Link`).

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

    # The sender's.

    async def send(self, body: pa.Buffer, rows: int) -> None:
        size = body.size
        if not self._covers(size):
            self.stalls += 1
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
            self._inbound.cancelled(Cancel(sqlstate, message, detail, hint, fields))

    def _covers(self, size: int) -> bool:
        self._require_wanted()
        if size > self._account.window and not self._account.held:
            self._account.announce_oversize(size)
            self._account.due()
        return size <= self._account.available

    def _require_wanted(self) -> None:
        if self._refused is not None:
            raise StreamRefused(self._refused)

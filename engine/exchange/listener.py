"""The data listener: the address to which senders in other processes connect, and the receivers that they reach.

The listener owns the sockets of the receiving side and drives `wire.mesh.channel.DataReceiver` for each. A receiver
(`engine.exchange.receive`) is registered under a channel id, with a token that only its senders know. A connection
without the token is refused. A connection to a channel that is not registered (not yet, or no longer) is told so and
may try again.

Bytes are received directly into the body of the batch to which they belong (`asyncio.BufferedProtocol`).

The members' control connections arrive at the same port, so that a firewall needs one opening per member. An `Entrance`
reads the first bytes of every connection, as many as identify its kind, and hands the connection over to the protocol
of that kind. Where members use TLS, all of this runs above TLS (`engine.exchange.tls_server`).

A member without a mesh has no mesh port: nothing admits control connections (`admit_control`), and the listener is
started with Spark (`engine.executors.spark.executor`), for the data connections of Spark's tasks, on a free port of the
loopback interface.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
from collections.abc import Callable
from typing import Final, cast

from engine.common.closed_servers import close_server
from engine.common.wildcards import WILDCARDS
from engine.exchange.inbound_stream import Denied, InboundStream
from engine.exchange.mesh_tls import MeshTls
from engine.exchange.receive import Receiver
from engine.exchange.tls_server import TlsServer
from wire.mesh.channel import BatchArrived, DataReceiver, ReceiverEvent, VersionMismatch
from wire.mesh.control_messages import HELLO_KIND
from wire.mesh.credits import ReceiveCredits
from wire.mesh.framing import PREFACE, RemoteProtocolError
from wire.mesh.messages import Cancel, Open

_log = logging.getLogger(__name__)
_OPEN_SECONDS: Final = 10.0
_TOKEN_BYTES: Final = 16
#: The maximal number of connections that have not named their channel yet; further ones are closed unread.
_UNOPENED_MAX: Final = 1024
_CONTROL: Final = PREFACE + HELLO_KIND.to_bytes(2, "big")

ControlFactory = Callable[[], asyncio.BufferedProtocol | None]


class DataListener:
    """Accepts data connections.

    host, port: the address to listen on; port 0 takes a free one (see `address`). advertised: the address at which
    other machines reach it, if that differs. denied: the number of senders that were turned away. tls: None: members
    and tasks connect without TLS; otherwise all must use TLS, and connections to other members use this context too.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, *, tls: MeshTls | None = None) -> None:
        self._host = host
        self._port = port
        self._server: asyncio.Server | TlsServer | None = None
        self._starting = asyncio.Lock()
        self.tls = tls
        self._channels: dict[str, tuple[bytes, Receiver]] = {}
        self._control: ControlFactory | None = None
        self._connections: set[DataConnection | Entrance] = set()
        self._unopened: set[DataConnection | Entrance] = set()
        self._idle: asyncio.Future[None] | None = None
        self.advertised: tuple[str, int] | None = None
        self.denied = 0

    @property
    def address(self) -> tuple[str, int]:
        """The host and port on which it listens. Available only once started."""
        assert self._server is not None, "the listener has not been started"
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    @property
    def address_from_here(self) -> tuple[str, int]:
        """The host and port to which senders on this machine connect."""
        host, port = self.address
        return WILDCARDS.get(host, host), port

    @property
    def address_from_afar(self) -> tuple[str, int]:
        """The host and port to which senders on other machines connect."""
        return self.advertised or self.address

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def start(self) -> None:
        """Listen, unless it does so already. Raises OSError."""
        if self._server is None:
            async with self._starting:
                if self._server is None:
                    self._server = await self._listen()

    async def _listen(self) -> asyncio.Server | TlsServer:
        if self.tls is not None:
            return await TlsServer.listen(self.tls, lambda: Entrance(self), self._host, self._port)
        loop = asyncio.get_running_loop()
        return await loop.create_server(lambda: Entrance(self), self._host, self._port)

    def admit_control(self, factory: ControlFactory | None) -> None:
        """Set the factory of protocols for control connections that arrive from now on. Connections for which it
        returns None are closed; without a factory, all are.
        """
        self._control = factory

    def protocol(self, head: bytes) -> asyncio.BufferedProtocol | None:
        """Return the protocol of a connection that begins with `head`; None if no protocol does."""
        if head == _CONTROL:
            return None if self._control is None else self._control()
        return DataConnection(self)

    def register(self, channel: str, receiver: Receiver) -> bytes:
        """Register `receiver` as `channel`, so that senders can reach it. Returns the token that they need."""
        token = secrets.token_bytes(_TOKEN_BYTES)
        self._channels[channel] = (token, receiver)
        return token

    def unregister(self, channel: str) -> None:
        self._channels.pop(channel, None)

    def receiver(self, opening: Open) -> Receiver:
        """Return the receiver that a sender requests. Raises Denied."""
        token, receiver = self._channels.get(opening.channel, (b"", None))
        if receiver is None:
            raise Denied("unknown", "no such channel")
        if not hmac.compare_digest(token, opening.token):
            raise Denied("forbidden", "wrong token")
        return receiver

    async def close(self) -> None:
        """Stop listening and end the remaining connections."""
        if self._server is None:
            return
        await close_server(self._server)
        for connection in list(self._connections):
            connection.abort()
        while self._connections:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle
        await self._server.wait_closed()
        self._server = None

    def connection_opened(self, connection: DataConnection | Entrance) -> None:
        self._connections.add(connection)
        self._unopened.add(connection)
        if len(self._unopened) > _UNOPENED_MAX or self._server is None or not self._server.is_serving():
            connection.abort()

    def connection_identified(self, connection: DataConnection) -> None:
        """Record that a connection has identified its purpose."""
        self._unopened.discard(connection)

    def connection_closed(self, connection: DataConnection | Entrance) -> None:
        self._connections.discard(connection)
        self._unopened.discard(connection)
        if self._idle is not None and not self._connections:
            self._idle.set_result(None)
            self._idle = None


class Entrance(asyncio.BufferedProtocol):
    """A connection whose kind is not known yet.

    It reads no byte more than necessary: the bytes that follow go from the socket directly to their destination.
    """

    def __init__(self, listener: DataListener) -> None:
        self._listener = listener
        self._head = bytearray(len(_CONTROL))
        self._filled = 0
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._deadline = asyncio.get_running_loop().call_later(_OPEN_SECONDS, self.abort)
        self._listener.connection_opened(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._head)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        head = bytes(self._head[: self._filled])
        if self._filled == len(_CONTROL) or not _CONTROL.startswith(head):
            self._hand_over(head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._forget()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _hand_over(self, head: bytes) -> None:
        assert self._transport is not None, "bytes come from a transport"
        protocol = self._listener.protocol(head)
        if protocol is None:
            self.abort()
            return
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        self._forget()
        memoryview(protocol.get_buffer(len(head)))[: len(head)] = head
        protocol.buffer_updated(len(head))

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._listener.connection_closed(self)


class DataConnection(asyncio.BufferedProtocol):
    """One data connection; the `Link` of its stream."""

    def __init__(self, listener: DataListener) -> None:
        self._listener = listener
        self._machine = DataReceiver()
        self._stream: InboundStream | None = None
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def account(self) -> ReceiveCredits:
        assert self._machine.credits is not None, "only an open stream has an account"
        return self._machine.credits

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not registered as asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._deadline = asyncio.get_running_loop().call_later(_OPEN_SECONDS, self.abort)
        self._listener.connection_opened(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._machine.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for event in self._machine.buffer_updated(nbytes):
                self._handle(event)
            self._write(self._machine.answers())
        except VersionMismatch as error:
            self._write(self._machine.deny("version", str(error)))
            self._end()
        except RemoteProtocolError as error:
            self._refuse(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._stop_deadline()
        self._listener.connection_closed(self)
        if self._stream is not None:
            self._stream.lost(self)

    def release(self, cost: int) -> None:
        self._write(self._machine.release(cost))

    def cancel(self, sqlstate: str, message: str) -> None:
        self._write(self._machine.cancel(sqlstate, message))
        self._end()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _handle(self, event: ReceiverEvent) -> None:
        match event:
            case Open():
                self._open(event)
            case BatchArrived():
                assert self._stream is not None
                self._stream.arrive(event)
                if event.last:
                    self._write(self._machine.confirmation())
                    self._end()
            case Cancel():
                if self._stream is not None:
                    self._stream.on_cancelled(event)
                self._end()

    def _open(self, opening: Open) -> None:
        self._stop_deadline()
        self._listener.connection_identified(self)
        try:
            receiver = self._listener.receiver(opening)
            stream = self._stream = receiver.admit(opening, self)
        except Denied as denied:
            self._deny(denied)
        else:
            self._write(self._machine.accept(receiver.window, batches=stream.batches, held=stream.carried))

    def _deny(self, denied: Denied) -> None:
        self._listener.denied += 1
        self._write(self._machine.deny(denied.reason, str(denied)))
        self._end()

    def _refuse(self, error: RemoteProtocolError) -> None:
        peer = self._transport.get_extra_info("peername") if self._transport is not None else None
        _log.warning("data connection from %s: %s", peer, error)
        if self._stream is not None:
            self._stream.broken(str(error))
        self.abort()

    def _write(self, data: bytes) -> None:
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _end(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

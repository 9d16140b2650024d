"""The socket of one control connection, and its protocol machine (`wire.mesh.control_channel.ControlChannel`)."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol, cast

from engine.exchange.mesh_tls import UntrustedPeer, explain_failure, require_member
from wire.mesh.control_channel import ControlChannel, ControlEvent, Introduced, Refused, State
from wire.mesh.control_messages import ControlMessage, Goodbye, GoodbyeReason, Identity
from wire.mesh.framing import RemoteProtocolError

#: Seconds for a closed connection to send its last bytes.
_FLUSH_SECONDS: Final = 1.0


class ConnectionOwner(Protocol):
    """The owner of control connections, to which they report (`server.cluster.mesh_link`)."""

    def connection_ready(self, connection: ControlConnection) -> bool:
        """Take over an established connection. Return False if it is no longer wanted."""
        ...

    def heard(self, number: int) -> None:
        """Note that bytes have arrived."""
        ...

    def handle_event(self, number: int, event: ControlEvent) -> None:
        """Handle an event of a link's channel."""
        ...

    def peer_refused(self, connection: ControlConnection, reason: str, level: int) -> None:
        """Note that a connection has refused its peer; the connection ends itself."""
        ...

    def connection_gone(self, connection: ControlConnection, reason: str) -> None:
        """Note that a connection is closed and released."""
        ...


class ControlConnection(asyncio.BufferedProtocol):
    """The socket of one control connection. certified: whether the peer's certificate must name the member that the
    peer claims to be.
    """

    def __init__(self, link: ConnectionOwner, number: int, channel: ControlChannel, *, certified: bool) -> None:
        self.number = number
        self._link = link
        self._channel = channel
        self._certified = certified
        self._transport: asyncio.Transport | None = None
        self._ended = False
        self._flush: asyncio.TimerHandle | None = None

    # -- asyncio's calls -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not registered as asyncio's, so isinstance cannot be used.
        self._transport = cast("asyncio.Transport", transport)
        if not self._link.connection_ready(self):
            self.end(None)
        elif self._channel.dialled:
            self._write(self._channel.opening_bytes())

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._channel.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self._ended:
            return
        self._link.heard(self.number)
        try:
            for event in self._channel.buffer_updated(nbytes):
                if isinstance(event, Introduced):
                    self._require_certificate(event.identity)
                self._link.handle_event(self.number, event)
                if self._ended:
                    return
            self._write(self._channel.answers())
        except Refused as refused:
            self._fail(str(refused), refused.reason)
        except RemoteProtocolError as error:
            self._fail(str(error))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._flush is not None:
            self._flush.cancel()
        self._ended = True
        self._link.connection_gone(self, _why_lost(exc))

    # -- calls of the link ---------------------------------------------------------------------------------------

    def proceed(self) -> None:
        self._write(self._channel.proceed())

    def send(self, message: ControlMessage, body: bytes = b"") -> bool:
        """Write a message. Returns False if the connection is not open."""
        if self._channel.state is not State.OPEN or self._transport is None or self._transport.is_closing():
            return False
        self._transport.writelines(self._channel.send(message, body))
        return True

    def end(self, goodbye: Goodbye | None) -> None:
        """Close the connection: with a goodbye, which has a short time to be written, or at once."""
        self._ended = True
        if self._transport is None:
            return
        if goodbye is None:
            self._transport.abort()
            return
        self._write(self._channel.goodbye(goodbye.reason, goodbye.message))
        self._transport.close()
        self._flush = asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self._transport.abort)

    def _require_certificate(self, identity: Identity) -> None:
        """Raise Refused if the peer's certificate does not name the member."""
        if not self._certified:
            return
        assert self._transport is not None, "bytes come from a transport"
        try:
            require_member(self._transport.get_extra_info("ssl_object"), identity.member)
        except UntrustedPeer as error:
            raise Refused("name", str(error)) from error

    def _fail(self, reason: str, farewell: GoodbyeReason | None = None) -> None:
        """Refuse the peer: end this connection, and nothing else."""
        peer = self._transport.get_extra_info("peername") if self._transport is not None else None
        level = logging.ERROR if farewell is not None and self._channel.dialled else logging.WARNING
        self._link.peer_refused(self, f"{reason} (connection with {peer})", level)
        self.end(None if farewell is None else Goodbye(farewell, reason[:1000]))

    def _write(self, data: bytes) -> None:
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


def _why_lost(error: Exception | None) -> str:
    if error is None:
        return "its connection was closed"
    return explain_failure(error) if isinstance(error, OSError) else str(error)

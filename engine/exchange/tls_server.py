"""A server for connections that begin with a TLS handshake in which both ends present certificates.

To the data listener it is what asyncio's own server is without TLS (`sockets`, `is_serving`, `close`, `wait_closed`): a
protocol learns of a connection when the handshake is done, and bytes go from OpenSSL directly into the protocol's
buffer. A failed handshake is logged with its reason and affects nothing else. Handshakes in progress end with the
server.

Considered and rejected: asyncio's `create_server(ssl=...)`, which does not report why a handshake failed and does not
end those in progress; and `start_tls` on accepted connections, because uvloop begins to read before it can be called,
and the first bytes are lost.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

from engine.common.shielded import wait_out
from engine.exchange.mesh_tls import MeshTls, explain_failure

_log = logging.getLogger(__name__)
_HANDSHAKE_SECONDS: Final = 10.0
#: The time within which a peer must answer the end of a connection.
_SHUTDOWN_SECONDS: Final = 5.0
#: The pause in accepting connections when the system has no descriptors left.
_PAUSE_SECONDS: Final = 1.0
_BACKLOG: Final = 100


class TlsServer:
    """A TLS server; see the module's docstring. `await listen(...)` creates one; it serves until `close`."""

    def __init__(
        self, tls: MeshTls, factory: Callable[[], asyncio.BaseProtocol], sockets: Sequence[socket.socket]
    ) -> None:
        self.sockets = tuple(sockets)
        self._tls = tls
        self._factory = factory
        self._closing = False
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[None]] = set()
        #: Accepted connections whose handshake has not begun: a task that is cancelled before its start does not run at all.
        self._accepted: set[socket.socket] = set()
        for listening in self.sockets:
            self._loop.add_reader(listening, self._accept, listening)

    @classmethod
    async def listen(cls, tls: MeshTls, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int) -> TlsServer:
        """Listen at an address. Raises OSError."""
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        sockets: list[socket.socket] = []
        try:
            for family, _, _, _, address in dict.fromkeys(found):
                sockets.append(_listening_socket(family, address))
        except BaseException:
            for listening in sockets:
                listening.close()
            raise
        return cls(tls, factory, sockets)

    def is_serving(self) -> bool:
        return not self._closing

    def close(self) -> None:
        """Accept no more connections, and abort the handshakes in progress."""
        if self._closing:
            return
        self._closing = True
        for listening in self.sockets:
            self._loop.remove_reader(listening)
        for handshake in self._handshakes:
            handshake.cancel()

    async def wait_closed(self) -> None:
        """Wait for the end of everything that `close` ended."""
        await wait_out(*self._handshakes)
        for left in (*self._accepted, *self.sockets):
            left.close()
        self._accepted.clear()

    def _accept(self, listening: socket.socket) -> None:
        """Accept a connection. This is not `loop.sock_accept`, whose task loses the connection if it is cancelled as
        it returns.
        """
        try:
            connection, peer = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionError):
            return  # The peer has disconnected.
        except OSError as error:
            _log.error("the mesh port cannot accept connections: %s", error.strerror)
            self._loop.remove_reader(listening)
            self._loop.call_later(_PAUSE_SECONDS, self._resume, listening)
            return
        connection.setblocking(False)
        self._accepted.add(connection)
        handshake = self._loop.create_task(self._shake_hands(connection, peer))
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)

    def _resume(self, listening: socket.socket) -> None:
        if not self._closing:
            self._loop.add_reader(listening, self._accept, listening)

    async def _shake_hands(self, connection: socket.socket, peer: Any) -> None:
        self._accepted.discard(connection)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                self._factory,
                connection,
                ssl=self._tls.accepting,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=_SHUTDOWN_SECONDS,
            )
        except OSError as error:
            # A peer that only checks whether the port is open is no reason for a warning.
            level = logging.INFO if isinstance(error, ConnectionError) else logging.WARNING
            _log.log(level, "a connection to the mesh port from %s is refused: %s", peer, explain_failure(error))


def _listening_socket(family: int, address: Any) -> socket.socket:
    listening = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    listening.setblocking(False)
    return listening

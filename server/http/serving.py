"""An HTTP server on the member's loop: one socket, uvicorn under an ASGI application, one shutdown path.

    server = HttpServer(application, protocol, tls)
    await server.start(address)
    ...
    await server.close()

uvicorn would install its own signal handlers and logging; here both are the member's. After a reload, new TLS
connections get the new certificate: the handshake asks for it through the callback by which servers choose a
certificate by name.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.config.address import Address

#: The time for answers in progress when the server closes, in seconds.
_CLOSE_SECONDS: Final = 1
#: The limit of a client's message.
_WEBSOCKET_BYTES: Final = 64 << 10


def _websocket(**arguments: Any) -> asyncio.Protocol:
    """Make the protocol of a websocket. wsproto is imported with the first one, because most members never have any."""
    from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

    return WSProtocol(**arguments)


class _Server(uvicorn.Server):
    """A server that installs no signal handlers."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """See the module's docstring. application: an ASGI application. protocol: of its connections
    (`server.http.guard`). tls: returns the newest context, for each connection; None: http. websockets: whether the
    application accepts them.

    address: the address on which it listens, once it is started.
    """

    def __init__(
        self,
        application: Any,
        protocol: type[H11Protocol],
        tls: Callable[[], ssl.SSLContext] | None = None,
        *,
        websockets: bool = False,
    ) -> None:
        self._websockets = websockets
        self._application = application
        self._protocol = protocol
        self._tls = tls
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.address: Address | None = None

    async def start(self, address: Address) -> None:
        """Listen. Raises OSError if the address is not available."""
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        listening = socket.create_server((address.host, address.port), family=family, backlog=512)
        listening.setblocking(False)
        self.address = Address(address.host, listening.getsockname()[1])
        config = uvicorn.Config(
            self._application,
            http=self._protocol,
            ws="none" if not self._websockets else cast("type[asyncio.Protocol]", _websocket),
            ws_max_size=_WEBSOCKET_BYTES,
            ws_per_message_deflate=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_CLOSE_SECONDS,
            ssl_context_factory=None if self._tls is None else self._context,
        )
        self._server = _Server(config)
        self._serving = asyncio.get_running_loop().create_task(self._server.serve([listening]))

    def _context(self, *_: object) -> ssl.SSLContext:
        """Return the context with which connections begin; the handshake replaces it by the newest."""
        newest = self._tls
        assert newest is not None, "asked for under TLS only"

        def replace(connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext) -> None:
            connection.context = newest()

        first = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        first.minimum_version = newest().minimum_version
        first.sni_callback = replace
        return first

    async def close(self) -> None:
        """End all connections now."""
        if self._server is None or self._serving is None:
            return
        # Under TLS a silent client would keep its connection half closed.
        self._abort(idle=True)
        self._server.should_exit = True
        await self._serving
        self._abort(idle=False)
        while self._server.server_state.connections:  # noqa: ASYNC110 (each leaves in the loop's next turns)
            await asyncio.sleep(0)
        self._server = self._serving = None

    def _abort(self, *, idle: bool) -> None:
        """Abort connections at once: all of them, or only those on which no answer is in progress."""
        assert self._server is not None
        connections: list[Any] = list(self._server.server_state.connections)
        for connection in connections:
            cycle = getattr(connection, "cycle", None)  # a websocket has none
            if not idle or cycle is None or cycle.response_complete:
                connection.transport.abort()

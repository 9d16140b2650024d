"""The door itself: a socket, uvicorn on the member's loop, and one end for all.

    door = Door(host, bounds)
    await door.start(address)
    ...
    await door.drain(); await door.close()

Where the member has a certificate for its clients, the door speaks https alone, with the same one; a reload's is shown to
connections to come, since the handshake asks which it is (the callback that servers choose a certificate by name with).
uvicorn would take the process's signals and log as it pleases; both are the member's.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from typing import Any, Final

import uvicorn

from server.address import Address
from server.http.connection import Connection
from server.http.guard import guarded
from server.http.routes import application
from server.http.session import Bounds
from server.session import UNADMITTED_MAX, Host

#: How long answers that are being written may take when the door closes, in seconds.
_CLOSE_SECONDS: Final = 1


class _Server(uvicorn.Server):
    """Whose signals are the member's."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Door:
    """See the module's docstring. host: as for the sessions of PostgreSQL's clients, whose limits it shares."""

    def __init__(self, host: Host, bounds: Bounds) -> None:
        self._host = host
        self.connection = Connection(host, bounds)
        self._server: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self.address: Address | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self._host.gate.access.tls else 'http'}://{self.address}"

    async def start(self, address: Address) -> None:
        """Listen. Raises OSError when the address cannot be had."""
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        listening = socket.create_server((address.host, address.port), family=family, backlog=512)
        listening.setblocking(False)
        self.address = Address(address.host, listening.getsockname()[1])
        config = uvicorn.Config(
            application(self.connection, self._host.gate, self._host.authentication_timeout),
            http=guarded(self._host.max_connections + UNADMITTED_MAX, self._host.authentication_timeout),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_CLOSE_SECONDS,
            ssl_context_factory=self._context if self._host.gate.access.tls else None,
        )
        self._server = _Server(config)
        self._serving = asyncio.get_running_loop().create_task(self._server.serve([listening]))

    def _context(self, *_: object) -> ssl.SSLContext:
        """What connections begin with; which is another after a reload."""

        def newest(connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext) -> None:
            if (tls := self._host.gate.access.tls) is not None:
                connection.context = tls.context

        tls = self._host.gate.access.tls
        assert tls is not None
        first = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        first.minimum_version = tls.context.minimum_version
        first.sni_callback = newest
        return first

    async def drain(self) -> None:
        """Begin nothing any more; returns when what has begun is over."""
        await self.connection.drain()

    async def close(self) -> None:
        """End everything now."""
        await self.connection.close()
        if self._server is not None and self._serving is not None:
            # Under TLS a client that says nothing would keep its connection half closed.
            self._abort(idle=True)
            self._server.should_exit = True
            await self._serving
            self._abort(idle=False)
            while self._server.server_state.connections:  # noqa: ASYNC110 (each leaves in the loop's next turns)
                await asyncio.sleep(0)
            self._server = self._serving = None

    def _abort(self, *, idle: bool) -> None:
        """End connections at once: all, or those alone that no answer is under way on."""
        assert self._server is not None
        connections: list[Any] = list(self._server.server_state.connections)
        for connection in connections:
            if not idle or connection.cycle is None or connection.cycle.response_complete:
                connection.transport.abort()

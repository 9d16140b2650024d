"""The door for Trino's clients: where it listens, and its shutdown.

    door = Door(host, bounds, engine.parser.translate)
    await door.start(address)
    ...
    await door.drain(); await door.close()

If the member has a certificate for its clients, the door speaks https only, with the same certificate.
"""

from __future__ import annotations

import ssl

from server.config.address import Address
from server.http.connection import Connection
from server.http.guard import guarded_protocol
from server.http.routes import application
from server.http.serving import HttpServer
from server.http.session import Bounds
from server.http.statement_run import Translate
from server.pgwire.host import UNADMITTED_MAX, Host


class Door:
    """See the module's docstring. host: as for the sessions of PostgreSQL's clients, whose limits it shares. translate:
    runs the translation of a statement into PostgreSQL's SQL.
    """

    def __init__(self, host: Host, bounds: Bounds, translate: Translate) -> None:
        self._host = host
        self.connection = Connection(host, bounds, translate)
        self._server = HttpServer(
            application(self.connection, host.gate, host.authentication_timeout),
            guarded_protocol(host.max_connections + UNADMITTED_MAX, host.authentication_timeout),
            self._newest if host.gate.access.tls else None,
        )

    @property
    def address(self) -> Address | None:
        return self._server.address

    @property
    def url(self) -> str:
        return f"{'https' if self._host.gate.access.tls else 'http'}://{self.address}"

    async def start(self, address: Address) -> None:
        """Listen. Raises OSError if the address is not available."""
        await self._server.start(address)

    def _newest(self) -> ssl.SSLContext:
        tls = self._host.gate.access.tls
        assert tls is not None, "a reload takes no certificate away"
        return tls.context

    async def drain(self) -> None:
        """Accept nothing new. Returns when everything that has begun is over."""
        await self.connection.drain()

    async def close(self) -> None:
        """End everything now."""
        await self.connection.close()
        await self._server.close()

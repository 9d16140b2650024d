"""The web console: a member's state as a page for people, as JSON for programs, and a health check.

    GET /         the page
    GET /status   {"member": ..., "members": [...], "engines": {...}, "connections": [...], ...}
    GET /health   200 when short queries can run

It shows and changes nothing. It answers on the address of the `console` key, loopback by default, without asking who asks. So a
connection is for one request and lives for a short time, whatever it does with it, and there are only so many.
"""

from __future__ import annotations

import asyncio
import html
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from server.address import Address
from server.version import VERSION

#: Connections at once; further ones are closed unheard.
CONNECTIONS_MAX: Final = 64
#: How often connections are looked at; one that was there the last time is ended.
SWEEP_SECONDS: Final = 10.0
Status = Callable[[], Mapping[str, Any]]

_PAGE: Final = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sluice: {member}</title>
<meta http-equiv="refresh" content="2"><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1d2733 }}
h1 {{ font-size: 1.3rem }} h2 {{ font-size: 1rem; margin-top: 2rem }}
table {{ border-collapse: collapse; width: 100% }} td, th {{ text-align: left; padding: .3rem .8rem .3rem 0;
border-bottom: 1px solid #d8dee6; vertical-align: top }} td.sql {{ font-family: ui-monospace, monospace }}
</style></head><body><h1>Sluice {version}: member {member}</h1>
<h2>Members</h2><table><tr><th>member<th>role<th>state<th>load<th>mesh<th>clients<th>version</tr>{members}</table>
<h2>Engines</h2><table>{engines}</table><h2>Connections</h2>
<table><tr><th>pid<th>user<th>application<th>state<th>since<th>statement</tr>{connections}</table></body></html>"""


class ConsoleServer:
    """Serves the console. `status` is asked anew for every request. sweep_seconds: see SWEEP_SECONDS."""

    def __init__(self, status: Status, sweep_seconds: float = SWEEP_SECONDS) -> None:
        self._status = status
        self._sweep_seconds = sweep_seconds
        self._runner: web.AppRunner | None = None
        self._listening: asyncio.Server | None = None
        self._sweeping: asyncio.TimerHandle | None = None
        self._seen: set[RequestHandler] = set()
        self.address: Address | None = None

    async def start(self, address: Address) -> None:
        """Listen. Raises OSError when the address cannot be had."""
        application = web.Application()
        application.add_routes(
            [web.get("/", self._page), web.get("/status", self._json), web.get("/health", self._health)]
        )
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(self._accept, address.host, address.port)
        self.address = Address(address.host, self._listening.sockets[0].getsockname()[1])
        self._sweeping = loop.call_later(self._sweep_seconds, self._sweep)

    @property
    def _connections(self) -> set[RequestHandler]:
        server = self._runner.server if self._runner is not None else None
        return set(server.connections) if server is not None else set()

    def _accept(self) -> asyncio.Protocol:
        if self._runner is None or self._runner.server is None or len(self._connections) >= CONNECTIONS_MAX:
            return _Refused()
        return self._runner.server()

    def _sweep(self) -> None:
        there = self._connections
        for connection in there & self._seen:
            if connection.transport is not None:
                connection.transport.abort()
        self._seen = there
        self._sweeping = asyncio.get_running_loop().call_later(self._sweep_seconds, self._sweep)

    async def close(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._listening is not None:
            self._listening.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        self._seen.clear()

    async def _page(self, _request: web.Request) -> web.Response:
        return _last(web.Response(text=_render(self._status()), content_type="text/html"))

    async def _json(self, _request: web.Request) -> web.Response:
        return _last(web.json_response(self._status()))

    async def _health(self, _request: web.Request) -> web.Response:
        return _last(web.Response(text="ok\n"))


class _Refused(asyncio.Protocol):
    """A connection that is one too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


def _last(response: web.Response) -> web.Response:
    """An answer that is its connection's last."""
    response.force_close()
    return response


def _render(status: Mapping[str, Any]) -> str:
    members = "".join(
        f"<tr><td>{_text(m['id'])}<td>{_text(m['role'])}<td>{_text(m['state'])}<td>{m['load']}<td>{_text(m['mesh'])}"
        f"<td>{_text(m['client'])}<td>{_text(m['version'])}</tr>"
        for m in status["members"]
    )
    engines = "".join(f"<tr><th>{_text(name)}<td>{_text(state)}</tr>" for name, state in status["engines"].items())
    now = time.time()
    connections = "".join(
        f"<tr><td>{c['pid']}<td>{_text(c['user'])}<td>{_text(c['application_name'])}<td>{_text(c['state'])}"
        f"<td>{now - (c['state_change'] or c['backend_start']):.0f} s<td class=sql>{_text(c['query'])}</tr>"
        for c in status["connections"]
    )
    return _PAGE.format(
        version=_text(VERSION),
        member=_text(status["member"]),
        members=members,
        engines=engines,
        connections=connections,
    )


def _text(value: object) -> str:
    return html.escape(str(value))

"""The web console: a member's state as a page for people, as JSON for programs, as metrics for Prometheus, and two health checks.

    GET /         the page
    GET /status   {"member": ..., "members": [...], "engines": {...}, "connections": [...], ...}
    GET /metrics  Prometheus' text format: docs/metrics.md
    GET /health   200 as long as the member's loop runs
    GET /ready    200 when clients can connect; 503 with the reason while the member starts, or drains before it ends

It shows and changes nothing. It answers on the address of the `console` key, loopback by default, without asking who asks. So a
connection is for one request and lives for a short time, whatever it does with it, and there are only so many.
"""

from __future__ import annotations

import asyncio
import html
import importlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from server.config.address import Address
from server.http.guard import short_lived
from server.http.serving import HttpServer
from server.version import VERSION

#: Connections at once; further ones are closed unheard.
CONNECTIONS_MAX: Final = 64
#: How long a connection lasts, in seconds.
LIFETIME_SECONDS: Final = 20.0
Status = Callable[[], Mapping[str, Any]]
#: Why clients cannot connect; empty: they can.
Unready = Callable[[], str]
_CLOSE: Final = {"Connection": "close"}

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
    """Serves the console. `status` and `unready` are asked anew for every request. lifetime_seconds: see LIFETIME_SECONDS."""

    def __init__(self, status: Status, unready: Unready, lifetime_seconds: float = LIFETIME_SECONDS) -> None:
        self._status = status
        self._unready = unready
        routes = [
            Route("/", self._page),
            Route("/status", self._json),
            Route("/metrics", self._metrics),
            Route("/health", self._health),
            Route("/ready", self._ready),
        ]
        self._server = HttpServer(Starlette(routes=routes), short_lived(CONNECTIONS_MAX, lifetime_seconds))

    @property
    def address(self) -> Address | None:
        return self._server.address

    async def start(self, address: Address) -> None:
        """Listen. Raises OSError when the address cannot be had."""
        await self._server.start(address)

    async def close(self) -> None:
        await self._server.close()

    async def _page(self, _request: Request) -> Response:
        return HTMLResponse(_render(self._status()), headers=_CLOSE)

    async def _json(self, _request: Request) -> Response:
        return JSONResponse(self._status(), headers=_CLOSE)

    async def _metrics(self, _request: Request) -> Response:
        # Not with the console: prometheus_client would add a tenth of a second of processor time to every start of a member.
        metrics = await asyncio.to_thread(importlib.import_module, "server.http.metrics")
        return Response(metrics.exposition(self._status()), media_type=metrics.CONTENT_TYPE, headers=_CLOSE)

    async def _health(self, _request: Request) -> Response:
        return PlainTextResponse("ok\n", headers=_CLOSE)

    async def _ready(self, _request: Request) -> Response:
        reason = self._unready()
        return PlainTextResponse(f"{reason or 'ready'}\n", 503 if reason else 200, headers=_CLOSE)


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

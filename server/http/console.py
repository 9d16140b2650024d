"""The web console: an API for its page and for programs, a member's state as JSON, metrics for Prometheus, and two
health checks.

    /api/...      `server.http.console_api`
    GET /status   {"member": ..., "members": [...], "engines": {...}, "connections": [...], ...}
    GET /metrics  Prometheus' text format: docs/metrics.md
    GET /health   200 as long as the member's loop runs
    GET /ready    200 when clients can connect; 503 with the reason while the member starts, or drains before it ends

The console listens on the address of the `console` key, loopback by default. The activity of sessions is shown only to
viewers who may see it (`/status`, the API); everything else is shown to everybody who can connect. A connection serves
one request and has a short lifetime, and the number of connections is limited. Websockets, which require an
authenticated viewer, last longer.
"""

from __future__ import annotations

import asyncio
import importlib
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.pg_catalog.declared import HIDDEN
from server.config.address import Address
from server.http import page
from server.http.console_api import ConsoleApi
from server.http.console_login import Viewer
from server.http.guard import short_lived
from server.http.serving import HttpServer

#: The number of simultaneous connections; further ones are closed at once.
CONNECTIONS_MAX: Final = 64
#: The lifetime of a connection, in seconds.
LIFETIME_SECONDS: Final = 20.0
Status = Callable[[], Awaitable[Mapping[str, Any]]]
#: Returns the reason why clients cannot connect; empty if they can.
Unready = Callable[[], str]

#: Headers of every answer. Pages run and load only this server's own files, and cannot be framed.
_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Connection": "close",
}


class ConsoleServer:
    """Serves the console. `status` and `unready` are called for every request. lifetime_seconds: see LIFETIME_SECONDS.
    api: None if viewers cannot be authenticated, so that nobody sees the activity of others. tls: returns the newest
    context; None: http. processes: returns the states of all processes of a server that has several, by their numbers.
    """

    def __init__(
        self,
        status: Status,
        unready: Unready,
        lifetime_seconds: float = LIFETIME_SECONDS,
        api: ConsoleApi | None = None,
        tls: Callable[[], ssl.SSLContext] | None = None,
        processes: Callable[[], Awaitable[Mapping[str, Mapping[str, Any]]]] | None = None,
    ) -> None:
        self._status = status
        self._processes = processes
        self._unready = unready
        self._api = api
        self._scheme = "http" if tls is None else "https"
        routes: list[BaseRoute] = [
            Route("/status", self._json),
            Route("/metrics", self._metrics),
            Route("/health", self._health),
            Route("/ready", self._ready),
            *page.routes(),
            *(api.routes() if api is not None else ()),
        ]
        application = with_headers(Starlette(routes=routes))
        self._server = HttpServer(application, short_lived(CONNECTIONS_MAX, lifetime_seconds), tls, websockets=True)

    @property
    def address(self) -> Address | None:
        return self._server.address

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.address}/"

    async def start(self, address: Address) -> None:
        """Listen. Raises OSError if the address is not available."""
        await self._server.start(address)

    async def close(self) -> None:
        await self._server.close()

    async def _json(self, request: Request) -> Response:
        viewer = await self._api.viewer(request) if self._api is not None else None
        return JSONResponse(_redact(await self._status(), viewer))

    async def _metrics(self, _request: Request) -> Response:
        # Not with the console: prometheus_client would add a tenth of a second of processor time to every start of a member.
        metrics = await asyncio.to_thread(importlib.import_module, "server.http.metrics")
        if self._processes is None:
            told = metrics.exposition(await self._status())
        else:
            told = metrics.exposition_of_processes(await self._processes())
        return Response(told, media_type=metrics.CONTENT_TYPE)

    async def _health(self, _request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, _request: Request) -> Response:
        reason = self._unready()
        return PlainTextResponse(f"{reason or 'ready'}\n", 503 if reason else 200)


def _redact(status: Mapping[str, Any], viewer: Viewer | None) -> Mapping[str, Any]:
    """Return the state without the activity of sessions that the viewer may not see. None: an unauthenticated viewer."""

    def hides(whose: Mapping[str, Any]) -> bool:
        return viewer is None or not viewer.may_see(whose["user"])

    return {
        **status,
        "connections": [
            {**told, "query": HIDDEN, "client_address": None, "client_port": None} if hides(told) else told
            for told in status["connections"]
        ],
        "queries": [{**told, "statement": HIDDEN, "cursor": ""} if hides(told) else told for told in status["queries"]],
    }


def with_headers(application: ASGIApp) -> ASGIApp:
    """Wrap the application so that every answer has the security headers."""
    own = {name.lower().encode(): value.encode() for name, value in _HEADERS.items()}

    async def serve_with_headers(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = list(message.get("headers", ()))
                names = {name for name, _ in said}
                message = {**message, "headers": said + [(n, v) for n, v in own.items() if n not in names]}
            await send(message)

        await application(scope, receive, send_with_headers)

    return serve_with_headers

"""The web console: a member's state as a page for people, as JSON for programs, and a health check.

    GET /         the page
    GET /status   {"member": ..., "members": [...], "engines": {...}, "connections": [...], ...}
    GET /health   200 when short queries can run

It shows and changes nothing. It answers on the address of the `console` key, loopback by default.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from aiohttp import web

from server import __version__
from server.config import Address

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
    """Serves the console. `status` is asked anew for every request."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._runner: web.AppRunner | None = None
        self.address: Address | None = None

    async def start(self, address: Address) -> None:
        """Listen. Raises OSError when the address cannot be had."""
        application = web.Application()
        application.add_routes(
            [web.get("/", self._page), web.get("/status", self._json), web.get("/health", self._health)]
        )
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, address.host, address.port)
        await site.start()
        self.address = Address(address.host, self._runner.addresses[0][1])

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _page(self, _request: web.Request) -> web.Response:
        return web.Response(text=_render(self._status()), content_type="text/html")

    async def _json(self, _request: web.Request) -> web.Response:
        return web.json_response(self._status())

    async def _health(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")


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
        version=_text(__version__),
        member=_text(status["member"]),
        members=members,
        engines=engines,
        connections=connections,
    )


def _text(value: object) -> str:
    return html.escape(str(value))

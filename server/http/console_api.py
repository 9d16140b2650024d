"""The console's API: JSON over HTTP, and a websocket (`server.http.live`).

    POST /api/login                 {"user", "password"}  -> 204 and a cookie, 401
    POST /api/logout                -> 204
    GET  /api/me                    the viewer; 401 if unauthenticated
    GET  /api/overview              members, sessions, running and finished statements
    GET  /api/queries/{id}          a statement with its graph and Spark's jobs; 404, 403
    POST /api/queries/{id}/cancel   -> 204, 403, 404
    POST /api/explain               {"sql"} -> a graph, 400
    WS   /api/live

Every request but the login requires a viewer (`server.http.console_login`). A POST must have the header
`X-Sluice-Console: 1`, which a form cannot send, and a page of another origin only after a preflight request. Errors are
`{"error", "sqlstate"}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from engine.catalog.authority import CANCEL, signal_denied
from engine.contracts.mesh import Mesh
from server.cluster.activity_routing import ClusterActivity
from server.cluster.routing import CancelRouter
from server.common.version import VERSION
from server.http import addressed
from server.http.console_explain import explain_graph
from server.http.console_login import LIFE_SECONDS, ConsoleLogins, Viewer, cookie_name
from server.http.console_views import ConsoleViews
from server.http.live import Live
from server.pgwire.host import Host
from wire.errors import FatalError, InsufficientPrivilege, InvalidPassword, SqlError

#: Limits for the body of a POST.
_BODY_BYTES: Final = 1 << 20
_BODY_SECONDS: Final = 10.0
S = TypeVar("S", bound=msgspec.Struct)
Handler = Callable[[Request], Awaitable[Response]]
ViewerHandler = Callable[[Request, Viewer], Awaitable[Response]]


class _LogIn(msgspec.Struct, frozen=True):
    user: str
    password: str = ""


class _Explain(msgspec.Struct, frozen=True):
    sql: str


_LOG_IN: Final = msgspec.json.Decoder(_LogIn)
_EXPLAIN: Final = msgspec.json.Decoder(_Explain)


class _Refused(Exception):
    """An answer that ends a request."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


class ConsoleApi:
    """See the module's docstring. names: names by which the server is known (`server.http.addressed`)."""

    def __init__(
        self, host: Host, mesh: Mesh, activity: ClusterActivity, cancels: CancelRouter, names: Collection[str] = ()
    ) -> None:
        self._host = host
        self._mesh = mesh
        self._cancels = cancels
        self._names = frozenset(name.lower() for name in names)
        self.logins = ConsoleLogins(host)
        self.views = ConsoleViews(mesh, activity)
        self.live = Live(self.views, self.viewer)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/api/login", self._with_checks(self._login), methods=["POST"]),
            Route("/api/logout", self._with_checks(self._logout), methods=["POST"]),
            Route("/api/me", self._for_viewer(self._me)),
            Route("/api/overview", self._for_viewer(self._overview)),
            Route("/api/queries/{query}", self._for_viewer(self._query)),
            Route("/api/queries/{query}/cancel", self._for_viewer(self._cancel), methods=["POST"]),
            Route("/api/explain", self._for_viewer(self._explain), methods=["POST"]),
            WebSocketRoute("/api/live", self.live.serve),
        ]

    async def viewer(self, request: HTTPConnection) -> Viewer | None:
        """Return the viewer. Return None for an unauthenticated one, or if the request was not meant for this server."""
        if not addressed.is_for_us(request.headers, self._names):
            return None
        scheme = {"ws": "http", "wss": "https"}.get(request.url.scheme, request.url.scheme)
        if request.scope["type"] == "websocket" and not addressed.is_from_us(request.headers, scheme):
            return None
        return await self.logins.viewer(request)

    # -- checks of every request -----------------------------------------------------------------------------------------

    def _with_checks(self, handler: Handler) -> Handler:
        async def handle_checked(request: Request) -> Response:
            if not addressed.is_for_us(request.headers, self._names):
                return error(403, "the Host header names another server", "42501")
            if request.method == "POST" and not self._is_ours(request):
                return error(403, "the header X-Sluice-Console is missing, or the request is another page's", "42501")
            try:
                return await handler(request)
            except _Refused as refused:
                return refused.response

        return handle_checked

    def _for_viewer(self, handler: ViewerHandler) -> Handler:
        async def handle_for_viewer(request: Request) -> Response:
            viewer = await self.viewer(request)
            if viewer is None:
                return error(401, "log in first", InvalidPassword.default_sqlstate)
            return await handler(request, viewer)

        return self._with_checks(handle_for_viewer)

    @staticmethod
    def _is_ours(request: Request) -> bool:
        said = request.headers.get("x-sluice-console") == "1"
        return said and addressed.is_from_us(request.headers, request.url.scheme)

    # -- requests --------------------------------------------------------------------------------------------------------

    async def _login(self, request: Request) -> Response:
        asked = await _body(request, _LOG_IN)
        try:
            token = await self.logins.log_in(request, asked.user, asked.password)
        except FatalError as refused:
            return error(401, refused.message, refused.sqlstate, hint=refused.hint)
        answer = Response(status_code=204)
        secure = request.url.scheme == "https"
        answer.set_cookie(
            cookie_name(request), token, max_age=int(LIFE_SECONDS), httponly=True, samesite="strict", secure=secure
        )
        return answer

    async def _logout(self, request: Request) -> Response:
        self.logins.log_out(request.cookies.get(cookie_name(request), ""))
        answer = Response(status_code=204)
        answer.delete_cookie(cookie_name(request), httponly=True, samesite="strict")
        return answer

    async def _me(self, _request: Request, viewer: Viewer) -> Response:
        member = self._mesh.member
        return json({"user": viewer.user, "may_read_all": viewer.may_read_all, "member": member, "version": VERSION})

    async def _overview(self, _request: Request, viewer: Viewer) -> Response:
        return json(await self.views.overview(viewer))

    async def _query(self, request: Request, viewer: Viewer) -> Response:
        try:
            detail = await self.views.detail(request.path_params["query"], viewer)
        except InsufficientPrivilege as refused:
            return error(403, refused.message, refused.sqlstate)
        return error(404, "there is no such statement", "02000") if detail is None else json(detail.json())

    async def _cancel(self, request: Request, viewer: Viewer) -> Response:
        found = await self.views.find(request.path_params["query"])
        if found is None or found[0].ended is not None:
            return error(404, "there is no such statement under way", "02000")
        told = found[0]
        if not viewer.may_signal(told.user):
            refused = signal_denied(CANCEL, superuser=viewer.roles.of(told.user).superuser)
            return error(403, refused.message, refused.sqlstate)
        if not self._cancels.cancel_statement(told.id):
            return error(404, f"member {told.member} cannot be reached", "08006")
        return Response(status_code=204)

    async def _explain(self, request: Request, viewer: Viewer) -> Response:
        asked = await _body(request, _EXPLAIN)
        try:
            return json(await explain_graph(self._host, viewer.user, asked.sql))
        except SqlError as refused:
            return error(400, refused.message, refused.sqlstate, position=refused.position, hint=refused.hint)


def json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def error(status: int, message: str, sqlstate: str, **more: Any) -> Response:
    told = {name: value for name, value in more.items() if value is not None}
    return json({"error": message, "sqlstate": sqlstate, **told}, status)


async def _body(request: Request, decoder: msgspec.json.Decoder[S]) -> S:
    """Parse the body of a request. Raises _Refused."""
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > _BODY_BYTES:
                    raise _Refused(error(413, f"a request may have {_BODY_BYTES} bytes", "54000"))
        return decoder.decode(body)
    except TimeoutError:
        raise _Refused(error(408, "the request was not here in time", "08006")) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as unread:
        raise _Refused(error(400, f"the request cannot be read: {unread}", "22023")) from None

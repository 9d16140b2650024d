"""HTTP requests and their answers: a client posts a statement and fetches its result from one URL after another.

    POST   /v1/statement                              begins a statement: its id, and the address of its first page
    GET    /v1/statement/executing/{id}/{slug}/{n}    page n, or nothing yet; an address for the next unless that was all
    DELETE the same address                           the client wants no more of it
    GET    /v1/info                                   that there is a server

The last answer is kept, so that a client that has lost it may ask for the page again. A request waits for its page for
about a second. Errors of a statement are answered with status 200; HTTP's error statuses are for invalid requests: 401,
404, 413.

Source: Trino, "Client REST API"; buenavista.http.main.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

from buenavista.http import schemas
from buenavista.http.context import Headers
from fastapi import FastAPI, HTTPException, Request, Response
from pydantic import ConfigDict

from engine.catalog.model.objects import DATABASE
from server.auth.gate import Gate
from server.common.version import VERSION
from server.http.connection import Connection, Query
from server.http.failure import Failure, failure
from server.http.login import Credentials, credentials, visitor
from server.http.query_stats import stats_of
from server.http.requests import require_catalog
from server.http.result import Ending
from wire.errors import (
    FatalError,
    FeatureNotSupported,
    InvalidAuthorizationSpecification,
    InvalidPassword,
    Notice,
    SqlError,
    SqlSyntaxError,
)

#: Seconds for which a request waits for its page.
_PATIENCE: Final = 1.0
#: The limit of a statement's text, as in Trino (query.max-length).
_TEXT_BYTES_MAX: Final = 1_000_000
_JSON: Final = "application/json"
_OFFSET: Final = re.compile(r"[+-]\d\d:\d\d")


class Answer(schemas.QueryResult):
    """buenavista's answer with every optional field made optional, and with the fields that theirs lacks.

    data: rows, which pydantic does not validate one by one.
    """

    model_config = ConfigDict(ser_json_inf_nan="strings")

    info_uri: str  # type: ignore[assignment]
    next_uri: str | None = None
    partial_cancel_uri: str | None = None  # type: ignore[assignment]
    columns: list[schemas.Column] | None = None
    data: Any = None
    update_type: str | None = None
    update_count: int | None = None
    error: Failure | None = None


def application(connection: Connection, gate: Gate, seconds: float) -> FastAPI:
    """Return the routes over a connection. seconds: the time limit for the arrival of a statement's text."""
    app = FastAPI(openapi_url=None)
    door = _Routes(connection, gate, seconds)
    address = "/v1/statement/executing/{name}/{slug}/{token}"
    app.add_api_route("/v1/statement", door.statement, methods=["POST"])
    app.add_api_route(address, door.page, methods=["GET"])
    app.add_api_route(address, door.cancel, methods=["DELETE"])
    app.add_api_route("/v1/info", door.info, methods=["GET"])
    return app


class _Routes:
    def __init__(self, connection: Connection, gate: Gate, seconds: float) -> None:
        self._connection = connection
        self._gate = gate
        self._seconds = seconds
        self._started = time.monotonic()

    async def info(self) -> dict[str, Any]:
        return {
            "nodeVersion": {"version": f"sluice {VERSION}"},
            "environment": DATABASE,
            "coordinator": True,
            "starting": False,
            "uptime": f"{(time.monotonic() - self._started) / 60:.2f}m",
        }

    async def statement(self, request: Request) -> Response:
        headers = Headers(request)
        try:
            who = credentials(request.headers, headers.get("User"))
            guest = visitor(who.user, DATABASE, self._gate.access.tls, request.client, request.scope.get("server"))
            superuser = await self._let_in(guest, who)
            # Read only now, so that an unauthenticated client cannot send megabytes.
            text = await _text(request, self._seconds)
            transaction = headers.get("Transaction-Id", "NONE")
            session = self._connection.session_for(
                guest,
                _settings(headers),
                request.client,
                None if transaction == "NONE" else transaction,
                superuser=superuser,
            )
            prepared = _pairs(headers.get("Prepared-Statement"), unquote_plus)
        except (InvalidPassword, InvalidAuthorizationSpecification) as error:
            raise _unauthorized_error(error) from None
        except SqlError as error:
            return _refusal(request, error)
        query = self._connection.begin(session, text, prepared)
        return _respond(
            Answer(
                **_common(request, query),
                stats=stats_of(query.result, query.started, None, over=False),
                next_uri=_next(request, query),
            )
        )

    async def _let_in(self, guest: Any, who: Credentials) -> bool:
        return await self._connection.admit(guest, who.password)

    async def page(self, request: Request, name: str, slug: str, token: int) -> Response:
        if (ended := self._connection.ended.find(name, slug)) is not None and ended.token == token:
            return ended.answer
        query = self._find(name, slug)
        self._connection.touch(query)
        async with query.turn:
            if token == query.token - 1 and query.last is not None:
                return query.last
            if token != query.token or query.over:
                raise HTTPException(404, "there is no such page")
            over = await query.result.take(_PATIENCE)
            if not over:
                self._connection.touch(query)
            stats = stats_of(query.result, query.started, await query.session.progress(query.result), over=over)
            return self._tell(request, query, stats, over=over)

    def _tell(self, request: Request, query: Query, stats: schemas.StatementStats, *, over: bool) -> Response:
        """Respond with the rows taken. An answer with rows takes the page's number, so that its client can request it
        again; an answer without rows takes none.
        """
        result, ending = query.result, query.result.ending
        data = list(result.rows())
        if not data and not over:
            return _respond(Answer(**_common(request, query), stats=stats, next_uri=_next(request, query)))
        query.token, query.over = query.token + 1, over
        answer = Answer(
            **_common(request, query),
            stats=stats,
            next_uri=None if over else _next(request, query),
            columns=result.columns(),
            data=data or None,
            warnings=[_warning(notice) for notice in result.notices] if over else None,
        )
        headers: dict[str, str] = {}
        if over:
            assert ending is not None
            told = (*ending.headers, *self._connection.transaction_headers(query))
            headers = {f"X-Trino-{name}": value for name, value in told}
            _end(answer, ending, result.text)
        query.last = _respond(answer, headers)
        if over:
            self._connection.end(query, query.last)
        return query.last

    async def cancel(self, name: str, slug: str, token: int) -> Response:
        del token
        if self._connection.ended.find(name, slug) is None:
            self._connection.cancel(self._find(name, slug))
        return Response(status_code=204)

    def _find(self, name: str, slug: str) -> Query:
        query = self._connection.find(name, slug)
        if query is None:
            raise HTTPException(404, "there is no such query")
        return query


async def _text(request: Request, seconds: float) -> str:
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > _TEXT_BYTES_MAX:
                    raise HTTPException(413, f"a statement may have {_TEXT_BYTES_MAX} bytes")
    except TimeoutError:
        raise HTTPException(408, f"the statement was not here after {seconds:g} s") from None
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise HTTPException(400, "the statement is not UTF-8") from None


def _settings(headers: Headers) -> dict[str, str]:
    """Return the settings with which a session begins, by the names that PostgreSQL's clients use. Raises SqlError."""
    if catalog := headers.get("Catalog"):
        require_catalog(catalog)
    if any(role.startswith("ROLE{") for role in _pairs(headers.get("Role"), unquote).values()):
        raise FeatureNotSupported("not supported: roles in X-Trino-Role", hint="A user has the rights of its roles.")
    settings = _pairs(headers.get("Session"), unquote_plus)
    if zone := headers.get("Time-Zone"):
        # Trino's offsets are east of Greenwich; PostgreSQL reads `+02:00` as POSIX does.
        settings.setdefault("TimeZone", f"INTERVAL '{zone}'" if _OFFSET.fullmatch(zone) else zone)
    if source := headers.get("Source"):
        settings.setdefault("application_name", source)
    if schema := headers.get("Schema"):
        settings.setdefault("search_path", '"' + schema.replace('"', '""') + '"')
    return settings


def _pairs(header: str | None, decoded: Any) -> dict[str, str]:
    """Parse a header such as `a=1,b=2`, whose names and values are encoded. Raises SqlSyntaxError."""
    pairs: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in (header or "").split(","))):
        name, equals, value = item.partition("=")
        if not equals:
            raise SqlSyntaxError(f'invalid header: expected name=value, not "{item}"')
        pairs[decoded(name.strip())] = decoded(value.strip())
    return pairs


def _common(request: Request, query: Query) -> Mapping[str, Any]:
    return {"id": query.id, "info_uri": f"{request.base_url}v1/info"}


def _next(request: Request, query: Query) -> str:
    return f"{request.base_url}v1/statement/executing/{query.id}/{query.slug}/{query.token}"


def _end(answer: Answer, ending: Ending, text: str) -> None:
    """Put a statement's ending into an answer."""
    answer.update_type, answer.update_count = ending.kind, ending.count
    if ending.error is not None:
        answer.error, answer.columns = failure(ending.error, text), None
        answer.stats.state = "FAILED"


def _refusal(request: Request, error: SqlError) -> Response:
    """Return the answer to a statement that was refused before it ran."""
    stats = schemas.StatementStats(state="FAILED", elapsed_time_millis=0)
    return _respond(Answer(id="refused", info_uri=f"{request.base_url}v1/info", stats=stats, error=failure(error)))


def _unauthorized_error(error: FatalError) -> HTTPException:
    words = error.message if error.hint is None else f"{error.message}\nHINT: {error.hint}"
    return HTTPException(401, words, {"WWW-Authenticate": 'Basic realm="Sluice"'})


def _warning(notice: Notice) -> schemas.PrestoWarning:
    code = schemas.WarningCode(code=0, name=notice.severity)
    return schemas.PrestoWarning(warning_code=code, message=notice.message)


def _respond(answer: Answer, headers: Mapping[str, str] | None = None) -> Response:
    body = answer.model_dump_json(by_alias=True, exclude_none=True)
    return Response(body, media_type=_JSON, headers=dict(headers or {}))

"""The console's page: static files that call the console's API. There is no build step; browsers load the modules as
they are.

    GET /                 index.html
    GET /static/{name}    the style sheet, the modules, the icon

Everything that comes from clients and tables reaches the page as JSON and is shown as text. If the page failed to do so
somewhere, the content security policy (`server.http.console`) would still let only files of this folder run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from wire.dataclass import dataclass

_TYPES: Final[Mapping[str, str]] = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
#: Browsers revalidate each file and get no body if it is unchanged, so modules of two versions never mix.
_CACHE: Final = "no-cache"


@dataclass(frozen=True, slots=True)
class _File:
    body: bytes
    headers: Mapping[str, str]


@cache
def _files() -> Mapping[str, _File]:
    """Return all files by name. No other file can be requested, whatever the path."""
    folder = resources.files(__package__) / "static"
    return {
        file.name: _file(file.name, file.read_bytes())
        for file in folder.iterdir()
        if file.name.rpartition(".")[2] in _TYPES
    }


def _file(name: str, body: bytes) -> _File:
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return _File(body, {"Content-Type": _TYPES[name.rpartition(".")[2]], "ETag": tag, "Cache-Control": _CACHE})


def _answer(request: Request, name: str) -> Response:
    file = _files().get(name)
    if file is None:
        return PlainTextResponse("Not Found", 404)
    if request.headers.get("If-None-Match") == file.headers["ETag"]:
        return Response(status_code=304, headers=file.headers)
    return Response(file.body, headers=file.headers)


async def _index(request: Request) -> Response:
    return _answer(request, "index.html")


async def _static(request: Request) -> Response:
    return _answer(request, request.path_params["name"])


def routes() -> list[Route]:
    """Return the page's routes, for the console's application."""
    return [Route("/", _index), Route("/static/{name}", _static)]

"""The console's websocket: an overview each second, and each half second the page of the statement that the viewer
follows.

    server -> page   {"overview": ...}, {"query": ...}; {"query": null, "id": ID} if there is no such statement
    page -> server   {"follow": ID or null}

A message is made only when the socket has taken the one before it, so a page that reads slowly misses some, and nothing
is queued for it. A page that reads nothing for a while does not answer pings either, which ends its connection. Before
each message the member checks whether the viewer may still look.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from server.http.console_login import Viewer
from server.http.console_views import ConsoleViews
from wire.errors import InsufficientPrivilege

OVERVIEW_SECONDS: Final = 1.0
QUERY_SECONDS: Final = 0.5
PAGES_MAX: Final = 32
#: Close codes of websockets: the viewer has to log in; there are too many websockets.
UNKNOWN, CROWDED = 4401, 4429


class _Follow(msgspec.Struct, frozen=True):
    follow: str | None = None


_FOLLOW: Final = msgspec.json.Decoder(_Follow)


class Live:
    """All websockets of a member. viewer: returns the current viewer of a websocket."""

    def __init__(self, views: ConsoleViews, viewer: Callable[[WebSocket], Awaitable[Viewer | None]]) -> None:
        self._views = views
        self._viewer = viewer
        self._open = 0

    def __len__(self) -> int:
        return self._open

    async def serve(self, socket: WebSocket) -> None:
        """Serve a websocket from its opening to its end."""
        viewer = await self._viewer(socket)
        await socket.accept()
        if viewer is None or self._open >= PAGES_MAX:
            await socket.close(UNKNOWN if viewer is None else CROWDED)
            return
        self._open += 1
        try:
            await self._converse(socket)
        finally:
            self._open -= 1

    async def _converse(self, socket: WebSocket) -> None:
        page = _Page(socket, self._views, self._viewer)
        tasks = [asyncio.create_task(work) for work in (page.tell(), page.hear())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for task in done:
            task.result()


class _Page:
    def __init__(
        self, socket: WebSocket, views: ConsoleViews, viewer: Callable[[WebSocket], Awaitable[Viewer | None]]
    ) -> None:
        self._socket = socket
        self._views = views
        self._viewer = viewer
        self._follows: str | None = None
        self._changed = asyncio.Event()

    async def hear(self) -> None:
        """Receive messages of the page, until it disconnects or sends an invalid one."""
        try:
            while True:
                self._follows = _FOLLOW.decode(await self._socket.receive_text()).follow
                self._changed.set()
        except (WebSocketDisconnect, msgspec.MsgspecError, UnicodeDecodeError, KeyError):
            return

    async def tell(self) -> None:
        loop = asyncio.get_running_loop()
        next_overview = loop.time()
        try:
            while (viewer := await self._viewer(self._socket)) is not None:
                if loop.time() >= next_overview:
                    next_overview = loop.time() + OVERVIEW_SECONDS
                    await self._send({"overview": await self._views.overview(viewer)})
                if self._follows is not None:
                    await self._send(await self._query(self._follows, viewer))
                await self._pause(next_overview - loop.time())
            await self._socket.close(UNKNOWN)
        except (WebSocketDisconnect, RuntimeError):
            return  # the page has disconnected during a write

    async def _query(self, query: str, viewer: Viewer) -> dict[str, Any]:
        try:
            detail = await self._views.detail(query, viewer)
        except InsufficientPrivilege:
            detail = None
        return {"query": None, "id": query} if detail is None else {"query": detail.json()}

    async def _pause(self, until_overview: float) -> None:
        """Wait until the next message is due, or until the page follows another statement."""
        seconds = until_overview if self._follows is None else min(QUERY_SECONDS, until_overview)
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), max(seconds, 0.0))

    async def _send(self, message: dict[str, Any]) -> None:
        await self._socket.send_text(msgspec.json.encode(message).decode())

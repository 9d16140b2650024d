"""Limits for connections of unauthenticated clients: in number and in time.

uvicorn waits without limit for a connection's first request, and for every further one once its first byte has arrived.
At the door (`guarded_protocol`) each request has a time limit, from the start of the connection or the last answer to
the end of the request's head. The rest of a request is read only after its client is authenticated
(`server.http.routes`). At the console (`short_lived`) no authentication is required, so a connection serves one request
and has a fixed lifetime.

Rejected: uvicorn's `limit_concurrency`, which answers 503 to clients with sessions because of clients that send
nothing.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class _Bounded(H11Protocol):
    """A connection with a time limit. Connections beyond the maximum number are closed at once.

    connections_max, seconds: the limits; set by subclasses.
    """

    connections_max = 0
    seconds = 0.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.connections_max:
            transport.abort()
        else:
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Lift the time limit: a websocket lasts as long as its application wants (`server.http.live`)."""
        self._stop()
        super().handle_websocket_upgrade(event)

    def _start(self) -> None:
        self._deadline = self.loop.call_later(self.seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _Guarded(_Bounded):
    """A connection whose time limit applies while no request is being answered."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._deadline is None and not self.transport.is_closing():
            self._start()


def guarded_protocol(connections_max: int, request_seconds: float) -> type[H11Protocol]:
    """Return the protocol of a door's connections. Connections beyond `connections_max` are closed at once."""
    return type("Guarded", (_Guarded,), {"connections_max": connections_max, "seconds": request_seconds})


def short_lived(connections_max: int, seconds: float) -> type[H11Protocol]:
    """Return the protocol of connections that end after `seconds`. Connections beyond `connections_max` are closed at
    once.

    The application ends each with its first answer, by `Connection: close`.
    """
    return type("ShortLived", (_Bounded,), {"connections_max": connections_max, "seconds": seconds})

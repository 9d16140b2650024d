"""A client of the console's API: it sends requests with a cookie, as the console's page in a browser does, and opens a
websocket.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import AcceptConnection, CloseConnection, Ping, RejectConnection, Request, TextMessage

_SECONDS = 60


class ConsoleClient:
    """A client of one console. url: the console's address. tls: the TLS context for https. headers: additional headers
    of every request.
    """

    def __init__(self, url: str, tls: ssl.SSLContext | None = None, headers: Mapping[str, str] | None = None) -> None:
        address = urlsplit(url)
        assert address.hostname is not None
        assert address.port is not None
        self.host, self.port = address.hostname, address.port
        self.tls = tls
        self.headers = dict(headers or {})
        self.cookie = ""
        #: Of the last answer.
        self.answered: Mapping[str, str] = {}

    def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request. Returns the status and the decoded JSON body, or the body as text if it is not JSON."""
        if self.tls is None:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=_SECONDS)
        else:
            connection = http.client.HTTPSConnection(self.host, self.port, timeout=_SECONDS, context=self.tls)
        own = {"Cookie": self.cookie} if self.cookie else {}
        if method == "POST":
            own["X-Sluice-Console"] = "1"
        encoded = None if body is None else json.dumps(body)
        try:
            connection.request(method, path, encoded, {**own, **self.headers, **(headers or {})})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        self.answered = {name.lower(): value for name, value in answer.getheaders()}
        if "set-cookie" in self.answered:
            self.cookie = self.answered["set-cookie"].partition(";")[0]
        is_json = self.answered.get("content-type", "").startswith("application/json")
        return answer.status, json.loads(text) if is_json and text else text

    def get(self, path: str) -> tuple[int, Any]:
        return self.ask("GET", path)

    def post(self, path: str, body: Any = None) -> tuple[int, Any]:
        return self.ask("POST", path, body)

    def log_in(self, user: str, password: str = "") -> tuple[int, Any]:
        return self.post("/api/login", {"user": user, "password": password})

    def query(self, query: str) -> tuple[int, Any]:
        return self.get(f"/api/queries/{quote(query)}")

    def cancel(self, query: str) -> tuple[int, Any]:
        return self.post(f"/api/queries/{quote(query)}/cancel")

    @contextmanager
    def live(self, headers: Mapping[str, str] | None = None) -> Iterator[LiveSocket]:
        """Open the websocket /api/live."""
        with socket.create_connection((self.host, self.port), timeout=_SECONDS) as raw:
            own = {**({"Cookie": self.cookie} if self.cookie else {}), **self.headers, **(headers or {})}
            yield LiveSocket(raw, f"{self.host}:{self.port}", own)


class LiveSocket:
    """A websocket of the console. closed: the code with which the server closed it."""

    def __init__(self, raw: socket.socket, host: str, headers: Mapping[str, str]) -> None:
        self.raw = raw
        self.closed: int | None = None
        self._connection = WSConnection(ConnectionType.CLIENT)
        self._text = ""
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        raw.sendall(self._connection.send(Request(host=host, target="/api/live", extra_headers=encoded)))
        while self._connection.state is ConnectionState.CONNECTING and self._receive():
            pass

    def follow(self, query: str | None) -> None:
        self.raw.sendall(self._connection.send(TextMessage(json.dumps({"follow": query}))))

    def next(self) -> dict[str, Any] | None:
        """Return the next message, or None once the socket is closed."""
        while self.closed is None:
            for event in self._connection.events():
                match event:
                    case TextMessage(data=data, message_finished=finished):
                        self._text += data
                        if finished:
                            text, self._text = self._text, ""
                            return dict(json.loads(text))
                    case Ping():
                        self.raw.sendall(self._connection.send(event.response()))
                    case CloseConnection(code=code):
                        self.closed = code
                        return None
                    case RejectConnection(status_code=status):
                        self.closed = status
                        return None
                    case AcceptConnection():
                        pass
            self._receive()
        return None

    def _receive(self) -> bool:
        """Receive bytes from the socket. Returns whether any arrived."""
        received = self.raw.recv(1 << 16)
        if received:
            self._connection.receive_data(received)
        else:
            self.closed = 1006
        return bool(received)

    def until(self, key: str) -> Any:
        """Return the value under `key` of the next message that has this key."""
        while (message := self.next()) is not None:
            if key in message:
                return message[key]
        raise AssertionError(f"closed with {self.closed}")

"""A listener over the DuckDB test engine, and clients for it. Closing it checks that nothing was left behind."""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import psycopg

from engine.contracts.sessions import Client
from server.pgwire.client_stream import ClientStream
from server.pgwire.listener import Listener, ListenerOptions
from support.duckdb_sessions import Counters, DuckEngine, DuckSession

T = TypeVar("T")


@dataclass
class Server:
    engine: DuckEngine
    listener: Listener
    host: str = "127.0.0.1"
    sessions: list[DuckSession] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.listener.addresses[0][1]

    @property
    def counters(self) -> Counters:
        return self.engine.counters


async def translate_at_once(call: Callable[[], T], _characters: int) -> T:
    """Translate a statement of the door for Trino's clients, whatever its length."""
    return call()


def open_files() -> int:
    """Return the number of sockets and files that this process has open, without those of the event loop itself."""
    return sum(_is_ours(number) for number in os.listdir("/proc/self/fd"))


def _is_ours(number: str) -> bool:
    try:
        target = os.readlink(f"/proc/self/fd/{number}")
    except FileNotFoundError:
        return False
    return target.startswith("socket:") or (target.startswith("/") and not target.startswith("/dev/"))


@asynccontextmanager
async def serve(options: ListenerOptions | None = None, rows_per_batch: int = 10_000) -> AsyncIterator[Server]:
    """Run a server. At its end every session is ended, and it is asserted that nothing of them is left."""
    engine = DuckEngine(rows_per_batch)
    sessions: list[DuckSession] = []

    def new_session(*, user: str, database: str, options: Mapping[str, str], client: Client) -> DuckSession:
        sessions.append(engine.session(user=user, database=database, options=options, client=client))
        return sessions[-1]

    before_tasks, before_files = asyncio.all_tasks(), open_files()
    listener = Listener(new_session, options)
    await listener.start("127.0.0.1", 0)
    try:
        yield Server(engine, listener, sessions=sessions)
    finally:
        await listener.close()
        await asyncio.get_running_loop().shutdown_default_executor()
    counters = engine.counters
    assert (counters.sessions, counters.executions, counters.transactions) == (0, 0, 0)
    assert listener.connections == 0
    assert len(listener.registry) == 0
    await eventually(lambda: asyncio.all_tasks() - {asyncio.current_task()} <= before_tasks)
    await eventually(lambda: open_files() <= before_files)
    engine.close()


async def eventually(condition: Any) -> None:
    """Wait until a condition holds; only the test's own timeout ends the wait."""
    while not condition():  # noqa: ASYNC110 -- conditions of many kinds, none of which tells when it changes
        await asyncio.sleep(0.01)


def stream_of(server: Server, client: RawClient) -> ClientStream:
    """Return the server's side of a client's socket."""
    [found] = [s._stream for s in server.listener._sessions.values() if s.pid == client.pid]
    return found


async def connect(server: Server, **more: Any) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    return await psycopg.AsyncConnection.connect(
        host=server.host, port=server.port, user="ann", dbname="sluice", sslmode="disable", **more
    )


class RawClient:
    """A client that sends and receives protocol messages as bytes. Its methods queue messages; `until` sends them and
    reads answers.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.error: dict[str, str] = {}
        self.notices: list[dict[str, str]] = []
        self.tags: list[str] = []
        self.transcript: list[object] = []
        self.rows: list[list[bytes | None]] = []
        self.parameters: dict[str, str] = {}
        self.status = ""
        self.pid = 0
        self.key = b""

    def message(self, kind: str, body: bytes = b"") -> Self:
        self.writer.write(kind.encode() + struct.pack("!i", len(body) + 4) + body)
        return self

    def query(self, text: str) -> Self:
        return self.message("Q", text.encode() + b"\0")

    def parse(self, name: str, text: str, types: Sequence[int] = ()) -> Self:
        return self.message("P", _text(name) + _text(text) + struct.pack(f"!h{len(types)}I", len(types), *types))

    def bind(self, portal: str, name: str, values: Sequence[bytes | None] = (), results: Sequence[int] = ()) -> Self:
        body = _text(portal) + _text(name) + struct.pack("!hh", 0, len(values))
        for value in values:
            body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
        return self.message("B", body + struct.pack(f"!h{len(results)}h", len(results), *results))

    def describe(self, kind: str, name: str) -> Self:
        return self.message("D", kind.encode() + _text(name))

    def execute(self, portal: str, rows: int) -> Self:
        return self.message("E", _text(portal) + struct.pack("!i", rows))

    def close(self, kind: str, name: str) -> Self:
        return self.message("C", kind.encode() + _text(name))

    def flush(self) -> Self:
        return self.message("H")

    def sync(self) -> Self:
        return self.message("S")

    def startup(self, protocol: int = 0x30000, **parameters: str) -> Self:
        body = struct.pack("!i", protocol)
        for name, value in parameters.items():
            body += _text(name) + _text(value)
        self.writer.write(struct.pack("!i", len(body) + 5) + body + b"\0")
        return self

    async def receive(self) -> tuple[str, bytes]:
        head = await self.reader.readexactly(5)
        kind, body = chr(head[0]), await self.reader.readexactly(struct.unpack("!i", head[1:])[0] - 4)
        self._note(kind, body)
        if kind != "S":
            self.transcript.append(_told(kind, body))
        return kind, body

    def _note(self, kind: str, body: bytes) -> None:
        match kind:
            case "E":
                self.error = _fields(body)
            case "N":
                self.notices.append(_fields(body))
            case "C":
                self.tags.append(body[:-1].decode())
            case "Z":
                self.status = body.decode()
            case "D":
                self.rows.append(_values(body))
            case "S":
                name, value, _ = body.split(b"\0")
                self.parameters[name.decode()] = value.decode()
            case "K":
                self.pid, self.key = struct.unpack("!I", body[:4])[0], body[4:]

    async def until(self, kind: str) -> list[str]:
        """Return the kinds of the messages up to and with the next one of `kind`, without ParameterStatus."""
        kinds: list[str] = []
        while not kinds or kinds[-1] != kind:
            got, _ = await self.receive()
            if got != "S":
                kinds.append(got)
        return kinds

    async def until_closed(self) -> list[str]:
        kinds: list[str] = []
        while True:
            try:
                kinds.append((await self.receive())[0])
            except (asyncio.IncompleteReadError, ConnectionError):
                return kinds


def _told(kind: str, body: bytes) -> object:
    """Return the parts of a message that must be the same on two servers: without source lines, types and row
    identities.
    """
    if kind in "EN":
        return kind, {name: text for name, text in _fields(body).items() if name in "SVCMDHP"}
    if kind == "D":
        return kind, _values(body)
    if kind in "CZ":
        return kind, body
    if kind == "T":
        return kind, struct.unpack_from("!h", body)[0]
    return kind


def _text(text: str) -> bytes:
    return text.encode() + b"\0"


def _fields(body: bytes) -> dict[str, str]:
    return {chr(f[0]): f[1:].decode() for f in body.split(b"\0") if f}


def _values(body: bytes) -> list[bytes | None]:
    (count,) = struct.unpack_from("!h", body)
    at, values = 2, list[bytes | None]()
    for _ in range(count):
        (length,) = struct.unpack_from("!i", body, at)
        at += 4
        values.append(None if length < 0 else body[at : at + length])
        at += max(length, 0)
    return values


@asynccontextmanager
async def raw(server: Server, *, start: bool = True, **parameters: str) -> AsyncIterator[RawClient]:
    """Open a client that speaks bytes; with `start` it is logged in already."""
    async with raw_to(server.host, server.port) as client:
        if start:
            client.startup(0x30000, **{"user": "ann", "database": "sluice", **parameters})
            await client.until("Z")
        yield client


@asynccontextmanager
async def raw_to(host: str, port: int) -> AsyncIterator[RawClient]:
    """Open such a connection to any server."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        yield RawClient(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

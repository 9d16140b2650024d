"""Limits of each port for clients that have not authenticated: the number of connections, the bytes and the time.

Further tests of the ports for PostgreSQL's clients and for members are in `test_slow_clients`, `unit/test_session_ends`
and `unit/engine/exchange/test_mesh_listener`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.session_server import eventually, raw, raw_to, serve, translate_at_once

from engine.exchange import listener as mesh
from server.auth.gate import Access, Gate
from server.auth.hba import parse
from server.config.address import Address
from server.http import console
from server.http.console import ConsoleServer
from server.http.door import Door
from server.http.session import Bounds
from server.pgwire.host import UNADMITTED_MAX
from server.pgwire.input_throttle import INBOUND_STRANGER_BYTES_MAX
from server.pgwire.listener import ListenerOptions, trust

_HEAD = b"GET /v1/info HTTP/1.1\r\nHost: x\r\n"


@asynccontextmanager
async def _door(seconds: float = 60.0, gate: Gate | None = None, clients: int = 500) -> AsyncIterator[int]:
    options = ListenerOptions(authentication_timeout=seconds, max_connections=clients, gate=gate or trust())
    async with serve(options) as server:
        door = Door(server.listener.host, Bounds(), translate_at_once)
        await door.start(Address("127.0.0.1", 0))
        assert door.address is not None
        try:
            yield door.address.port
        finally:
            await door.close()


@asynccontextmanager
async def _console(lifetime_seconds: float) -> AsyncIterator[int]:
    async def status() -> Mapping[str, Any]:
        return {"member": "m1"}

    served = ConsoleServer(status, lambda: "", lifetime_seconds)
    await served.start(Address("127.0.0.1", 0))
    assert served.address is not None
    try:
        yield served.address.port
    finally:
        await served.close()


async def _told(port: int, said: bytes) -> bytes:
    """Return everything that a port answers to a client that sends these bytes and no more, until it closes the
    connection.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(said)
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize("said", [b"", _HEAD, _HEAD + b"\r\n" + _HEAD])
async def test_the_door_waits_so_long_for_a_request(said: bytes) -> None:
    """The client sends nothing, half a head, or half of a second head, whose first byte ends uvicorn's own timeout."""
    async with _door(seconds=1) as port:
        answer = await _told(port, said)
    assert answer.count(b"HTTP/1.1 200") == said.count(b"\r\n\r\n")


async def test_the_door_waits_so_long_for_a_statement() -> None:
    head = b"POST /v1/statement HTTP/1.1\r\nHost: x\r\nX-Trino-User: ann\r\nContent-Length: 1000\r\n\r\nsel"
    async with _door(seconds=1) as port:
        assert (await _told(port, head)).startswith(b"HTTP/1.1 408")


async def test_the_door_reads_no_statement_of_a_stranger() -> None:
    gate = Gate(Access(trusted=parse("host all all all reject", "test"), delay=0.0))
    head = b"POST /v1/statement HTTP/1.1\r\nHost: x\r\nX-Trino-User: ann\r\nContent-Length: 1000\r\n\r\nsel"
    async with _door(gate=gate) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)
        assert (await reader.readline()).startswith(b"HTTP/1.1 401")
        writer.close()


async def test_the_door_takes_so_many_connections() -> None:
    async with _door(clients=1) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(1 + UNADMITTED_MAX)]
        assert await _told(port, _HEAD + b"\r\n") == b""
        for _, writer in silent:
            writer.close()


async def test_the_console_ends_connections_after_a_while() -> None:
    async with _console(lifetime_seconds=0.1) as port:
        assert await _told(port, b"") == b""
        assert await _told(port, b"GET /health HTTP/1.1\r\nHost") == b""


async def test_the_console_takes_so_many_connections() -> None:
    health = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    async with _console(lifetime_seconds=600) as port:
        assert (await _told(port, health)).endswith(b"ok\n")
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(console.CONNECTIONS_MAX)]
        assert await _told(port, health) == b""
        for _, writer in silent:
            writer.close()


async def test_a_client_that_is_not_let_in_yet_is_read_no_further() -> None:
    """The client waits for the answer to a wrong password, and continues to send."""
    gate = Gate(Access(trusted=parse("hostnossl all all all password", "test"), delay=60.0))
    async with serve(ListenerOptions(gate=gate)) as server, raw(server, start=False) as client:
        client.startup(0x30000, user="ann", database="sluice")
        client.writer.write(b"p\0\0\0\x06x\0")
        client.writer.write(bytes(8 << 20))
        session = await _only_session(server)
        stream = session._stream
        await eventually(lambda: stream.connection.buffered_bytes > INBOUND_STRANGER_BYTES_MAX)
        assert not stream.reading.is_reading
        # What was on its way in a few reads of the socket comes on top; the rest waits with the client.
        assert stream.connection.buffered_bytes < 1 << 20
        client.writer.transport.abort()


async def _only_session(server: Any) -> Any:
    await eventually(lambda: server.listener.connections == 1)
    return next(iter(server.listener._sessions.values()))


async def test_the_mesh_port_takes_so_many_that_ask_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh, "_UNOPENED_MAX", 2)
    listener = mesh.DataListener()
    await listener.start()
    host, port = listener.address
    try:
        async with raw_to(host, port), raw_to(host, port):
            await eventually(lambda: listener.connections == 2)
            assert await _told(port, b"") == b""
            assert listener.connections == 2
    finally:
        await listener.close()

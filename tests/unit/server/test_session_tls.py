"""TLS on a session's socket: offered where it is configured, and everything as before inside it."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from support.session_server import Server, eventually, raw, serve

from server.auth.client_tls import ClientTls, ClientTlsFiles
from server.auth.gate import Access, Gate
from server.auth.hba import parse
from server.pgwire.listener import ListenerOptions
from wire.pg.messages import SSL_REQUEST_CODE


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ClientTls:
    folder = tmp_path_factory.mktemp("tls")
    _make_certificate(folder)
    return ClientTls.read(ClientTlsFiles(str(folder / "server.crt"), str(folder / "server.key")))


def _make_certificate(folder: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", folder / "server.key", "-out", folder / "server.crt"],
        check=True, capture_output=True,
    )  # fmt: skip


@pytest.fixture
async def server(tls: ClientTls) -> AsyncIterator[Server]:
    async with serve(ListenerOptions(gate=Gate(Access(parse("host all all all trust", "test"), tls=tls)))) as running:
        yield running


async def _connect(server: Server, **more: Any) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    return await psycopg.AsyncConnection.connect(
        host=server.host, port=server.port, user="ann", dbname="sluice", autocommit=True, **more
    )


async def test_psycopg_over_tls(server: Server) -> None:
    async with await _connect(server, sslmode="require") as connection:
        assert connection.pgconn.ssl_in_use
        cursor = await connection.execute("select range::int8, repeat('x', 100) from range(200000)")
        assert len(await cursor.fetchall()) == 200_000
        task = asyncio.create_task(connection.execute("select count(*) from range(1000000000000) where range % 7 = 8"))
        await eventually(lambda: server.counters.executions == 1)
        await connection.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            await task


async def test_asyncpg_over_tls(server: Server) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = await asyncpg.connect(host=server.host, port=server.port, user="ann", database="sluice", ssl=context)
    try:
        assert await connection.fetchval("select $1::int4", 7) == 7
    finally:
        await connection.close()


async def test_in_the_clear_where_tls_is_only_offered(server: Server) -> None:
    async with await _connect(server, sslmode="disable") as connection:
        assert not connection.pgconn.ssl_in_use


async def test_where_tls_is_not_configured() -> None:
    async with serve() as server:
        with pytest.raises(psycopg.OperationalError, match="server does not support SSL, but SSL was required"):
            await _connect(server, sslmode="require")
        async with await _connect(server, sslmode="prefer", gssencmode="disable") as connection:
            assert not connection.pgconn.ssl_in_use


async def test_what_is_not_a_handshake_ends_the_connection_only(server: Server) -> None:
    async with raw(server, start=False) as client:
        client.writer.write(b"\0\0\0\x08" + SSL_REQUEST_CODE.to_bytes(4, "big"))
        assert await client.reader.readexactly(1) == b"S"
        client.writer.write(b"this is no ClientHello" * 20)
        await eventually(lambda: server.listener.connections == 0)
    async with await _connect(server, sslmode="require") as connection:
        assert await (await connection.execute("select 1")).fetchone() == (1,)


async def test_data_in_the_clear_behind_the_request(server: Server) -> None:
    async with raw(server, start=False) as client:
        client.writer.write(b"\0\0\0\x08" + SSL_REQUEST_CODE.to_bytes(4, "big"))
        client.startup(0x30000, user="mallory", database="sluice")
        assert await client.until_closed() == ["E"]
        assert client.error["M"] == "received unencrypted data after SSL request"

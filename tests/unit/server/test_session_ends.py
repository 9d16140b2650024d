"""How commands and sessions end: cancel, timeouts, clients that vanish, shutdown; each test ends with a leak check."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import struct
from collections.abc import AsyncIterator

import psycopg
import pytest
from support.duckdb_sessions import DuckEngine
from support.session_server import RawClient, Server, connect, eventually, raw, serve, stream_of

from server.pgwire import input_throttle
from server.pgwire.listener import Listener
from wire.errors import Notice

ENDLESS = "select count(*) from range(1000000000000) a where range % 7 = 8"
LONG_ROWS = "select repeat('x', 10000000) from range(3)"
MANY = "select range::int8, repeat('x', 100) from range(100000000)"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


async def cancel(server: Server, pid: int, key: bytes) -> None:
    """Send a CancelRequest and wait until the server closes that connection."""
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(struct.pack("!iiI", 12 + len(key), 80877102, pid) + key)
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()


async def running(server: Server, count: int = 1) -> None:
    await eventually(lambda: server.counters.executions == count)


# -- cancel ----------------------------------------------------------------------------------------------------------


async def test_cancel_a_running_query(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        task = asyncio.create_task(connection.execute(ENDLESS))
        await running(server)
        await connection.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled, match="canceling statement due to user request"):
            await task
        assert server.counters.executions == 0
        assert await (await connection.execute("select 1")).fetchone() == (1,)


async def test_cancel_within_a_transaction_block(server: Server) -> None:
    async with raw(server) as client:
        client.query("begin").query(ENDLESS)
        await client.until("Z")
        await running(server)
        await cancel(server, client.pid, client.key)
        assert await client.until("Z") == ["E", "Z"]
        assert (client.error["C"], client.status) == ("57014", "E")


async def test_answers_of_steps_wait_for_the_end_of_the_command(server: Server) -> None:
    async with raw(server) as client:
        client.parse("", ENDLESS).bind("", "").execute("", 0).sync()
        await running(server)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.reader.read(1), 0.1)
        await cancel(server, client.pid, client.key)
        assert await client.until("Z") == ["1", "2", "E", "Z"]


async def test_cancel_needs_the_key(server: Server) -> None:
    async with raw(server) as client:
        client.query(ENDLESS)
        await running(server)
        await cancel(server, client.pid, bytes(4))
        await cancel(server, client.pid, client.key + b"\0")
        await cancel(server, client.pid + 1, client.key)
        assert server.counters.executions == 1
        await cancel(server, client.pid, client.key)
        await client.until("Z")
        assert client.error["C"] == "57014"


async def test_cancel_of_an_idle_session_does_nothing(server: Server) -> None:
    async with raw(server) as client:
        await cancel(server, client.pid, client.key)
        client.query("select 1")
        assert await client.until("Z") == ["T", "D", "C", "Z"]


async def test_the_keys_of_protocol_3_2_are_long(server: Server) -> None:
    async with raw(server, start=False) as client:
        client.startup(0x30002, user="ann", database="sluice")
        kinds = await client.until("Z")
        assert kinds == ["R", "K", "Z"]
        assert len(client.key) == 32
        client.query(ENDLESS)
        await running(server)
        await cancel(server, client.pid, client.key)
        await client.until("Z")
        assert client.error["C"] == "57014"


async def test_newer_protocols_are_negotiated(server: Server) -> None:
    async with raw(server, start=False) as client:
        client.startup(0x3000F, user="ann", database="sluice", **{"_pq_.novelty": "1"})
        assert await client.until("Z") == ["v", "R", "K", "Z"]
        assert len(client.key) == 32


async def test_cancel_a_client_that_does_not_read(server: Server) -> None:
    async with raw(server) as client:
        client.query(MANY)
        assert await client.until("T") == ["T"]
        await running(server)
        await eventually(lambda: stream_of(server, client).is_congested)
        await cancel(server, client.pid, client.key)
        kinds = await client.until("Z")
        assert kinds[-2:] == ["E", "Z"]
        assert client.error["C"] == "57014"


async def test_a_notice_never_stands_within_a_row(server: Server) -> None:
    async with raw(server) as client:
        client.query(LONG_ROWS)
        await running(server)
        await eventually(lambda: stream_of(server, client).is_congested)
        server.sessions[0].client.notice(Notice("said while a row is on its way"))
        # Until the stream would have sent it, had there been no row.
        await eventually(lambda: stream_of(server, client)._timer is None)
        kinds = await client.until("Z")
        assert (kinds[0], kinds[-2:], set(kinds[1:-2])) == ("T", ["C", "Z"], {"D", "N"})
        assert [len(row[0] or b"") for row in client.rows] == [10_000_000] * 3
        assert [notice["M"] for notice in client.notices] == ["said while a row is on its way"]


async def test_cancel_in_a_pipeline_skips_to_sync(server: Server) -> None:
    async with raw(server) as client:
        client.parse("", ENDLESS).bind("", "").execute("", 0).parse("", "select 1").sync().query("select 2")
        await running(server)
        await cancel(server, client.pid, client.key)
        assert await client.until("Z") == ["1", "2", "E", "Z"]
        assert await client.until("Z") == ["T", "D", "C", "Z"]


async def test_terminate_from_the_engine(server: Server) -> None:
    async with raw(server) as client, raw(server) as other:
        assert server.sessions[0].client.cancel_backend(other.pid)
        assert server.sessions[0].client.terminate_backend(other.pid)
        assert not server.sessions[0].client.terminate_backend(1 << 31)
        assert await other.until_closed() == ["E"]
        assert (other.error["S"], other.error["C"]) == ("FATAL", "57P01")
        client.query("select 1")
        assert await client.until("Z") == ["T", "D", "C", "Z"]


async def test_fifty_cancels_leave_a_usable_connection(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        for _ in range(50):
            task = asyncio.create_task(connection.execute(ENDLESS))
            await running(server)
            await connection.cancel_safe()
            with pytest.raises(psycopg.errors.QueryCanceled):
                await task
            assert server.counters.executions == 0


# -- timeouts --------------------------------------------------------------------------------------------------------


async def test_statement_timeout(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        await connection.execute("set statement_timeout = '1s'")
        for prepare in (False, True):
            with pytest.raises(psycopg.errors.QueryCanceled, match="canceling statement due to statement timeout"):
                await connection.execute(ENDLESS, prepare=prepare)
        assert await (await connection.execute("select 1")).fetchone() == (1,)
        await connection.execute("set statement_timeout = 0; select 1")


async def test_idle_in_transaction_timeout(server: Server) -> None:
    async with raw(server, options="-c idle_in_transaction_session_timeout=100") as client:
        client.query("begin")
        await client.until("Z")
        assert await client.until_closed() == ["E"]
        assert (client.error["S"], client.error["C"]) == ("FATAL", "25P03")


async def test_idle_session_timeout(server: Server) -> None:
    async with raw(server, options="--idle-session-timeout=100ms") as client:
        assert await client.until_closed() == ["E"]
        assert (client.error["S"], client.error["C"]) == ("FATAL", "57P05")


# -- clients that vanish ---------------------------------------------------------------------------------------------


def reset(client: RawClient) -> None:
    """Close the socket the rude way."""
    sock = client.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.writer.transport.abort()


@pytest.mark.parametrize("rude", [False, True])
async def test_a_client_that_vanishes_stops_what_it_ran(server: Server, rude: bool) -> None:
    async with raw(server) as client:
        client.query(ENDLESS)
        await running(server)
        if rude:
            reset(client)
        else:
            client.writer.close()
        await eventually(lambda: server.listener.connections == 0)
        assert server.counters.executions == 0
        assert server.counters.interrupted == 1


async def test_a_client_that_vanishes_while_it_is_written_to(server: Server) -> None:
    async with raw(server) as client:
        client.query(MANY)
        await client.until("T")
        await running(server)
        reset(client)
        await eventually(lambda: server.listener.connections == 0)


async def test_a_client_that_vanishes_with_suspended_portals(server: Server) -> None:
    async with raw(server) as client:
        client.query("begin").parse("s", MANY)
        for name in "abc":
            client.bind(name, "s").execute(name, 2)
        client.flush()
        await client.until("Z")
        for _ in range(3):
            await client.until("s")
        assert server.counters.executions == 3
        client.writer.close()
        await eventually(lambda: server.listener.connections == 0)
        assert server.counters.log[-1] == "rollback"


async def test_a_client_that_vanishes_behind_a_full_buffer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_throttle, "INBOUND_BYTES_MAX", 1000)
    async with raw(server) as client:
        client.query(ENDLESS)
        await running(server)
        for _ in range(40):
            client.query("select 'much more than fits'")
        await client.writer.drain()
        await eventually(lambda: not stream_of(server, client).reading.is_reading)
        client.writer.close()
        await eventually(lambda: server.listener.connections == 0)


async def test_both_sides_write_and_nobody_waits_for_ever(server: Server) -> None:
    """A client that sends 6 MB of pipeline and reads nothing until all is sent, while the answers are 8 MB."""
    async with raw(server) as client:
        padding = "x" * 30_000
        for _ in range(200):
            client.parse("", f"select repeat('y', 40000) -- {padding}").bind("", "").execute("", 0)
        client.sync()
        await client.writer.drain()
        kinds = await client.until("Z")
        assert kinds.count("D") == 200


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        b"\0\0\x27\x11" + bytes(100),
        b"\0\0\0\x10\0\3\0\0user\0a\0b",
        struct.pack("!ii", 8, 2 << 16),
        struct.pack("!ii", 9, 3 << 16) + b"\0",
    ],
)
async def test_a_bad_beginning_ends_the_connection_only(server: Server, data: bytes) -> None:
    async with raw(server, start=False) as client, raw(server) as other:
        client.writer.write(data)
        assert await client.until_closed() == ["E"]
        assert client.error["S"] == "FATAL"
        other.query("select 1")
        assert await other.until("Z") == ["T", "D", "C", "Z"]


@pytest.mark.parametrize(
    "data", [b"Q\0\0\0\2", b"Z\0\0\0\4", b"Q\x7f\xff\xff\xff", b"B\0\0\0\x06\0\0", b"p\0\0\0\5\0", b"X\0\0\0\5\0"]
)
async def test_a_malformed_message_ends_the_connection_only(server: Server, data: bytes) -> None:
    async with raw(server) as client, raw(server) as other:
        client.query("begin; declare c cursor for " + MANY)
        await client.until("Z")
        client.writer.write(data)
        assert await client.until_closed() == ["E"]
        assert (client.error["S"], client.error["C"]) == ("FATAL", "08P01")
        assert server.counters.executions == 0
        other.query("select 1")
        assert await other.until("Z") == ["T", "D", "C", "Z"]


async def test_a_message_cut_off_in_the_middle(server: Server) -> None:
    async with raw(server) as client:
        client.writer.write(b"Q\0\0\0\x20select")
        await client.writer.drain()
    await eventually(lambda: server.listener.connections == 0)


@pytest.mark.parametrize(
    ("parameters", "code", "words"),
    [
        ({"user": "ann", "database": "other"}, "3D000", 'database "other" does not exist'),
        ({"user": "ann"}, "3D000", 'database "ann" does not exist'),
        ({"database": "sluice"}, "28000", "no PostgreSQL user name specified in startup packet"),
        ({"user": "ann", "database": "sluice", "replication": "database"}, "0A000", "replication connections"),
        ({"user": "ann", "database": "sluice", "nonsense": "1"}, "42704", "unrecognized configuration parameter"),
        ({"user": "ann", "database": "sluice", "options": "-c DateStyle=x"}, "22023", "invalid value for parameter"),
        ({"user": "ann", "database": "sluice", "options": "-x"}, "42601", "invalid command-line argument"),
        ({"user": "ann", "database": "sluice", "options": "-c"}, "42601", "requires an argument"),
        ({"user": "ann", "database": "sluice", "options": "--jit"}, "42601", "--jit requires a value"),
    ],
)
async def test_refused_at_the_door(server: Server, parameters: dict[str, str], code: str, words: str) -> None:
    async with raw(server, start=False) as client:
        client.startup(0x30000, **parameters)
        assert (await client.until_closed())[-1] == "E"
        assert (client.error["S"], client.error["C"]) == ("FATAL", code)
        assert words in client.error["M"]


async def test_settings_in_the_startup_packet(server: Server) -> None:
    options = r"-c sluice.engine=spark -cDateStyle=German --extra-float-digits=3  -c application_name=a\ b\\c"
    async with raw(server, options=options, DateStyle="SQL", replication="false") as client:
        assert client.parameters["DateStyle"] == "SQL, MDY"
        assert client.parameters["application_name"] == "a b\\c"
        client.query("show sluice.engine; show extra_float_digits")
        await client.until("Z")
        assert client.rows == [[b"spark"], [b"3"]]


# -- many ------------------------------------------------------------------------------------------------------------


async def test_two_hundred_connections(server: Server) -> None:
    connections = await asyncio.gather(*(connect(server, autocommit=True) for _ in range(200)))
    try:
        for _ in range(3):
            cursors = await asyncio.gather(*(c.execute("select %s::int4", (i,)) for i, c in enumerate(connections)))
            assert [await c.fetchone() for c in cursors] == [(i,) for i in range(200)]
        assert len(server.listener.registry) == 200
    finally:
        await asyncio.gather(*(c.close() for c in connections))


async def test_thousands_of_statements_on_one_connection(server: Server) -> None:
    async with raw(server) as client:
        for i in range(1_000):
            client.query("show jit").parse(f"s{i % 7}", "show jit").bind("", f"s{i % 7}").execute("", 0)
            client.close("S", f"s{i % 7}").sync()
            await client.until("Z")
            await client.until("Z")
        assert len(client.tags) == 2_000
        assert server.sessions[0].client.prepared_statements() == []


async def test_too_many_connections() -> None:
    from server.pgwire.listener import ListenerOptions

    async with serve(ListenerOptions(max_connections=2)) as server, raw(server) as client, raw(server) as last:
        async with raw(server, start=False) as refused:
            refused.startup(user="ann", database="sluice")
            assert await refused.until_closed() == ["E"]
            assert (refused.error["C"], refused.error["M"]) == ("53300", "sorry, too many clients already")
        last.query(ENDLESS)
        await running(server)
        await cancel(server, last.pid, last.key)
        await last.until("Z")
        assert last.error["C"] == "57014"
        client.query("select 1")
        await client.until("Z")


# -- the listener's end ----------------------------------------------------------------------------------------------


async def test_authentication_timeout() -> None:
    from server.pgwire.listener import ListenerOptions

    async with serve(ListenerOptions(authentication_timeout=0.1)) as server, raw(server, start=False) as client:
        client.writer.write(b"\0\0\0\x20\0\3")
        assert await client.until_closed() == ["E"]
        assert (client.error["S"], client.error["C"]) == ("FATAL", "57014")


async def test_shutdown_tells_sessions_and_stops_what_runs(server: Server) -> None:
    async with raw(server) as idle, raw(server) as busy, raw(server, start=False) as silent:
        busy.query(ENDLESS)
        await running(server)
        await server.listener.close()
        assert await idle.until_closed() == ["E"]
        assert (idle.error["S"], idle.error["C"]) == ("FATAL", "57P01")
        assert (await busy.until_closed())[-1] == "E"
        assert busy.error["M"] == "terminating connection due to administrator command"
        assert await silent.until_closed() == []
        assert server.counters.executions == 0


async def test_a_graceful_shutdown_lets_transactions_end(server: Server) -> None:
    async with raw(server) as idle, raw(server) as busy:
        busy.query("begin")
        await busy.until("Z")
        closing = asyncio.create_task(server.listener.drain())
        assert await idle.until_closed() == ["E"]
        async with raw(server, start=False) as late:
            late.startup(0x30000, user="tester", database="sluice")
            assert await late.until_closed() == ["E"]
            assert late.error["C"] == "57P03"
            assert late.error["M"] == "the database system is shutting down"
        busy.query("select 1").query("commit")
        await busy.until("Z")
        assert (await busy.until_closed())[-1] == "E"
        assert busy.tags == ["BEGIN", "SELECT 1", "COMMIT"]
        await closing


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_accepted_before_the_shutdown_is_closed(turns: int) -> None:
    """Whichever turn of the loop it has got to; the loop ends with the shutdown, and so no turn comes after it."""

    async def connect_and_shut_down() -> socket.socket:
        listener = Listener(DuckEngine(1).session)
        await listener.start("127.0.0.1", 0)
        client = socket.create_connection(listener.addresses[0], timeout=10)
        for _ in range(turns):
            await asyncio.sleep(0)
        await listener.close()
        return client

    loop = asyncio.new_event_loop()
    client = loop.run_until_complete(connect_and_shut_down())
    loop.close()
    with client, contextlib.suppress(ConnectionResetError):
        assert client.recv(1) == b""
    gc.collect()

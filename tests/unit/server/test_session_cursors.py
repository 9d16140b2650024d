"""SQL cursors: DECLARE, FETCH, MOVE, CLOSE, WITH HOLD, and that they are the protocol's portals too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from support.session_server import Server, connect, raw, serve

from server.cursors import cursor as cursors


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(rows_per_batch=3) as running:
        yield running


Connection = psycopg.AsyncConnection[tuple[Any, ...]]


async def numbers(connection: Connection, statement: str) -> list[int]:
    cursor = await connection.execute(statement)
    return [row[0] for row in await cursor.fetchall()]


async def tag(connection: Connection, statement: str) -> str | None:
    return (await connection.execute(statement)).statusmessage


async def test_fetch_forward(server: Server) -> None:
    async with await connect(server) as connection:
        assert await tag(connection, "declare c cursor for select range::int8 from range(1, 11)") == "DECLARE CURSOR"
        assert await numbers(connection, "fetch c") == [1]
        assert await numbers(connection, "fetch next from c") == [2]
        assert await numbers(connection, "fetch 3 in c") == [3, 4, 5]
        assert await tag(connection, "move 2 from c") == "MOVE 2"
        assert await numbers(connection, "fetch forward 2 from c") == [8, 9]
        assert await numbers(connection, "fetch all c") == [10]
        assert await tag(connection, "fetch all c") == "FETCH 0"
        assert server.counters.executions == 0
        assert await tag(connection, "close c") == "CLOSE CURSOR"
        with pytest.raises(psycopg.errors.InvalidCursorName, match='cursor "c" does not exist'):
            await connection.execute("fetch c")


async def test_scroll(server: Server) -> None:
    async with await connect(server) as connection:
        await connection.execute("declare c scroll cursor for select range::int8 from range(1, 11)")
        assert await numbers(connection, "fetch last c") == [10]
        assert await numbers(connection, "fetch prior c") == [9]
        assert await numbers(connection, "fetch backward 3 c") == [8, 7, 6]
        assert await numbers(connection, "fetch absolute 4 c") == [4]
        assert await numbers(connection, "fetch absolute -2 c") == [9]
        assert await numbers(connection, "fetch relative -3 c") == [6]
        assert await numbers(connection, "fetch relative 0 c") == [6]
        assert await numbers(connection, "fetch first c") == [1]
        assert await numbers(connection, "fetch backward 1 c") == []
        assert await numbers(connection, "fetch 0 c") == []
        assert await tag(connection, "move all c") == "MOVE 10"
        assert await numbers(connection, "fetch backward all c") == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
        assert await tag(connection, "move backward all c") == "MOVE 0"


@pytest.mark.parametrize(
    "statement", ["fetch prior c", "fetch backward 1 c", "fetch first c", "move backward all c", "fetch 0 c"]
)
async def test_no_scroll_only_moves_forward(server: Server, statement: str) -> None:
    async with await connect(server) as connection:
        await connection.execute("declare c no scroll cursor for select range::int8 from range(1, 11)")
        assert await numbers(connection, "fetch 2 c") == [1, 2]
        assert await numbers(connection, "fetch absolute 5 c") == [5]
        await connection.execute("savepoint s")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="cursor can only scan forward") as raised:
            await connection.execute(statement)
        assert raised.value.diag.message_hint == "Declare it with SCROLL option to enable backward scan."
        await connection.execute("rollback to s")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match='portal "c" cannot be run'):
            await connection.execute("fetch c")


async def test_unasked_a_small_cursor_scrolls_and_a_large_one_refuses(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cursors, "KEPT_BYTES_MAX", 1000)
    async with await connect(server) as connection:
        await connection.execute("declare small cursor for select range::int8 from range(1, 11)")
        await connection.execute("declare large cursor for select range::int8 from range(1, 1001)")
        await connection.execute("move all small; move all large; savepoint s")
        assert await numbers(connection, "fetch backward 2 small") == [10, 9]
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            await connection.execute("fetch backward 2 large")


async def test_scroll_beyond_memory_goes_to_disk(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cursors, "KEPT_BYTES_MAX", 1000)
    async with await connect(server) as connection:
        await connection.execute(
            "declare c scroll cursor for select range::int8, repeat('x', range::int4 % 7) from range(1, 1001)"
        )
        assert len(await numbers(connection, "fetch all c")) == 1000
        assert await numbers(connection, "fetch backward all c") == list(range(1000, 0, -1))
        assert await numbers(connection, "fetch absolute 500 c") == [500]
        cursor = await connection.execute("fetch 4 c")
        assert await cursor.fetchall() == [(501, "xxxx"), (502, "xxxxx"), (503, "xxxxxx"), (504, "")]


@pytest.mark.parametrize("scroll", ["", "scroll", "no scroll"])
async def test_with_hold_outlives_its_transaction(server: Server, scroll: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cursors, "KEPT_BYTES_MAX", 100)
    async with await connect(server) as connection:
        await connection.execute(f"declare c {scroll} cursor with hold for select range::int8 from range(1, 101)")
        assert await numbers(connection, "fetch 5 c") == [1, 2, 3, 4, 5]
        await connection.commit()
        assert server.counters.executions == 0
        assert await numbers(connection, "fetch 2 c") == [6, 7]
        await connection.rollback()
        assert await numbers(connection, "fetch 2 c") == [8, 9]
        if scroll == "scroll":
            assert await numbers(connection, "fetch first c") == [1]
        assert await tag(connection, "close all") == "CLOSE CURSOR ALL"


async def test_with_hold_without_a_transaction(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        await connection.execute("declare c cursor with hold for select range::int8 from range(3)")
        assert await numbers(connection, "fetch all c") == [0, 1, 2]
        await connection.execute("discard all")
        with pytest.raises(psycopg.errors.InvalidCursorName):
            await connection.execute("fetch c")


async def test_a_rollback_ends_a_hold_cursor_that_is_not_held_yet(server: Server) -> None:
    async with await connect(server) as connection:
        await connection.execute("declare c cursor with hold for select 1")
        await connection.rollback()
        with pytest.raises(psycopg.errors.InvalidCursorName):
            await connection.execute("fetch c")


async def test_an_error_while_holding_fails_the_commit(server: Server) -> None:
    async with await connect(server) as connection:
        await connection.execute(
            "declare c cursor with hold for select case when range = 9000 then error('Division by zero') end from range(9999)"
        )
        with pytest.raises(psycopg.errors.DivisionByZero):
            await connection.commit()
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        assert await numbers(connection, "select 1") == [1]


async def test_declare_needs_a_transaction(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction) as raised:
            await connection.execute("declare c cursor for select 1")
        assert raised.value.diag.message_primary == "DECLARE CURSOR can only be used in transaction blocks"
        cursor = await connection.execute("declare c cursor for select 7; fetch c; close c")
        results = []
        while cursor.nextset():
            results.append(cursor.statusmessage)
        assert results == ["FETCH 1", "CLOSE CURSOR"]


async def test_names_are_taken_once(server: Server) -> None:
    async with await connect(server) as connection:
        await connection.execute("declare c cursor for select 1")
        with pytest.raises(psycopg.errors.DuplicateCursor, match='cursor "c" already exists'):
            await connection.execute("declare c cursor for select 1")


async def test_cursors_end_with_their_savepoint(server: Server) -> None:
    async with await connect(server) as connection:
        await connection.execute("declare outside cursor for select range::int8 from range(10)")
        await connection.execute("savepoint s; declare inside cursor for select 1; fetch 2 outside; rollback to s")
        assert await numbers(connection, "fetch outside") == [2]
        with pytest.raises(psycopg.errors.InvalidCursorName):
            await connection.execute("fetch inside")
        await connection.execute("rollback to s; savepoint t; declare kept cursor for select 5; release t; savepoint u")
        with pytest.raises(psycopg.errors.UndefinedTable):
            await connection.execute("select * from nowhere")
        await connection.execute("rollback to u")
        assert await numbers(connection, "fetch kept") == [5]


async def test_several_cursors_over_running_queries(server: Server) -> None:
    async with await connect(server) as connection:
        for name in "abc":
            await connection.execute(f"declare {name} cursor for select range::int8 from range(1000)")
        for i in range(20):
            for name in "abc":
                assert await numbers(connection, f"fetch 7 {name}") == list(range(7 * i, 7 * i + 7))
        assert server.counters.executions == 3
        await connection.execute("close b")
        assert server.counters.executions == 2


async def test_named_cursors_of_psycopg(server: Server) -> None:
    async with await connect(server) as connection:
        async with connection.cursor("named") as cursor:
            await cursor.execute("select range::int8 from range(%s::int8)", (1000,))
            cursor.itersize = 64
            assert [row[0] async for row in cursor] == list(range(1000))
        async with connection.cursor("scrolling", scrollable=True, binary=True) as cursor:
            await cursor.execute("select range::int8 from range(100)")
            await cursor.scroll(50)
            assert await cursor.fetchone() == (50,)
            await cursor.scroll(-2)
            assert await cursor.fetchone() == (49,)
            await cursor.scroll(10, mode="absolute")
            assert await cursor.fetchmany(2) == [(10,), (11,)]


async def test_binary_cursors(server: Server) -> None:
    async with raw(server) as client:
        client.query("begin; declare c binary cursor for select 1::int4; fetch c")
        await client.until("Z")
        assert client.rows == [[b"\0\0\0\1"]]
        client.query("rollback")
        await client.until("Z")


async def test_a_cursor_is_a_portal(server: Server) -> None:
    async with raw(server) as client:
        client.query("begin; declare c cursor for select range::int8 from range(5)")
        await client.until("Z")
        client.describe("P", "c").execute("c", 2).sync()
        assert await client.until("Z") == ["T", "D", "D", "s", "Z"]
        client.query("fetch c; move c")
        await client.until("Z")
        assert client.tags[-2:] == ["FETCH 1", "MOVE 1"]
        client.parse("", "select range::int8 from range(5)").bind("p", "").execute("p", 1).sync()
        await client.until("Z")
        client.query("fetch 2 p; close p; commit")
        await client.until("Z")
        assert client.rows[-2:] == [[b"1"], [b"2"]]
        assert client.tags[-3:] == ["FETCH 2", "CLOSE CURSOR", "COMMIT"]


async def test_fetch_in_the_extended_protocol(server: Server) -> None:
    async with raw(server) as client:
        client.query("begin; declare c cursor for select range::int8 as n from range(10)")
        await client.until("Z")
        client.parse("f", "fetch 6 from c").describe("S", "f").bind("p", "f").describe("P", "p")
        client.execute("p", 2).sync()
        assert await client.until("Z") == ["1", "t", "T", "2", "T", "D", "D", "s", "Z"]
        # What the suspended FETCH still has to give is not changed by another one on its cursor.
        client.query("fetch 2 c")
        await client.until("Z")
        assert client.rows[-2:] == [[b"6"], [b"7"]]
        client.execute("p", 0).sync()
        await client.until("Z")
        assert client.rows[-4:] == [[b"2"], [b"3"], [b"4"], [b"5"]]
        client.query("rollback")
        await client.until("Z")


async def test_move_in_the_extended_protocol_has_no_columns(server: Server) -> None:
    async with raw(server) as client:
        client.query("begin; declare c cursor for select 1")
        await client.until("Z")
        client.parse("", "move all c").describe("S", "").bind("", "").execute("", 0).sync()
        assert await client.until("Z") == ["1", "t", "n", "2", "C", "Z"]
        client.query("rollback")
        await client.until("Z")


async def test_a_result_without_columns(server: Server) -> None:
    async with raw(server) as client:
        client.query("begin; declare c cursor for values (1); fetch c; explain select 1; rollback")
        await client.until("Z")
        assert client.tags == ["BEGIN", "DECLARE CURSOR", "FETCH 1", "EXPLAIN", "ROLLBACK"]

"""COPY of partitions of a cursor: sessions of the cursor's member and of another one, over the test engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql
from support.paired_servers import Pair, paired, query_of
from support.session_server import Server, connect, eventually

from server.monitor.records import EndedStatements
from server.monitor.statement_cancel import cancel_statement
from wire.mesh.control_messages import ReadPartition, decode, encode
from wire.mesh.framing import FrameReader

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
QUERY: Final = "select range::int8 as n, 'row ' || range as t from range(1000)"


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with paired(7) as pair:
        yield pair


def statement(query: str, partition: object, options: str = "", text: str = QUERY) -> sql.Composed:
    made = sql.SQL("copy ({}) to stdout (partition {}, query {}{})")
    return made.format(sql.SQL(text), sql.SQL(str(partition)), sql.Literal(query), sql.SQL(options))


async def reader(stack: AsyncExitStack, server: Server) -> Connection:
    connection = await stack.enter_async_context(await connect(server, autocommit=True))
    await connection.execute("set cursor_buffer_size = '4kB'")
    return connection


async def read(connection: Connection, made: sql.Composed) -> list[int]:
    cursor = connection.cursor()
    async with cursor.copy(made) as copy:
        return [int(row[0]) async for row in copy.rows()]


async def read_binary(connection: Connection, made: sql.Composed) -> list[int]:
    cursor = connection.cursor()
    async with cursor.copy(made) as copy:
        copy.set_types(["int8", "text"])
        rows = [row async for row in copy.rows()]
    assert all(text == f"row {number}" for number, text in rows)
    return [number for number, _ in rows]


async def declared(pair: Pair, owner: Connection, text: str = QUERY, scroll: str = "") -> str:
    await owner.execute(f"declare c {scroll} cursor for {text}")
    return await query_of(pair, "c")


def in_order(rows: Sequence[int]) -> bool:
    return list(rows) == sorted(rows)


@pytest.mark.parametrize("scroll", ["", "scroll", "no scroll"])
async def test_readers_at_once_get_each_row_once_and_in_order(pair: Pair, scroll: str) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner, scroll=scroll)
        readers = [await reader(stack, server) for server in (pair.near, pair.far, pair.near, pair.far)]
        works = [read(one, statement(query, f"{number} of 4")) for number, one in enumerate(readers, 1)]
        parts = await asyncio.gather(*works)
        assert sorted(row for part in parts for row in part) == list(range(1000))
        assert all(in_order(part) for part in parts)
        assert pair.far_mesh.sent.count("ReadPartition") == pair.far_mesh.sent.count("CursorSettled") > 2


async def test_readers_one_after_another(pair: Pair) -> None:
    """The first takes all that there is, in binary format, and the others find nothing left."""
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner)
        far, near = await reader(stack, pair.far), await reader(stack, pair.near)
        assert await read_binary(far, statement(query, "3 of 3", ", format binary")) == list(range(1000))
        assert await read_binary(far, statement(query, "1 of 3", ", format binary")) == []
        assert await read(near, statement(query, "2 of 3")) == []


async def test_a_held_cursor_outlives_its_transaction(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        await owner.execute(f"declare c cursor with hold for {QUERY}")
        query = await query_of(pair, "c")
        far, near = await reader(stack, pair.far), await reader(stack, pair.near)
        await owner.commit()
        works = read(far, statement(query, "1 of 2")), read(near, statement(query, "2 of 2"))
        parts = await asyncio.gather(*works)
        assert sorted(row for part in parts for row in part) == list(range(1000))


async def test_a_header_and_csv(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner, "select 1::int8 as one, 'a,b' as two")
        far = await reader(stack, pair.far)
        cursor = far.cursor()
        made = statement(query, "1 of 1", ", format csv, header", "select 1::int8 as one, 'a,b' as two")
        async with cursor.copy(made) as copy:
            got = b"".join([bytes(data) async for data in copy])
        assert got == b'one,two\n1,"a,b"\n'
        assert cursor.rowcount == 1


@pytest.mark.parametrize(
    ("partition", "text", "sqlstate", "message"),
    [
        ("5 of 4", QUERY, "22023", "partition 5 of 4 is out of range"),
        ("0 of 4", QUERY, "22023", "partition 0 of 4 is out of range"),
        ("1 of 65537", QUERY, "22023", "partition 1 of 65537 is out of range"),
        ("2 of 3", QUERY, "22023", "is read in 4 partitions and not in 3"),
        ("1 of 4", QUERY, "55000", "partition 1 of query .* has been asked for before"),
        ("2 of 4", "select 1", "22023", "the statement differs from that of query"),
        ("-1 of 4", QUERY, "42601", "two whole numbers"),
        ("1", QUERY, "42601", "two whole numbers"),
    ],
)
async def test_what_is_refused_takes_no_partition(
    pair: Pair, partition: str, text: str, sqlstate: str, message: str
) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner)
        far = await reader(stack, pair.far)
        assert await read(far, statement(query, "1 of 4")) == list(range(1000))
        with pytest.raises(psycopg.Error, match=message) as raised:
            await read(far, statement(query, partition, text=text))
        assert raised.value.sqlstate == sqlstate
        for left in ("2 of 4", "3 of 4", "4 of 4"):
            assert await read(far, statement(query, left)) == []


@pytest.mark.parametrize(
    ("made", "sqlstate"),
    [
        ("copy (select 1) to stdout (partition 1 of 2)", "42601"),
        ("copy (select 1) to stdout (query 'm1:1')", "42601"),
        ("copy (select 1) to stdout (partition 1 of 2, query)", "42601"),
        ("copy (select 1) to stdout (partition 1 of 2, partition 1 of 2, query 'm1:1')", "42601"),
        ("copy (select 1) to '/x' (partition 1 of 2, query 'm1:1')", "0A000"),
        ("copy t to stdout (partition 1 of 2, query 'm1:1')", "0A000"),
        ("copy (select 1) to stdout (partition 1 of 2, query 'm1:99999999')", "34000"),
        ("copy (select 1) to stdout (partition 1 of 2, query 'mine')", "34000"),
        ("copy (select 1) to stdout (partition 1 of 2, query 'm9:1')", "34000"),
    ],
)
async def test_options_that_say_too_little_or_too_much(pair: Pair, made: str, sqlstate: str) -> None:
    async with await connect(pair.far, autocommit=True) as far:
        with pytest.raises(psycopg.Error) as raised:
            await far.execute(made)
        assert raised.value.sqlstate == sqlstate


async def test_wrong_options_of_the_format_take_no_partition(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner)
        far = await reader(stack, pair.far)
        with pytest.raises(psycopg.errors.InvalidColumnReference):
            await read(far, statement(query, "1 of 1", ", format csv, force_quote (nobody)"))
        assert await read(far, statement(query, "1 of 1")) == list(range(1000))


async def test_another_user_finds_no_query(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner)
        login = psycopg.AsyncConnection.connect
        other = await login(
            host=pair.far.host, port=pair.far.port, user="other", dbname="sluice", sslmode="disable", autocommit=True
        )
        await stack.enter_async_context(other)
        with pytest.raises(psycopg.errors.InvalidCursorName, match=f'cursor "{query}" does not exist'):
            await read(other, statement(query, "1 of 2"))


async def test_partitions_and_fetches_do_not_mix(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner)
        far = await reader(stack, pair.far)
        with pytest.raises(psycopg.errors.ObjectInUse, match="this session's own"):
            await read(owner, statement(query, "1 of 2"))
        await owner.rollback()
        query = await declared(pair, owner)
        await owner.execute("fetch 1 from c")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="it has been moved"):
            await read(far, statement(query, "1 of 2"))
        await owner.rollback()
        query = await declared(pair, owner)
        await read(far, statement(query, "1 of 2"))
        for one in (far, owner):
            with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="read in partitions"):
                await one.execute(sql.SQL("fetch 1 from {}").format(sql.Identifier(query)))


def partitioned(pair: Pair) -> bool:
    """Whether a partition of any cursor was asked for."""
    served = [session.commands_of("ann", "sluice") for session in pair.near.listener.registry]
    return any(portal.partitions for commands in served if commands is not None for portal in commands.portals)


async def test_sessions_do_not_wait_for_each_other(pair: Pair) -> None:
    """Two sessions that read partitions of each other's cursors: the second is refused, where both would wait for ever."""
    async with await connect(pair.near) as one, await connect(pair.near) as other, AsyncExitStack() as stack:
        await one.execute(f"declare c cursor for {LONG}")
        await other.execute(f"declare d cursor for {LONG}")
        first, second = await query_of(pair, "c"), await query_of(pair, "d")
        other.pgconn.send_query(statement(first, "1 of 2", text=LONG).as_string(other).encode())
        await eventually(lambda: partitioned(pair))
        third = await reader(stack, pair.far)
        with pytest.raises(psycopg.errors.ObjectInUse, match="reads a partition itself"):
            await read(third, statement(second, "1 of 2", text=LONG))
        with pytest.raises(psycopg.errors.ObjectInUse, match="a cursor of this session is read in partitions"):
            await read(one, statement(second, "1 of 2", text=LONG))
        other.pgconn.finish()


async def half(connection: Connection, made: sql.Composed) -> None:
    """Read some rows, and leave the rest: psycopg cancels the COPY."""
    async with connection.cursor().copy(made) as copy:
        await copy.read()
        raise KeyError


LONG: Final = "select range::int8 as n, repeat('x', 1000) as t from range(200000)"


async def test_a_reader_that_gives_up_ends_all(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner, LONG)
        first, second = await reader(stack, pair.far), await reader(stack, pair.near)
        with pytest.raises((KeyError, psycopg.errors.QueryCanceled)):
            await half(first, statement(query, "1 of 2", text=LONG))
        broken = "partition 1 of 2 was not read to its end"
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match=broken):
            await read(second, statement(query, "2 of 2", text=LONG))
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="asked for before"):
            await read(second, statement(query, "1 of 2", text=LONG))
        await owner.execute("close c")
        assert pair.near.counters.executions == 0


async def test_a_client_that_vanishes_ends_all(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner, LONG)
        gone, other = await connect(pair.far, autocommit=True), await reader(stack, pair.near)
        gone.pgconn.send_query(statement(query, "2 of 2", text=LONG).as_string(gone).encode())
        await eventually(lambda: pair.near_mesh.sent.count("CursorMoved") > 0)
        gone.pgconn.finish()
        reading = asyncio.create_task(read(other, statement(query, "1 of 2", text=LONG)))
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="partition 2 of 2 was not read"):
            await reading


async def test_a_lost_member_ends_all(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner, LONG)
        far, near = await connect(pair.far, autocommit=True), await reader(stack, pair.near)
        far.pgconn.send_query(statement(query, "1 of 2", text=LONG).as_string(far).encode())
        await eventually(lambda: pair.near_mesh.sent.count("CursorMoved") > 0)
        pair.lose()
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="partition 1 of 2 was not read"):
            await read(near, statement(query, "2 of 2", text=LONG))
        await far.close()


async def test_an_error_of_the_query_is_that_of_all(pair: Pair) -> None:
    text = "select case when range < 5000 then range else error('division by zero: Division by zero') end::int8 from range(9000)"
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner, text)
        readers = [await reader(stack, server) for server in (pair.far, pair.near, pair.far)]
        works = [read(one, statement(query, f"{number} of 3", text=text)) for number, one in enumerate(readers, 1)]
        ends = await asyncio.gather(*works, return_exceptions=True)
        assert [getattr(end, "sqlstate", end) for end in ends] == ["22012"] * 3
        assert pair.near.counters.executions == 0


async def test_a_query_that_is_cancelled_by_its_id_ends_all_with_that(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner, LONG)
        far, near = await reader(stack, pair.far), await reader(stack, pair.near)
        far.pgconn.send_query(statement(query, "1 of 3", text=LONG).as_string(far).encode())
        await eventually(lambda: pair.near_mesh.sent.count("CursorMoved") > 0)
        await cancel_statement(pair.near.listener.registry, EndedStatements(), query)
        assert pair.near.counters.executions == 0
        for partition in ("2 of 3", "3 of 3"):
            with pytest.raises(psycopg.errors.QueryCanceled, match="due to user request"):
                await read(near, statement(query, partition, text=LONG))
        far.pgconn.finish()


async def test_the_end_of_the_transaction_ends_all(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner)
        far = await reader(stack, pair.far)
        assert await read(far, statement(query, "1 of 2")) == list(range(1000))
        await owner.commit()
        with pytest.raises(psycopg.errors.InvalidCursorName):
            await read(far, statement(query, "2 of 2"))


async def test_readers_wait_while_the_session_of_the_cursor_works(pair: Pair) -> None:
    async with await connect(pair.near) as owner, AsyncExitStack() as stack:
        query = await declared(pair, owner)
        far = await reader(stack, pair.far)
        working = asyncio.create_task(
            owner.execute("select count(*) from range(20000) a, range(20000) b where a.range < b.range")
        )
        await eventually(lambda: pair.near.counters.executions == 2)
        assert await read(far, statement(query, "1 of 1")) == list(range(1000))
        assert await (await working).fetchone() == (199990000,)


async def test_a_session_that_ends_leaves_nobody_waiting(pair: Pair) -> None:
    owner = await connect(pair.near)
    async with AsyncExitStack() as stack:
        query = await declared(pair, owner)
        far = await reader(stack, pair.far)
        owner.pgconn.send_query(b"select count(*) from range(200000) a, range(200000) b where a.range < b.range")
        await eventually(lambda: pair.near.counters.executions == 2)
        reading = asyncio.create_task(read(far, statement(query, "1 of 1")))
        await eventually(lambda: pair.far_mesh.sent.count("ReadPartition") > 0)
        owner.pgconn.finish()
        with pytest.raises(psycopg.errors.InvalidCursorName):
            await reading


async def test_a_visit_keeps_the_session_of_the_cursor_from_being_idle(pair: Pair) -> None:
    owner = await connect(pair.near)
    try:
        await owner.execute("set idle_in_transaction_session_timeout = '50ms'")
        gate = asyncio.Event()
        [session] = pair.near.listener.registry
        await eventually(lambda: session.visits.is_free)
        visit = asyncio.create_task(session.visits.run(gate.wait()))
        for _ in range(20):
            await asyncio.sleep(0.01)
        assert owner.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        assert list(pair.near.listener.registry) == [session]
        gate.set()
        await visit
        await eventually(lambda: not list(pair.near.listener.registry))
        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
            await owner.execute("select 1")
    finally:
        await owner.close()


def test_the_message_survives_the_way() -> None:
    message = ReadPartition(1, "m1:5", "ann", "sluice", "ab" * 32, 2, 4, page_bytes=9, first=True)
    [frame] = FrameReader(preface=False).feed(encode(message))
    assert decode(frame.kind, frame.header) == message

"""Cursors moved by query id from other sessions: of the same member, and of another one over messages that are encoded
and decoded.

The engine is the test engine over DuckDB; its query ids are of m1, where the cursors are declared.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import psycopg
import pyarrow as pa
import pytest
from psycopg import sql
from support.paired_servers import Pair, paired, query_of
from support.session_server import connect, eventually, raw

from engine.common.sql_type import SqlType, numeric
from engine.contracts.batch_stream import BatchStream
from engine.contracts.sessions import ResultColumn
from server.cluster.initiator_cursors import Unsettled
from server.cursors.cursor import Cursor
from server.cursors.cursor_lease import CursorLeases
from server.cursors.cursor_pages import describe_columns, page_rows, result_columns, take_page
from server.cursors.portal import Portal, PortalState
from server.cursors.prepared import Command
from wire.errors import InvalidCursorName, ObjectInUse, ProgramLimitExceeded, QueryCanceled
from wire.mesh.control_messages import CursorMoved, CursorSettled, MoveCursor, decode, encode
from wire.mesh.cursor_columns import decode_columns, encode_columns
from wire.mesh.framing import FrameReader, RemoteProtocolError
from wire.types import pg_types as t
from wire.types.carriers import NumericScale

Connection = psycopg.AsyncConnection[tuple[Any, ...]]


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with paired(3) as pair:
        yield pair


def moving(pair: Pair) -> bool:
    """Whether a movement is under way and has passed something: what is stopped before it begins breaks no cursor."""
    return any(record.report().rows for record in pair.near.listener.registry.statements())


async def numbers(connection: Connection, statement: str, query: str) -> list[int]:
    cursor = await connection.execute(sql.SQL(statement).format(sql.Identifier(query)))
    return [row[0] for row in await cursor.fetchall()]


async def tag(connection: Connection, statement: str, query: str) -> str | None:
    made = sql.SQL(statement).format(sql.Identifier(query))
    return (await connection.execute(made)).statusmessage


async def test_pages_from_three_sessions_are_the_answer_once(pair: Pair) -> None:
    async with (
        await connect(pair.near) as owner,
        await connect(pair.near, autocommit=True) as neighbour,
        await connect(pair.far, autocommit=True) as stranger,
    ):
        await owner.execute("declare c cursor for select range::int8 from range(100)")
        query = await query_of(pair, "c")
        got: list[int] = []
        while len(got) < 100:
            for connection in (stranger, neighbour, owner):
                got += await numbers(connection, "fetch 7 from {}", query)
        assert got == list(range(100))
        assert await tag(stranger, "fetch 7 from {}", query) == "FETCH 0"
        assert pair.near_mesh.sent.count("CursorMoved") == pair.far_mesh.sent.count("MoveCursor")
        assert pair.near_mesh.sent.count("CursorMoved") == pair.far_mesh.sent.count("CursorSettled")
        assert await tag(stranger, "close {}", query) == "CLOSE CURSOR"
        assert pair.near.counters.executions == 0
        with pytest.raises(psycopg.errors.InvalidCursorName, match='cursor "c" does not exist'):
            await owner.execute("fetch c")


@pytest.mark.parametrize("forward", ["fetch all from {}", "fetch 5000 from {}"])
async def test_a_fetch_of_many_pages_is_one_fetch(pair: Pair, forward: str) -> None:
    async with await connect(pair.near) as owner, await connect(pair.far, autocommit=True) as stranger:
        await owner.execute("declare c scroll cursor for select range::int8, repeat('x', 50) from range(1000)")
        query = await query_of(pair, "c")
        await stranger.execute("set cursor_buffer_size = '4kB'")
        assert await numbers(stranger, forward, query) == list(range(1000))
        assert pair.near_mesh.sent.count("CursorMoved") > 10
        assert await numbers(stranger, "fetch backward 990 from {}", query) == list(range(999, 9, -1))
        assert await numbers(stranger, "fetch -5 from {}", query) == [9, 8, 7, 6, 5]
        assert await numbers(stranger, "fetch backward all from {}", query) == [4, 3, 2, 1, 0]


async def test_every_movement(pair: Pair) -> None:
    async with await connect(pair.near) as owner, await connect(pair.far, autocommit=True) as stranger:
        await owner.execute("declare c scroll cursor for select range::int8 from range(1, 11)")
        query = await query_of(pair, "c")
        assert await numbers(stranger, "fetch last from {}", query) == [10]
        assert await numbers(stranger, "fetch prior from {}", query) == [9]
        assert await numbers(stranger, "fetch absolute 4 from {}", query) == [4]
        assert await numbers(stranger, "fetch relative -2 from {}", query) == [2]
        assert await numbers(stranger, "fetch 0 from {}", query) == [2]
        assert await tag(stranger, "move 3 from {}", query) == "MOVE 3"
        assert await tag(stranger, "move backward all from {}", query) == "MOVE 4"
        assert await numbers(stranger, "fetch first from {}", query) == [1]
        assert await numbers(owner, "fetch c", query) == [2]


async def test_the_extended_protocol_tells_columns_before_execution(pair: Pair) -> None:
    async with await connect(pair.near) as owner, raw(pair.far) as client:
        await owner.execute("declare c cursor for select range::int8 as n, 1.5::decimal(5, 2) as d from range(10)")
        query = await query_of(pair, "c")
        client.parse("s", f'fetch 4 from "{query}"').describe("S", "s").bind("", "s", results=(0,)).describe("P", "")
        client.execute("", 3).execute("", 0).sync()
        assert await client.until("Z") == ["1", "t", "T", "2", "T", "D", "D", "D", "s", "D", "C", "Z"]
        assert client.rows[0] == [b"0", b"1.50"]
        assert client.tags == ["FETCH 1"]
        client.bind("", "s").execute("", 0).sync()
        assert await client.until("Z") == ["2", "D", "D", "D", "D", "C", "Z"]
        assert client.rows[-1][0] == b"7"


async def test_a_binary_cursor_stays_binary(pair: Pair) -> None:
    async with await connect(pair.near) as owner, raw(pair.far) as client:
        await owner.execute("declare c binary cursor for select 7::int8")
        client.query(f'fetch "{await query_of(pair, "c")}"')
        await client.until("Z")
        assert client.rows == [[b"\0\0\0\0\0\0\0\7"]]


async def test_a_suspended_portal_has_an_id_too(pair: Pair) -> None:
    async with raw(pair.near) as client, await connect(pair.far, autocommit=True) as stranger:
        client.query("begin").parse("", "select range::int8 from range(10)").bind("p", "").execute("p", 4).sync()
        for _ in range(2):
            await client.until("Z")
        query = await query_of(pair, "p")
        assert await numbers(stranger, "fetch 3 from {}", query) == [4, 5, 6]
        client.execute("p", 0).sync()
        await client.until("Z")
        assert client.rows[-3:] == [[b"7"], [b"8"], [b"9"]]


async def test_it_is_there_for_its_user_and_database_only(pair: Pair) -> None:
    async with await connect(pair.near) as owner:
        await owner.execute("declare c cursor for select 1")
        query = await query_of(pair, "c")
        for server in (pair.near, pair.far):
            async with await psycopg.AsyncConnection.connect(
                host=server.host, port=server.port, user="bob", dbname="sluice", sslmode="disable", autocommit=True
            ) as other:
                for statement in ("fetch from {}", "move from {}", "close {}"):
                    with pytest.raises(psycopg.errors.InvalidCursorName) as raised:
                        await other.execute(sql.SQL(statement).format(sql.Identifier(query)))
                    assert raised.value.diag.message_primary == f'cursor "{query}" does not exist'


@pytest.mark.parametrize("name", ["m1:7", "m9:1", "m2:1", "m1:", ":1", "nobody"])
async def test_what_no_cursor_is_meant_by(pair: Pair, name: str) -> None:
    async with await connect(pair.far, autocommit=True) as stranger:
        for statement in ("fetch from {}", "move from {}", "close {}"):
            with pytest.raises(psycopg.errors.InvalidCursorName, match=f'cursor "{name}" does not exist'):
                await stranger.execute(sql.SQL(statement).format(sql.Identifier(name)))


async def test_a_session_that_is_at_work_is_not_disturbed(pair: Pair) -> None:
    async with await connect(pair.near) as owner, await connect(pair.far, autocommit=True) as stranger:
        await owner.execute("declare c cursor for select range::int8 from range(10)")
        query = await query_of(pair, "c")
        task = asyncio.create_task(owner.execute("select count(*) from range(1000000000000) a where range % 7 = 8"))
        await eventually(lambda: pair.near.counters.executions == 2)
        with pytest.raises(psycopg.errors.ObjectInUse):
            await numbers(stranger, "fetch from {}", query)
        await owner.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            await task


#: MOVE ALL takes as long as anybody waits.
ENDLESS = "declare c no scroll cursor for select range::int8 from range(1000000000000)"


async def test_a_command_waits_for_the_visitor_and_interrupts_it(pair: Pair) -> None:
    async with raw(pair.near) as owner, await connect(pair.far, autocommit=True) as stranger:
        owner.query("begin").query(ENDLESS)
        for _ in range(2):
            await owner.until("Z")
        query = await query_of(pair, "c")
        task = asyncio.create_task(tag(stranger, "move all from {}", query))
        await eventually(lambda: moving(pair))
        owner.query("select 1")
        await owner.writer.drain()
        [session] = pair.near.listener.registry
        await eventually(lambda: not session.visits.welcome)
        assert pair.near.listener.registry.cancel(owner.pid)
        await owner.until("Z")
        assert (owner.error["C"], owner.status) == ("57014", "E")
        with pytest.raises(psycopg.errors.QueryCanceled):
            await task


async def test_a_cancel_of_the_session_that_asks_stops_the_movement(pair: Pair) -> None:
    async with await connect(pair.near) as owner, await connect(pair.far, autocommit=True) as stranger:
        await owner.execute(ENDLESS)
        task = asyncio.create_task(tag(stranger, "move all from {}", await query_of(pair, "c")))
        await eventually(lambda: moving(pair))
        await stranger.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            await task
        await eventually(lambda: pair.near.counters.executions == 0)
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match='portal "c" cannot be run'):
            await owner.execute("fetch c")


async def test_rows_that_nobody_got_are_never_skipped(pair: Pair) -> None:
    """The answer is on its way when its asker gives up."""
    async with await connect(pair.near) as owner, await connect(pair.far, autocommit=True) as stranger:
        await owner.execute("declare c cursor with hold for select range::int8 from range(10)")
        query = await query_of(pair, "c")
        statement = sql.SQL("fetch 2 from {}").format(sql.Identifier(query))
        await stranger.execute(statement, prepare=True)
        await eventually(lambda: not pair.near_router.statistics()["unsettled"])
        pair.far_mesh.silent = True
        task = asyncio.create_task(stranger.execute(statement, prepare=True))
        await eventually(lambda: pair.near_router.statistics()["unsettled"])
        await stranger.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            await task
        pair.far_mesh.speak()
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="cannot be run"):
            await numbers(stranger, "fetch 2 from {}", query)
        assert await tag(stranger, "close {}", query) == "CLOSE CURSOR"


async def test_nobody_passes_rows_that_nobody_got(pair: Pair) -> None:
    """A client's member is killed while the answer is on its way, and the client goes on at another one, which is asked
    before the loss is noticed.
    """
    async with (
        await connect(pair.near) as owner,
        await connect(pair.near, autocommit=True) as neighbour,
        await connect(pair.far, autocommit=True) as stranger,
    ):
        await owner.execute("declare c cursor for select range::int8 from range(10)")
        query = await query_of(pair, "c")
        assert await numbers(stranger, "fetch 2 from {}", query) == [0, 1]
        statement = sql.SQL("fetch 2 from {}").format(sql.Identifier(query))
        await stranger.execute(statement, prepare=True)
        await eventually(lambda: not pair.near_router.statistics()["unsettled"])
        pair.far_mesh.silent = True
        lost = asyncio.create_task(stranger.execute(statement, prepare=True))
        await eventually(lambda: pair.near_router.statistics()["unsettled"])
        following = asyncio.create_task(numbers(neighbour, "fetch 2 from {}", query))
        await eventually(lambda: pair.near_router.statistics()["served"] or following.done())
        pair.lose()
        with pytest.raises(psycopg.errors.SerializationFailure):
            await lost
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="cannot be run"):
            await following


async def test_who_reads_slowly_holds_up_others_for_a_while(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.cluster.initiator_cursors._SETTLED_SECONDS", 0.1)
    async with (
        await connect(pair.near) as owner,
        raw(pair.far) as reader,
        await connect(pair.near, autocommit=True) as neighbour,
    ):
        await owner.execute("declare c cursor for select range::int8, repeat('x', 4000) from range(20000)")
        query = await query_of(pair, "c")
        reader.query(f'fetch all from "{query}"')
        await reader.until("D")
        with pytest.raises(psycopg.errors.ObjectInUse, match="on their way to another session"):
            await numbers(neighbour, "fetch 2 from {}", query)
        await reader.until("Z")
        assert [int(row[0] or b"") for row in reader.rows] == list(range(20000))


async def test_a_member_that_keeps_silent_does_not_hold_a_timeout(pair: Pair) -> None:
    async with await connect(pair.far, autocommit=True) as stranger:
        pair.near_mesh.silent = True
        await stranger.execute("set statement_timeout = 200")
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            await numbers(stranger, "fetch 2 from {}", "m1:1")


async def test_an_error_of_the_query_breaks_the_cursor_and_nothing_else(pair: Pair) -> None:
    async with await connect(pair.near) as owner, await connect(pair.far, autocommit=True) as stranger:
        await owner.execute("declare good cursor for select 1")
        late = "case when range = 20000 then error('late') else repeat('x', 1000) end"
        await owner.execute(f"declare c no scroll cursor for select {late} from range(30000)")
        query = await query_of(pair, "c")
        with pytest.raises(psycopg.errors.InternalError_):
            await numbers(stranger, "move all from {}", query)
        assert pair.near.counters.executions == 1
        assert await numbers(owner, "fetch good", query) == [1]


async def test_a_failed_transaction_has_no_cursors_to_move(pair: Pair) -> None:
    async with await connect(pair.near) as owner, await connect(pair.far, autocommit=True) as stranger:
        await owner.execute("declare c cursor for select range::int8 from range(3)")
        query = await query_of(pair, "c")
        await owner.execute("savepoint s")
        with pytest.raises(psycopg.errors.UndefinedTable):
            await owner.execute("select * from nothing")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="its transaction has failed"):
            await numbers(stranger, "fetch from {}", query)
        await owner.execute("rollback to s")
        assert await numbers(stranger, "fetch from {}", query) == [0]


async def test_a_cursor_ends_with_its_transaction_and_with_its_client(pair: Pair) -> None:
    async with await connect(pair.far, autocommit=True) as stranger:
        async with await connect(pair.near) as owner:
            await owner.execute("declare c cursor for select 1")
            await owner.execute("declare h cursor with hold for select 2")
            plain, held = await query_of(pair, "c"), await query_of(pair, "h")
            await owner.commit()
            with pytest.raises(psycopg.errors.InvalidCursorName):
                await numbers(stranger, "fetch from {}", plain)
            assert await numbers(stranger, "fetch from {}", held) == [2]
        with pytest.raises(psycopg.errors.InvalidCursorName):
            await numbers(stranger, "fetch from {}", held)


async def test_the_owners_client_leaves_during_a_movement(pair: Pair) -> None:
    async with raw(pair.near) as owner, await connect(pair.far, autocommit=True) as stranger:
        owner.query("begin").query(ENDLESS)
        for _ in range(2):
            await owner.until("Z")
        task = asyncio.create_task(tag(stranger, "move all from {}", await query_of(pair, "c")))
        await eventually(lambda: moving(pair))
        owner.writer.transport.abort()
        with pytest.raises(psycopg.errors.InvalidCursorName, match="its session has ended"):
            await task


async def test_a_member_that_is_lost(pair: Pair) -> None:
    async with await connect(pair.near) as owner, await connect(pair.far, autocommit=True) as stranger:
        await owner.execute(ENDLESS)
        task = asyncio.create_task(tag(stranger, "move all from {}", await query_of(pair, "c")))
        await eventually(lambda: moving(pair))
        pair.lose()
        with pytest.raises(psycopg.errors.SerializationFailure, match="member m1, which has the cursor, was lost"):
            await task
        await eventually(lambda: pair.near.counters.executions == 0)


async def test_a_member_that_cannot_be_reached(pair: Pair) -> None:
    async with await connect(pair.far, autocommit=True) as stranger:
        with pytest.raises(psycopg.errors.SerializationFailure, match="could not reach member m3"):
            await numbers(stranger, "fetch 2 from {}", "m3:1")


async def test_two_clients_that_interleave_are_told(pair: Pair) -> None:
    """The pages of one FETCH belong together."""
    async with raw(pair.near) as owner, raw(pair.far) as stranger:
        owner.query("begin").query("declare c cursor for select range::int8, repeat('x', 4000) from range(20000)")
        for _ in range(2):
            await owner.until("Z")
        stranger.query(f'fetch all from "{await query_of(pair, "c")}"')
        await stranger.until("D")
        assert pair.far_router.statistics()["asked"] + pair.near_router.statistics()["unsettled"] > 0
        owner.query("fetch c")
        assert await owner.until("Z") == ["T", "D", "C", "Z"]
        await stranger.until("Z")
        assert stranger.error["C"] == "55006"


# -- the parts -------------------------------------------------------------------------------------------------------


def test_columns_survive_the_way() -> None:
    record = SqlType(t.RECORD, fields=(("a", SqlType(t.INT4)), ("b", numeric(9, 2))))
    columns = (
        ResultColumn("n", numeric(12, 3, NumericScale.QUOTIENT, minimum=2, typmod=5), 16_384, 2),
        ResultColumn("", SqlType(t.array_of(t.TEXT))),
        ResultColumn("ä", record),
    )
    assert result_columns(decode_columns(encode_columns(describe_columns(columns)))) == columns
    many = tuple(ResultColumn("x" * 63, SqlType(t.INT8)) for _ in range(1600))
    assert len(result_columns(decode_columns(encode_columns(describe_columns(many))))) == 1600
    with pytest.raises(RemoteProtocolError):
        decode_columns(b"\x91\x01")


class Batches:
    """An execution over batches that are there."""

    query: Final = None

    def __init__(self, *batches: pa.RecordBatch) -> None:
        self.columns: tuple[ResultColumn, ...] | None = None
        self.stream: BatchStream = self
        self._batches = list(batches)

    async def next_batch(self) -> pa.RecordBatch | None:
        return self._batches.pop(0) if self._batches else None

    async def close(self) -> None: ...

    def statistics(self) -> dict[str, int]:
        return {}

    def tag(self, rows: int) -> str:
        return f"SELECT {rows}"


def batch(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(values, pa.int64())})


async def test_a_page_is_bounded_by_rows_and_by_bytes() -> None:
    cursor = Cursor(Batches(batch(1, 2, 3, 4), batch(5, 6)))
    page = await take_page(cursor.run(3), 1 << 20)
    assert (page.passed, page.last, cursor.position) == (3, True, 3)
    assert [b.to_pydict() for b in page_rows(page.body)] == [{"n": [1, 2, 3]}]
    page = await take_page(cursor.run(None), 8)
    assert (page.passed, page.last, page_rows(page.body)) == (1, False, [batch(4)])
    page = await take_page(cursor.run(None), 16)
    assert (page.passed, page.last, page_rows(page.body)) == (2, False, [batch(5, 6)])
    page = await take_page(cursor.run(None), 8)
    assert (page.passed, page.last, page.body) == (0, True, b"")


async def test_backward_pages_are_bounded_by_bytes() -> None:
    cursor = Cursor(Batches(batch(1, 2, 3, 4)), scroll=True)
    await cursor.run(None).skip()
    page = await take_page(cursor.run(None, forward=False), 16)
    assert (page.passed, page.last, page_rows(page.body)) == (2, False, [batch(4, 3)])
    page = await take_page(cursor.run(None, forward=False), 1 << 20)
    assert (page.passed, page.last, page_rows(page.body)) == (2, True, [batch(2, 1)])


async def test_a_row_without_columns_passes() -> None:
    empty = batch(1, 2).select([])
    page = await take_page(Cursor(Batches(empty)).run(2), 1 << 20)
    assert [b.num_rows for b in page_rows(page.body)] == [2]


async def test_a_row_too_large_for_a_message_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.cursors.cursor_pages.BODY_BYTES_MAX", 100)
    with pytest.raises(ProgramLimitExceeded, match="too large to be passed on between members"):
        await take_page(Cursor(Batches(batch(1))).run(1), 8)


def test_unsettled_movements_break_their_cursor() -> None:
    unsettled = Unsettled()
    first, second, third = (Portal(name, Command(None), None) for name in "abc")
    unsettled.add(("m2", 1), first)
    unsettled.add(("m2", 2), second)
    unsettled.add(("m3", 1), third)
    unsettled.settle(("m2", 1))
    unsettled.abandon(("m2", 1))
    unsettled.abandon(("m9", 1))
    unsettled.lost("m2")
    assert [p.state for p in (first, second, third)] == [PortalState.BOUND, PortalState.FAILED, PortalState.BOUND]
    assert len(unsettled) == 1
    assert [unsettled.has(portal) for portal in (first, second, third)] == [False, False, True]


async def nothing() -> int:
    await asyncio.sleep(0)
    return 7


async def forever() -> None:
    await asyncio.Event().wait()


async def test_visitors_come_one_at_a_time_and_only_between_commands() -> None:
    visits = CursorLeases()
    with pytest.raises(ObjectInUse):
        await visits.run(nothing())
    visits.welcome = True
    assert await visits.run(nothing()) == 7
    task = asyncio.create_task(visits.run(forever()))
    await eventually(lambda: visits.under_way)
    with pytest.raises(ObjectInUse):
        await visits.run(nothing())
    await visits.end(InvalidCursorName("gone"))
    with pytest.raises(InvalidCursorName, match="gone"):
        await task
    assert not visits.under_way


async def test_who_interrupts_the_session_interrupts_the_visitor() -> None:
    visits = CursorLeases()
    visits.welcome = True
    visit = asyncio.create_task(visits.run(forever()))
    await eventually(lambda: visits.under_way)
    waiting = asyncio.create_task(visits.over())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(QueryCanceled):
        await visit


def test_the_messages_survive_the_way() -> None:
    for message in (
        MoveCursor(1, "m1:5", "ann", "sluice", "backward", None, rows=True, page_bytes=9, position=4),
        CursorMoved(1, 2, 3, last=True),
        CursorSettled(2**40),
    ):
        [frame] = FrameReader(preface=False).feed(encode(message))
        assert decode(frame.kind, frame.header) == message

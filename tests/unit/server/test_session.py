"""Sessions over real sockets: the two query protocols, errors, notices and settings, as drivers see them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg import pq
from support.session_server import Server, connect, raw, serve


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve() as running:
        yield running


# -- psycopg ---------------------------------------------------------------------------------------------------------


async def test_a_row(server: Server) -> None:
    async with await connect(server) as connection:
        cursor = await connection.execute("select 1 as one, 'two' as two, null as three")
        assert await cursor.fetchall() == [(1, "two", None)]
        assert cursor.statusmessage == "SELECT 1"
        assert cursor.description is not None
        assert [(c.name, c.type_code) for c in cursor.description] == [("one", 23), ("two", 25), ("three", 25)]


async def test_what_the_client_is_told_on_connecting(server: Server) -> None:
    async with await connect(server, application_name="tests", options="-c TimeZone=Europe/Paris") as connection:
        info = connection.info
        assert info.server_version == 150018
        assert info.parameter_status("application_name") == "tests"
        assert info.parameter_status("TimeZone") == "Europe/Paris"
        assert info.parameter_status("integer_datetimes") == "on"
        assert info.parameter_status("server_encoding") == "UTF8"
        assert info.parameter_status("session_authorization") == "ann"
        assert info.backend_pid > 0


async def test_parameters_in_text_and_binary(server: Server) -> None:
    async with await connect(server) as connection:
        for form in ("%s", "%b", "%t"):
            cursor = await connection.execute(f"select {form}::int4 + 1, {form}::text || 'x'", (41, "a"))
            assert await cursor.fetchone() == (42, "ax")


async def test_binary_results(server: Server) -> None:
    async with await connect(server) as connection:
        cursor = connection.cursor(binary=True)
        await cursor.execute("select 1::int8, 2.5::float8, 'x', true")
        assert await cursor.fetchone() == (1, 2.5, "x", True)


async def test_prepared_statements_of_psycopg(server: Server) -> None:
    async with await connect(server) as connection:
        for i in range(8):
            cursor = await connection.execute("select %s::int4 * 2", (i,), prepare=True)
            assert await cursor.fetchone() == (2 * i,)


async def test_an_error_tells_everything_and_the_session_lives(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.SyntaxError) as raised:
            await connection.execute("select 1; select from from")
        assert raised.value.diag.severity == "ERROR"
        assert raised.value.diag.severity_nonlocalized == "ERROR"
        assert raised.value.diag.statement_position == "23"
        with pytest.raises(psycopg.errors.DivisionByZero):
            await connection.execute("select error('Division by zero')")
        assert status(connection) == "IDLE"
        assert await (await connection.execute("select 1")).fetchone() == (1,)


async def test_the_position_of_an_error_counts_in_the_whole_string(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.UndefinedTable) as raised:
            await connection.execute("select 1; select * from nowhere")
        assert raised.value.diag.statement_position == "11"


async def test_an_error_of_our_own_is_internal_and_the_session_lives(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.InternalError_):
            await connection.execute('select 1 as "boom()"')
        assert await (await connection.execute("select 1")).fetchone() == (1,)


def status(connection: psycopg.AsyncConnection[Any]) -> str:
    return connection.info.transaction_status.name


async def test_transaction_status(server: Server) -> None:
    async with await connect(server) as connection:
        assert status(connection) == "IDLE"
        await connection.execute("select 1")
        assert status(connection) == "INTRANS"
        with pytest.raises(psycopg.errors.UndefinedTable):
            await connection.execute("select * from nowhere")
        assert status(connection) == "INERROR"
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            await connection.execute("select 1")
        cursor = await connection.execute("commit")
        assert cursor.statusmessage == "ROLLBACK"
        assert status(connection) == "IDLE"


async def _fail_within_a_savepoint(connection: psycopg.AsyncConnection[Any]) -> None:
    async with connection.transaction():
        await connection.execute("set DateStyle = 'German'")
        await connection.execute("select * from nowhere")


async def test_savepoints(server: Server) -> None:
    async with await connect(server) as connection, connection.transaction():
        await connection.execute("set DateStyle = 'SQL'")
        with pytest.raises(psycopg.errors.UndefinedTable):
            await _fail_within_a_savepoint(connection)
        assert await (await connection.execute("show DateStyle")).fetchone() == ("SQL, MDY",)


async def test_several_statements_share_a_transaction(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        cursor = await connection.execute("select 1; select 2; select 3")
        found = [await cursor.fetchone()]
        while cursor.nextset():
            found.append(await cursor.fetchone())
        assert found == [(1,), (2,), (3,)]
        assert server.counters.log == ["begin", "commit"]


async def test_an_error_undoes_the_statements_before_it(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.UndefinedTable):
            await connection.execute("set DateStyle = 'German'; select * from nowhere; select 3")
        assert await (await connection.execute("show DateStyle")).fetchone() == ("ISO, MDY",)


async def test_begin_within_a_string_of_statements(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        await connection.execute("select 1; begin; select 2")
        assert status(connection) == "INTRANS"
        await connection.execute("select 3; commit; select 4")
        assert status(connection) == "IDLE"
        assert server.counters.log == ["begin", "commit", "begin", "commit"]


async def test_chained_transactions(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        await connection.execute("begin isolation level serializable")
        cursor = await connection.execute("commit and chain")
        assert cursor.statusmessage == "COMMIT"
        assert status(connection) == "INTRANS"
        assert await (await connection.execute("show transaction_isolation")).fetchone() == ("serializable",)
        await connection.execute("rollback")
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
            await connection.execute("commit and chain")


async def test_warnings_about_transactions(server: Server) -> None:
    heard: list[tuple[str, str, str]] = []
    async with await connect(server, autocommit=True) as connection:
        connection.add_notice_handler(
            lambda d: heard.append((d.severity or "", d.sqlstate or "", d.message_primary or ""))
        )
        assert (await connection.execute("commit")).statusmessage == "COMMIT"
        assert (await connection.execute("rollback")).statusmessage == "ROLLBACK"
        await connection.execute("set local DateStyle = 'SQL'")
        assert (await connection.execute("start transaction")).statusmessage == "START TRANSACTION"
        assert (await connection.execute("begin")).statusmessage == "BEGIN"
        await connection.execute("set client_min_messages = error; begin; set client_min_messages = notice")
        await connection.execute("rollback")
    assert heard == [
        ("WARNING", "25P01", "there is no transaction in progress"),
        ("WARNING", "25P01", "there is no transaction in progress"),
        ("WARNING", "25P01", "SET LOCAL can only be used in transaction blocks"),
        ("WARNING", "25001", "there is already a transaction in progress"),
    ]


async def test_notices_of_the_engine(server: Server) -> None:
    heard: list[str] = []
    async with await connect(server, autocommit=True) as connection:
        connection.add_notice_handler(lambda d: heard.append(d.message_primary or ""))
        await connection.execute("create schema one")
        await connection.execute("select 1 as \"tell_from_thread('two')\"")
    assert heard == ['schema "one" made', "two"]


async def test_settings_are_told_when_they_change(server: Server) -> None:
    async with await connect(server) as connection:
        await connection.execute("set application_name = 'x'")
        assert connection.info.parameter_status("application_name") == "x"
        await connection.rollback()
        assert connection.info.parameter_status("application_name") == ""
        await connection.execute("set client_encoding = 'latin1'")
        assert connection.info.encoding == "iso8859-1"
        assert await (await connection.execute("select 'é', %s::text", ("ü",))).fetchone() == ("é", "ü")


async def test_empty_query(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        for text in ("", ";", " -- nothing\n"):
            cursor = await connection.execute(text)
            assert not cursor.statusmessage
            assert cursor.pgresult is not None
            assert cursor.pgresult.status == pq.ExecStatus.EMPTY_QUERY


async def test_prepare_execute_deallocate(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        cursor = await connection.execute("prepare p (int4, text) as select $1 + 1, $2")
        assert cursor.statusmessage == "PREPARE"
        cursor = await connection.execute("execute p (40 + 1, 'x')")
        assert await cursor.fetchone() == (42, "x")
        assert cursor.statusmessage == "SELECT 1"
        assert await (await connection.execute("explain execute p (1, 'x')")).fetchall() == [("a plan",)]
        with pytest.raises(psycopg.errors.SyntaxError) as raised:
            await connection.execute("execute p (1)")
        assert raised.value.diag.message_primary == 'wrong number of parameters for prepared statement "p"'
        assert raised.value.diag.message_detail == "Expected 2 parameters but got 1."
        with pytest.raises(psycopg.errors.DuplicatePreparedStatement):
            await connection.execute("prepare p as select 1")
        assert (await connection.execute("deallocate p")).statusmessage == "DEALLOCATE"
        with pytest.raises(psycopg.errors.InvalidSqlStatementName):
            await connection.execute("execute p (1, 'x')")
        assert (await connection.execute("deallocate all")).statusmessage == "DEALLOCATE ALL"
        assert (await connection.execute("discard all")).statusmessage == "DISCARD ALL"
        async with connection.transaction():
            await connection.execute("savepoint s")
            with pytest.raises(psycopg.errors.ActiveSqlTransaction):
                await connection.execute("discard all")
            await connection.execute("rollback to s")


async def test_pipeline(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection, connection.pipeline():
        cursors = [await connection.execute("select %s::int4", (i,)) for i in range(200)]
        assert [await c.fetchone() for c in cursors] == [(i,) for i in range(200)]


async def test_an_error_in_a_pipeline(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        async with connection.pipeline() as pipeline:
            good = await connection.execute("select 1")
            await connection.execute("select * from nowhere")
            await connection.execute("select 3")
            with pytest.raises(psycopg.errors.UndefinedTable):
                await pipeline.sync()
            assert await good.fetchone() == (1,)
        assert await (await connection.execute("select 4")).fetchone() == (4,)


async def test_a_large_result_in_small_pages(server: Server) -> None:
    async with await connect(server, autocommit=True, options="-c cursor_buffer_size=4kB") as connection:
        cursor = await connection.execute("select range as i, repeat('x', 50) as t from range(100000)")
        total = 0
        async for i, text in cursor:
            total += i
            assert len(text) == 50
        assert total == 100_000 * 99_999 // 2


# -- asyncpg ---------------------------------------------------------------------------------------------------------


async def _asyncpg(server: Server, **more: Any) -> asyncpg.Connection:
    return await asyncpg.connect(host=server.host, port=server.port, user="ann", database="sluice", ssl=False, **more)


async def test_asyncpg_statements_and_types(server: Server) -> None:
    connection = await _asyncpg(server)
    try:
        assert await connection.fetchval("select $1::int4 + 1", 41) == 42
        statement = await connection.prepare("select range as n, 'x' as t from range($1::int8)")
        assert [a.type.name for a in statement.get_attributes()] == ["int8", "text"]
        assert [tuple(r) for r in await statement.fetch(3)] == [(0, "x"), (1, "x"), (2, "x")]
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("select * from nowhere")
        assert await connection.execute("select 1; select 2") == "SELECT 1"
    finally:
        await connection.close()


async def test_asyncpg_cursors_are_suspended_portals(server: Server) -> None:
    connection = await _asyncpg(server)
    try:
        async with connection.transaction():
            statement = "select range::int8 as n from range($1::int8)"
            first = await connection.cursor(statement, 100_000)
            second = await connection.cursor(statement, 50)
            assert [r[0] for r in await first.fetch(3)] == [0, 1, 2]
            assert [r[0] for r in await second.fetch(2)] == [0, 1]
            assert await first.forward(10) == 10
            assert [r[0] for r in await first.fetch(2)] == [13, 14]
            assert server.counters.executions == 2
            assert len(await second.fetch(1_000)) == 48
            assert server.counters.executions == 1
            assert await second.fetch(5) == []
        assert server.counters.executions == 0
        async with connection.transaction():
            found = [r[0] async for r in connection.cursor("select range::int8 from range(1000)", prefetch=7)]
            assert found == list(range(1000))
    finally:
        await connection.close()


# -- bytes -----------------------------------------------------------------------------------------------------------


async def test_describe_before_execution(server: Server) -> None:
    async with raw(server) as client:
        client.parse("s", "select $1::int4 as a, 'x' as b").describe("S", "s").sync()
        assert await client.until("Z") == ["1", "t", "T", "Z"]
        client.bind("p", "s", [b"7"]).describe("P", "p").execute("p", 0).sync()
        assert await client.until("Z") == ["2", "T", "D", "C", "Z"]
        client.parse("u", "begin").describe("S", "u").sync()
        assert await client.until("Z") == ["1", "t", "n", "Z"]


async def test_portals_are_suspended_and_go_on(server: Server) -> None:
    async with raw(server) as client:
        client.parse("", "select range::int8 from range(5)").bind("p", "")
        client.execute("p", 2).execute("p", 2).execute("p", 2).execute("p", 2).sync()
        assert await client.until("Z") == ["1", "2", "D", "D", "s", "D", "D", "s", "D", "C", "C", "Z"]
        assert client.tags == ["SELECT 1", "SELECT 0"]


async def test_a_page_that_ends_exactly_with_the_rows_is_not_the_last(server: Server) -> None:
    async with raw(server) as client:
        client.parse("", "select range::int8 from range(4)").bind("", "").execute("", 4).execute("", 4).sync()
        assert await client.until("Z") == ["1", "2", "D", "D", "D", "D", "s", "C", "Z"]
        assert client.tags == ["SELECT 0"]


async def test_portals_end_with_their_transaction(server: Server) -> None:
    async with raw(server) as client:
        client.parse("s", "select 1").bind("p", "s").sync().execute("p", 0).sync()
        assert await client.until("Z") == ["1", "2", "Z"]
        assert await client.until("Z") == ["E", "Z"]
        assert client.error["C"] == "34000"
        assert client.error["M"] == 'portal "p" does not exist'


async def test_close_of_what_is_not_there_is_no_error(server: Server) -> None:
    async with raw(server) as client:
        client.close("S", "nothing").close("P", "nothing").sync()
        assert await client.until("Z") == ["3", "3", "Z"]


async def test_flush_gives_what_there_is(server: Server) -> None:
    async with raw(server) as client:
        client.parse("s", "select 1").flush()
        assert await client.until("1") == ["1"]
        client.sync()
        assert await client.until("Z") == ["Z"]


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda c: c.bind("", "nothing"), "26000"),
        (lambda c: c.describe("S", "nothing"), "26000"),
        (lambda c: c.describe("P", "nothing"), "34000"),
        (lambda c: c.execute("nothing", 0), "34000"),
        (lambda c: c.parse("s", "select 1").parse("s", "select 1"), "42P05"),
        (lambda c: c.parse("s", "select 1").bind("p", "s").bind("p", "s"), "42P03"),
        (lambda c: c.parse("s", "select 1; select 2"), "42601"),
        (lambda c: c.parse("s", "select $1::int4").bind("", "s"), "08P01"),
        (lambda c: c.parse("s", "select $1::int4").bind("", "s", [b"x"]), "22P02"),
        (lambda c: c.parse("s", "select 1").bind("", "s", results=[0, 0, 1]), "08P01"),
        (lambda c: c.parse("s", "select 1").bind("", "s", results=[7]).execute("", 0), "22023"),
        (lambda c: c.parse("s", "begin").bind("", "s").execute("", 0).execute("", 0), "55000"),
    ],
)
async def test_errors_of_the_extended_protocol_skip_to_sync(server: Server, build: Any, code: str) -> None:
    async with raw(server) as client:
        build(client).parse("later", "select 1").bind("", "later").sync()
        kinds = await client.until("Z")
        assert kinds[-2:] == ["E", "Z"]
        assert (client.error["S"], client.error["V"], client.error["C"]) == ("ERROR", "ERROR", code)
        client.query("rollback; select 1")
        assert "D" in await client.until("Z")


async def test_a_failed_block_in_the_extended_protocol(server: Server) -> None:
    async with raw(server) as client:
        client.parse("ok", "select 1").sync().query("begin").query("nonsense")
        for _ in range(3):
            await client.until("Z")
        assert client.status == "E"
        client.parse("", "select 2").sync()
        await client.until("Z")
        assert client.error["C"] == "25P02"
        client.bind("", "ok").sync()
        await client.until("Z")
        assert client.error["C"] == "25P02"
        client.describe("S", "ok").sync()
        await client.until("Z")
        assert client.error["C"] == "25P02"
        client.parse("", "rollback").bind("", "").execute("", 0).sync()
        assert await client.until("Z") == ["1", "2", "C", "Z"]
        assert client.status == "I"


async def test_a_pipeline_is_one_transaction_until_sync(server: Server) -> None:
    async with raw(server) as client:
        for text in ("set DateStyle = 'German'", "select * from nowhere"):
            client.parse("", text).bind("", "").execute("", 0)
        client.sync()
        assert "E" in await client.until("Z")
        client.query("show DateStyle")
        await client.until("Z")
        assert client.rows[-1] == [b"ISO, MDY"]


async def test_begin_within_a_pipeline(server: Server) -> None:
    async with raw(server) as client:
        for text in ("select 1", "begin", "select 2"):
            client.parse("", text).bind("", "").execute("", 0)
        client.sync()
        await client.until("Z")
        assert client.status == "T"
        assert server.counters.log == ["begin"]
        client.query("rollback")
        await client.until("Z")


async def test_the_unnamed_statement_and_portal(server: Server) -> None:
    async with raw(server) as client:
        client.parse("", "select 1").bind("", "").bind("", "").execute("", 0).sync()
        assert await client.until("Z") == ["1", "2", "2", "D", "C", "Z"]
        client.query("select 1").bind("", "").sync()
        await client.until("Z")
        await client.until("Z")
        assert client.error["C"] == "26000"
        assert client.error["M"] == "unnamed prepared statement does not exist"


async def test_an_empty_statement(server: Server) -> None:
    async with raw(server) as client:
        client.parse("", "").describe("S", "").bind("", "").execute("", 0).sync()
        assert await client.until("Z") == ["1", "t", "n", "2", "I", "Z"]


async def test_copy_messages_outside_copy_are_ignored_and_calls_of_no_function_refused(server: Server) -> None:
    async with raw(server) as client:
        client.message("d", b"1\t2\n").message("c").message("f", b"why\0").query("select 1")
        assert await client.until("Z") == ["T", "D", "C", "Z"]
        client.message("F", b"\0\0\0\1\0\0\0\0\0\0")
        assert await client.until("Z") == ["E", "Z"]
        assert client.error["C"] == "42883"


async def test_text_that_is_not_in_the_clients_encoding(server: Server) -> None:
    async with raw(server) as client:
        client.message("Q", b"select '\xff'\0")
        assert await client.until("Z") == ["E", "Z"]
        assert client.error["C"] == "22021"
        client.message("P", b"\0select '\xff'\0\0\0").sync()
        assert await client.until("Z") == ["E", "Z"]
        client.query("select 1")
        assert "D" in await client.until("Z")


async def test_parameters_without_values_are_refused_in_a_simple_query(server: Server) -> None:
    async with raw(server) as client:
        client.query("select $1")
        await client.until("Z")
        assert (client.error["C"], client.error["M"]) == ("42P02", "there is no parameter $1")


async def test_sessions_are_listed(server: Server) -> None:
    async with await connect(server, autocommit=True) as connection:
        await connection.execute("begin")
        [activity] = server.listener.registry.activity()
        assert (activity.user, activity.state, activity.query) == ("ann", "idle in transaction", "begin")
        assert activity.pid == connection.info.backend_pid
        assert activity.transaction_start is not None


async def test_portals_and_statements_are_listed(server: Server) -> None:
    async with raw(server) as client:
        client.query("begin; declare c scroll cursor for select 1; prepare s as select 2")
        await client.until("Z")
        [session] = server.sessions
        [cursor] = session.client.cursors()
        assert (cursor.name, cursor.scrollable, cursor.holdable) == ("c", True, False)
        assert cursor.statement == "declare c scroll cursor for select 1"
        [prepared] = session.client.prepared_statements()
        assert (prepared.name, prepared.from_sql) == ("s", True)
        client.query("rollback")
        await client.until("Z")

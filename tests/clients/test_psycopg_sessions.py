"""psycopg 3 as programs use it: transactions, pipelines, cursors on the server, prepared statements, cancel.

Tests that take `connect` hold for the member and for PostgreSQL 15 alike.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from psycopg.types import TypeInfo
from support.member_process import MemberProcess, wait_until
from support.member_state import status

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
Connect = Callable[..., psycopg.Connection[tuple[Any, ...]]]
#: Runs until somebody stops it, on Spark.
ENDLESS = "select count(*) from lineitem a, lineitem b where a.l_comment < b.l_comment"


def state(connection: psycopg.Connection[Any]) -> str:
    return connection.info.transaction_status.name


# -- transactions ----------------------------------------------------------------------------------------------------


def test_transaction_status(connect: Connect) -> None:
    with connect(autocommit=False) as connection:
        assert state(connection) == "IDLE"
        connection.execute("select 1")
        assert state(connection) == "INTRANS"
        with pytest.raises(psycopg.errors.UndefinedColumn):
            connection.execute("select missing")
        assert state(connection) == "INERROR"
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("select 1")
        connection.rollback()
        assert state(connection) == "IDLE"


def test_nested_transactions_are_savepoints(connect: Connect) -> None:
    with connect() as connection:
        with connection.transaction():
            connection.execute("set local application_name = 'outer'")
            with pytest.raises(psycopg.errors.DivisionByZero), connection.transaction():  # noqa: PT012
                connection.execute("set local application_name = 'inner'")
                connection.execute("select 1/0")
            assert connection.execute("show application_name").fetchone() == ("outer",)
        assert state(connection) == "IDLE"
        assert connection.execute("show application_name").fetchone() == ("",)


def test_transaction_characteristics(connect: Connect) -> None:
    with connect(autocommit=False) as connection:
        connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        connection.read_only = True
        shown = [connection.execute(f"show transaction_{n}").fetchone() for n in ("isolation", "read_only")]
        assert shown == [("serializable",), ("on",)]


def test_connection_information(connect: Connect) -> None:
    with connect(application_name="tests", options="-c TimeZone=Asia/Tokyo -c DateStyle=German") as connection:
        told = {n: connection.info.parameter_status(n) for n in ("application_name", "TimeZone", "DateStyle")}
        assert told == {"application_name": "tests", "TimeZone": "Asia/Tokyo", "DateStyle": "German, DMY"}
        assert connection.info.server_version // 10000 == 15
        assert connection.info.encoding == "utf-8"
        assert connection.execute("select pg_backend_pid()").fetchone() == (connection.info.backend_pid,)
        connection.execute("set client_encoding to latin1")
        assert connection.info.encoding == "iso8859-1"
        assert connection.execute("select 'é'").fetchone() == ("é",)


def test_notices(connect: Connect) -> None:
    told: list[tuple[str | None, str | None]] = []
    with connect() as connection:
        connection.add_notice_handler(lambda d: told.append((d.severity, d.message_primary)))
        connection.execute("drop view if exists nowhere")
        connection.execute("commit")
    assert told == [
        ("NOTICE", 'view "nowhere" does not exist, skipping'),
        ("WARNING", "there is no transaction in progress"),
    ]


# -- statements ------------------------------------------------------------------------------------------------------


def test_prepared_statements(connect: Connect) -> None:
    with connect(prepare_threshold=2) as connection:
        for number in range(6):
            assert connection.execute("select %s::int8 * 2", (number,)).fetchone() == (number * 2,)
        names = connection.execute("select count(*) from pg_prepared_statements").fetchone()
        assert names == (1,)
        connection.execute("deallocate all")


def test_executemany(connect: Connect) -> None:
    with connect() as connection, connection.cursor() as cursor:
        cursor.executemany("select %s::int4 + 1, %s::text", [(n, str(n)) for n in range(5)], returning=True)
        rows = [cursor.fetchone()]
        while cursor.nextset():
            rows.append(cursor.fetchone())
        assert rows == [(n + 1, str(n)) for n in range(5)]


def test_several_statements_in_one_string(connect: Connect) -> None:
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("select 1; select 2, 3; ; values (4)")
        rows = [cursor.fetchall()]
        while cursor.nextset():
            rows.append(cursor.fetchall())
        assert rows == [[(1,)], [(2, 3)], [(4,)]]


def test_rows_as_they_come(connect: Connect) -> None:
    with connect() as connection, connection.cursor() as cursor:
        rows = cursor.stream("select g, g::text from generate_series(1, 25000) g order by 1")
        assert [a for a, _ in rows] == list(range(1, 25001))


@pytest.mark.parametrize(
    ("statement", "state_wanted", "position"),
    [
        ("select 1 +", "42601", "11"),
        ("select  nothing from (values (1)) t(a)", "42703", "9"),
        ("select * from nowhere", "42P01", "15"),
        ("select 'x'::int4", "22P02", "8"),
        ("select no_such_function(1)", "42883", "8"),
        ("select 1/0", "22012", None),
        ("select 2147483647 + 1", "22003", None),
        ("select 1 where 1", "42804", "16"),
    ],
)
def test_errors(connect: Connect, statement: str, state_wanted: str, position: str | None) -> None:
    with connect() as connection:
        with pytest.raises(psycopg.Error) as raised:
            connection.execute(statement.encode())
        diagnosis = raised.value.diag
        assert (diagnosis.sqlstate, diagnosis.statement_position) == (state_wanted, position)
        assert connection.execute("select 1").fetchone() == (1,)


def test_type_information(connect: Connect) -> None:
    with connect() as connection:
        for name in ("int4", "text", "numeric", "timestamptz", "uuid", "jsonb"):
            found = TypeInfo.fetch(connection, name)
            assert found is not None
            known = psycopg.adapters.types[name]
            assert (found.oid, found.array_oid, found.delimiter) == (known.oid, known.array_oid, ",")
        assert TypeInfo.fetch(connection, "no_such_type") is None
        assert TypeInfo.fetch(connection, "hstore") is None
        assert state(connection) == "IDLE"


# -- pipelines -------------------------------------------------------------------------------------------------------


def test_a_pipeline(connect: Connect) -> None:
    with connect() as connection, connection.pipeline():
        cursors = [connection.execute("select %s::int4", (n,)) for n in range(500)]
        assert [cursor.fetchone() for cursor in cursors] == [(n,) for n in range(500)]


def test_an_error_in_a_pipeline(connect: Connect) -> None:
    with connect() as connection:
        for _ in range(3):
            with pytest.raises(psycopg.errors.DivisionByZero), connection.pipeline():  # noqa: PT012
                connection.execute("select 1")
                connection.execute("select 1/%s::int4", (0,))
                connection.execute("select 2")
            assert state(connection) == "IDLE"
            assert connection.execute("select 3").fetchone() == (3,)


def test_transactions_in_a_pipeline(connect: Connect) -> None:
    with connect() as connection, connection.pipeline() as pipeline:
        with connection.transaction():
            cursor = connection.execute("select 1")
        pipeline.sync()
        with pytest.raises(psycopg.errors.UndefinedTable), connection.transaction():
            connection.execute("select * from nowhere")
        assert cursor.fetchone() == (1,)
        assert connection.execute("select 2").fetchone() == (2,)


def test_many_rows_through_a_pipeline(connect: Connect) -> None:
    """Both sides write at once: neither socket may fill up for ever."""
    with connect() as connection, connection.pipeline():
        cursors = [
            connection.execute("select repeat('x', 1000), %s::text from generate_series(1, 500)", ("y" * 20000,))
            for _ in range(20)
        ]
        assert [len(cursor.fetchall()) for cursor in cursors] == [500] * 20


# -- cursors on the server -------------------------------------------------------------------------------------------

SERIES = "select g from generate_series(1, 100) g order by g"


def test_a_named_cursor(connect: Connect) -> None:
    with connect(autocommit=False) as connection, connection.cursor("pages") as cursor:
        cursor.itersize = 7
        cursor.execute(SERIES)
        assert cursor.description is not None
        assert [row[0] for row in cursor] == list(range(1, 101))


def test_a_scrollable_cursor(connect: Connect) -> None:
    with connect(autocommit=False) as connection, connection.cursor("back", scrollable=True) as cursor:
        cursor.execute(SERIES)
        assert cursor.fetchmany(3) == [(1,), (2,), (3,)]
        cursor.scroll(-2)
        assert cursor.fetchone() == (2,)
        cursor.scroll(99, mode="absolute")
        assert cursor.fetchone() == (100,)
        assert cursor.fetchone() is None


def test_a_cursor_that_outlives_its_transaction(connect: Connect) -> None:
    with connect() as connection, connection.cursor("held", withhold=True) as cursor:
        cursor.execute(SERIES)
        assert cursor.fetchmany(2) == [(1,), (2,)]
        assert len(cursor.fetchall()) == 98


def test_binary_named_cursors_side_by_side(connect: Connect) -> None:
    with connect(autocommit=False) as connection:
        names = [connection.cursor(f"c{n}", binary=bool(n % 2)) for n in range(5)]
        for n, cursor in enumerate(names):
            cursor.execute("select g * %s::int4 from generate_series(1, 50) g order by g", (n,))
        for row in range(1, 51):
            assert [cursor.fetchone() for cursor in names] == [(row * n,) for n in range(5)]
        assert connection.execute("select count(*) from pg_cursors").fetchone() == (5,)
        for cursor in names:
            cursor.close()


# -- the member and Spark --------------------------------------------------------------------------------------------


def test_copy_of_a_query_on_spark(member: MemberProcess) -> None:
    with member.connect(options="-c sluice.engine=spark") as connection:
        with (
            connection.cursor() as cursor,
            cursor.copy("copy (select o_orderkey, o_comment from orders) to stdout") as copy,
        ):
            assert sum(1 for _ in copy.rows()) == 150_000
        assert state(connection) == "IDLE"
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.long
def test_suspended_cursors_over_running_spark_queries(member: MemberProcess) -> None:
    """Five at once, each over a query that runs; the session works meanwhile, and rows come in their order."""
    with member.connect(autocommit=False, options="-c sluice.engine=spark") as connection, ExitStack() as opened:
        cursors = [opened.enter_context(connection.cursor(f"c{n}")) for n in range(5)]
        for cursor in cursors:
            cursor.execute("select l_orderkey, l_linenumber from lineitem order by 1, 2")
        for _ in range(3):
            pages = [cursor.fetchmany(1000) for cursor in cursors]
            assert all(page == pages[0] and page == sorted(page) and len(page) == 1000 for page in pages)
        assert connection.execute("select count(*) from nation").fetchone() == (25,)
        assert status(member)["counters"]["spark"]["streams"] == 5


def test_every_row_of_a_table(member: MemberProcess) -> None:
    with member.connect(autocommit=False, options="-c sluice.engine=spark") as connection:
        with connection.cursor("all", binary=True) as cursor:
            cursor.itersize = 20_000
            cursor.execute("select o_orderkey from orders")
            keys = [row[0] for row in cursor]
        assert len(keys) == len(set(keys)) == 150_000


def running(member: MemberProcess) -> bool:
    return bool(status(member)["counters"]["spark"]["streams"])


def cancel_when_running(member: MemberProcess, connection: psycopg.Connection[Any], cancel: Callable[[], Any]) -> None:
    def act() -> None:
        wait_until(lambda: running(member))
        cancel()

    thread = threading.Thread(target=act)
    thread.start()
    try:
        with pytest.raises(psycopg.errors.QueryCanceled, match="user request"):
            connection.execute(ENDLESS)
    finally:
        thread.join()
    assert state(connection) == "IDLE"
    assert connection.execute("select 1").fetchone() == (1,)
    wait_until(lambda: not running(member))


def test_cancel(member: MemberProcess) -> None:
    with member.connect(options="-c sluice.engine=spark") as connection:
        cancel_when_running(member, connection, connection.cancel)
        cancel_when_running(member, connection, connection.cancel_safe)


def test_pg_cancel_backend(member: MemberProcess) -> None:
    with member.connect(options="-c sluice.engine=spark") as connection, member.connect() as other:
        pid = connection.info.backend_pid
        cancel_when_running(
            member, connection, lambda: other.execute("select pg_cancel_backend(%s)", (pid,)).fetchone()
        )


def test_statement_timeout(member: MemberProcess) -> None:
    with member.connect(options="-c sluice.engine=spark -c statement_timeout=2s") as connection:
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(ENDLESS)
        connection.execute("set statement_timeout = 0")
        assert connection.execute("select count(*) from region").fetchone() == (5,)


def test_a_regular_expression_ends_at_the_timeout(member: MemberProcess) -> None:
    # A second or so a row.
    rows = "select g || repeat('a', 151) as s from generate_series(1, 100000) g"
    endless = rf"select count(*) from ({rows}) r where s ~ '^\d+(a+)(a+)\1\2$'"
    with member.connect(options="-c statement_timeout=1s") as connection:
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(endless)
        connection.execute("set statement_timeout = 0")
        assert connection.execute("select 1").fetchone() == (1,)
        with pytest.raises(psycopg.errors.StatementTooComplex, match="too many ways"):
            connection.execute(r"select repeat('a', 61) ~ '^(a+)(a+)(a+)(a+)\1\2\3\4$'")


def test_pg_terminate_backend(connect: Connect) -> None:
    with connect() as connection, connect() as other:
        found = other.execute("select pg_terminate_backend(%s)", (connection.info.backend_pid,)).fetchone()
        assert found == (True,)
        with pytest.raises(psycopg.errors.AdminShutdown):
            connection.execute("select 1")


async def test_async_connections(member: MemberProcess) -> None:
    """Twenty at once, and one that is cancelled while it waits for Spark."""

    async def ask(number: int) -> Any:
        async with await psycopg.AsyncConnection.connect(member.dsn, autocommit=True) as connection:
            cursor = await connection.execute("select n_name from nation where n_nationkey = %s", (number,))
            return await cursor.fetchone()

    names = await asyncio.gather(*(ask(number) for number in range(20)))
    assert len(set(names)) == 20
    async with await psycopg.AsyncConnection.connect(
        member.dsn, autocommit=True, options="-c sluice.engine=spark"
    ) as connection:
        task = asyncio.create_task(connection.execute(ENDLESS))
        await asyncio.to_thread(wait_until, lambda: running(member))
        task.cancel()
        with pytest.raises((asyncio.CancelledError, psycopg.errors.QueryCanceled)):
            await task
        assert await (await connection.execute("select 1")).fetchone() == (1,)

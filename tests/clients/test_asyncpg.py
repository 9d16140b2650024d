"""asyncpg: it uses only the binary format, prepares every statement, looks up types itself and resets connections that
return to its pool.

Tests that take `dsn` hold for the member and for PostgreSQL 15 alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import psycopg
import pytest
from client_values import VALUES, expressions, quoted
from support.member_process import MemberProcess, wait_until
from support.member_state import status
from support.postgres_server import PostgresServer

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
ENDLESS = "select count(*) from lineitem a, lineitem b where a.l_comment < b.l_comment"


def url(server: MemberProcess | PostgresServer) -> str:
    parts = psycopg.conninfo.conninfo_to_dict(server.dsn)
    return f"postgresql://{parts['user']}@{parts['host']}:{parts['port']}/{parts['dbname']}"


@pytest.fixture(params=["sluice", "postgres"])
def dsn(request: pytest.FixtureRequest, member: MemberProcess, postgres: PostgresServer) -> str:
    return url(member if request.param == "sluice" else postgres)


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(dsn)
    yield connection
    await connection.close()


@pytest.fixture
async def spark(member: MemberProcess) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url(member), server_settings={"sluice.engine": "spark"})
    yield connection
    await connection.close()


# -- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["local", "spark"])
async def test_results(member: MemberProcess, postgres: PostgresServer, engine: str) -> None:
    query = "select " + ", ".join(f"{e} as c{n}" for n, (_, e) in enumerate(expressions()))
    ours = await asyncpg.connect(url(member), server_settings={"sluice.engine": engine})
    theirs = await asyncpg.connect(url(postgres))
    try:
        got, want = [(await c.fetchrow(query)) for c in (ours, theirs)]
        assert [(type(v), v) for v in got.values()] == [(type(v), v) for v in want.values()]
    finally:
        await ours.close()
        await theirs.close()


@pytest.mark.table
@pytest.mark.parametrize("name", VALUES)
async def test_parameters(member: MemberProcess, postgres: PostgresServer, name: str) -> None:
    ours, theirs = await asyncpg.connect(url(member)), await asyncpg.connect(url(postgres))
    try:
        found = await theirs.fetchrow("select " + ", ".join(f"{quoted(v)}::{name}" for v in VALUES[name]))
        for value in [*found, None]:
            for query in (f"select $1::{name}", f"select $1::{name} as a, $1::{name} is null as b"):
                assert await ours.fetchrow(query, value) == await theirs.fetchrow(query, value)
    finally:
        await ours.close()
        await theirs.close()


async def test_types_of_parameters_come_from_context(connection: Any) -> None:
    queries = {
        "select $1::int8 + $2, $3 || 'x', $4 and true, $5": ["int8", "int8", "text", "bool", "text"],
        "select 1 where 1.5 > $1 and 'a' = $2 and now() > $3": ["numeric", "text", "timestamptz"],
        "select * from generate_series(1, $1) limit $2 offset $3": ["int4", "int8", "int8"],
        "select 1 = any($1), array[1, $2]": ["int4[]", "int4"],
        "select interval '1 day' * $1, current_date - $2::date": ["float8", "date"],
    }
    for query, types in queries.items():
        statement = await connection.prepare(query)
        assert [t.name for t in statement.get_parameters()] == types, query


async def test_names_and_types_of_columns(connection: Any) -> None:
    statement = await connection.prepare("select 1 as a, 'x'::varchar(5) as b, array[1.5] as c, now() as d")
    assert [(a.name, a.type.name) for a in statement.get_attributes()] == [
        ("a", "int4"),
        ("b", "varchar"),
        ("c", "numeric[]"),
        ("d", "timestamptz"),
    ]


# -- statements ------------------------------------------------------------------------------------------------------


async def test_fetching(connection: Any) -> None:
    query = "select g as a, g::text as b from generate_series(1, 1000) g"
    assert len(await connection.fetch(query)) == 1000
    assert dict(await connection.fetchrow(query)) == {"a": 1, "b": "1"}
    assert await connection.fetchval(query, column=1) == "1"
    assert await connection.fetchrow("select 1 where false") is None
    assert await connection.execute("select 1; select 2") == "SELECT 1"
    assert await connection.execute("select $1::int4", 5) == "SELECT 1"


async def test_a_prepared_statement_again_and_again(connection: Any) -> None:
    statement = await connection.prepare("select $1::int4 * 2")
    assert [await statement.fetchval(n) for n in range(50)] == [2 * n for n in range(50)]
    assert await statement.fetch(7) == [(14,)]
    assert statement.get_statusmsg() == "SELECT 1"


async def test_executemany(connection: Any) -> None:
    await connection.executemany("select $1::int4, $2::text", [(n, str(n)) for n in range(200)])
    with pytest.raises(asyncpg.DivisionByZeroError):
        await connection.executemany("select 1/$1::int4", [(1,), (0,), (2,)])
    assert await connection.fetchval("select 1") == 1


async def test_errors(connection: Any) -> None:
    for query, error in {
        "select * from nowhere": asyncpg.UndefinedTableError,
        "select nothing": asyncpg.UndefinedColumnError,
        "select from from": asyncpg.PostgresSyntaxError,
        "select 1/0": asyncpg.DivisionByZeroError,
    }.items():
        with pytest.raises(error):
            await connection.fetch(query)
    assert await connection.fetchval("select 1") == 1


# -- transactions and cursors ----------------------------------------------------------------------------------------


async def test_transactions(connection: Any) -> None:
    async with connection.transaction(isolation="serializable", readonly=True, deferrable=True):
        assert await connection.fetchval("show transaction_isolation") == "serializable"
        assert await connection.fetchval("show transaction_read_only") == "on"
        with pytest.raises(asyncpg.DivisionByZeroError):
            async with connection.transaction():
                await connection.fetch("select 1/0")
        assert await connection.fetchval("select 1") == 1
    assert not connection.is_in_transaction()
    assert await connection.fetchval("show transaction_isolation") == "read committed"


async def test_cursors(connection: Any) -> None:
    query = "select g from generate_series(1, 100) g order by g"
    async with connection.transaction():
        assert [row[0] async for row in connection.cursor(query, prefetch=7)] == list(range(1, 101))
        cursor = await connection.cursor(query)
        assert [row[0] for row in await cursor.fetch(3)] == [1, 2, 3]
        assert await cursor.forward(10) == 10
        assert (await cursor.fetchrow())[0] == 14
        others = [await connection.cursor(query) for _ in range(4)]
        assert [(await other.fetchrow())[0] for other in others] == [1] * 4
        assert len(await cursor.fetch(1000)) == 86
        assert await cursor.fetchrow() is None


async def test_cursors_over_spark(spark: Any, member: MemberProcess) -> None:
    async with spark.transaction():
        query = "select l_orderkey from lineitem order by 1"
        cursors = [await spark.cursor(query) for _ in range(3)]
        pages = [await cursor.fetch(500) for cursor in cursors]
        assert pages[0] == pages[1] == pages[2] == sorted(pages[0])
        assert (await asyncio.to_thread(status, member))["counters"]["spark"]["streams"] == 3
        assert await spark.fetchval("select count(*) from region") == 5


# -- cancel, settings, pools -----------------------------------------------------------------------------------------


async def test_a_timeout_stops_the_query(spark: Any) -> None:
    with pytest.raises(asyncio.TimeoutError):
        await spark.fetch(ENDLESS, timeout=0.5)
    assert await spark.fetchval("select count(*) from region") == 5


async def test_a_cancelled_task_stops_the_query(spark: Any, member: MemberProcess) -> None:
    task = asyncio.create_task(spark.fetch(ENDLESS))
    await asyncio.to_thread(wait_until, lambda: status(member)["counters"]["spark"]["streams"])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await spark.fetchval("select 1") == 1


async def test_settings_of_a_connection(dsn: str) -> None:
    connection = await asyncpg.connect(dsn, server_settings={"application_name": "tests", "TimeZone": "Europe/Rome"})
    try:
        assert await connection.fetchval("show application_name") == "tests"
        assert connection.get_settings().TimeZone == "Europe/Rome"
        await connection.execute("set TimeZone to 'Asia/Tokyo'")
        assert connection.get_settings().TimeZone == "Asia/Tokyo"
    finally:
        await connection.close()


async def test_log_listeners_hear_notices(connection: Any) -> None:
    told: list[str] = []
    connection.add_log_listener(lambda _connection, message: told.append(message.message))
    await connection.execute("drop view if exists nowhere")
    await asyncio.sleep(0)
    assert told == ['view "nowhere" does not exist, skipping']


async def test_reset(connection: Any) -> None:
    await connection.execute("set application_name = 'changed'")
    await connection.reset()
    assert await connection.fetchval("show application_name") == ""


async def test_a_pool(dsn: str) -> None:
    async with asyncpg.create_pool(dsn, min_size=2, max_size=5) as pool:

        async def ask(number: int) -> Any:
            async with pool.acquire() as connection:
                await connection.execute(f"set application_name = 'user {number}'")
                return await connection.fetchval("select $1::int4", number)

        assert await asyncio.gather(*(ask(number) for number in range(40))) == list(range(40))
        assert await pool.fetchval("show application_name") == ""


async def test_introspection_of_types(connection: Any) -> None:
    """set_type_codec looks the type up in the catalog."""
    await connection.set_type_codec("json", encoder=str, decoder=lambda text: ("decoded", text), schema="pg_catalog")
    assert await connection.fetchval("""select '{"a": 1}'::json""") == ("decoded", '{"a": 1}')
    await connection.reset_type_codec("json", schema="pg_catalog")

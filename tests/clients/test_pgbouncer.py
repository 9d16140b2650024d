"""PgBouncer before a member, in session and in transaction mode, and before PostgreSQL 15: the expectations hold for
both.

The pool has one connection: state that one client leaves there would be visible to the next one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import asyncpg
import psycopg
import pytest
from support.answers import value
from support.local_member import local_member
from support.member_process import wait_until
from support.pgbouncer import Mode, PgBouncer
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres


@dataclass(frozen=True)
class Pool:
    """mode: of the bouncer. direct: the server without it."""

    mode: Mode
    dsn: str
    port: int
    direct: str

    def connect(self, **more: Any) -> psycopg.Connection[Any]:
        return psycopg.connect(self.dsn, **{"autocommit": True, "prepare_threshold": None, **more})


@pytest.fixture(scope="module", params=["sluice", "postgres"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer
) -> Iterator[tuple[int, str]]:
    """Its port and its database, which belongs to `postgres`."""
    if request.param == "sluice":
        with local_member(tmp_path_factory.mktemp("pooled")) as member:
            yield member.port, "sluice"
        return
    with postgres.database("bounced") as database:
        yield database.port, database.name


@pytest.fixture(params=["session", "transaction"])
def pool(request: pytest.FixtureRequest, server: tuple[int, str]) -> Iterator[Pool]:
    port, database = server
    direct = f"host=127.0.0.1 port={port} user=postgres dbname={database} sslmode=disable"
    with psycopg.connect(direct, autocommit=True) as connection:
        connection.execute("create table if not exists pooled (id int primary key, name text)")
        connection.execute("truncate pooled")
    with PgBouncer(request.param, server=port, database=database, user="postgres") as bouncer:
        yield Pool(request.param, bouncer.dsn, bouncer.port, direct)


def test_connects_and_asks(pool: Pool) -> None:
    with pool.connect(application_name="me") as connection:
        assert connection.info.server_version // 10000 == 15
        assert connection.info.parameter_status("server_encoding") == "UTF8"
        assert connection.info.parameter_status("standard_conforming_strings") == "on"
        assert value(connection, "select current_user") == "postgres"
        assert value(connection, "show application_name") == "me"
        rows = connection.execute("select g, 'n' || g from generate_series(1, 20000) g").fetchall()
        assert (len(rows), rows[-1]) == (20000, (20000, "n20000"))
        assert value(connection, "select %s::int + 1", 41) == 42
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("select 1/0")
        assert value(connection, "select %b::text || 'x'", "a") == "ax"


def test_shares_a_connection(pool: Pool) -> None:
    with pool.connect() as first:
        backend = value(first, "select pg_backend_pid()")
        if pool.mode == "transaction":
            with pool.connect() as second:
                assert value(second, "select pg_backend_pid()") == backend
    with pool.connect() as third:
        assert value(third, "select pg_backend_pid()") == backend


@pytest.mark.parametrize("pool", ["session"], indirect=True)
def test_leaves_nothing_for_the_next(pool: Pool) -> None:
    """In session mode it says DISCARD ALL; in transaction mode it does not, and clients must not do this."""
    with pool.connect() as connection:
        before = value(connection, "show work_mem")
        for statement in (
            "set work_mem = '7MB'", "create temp table mine (a int)", "prepare p as select 1", "listen news",
            "declare c cursor with hold for select 1", "select pg_advisory_lock(7)",
        ):  # fmt: skip
            connection.execute(statement.encode())
    with pool.connect() as connection:
        assert value(connection, "show work_mem") == before
        assert value(connection, "select to_regclass('mine')") is None
        for left in ("pg_prepared_statements", "pg_cursors", "pg_listening_channels()"):
            assert value(connection, f"select count(*) from {left}") == 0
    with psycopg.connect(pool.direct, autocommit=True) as other:
        assert value(other, "select pg_try_advisory_lock(7)") is True


def test_settings_follow_their_client(pool: Pool) -> None:
    """PgBouncer keeps what the server reports of each client, and sets it before it hands the connection to another."""
    with pool.connect() as first:
        first.execute("set TimeZone = 'Asia/Tokyo'")
        first.execute("set application_name = 'first one'")
        first.execute("set client_encoding = 'LATIN1'")
        if pool.mode == "transaction":
            with pool.connect(application_name="second") as second:
                assert value(second, "show TimeZone") != "Asia/Tokyo"
                assert value(second, "show application_name") == "second"
                assert value(second, "select 'grüße'") == "grüße"
        assert value(first, "show TimeZone") == "Asia/Tokyo"
        assert value(first, "show application_name") == "first one"
        assert value(first, "show client_encoding") == "LATIN1"
        assert value(first, "select chr(252)") == "ü"


def test_transactions(pool: Pool) -> None:
    with pool.connect() as connection:
        with connection.transaction():
            connection.execute("insert into pooled values (1, 'a')")
            with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
                connection.execute("insert into pooled values (1, 'b')")
            connection.execute("insert into pooled values (2, 'b')")
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            connection.execute("insert into pooled values (3, 'c'); select 'x'::int")
        connection.execute("begin isolation level repeatable read")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("select * from nowhere")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("select 1")
        connection.execute("rollback")
        assert connection.execute("select * from pooled order by id").fetchall() == [(1, "a"), (2, "b")]


def test_who_vanishes_in_a_transaction_leaves_no_rows(pool: Pool) -> None:
    connection = pool.connect()
    connection.execute("begin")
    connection.execute("insert into pooled values (1, 'a')")
    connection.pgconn.finish()
    with pool.connect() as other:
        assert value(other, "select count(*) from pooled") == 0


def test_cursors_and_pages(pool: Pool) -> None:
    with pool.connect() as connection, connection.transaction(), connection.cursor("named") as cursor:
        cursor.execute("select g from generate_series(1, 1000) g")
        assert [row[0] for row in cursor.fetchmany(3)] == [1, 2, 3]
        assert len(cursor.fetchall()) == 997


def test_copies(pool: Pool) -> None:
    with pool.connect() as connection:
        with connection.cursor().copy("copy pooled from stdin") as copy:
            for number in range(3000):
                copy.write_row((number, f"n{number}"))
        with connection.cursor().copy("copy (select * from pooled order by id) to stdout") as copy:
            assert sum(1 for _row in copy.rows()) == 3000
        with (
            pytest.raises(psycopg.errors.BadCopyFileFormat),
            connection.cursor().copy("copy pooled from stdin") as copy,
        ):
            copy.write("1\n")
        assert value(connection, "select count(*) from pooled") == 3000


async def test_prepared_and_binary(pool: Pool) -> None:
    """Named statements belong to a session; in transaction mode asyncpg is told to name none."""
    connection = await asyncpg.connect(
        host="127.0.0.1", port=pool.port, user="postgres", database="pooled", ssl=False,
        statement_cache_size=100 if pool.mode == "session" else 0,
    )  # fmt: skip
    try:
        for number in range(5):
            row = await connection.fetchrow(
                "select $1::int + 1 as n, $2::text as t, $3::numeric as x", number, "ü", None
            )
            assert tuple(row) == (number + 1, "ü", None)
        async with connection.transaction():
            await connection.executemany("insert into pooled values ($1, $2)", [(n, str(n)) for n in range(50)])
        assert await connection.fetchval("select count(*) from pooled") == 50
        if pool.mode == "session":
            prepared = await connection.prepare("select name from pooled where id = $1")
            assert [await prepared.fetchval(n) for n in (3, 4)] == ["3", "4"]
    finally:
        await connection.close()


def test_cancels(pool: Pool) -> None:
    running = "select count(*) from pg_stat_activity where query = 'select pg_sleep(600)' and state = 'active'"
    with pool.connect() as connection, psycopg.connect(pool.direct, autocommit=True) as other:

        def cancel() -> None:
            wait_until(lambda: value(other, running))
            # Which waits as Python does: a member in this process has to answer.
            connection.cancel_safe()

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(psycopg.errors.QueryCanceled, match="canceling statement due to user request"):
            connection.execute("select pg_sleep(600)")
        thread.join()
        assert value(connection, "select 1") == 1


def test_a_server_that_went_is_not_handed_out(pool: Pool) -> None:
    with pool.connect() as connection:
        backend = value(connection, "select pg_backend_pid()")
    with psycopg.connect(pool.direct, autocommit=True) as other:
        assert value(other, "select pg_terminate_backend(%s)", backend) is True

    def another() -> bool:
        """It may be handed out until it has said that it ends."""
        with pool.connect() as connection:
            try:
                return bool(value(connection, "select pg_backend_pid()") != backend)
            except psycopg.errors.AdminShutdown:
                return False

    wait_until(another)

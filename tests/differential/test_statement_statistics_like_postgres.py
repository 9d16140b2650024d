"""pg_stat_statements beside PostgreSQL 15's extension: normalised texts, calls and rows of the same statements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from support.member_process import MemberProcess
from support.packages import postgres_programs, require
from support.postgres_server import PostgresServer

Connection = psycopg.Connection[tuple[Any, ...]]
pytestmark = pytest.mark.postgres

_STATEMENTS = (
    "create table s_t (a int, b text, c numeric(10, 2))",
    "insert into s_t values (1, 'x', 1.5), (2, 'y', -2.5)",
    "insert into s_t (a) select g from generate_series(1, 5) as g",
    "select 1", "select 2", "select   3 -- said\n", "select -1", "select 5 - 1", "select a -1 from s_t",
    "select a, b from s_t where a = 1 and b = 'x'", "select a, b from s_t where a = 2 and b = 'it''s'",
    "select a, b from s_t where a in (1, 2, 3) order by 1, 2 limit 10 offset 1",
    "select a, count(*) from s_t group by 1 having count(*) > 0 order by 2 desc, a + 1",
    "select a from s_t order by a desc nulls last fetch first 2 rows only",
    "select cast('1.5' as numeric(10, 2)), '7'::varchar(3), 1::numeric(5,1)", "select -1::int4",
    "select date '2020-01-01' + interval '1 day'", "select timestamp(3) '2020-01-01 00:00:00'",
    "select true, false, null", "select a is null, b is not null, (a = 1) is true, (a = 2) is not false from s_t",
    "select a is distinct from null from s_t",
    "select extract(year from date '2020-01-01')", "select E'a\\nb', $$dollars$$, B'101'",
    "select row_number() over (partition by b order by a) from s_t", "select sum(a) over (order by a rows 1 preceding) from s_t",
    "select string_agg(b, ',' order by b) from s_t", "select (select max(a) from s_t where a < 3 limit 1)",
    "select case when a = 1 then 'one' else 'many' end from s_t", "select array[1, 2, 3], (array[4, 5])[1]",
    "select a from s_t where b like 'x%' escape '!' union all select 7 order by 1",
    "with w as (select 1 as x) select x + 1 from w", "values (1, 'a'), (2, 'b')",
    "update s_t set b = 'z', c = c * 2 where a = 1", "update s_t set b = null where a = 2", "delete from s_t where a = 5",
    "explain (costs off) select 1", "set work_mem = '5MB'", "show work_mem", "begin", "commit",
    "prepare p as select $1::int + 1", "execute p(1)", "execute p(2)", "deallocate p",
    "select 1; select 'two'", "drop table s_t",
)  # fmt: skip


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemberProcess]:
    environment = {"SLUICE_SPARK__START": "lazy", "SLUICE_SETTINGS__PG_STAT_STATEMENTS.MAX": "100"}
    with MemberProcess(tmp_path_factory.mktemp("counting"), environment=environment) as running:
        yield running


@pytest.fixture(scope="module")
def extended() -> Iterator[PostgresServer]:
    require(postgres_programs())
    with PostgresServer("pg_stat_statements") as server:
        yield server


def _run(connection: Connection) -> list[tuple[Any, ...]]:
    connection.execute("create extension if not exists pg_stat_statements")
    connection.execute("select pg_stat_statements_reset()")
    for statement in _STATEMENTS:
        connection.execute(statement.encode())
    for value in (1, 2, 3):
        connection.execute("select %s::int8 + 1", (value,))
    with connection.cursor(name="paged") as cursor:
        connection.execute("begin")
        cursor.itersize = 2
        cursor.execute("select generate_series(1, 5)")
        cursor.fetchall()
        connection.execute("rollback")
    told = connection.execute(
        "select query, calls, rows from pg_stat_statements where query not like '%pg_stat_statements%' order by query, calls"
    )
    return told.fetchall()


def test_texts_and_counts(member: MemberProcess, extended: PostgresServer) -> None:
    with member.connect() as ours, psycopg.connect(extended.dsn, autocommit=True) as theirs:
        expected = _run(theirs)
        assert _run(ours) == expected
        assert len(expected) > 40


def test_times_and_engines(member: MemberProcess) -> None:
    with member.connect() as connection:
        connection.execute("select pg_stat_statements_reset()")
        for number in range(3):
            connection.execute(f"select {number} + 1 from generate_series(1, 2)".encode())
        row = connection.execute(
            "select calls, rows, engine, queryid <> 0, min_exec_time <= mean_exec_time, mean_exec_time <= max_exec_time, "
            "abs(total_exec_time - 3 * mean_exec_time) < 0.001, stddev_exec_time >= 0, plans, wal_bytes, toplevel "
            "from pg_stat_statements where query = 'select $1 + $2 from generate_series($3, $4)'"
        ).fetchone()
        assert row == (3, 6, "local", True, True, True, True, True, 0, 0, True)
        connection.execute("set pg_stat_statements.track = none")
        connection.execute("select 'uncounted'::text")
        connection.execute("set pg_stat_statements.track = top")
        connection.execute("set pg_stat_statements.track_utility = off")
        connection.execute("show timezone")
        texts = [text for (text,) in connection.execute("select query from pg_stat_statements")]
        assert "select $1::text" not in texts
        assert "show timezone" not in texts
        assert not any("uncounted" in text for text in texts)


def test_who_sees_what(member: MemberProcess) -> None:
    with member.connect() as boss:
        boss.execute("create role tester superuser login")
        boss.execute("create role reader login password 'hidden'")
        boss.execute("create role watcher login in role pg_read_all_stats")
        boss.execute("select 'bosses'::text, 7")
        with member.connect(user="reader") as reader:
            reader.execute("select 'mine'::text")
            shown = dict(reader.execute("select query, max(queryid) from pg_stat_statements group by 1").fetchall())
            assert shown["<insufficient privilege>"] is None
            assert shown["select $1::text"]
            assert "select $1::text, $2" not in shown
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute("select pg_stat_statements_reset()")
        with member.connect(user="watcher") as watcher:
            texts = [text for (text,) in watcher.execute("select query from pg_stat_statements")]
        assert "select $1::text, $2" in texts
        assert "create role reader login password '***'" in texts
        [(oid, query)] = boss.execute(
            "select userid, queryid from pg_stat_statements s join pg_roles r on r.oid = userid where rolname = 'reader' limit 1"
        ).fetchall()
        boss.execute("select pg_stat_statements_reset(%s, 0, %s)", (oid, query))
        left = boss.execute("select count(*) from pg_stat_statements where userid = %s and queryid = %s", (oid, query))
        assert left.fetchone() == (0,)
        boss.execute("drop role reader")
        boss.execute("drop role watcher")


def test_the_room_is_bounded(member: MemberProcess) -> None:
    with member.connect() as connection:
        connection.execute("select pg_stat_statements_reset()")
        for number in range(150):
            connection.execute(f"select 1 as c{number}".encode())
        [(count, freed)] = connection.execute(
            "select (select count(*) from pg_stat_statements), dealloc from pg_stat_statements_info"
        ).fetchall()
        assert count <= 100
        assert freed >= 1
        assert connection.execute("show pg_stat_statements.max").fetchone() == ("100",)

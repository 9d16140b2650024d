"""Statements that change rows as drivers send them: parameters typed by their columns, RETURNING in pages, batches,
cursors, conflicts between connections, and what is left on disk when a statement does not complete.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import psycopg
import pytest
from psycopg import generators
from psycopg.pq.abc import PGresult
from psycopg.types.json import Jsonb
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def changed(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


@pytest.fixture
def connection(changed: LocalMember) -> Iterator[Connection]:
    with changed.connect() as opened:
        yield opened


def data_files(member: LocalMember) -> set[Path]:
    return set(member.engine.store.tables.rglob("*.parquet"))


def test_parameters_take_their_columns_types(connection: Connection) -> None:
    connection.execute(
        "create table t (a int, b varchar(10), c numeric(10,2), d date, e uuid, f jsonb, g int[], h bool, i bytea, j char(3))"
    )
    row = (1, "x", Decimal("1.50"), dt.date(2020, 1, 2), UUID(int=7), Jsonb({"k": 1}), [1, 2], True, b"\0\1", "y")
    connection.execute("insert into t values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)", row)
    (found,) = connection.execute("select * from t").fetchall()
    assert found == (*row[:5], {"k": 1}, [1, 2], True, b"\0\1", "y  ")
    connection.execute("update t set b = %s, c = c + %s where a = %s", ("z", 1, 1))
    assert connection.execute("delete from t where d = %s returning b, c", (dt.date(2020, 1, 2),)).fetchall() == [
        ("z", Decimal("2.50"))
    ]


def described(connection: Connection, name: bytes, sql: bytes) -> PGresult:
    """Return Describe's answer for a statement. Nothing here waits inside libpq: the server is a thread of this
    process.
    """
    connection.pgconn.send_prepare(name, sql)
    connection.wait(generators.execute(connection.pgconn))
    connection.pgconn.send_describe_prepared(name)
    results: list[PGresult] = connection.wait(generators.execute(connection.pgconn))
    return results[0]


def test_describe_tells_types_of_parameters_and_of_returning(connection: Connection) -> None:
    connection.execute("create table t (a int8, b varchar(10), c numeric(10,2))")
    told = described(connection, b"s", b"insert into t values ($1, $2, $3) returning c, b, a + 1 as next")
    assert [told.param_type(i) for i in range(told.nparams)] == [20, 1043, 1700]
    assert [(told.fname(i), told.ftype(i), told.fmod(i)) for i in range(3)] == [
        (b"c", 1700, (10 << 16 | 2) + 4),
        (b"b", 1043, 14),
        (b"next", 20, -1),
    ]
    assert told.ftable(0) != 0
    assert (told.ftablecol(0), told.ftablecol(1), told.ftablecol(2)) == (3, 2, 0)
    told = described(connection, b"u", b"update t set b = $1 where a = $2")
    assert [told.param_type(i) for i in range(told.nparams)] == [1043, 20]
    assert told.nfields == 0


def test_a_prepared_statement_sees_what_was_committed_since(connection: Connection) -> None:
    connection.execute("create table t (a int primary key, b int default 1)")
    connection.execute("prepare p as insert into t (a) values ($1) returning b")
    assert connection.execute("execute p (1)").fetchall() == [(1,)]
    connection.execute("alter table t alter column b set default 5")
    assert connection.execute("execute p (2)").fetchall() == [(5,)]
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute("execute p (2)")


def test_many_rows_at_once(connection: Connection) -> None:
    connection.execute("create table t (a int, b text)")
    with connection.cursor() as cursor:
        cursor.executemany("insert into t values (%s, %s)", [(i, str(i)) for i in range(50)])
        assert cursor.rowcount == 50
        cursor.executemany("insert into t values (%s, %s) returning a", [(i, None) for i in (90, 91)], returning=True)
        assert cursor.fetchall() == [(90,)]
        assert cursor.nextset()
        assert cursor.fetchall() == [(91,)]
    assert connection.execute("select count(*), sum(a) from t").fetchone() == (52, sum(range(50)) + 181)


def test_returning_of_many_rows(connection: Connection) -> None:
    connection.execute("create table t (a int)")
    with connection.transaction():
        result = connection.execute("insert into t select * from generate_series(1, 10000) returning a")
        assert result.rowcount == 10000
        assert [a for (a,) in result.fetchall()] == list(range(1, 10001))
    assert connection.execute("select count(*) from t").fetchone() == (10000,)


def test_a_large_insert_is_written_in_parts(connection: Connection, changed: LocalMember) -> None:
    connection.execute("create table t (a int8, b text)")
    count = 700_000
    done = connection.execute(f"insert into t select g, 'row ' || g from generate_series(1, {count}) g")
    assert done.statusmessage == f"INSERT 0 {count}"
    assert connection.execute("select count(*), sum(a), max(b) from t").fetchone() == (
        count,
        count * (count + 1) // 2,
        "row 99999",
    )
    assert connection.execute("update t set a = -a where a % 100000 = 0").rowcount == 7
    assert connection.execute("delete from t where a > 10").rowcount == count - 10 - 7
    assert connection.execute("select count(*), sum(a) from t").fetchone() == (17, 55 - 2_800_000)
    assert changed.engine.monitor.statistics()["local"]["streams"] == 0


def test_insert_from_its_own_target_ends(connection: Connection) -> None:
    connection.execute("create table t (a int)")
    connection.execute("insert into t values (1)")
    for doubled in (2, 4, 8):
        connection.execute("insert into t select a + 1 from t")
        assert connection.execute("select count(*) from t").fetchone() == (doubled,)


FAILING = {
    "not null": "insert into t select case when g = 90000 then null else g end from generate_series(1, 100000) g",
    "check": "insert into t select 90000 - g from generate_series(1, 100000) g",
    "division": "insert into t select 1 / (g - 90000) from generate_series(1, 100000) g",
    "key": "insert into t select g % 90000 + 1 from generate_series(1, 100000) g",
    "update": "update t set a = a / (a - 2) where a > 1",
    "returning": "delete from t returning 1 / (a - 2)",
    "twice": "insert into t values (7), (7) on conflict (a) do update set a = 8",
}


@pytest.mark.parametrize("failing", FAILING)
def test_nothing_is_left_of_a_statement_that_fails(connection: Connection, changed: LocalMember, failing: str) -> None:
    connection.execute("create table t (a int primary key check (a > 0))")
    connection.execute("insert into t values (1), (2), (3)")
    before = data_files(changed)
    with pytest.raises(psycopg.Error):
        connection.execute(FAILING[failing].encode())
    assert data_files(changed) == before
    assert connection.execute("select array_agg(a order by a) from t").fetchone() == ([1, 2, 3],)


def test_nothing_is_left_of_a_statement_that_is_cancelled(connection: Connection, changed: LocalMember) -> None:
    connection.execute("create table t (a int8)")
    canceller = threading.Thread(target=cancel_once_it_writes, args=(changed, connection.info.backend_pid))
    canceller.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(
            "insert into t select a.g * b.g from generate_series(1, 100000) a(g), generate_series(1, 100000) b(g)"
        )
    canceller.join()
    assert data_files(changed) == set()
    assert connection.execute("insert into t values (1) returning a").fetchall() == [(1,)]
    assert changed.engine.monitor.statistics()["local"]["streams"] == 0


def cancel_once_it_writes(member: LocalMember, pid: int) -> None:
    wait_until(lambda: data_files(member))
    with member.connect() as other:
        other.execute("select pg_cancel_backend(%s)", (pid,))


def test_nothing_is_left_of_what_is_rolled_back(connection: Connection, changed: LocalMember) -> None:
    connection.execute("create table t (a int)")
    connection.execute("insert into t values (1)")
    before = data_files(changed)
    connection.execute("begin")
    connection.execute("insert into t values (2)")
    connection.execute("savepoint s")
    connection.execute("update t set a = 9")
    connection.execute("rollback to s")
    assert connection.execute("select array_agg(a order by a) from t").fetchone() == ([1, 2],)
    connection.execute("rollback")
    assert data_files(changed) == before


def test_others_see_a_change_when_it_is_committed(connection: Connection, changed: LocalMember) -> None:
    connection.execute("create table t (a int)")
    with changed.connect() as other:
        connection.execute("begin")
        connection.execute("insert into t values (1)")
        assert other.execute("select count(*) from t").fetchone() == (0,)
        assert connection.execute("select count(*) from t").fetchone() == (1,)
        connection.execute("commit")
        assert other.execute("select count(*) from t").fetchone() == (1,)


def test_appends_of_two_connections_do_not_conflict(connection: Connection, changed: LocalMember) -> None:
    connection.execute("create table t (a int)")
    with changed.connect() as other:
        for session in (connection, other):
            session.execute("begin")
        connection.execute("insert into t values (1)")
        other.execute("insert into t values (2)")
        for session in (connection, other):
            session.execute("commit")
    assert connection.execute("select array_agg(a order by a) from t").fetchone() == ([1, 2],)


@pytest.mark.parametrize(
    "sql", ["update t set b = b + 1 where a = 1", "delete from t where a = 1", "insert into t values (5)", "truncate t"]
)
def test_the_second_of_two_changes_is_a_serialization_failure_and_its_retry_succeeds(
    connection: Connection, changed: LocalMember, sql: str
) -> None:
    connection.execute("create table t (a int primary key, b int)")
    connection.execute("insert into t values (1, 1)")
    with changed.connect() as other:
        other.execute("begin")
        other.execute(sql.encode())
        connection.execute("update t set b = 100 where a = 1")
        with pytest.raises(psycopg.errors.SerializationFailure):
            other.execute("commit")
        assert other.execute(sql.encode()).statusmessage is not None


def test_a_lost_client_leaves_nothing(changed: LocalMember) -> None:
    with changed.connect() as first:
        first.execute("create table t (a int)")
        first.execute("begin")
        first.execute("insert into t values (1)")
        assert first.execute("select a from t").fetchall() == [(1,)]
        assert len(data_files(changed)) == 1
        first.pgconn.finish()
    with changed.connect() as second:
        second.execute("insert into t values (2)")
        assert second.execute("select a from t").fetchall() == [(2,)]


def test_read_only_transactions_refuse(connection: Connection) -> None:
    connection.execute("create table t (a int)")
    connection.execute("set default_transaction_read_only = on")
    for sql in ("insert into t values (1)", "update t set a = 1", "delete from t", "truncate t"):
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="cannot execute"):
            connection.execute(sql.encode())


def test_values_of_sequences(connection: Connection) -> None:
    connection.execute("create table t (id serial primary key, n int generated always as identity, v text)")
    assert connection.execute("insert into t (v) values ('a'), ('b') returning id, n").fetchall() == [(1, 1), (2, 2)]
    found = connection.execute(
        "insert into t (v) select 'x' from generate_series(1, 5000) returning n, v, id"
    ).fetchall()
    assert sorted(found) == [(i, "x", i) for i in range(3, 5003)]
    assert connection.execute("select currval('t_id_seq')").fetchone() == (5002,)
    with pytest.raises(psycopg.errors.GeneratedAlways):
        connection.execute("insert into t (n) values (1)")


def test_what_is_volatile_is_computed_once(connection: Connection) -> None:
    connection.execute("create table t (a int, v float8 default random(), check (v < 2))")
    told = connection.execute("insert into t (a) select g from generate_series(1, 2000) g returning a, v, v").fetchall()
    assert sorted(told) == sorted(connection.execute("select a, v, v from t").fetchall())
    assert len({v for _, v, _ in told}) > 1990
    told = connection.execute("update t set v = random() where random() < 0.5 returning a, v, v").fetchall()
    assert 0 < len(told) < 2000
    stored: dict[Any, Any] = dict(connection.execute("select a, v from t").fetchall())
    assert all(stored[a] == v == again for a, v, again in told)
    gone = connection.execute("delete from t where random() < 0.5 returning a").fetchall()
    left = connection.execute("select a from t").fetchall()
    assert sorted(gone + left) == [(a,) for a in range(1, 2001)]
    told = connection.execute("insert into t values (1, default), (2, default) returning v").fetchall()
    assert told[0] != told[1]


def test_rows_that_conflict_among_themselves_by_several_keys_are_refused(connection: Connection) -> None:
    connection.execute("create table t (a int primary key, b int unique)")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="several keys"):
        connection.execute("insert into t values (1, 1), (2, 1), (2, 3) on conflict do nothing")
    assert connection.execute("insert into t values (1, 1), (2, 1), (3, 3) on conflict do nothing").rowcount == 2


async def test_a_portal_that_is_left_after_its_first_row_has_run_to_its_end(changed: LocalMember) -> None:
    connection = await asyncpg.connect(host="127.0.0.1", port=changed.port, user="tester", database="sluice", ssl=False)
    await connection.execute("create table t (a int)")
    first = await connection.fetchrow("insert into t select * from generate_series(1, $1::int) returning a", 1000)
    assert tuple(first) == (1,)
    assert await connection.fetchval("select count(*) from t") == 1000
    await connection.executemany("insert into t values ($1)", [(i,) for i in range(5)])
    async with connection.transaction():
        await connection.execute("update t set a = $1 where a < $2", 7, 5)
        assert await connection.fetchval("select count(*) from t where a = 7") == 10
    await connection.close()

"""Rows inserted one at a time, in pipelines (psycopg's `executemany`) and in single statements, on a member and on
PostgreSQL.

The two ways differ in how many messages have arrived when the first is answered; clients must not notice a difference.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from support.local_member import LocalMember, local_member
from support.postgres_server import Database

Connection = psycopg.Connection[tuple[Any, ...]]
ROWS = 1500


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("rows")) as member:
        yield member


@pytest.fixture(params=["sluice", pytest.param("postgresql", marks=pytest.mark.postgres)])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    if request.param == "sluice":
        made = request.getfixturevalue("running").connect(autocommit=False)
    else:
        database: Database = request.getfixturevalue("postgres_database")
        made = database.connect()
        made.autocommit = False
    with made:
        made.execute("drop table if exists pets, owners, plain")
        made.execute("create table plain (id bigint not null, name varchar(12), price numeric(8,2), born date)")
        made.execute("create table owners (id int primary key, name text unique not null)")
        made.execute(
            "create table pets (id serial primary key, owner int references owners, weight int check (weight > 0))"
        )
        made.commit()
        yield made
        made.rollback()


def plain_rows(count: int) -> list[tuple[Any, ...]]:
    born = datetime.date(2020, 2, 29)
    return [(n, f"name {n}", Decimal(n) / 4, born if n % 3 else None) for n in range(count)]


def many(connection: Connection, sql: str, rows: list[tuple[Any, ...]]) -> int:
    with connection.cursor() as cursor:
        cursor.executemany(sql.encode(), rows)
        return cursor.rowcount


def test_many_rows_of_a_table_without_keys(connection: Connection) -> None:
    rows = plain_rows(ROWS)
    assert many(connection, "insert into plain values (%s, %s, %s, %s)", rows) == ROWS
    assert connection.execute("select * from plain order by id").fetchall() == rows
    assert many(connection, "insert into plain (name, id) values (%s, %s)", [("x", ROWS + n) for n in range(20)]) == 20
    connection.commit()
    assert connection.execute("select count(*), sum(id) from plain").fetchall() == [(ROWS + 20, sum(range(ROWS + 20)))]


def test_keys_sequences_checks_and_references(connection: Connection) -> None:
    many(connection, "insert into owners values (%s, %s)", [(n, f"owner {n}") for n in range(300)])
    many(connection, "insert into pets (owner, weight) values (%s, %s)", [(n, n + 1) for n in range(20)])
    connection.commit()
    assert connection.execute("select count(*), min(id), max(id) from owners").fetchall() == [(300, 0, 299)]
    found = connection.execute("select id, owner, weight from pets order by id").fetchall()
    assert found == [(n + 1, n, n + 1) for n in range(20)]


@pytest.mark.table
@pytest.mark.parametrize("at", [0, 1, 7, 99])
def test_the_row_that_fails_is_named_and_nothing_is_left(connection: Connection, at: int) -> None:
    connection.execute("insert into owners values (1000, 'first')")
    connection.commit()
    good = [(n, f"owner {n}") for n in range(100)]
    for bad in [(1000, "again"), (at, None), (2000, "first"), (2**31, "too large")]:
        with pytest.raises(psycopg.Error) as failure:
            many(connection, "insert into owners values (%s, %s)", [*good[:at], bad, *good[at + 1 :]])
        shown = failure.value.diag
        expected = {
            (1000, "again"): ("23505", "owners_pkey", "Key (id)=(1000) already exists."),
            (at, None): ("23502", None, f"Failing row contains ({at}, null)."),
            (2000, "first"): ("23505", "owners_name_key", "Key (name)=(first) already exists."),
            (2**31, "too large"): ("22003", None, None),
        }[bad]
        assert (shown.sqlstate, shown.constraint_name, shown.message_detail) == expected
        connection.rollback()
    assert connection.execute("select * from owners").fetchall() == [(1000, "first")]


def test_the_first_of_two_bad_rows_is_named(connection: Connection) -> None:
    rows = [(1, "a"), (2, "b"), (3, None), (1, "c")]
    with pytest.raises(psycopg.errors.NotNullViolation):
        many(connection, "insert into owners values (%s, %s)", rows)
    connection.rollback()
    rows = [(1, "a"), (2, "b"), (1, "c"), (3, None)]
    with pytest.raises(psycopg.errors.UniqueViolation) as failure:
        many(connection, "insert into owners values (%s, %s)", rows)
    assert failure.value.diag.message_detail == "Key (id)=(1) already exists."
    connection.rollback()
    assert connection.execute("select count(*) from owners").fetchall() == [(0,)]


def test_answers_before_an_error_are_given(connection: Connection) -> None:
    """Each statement of a pipeline has its own result: those before the error are told, those after it are not run."""
    cursors = [connection.cursor() for _ in range(4)]

    def pipelined() -> None:
        with connection.pipeline():
            for cursor, key in zip(cursors, (1, 2, 1, 3), strict=True):
                cursor.execute("insert into owners values (%s, %s)", (key, f"n{key}"), prepare=True)

    with pytest.raises(psycopg.errors.UniqueViolation):
        pipelined()
    assert [cursor.statusmessage for cursor in cursors] == ["INSERT 0 1", "INSERT 0 1", None, None]
    connection.rollback()


def test_a_wrong_parameter_comes_after_the_rows_before_it(connection: Connection) -> None:
    """The value cannot be read: an error of Bind, which is told after those of the executions before it."""
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        many(connection, "insert into owners values (%s, %s)", [("1", "a"), ("2", "b"), ("three", "c"), ("4", "d")])
    connection.rollback()
    with pytest.raises(psycopg.errors.UniqueViolation):
        many(connection, "insert into owners values (%s, %s)", [("1", "a"), ("1", "b"), ("three", "c"), ("4", "d")])
    connection.rollback()
    assert connection.execute("select count(*) from owners").fetchall() == [(0,)]


def test_savepoints_around_many(connection: Connection) -> None:
    sql = "insert into plain values (%s, %s, %s, %s)"
    rows = plain_rows(90)
    many(connection, sql, rows[:30])
    with connection.transaction(force_rollback=True):
        many(connection, sql, rows[30:60])
    with pytest.raises(psycopg.errors.StringDataRightTruncation), connection.transaction():
        many(connection, sql, [*rows[30:60], (1, "much too long", None, None)])
    with connection.transaction():
        many(connection, sql, rows[60:])
    assert connection.execute("select * from plain order by id").fetchall() == rows[:30] + rows[60:]
    connection.commit()
    assert connection.execute("select count(*) from plain").fetchall() == [(60,)]


def test_other_statements_of_a_pipeline_see_the_rows(connection: Connection) -> None:
    with connection.pipeline():
        counts = []
        for row in plain_rows(12):
            connection.execute("insert into plain values (%s, %s, %s, %s)", row, prepare=True)
            if row[0] % 4 == 3:
                counts.append(connection.execute("select count(*) from plain"))
        assert [cursor.fetchone() for cursor in counts] == [(4,), (8,), (12,)]


def test_values_that_casts_change(connection: Connection) -> None:
    """Rounding and blanks are the column's, whichever rows stand beside the value."""
    rows = [
        (1, "a", Decimal("1.005"), None),
        (2, "blanks           ", Decimal("2.5"), None),
        (3, "c", Decimal("-0.005"), None),
    ]
    many(connection, "insert into plain values (%s, %s, %s, %s)", rows)
    assert connection.execute("select id, name, price from plain order by id").fetchall() == [
        (1, "a", Decimal("1.01")), (2, "blanks      ", Decimal("2.50")), (3, "c", Decimal("-0.01")),
    ]  # fmt: skip


TYPED: dict[str, list[Any]] = {
    "bool": [True, False, None], "smallint": [-(2**15), 2**15 - 1, None], "int": [-(2**31), 2**31 - 1, None],
    "bigint": [-(2**63), 2**63 - 1, None], "float8": [1.5, float("inf"), float("-inf"), float("nan"), -0.0, 1e-310, None],
    "numeric": [Decimal("12345678901234.5678"), Decimal("-0.10"), 7, None],
    "numeric(6,3)": [Decimal("1.5"), 12, Decimal("-999.999")],
    "text": ["", "with 'quotes' and \u00e9\U0001f600", None], "varchar": ["x"], "varchar(3)": ["abc", "\u00e9\u00e9\u00e9", ""],
    "char(4)": ["ab", "", "abcd", None], "bytea": [b"", b"\x00\xff", None], "json": ['{"b": 1, "a":  2}', "[]", None],
    "jsonb": ['{"b": 1, "a":  2, "a": 3}', "null", None], "uuid": ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", None],
    "date": ["2020-02-29", "infinity", "-infinity", "0044-03-15 BC", None],
    "timestamp": ["2020-02-29 12:34:56.789012", "infinity", "-infinity", None],
    "timestamptz": ["2020-02-29 12:34:56.789012+05:30", "infinity", "-infinity", None],
}  # fmt: skip


def test_values_of_every_type(connection: Connection) -> None:
    """The same values inserted by a query, which no shortcut is taken for, are the same rows."""
    columns = ", ".join(f'"{name}" {name}' for name in TYPED)
    connection.execute(f"drop table if exists one, other; create table one (n int, {columns})".encode())
    connection.execute("create table other (like one)")
    for number, (name, values) in enumerate(TYPED.items()):
        rows = [(100 * number + at, value) for at, value in enumerate(values)]
        many(connection, f'insert into one (n, "{name}") values (%s, %s)', [*rows, *rows])
        for row in rows:
            connection.execute(f'insert into other (n, "{name}") select %s, %s'.encode(), row)
    texts = ", ".join(f'"{name}"::text' for name in TYPED)
    one = connection.execute(f"select n, {texts} from one order by n".encode()).fetchall()
    other = connection.execute(f"select n, {texts} from other order by n".encode()).fetchall()
    assert one == [row for row in other for _ in range(2)]


def test_in_autocommit_a_pipeline_is_one_transaction(connection: Connection) -> None:
    connection.autocommit = True
    many(connection, "insert into owners values (%s, %s)", [(n, f"owner {n}") for n in range(50)])
    with pytest.raises(psycopg.errors.UniqueViolation):
        many(
            connection,
            "insert into owners values (%s, %s)",
            [(50 + n, f"owner {50 + n}") for n in range(9)] + [(3, "x")],
        )
    assert connection.execute("select count(*) from owners").fetchall() == [(50,)]
    connection.autocommit = False


def test_two_sessions(running: LocalMember) -> None:
    with running.connect() as setup:
        setup.execute("drop table if exists shared")
        setup.execute("create table shared (id int)")
    with running.connect(autocommit=False) as first, running.connect(autocommit=False) as second:
        many(first, "insert into shared values (%s)", [(n,) for n in range(40)])
        many(second, "insert into shared values (%s)", [(n,) for n in range(40, 60)])
        assert second.execute("select count(*) from shared").fetchall() == [(20,)]
        first.commit()
        assert second.execute("select count(*) from shared").fetchall() == [(60,)]
        with first.cursor().copy("copy shared from stdin") as copy:
            copy.write(b"100\n101\n")
        many(first, "insert into shared values (%s)", [(102,), (103,)])
        first.rollback()
        second.commit()
        assert first.execute("select count(*) from shared").fetchall() == [(60,)]


def test_rows_kept_for_a_table_that_another_drops(running: LocalMember) -> None:
    with running.connect() as other, running.connect(autocommit=False) as first:
        other.execute("create table gone (id int)")
        first.execute("insert into gone values (1)")
        other.execute("drop table gone")
        with pytest.raises(psycopg.errors.SerializationFailure):
            first.commit()


def test_no_file_is_written_before_it_is_needed(running: LocalMember) -> None:
    def files() -> set[Path]:
        return {path for path in running.engine.store.tables.rglob("*.parquet") if "_delta_log" not in path.parts}

    with running.connect() as connection:
        connection.execute("drop table if exists kept")
        connection.execute("create table kept (id int, name text)")
        before = files()
        connection.execute("begin")
        for number in range(20):
            connection.execute("insert into kept values (%s, %s)", (number, "x"))
        assert files() == before
        connection.execute("commit")
        assert len(files() - before) == 1


def test_asyncpg_executemany(running: LocalMember) -> None:
    async def work() -> list[Any]:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=running.port, user="tester", database="sluice", ssl=False
        )
        try:
            await connection.execute("drop table if exists beside")
            await connection.execute("create table beside (id int primary key, name text)")
            await connection.executemany("insert into beside values ($1, $2)", [(n, f"n{n}") for n in range(200)])
            with pytest.raises(asyncpg.UniqueViolationError):
                await connection.executemany("insert into beside values ($1, $2)", [(n, "x") for n in (500, 501, 7)])
            return [tuple(row) for row in await connection.fetch("select count(*), sum(id) from beside")]
        finally:
            await connection.close()

    assert asyncio.run(work()) == [(200, sum(range(200)))]

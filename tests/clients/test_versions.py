"""Earlier versions of a stored table: FOR VERSION AS OF, FOR TIMESTAMP AS OF."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from support.local_member import LocalMember, local_member

from engine.storage import delta

Connection = psycopg.Connection[Any]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as member:
        yield member


@pytest.fixture
def connection(running: LocalMember) -> Iterator[Connection]:
    """Version 1: (1, 10). Version 2: (2, 20) too. Version 3: all one more."""
    with running.connect() as connection:
        for step in (
            "create table t (id int not null, v int)",
            "insert into t values (1, 10)",
            "insert into t values (2, 20)",
            "update t set v = v + 1",
        ):
            connection.execute(step)
            running.engine.store.publish()
        yield connection


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql.encode()).fetchall()


@pytest.mark.parametrize(
    ("number", "there"), [(0, []), (1, [(1, 10)]), (2, [(1, 10), (2, 20)]), (3, [(1, 11), (2, 21)])]
)
def test_each_version(connection: Connection, number: int, there: list[tuple[int, int]]) -> None:
    assert rows(connection, f"select * from t for version as of {number} order by id") == there


def test_versions_beside_each_other(connection: Connection) -> None:
    changed = "select n.id, o.v, n.v from t n left join t for version as of 1 as o on o.id = n.id order by 1"
    assert rows(connection, changed) == [(1, 10, 11), (2, None, 21)]
    connection.execute("create view first as select * from t for version as of 1")
    assert rows(connection, "select * from first") == [(1, 10)]
    connection.execute("insert into t select id + 100, v from t for version as of 2")
    assert rows(connection, "select id, v from t where id > 100 order by id") == [(101, 10), (102, 20)]


def test_the_definition_is_todays(connection: Connection) -> None:
    connection.execute("alter table t rename v to w")
    connection.execute("alter table t drop column id")
    assert [d.name for d in connection.execute("select * from t for version as of 1").description or ()] == ["w"]
    assert rows(connection, "select w from t for version as of 1") == [(10,)]


def test_what_is_not_null_today_may_have_been(running: LocalMember) -> None:
    with running.connect() as connection:
        connection.execute("create table n (id int)")
        connection.execute("insert into n values (null)")
        running.engine.store.publish()
        connection.execute("delete from n")
        connection.execute("alter table n alter id set not null")
        running.engine.store.publish()
        assert rows(connection, "select count(*), count(id) from n for version as of 1 where id is null") == [(1, 0)]


def test_a_moment(running: LocalMember, connection: Connection) -> None:
    (table,) = running.engine.store.snapshot.tables()
    connection.execute("set time zone 'Asia/Tokyo'")
    for number, milliseconds in delta.commit_times(table.path).items():
        (moment,) = rows(connection, f"select to_timestamp({milliseconds}::float8 / 1000)::text")[0]
        then = f"t for timestamp as of '{moment}' order by 1"
        assert rows(connection, f"select * from {then}") == rows(
            connection, f"select * from t for version as of {number} order by 1"
        )
    assert rows(connection, "select count(*) from t for timestamp as of 'infinity'") == [(2,)]
    with pytest.raises(errors.InvalidParameterValue, match="no version of that time"):
        connection.execute("select * from t for timestamp as of '2020-01-01'")


def test_what_is_not_there_is_told(running: LocalMember, connection: Connection) -> None:
    with pytest.raises(errors.InvalidParameterValue, match='table "t" has no version 4') as caught:
        connection.execute("select * from t for version as of 4")
    assert caught.value.diag.message_detail == "Its newest version is 3."
    (table,) = running.engine.store.snapshot.tables()
    (lost,) = delta.open_version(table.path, 1).paths
    (Path(table.path) / lost).unlink()
    for number in (1, 2):
        with pytest.raises(errors.InvalidParameterValue, match=f"version {number} .* is not there any more"):
            connection.execute(f"select * from t for version as of {number}".encode())
    assert rows(connection, "select count(*) from t for version as of 3") == [(2,)]


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("select * from pg_class for version as of 1", "42809"),
        ("with w as (select 1) select * from w for version as of 1", "42809"),
        ("select * from t for version as of 'x'", "22P02"),
        ("select * from t for timestamp as of now()", "0A000"),
        ("select * from t for version of 1", "42601"),
        ("select * from t for version as of 1 x for update of x", "0A000"),
        ("update t for version as of 1 set v = 1", "42601"),
    ],
)
def test_what_is_refused(connection: Connection, sql: str, state: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(sql.encode())
    assert caught.value.sqlstate == state

"""VACUUM FULL on a real member: it makes few files of many, the rows stay the same, and other sessions work meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.answers import value
from support.local_member import LocalMember, local_member, say
from support.member_process import wait_until

from engine.catalog.model.objects import DataFile
from engine.statements.maintenance.compaction import batch_of, small_files

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


@pytest.fixture
def connection(kept: LocalMember) -> Iterator[Connection]:
    with kept.connect() as opened:
        yield opened


def files(connection: Connection, table: str = "t") -> int:
    return int(value(connection, "select files from sluice.tables where name = %s", table))


def test_small_files_become_one_with_the_same_rows(connection: Connection) -> None:
    connection.execute(
        "create table t (a int, b numeric, c timestamptz, d interval, e text[], f float8, gone int, i char(4), j jsonb)"
    )
    for number in range(5):
        connection.execute(
            f"insert into t values ({number}, {number}.10, '2020-01-0{number + 1} 12:00+02', '1 mon {number} days', "
            f"'{{x,null,\"\"}}', 'nan', 1, 'ab', '{{\"k\": [{number}]}}'), "
            "(null, null, 'infinity', null, null, '-0', 1, null, null)"
        )
    connection.execute("alter table t drop column gone")
    connection.execute("alter table t add column added int")
    for number in range(3):
        connection.execute("insert into t (a, added) values (9, %s)", [number])
    connection.execute("alter table t rename column a to renamed")
    rows = "select renamed, b, c::text, d, e, f::text, i, j, added from t order by 1, 9, 3"
    before = connection.execute(rows).fetchall()
    count = files(connection)
    said = say(connection, "vacuum full verbose t")
    assert said.tag == "VACUUM"
    assert said.notices[0][1] == f'"sluice.public.t": {count} small files became 1'
    assert count > 3
    assert files(connection) == 1
    assert connection.execute(rows).fetchall() == before
    assert say(connection, "vacuum (full, verbose) t").notices[0][1].endswith("0 small files became 0")


def test_partitions_and_order_stay(connection: Connection) -> None:
    connection.execute("create table t (a int, p text) partition by list (p) with (sort_by = 'a')")
    for number in range(4):
        connection.execute("insert into t values (%s, 'x'), (%s, 'y')", (9 - number, number))
    connection.execute("insert into t values (1, null)")
    before = connection.execute("select * from t order by a, p").fetchall()
    connection.execute("vacuum full t")
    assert files(connection) == 3
    assert connection.execute("select * from t order by a, p").fetchall() == before


def test_a_reader_that_began_before_goes_on(kept: LocalMember, connection: Connection) -> None:
    connection.execute("create table t (a int)")
    for number in range(4):
        connection.execute("insert into t select generate_series(1, 20000) + %s", [number])
    connection.execute("begin")
    connection.execute("declare c cursor for select a from t")
    first = len(connection.execute("fetch 10 from c").fetchall())
    with kept.connect() as other:
        other.execute("vacuum full t")
        assert files(other) == 1
    assert first + len(connection.execute("fetch all from c").fetchall()) == 80_000
    connection.execute("commit")


def test_rows_that_come_meanwhile_are_kept(kept: LocalMember, connection: Connection) -> None:
    connection.execute("create table t (a int)")
    for number in range(4):
        connection.execute("insert into t values (%s)", [number])
    with kept.connect() as other:
        other.execute("begin")
        other.execute("insert into t values (100)")
        connection.execute("vacuum full t")
        other.execute("commit")
    assert connection.execute("select count(*), max(a) from t").fetchone() == (5, 100)
    assert files(connection) == 2


def test_who_takes_a_compacted_file_away_later_conflicts(kept: LocalMember, connection: Connection) -> None:
    connection.execute("create table t (a int)")
    for number in range(4):
        connection.execute("insert into t values (%s)", [number])
    with kept.connect() as other:
        other.execute("begin")
        other.execute("delete from t where a = 2")
        connection.execute("vacuum full t")
        with pytest.raises(psycopg.errors.SerializationFailure):
            other.execute("commit")
    assert connection.execute("select count(*) from t").fetchone() == (4,)


def test_many_small_files_are_compacted_in_the_background(kept: LocalMember, connection: Connection) -> None:
    connection.execute("create table t (a int primary key)")
    for number in range(150):
        connection.execute("insert into t values (%s)", [number])
    counted = kept.engine.monitor.statistics
    wait_until(lambda: counted()["tables"]["compacted"] >= 2 and files(connection) < 64)
    assert connection.execute("select count(*), sum(a) from t").fetchone() == (150, 11175)


def test_an_open_transaction_does_not_lose_by_it(kept: LocalMember, connection: Connection) -> None:
    connection.execute("create table t (a int)")
    connection.execute("insert into t values (-1)")
    with kept.connect() as other:
        other.execute("begin")
        other.execute("delete from t where a = -1")
        for number in range(70):
            connection.execute("insert into t values (%s)", [number])
        other.execute("commit")
    assert connection.execute("select count(*), min(a) from t").fetchone() == (70, 0)
    for number in range(70, 140):
        connection.execute("insert into t values (%s)", [number])
    wait_until(lambda: files(connection) < 64)
    assert connection.execute("select count(*), min(a) from t").fetchone() == (140, 0)


def test_vacuum_full_in_a_pipeline_leaves_what_is_not_committed(connection: Connection) -> None:
    connection.execute("create table t (a int)")
    connection.execute("insert into t values (1)")
    connection.execute("insert into t values (2)")
    with connection.pipeline():
        connection.execute("insert into t values (3)")
        connection.execute("vacuum full t")
    assert connection.execute("select count(*), sum(a) from t").fetchone() == (3, 6)


def test_which_files_are_small() -> None:
    def file(path: str, size: int, partition: tuple[str | None, ...] = ()) -> DataFile:
        return DataFile(path, size, 1, partition)

    assert small_files([file("a", 1), file("b", 9)], 9) == []
    assert [f.path for f in small_files([file("b", 1), file("a", 1), file("c", 9)], 9)] == ["a", "b"]
    parted = [file("a", 1, ("x",)), file("b", 1, ("y",)), file("c", 1, ("x",))]
    assert [f.path for f in small_files(parted, 9)] == ["a", "c"]


def test_a_table_that_is_always_deleted_from_is_compacted(tmp_path: Path) -> None:
    """Each DELETE takes one of the small files away that are being written anew, over and over, and goes on meanwhile."""
    rows = 40
    with local_member(tmp_path, compact_after=16) as kept, kept.connect() as connection:
        connection.execute("create table t (a int, b int)")
        over, deleted = threading.Event(), 0

        def delete() -> None:
            nonlocal deleted
            with kept.connect() as other:
                while not over.is_set():
                    # Another row each time: its file is written anew without it, small as it was.
                    other.execute("delete from t where a = %s and b = 0", (deleted % rows,))
                    other.execute("insert into t values (%s, 0)", (deleted % rows,))
                    deleted += 1

        deleting = threading.Thread(target=delete)
        deleting.start()
        try:
            for number in range(rows):
                connection.execute("insert into t values (%s, 0), (%s, 1)", (number, number))
            wait_until(lambda: kept.engine.monitor.statistics()["tables"]["compacted"] >= 2, seconds=120)
            before = deleted
            wait_until(lambda: deleted > before + 3)
        finally:
            over.set()
            deleting.join()
        assert value(connection, "select count(*) from t where b = 1") == rows
        assert value(connection, "select count(distinct a) from t where b = 0") == rows


def test_a_batch_has_files_that_can_be_put_together() -> None:
    def file(partition: str, number: int, size: int = 10) -> DataFile:
        return DataFile(f"{partition}{number}", size, 1, partition=(partition,))

    many, few = [file("m", number) for number in range(9)], [file("f", number) for number in range(3)]
    assert batch_of([*few, *many], 100, 1000) == [*many, *few]
    assert batch_of([*few, *many], 5, 1000) == many[:5]
    assert batch_of([*few, *many], 100, 45) == many[:4]
    assert batch_of([*few, *many], 10, 1000) == many, "no file is written anew that stays alone"
    large = [file("l", number, 500) for number in range(3)]
    assert batch_of(large, 100, 400) == large[:2]
    assert batch_of([], 100, 400) == []

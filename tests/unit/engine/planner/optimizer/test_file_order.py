"""Tables with a sort order: ORDER BY sorts nothing where files already have that order, and gives the same rows in any
case.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest
from support.local_member import LocalMember, local_member

from engine.lakes.foreign_files import refresh

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("order")) as running:
        yield running


@pytest.fixture(scope="module")
def connection(member: LocalMember) -> Iterator[Connection]:
    """one: a file with nulls. apart, mixed: three files whose ranges do not overlap, and do."""
    with member.connect() as connection:
        columns = "(a int, b text, c float8, d char(3))"
        for name in ("one", "apart", "mixed"):
            connection.execute(f"create table {name} {columns} with (sort_by = 'a, b')".encode())
        connection.execute("create table by_float (c float8, a int) with (sort_by = 'c')")
        row = "'w' || (i * 31 % 17), i / 7.0, 'x'"
        one = "case when i % 9 = 0 then null else i * 7919 % 100003 end"
        connection.execute(f"insert into one select {one}, {row} from generate_series(1, 200000) i".encode())
        for first in (2, 0, 1):
            for name, apart in (("apart", 1000), ("mixed", 900)):
                chosen = f"select {first * apart} + i * 7 % 1000, {row} from generate_series(1, 999) i"
                connection.execute(f"insert into {name} {chosen}".encode())
        nan = "case when i = 5 then float8 'NaN' else -i end"
        connection.execute(f"insert into by_float select {nan}, i from generate_series(1, 9) i".encode())
        yield connection


def _plan(connection: Connection, query: str) -> str:
    return "\n".join(line for (line,) in connection.execute(f"explain (costs off) {query}".encode()))


@pytest.mark.parametrize(
    ("query", "sorts"),
    [
        ("select a, b from one order by a, b", False),
        ("select a, upper(b) from one order by a", False),
        ("select a from one where c > 100 order by a limit 10", False),
        ("select b from one order by a, b offset 199990", False),
        ("select * from apart order by a, b", False),
        ("select a from apart order by a limit 5 offset 1500", False),
        ("select a, b from one order by a desc", True),
        ("select a, b from one order by a nulls first", True),
        ("select a, b from one order by b", True),
        ("select a, b, c from one order by a, c", True),
        ("select a from mixed order by a", True),
        ("select a from apart order by a fetch first 3 rows with ties", True),
        ("select a + 1 as a from apart order by 1", True),
        ("select c from by_float order by c", True),
        ("select count(*), a from apart group by a order by a", True),
        ("select apart.a from apart join apart y on apart.a = y.a order by apart.a", True),
    ],
)
def test_order(connection: Connection, query: str, sorts: bool) -> None:
    plan = _plan(connection, query)
    assert ("SORT" in plan) == sorts, plan
    assert ("Ordering guarantee" in plan) == (not sorts)
    rows = connection.execute(query.encode()).fetchall()
    whole = query.replace("from apart", "from (select * from apart offset 0) apart", 1).replace(
        "from one", "from (select * from one offset 0) one", 1
    )
    # Of rows with equal keys any may come first.
    assert [repr(row[0]) for row in connection.execute(whole.encode())] == [repr(row[0]) for row in rows]


def test_all_rows_of_a_large_file_come_in_order(connection: Connection) -> None:
    rows = connection.execute("select a, b from one order by a, b").fetchall()
    assert rows == sorted(rows, key=lambda row: (row[0] is None, row[0], row[1]))
    assert len(rows) == 200_000


def test_files_of_writers_that_do_not_sort_are_sorted(connection: Connection, member: LocalMember) -> None:
    """Whatever the table says: only a footer that says so counts."""
    connection.execute("create table outside (a int) with (sort_by = 'a')")
    connection.execute("insert into outside values (1), (2), (3)")
    [table] = [table for table in member.engine.store.snapshot.tables() if table.name == "outside"]
    [file] = refresh(table).files
    unsorted = pq.read_table(file, partitioning=None).sort_by([("a", "descending")])
    pq.write_table(unsorted, f"{file}.new")
    shutil.move(f"{file}.new", file)
    assert "SORT" in _plan(connection, "select a from outside order by a")
    assert connection.execute("select a from outside order by a").fetchall() == [(1,), (2,), (3,)]


def test_a_partitions_filter_leaves_the_others_out(connection: Connection) -> None:
    connection.execute("create table parted (a int, k text) partition by list (k)")
    connection.execute("insert into parted select i, 'k' || i % 4 from generate_series(1, 40) i")
    assert "Files: 1 of 4" in _plan(connection, "select a from parted where k = 'k3'")
    assert connection.execute("select count(*), min(a) from parted where k = 'k3'").fetchone() == (10, 3)

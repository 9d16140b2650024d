"""Sorted and partitioned tables on three members: the sort order of files is used, and the rows equal PostgreSQL's
whatever was done to the files in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from support.fault_ground import Ground, connect
from support.postgres_server import PostgresServer

Connection = psycopg.Connection[Any]

_ORDERS = (
    "a, b", "a", "a, b limit 11", "a desc, b", "a nulls first, b", "s, a, b limit 20", "a, b offset 700 limit 30",
)  # fmt: skip
_GROUPS = (
    "select p, count(*), sum(a), count(distinct b) from parted group by p",
    "select p, min(s), max(a) from parted where a > 50 group by p having count(*) > 3",
    "select distinct p from parted",
    "select x.p, count(*) from parted x join other y on x.p = y.p group by x.p",
    "select x.p, x.a, y.a from parted x left join other y on x.p = y.p and x.a = y.a",
    "select p, a, rank() over (partition by p order by a desc, b) from parted",
    "select a, count(*), sum(b) from sorted group by a order by a limit 9",
)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[tuple[Connection, Connection]]:
    """(Sluice, whose queries are spread over three members; PostgreSQL), with the same empty tables."""
    with ExitStack() as stack:
        m1, _, _ = Ground(tmp_path_factory.mktemp("orders"), stack).three()
        ours = stack.enter_context(connect(m1))
        theirs = stack.enter_context(psycopg.connect(postgres.dsn, autocommit=True))
        by_folder = "partition by list (p)"
        for table, more in (("sorted", "with (sort_by = 'a, b')"), ("parted", by_folder), ("other", by_folder)):
            columns = "(a int, b int, s text, p text)"
            ours.execute(f"create table {table} {columns} {more}".encode())
            theirs.execute(f"create temporary table {table} {columns}".encode())
        yield ours, theirs


def _plan(connection: Connection, query: str) -> str:
    return "\n".join(line for (line,) in connection.execute(f"explain (distsql, costs off) {query}".encode()))


def _run(both: tuple[Connection, Connection], statement: str) -> None:
    for connection in both:
        connection.execute(statement.encode())


def _compare(both: tuple[Connection, Connection]) -> None:
    for order in _ORDERS:
        query = f"select a, b, s from sorted order by {order}".encode()
        named = [name.split()[0] for name in order.split(" offset")[0].split(" limit")[0].split(", ")]
        keys = ["abs".index(name) for name in named]
        found, expected = (connection.execute(query).fetchall() for connection in both)
        assert [[row[k] for k in keys] for row in found] == [[row[k] for k in keys] for row in expected], order
    for query_ in _GROUPS:
        found, expected = (connection.execute(query_.encode()).fetchall() for connection in both)
        assert sorted(map(repr, found)) == sorted(map(repr, expected)), query_


@pytest.mark.postgres
def test_orders_and_groups_as_on_postgresql(both: tuple[Connection, Connection]) -> None:
    ours, _ = both
    rows = "select i * 7 % 300 + {first}, i % 5, 's' || i % 11, 'p' || i % 6 from generate_series(1, 400) i"
    for first in (600, 0, 300):
        _run(both, f"insert into sorted {rows.format(first=first)}")
        _run(both, f"insert into parted {rows.format(first=first)}")
        _run(both, f"insert into other {rows.format(first=first + 7)}")
    plan = _plan(ours, "select a, b from sorted order by a, b")
    assert "Ordering guarantee: a, b" in plan
    assert "SORT" not in plan
    assert "Synchronizer: sequential" in _plan(ours, "select a from sorted order by a limit 3")
    assert "hash of" not in _plan(ours, _GROUPS[0])
    assert "hash of" not in _plan(ours, _GROUPS[4])
    _compare(both)
    for change in (
        "insert into sorted select i, i % 3, null, 'x' from generate_series(100, 500, 7) i",
        "update sorted set a = a + 450 where b = 2",
        "delete from sorted where a between 310 and 330",
        "insert into sorted values (null, 1, 'n', null), (null, null, 'm', null)",
        "insert into parted select i, i % 3, 'late', null from generate_series(1, 40) i",
        "update parted set p = 'p1' where p = 'p2' and b = 1",
        "insert into other values (40, 1, 'o', null), (41, 1, 'o', 'new')",
    ):
        _run(both, change)
    _compare(both)

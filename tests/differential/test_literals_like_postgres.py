"""Queries that differ only in their literals share plans (`engine.statements.query.lifted_literals`); compared with
PostgreSQL 15: rows and errors with their positions, whichever plan is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from support.member_beside_postgres import Connection, member_beside_postgres, rows_or_error
from support.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

_TABLE: Final = (
    "create table v (k int primary key, s smallint, b bigint, n numeric(8, 2), m numeric, f float8, r real, t text, w varchar(4),"
    " c char(4), o bool, d date, z timestamp, y timestamptz, u uuid, j jsonb, a int[], x oid)"
)
_ROWS: Final = (
    "insert into v select i, i % 7, i::bigint * 1000000000, i / 4.0, i / 3, i / 2.0, i * 1.5, 't' || i, 'w' || i % 9, 'c' || i % 5,"
    " i % 2 = 0, date '2024-01-01' + i, timestamp '2024-01-01' + i * interval '1 hour', timestamptz '2024-01-01 00:00+00' + i *"
    " interval '1 hour', ('00000000-0000-0000-0000-0000000000' || (10 + i))::uuid, to_jsonb(i), array[i, 2], i"
    " from generate_series(0, 40) i union all select 99" + ", null" * 17
)
_NUMBERS: Final = ("3", "7", "0", "40", "99", "12", "2147483647", "'5'", "' 6 '", "'x'", "'9999999999'")
_STRINGS: Final = ("'t3'", "'w4'", "''", "'c1'", "'c1  '", "'ü'", "'w5 '", "'t'", "'T3'", "7", "'t7'")
_MOMENTS: Final = ("'2024-01-03'", "'2024-01-01 05:00'", "'2024-02-30'", "'20240104'", "'01-02-2024'", "'2024-1-7'", "'today'",
    "'infinity'", "'2024-01-01 03:00+03'", "''", "'2024-01-09'")  # fmt: skip
_OTHERS: Final = ("'t'", "'yes'", "'00000000-0000-0000-0000-000000000015'", "'{3,2}'", "'[1,2]'", "'5'", "5", "'NaN'", "'1e1'",
    "'00000000-0000-0000-0000-00000000001F'", "'off'")  # fmt: skip
_QUERIES: Final = (
    "select k from v where {column} = {value} order by k",
    "select k, {column} from v where {value} >= {column} order by k limit 3",
    "select count(*) from v a join v b on a.k = b.k and a.{column} <> {value} where b.k between 3 and 30",
    "select (select max(k) from v where {column} < {value} and k > l.k) from (values (1), (5)) l(k) order by 1",
)


@pytest.fixture(scope="module")
def both(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Connection]]:
    setup = ("set timezone = 'UTC'", _TABLE, _ROWS)
    with member_beside_postgres(tmp_path_factory.mktemp("literals"), postgres, setup) as connections:
        for connection in connections:
            connection.prepare_threshold = None
        yield connections


def _cases() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for query in _QUERIES:
        for column in ("k", "s", "b", "n", "m", "f", "r", "x"):
            yield query, column, _NUMBERS
        for column in ("t", "w", "c"):
            yield query, column, _STRINGS
        for column in ("d", "z", "y"):
            yield query, column, _MOMENTS
        for column in ("o", "u", "j", "a"):
            yield query, column, _OTHERS


@pytest.mark.table
@pytest.mark.parametrize(("query", "column", "values"), list(_cases()))
@pytest.mark.parametrize("mode", ["auto", "force_generic_plan"])
def test_same_answers(
    both: tuple[Connection, Connection], query: str, column: str, values: tuple[str, ...], mode: str
) -> None:
    ours, theirs = both
    ours.execute(f"set plan_cache_mode = {mode}".encode())
    for value in values:
        statement = query.format(column=column, value=value)
        assert rows_or_error(ours, statement) == rows_or_error(theirs, statement), statement


def test_a_literal_is_read_by_the_settings_of_its_statement(both: tuple[Connection, Connection]) -> None:
    for style in ("dmy", "mdy", "iso", "dmy"):
        found = []
        for connection in both:
            connection.execute(f"set datestyle = {style}".encode())
            found.append(rows_or_error(connection, "select k from v where d = '05-01-2024' order by k"))
            connection.execute(b"reset datestyle")
        assert found[0] == found[1]


def test_of_a_table_that_is_changed(both: tuple[Connection, Connection]) -> None:
    """The change gives another type to the column that is compared with the text."""
    steps = (
        "create table changed as select k, k::text t from v where k < 10", *("select k from changed where t = '5'",) * 7,
        "alter table changed rename t to old", "alter table changed add t int default 5",
        *("select count(*) from changed where t = '5'",) * 7, "drop table changed",
    )  # fmt: skip
    for step in steps:
        if step.startswith("select"):
            assert rows_or_error(both[0], step) == rows_or_error(both[1], step)
        else:
            for connection in both:
                connection.execute(step.encode())

"""ANALYZE: samples, sketches, foreign tables, other members, and concurrent commits. The script
`definitions/analyze.sql` compares its messages with PostgreSQL's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member

from engine.catalog.model.objects import Table
from engine.catalog.model.statistics import ColumnStatistics, TableStatistics
from engine.catalog.store.store import CatalogStore


@pytest.fixture
def member(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


@pytest.fixture
def connection(member: LocalMember) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with member.connect() as connected:
        yield connected


def _stats(connection: psycopg.Connection[tuple[Any, ...]], column: str) -> tuple[Any, ...]:
    query = "select null_frac, n_distinct, most_common_vals, most_common_freqs, histogram_bounds from pg_stats where attname = %s"
    row = connection.execute(query, (column,)).fetchone()
    assert row is not None
    null_frac, n_distinct, values, frequencies, bounds = row
    return null_frac, n_distinct, _elements(values), frequencies, _elements(bounds)


def _elements(array: str | None) -> list[str] | None:
    """Return the elements of an anyarray, which psycopg leaves as text."""
    return None if array is None else array.strip("{}").split(",")


def test_of_a_large_table_a_sample_is_taken(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    connection.execute("set default_statistics_target = 20")
    connection.execute(
        "create table t as select i as id, i % 5000 as many, case when i % 4 = 0 then 1 else i end as skewed, "
        "case when i % 5 = 0 then null else 'x' end as x from generate_series(1, 60000) i"
    )
    notices: list[str] = []
    connection.add_notice_handler(lambda diagnostic: notices.append(str(diagnostic.message_primary)))
    connection.execute("analyze verbose t")
    sampled = int(notices[-1].split("; ")[1].split()[0])
    assert notices[0] == 'analyzing "public.t"'
    assert 5_000 < sampled < 7_500
    assert connection.execute("select reltuples from pg_class where relname = 't'").fetchone() == (60_000,)
    _, distinct, common, _, bounds = _stats(connection, "id")
    assert (distinct, common, len(bounds)) == (-1, None, 21)
    assert [int(bound) for bound in bounds] == sorted(int(bound) for bound in bounds)
    assert _stats(connection, "many")[1] == pytest.approx(5000, rel=0.15)
    _, _, common, frequencies, _ = _stats(connection, "skewed")
    assert common[0] == "1"
    assert frequencies[0] == pytest.approx(0.25, abs=0.05)
    assert _stats(connection, "x")[0] == pytest.approx(0.2)


def test_foreign_tables_are_analysed_where_they_are_named(
    connection: psycopg.Connection[tuple[Any, ...]], tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("id,word\n1,a\n2,b\n3,b\n")
    connection.execute("create foreign table f (id int, word text) options (path 'rows.csv', format 'csv')")
    connection.execute("analyze")
    assert connection.execute("select reltuples from pg_class where relname = 'f'").fetchone() == (-1,)
    connection.execute("analyze f")
    assert connection.execute("select reltuples, relpages from pg_class where relname = 'f'").fetchone() == (3, 1)
    assert _stats(connection, "word")[2] == ["b"]
    connection.execute("drop foreign table f")
    assert connection.execute("select count(*) from pg_stats").fetchone() == (0,)


def test_members_share_them_and_restarts_keep_them(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as connection:
        connection.execute("create table t as select i % 3 as a, i as b from generate_series(1, 99) i")
        other = CatalogStore(tmp_path / ".sluice" / "catalog.sqlite")
        try:
            connection.execute("analyze t")
            other.refresh()
            [table] = [table for table in other.snapshot.tables() if table.name == "t"]
            assert _distinct(table) == [3, -1]
            connection.execute("alter table t rename to u")
            connection.execute("insert into u values (7, 7)")
            other.refresh()
            assert [_distinct(table) for table in other.snapshot.tables()] == [[3, -1]]
        finally:
            other.close()
    with local_member(tmp_path) as member, member.connect() as connection:
        assert connection.execute("select n_distinct from pg_stats where tablename = 'u'").fetchall() == [(3,), (-1,)]
        connection.execute("drop table u")
    with sqlite3.connect(tmp_path / ".sluice" / "catalog.sqlite") as database:
        assert database.execute("select count(*) from statistics").fetchone() == (0,)


def _distinct(table: Table) -> list[float]:
    assert table.statistics is not None
    return [column.distinct for column in table.statistics.columns]


def test_it_conflicts_with_nothing(member: LocalMember) -> None:
    with member.connect() as one, member.connect() as two:
        one.execute("create table t (a int check (a < 100))")
        one.execute("insert into t select i from generate_series(1, 10) i")
        one.execute("begin isolation level repeatable read")
        one.execute("analyze t")
        two.execute("update t set a = a + 1")
        two.execute("alter table t add column b int")
        one.execute("commit")
        one.execute("begin")
        one.execute("insert into t (a) values (50)")
        two.execute("analyze t")
        one.execute("delete from t where a = 3")
        one.execute("commit")
        assert one.execute("select count(*) from pg_stats").fetchone() == (2,)
        one.execute("begin")
        one.execute("analyze t")
        two.execute("drop table t")
        one.execute("commit")
        assert one.execute("select count(*) from pg_stats").fetchone() == (0,)


def test_columns_that_were_not_analysed_again_keep_theirs() -> None:
    before = TableStatistics(10, 1, (ColumnStatistics(1, 23, 0, 4, 5), ColumnStatistics(2, 25, 0.5, 9, -1)))
    after = TableStatistics(20, 2, (ColumnStatistics(2, 25, 0, 8, 7),)).after(before)
    assert (after.rows, [column.distinct for column in after.columns]) == (20, [5, 7])
    assert after.of(2, 23) is None
    assert [column.values(20) for column in after.columns] == [5, 7]
    assert ColumnStatistics(1, 23, 0, 4, -0.5).values(20) == 10

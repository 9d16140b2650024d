"""ANALYZE's statistics choose the engine, and whether a query is distributed: the same query, before and after."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.distributed_ground import MEMBERS, Layout, table
from support.local_member import local_member

from engine.catalog.model.objects import Table
from engine.catalog.model.statistics import ColumnStatistics, TableStatistics
from engine.planner.distribute import Setting, should_distribute
from engine.planner.optimizer.workload import workload

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with local_member(tmp_path_factory.mktemp("workload")) as member, member.connect() as connection:
        for name in ("known", "unknown"):
            connection.execute(
                f"create table {name} as select (i * 7919) % 20000 as id, i % 4 as code, md5(i::text) as text "
                "from generate_series(1, 20000) i".encode()
            )
        connection.execute("analyze known")
        yield connection


def _engine(connection: Connection, query: str, limit: str) -> tuple[str, str]:
    """The engine that is chosen, and why."""
    connection.execute(f"set sluice.local_limit = '{limit}'".encode())
    lines = [line for (line,) in connection.execute(f"explain {query}".encode())]
    found = next(match for line in lines if (match := re.fullmatch(r"Engine: (\w+) \((.*)\)", line)))
    return found[1], found[2]


_FEW = "select text from {} where id between 100 and 200"
_MANY = "select count(*) from {0} a join {0} b on a.code = b.code"


def test_a_scan_that_keeps_few_rows_stays_here(connection: Connection) -> None:
    engine, why = _engine(connection, _FEW.format("unknown"), "300kB")
    assert (engine, why[:8]) == ("spark", "it reads")
    engine, why = _engine(connection, _FEW.format("known"), "300kB")
    assert engine == "local"
    assert why.startswith("by statistics ")
    assert re.search(r"; local [0-9.]+ s, spark [0-9.]+ s(, which has not started)?$", why)
    assert " rows are kept of " in why


def test_what_is_scanned_counts_a_part_all_the_same(connection: Connection) -> None:
    engine, why = _engine(connection, _FEW.format("known"), "100kB")
    assert engine == "spark"
    assert " rows are kept of " in why


def test_a_join_of_small_tables_that_gives_many_rows_is_for_spark(connection: Connection) -> None:
    assert _engine(connection, _MANY.format("unknown"), "10MB")[0] == "local"
    engine, why = _engine(connection, _MANY.format("known"), "10MB")
    assert engine == "spark"
    assert re.match(r"by statistics a JOIN gives 100000000 rows, .* over sluice.local_limit 10 MB", why)
    product = "select count(*) from known a, known b where a.id = b.id"
    assert _engine(connection, product, "10MB")[0] == "local"


def test_a_chain_of_joins_is_what_it_gives_in_the_end(connection: Connection) -> None:
    """Written as FROM a, b, c, its first product has 400 million rows, and nobody makes it."""
    query = "select count(*) from known a, known b, known c where a.id = c.id and b.id = c.id and a.code = b.code"
    engine, why = _engine(connection, query, "2MB")
    assert engine == "local", why


def test_one_table_without_statistics_leaves_it_to_sizes(connection: Connection) -> None:
    query = "select count(*) from known a join unknown b on a.code = b.code"
    assert _engine(connection, query, "10MB")[1].startswith("it reads")


def test_what_fits_as_a_whole_is_not_estimated(connection: Connection) -> None:
    assert _engine(connection, _FEW.format("known"), "64MB")[1].startswith("it reads")


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    folder: Path = tmp_path_factory.mktemp("spread")
    rows = pa.table(
        {"code": pa.array([i % 4 for i in range(20_000)], pa.int32()), "text": [f"{i}" for i in range(20_000)]}
    )
    for name in ("t", "u"):
        pq.write_table(rows, folder / name)
    return Layout({name: table(name, [str(folder / name)]) for name in ("t", "u")})


def _analysed(layout: Layout, values: float) -> Layout:
    """The layout's tables, whose column `code` has so many values."""

    def known(of: Table) -> Table:
        columns = tuple(ColumnStatistics(c.number, c.type.pg.oid, 0.0, 4, values) for c in of.columns)
        return replace(of, statistics=TableStatistics(20_000, 100, columns))

    return Layout({name: known(of) for name, of in layout.tables.items()})


def test_a_query_is_spread_by_what_its_joins_give(layout: Layout) -> None:
    query, setting = "select count(*) from t join u on t.code = u.code", Setting(MEMBERS, "a")
    decided = [
        should_distribute(known.plan(query), "auto", setting)
        for known in (layout, _analysed(layout, 20_000), _analysed(layout, 4))
    ]
    assert [spread for spread, _ in decided] == [False, False, True]
    assert decided[2][1].startswith("by statistics a JOIN gives 100000000 rows")


def test_the_largest_measure_counts(layout: Layout) -> None:
    known = _analysed(layout, 4)
    whole = workload(known.plan("select code from t"), {}, 0)
    part = workload(known.plan("select code from t where code = 1"), {}, 0)
    assert whole.text.startswith("by statistics its tables give 20000 rows")
    assert part.size * 4 == pytest.approx(whole.size, rel=0.01)

"""Measures writes and rewrites of tables of some size, against raw PySpark that writes the same rows as Parquet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from benchmarks import member, raw_spark
from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground

_RUNS: Final = 2
_CREATE_BAR: Final = 1.2
_CHANGE_BAR: Final = 1.5
_MERGED: Final = 100_000


class Change(NamedTuple):
    """name: for the report. statement: of Sluice, on a fresh copy `changed` of `orders`. theirs: the query for the
    rows that remain.
    """

    name: str
    statement: str
    theirs: str


_COLUMNS: Final = (
    "o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority"
)


def _changes(ground: Ground) -> Iterator[Change]:
    keys = ground.rows("orders") * 4
    hundredth, tenth = keys // 100, keys // 10
    yield Change(
        "UPDATE of 1 %",
        f"update changed set o_comment = 'changed' where o_orderkey < {hundredth}",
        f"select {_COLUMNS}, case when o_orderkey < {hundredth} then 'changed' else o_comment end o_comment from orders",
    )
    yield Change(
        "DELETE of 10 %",
        f"delete from changed where o_orderkey < {tenth}",
        f"select * from orders where not o_orderkey < {tenth}",
    )
    # TPC-H's keys have gaps: the odd keys here belong to no order.
    given = (
        f"select o_orderkey + 8 * (o_orderkey % 2) as k, o_custkey as c from orders where o_orderkey < {4 * _MERGED}"
    )
    kept = _COLUMNS.removeprefix("o_orderkey, o_custkey, ")
    yield Change(
        f"MERGE of {_MERGED} rows",
        f"merge into changed using ({given}) as given on o_orderkey = k when matched then update set o_comment = 'merged' "
        "when not matched then insert (o_orderkey, o_custkey) values (k, c)",
        f"select coalesce(o_orderkey, k) o_orderkey, coalesce(o_custkey, c) o_custkey, {kept}, case when k is null then o_comment "
        f"when o_orderkey is not null then 'merged' end o_comment from orders full join ({given}) on o_orderkey = k",
    )


def _run(ground: Ground) -> Iterator[Figure]:
    with (
        member.running(ground, "table-writes") as sluice,
        raw_spark.running(ground) as raw,
        sluice.connect("spark") as connection,
    ):
        yield from _created(ground, connection, raw)
        for change in _changes(ground):
            yield from _changed(ground, connection, raw, change)


def _created(ground: Ground, connection: psycopg.Connection[Any], raw: raw_spark.RawSpark) -> Iterator[Figure]:
    ours, theirs = [], []
    for run in range(1 + _RUNS):
        ours.append(_seconds(lambda: connection.execute("create table made as select * from lineitem")))
        connection.execute("drop table made")
        theirs.append(_written(raw, ground.scratch / f"made-{run}", "select * from lineitem"))
    yield from _figures("CREATE TABLE AS of lineitem", min(ours[1:]), min(theirs[1:]), _CREATE_BAR)


def _changed(
    ground: Ground, connection: psycopg.Connection[Any], raw: raw_spark.RawSpark, change: Change
) -> Iterator[Figure]:
    ours, theirs = [], []
    for run in range(1 + _RUNS):
        connection.execute("create table changed as select * from orders")
        ours.append(_seconds(lambda: connection.execute(change.statement.encode())))
        connection.execute("drop table changed")
        theirs.append(_written(raw, ground.scratch / f"{change.name[:6]}-{run}", change.theirs))
    yield from _figures(f"{change.name} of orders", min(ours[1:]), min(theirs[1:]), _CHANGE_BAR)


def _written(raw: raw_spark.RawSpark, path: Path, query: str) -> float:
    """Return the seconds in which raw PySpark writes a query's rows."""
    return _seconds(lambda: raw.run(f"insert overwrite directory '{path}' using parquet {query}"))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _figures(name: str, ours: float, theirs: float, bar: float) -> Iterator[Figure]:
    yield Figure(f"{name}, relative to raw PySpark", ours / theirs, "", bar)
    yield Figure(f"{name}: Sluice", ours, "s")
    yield Figure(f"{name}: raw PySpark", theirs, "s")


MEASURE: Final = Measure(
    "table_writes",
    "Writing and changing tables, relative to raw PySpark",
    "`CREATE TABLE AS SELECT * FROM lineitem`, and `UPDATE` and `DELETE` by a range of keys and `MERGE` (half of it "
    "updates, half inserts) on a fresh copy of `orders`, with `sluice.engine = spark`. Their time is divided by that "
    "of `insert overwrite directory ... using parquet` of the same rows in a PySpark process with the same settings. "
    f"The two alternate: one warm-up round, then the best of {_RUNS}.",
    _run,
)

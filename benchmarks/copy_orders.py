"""Measures COPY of `orders` as CSV, in and out through psql, against raw PySpark that reads and writes the same file."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import psycopg

from benchmarks import member, raw_spark
from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground

_RUNS: Final = 2
_BAR: Final = 1.5
#: The columns, with types that both know.
_COLUMNS: Final = (
    "o_orderkey bigint, o_custkey bigint, o_orderstatus {text}, o_totalprice decimal(15,2), o_orderdate date, "
    "o_orderpriority {text}, o_clerk {text}, o_shippriority int, o_comment {text}"
)


def _run(ground: Ground) -> Iterator[Figure]:
    file, out = ground.scratch / "orders.csv", ground.scratch / "out.csv"
    duckdb.execute(f"copy (select * from '{ground.table('orders')}') to '{file}' (header false)")
    with (
        member.running(ground, "copy-orders") as sluice,
        raw_spark.running(ground) as raw,
        sluice.connect("auto") as connection,
    ):
        schema = _COLUMNS.format(text="string")
        raw.run(f"create temporary view orders_csv ({schema}) using csv options (path '{file}')")
        ours, theirs = [], []
        for run in range(1 + _RUNS):
            connection.execute("drop table if exists copied")
            connection.execute(f"create table copied ({_COLUMNS.format(text='text')})".encode())
            ours.append(_seconds(lambda: _psql(connection, f"\\copy copied from '{file}' csv")))
            query = f"insert overwrite directory '{ground.scratch}/in-{run}' using parquet select * from orders_csv"
            theirs.append(_seconds(lambda query=query: raw.run(query)))  # type: ignore[misc]
        yield from _figures("COPY FROM", ours, theirs)
        raw.run(f"create temporary view written using parquet options (path '{ground.scratch}/in-0')")
        ours, theirs = [], []
        for run in range(1 + _RUNS):
            ours.append(_seconds(lambda: _psql(connection, f"\\copy copied to '{out}' csv")))
            query = f"insert overwrite directory '{ground.scratch}/out-{run}' using csv select * from written"
            theirs.append(_seconds(lambda query=query: raw.run(query)))  # type: ignore[misc]
        _require_same(file, out)
        yield from _figures("COPY TO", ours, theirs)


def _psql(connection: psycopg.Connection[Any], command: str) -> None:
    info = connection.info
    address = f"host={info.host} port={info.port} user={info.user} dbname={info.dbname}"
    subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", address, "-c", command], check=True)


def _require_same(file: Path, other: Path) -> None:
    """Check that the output is the same as the input, except for quotes."""
    texts = "header = false, columns = {" + ", ".join(f"'c{i}': 'varchar'" for i in range(9)) + "}"
    query = f"select count(*) from (from read_csv('{file}', {texts}) except all from read_csv('{other}', {texts}))"
    found = duckdb.execute(query).fetchone()
    if found != (0,):
        raise RuntimeError(f"rows differ: {found}")


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _figures(name: str, ours: list[float], theirs: list[float]) -> Iterator[Figure]:
    """Yield the figures. The first round is for warming up."""
    yield Figure(f"{name}, relative to raw PySpark", min(ours[1:]) / min(theirs[1:]), "", _BAR)
    yield Figure(f"{name}: Sluice", min(ours[1:]), "s")
    yield Figure(f"{name}: raw PySpark", min(theirs[1:]), "s")


MEASURE: Final = Measure(
    "copy_orders",
    "COPY of orders as CSV, relative to raw PySpark",
    "The time of `\\copy copied from 'orders.csv' csv` in psql (1.5 M rows of nine columns), divided by the time in "
    "which PySpark reads the same file with a schema and writes it as Parquet; and the time of `\\copy copied to`, "
    "divided by the time in which PySpark reads that Parquet and writes CSV. The processes have the same settings "
    f"and alternate: one warm-up round, then the best of {_RUNS}.",
    _run,
)

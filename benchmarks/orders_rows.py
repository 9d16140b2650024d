"""Measures the transfer of all of `orders` to a Python client: psycopg with Sluice, and with PostgreSQL, against
PyHive with Spark Thrift Server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import psycopg

from benchmarks import member, postgres, thrift_server
from benchmarks.figures import Figure, Measure, median
from benchmarks.ground import Ground

_PAGE: Final = 10_000
_RUNS: Final = 3
_BAR: Final = 8


class Taken(NamedTuple):
    """rate: rows per second over the whole result. first: seconds to the first row."""

    rate: float
    first: float


def _run(ground: Ground) -> Iterator[Figure]:
    with member.running(ground, "orders-rows") as sluice:
        ours = {
            "Sluice, spark, cursor": _repeated(ground, sluice, "spark"),
            "Sluice, spark, cursor, binary": _repeated(ground, sluice, "spark", binary=True),
            "Sluice, spark, one result": _repeated(ground, sluice, "spark", whole=True),
            "Sluice, local, cursor": _repeated(ground, sluice, "local"),
        }
    with postgres.running(ground, "orders") as dsn:
        its = _median(ground, "PostgreSQL", lambda: _psycopg(ground, psycopg.connect(dsn), binary=False, whole=False))
    with thrift_server.running(ground) as port:
        _pyhive(ground, port, limit=_PAGE)
        theirs = _pyhive(ground, port)
    spark = ours["Sluice, spark, cursor"]
    yield Figure("rows/s relative to Thrift Server", spark.rate / theirs.rate, "×", _BAR, at_least=True)
    for label, taken in {**ours, "PostgreSQL 15, cursor": its, "Spark Thrift Server, PyHive": theirs}.items():
        yield Figure(label, taken.rate, "rows/s")
        yield Figure(f"{label}: first row", taken.first, "s")


def _repeated(
    ground: Ground, sluice: member.Member, engine: str, *, binary: bool = False, whole: bool = False
) -> Taken:
    return _median(
        ground,
        f"{engine}, {binary=}, {whole=}",
        lambda: _psycopg(ground, sluice.connect(engine, autocommit=False), binary=binary, whole=whole),
    )


def _median(ground: Ground, name: str, run: Callable[[], Taken]) -> Taken:
    """Return the median of some runs, after one run for warming up."""
    runs = [run() for _ in range(1 + _RUNS)][1:]
    ground.say(f"{name}: " + ", ".join(f"{taken.rate:,.0f}" for taken in runs) + " rows/s")
    return Taken(median([taken.rate for taken in runs]), median([taken.first for taken in runs]))


def _psycopg(ground: Ground, opened: psycopg.Connection[Any], *, binary: bool, whole: bool) -> Taken:
    with (
        opened as connection,
        connection.cursor(binary=binary) if whole else connection.cursor("orders", binary=binary) as cursor,
    ):
        started = time.perf_counter()
        cursor.execute(b"select * from orders")
        rows = int(cursor.fetchone() is not None)
        first = time.perf_counter() - started
        while page := cursor.fetchmany(_PAGE):
            rows += len(page)
        seconds = time.perf_counter() - started
    return _taken(rows, seconds, first, ground.rows("orders"))


def _pyhive(ground: Ground, port: int, limit: int | None = None) -> Taken:
    connection = thrift_server.connect(port)
    cursor = connection.cursor()
    cursor.arraysize = _PAGE
    rest = "" if limit is None else f" limit {limit}"
    started = time.perf_counter()
    cursor.execute(f"select * from parquet.`{ground.table('orders')}`{rest}")
    rows = int(cursor.fetchone() is not None)
    first = time.perf_counter() - started
    while page := cursor.fetchmany(_PAGE):
        rows += len(page)
    seconds = time.perf_counter() - started
    cursor.close()
    connection.close()
    return _taken(rows, seconds, first, ground.rows("orders") if limit is None else limit)


def _taken(rows: int, seconds: float, first: float, expected: int) -> Taken:
    if rows != expected:
        raise RuntimeError(f"{rows} rows came, not {expected}")
    return Taken(rows / seconds, first)


MEASURE: Final = Measure(
    "orders_rows",
    "Reading all of orders in a Python client, compared with Spark Thrift Server",
    f"`select * from orders` with psycopg (through a server-side cursor with {_PAGE:,} rows per fetch, or as one "
    f"result; in text format unless the label says binary), median of {_RUNS} runs after one warm-up run. For "
    "comparison, PyHive reads from a Spark Thrift Server of the same Spark, on the same machine and cores, from the "
    "same file and with as many rows per fetch, once after a smaller warm-up query. The Thrift Server has "
    f"{thrift_server.HEAP} of heap, because with a member's 1 GB it fails with OutOfMemoryError. To show the limit of "
    "the client itself, psycopg also reads the same rows from PostgreSQL 15. Every value is converted to its Python "
    "object. First row: from sending the statement to the first row.",
    _run,
)

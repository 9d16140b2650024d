"""Measures inserts of many rows, one at a time in one transaction, beside PostgreSQL in the same run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from benchmarks import postgres
from benchmarks.figures import Figure, Measure, percentile
from benchmarks.ground import Ground
from benchmarks.member import started

_ROWS: Final = 20_000
_BAR_SECONDS: Final = 20.0
_RATIO_BAR: Final = 1.2
#: The number of rows in one of the two transactions, and the number inserted into both in turns.
_EARLY: Final = 100
_TURNS: Final = 1_000
_TABLES: Final = (
    ("without keys", "create table measured (id bigint not null, name text, price numeric(10,2), at timestamptz default now())"),
    ("primary key", "create table measured (id bigint primary key, name text, price numeric(10,2), at timestamptz default now())"),
)  # fmt: skip
_INSERT: Final = "insert into measured (id, name) values (%s, %s)"


def _run(ground: Ground) -> Iterator[Figure]:
    # Without Spark, which is not used here and whose start would run beside the first rows.
    with (
        started(ground.folder("rows-one-by-one"), 'start = "lazy"') as member,
        postgres.running(ground, "region") as dsn,
    ):
        for name, ddl in _TABLES:
            with member.connect("auto", autocommit=False) as ours, psycopg.connect(dsn) as theirs:
                yield Figure(f"executemany, {name}", _many(ours, ddl), "s", _BAR_SECONDS)
                yield Figure(f"executemany, {name}: PostgreSQL", _many(theirs, ddl), "s")
        with member.connect("auto", autocommit=False) as late, member.connect("auto", autocommit=False) as early:
            yield from _turns(late, early, "", _RATIO_BAR)
        with psycopg.connect(dsn) as late, psycopg.connect(dsn) as early:
            yield from _turns(late, early, ": PostgreSQL", None)


def _many(connection: psycopg.Connection[Any], ddl: str) -> float:
    """Return the seconds until the commit is acknowledged."""
    _made(connection, ddl)
    rows = [(number, f"row {number}") for number in range(_ROWS)]
    begun = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.executemany(_INSERT, rows)
    connection.commit()
    taken = time.perf_counter() - begun
    _require_all(connection)
    return taken


def _turns(
    late: psycopg.Connection[Any], early: psycopg.Connection[Any], whose: str, bar: float | None
) -> Iterator[Figure]:
    """Compare single statements, in turns, of a transaction that has inserted nearly all rows and of one that has
    inserted few.
    """
    _made(late, _TABLES[0][1])
    for connection, rows in ((late, _ROWS - _TURNS), (early, _EARLY)):
        connection.cursor().executemany(_INSERT, [(number, f"row {number}") for number in range(rows)])
    taken: dict[psycopg.Connection[Any], list[float]] = {late: [], early: []}
    for number in range(_ROWS - _TURNS, _ROWS):
        for connection, milliseconds in taken.items():
            begun = time.perf_counter()
            connection.execute(_INSERT, (number, f"row {number}"), prepare=True)
            milliseconds.append((time.perf_counter() - begun) * 1000)
    early.rollback()
    late.commit()
    _require_all(late)
    at_last, at_first = (percentile(milliseconds, 50) for milliseconds in taken.values())
    yield Figure(f"single statements, from row {_EARLY} on: p50{whose}", at_first, "ms")
    yield Figure(f"single statements, up to row {_ROWS:,}: p50{whose}", at_last, "ms")
    yield Figure(f"last rows relative to first rows{whose}", at_last / at_first, "", bar)


def _made(connection: psycopg.Connection[Any], ddl: str) -> None:
    connection.execute("drop table if exists measured")
    connection.execute(ddl.encode())
    connection.commit()


def _require_all(connection: psycopg.Connection[Any]) -> None:
    found = connection.execute("select count(*), count(distinct id) from measured").fetchone()
    if found != (_ROWS, _ROWS):
        raise RuntimeError(f"{_ROWS} rows were inserted, {found} are there")
    connection.commit()


MEASURE: Final = Measure(
    "rows_one_by_one",
    "Inserting many rows one at a time",
    f"{_ROWS:,} rows of `insert into measured (id, name) values ($1, $2)` in one transaction through psycopg. "
    "`executemany`: until COMMIT is answered. Single statements: prepared statements, each awaited before the next "
    f"one is sent, alternate between two transactions, of which one has inserted {_EARLY} rows before and the other "
    f"{_ROWS - _TURNS:,}, so that other load on the machine affects both equally. At the end the rows are counted. "
    "PostgreSQL 15 does the same in the same run.",
    _run,
)

"""Inserting many rows one at a time in one transaction, beside PostgreSQL in the same run."""

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
#: Rows whose median stands for that of one: those around row 100, and the last ones.
_AROUND: Final = 100
_TABLES: Final = (
    ("without keys", "create table measured (id bigint not null, name text, price numeric(10,2), at timestamptz default now())"),
    ("primary key", "create table measured (id bigint primary key, name text, price numeric(10,2), at timestamptz default now())"),
)  # fmt: skip
_INSERT: Final = "insert into measured (id, name) values (%s, %s)"


def _run(ground: Ground) -> Iterator[Figure]:
    # Nothing here is Spark's, and its start would run beside the first rows.
    with (
        started(ground.folder("rows-one-by-one"), 'start = "lazy"') as member,
        postgres.running(ground, "region") as dsn,
    ):
        for name, ddl in _TABLES:
            with member.connect("auto", autocommit=False) as ours, psycopg.connect(dsn) as theirs:
                yield Figure(f"executemany, {name}", _many(ours, ddl), "s", _BAR_SECONDS)
                yield Figure(f"executemany, {name}: PostgreSQL", _many(theirs, ddl), "s")
        with member.connect("auto", autocommit=False) as ours, psycopg.connect(dsn) as theirs:
            early, late = _each(ours, _TABLES[0][1])
            yield Figure("a statement each: p50 around row 100", early, "ms")
            yield Figure(f"a statement each: p50 up to row {_ROWS:,}", late, "ms")
            yield Figure("the last over the first", late / early, "", _RATIO_BAR)
            early, late = _each(theirs, _TABLES[0][1])
            yield Figure("a statement each: p50 around row 100: PostgreSQL", early, "ms")
            yield Figure(f"a statement each: p50 up to row {_ROWS:,}: PostgreSQL", late, "ms")


def _many(connection: psycopg.Connection[Any], ddl: str) -> float:
    """Seconds until the commit is told."""
    _made(connection, ddl)
    rows = [(number, f"row {number}") for number in range(_ROWS)]
    begun = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.executemany(_INSERT, rows)
    connection.commit()
    taken = time.perf_counter() - begun
    _require_all(connection)
    return taken


def _each(connection: psycopg.Connection[Any], ddl: str) -> tuple[float, float]:
    """Milliseconds of a row: early in the transaction, and at its end."""
    _made(connection, ddl)
    taken = []
    for number in range(_ROWS):
        begun = time.perf_counter()
        connection.execute(_INSERT, (number, f"row {number}"), prepare=True)
        taken.append((time.perf_counter() - begun) * 1000)
    connection.commit()
    _require_all(connection)
    return percentile(taken[_AROUND // 2 : _AROUND * 3 // 2], 50), percentile(taken[-_AROUND:], 50)


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
    "Many rows inserted one at a time",
    f"{_ROWS:,} rows of `insert into measured (id, name) values ($1, $2)` in one transaction, through psycopg: `executemany` up to "
    "the answer to COMMIT, and prepared statements each of which is awaited, where the median of 100 rows stands for one. At the "
    "end the rows are counted. PostgreSQL 15 does the same beside it.",
    _run,
)

"""Measures how the cost of statements grows with the number of files of a table, of relations in the catalog, and of
commits to a table.

Each axis grows in steps of ten. For each statement, the measure reports the member's processor time at each step, and
the slope of the regression line through these points in log-log: 0 is a cost that does not grow, 1 one that grows as
the axis does. A slope above 1 is a finding.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql

from benchmarks import processor
from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground
from benchmarks.member import Member, started

_FILES: Final = (50, 500, 5_000)
_RELATIONS: Final = (20, 200, 2_000)
_COMMITS: Final = (20, 200, 2_000)
#: How often each statement is asked: processor time is counted in steps of ten milliseconds.
_REPEATS: Final = 10
#: Above 1, because a measured line is rarely straight.
_BAR: Final = 1.05
#: The queries that psql sends for `\d NAME`.
_DESCRIBE: Final = (
    """SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c
    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname OPERATOR(pg_catalog.~) '^(described)$' COLLATE pg_catalog.default
    AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3""",
    """SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = 'described'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum""",
)
Connection = psycopg.Connection[tuple[Any, ...]]
#: For each statement: milliseconds of processor time at each step of its axis.
Curves = dict[str, dict[int, float]]


def slope(points: Mapping[int, float]) -> float:
    """Return the slope of the least-squares line through points of two positive numbers, in log-log."""
    x = [math.log(size) for size in points]
    y = [math.log(max(cost, 1e-3)) for cost in points.values()]
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - middle_x) ** 2 for a in x)


def _run(ground: Ground) -> Iterator[Figure]:
    curves: Curves = {}
    for axis, steps, grow in (
        ("files of a foreign table", _FILES, _grow_foreign),
        ("files of a stored table", _FILES, _grow_stored),
        ("relations", _RELATIONS, _grow_relations),
        ("commits", _COMMITS, _grow_commits),
    ):
        name = axis.replace(" ", "-")
        with started(ground.folder(name), 'start = "lazy"') as member, member.connect("local") as connection:
            connection.execute("select 1")
            for size in steps:
                ground.say(f"{size:,} {axis}")
                for label, cost in grow(ground, member, connection, size):
                    curves.setdefault(f"{axis}: {label}", {})[size] = cost
    for label, points in curves.items():
        for size, cost in points.items():
            yield Figure(f"{label}, at {size:,}", cost, "ms")
        yield Figure(f"{label}: slope", slope(points), "", _BAR)


def _cost(member: Member, runs: Sequence[Callable[[], object]]) -> float:
    """Return the average processor time of the member for each of these runs, in milliseconds."""
    before = processor.seconds(member.pid)
    for run in runs:
        run()
    return (processor.seconds(member.pid) - before) / len(runs) * 1000


def _asked(connection: Connection, *statements: str) -> Callable[[], object]:
    """Return a function that sends these statements one after the other."""

    def ask() -> None:
        for statement in statements:
            connection.execute(statement.encode()).fetchall()

    return ask


def _grow_foreign(ground: Ground, member: Member, connection: Connection, size: int) -> Iterator[tuple[str, float]]:
    folder = ground.folder(f"foreign-{size}")
    for number in range(size):
        ids = pa.array(range(number * 10, number * 10 + 10), pa.int64())
        pq.write_table(pa.table({"id": ids, "name": ids.cast(pa.string())}), folder / f"{number:06}.parquet")
    plans = []
    for number in range(_REPEATS):
        # Under a new name, no cache knows its files.
        link = ground.scratch / f"link-{size}-{number}"
        os.symlink(folder, link, target_is_directory=True)
        table = f"foreign_{size}_{number}"
        connection.execute(
            sql.SQL("create foreign table {} options (path {}, format 'parquet')").format(
                sql.Identifier(table), sql.Literal(f"{link}/")
            )
        )
        plans.append(_asked(connection, f"explain select * from {table} where id = 7"))
    yield "first plan", _cost(member, plans)
    yield "next plan", _cost(member, [_asked(connection, f"explain select * from {table} where id = 8")] * _REPEATS)


def _grow_stored(_ground: Ground, member: Member, connection: Connection, size: int) -> Iterator[tuple[str, float]]:
    table = f"stored_{size}"
    connection.execute(f"create table {table} (id bigint, part int) partition by list (part)".encode())
    connection.execute(f"insert into {table} select id, id / 10 from generate_series(0, {size * 10 - 1}) id".encode())
    yield "count(*)", _cost(member, [_asked(connection, f"select count(*) from {table}")] * _REPEATS)
    points = [_asked(connection, f"select * from {table} where id = {key}") for key in range(0, _REPEATS * 10, 10)]
    yield "point query", _cost(member, points)


def _grow_relations(_ground: Ground, member: Member, connection: Connection, size: int) -> Iterator[tuple[str, float]]:
    [present] = connection.execute("select count(*) from pg_class where relname like 'many%'").fetchone() or (0,)
    # Each in its own transaction: within one, the cost of a statement grows with the earlier definitions.
    for number in range(int(present), size):
        connection.execute(f"create view many_{number} as select 1 as one".encode())
    connection.execute("create table if not exists described (id bigint primary key, name text)")
    describe = []
    for number in range(_REPEATS):
        # The catalog changes each time.
        describe.append(_asked(connection, f"select 'described {number}'", *_DESCRIBE))
    yield "describe a table", _cost(member, [_changed(connection, run) for run in describe])
    inserts = [_inserted(connection, "described", size * _REPEATS + number) for number in range(_REPEATS)]
    yield "insert of a row", _cost(member, inserts)


def _changed(connection: Connection, run: Callable[[], object]) -> Callable[[], object]:
    """Return a function that changes a comment on a table before each run, so that nothing about the current catalog
    is cached.
    """

    def change() -> None:
        connection.execute("comment on table described is 'it has changed'")
        run()

    return change


def _grow_commits(_ground: Ground, member: Member, connection: Connection, size: int) -> Iterator[tuple[str, float]]:
    connection.execute("create table if not exists committed (id bigint)")
    [present] = connection.execute("select count(*) from committed").fetchone() or (0,)
    for number in range(int(present), size):
        _inserted(connection, "committed", number)()
    yield "insert of a row", _cost(member, [_inserted(connection, "committed", -1)] * _REPEATS)
    yield "count(*)", _cost(member, [_asked(connection, "select count(*) from committed")] * _REPEATS)


def _inserted(connection: Connection, table: str, key: int) -> Callable[[], object]:
    return lambda: connection.execute(f"insert into {table} (id) values ({key})".encode())


MEASURE: Final = Measure(
    "growth",
    "Growth of costs with files, relations and commits",
    f"Processor time of a member (its Spark is not started) per statement, averaged over {_REPEATS} runs, at each "
    "step of an axis that grows in steps of ten; and the slope of the least-squares line through the points on "
    "logarithmic axes. First plan: EXPLAIN of a point query over a folder of Parquet files under a name that was "
    'never read before. Relations: views; "describe a table" runs the queries that psql sends for `\\d`, after the catalog '
    "has changed. Commits: rows inserted one by one into one table.",
    _run,
)

"""Infinite dates and timestamps in stored tables: both engines compare, sort, group and print them as PostgreSQL does;
the local engine computes with them as PostgreSQL does, and Spark, which has none, refuses to.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from support.answers import Connection, ask, value
from support.postgres_server import PostgresServer

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.long]

_SCHEMA = "infinite_dates"
_TABLE = """
create table moments (i int, tz timestamptz, ts timestamp, d date, iv interval, tm time);
insert into moments values
    (1, 'infinity', 'infinity', 'infinity', '1 day', '10:00'),
    (2, '-infinity', '-infinity', '-infinity', '1 mon', '11:00'),
    (3, '2024-01-31 10:00:00+00', '2024-01-31 10:00', '2024-01-31', '1 mon 01:00', null),
    (4, null, null, null, null, null)
"""
SAME_ON_BOTH = [
    "select tz::text, ts::text, d::text from moments order by i",
    "select isfinite(tz), isfinite(ts), isfinite(d) from moments order by i",
    "select i from moments order by ts, i",
    "select i from moments order by d desc, i",
    "select i from moments where tz > '2024-01-01' or d < '2000-01-01' or ts is null order by i",
    "select tz > now(), d > current_date from moments order by i",
    "select d < timestamp '2024-05-05 01:00', d < timestamptz '2024-05-05 01:00+00' from moments order by i",
    "select max(tz)::text, min(ts)::text, max(d)::text from moments",
    "select count(*) from moments group by ts order by ts",
    "select greatest(ts, '2024-01-01')::text, least(d, '2024-01-01')::text from moments order by i",
    "select to_json(ts), concat(d, ' ', tz), array[d]::text, row(ts, tz)::text from moments order by i",
    "select a.i, b.i from moments a join moments b on a.ts = b.ts order by a.i",
    "select case when isfinite(ts) then (ts - iv)::text else 'never' end from moments order by i",
    "select date_trunc('day', tz)::text, extract(year from d), ts::date::text, (d + 1)::text from moments where i > 2 order by i",
    "select date_trunc('month', max(coalesce(ts, '2023-01-01')))::text from moments where i > 2",
]
NOT_ON_SPARK = [
    "select tz::time::text from moments order by i",
    "select tz::timetz::text from moments order by i",
    "select tz::timestamp::text, ts::timestamptz::text, tz::date::text, ts::date::text from moments order by i",
    "select d::timestamp::text, d::timestamptz::text from moments order by i",
    "select (tz - iv)::text, (ts - iv)::text, (d - iv)::text from moments order by i",
    "select (iv + tz)::text, (iv + ts)::text, (iv + d)::text from moments order by i",
    "select date_trunc('day', tz)::text, date_trunc('month', ts)::text from moments order by i",
    "select (tz at time zone 'America/New_York')::text, (ts at time zone 'UTC')::text from moments order by i",
    "select (d + 1)::text, (d - 1)::text, (d + tm)::text from moments order by i",
    "select to_char(tz, 'YYYY'), to_char(ts, 'HH24') from moments order by i",
    "select ts < tz from moments order by i",
    "select ts::timestamp(0)::text from moments order by i",
    "select date_trunc('day', coalesce(ts, '2023-01-01'))::text from moments order by i",
    "select date_trunc('day', max(ts))::text from moments",
    "select d - date '2024-01-01' from moments where i <> 4 order by i",
]


@pytest.fixture(scope="module")
def theirs(postgres: PostgresServer) -> Iterator[Connection]:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        _made(connection)
        yield connection
        connection.execute(f"drop schema {_SCHEMA} cascade")


@pytest.fixture(scope="module")
def ours(sluice: Connection) -> Iterator[Connection]:
    _made(sluice)
    yield sluice
    sluice.execute(f"drop schema {_SCHEMA} cascade".encode())
    sluice.execute("reset search_path")


def _made(connection: Connection) -> None:
    connection.execute(f"create schema {_SCHEMA}".encode())
    connection.execute(f"set search_path = {_SCHEMA}".encode())
    for statement in _TABLE.split(";"):
        connection.execute(statement.encode())


@pytest.mark.parametrize("statement", SAME_ON_BOTH)
def test_same(statement: str, ours: Connection, theirs: Connection) -> None:
    assert ask(ours, statement) == ask(theirs, statement)


@pytest.mark.parametrize("statement", NOT_ON_SPARK)
def test_computed(statement: str, ours: Connection, theirs: Connection) -> None:
    said = ask(ours, statement)
    if value(ours, "show sluice.engine") == "spark":
        assert said.sqlstate == "0A000"
    else:
        assert said == ask(theirs, statement)

"""ANALYZE's statistics choose plans: estimates of conditions, joins and groups are close to the real counts, and
EXPLAIN shows both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from support.local_member import local_member

from engine.catalog.model.statistics import ColumnStatistics
from engine.planner.optimizer.column_statistics import known_statistics
from engine.planner.optimizer.selectivity import like_matches
from wire.types import pg_types as t

Connection = psycopg.Connection[tuple[Any, ...]]
_ROWS = 20_000


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with local_member(tmp_path_factory.mktemp("statistics")) as member, member.connect() as connection:
        connection.execute(
            "create table orders as select i as id, (i * 7919) % 500 as customer, date '2020-01-01' + i / 50 as day, "
            "case when i % 100 < 70 then 'done' when i % 100 < 95 then 'open' else 'lost' end as status, "
            "((i % 977) * 1.5)::numeric(12, 2) as total, case when i % 20 = 0 then null else 'note ' || i end as note, "
            f"i % 10 = 0 as urgent, timestamp '2020-01-01' + i * interval '1 minute' as at from generate_series(1, {_ROWS}) i"
        )
        connection.execute("create table customers as select i as id, i % 25 as nation from generate_series(0, 499) i")
        connection.execute("analyze")
        yield connection


def _rows(connection: Connection, query: str) -> tuple[int, int]:
    """(estimated, counted)"""
    plan = connection.execute(f"explain analyze {query}".encode()).fetchall()
    found = re.fullmatch(r"FINAL  \(rows=(\d+)\) \(actual rows=(\d+)\)", plan[0][0])
    assert found is not None, plan[0][0]
    return int(found[1]), int(found[2])


@pytest.mark.parametrize(
    "query",
    [
        "select * from orders where status = 'done'",
        "select * from orders where status = 'nothing'",
        "select * from orders where status <> 'done'",
        "select * from orders where status in ('open', 'lost')",
        "select * from orders where status = 'lost' and total > 700",
        "select * from orders where note is null",
        "select * from orders where note is not null",
        "select * from orders where day between '2020-02-01' and '2020-03-01'",
        "select * from orders where at >= '2020-01-05 12:00' and at < '2020-01-06'",
        "select * from orders where total < 100.5",
        "select * from orders where urgent",
        "select * from orders where not urgent",
        "select * from orders where customer in (1, 2, 3)",
        "select * from orders where note like 'note 1%'",
        "select * from orders where status like '%o%'",
        "select * from orders where id < 100 or status = 'lost'",
        "select * from orders join customers on customer = customers.id",
        "select * from orders join customers on customer = customers.id where nation = 3 and status = 'open'",
        "select customer, count(*) from orders group by customer",
        "select nation, sum(total) from orders join customers on customer = customers.id group by nation",
        "select distinct status, urgent from orders",
        "select * from orders left join customers on customer = customers.id and nation = 3",
        "select count(*) from orders",
        "select * from orders order by id limit 10",
        "select * from orders order by id offset 19990",
        "select status from orders union all select 'more'",
        "with c as (select * from customers) select * from c a, c b where a.id = b.id",
    ],
)
def test_estimates_are_near_what_is_there(connection: Connection, query: str) -> None:
    estimated, counted = _rows(connection, query)
    assert max(counted, 10) / 2 <= max(estimated, 10) <= max(counted, 10) * 2


def test_rows_are_in_json_and_may_be_left_out(connection: Connection) -> None:
    query = "select * from orders where status = 'lost'"
    [(plan,)] = connection.execute(f"explain (analyze, format json) {query}".encode()).fetchall()
    told = (plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"]
    assert told["Actual Rows"] == 1000
    assert 500 < told["Plan Rows"] < 2000
    assert told["Plans"][0]["Plan Rows"] == told["Plan Rows"]
    lines = str(connection.execute(f"explain (costs off) {query}".encode()).fetchall())
    assert "rows=" not in lines


def test_what_changes_rows_tells_how_many(connection: Connection) -> None:
    plan = connection.execute("explain analyze update customers set nation = 99 where id < 7").fetchall()
    assert plan[0][0] == "MUTATE  (actual rows=7)"


def test_a_value_that_is_not_common_is_rarer_than_those() -> None:
    column = ColumnStatistics(1, t.TEXT.oid, 0.1, 4, 12, ("a", "b"), (0.5, 0.2), ("c", "g", "m"))
    found = known_statistics(column, 1000)
    assert found.common == {"a": 0.5, "b": 0.2}
    assert found.rest == pytest.approx(0.2)
    assert (found.rest_values, found.bounds) == (10, ["c", "g", "m"])


def test_a_pattern_that_may_be_placed_in_many_ways_is_estimated(connection: Connection) -> None:
    """The planner tries it on the common value of sixty letters: a matcher that tries every place of each letter never ends."""
    connection.execute("create table runs as select repeat('a', 60) as s from generate_series(1, 100)")
    connection.execute("insert into runs select 'b' || i from generate_series(1, 10) i")
    connection.execute("analyze runs")
    for pattern in ("%a%a%a%a%a%a%a%a%b", "%a_%a_%a_%a_%a_%a_%a_%b", "%a" * 600):
        estimated, counted = _rows(connection, f"select * from runs where s like '{pattern}'")
        assert counted == 0
        assert estimated <= 10
    estimated, counted = _rows(connection, "select * from runs where s not like '%a%a%a%a%a%a%a%a%b'")
    assert counted == 110
    assert estimated >= 100


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [("a%", "abc", True), ("a_c", "abc", True), ("a_c", "abbc", False), (r"a\%", "a%", True), (r"a\%", "ab", False),
     ("a.c", "abc", False), ("%\n%", "a\nb", True), ("_", "é", True), ("%a" * 20 + "%b", "a" * 200, False)],
)  # fmt: skip
def test_patterns(pattern: str, text: str, *, matches: bool) -> None:
    assert like_matches(pattern, [text]) == [matches]

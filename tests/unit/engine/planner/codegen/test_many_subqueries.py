"""Statements with many subqueries reach DuckDB in parts, with the rows of PostgreSQL; what cannot be divided is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from sqlglot import exp
from support.binding_ground import TestCatalog, bind
from support.local_member import local_member

from engine.plan_ir.logical import Root
from engine.plan_ir.rewrite import size
from engine.planner.codegen import Bindings, compile_plan, many_subqueries
from engine.planner.planner import optimise
from engine.statements.shared import compiling
from wire.errors import StatementTooComplex

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with local_member(tmp_path_factory.mktemp("subqueries")) as member, member.connect() as connection:
        connection.execute("create table t (a int, s text)")
        connection.execute(
            "insert into t select i, 'x' || i from generate_series(1, 200) i union all select null, null"
        )
        connection.execute("create table one as select 1 as a")
        yield connection


def _rows(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode()).fetchall()


def _list(separator: str, item: Callable[[int], str], count: int) -> str:
    return separator.join(map(item, range(count)))


def _less(i: int) -> str:
    return f"exists (select from one where one.a + {i} > t.a)"


def test_conditions_that_are_all_to_hold(connection: Connection) -> None:
    """DuckDB would plan it for minutes."""
    query = f"select a from t where a <> 3 and {_list(' and ', lambda i: _less(i + 5), 100)} order by a"
    assert _rows(connection, query) == [(1,), (2,), (4,), (5,)]
    query = f"select count(*) from t where {_list(' and ', lambda i: f'not {_less(i)}', 100)}"
    assert _rows(connection, query) == [(102,)]


def test_conditions_of_which_one_is_to_hold(connection: Connection) -> None:
    assert _rows(connection, f"select count(*) from t where {_list(' or ', _less, 100)}") == [(99,)]
    found = _list(" or ", lambda i: f"a in (select a + {i} from one where a < t.a)", 100)
    query = f"select count(*) from t where ({found}) is null"
    assert _rows(connection, query) == [(0,)]


def test_columns(connection: Connection) -> None:
    columns = _list(", ", lambda i: f"(select max(x.a) + {i} from t x where x.a < t.a)", 60)
    assert _rows(connection, f"select {columns} from t where a in (1, 7) order by a") == [
        (None,) * 60,
        tuple(6 + i for i in range(60)),
    ]
    total = _list(" + ", lambda i: f"(select count(*) from t x where x.a < t.a + {i})", 60)
    assert _rows(connection, f"select {total} from t where a = 5") == [(sum(4 + i for i in range(60)),)]


def test_comparisons_with_null(connection: Connection) -> None:
    """An ANY of rows that are not known is not known either, in a part as in the whole."""
    found = _list(" or ", lambda i: f"a > any (select x.a + {i + 300} from t x where x.s > t.s)", 30)
    query = f"select a from t where ({found}) is null and a < 4 order by a"
    assert _rows(connection, query) == []
    assert _rows(connection, f"select a from t where ({found}) is not true and a < 4 order by a") == [(1,), (2,), (3,)]


def test_lateral(connection: Connection) -> None:
    query = "select r0.a, r60.a from one r0" + _list("", lambda i: f", lateral (select r{i}.a + 1) r{i + 1} (a)", 60)
    assert _rows(connection, query) == [(1, 61)]


def test_in_a_subquery_and_in_a_recursion(connection: Connection) -> None:
    inner = _list(" and ", lambda i: f"exists (select from one o where o.a + {i} > x.a - t.a)", 24)
    assert _rows(
        connection, f"select count(*) from t where exists (select from t x where x.a = t.a + 0 and {inner})"
    ) == [(200,)]
    each = _list(" and ", lambda i: f"exists (select from one o where o.a + {i + 20} > r.a)", 24)
    query = f"with recursive r (a) as (select 1 union all select a + 1 from r where {each}) select max(a) from r"
    assert _rows(connection, query) == [(21,)]


def test_joins_groups_and_orders(connection: Connection) -> None:
    """Columns of both inputs are materialized, and the order is that of the statement."""
    conditions = _list(" and ", lambda i: f"exists (select from one o where o.a + {i + 3} > t.a and o.a <= x.a)", 30)
    query = f"select t.a, x.s from t join t x on x.a = t.a + 1 where {conditions} order by t.a desc limit 2"
    assert _rows(connection, query) == [(3, "x4"), (2, "x3")]
    having = _list(" and ", lambda i: f"exists (select from one o where o.a + {i + 1} > g.n)", 30)
    query = f"select k from (select a % 50 as k, count(*) as n from t group by a % 50) g where {having} and k is null"
    assert _rows(connection, query) == [(None,)]


def test_what_cannot_be_divided_is_refused(connection: Connection) -> None:
    """By its subqueries, before it is sent, with what to do."""
    inner = _list(" and ", lambda i: f"exists (select from one o where o.a + {i} > x.a - t.a)", 100)
    with pytest.raises(psycopg.errors.StatementTooComplex, match="too many subqueries") as refused:
        _rows(connection, f"select from t where exists (select from t x where {inner})")
    assert "temporary tables" in (refused.value.diag.message_hint or "")
    with pytest.raises(psycopg.errors.StatementTooComplex, match="too many subqueries"):
        _rows(connection, f"select from t where {_list(' and ', _less, 1000)}")


def test_laterals_that_aggregate_weigh_twice(connection: Connection) -> None:
    def query(count: int) -> str:
        items = _list("", lambda i: f", lateral (select max(a) + 1 from one where a <= r{i}.a) r{i + 1} (a)", count)
        return f"select r{count}.a from one r0{items}"

    assert _rows(connection, query(20)) == [(2,)]
    with pytest.raises(psycopg.errors.StatementTooComplex, match="too many subqueries"):
        _rows(connection, query(61))


def test_all_within_all(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is written as two, so that the compiler's work doubles with each level: on a thread, where others do not wait
    for it, and up to a limit for the system catalog and Spark as well.
    """
    nested = "o_custkey > all (select r_regionkey from region where r_regionkey < o_custkey and "

    def plan(levels: int) -> Root:
        query = "select 1 from orders where " + nested * levels + "true" + ")" * levels
        return optimise(bind(query, TestCatalog()).plan)

    assert size(plan(5)) > compiling._HERE_NODES
    monkeypatch.setattr(many_subqueries, "_WRITTEN_MAX", 100)
    with pytest.raises(StatementTooComplex, match="too many subqueries"):
        compile_plan(plan(8), "spark", Bindings({}, {}, "UTC"))
    of_catalog = "typlen > all (select relnatts from pg_class where relnatts > typlen and "
    with pytest.raises(psycopg.errors.StatementTooComplex, match="too many subqueries"):
        _rows(connection, "select 1 from pg_type where " + of_catalog * 8 + "true" + ")" * 8)


def test_few_stay_as_they_are() -> None:
    assert _materialized(12) == 0
    assert _materialized(13) == 1
    assert _materialized(100) == 8


def _of_orders(i: int) -> str:
    return f"exists (select from orders x where x.o_custkey < o.o_custkey + {i})"


def _materialized(count: int) -> int:
    return len(_parts(f"select 1 from orders o where {_list(' and ', _of_orders, count)}"))


def _parts(query: str) -> list[exp.CTE]:
    plan = optimise(bind(query, TestCatalog()).plan)
    return list(compile_plan(plan, "local", Bindings({}, {}, "UTC")).statement.find_all(exp.CTE))


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("select 1 from orders o where {some}", 1),
        ("select 1 from orders o where not ({all}) or ({some}) is null", 2),
        ("select 1 from orders o where ({some}) and o_custkey / o_orderkey > 1 or ({all})", 2),
        ("select case when {some} then 1 when {all} then 2 end from orders o", 2),
        ("select {list} from orders o", 9),
    ],
)
def test_few_columns_are_passed_on(query: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What DuckDB takes to plan a part grows with them. One more is what the subqueries compare."""
    monkeypatch.setattr(many_subqueries, "_STATEMENT_MAX", 1000)
    query = query.format(
        some=_list(" or ", _of_orders, 100), all=_list(" and ", _of_orders, 99), list=_list(", ", _of_orders, 100)
    )
    parts = _parts(query)
    assert len(parts) >= 8
    passed_on = [{column.alias for column in part.this.expressions} for part in parts]
    assert max(sum(int(name[1:]) > 1_000_000_000 for name in names) for names in passed_on) == most

"""Long ANDs and ORs reach DuckDB in groups, with the rows that PostgreSQL's rules give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlglot import exp
from support.binding_ground import TestCatalog, bind
from support.local_member import local_member

from engine.planner.codegen import Bindings, compile_plan
from engine.planner.planner import optimise


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with local_member(tmp_path_factory.mktemp("conditions")) as member, member.connect() as connection:
        connection.execute("create table v (n int, b int, s text)")
        connection.execute(
            "insert into v select i, nullif(i % 7, 0), 'x' || i from generate_series(1, 400) i union all select null, null, null"
        )
        yield connection


def _rows(connection: psycopg.Connection[tuple[Any, ...]], condition: str) -> list[Any]:
    query = f"select n from v where {condition} order by n"
    return [n for (n,) in connection.execute(query.encode()).fetchall()]


def _list(separator: str, item: str, count: int) -> str:
    return separator.join(item.format(i=i) for i in range(count))


def test_comparisons_of_one_column(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    assert _rows(connection, _list(" and ", "n <> {i}", 300)) == list(range(300, 401))
    assert _rows(connection, "not (" + _list(" and ", "n <> {i}", 300) + ")") == list(range(1, 300))
    assert _rows(connection, "(" + _list(" and ", "n <> {i}", 300) + ") is null") == [None]


def test_branches_of_several_conditions(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    either = _list(" or ", "(n = {i} and s = 'x{i}')", 300)
    assert _rows(connection, either) == list(range(1, 300))
    assert _rows(connection, f"not ({either})") == list(range(300, 401))
    assert _rows(connection, f"b = 3 and ({either})") == list(range(3, 300, 7))
    assert _rows(connection, "(n, s) in (" + _list(", ", "({i}, 'x{i}')", 300) + ")") == list(range(1, 300))


def test_what_comes_first_protects_what_follows(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """b is null where it would divide by zero; the conditions are computed in their order."""
    guards = _list(" and ", "n <> {i}", 400)
    assert _rows(connection, f"{guards} and 10 / (n - 399) = 10") == [400]
    either = _list(" or ", "(n <> 0 and n = {i})", 399)
    assert _rows(connection, f"n = 399 or {either} or (n > 399 and 10 / (n - 399) = 10)") == list(range(1, 401))


@pytest.mark.long
def test_joins_and_subqueries_are_left_to_the_engine(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    keys = _list(" and ", "x.n + {i} = y.n + {i}", 100)
    query = f"select count(*) from v x join v y on {keys} where " + _list(" and ", "x.n <> {i}", 300)
    assert connection.execute(query.encode()).fetchone() == (101,)
    either = _list(" or ", "(n = {i} and exists (select from v y where y.n = v.n + 100))", 70)
    assert _rows(connection, either) == list(range(1, 70))


def test_short_ones_stay_as_they_are() -> None:
    """DuckDB reads them for the row groups that it leaves out, and for joins."""
    assert _cases(_list(" and ", "o_custkey <> {i}", 64)) == 0
    assert _cases(_list(" or ", "o_custkey = {i}", 500)) == 0
    assert _cases(_list(" and ", "o_custkey <> {i}", 64 * 3)) == 2
    assert _cases(_list(" or ", "(o_custkey = {i} and o_orderkey = {i})", 64 * 3)) == 3
    assert _cases(_list(" and ", "o_custkey + {i} = o_orderkey", 200)) == 0


def _cases(condition: str) -> int:
    plan = optimise(bind(f"select 1 from orders where {condition}", TestCatalog()).plan)
    return len(list(compile_plan(plan, "local", Bindings({}, {}, "UTC")).statement.find_all(exp.Case)))

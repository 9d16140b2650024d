"""Equalities of a WHERE with subqueries, or among many relations, become conditions of joins, where they mean the same there."""

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

_IN = "o_orderkey in (select c_nationkey from customer)"


def _joins(sql: str) -> list[str]:
    plan = optimise(bind(sql, TestCatalog()).plan)
    statement = compile_plan(plan, "local", Bindings({}, {}, "UTC")).statement
    outermost = max(statement.find_all(exp.Select), key=lambda select: len(select.args.get("joins") or ()))
    return [join.args["on"].sql() if join.args.get("on") else join.kind for join in outermost.args["joins"]]


def test_each_join_is_given_its_own() -> None:
    [first, second] = _joins(
        "select 1 from customer c, orders o, lineitem l where l_orderkey = o_orderkey and c_custkey = o_custkey"
        f" and {_IN}"
    )
    assert all(name in first for name in ("c_custkey", "o_custkey"))
    assert all(name in second for name in ("l_orderkey", "o_orderkey"))


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 from customer c, orders o where c_custkey = o_custkey and o_totalprice > 1",
        f"select 1 from customer c, orders o where c_custkey + 1 = o_custkey and {_IN}",
        f"select 1 from customer c, orders o where c_custkey > o_custkey and {_IN}",
        f"select 1 from customer c, orders o where c_custkey = 1 and {_IN}",
        f"select 1 from (select 1 / c_custkey k from customer) c, orders o where k = o_custkey and {_IN}",
    ],
    ids=["without a subquery", "of an expression", "not an equality", "of one side", "of a computed column"],
)
def test_others_stay(sql: str) -> None:
    assert _joins(sql) == ["CROSS"]


def test_outer_joins_keep_theirs() -> None:
    sql = (
        f"select 1 from customer c left join orders o on c_custkey = o_custkey where c_nationkey = o_orderkey and {_IN}"
    )
    assert all("c_nationkey" not in on for on in _joins(sql))


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with local_member(tmp_path_factory.mktemp("equalities")) as member, member.connect() as connection:
        connection.execute("create table a as select x, x % 7 z from generate_series(1, 30000) x")
        connection.execute("create table b as select x, x % 5 w from generate_series(1, 30000) x")
        connection.execute("create table k as select z from generate_series(1, 3) z")
        yield connection


def test_rows_are_not_paired_before_they_are_told_apart(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """DuckDB would form 900 million pairs."""
    connection.execute("set statement_timeout = '60s'")
    found = connection.execute(
        "select count(*) from a, b where a.x = b.x and ((select z > 1 from k where z = b.w + a.z) or b.w = 1)"
        " and a.z in (select z from k)"
    ).fetchall()
    expected = sum(x % 7 in (1, 2, 3) and (x % 5 == 1 or x % 5 + x % 7 in (2, 3)) for x in range(1, 30001))
    assert found == [(expected,)]


def _window(relations: int, condition: str, *, width: int = 2) -> str:
    """A join of relations, each with conditions on `width` ones before it."""
    pairs = ((i, j) for i in range(relations) for j in range(max(i - width, 0), i))
    conditions = " and ".join(condition.format(one=f"t{i}", other=f"t{j}") for i, j in pairs)
    return "from " + ", ".join(f"orders t{i}" for i in range(relations)) + " where " + conditions


def test_a_large_class_is_joined_by_one_equality_for_each_relation() -> None:
    found = _joins("select 1 " + _window(20, "{one}.o_orderkey = {other}.o_custkey"))
    # All columns are equal, but the first relation's key and the last one's customer, which have no condition.
    assert [on.count(" = ") for on in found] == [2] * 18 + [1]


@pytest.mark.parametrize("relations", [5, 12])
def test_joins_of_few_relations_are_left_to_duckdb(relations: int) -> None:
    assert set(_joins("select 1 " + _window(relations, "{one}.o_orderkey = {other}.o_custkey"))) == {"CROSS"}


def test_small_classes_keep_their_equalities() -> None:
    found = _joins("select 1 " + _window(20, "{one}.o_orderkey = {other}.o_custkey", width=1))
    assert [on.count(" = ") for on in found] == [1] * 19


def test_an_inequality_stays() -> None:
    found = _joins(
        "select 1 " + _window(20, "{one}.o_orderkey = {other}.o_custkey and {one}.o_custkey / {other}.o_orderkey > 1")
    )
    assert not any("/" in on for on in found)


@pytest.mark.parametrize(
    ("relations", "condition"),
    [
        (13, "{one}.x = {other}.y"),
        (70, "{one}.x = {other}.x"),
        (70, "{one}.x = {other}.n"),
        (70, "{one}.s = {other}.v"),
        (70, "{one}.x = {first}.y"),
        (200, "{one}.x = {other}.y"),
        (40, "{one}.x + 1 = {other}.y + 1"),
        (120, "{one}.x + 1 = {other}.y + 1"),
        (120, "{one}.x + {first}.x = {other}.y + {first}.y"),
    ],
    ids=[
        "few",
        "a column",
        "two types",
        "two types of text",
        "one relation",
        "two columns",
        "few expressions",
        "expressions",
        "expressions of two relations",
    ],
)
def test_many_relations_have_the_rows_of_their_conditions(
    connection: psycopg.Connection[tuple[Any, ...]], relations: int, condition: str
) -> None:
    """DuckDB alone takes 30 s and 9 GB for 200 relations."""
    connection.execute(
        "create table if not exists many as select x, x y, x::bigint n, x::text s, x::varchar v"
        " from generate_series(1, 6) x union all select null, null, null, null, null"
    )
    pairs = ((i, j) for i in range(relations) for j in range(max(i - 2, 0), i))
    conditions = {condition.format(one=f"t{i}", other=f"t{j}", first="t0") for i, j in pairs}
    tables = ", ".join(f"many t{i}" for i in reversed(range(relations)))
    query = f"select t0.y, t{relations - 1}.y from {tables} where {' and '.join(sorted(conditions))} and t3.x < 4 order by 1"
    assert connection.execute(query.encode()).fetchall() == [(1, 1), (2, 2), (3, 3)]


def test_products_beside_large_classes(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Relations that nothing connects, and conditions that are not equalities, keep their meaning."""
    connection.execute("create table if not exists two as select x, 10 / x z from generate_series(1, 2) x")
    tables = ", ".join(f"two t{i}" for i in range(70))
    alike = " and ".join(f"t{i}.x = t0.x" for i in range(1, 68))
    query = f"select t0.x, t68.x, t69.x from {tables} where {alike} and t67.z > t68.z and t69.x = 1 order by 1, 2"
    assert connection.execute(query.encode()).fetchall() == [(1, 2, 1)]

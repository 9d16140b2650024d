"""Equalities of a WHERE with subqueries become conditions of joins, where they mean the same there."""

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

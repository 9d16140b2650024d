"""The cost of planning is linear in the size of the statement, not quadratic. It is counted in calls of Python functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import pytest
from support.binding_ground import TestCatalog, bind

from engine.planner.codegen import Bindings, compile_plan, to_sql
from engine.planner.planner import optimise


def _list(separator: str, item: Callable[[int], str]) -> Callable[[int], str]:
    return lambda size: separator.join(map(item, range(size)))


#: A statement of each kind by its size.
_STATEMENTS: Final[dict[str, Callable[[int], str]]] = {
    "sum": lambda n: "select " + "+".join(["1"] * n),
    "concatenation": lambda n: "select " + "||".join(["o_comment"] * n) + " from orders",
    "or": lambda n: "select 1 from orders where " + _list(" or ", lambda i: f"o_custkey = {i}")(n),
    "and": lambda n: "select 1 from orders where " + _list(" and ", lambda i: f"o_custkey <> {i}")(n),
    "or of and": lambda n: "select 1 from orders where "
    + _list(" or ", lambda i: f"(o_custkey = {i} and o_comment = 'x{i}')")(n),
    "in of rows": lambda n: "select 1 from orders where (o_custkey, o_comment) in ("
    + _list(",", lambda i: f"({i}, 'x{i}')")(n) + ")",
    "in of expressions": lambda n: "select 1 from orders where o_custkey in ("
    + _list(",", lambda i: f"o_orderkey + {i}")(n) + ")",
    "values of expressions": lambda n: "values " + _list(",", lambda i: f"({i} + 1, upper('a{i}'))")(n),
    "array": lambda n: "select array[" + _list(",", lambda i: f"o_custkey + {i}")(n) + "] from orders",
    "coalesce": lambda n: "select coalesce(" + _list(",", lambda i: f"nullif(o_custkey, {i})")(n) + ") from orders",
    "group by": lambda n: "select count(*) from orders group by " + _list(",", lambda i: f"o_custkey + {i}")(n),
    "order by": lambda n: "select 1 from orders order by " + _list(",", lambda i: f"o_custkey + {i}")(n),
    "in": lambda n: "select 1 from orders where o_custkey in (" + _list(",", str)(n) + ")",
    "values": lambda n: "values " + _list(",", lambda i: f"({i}, 'a{i}')")(n),
    "columns": lambda n: "select " + _list(",", lambda i: f"o_custkey as c{i}")(n) + " from orders",
    "case": lambda n: "select case " + _list(" ", lambda i: f"when o_custkey = {i} then {i}")(n) + " end from orders",
    "aggregates": lambda n: "select " + _list(",", lambda i: f"sum(o_custkey + {i})")(n) + " from orders",
    "windows": lambda n: "select " + _list(",", lambda i: f"sum(o_custkey) over (order by {i} + o_custkey)")(n)
    + " from orders",
    "cross join": lambda n: "select 1 from " + _list(",", lambda i: f"region r{i}")(n),
    "joins": lambda n: "select 1 from region r0"
    + _list("", lambda i: f" join region r{i + 1} on r{i}.r_regionkey = r{i + 1}.r_regionkey")(n),
    "left joins": lambda n: "select 1 from region r0"
    + _list("", lambda i: f" left join region r{i + 1} on r0.r_regionkey = r{i + 1}.r_regionkey")(n),
    "joins by where": lambda n: "select 1 from " + _list(",", lambda i: f"region r{i}")(n + 1) + " where "
    + _list(" and ", lambda i: f"r{i}.r_regionkey = r{i + 1}.r_regionkey")(n),
    "lateral": lambda n: "select 1 from region r0"
    + _list("", lambda i: f", lateral (select r{i}.r_regionkey) r{i + 1} (r_regionkey)")(n),
    "union": _list(" union all ", lambda i: f"select {i}"),
    "subqueries": lambda n: "select " + _list(",", lambda i: f"(select max(o_custkey + {i}) from orders)")(n),
}  # fmt: skip
#: Subqueries within one another, by their depth.
_NESTED: Final[dict[str, Callable[[int], str]]] = {
    "scalar": lambda n: "select " + "(select o_custkey + " * n + "r_regionkey" + " from orders)" * n + " from region",
    "exists": lambda n: "select 1 from orders where " + "exists (select from region where " * n + "o_custkey > 0" + ")" * n,
    "not in": lambda n: "select 1 from region where " + "r_regionkey not in (select o_custkey from orders where " * n
    + "r_regionkey > 0" + ")" * n,
    "in": lambda n: "select 1 from orders where " + "o_custkey in (select r_regionkey from region where " * n
    + "o_custkey > 0" + ")" * n,
    "operand": lambda n: "select " + "(select max(o_custkey) from orders where o_custkey = " * n + "r_regionkey" + ")" * n
    + " from region",
    "aggregate": lambda n: "select " + "(select sum(o_custkey + " * n + "r_regionkey" + ") from orders)" * n
    + " from region",
    "case": lambda n: "select " + "case when exists (select from orders where o_custkey = r_regionkey and " * n + "true"
    + ") then 1 end = 1" * n + " from region",
    "array": lambda n: "select " + "(array(select " * n + "r_regionkey" + " from orders))[1]" * n + " from region",
    "from": lambda n: "select * from " + "(select * from " * n + "region" + ") x" * n,
    "lateral": lambda n: "select 1 from region, lateral " + "(select r_regionkey from orders, lateral " * n
    + "(select r_regionkey) y" + ") x" * n,
    "with": lambda n: "with x as (" * n + "select 1 as a" + ") select a from x" * n,
    "union": lambda n: "select 1 as a" + " union (select 1 as a" * n + ")" * n,
    "left join": lambda n: "select 1 from " + "orders left join (select 1 as a from " * n + "region"
    + ") x on o_custkey = x.a" * n,
    "having": lambda n: "select 1 from orders group by o_custkey having "
    + "o_custkey > (select count(*) from orders group by o_custkey having " * n + "true" + " limit 1)" * n,
    "function": lambda n: "select " + "upper(" * n + "'a'" + ")" * n,
}  # fmt: skip
_DEPTH: Final = 5
#: A cost that doubles with each level grows 32-fold; one that goes with the cube, 8-fold.
_NESTED_GROWTH: Final = 8
_SIZE: Final = 50
_TIMES: Final = 4
#: A cost that goes with the square grows 16-fold where it is most of the cost.
_GROWTH: Final = 5.5


@pytest.mark.table
@pytest.mark.parametrize("name", _STATEMENTS)
def test_cost_grows_with_the_statement(name: str) -> None:
    statement, catalog = _STATEMENTS[name], TestCatalog()
    _calls(lambda: _planned(statement(3), catalog))
    small = _calls(lambda: _planned(statement(_SIZE), catalog))
    large = _calls(lambda: _planned(statement(_SIZE * _TIMES), catalog))
    assert large < small * _GROWTH, f"{small} calls for {_SIZE}, {large} for {_SIZE * _TIMES}"


@pytest.mark.table
@pytest.mark.parametrize("name", _NESTED)
def test_cost_does_not_double_with_each_level(name: str) -> None:
    """Each level looks through those below it at most a few times: a short text of 24 levels would stop a member for hours."""
    statement, catalog = _NESTED[name], TestCatalog()
    _calls(lambda: _planned(statement(1), catalog))
    small = _calls(lambda: _planned(statement(_DEPTH), catalog))
    large = _calls(lambda: _planned(statement(2 * _DEPTH), catalog))
    assert large < small * _NESTED_GROWTH, f"{small} calls for {_DEPTH} levels, {large} for {2 * _DEPTH}"


@pytest.mark.parametrize("name", ["aggregates", "windows"])
def test_calls_are_not_compared_with_all_others(name: str) -> None:
    """Binding alone, so that what the rest costs does not hide it."""
    statement, catalog = _STATEMENTS[name], TestCatalog()
    bind(statement(3), catalog)
    small = _calls(lambda: bind(statement(2 * _SIZE), catalog))
    large = _calls(lambda: bind(statement(2 * _SIZE * _TIMES), catalog))
    assert large < small * _GROWTH, f"{small} calls for {2 * _SIZE}, {large} for {2 * _SIZE * _TIMES}"


def test_a_parameter_of_a_long_list_costs_little() -> None:
    """Most of it is the parser's. To bind each as an expression and to look at that in each pass takes two hundred calls."""
    catalog = TestCatalog()

    def plan_list(size: int) -> None:
        places = _list(",", lambda i: f"${i + 1}")(size)
        plan = optimise(bind(f"select 1 from orders where o_custkey in ({places})", catalog).plan)
        values = {number: number for number in range(1, size + 1)}
        to_sql(compile_plan(plan, "local", Bindings(values, {}, "UTC")).statement, "local")

    plan_list(1000)
    small, large = _calls(lambda: plan_list(1000)), _calls(lambda: plan_list(2000))
    assert (large - small) / 1000 < 60


def _planned(sql: str, catalog: TestCatalog) -> None:
    plan = optimise(bind(sql, catalog).plan)
    to_sql(compile_plan(plan, "local", Bindings({}, {}, "UTC")).statement, "local")


def _calls(work: Callable[[], object]) -> int:
    """Return the number of function calls, including resumptions of generators, that the work makes."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count

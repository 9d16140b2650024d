"""The compilation of a long statement frees the trees that the statement does not have (`Compilation.free_leftovers`):
otherwise they are garbage that only a visit of all objects finds.
"""

from __future__ import annotations

import gc
from typing import Any

import pytest
from sqlglot import exp
from support.binding_ground import TestCatalog, bind

from engine.common.disposal import take_apart
from engine.contracts.query_id import EngineName
from engine.executors.local.statements import over_tables, readers_of
from engine.plan_ir.logical import Root
from engine.planner.codegen import Bindings, compile_plan
from engine.planner.planner import optimise
from engine.sql.trees.build import call, string
from engine.sql.trees.dialects import to_sql

_ITEMS = 600
#: Nodes that are left: of the columns of relations, and of what stays in caches of templates.
_FEW = 120
_LISTS = {
    "columns": ("select {} from customer", "c_custkey as c{i}"),
    "expressions": ("select {} from customer", "c_custkey + {i} as c{i}"),
    "a subquery's": ("select * from (select {} from customer) x", "c_custkey + {i} as c{i}"),
    "aggregates": ("select {} from customer", "sum(c_custkey + {i}) filter (where c_nationkey = {i})"),
    "keys": ("select count(*) from customer group by {}", "c_custkey + {i}"),
    "order": ("select c_custkey from customer order by {}", "c_custkey + {i}"),
    "windows": ("select {} from customer", "sum(c_custkey) over (order by c_nationkey + {i})"),
    "coalesce": ("select coalesce({}) from customer", "nullif(c_custkey, {i})"),
    "array": ("select array[{}] from customer", "c_custkey + {i}"),
}


def _nodes() -> int:
    return sum(isinstance(thing, exp.Expression) for thing in gc.get_objects())


@pytest.fixture(params=_LISTS)
def plan(request: pytest.FixtureRequest) -> Root:
    text, item = _LISTS[request.param]
    sql = text.format(", ".join(item.format(i=i) for i in range(_ITEMS)))
    return optimise(bind(sql, TestCatalog()).plan)


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_nothing_but_the_statement_is_left(plan: Root, engine: EngineName, without_collector: None) -> None:
    before = _nodes()
    left: list[Any] = [compile_plan(plan, engine, Bindings()).statement]
    assert _nodes() > before + _ITEMS
    take_apart(left)
    assert _nodes() - before < _FEW


@pytest.mark.usefixtures("without_collector")
def test_a_statement_over_other_tables_is_printed_from_a_copy_that_is_freed() -> None:
    readers = [exp.Table(this=call("READ_PARQUET", exp.Array(expressions=[string(f"{i}")]))) for i in range(_ITEMS)]
    tree = exp.Select(expressions=[exp.Star()], from_=exp.From(this=readers[0]))
    tree.set("joins", [exp.Join(this=reader) for reader in readers[1:]])
    text = to_sql(tree, "local")
    assert len(readers_of(text, tree) or ()) == _ITEMS
    before = _nodes()
    assert f"small_{_ITEMS - 1}" in over_tables(text, tuple(f"small_{i}" for i in range(_ITEMS)), tree)
    assert _nodes() == before

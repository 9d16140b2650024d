"""Plans on the Spark of another member: everything below FINAL is one fragment there, and ordered rows are sorted again
here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.distributed_ground import Layout, table

from engine.plan_ir.logical import Root, Sort
from engine.plan_ir.physical import PhysicalPlan, Receive, SingleRouter, Unsynchronized
from engine.planner.distribute import Setting
from engine.planner.distribute.hosted_spark import distribute_to_host


def _hosted(sql: str, folder: Path, parameters: Mapping[int, object] = MappingProxyType({})) -> PhysicalPlan | None:
    file = folder / "t.parquet"
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"]}), file)
    plan = Layout({"t": table("t", [str(file)])}).plan(sql)
    return distribute_to_host(plan, Setting(("host",), "here", {}, parameters, engine="spark"), "host", "there")


@pytest.mark.parametrize(
    ("sql", "carried", "ordered"),
    [
        ("select a, b from t where a > 1", ["a", "b"], []),
        ("select count(*) from t", ["count"], []),
        ("select a, b from t order by b desc", ["a", "b"], ["b"]),
        ("select b from t order by a", ["b", "a"], ["a"]),
        ("select b from t order by a limit 3", ["b", "a"], ["a"]),
    ],
)
def test_a_query_moves_as_a_whole(sql: str, carried: list[str], ordered: list[str], tmp_path: Path) -> None:
    physical = _hosted(sql, tmp_path)
    assert physical is not None
    there, here = physical.fragments
    [edge] = physical.edges
    assert (there.engine, [instance.member for instance in there.instances]) == ("spark", ["host"])
    assert (here.engine, [instance.member for instance in here.instances]) == ("local", ["here"])
    assert (type(edge.router), type(edge.synchronizer)) == (SingleRouter, Unsynchronized)
    assert [column.name for column in edge.columns] == carried
    top = here.root
    assert isinstance(top, Root)
    if ordered:
        assert isinstance(top.input, Sort)
        assert [key.column.name for key in top.input.keys] == ordered
        assert isinstance(top.input.input, Receive)
    else:
        assert isinstance(top.input, Receive)


@pytest.mark.parametrize(("value", "moves"), [(7, True), ([7], True), ([[7]], False), ([], True)])
def test_arrays_of_known_dimensions_move(value: object, moves: bool, tmp_path: Path) -> None:
    sql = "select array_agg(a), row(1, max(b)) from t"
    assert (_hosted(sql, tmp_path, {1: value}) is not None) == moves
    assert _hosted("select a from t", tmp_path, {1: value}) is not None

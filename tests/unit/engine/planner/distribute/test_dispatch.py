"""The specifications that participants receive: statements, edges' schemas, splits, and where a specification differs
by instance.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.answers import differences
from support.distributed_ground import Layout, answer, on_one, table

from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.plan_ir.physical import PhysicalPlan
from engine.plan_ir.spec import InstanceSpec, MemberSpec, SharedSpec
from engine.planner.codegen import Bindings
from engine.planner.distribute import distribute
from engine.planner.distribute.dispatch import specs


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    files = []
    for number in range(3):
        path = tmp_path / f"t[{number}].parquet"
        pq.write_table(pa.table({"k": pa.array(range(number, 30, 3), pa.int32()), "s": ["x"] * 10}), path)
        files.append(str(path))
    return Layout({"t": table("t", files)})


def _told(plan: PhysicalPlan, bindings: Bindings | None = None) -> tuple[SharedSpec, dict[str, MemberSpec]]:
    encoded, members = specs(plan, bindings or Bindings(), "Europe/Berlin", 4096, analyze=True)
    return msgspec.msgpack.decode(encoded, type=SharedSpec), dict(members)


def _instances(members: dict[str, MemberSpec], fragment: int) -> dict[str, InstanceSpec]:
    return {m: i for m, spec in members.items() for i in spec.instances if i.fragment == fragment}


def test_what_all_are_told(layout: Layout) -> None:
    shared, members = _told(layout.distributed("select k from t"))
    assert (shared.time_zone, shared.page_bytes, shared.analyze) == ("Europe/Berlin", 4096, True)
    assert next(iter(members)) == "a"
    [edge] = shared.edges
    assert pa.ipc.read_schema(pa.py_buffer(edge.schema)).types == [pa.int32()]
    assert edge.receivers == ("a",)
    assert set(edge.senders) == set(_instances(members, 1))


def test_files_are_told_as_duckdb_takes_them(layout: Layout) -> None:
    _, members = _told(layout.distributed("select k from t"))
    files = [f for i in _instances(members, 1).values() for r in i.readers for f in r.files]
    assert len(files) == 3
    assert all("[[]" in Path(file).name for file in files)


def test_a_root_that_passes_on_counts(layout: Layout) -> None:
    bindings = Bindings({1: 4, 2: 2})
    plan = layout.plan("select k from t order by s, k limit $1 offset $2")
    setting = replace(layout.setting(), parameters=bindings.parameters)
    shared, _ = _told(distribute(plan, setting), bindings)
    root = shared.fragments[-1]
    assert (root.statement, root.skip, root.count) == (None, 2, 4)
    assert "LIMIT 6" in (shared.fragments[0].statement or "")
    [edge] = shared.edges
    assert edge.synchronizer == "ordered"
    assert pa.ipc.read_schema(pa.py_buffer(edge.schema)).names[-1] == "sort_key"


def test_a_hash_router_has_a_bucket_beside_its_columns(layout: Layout) -> None:
    shared, _ = _told(layout.distributed("select k, count(*) from t group by k"))
    edge = shared.edges[0]
    assert edge.router.kind == "hash"
    assert "bucket" not in pa.ipc.read_schema(pa.py_buffer(edge.schema)).names
    statement = shared.fragments[0].statement or ""
    assert f"% {len(edge.receivers)} AS INT) AS bucket" in statement


def test_an_instance_without_splits_of_a_reader_has_its_own_statement(layout: Layout) -> None:
    pinned = dict(zip(layout.tables["t"].files, "abc", strict=True))
    layout = replace(layout, pinned=pinned)
    layout.tables["u"] = replace(layout.tables["t"], oid=1, files=layout.tables["t"].files[:2])
    shared, members = _told(layout.distributed("select k from t union all select k from u"))
    instances = _instances(members, 1)
    assert [m for m, i in instances.items() if i.statement is not None] == ["c"]
    assert len(instances["c"].readers) == 1
    assert shared.fragments[0].statement != instances["c"].statement


def test_spark_has_tables_of_its_own_for_each_instance(layout: Layout) -> None:
    pinned = dict(zip(layout.tables["t"].files, "bbc", strict=True))
    setting = replace(layout.setting(), pinned=pinned, engine="spark")
    shared, members = _told(distribute(layout.plan("select k, count(*) from t group by k"), setting))
    first = shared.fragments[0]
    assert (first.engine, first.statement) == ("spark", None)
    assert (shared.edges[0].counted, shared.edges[-1].counted) == (False, True)
    parting = shared.edges[0].router.parting or ""
    assert parting.startswith("SELECT")
    assert parting.endswith("FROM part")
    tables = {m: i.tables for m, i in _instances(members, first.id).items()}
    assert [len(tables[m][0].files) for m in "bc"] == [2, 1]
    assert tables["b"][0].version != tables["c"][0].version
    assert f"sluice_{tables['b'][0].oid}_{tables['b'][0].version:x}" in (
        _instances(members, first.id)["b"].statement or ""
    )


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_text_files_are_dealt_out_too(tmp_path: Path, file_format: str) -> None:
    files = []
    for number in range(4):
        path = tmp_path / f"{number}.{file_format}"
        rows = [{"k": number * 10 + i, "s": f"name {i}"} for i in range(10)]
        if file_format == "csv":
            path.write_text("k,s\n" + "".join(f"{r['k']},{r['s']}\n" for r in rows))
        else:
            path.write_text("".join(json.dumps(r) + "\n" for r in rows))
        files.append(str(path))
    options = {"header": "true"} if file_format == "csv" else {}
    layout = Layout({"t": table("t", files, file_format, **options)})  # type: ignore[arg-type]
    plan = layout.plan("select s, sum(k), count(*) from t where k > 3 group by s order by s")
    database = LocalDatabase(EngineConfig(tmp_path / "member"))
    try:
        physical = distribute(plan, layout.setting())
        assert len(physical.fragments) == 3
        want, got = (answer(p, plan, database) for p in (on_one(plan), physical))
        assert differences(want, got, ordered=True) is None
    finally:
        database.close()

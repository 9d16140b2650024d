"""Lookup joins: when they are planned, that rows find their matches whatever their keys, and that the scan reads only
those.

The table has six files with consecutive key ranges, over three members. The rows that look up have nulls, duplicates,
keys that are in no range, and several in one. Answers are those of one member over the same files.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.distributed_ground import MEMBERS, Layout, answers_alike, same, table
from support.mesh_ground import mesh, rows

from engine.contracts.executor import OutputColumn
from engine.contracts.output_cast import carrier_schema
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.plan_ir.logical import OrderKey
from engine.plan_ir.physical import Edge, Instance, PhysicalPlan, RangeRouter, relation_of
from engine.plan_ir.spec import FragmentSpec, SharedSpec
from engine.plan_ir.topology import Link, Topology, TopologyNode
from engine.planner.codegen import Bindings
from engine.planner.distribute import distribute
from engine.planner.distribute.dispatch import specs
from engine.planner.distribute.relocate import relocate
from engine.planner.explain.physical import text_lines

FILES, ROWS = 6, 100
#: What looks up: below all ranges, twice the same, in one range, where ranges meet, between files' values, above all; nulls.
KEYS = (-5, 0, 7, 7, 8, 9, 199, 200, 399, 400, 401, 598, 599, 600, 2**31 - 1, None, None)
DAY = dt.date(2020, 1, 1)


def _key(number: int | None, name: str) -> Any:
    """The same order as values of each type."""
    if number is None:
        return None
    days = dt.timedelta(days=min(number, 10_000))
    moment = dt.datetime(1969, 12, 31) + dt.timedelta(hours=min(number, 10_000), microseconds=1)
    return {"k": number, "d": DAY + days, "ts": moment, "s": f"é{number + 10:010}"}[name]


_TYPES = {"d": pa.date32(), "ts": pa.timestamp("us"), "s": pa.utf8()}


def _columns(numbers: Sequence[int | None], key: pa.DataType) -> dict[str, pa.Array]:
    return {n: pa.array([_key(number, n) for number in numbers], typ) for n, typ in ({"k": key} | _TYPES).items()}


def _written(path: Path, columns: dict[str, Any]) -> str:
    pq.write_table(pa.table(columns), path, row_group_size=ROWS // 4)
    return str(path)


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    folder = tmp_path_factory.mktemp("lookups")
    runs = [range(start, start + ROWS) for start in range(0, FILES * ROWS, ROWS)]
    big = [
        _written(folder / f"big{n}.parquet", _columns(run, pa.int64()) | {"w": [k % 7 for k in run], "n": run})
        for n, run in enumerate(runs)
    ]
    mixed = [
        _written(folder / f"mixed{n}.parquet", {"k": pa.array(range(n, FILES * ROWS, FILES))}) for n in range(FILES)
    ]
    few = _written(folder / "few.parquet", _columns(KEYS, pa.int32()) | {"v": range(len(KEYS))})
    wide = _written(
        folder / "wide.parquet",
        {"k": pa.array([(k * 37) % 700 for k in range(900)], pa.int16()), "v": [k % 100 for k in range(900)]},
    )
    files = {"big": big, "mixed": mixed, "few": [few], "wide": [wide]}
    return Layout({n: table(n, f) for n, f in files.items()}, 2_000, pinned={few: "b"})


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDatabase]:
    database = LocalDatabase(EngineConfig(tmp_path_factory.mktemp("member")))
    yield database
    database.close()


def _lookups(plan: PhysicalPlan) -> list[Edge]:
    return [edge for edge in plan.edges if isinstance(edge.router, RangeRouter)]


def _router(plan: PhysicalPlan) -> RangeRouter:
    [edge] = _lookups(plan)
    assert isinstance(edge.router, RangeRouter)
    return edge.router


# -- answers ---------------------------------------------------------------------------------------------------------

JOINS = ("from few join big", "from big join few", "from few left join big", "from big right join few")


@pytest.mark.parametrize("key", ["k", "d", "ts", "s"])
@pytest.mark.parametrize("joined", JOINS)
def test_rows_go_to_where_their_keys_are(layout: Layout, database: LocalDatabase, joined: str, key: str) -> None:
    physical = same(layout, database, f"select few.v, few.k, big.n, big.w {joined} on few.{key} = big.{key}")
    [edge] = _lookups(physical)
    members = tuple(instance.member for instance in physical.fragment(edge.target).instances)
    assert (_router(physical).members, len(_router(physical).bounds)) == (members, len(MEMBERS) - 1)


@pytest.mark.parametrize(
    "text",
    [
        "select few.v, big.n from few join big on few.k + 1 = big.k",
        "select few.v, big.n from few join big on few.k is not distinct from big.k",
        "select few.v, big.n from few left join big on few.k = big.k and few.v = big.w",
        "select few.v, b.n from few left join (select k as kk, n from big where w > 2) b on few.k = b.kk and b.n > few.v",
        "select few.v, big.n from few join big on few.k = big.k where few.v > 1000",
        "select few.v, big.n from few left join big on few.k = big.k where few.k > 590",
        "select big.w, count(*), sum(few.v) from few join big on few.k = big.k group by big.w",
        "select b.n, few.v, m.k from few join big b on few.k = b.k left join mixed m on m.k = b.n",
        "select big.n from big, few where few.k = big.k and big.s <> few.s || 'x' order by big.n, few.v limit 4",
        "select x.v, big.n from (select k, max(v) as v from few group by k) x join big on x.k = big.k",
    ],
)
def test_whatever_else_is_asked(layout: Layout, database: LocalDatabase, text: str) -> None:
    assert _lookups(same(layout, database, text))


def test_a_filtered_table_that_is_not_read_whole(layout: Layout, database: LocalDatabase) -> None:
    text = "select wide.v, big.n from wide left join big on wide.k = big.k where wide.v = 3"
    assert _lookups(same(layout, database, text))


def test_ranges_are_their_members_where_others_come_between(layout: Layout, database: LocalDatabase) -> None:
    text = "select few.v, big.n from few join big on few.k = big.k"
    united = f"select k as v, k as n from mixed union all {text}"
    pinned = layout.pinned | dict(zip(layout.tables["big"].files, "ccbbbb", strict=True))
    physical = same(replace(layout, pinned=pinned), database, united)
    router, [edge] = _router(physical), _lookups(physical)
    assert router.members == ("c", "b")
    assert tuple(instance.member for instance in physical.fragment(edge.target).instances)[:2] != router.members


def test_the_other_direction(layout: Layout, database: LocalDatabase) -> None:
    """No plan asks for a range router of a descending order yet; its contract has it."""
    text = "select few.v, big.n from few left join big on few.k = big.k"
    physical = layout.distributed(text)
    [edge], router = _lookups(physical), _router(physical)
    key = OrderKey(router.keys[0], descending=True, nulls_first=True)
    # Integers: what is below a bound is at most the one before it.
    bounds = tuple(int(str(bound)) - 1 for bound in router.bounds[::-1])
    turned = replace(edge, router=RangeRouter((key,), bounds, router.members[::-1]))
    edges = tuple(turned if e is edge else e for e in physical.edges)
    answers_alike(layout, database, text, replace(physical, edges=edges))


def test_where_links_forbid_it(layout: Layout, database: LocalDatabase) -> None:
    text = "select few.v, big.n from few left join big on few.k = big.k"
    physical = layout.distributed(text)
    links = {"a": (), "b": (Link("a", "up"),), "c": (Link("a", "up"),)}
    moved = relocate(physical, Topology(tuple(TopologyNode(n, f"{n}:1", to) for n, to in links.items())))
    assert _lookups(physical)
    assert not _lookups(moved)
    assert not any("JOIN READER" in line for line in text_lines(moved))
    answers_alike(layout, database, text, moved)


async def test_between_members(layout: Layout, tmp_path: Path) -> None:
    """The same over a mesh: real streams, and a fragment's own router."""
    few, *big = (str(shutil.copy(file, tmp_path)) for name in ("few", "big") for file in layout.tables[name].files)
    tables = {"few": table("few", [few]), "big": table("big", big)}
    async with mesh(tmp_path, 3) as members:
        names = tuple(member.name for member in members)
        moved = Layout(tables, layout.mirror_limit, {few: names[1]}, names)
        plan = moved.plan("select few.v, big.n from few left join big on few.k = big.k")
        physical = distribute(plan, replace(moved.setting(), initiator=names[0]))
        assert _lookups(physical)
        shared, told = specs(physical, Bindings(), "UTC", 1 << 16)
        schema = carrier_schema([OutputColumn(column.label, column.type) for column in plan.columns])
        found = await rows(members[0].runtime.open(f"{names[0]}:1", shared, told, schema))
    in_ranges = range(FILES * ROWS)
    assert sorted(found, key=str) == sorted(((v, k if k in in_ranges else None) for v, k in enumerate(KEYS)), key=str)


# -- when ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "select big.n, few.v from few full join big on few.k = big.k",
        "select big.n, few.v from big left join few on few.k = big.k",
        "select big.n, few.v from few join big on few.k = big.k + 1",
        "select big.n, few.v from few join big on few.k > big.k",
        "select big.n, few.v from few join big on cast(few.k as numeric) = big.k",
        "select mixed.k, few.v from few join mixed on few.k = mixed.k",
        "select big.n, few.v from few join (select k, max(n) as n from big group by k) big on few.k = big.k",
        "select big.n, wide.v from wide join big on wide.k = big.k",
    ],
)
def test_not_where_it_does_not_apply(layout: Layout, database: LocalDatabase, text: str) -> None:
    assert not _lookups(same(layout, database, text))


def test_not_where_all_can_read_the_few_rows(layout: Layout) -> None:
    text = "select few.v, big.n from few join big on few.k = big.k"
    assert not _lookups(replace(layout, pinned={}, mirror_limit=1 << 20).distributed(text))


def test_not_where_too_much_would_meet_in_one_place(layout: Layout) -> None:
    text = "select few.v, big.n from few join big on few.k = big.k"
    assert not _lookups(replace(layout, mirror_limit=32 * len(KEYS) - 1).distributed(text))


def test_not_where_few_members_have_ranges(layout: Layout) -> None:
    text = "select few.v, b.n from few join big b on few.k = b.k"
    members = ("a", *(f"m{number}" for number in range(9)))
    assert _lookups(replace(layout, members=members).distributed(text))
    two_files = replace(layout.tables["big"], files=layout.tables["big"].files[:2])
    assert not _lookups(replace(layout, members=members, tables={**layout.tables, "big": two_files}).distributed(text))


# -- what is told, and what is read ----------------------------------------------------------------------------------


def test_the_plan_says_so(layout: Layout) -> None:
    lines = text_lines(layout.distributed("select few.v, big.n from few join big on few.k = big.k"))
    assert any(line.endswith("->  JOIN READER") for line in lines)
    assert "  Router: range of k over 3 instances, parted at 200, 400" in lines


def _told(plan: PhysicalPlan) -> SharedSpec:
    encoded, _ = specs(plan, Bindings(), "UTC", 1 << 20)
    return msgspec.msgpack.decode(encoded, type=SharedSpec)


def test_spark_parts_by_the_same_ranges(layout: Layout) -> None:
    plan = layout.plan("select few.v, big.n from few join big on few.k = big.k")
    physical = distribute(plan, replace(layout.setting(), engine="spark"))
    [edge] = (edge for edge in _told(physical).edges if edge.router.kind == "range")
    assert edge.router.parting is not None
    schema = pa.ipc.read_schema(pa.py_buffer(edge.schema))
    at = schema.names.index(_router(physical).keys[0].label)
    keys = pa.array(KEYS, pa.int32())
    columns = [keys if n == at else pa.nulls(len(keys), field.type) for n, field in enumerate(schema)]
    with duckdb.connect() as connection:
        connection.register("part", pa.table(columns, schema))
        numbers = [number for (number,) in connection.execute(edge.router.parting).fetchall()]
    assert numbers == [0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]


def _row_groups(physical: PhysicalPlan, fragment: FragmentSpec, instance: Instance, keys: Sequence[int]) -> int:
    """How many of its row groups an instance reads when these keys arrive at it."""
    [edge] = (edge for edge in _told(physical).edges if edge.router.kind == "range")
    schema = pa.ipc.read_schema(pa.py_buffer(edge.schema))
    values = {field.name: pa.array([keys[0]] * len(keys), field.type) for field in schema}
    values[_router(physical).keys[0].label] = pa.array(keys, pa.int32())
    parameters = {f"r{reader}": [split.file for split in splits] for reader, splits in instance.splits.items()}
    assert fragment.statement is not None
    with duckdb.connect() as connection:
        connection.register(relation_of(edge.id), pa.table(values, schema))
        [[_, told]] = connection.execute(f"explain (analyze, format json) {fragment.statement}", parameters).fetchall()
    return int(json.loads(told)["query"]["total_row_groups_scanned"])


@pytest.mark.parametrize("kind", ["join", "left join"])
def test_the_scan_reads_the_row_groups_that_have_the_keys(layout: Layout, kind: str) -> None:
    physical = layout.distributed(f"select few.v, big.n from few {kind} big on few.k = big.k")
    [edge] = _lookups(physical)
    target = physical.fragment(edge.target)
    [fragment] = (f for f in _told(physical).fragments if f.id == target.id)
    assert all(len(splits) == 2 for instance in target.instances for splits in instance.splits.values())
    assert _row_groups(physical, fragment, target.instances[0], [3, 7]) == 1
    assert _row_groups(physical, fragment, target.instances[0], [3, 160]) == 2
    assert _row_groups(physical, fragment, target.instances[2], [*range(426, 446)] * 9) == 1

"""Co-located joins and aggregates: when no rows move, and that the answers are those of one member over the same files.

`lines` and `heads` are sorted by the same keys, in files that end at different ones; `lines` has keys that `heads` does
not have, and several rows for most. `days` ends where `lines` does. `mixed` is not sorted, `holes` is sorted except for
its nulls. `sales` and `plans` have a folder for each value of k, null among them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.distributed_ground import MEMBERS, Layout, answers_alike, same, table

from engine.catalog.model.objects import Table, TableColumn
from engine.common.sql_type import of
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.plan_ir.physical import HashRouter, Instance, MirrorRouter, PhysicalPlan, SingleRouter
from engine.plan_ir.topology import Link, Topology, TopologyNode
from engine.planner.codegen import Bindings
from engine.planner.distribute import distribute
from engine.planner.distribute.dispatch import specs
from engine.planner.distribute.relocate import relocate
from engine.planner.explain.physical import text_lines
from wire.types import pg_types as t

KEYS = 600
DAY, MOMENT = dt.date(2020, 1, 1), dt.datetime(1969, 12, 20)


def _rows(keys: Sequence[int | None], typ: pa.DataType) -> dict[str, Any]:
    return {
        "k": pa.array(keys, typ),
        "d": [None if k is None else DAY + dt.timedelta(days=k) for k in keys],
        "ts": [None if k is None else MOMENT + dt.timedelta(hours=k, microseconds=1) for k in keys],
        "s": [None if k is None else f"é{k:06}" for k in keys],
        "g": [None if k is None else k % 7 for k in keys],
        "n": range(len(keys)),
    }


def _files(
    folder: Path, name: str, keys: Sequence[int | None], ends: Sequence[int], typ: pa.DataType, group: int = 20
) -> tuple[str, ...]:
    """The rows in files that end at these places."""
    rows = pa.table(_rows(keys, typ))
    files = []
    for first, end in zip([0, *ends], [*ends, rows.num_rows], strict=True):
        path = folder / f"{name}{first}.parquet"
        pq.write_table(rows.slice(first, end - first), path, row_group_size=group)
        files.append(str(path))
    return tuple(files)


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    folder = tmp_path_factory.mktemp("alike")
    lines = [k for k in range(KEYS) for _ in range(k % 4)]
    heads = [k for k in range(-9, KEYS) if k % 5]
    half = len(lines) // 2
    while lines[half] == lines[half - 1]:
        half += 1
    files = {
        "lines": _files(folder, "lines", lines, (140, half, 700), pa.int64()),
        "days": _files(folder, "days", range(KEYS), (lines[half],), pa.int32(), 1000),
        "halves": _files(folder, "halves", lines, (half,), pa.int64(), 1000),
        "heads": _files(folder, "heads", heads, (100, 101, 333), pa.int32()),
        "one": _files(folder, "one", range(0, KEYS, 2), (), pa.int16()),
        "mixed": _files(folder, "mixed", [k * 37 % KEYS for k in range(KEYS)], (200, 400), pa.int64()),
        "holes": _files(folder, "holes", [k if k % 50 else None for k in range(KEYS)], (200, 400), pa.int64()),
    }
    return Layout({name: table(name, paths) for name, paths in files.items()})


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDatabase]:
    database = LocalDatabase(EngineConfig(tmp_path_factory.mktemp("member")))
    yield database
    database.close()


def _moves(plan: PhysicalPlan) -> bool:
    """Whether rows go anywhere but to the initiator."""
    return not all(isinstance(edge.router, SingleRouter) for edge in plan.edges)


def _first(plan: PhysicalPlan) -> tuple[Instance, ...]:
    instances = plan.fragments[0].instances
    assert len(instances) > 1
    return instances


# -- joins -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["k", "d", "ts", "s"])
@pytest.mark.parametrize("kind", ["join", "left join", "right join", "full join"])
def test_tables_in_the_same_order_are_joined_where_they_are(
    layout: Layout, database: LocalDatabase, kind: str, key: str
) -> None:
    physical = same(layout, database, f"select l.n, h.n from lines l {kind} heads h on l.{key} = h.{key}")
    assert not _moves(physical)
    assert all(len(instance.within) == 2 for instance in _first(physical))


@pytest.mark.parametrize(
    "text",
    [
        "select l.n, h.n from lines l join heads h on l.k = h.k and l.g > h.n",
        "select l.n, m.n from lines l join halves m on l.k is not distinct from m.k",
        "select l.n, o.n from lines l left join one o on l.k = o.k",
        "select l.n, h.n from (select k + 1 as x, k, n from lines where g > 2) l join heads h on l.k = h.k",
        "select l.n, h.n, o.n from lines l join heads h on l.k = h.k join one o on o.k = h.k",
        "select l.n, h.n, o.n from lines l left join heads h on l.k = h.k left join one o on o.k = l.k",
        "select a.n, b.n from lines a, lines b where a.k = b.k and a.n <> b.n",
        "select h.k, count(*), sum(l.n) from lines l join heads h on l.k = h.k group by h.k",
        "select x.n, h.n from (select k, count(*) as n from lines group by k having sum(n) > 9) x join heads h on x.k = h.k",
        "select l.n, h.n from lines l join heads h on l.k = h.k where h.k between 100 and 400 and l.s < 'é000399'",
        "select l.n from lines l join heads h on l.k = h.k order by l.n, h.n limit 7 offset 3",
    ],
)
def test_whatever_else_is_asked(layout: Layout, database: LocalDatabase, text: str) -> None:
    assert not _moves(same(layout, database, text))


def test_files_that_end_at_the_same_keys_are_read_whole(layout: Layout, database: LocalDatabase) -> None:
    two = replace(layout, members=("a", "b"))
    physical = same(two, database, "select l.n, d.n from halves l join days d on l.k = d.k")
    assert not _moves(physical)
    assert not any(instance.within for instance in _first(physical))


def test_beside_what_every_instance_has(layout: Layout, database: LocalDatabase) -> None:
    text = (
        "select l.n, o.n, h.n, (select max(g) from one) from lines l join one o on l.g = o.k join heads h on h.k = l.k"
    )
    pinned = dict.fromkeys(layout.tables["one"].files, "c")
    physical = same(replace(layout, mirror_limit=6 << 10, pinned=pinned), database, text)
    assert {type(edge.router) for edge in physical.edges} == {MirrorRouter, SingleRouter}
    assert any(instance.within for fragment in physical.fragments for instance in fragment.instances)


def test_what_moved_is_joined_elsewhere(layout: Layout, database: LocalDatabase) -> None:
    text = "select l.n, m.n, h.n from lines l join heads h on l.k = h.k left join mixed m on m.k = l.n"
    physical = same(layout, database, text)
    assert [type(edge.router) for edge in physical.edges] == [HashRouter, HashRouter, SingleRouter]


@pytest.mark.parametrize(
    "text",
    [
        "select l.n, m.n from lines l join mixed m on l.k = m.k",
        "select l.n, h.n from lines l join holes h on l.k = h.k",
        "select l.n, h.n from lines l join heads h on l.k = h.k + 1",
        "select l.n, h.n from lines l join heads h on l.g = h.g",
        "select l.n, h.n from lines l join heads h on cast(l.k as numeric) = h.k",
        "select x.n, h.n from (select g, k, n from lines order by n limit 300) x join heads h on x.k = h.k",
        "select x.n, h.n from (select g, max(k) as k, count(*) as n from lines group by g) x join heads h on x.k = h.k",
    ],
)
def test_not_where_it_does_not_apply(layout: Layout, database: LocalDatabase, text: str) -> None:
    assert _moves(same(layout, database, text))


# -- groups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["k", "d", "ts", "s"])
def test_groups_lie_together(layout: Layout, database: LocalDatabase, key: str) -> None:
    physical = same(layout, database, f"select {key}, g, count(*), avg(n) from lines group by g, {key}")
    assert not _moves(physical)
    assert len(physical.fragments) == 2


@pytest.mark.parametrize(
    "text",
    [
        "select distinct k, g from lines",
        "select distinct on (k) k, n from lines order by k, n desc",
        "select k, n, rank() over (partition by k order by n) from lines",
        "select k, count(distinct g), array_agg(n order by n) from lines group by k",
        "select l.k, count(*), count(h.n) from lines l left join heads h on l.k = h.k group by l.k",
        "select g, sum(c) from (select k, g, count(*) as c from one group by k, g) x group by g, k",
    ],
)
def test_what_looks_at_groups(layout: Layout, database: LocalDatabase, text: str) -> None:
    assert not any(isinstance(edge.router, HashRouter) for edge in same(layout, database, text).edges)


@pytest.mark.parametrize(
    "text",
    [
        "select h.k, count(*) from lines l left join heads h on l.k = h.k group by h.k",
        "select l.k, h.k, count(*) from lines l full join heads h on l.k = h.k group by l.k, h.k",
        "select k, count(*) from holes group by k",
        "select k, g, count(*) from lines group by rollup (k, g)",
        "select m.k, count(*) from mixed m group by m.k",
    ],
)
def test_groups_that_lie_apart_meet(layout: Layout, database: LocalDatabase, text: str) -> None:
    assert _moves(same(layout, database, text))


# -- where -----------------------------------------------------------------------------------------------------------

_JOIN = "select l.n, h.n from halves l full join days h on l.k = h.k"


@pytest.mark.parametrize(("lines", "heads", "moves"), [("bc", "bc", False), ("bc", "cb", True), ("bb", "bc", True)])
def test_pinned_files_are_joined_where_they_are(
    layout: Layout, database: LocalDatabase, lines: str, heads: str, moves: bool
) -> None:
    pinned = dict(zip(layout.tables["halves"].files, lines, strict=True))
    pinned |= dict(zip(layout.tables["days"].files, heads, strict=True))
    assert _moves(same(replace(layout, pinned=pinned), database, _JOIN)) == moves


def test_files_beside_pinned_ones_are_read_there(layout: Layout, database: LocalDatabase) -> None:
    pinned = dict(zip(layout.tables["halves"].files, "bc", strict=True))
    physical = same(replace(layout, pinned=pinned), database, _JOIN)
    assert not _moves(physical)
    assert [instance.member for instance in _first(physical)] == ["b", "c"]


def test_each_row_is_read_once(layout: Layout) -> None:
    physical = layout.distributed("select l.n, h.n from lines l join heads h on l.k = h.k")
    assert [instance.member for instance in _first(physical)] == sorted(MEMBERS)
    lines = text_lines(physical)
    assert sum(", keys " in line for line in lines) == len(MEMBERS)


def test_where_links_forbid_to_hash(layout: Layout, database: LocalDatabase) -> None:
    counts = "select h.g, count(*) as c from lines l join heads h on l.k = h.k group by h.g"
    text = f"select m.n, x.c from mixed m left join ({counts}) x on m.g = x.g"
    physical = layout.distributed(text)
    links = {"a": (), "b": (Link("a", "up"),), "c": (Link("a", "up"),)}
    moved = relocate(physical, Topology(tuple(TopologyNode(n, f"{n}:1", to) for n, to in links.items())))
    assert any(isinstance(edge.router, HashRouter) for edge in physical.edges)
    assert any(instance.within for fragment in moved.fragments for instance in fragment.instances)
    answers_alike(layout, database, text, moved)


def test_spark_reads_whole_files(layout: Layout) -> None:
    """The names of what it reads depend on the files; the task does not receive row ranges."""
    plan = layout.plan("select l.n, h.n, m.n from lines l join heads h on l.k = h.k join mixed m on m.k = l.n")
    pinned = dict.fromkeys(layout.tables["mixed"].files, "b")
    physical = distribute(plan, replace(layout.setting(), engine="spark", pinned=pinned))
    assert not any(instance.within for fragment in physical.fragments for instance in fragment.instances)


def test_the_statement_is_one_for_all(layout: Layout) -> None:
    physical = layout.distributed("select l.n, h.n from lines l join heads h on l.k = h.k")
    _, members = specs(physical, Bindings(), "UTC", 1 << 20)
    told = [instance for member in members.values() for instance in member.instances if instance.readers]
    assert len(told) == len(MEMBERS)
    assert all(instance.statement is None for instance in told)
    assert len({reader.keys for instance in told for reader in instance.readers}) == len(MEMBERS)


# -- partition columns -----------------------------------------------------------------------------------------------


def _partitioned(folder: Path, name: str, rows: Sequence[tuple[str, int]], files: int) -> Table:
    """A table of (n) by the folders k, each with some files."""
    by_key: dict[str, list[int]] = {}
    for key, n in rows:
        by_key.setdefault(key, []).append(n)
    paths = []
    for key, numbers in by_key.items():
        for number in range(min(files, len(numbers))):
            path = folder / name / f"k={key}" / f"{number}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"n": pa.array(numbers[number::files], pa.int64())}), path)
            paths.append(str(path))
    columns = (*table(name, paths[:1]).columns, TableColumn("k", of(t.TEXT), 2))
    return replace(table(name, paths), columns=columns, partition_by=("k",))


@pytest.fixture(scope="module")
def parted(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    folder = tmp_path_factory.mktemp("parted")
    null = "__HIVE_DEFAULT_PARTITION__"
    sales = [(f"k{n % 12}" if n % 13 else null, n) for n in range(390)]
    plans = [(f"k{n % 14}" if n % 15 else null, n) for n in range(300)]
    tables = {"sales": _partitioned(folder, "sales", sales, 3), "plans": _partitioned(folder, "plans", plans, 2)}
    return Layout(tables)


@pytest.mark.parametrize(
    "text",
    [
        "select k, count(*), sum(n), count(distinct n % 7) from sales group by k",
        "select k, n % 2 as odd, min(n) from sales where n > 20 group by k, n % 2",
        "select distinct k from sales",
        "select k, n, row_number() over (partition by k order by n) from sales",
        "select distinct on (k) k, n from sales order by k, n desc",
        "select s.k, s.n, p.n from sales s join plans p on s.k = p.k",
        "select s.k, count(p.n) from sales s left join plans p on s.k = p.k and s.n = p.n group by s.k",
        "select s.n, p.n from sales s full join plans p on s.k = p.k",
        "select x.k, x.c, p.n from (select k, count(*) as c from sales group by k) x join plans p on x.k = p.k",
    ],
)
def test_what_tables_are_partitioned_by_needs_no_exchange(parted: Layout, database: LocalDatabase, text: str) -> None:
    physical = same(parted, database, text)
    assert not _moves(physical)
    assert not any(instance.within for instance in _first(physical))


def test_partitions_that_members_hold_in_part_are_exchanged(parted: Layout, database: LocalDatabase) -> None:
    files = parted.tables["sales"].files
    whole = {file: MEMBERS[len(file.rpartition("/k=")[2]) % 2] for file in files}
    assert not _moves(same(replace(parted, pinned=whole), database, "select k, sum(n) from sales group by k"))
    mixed = {file: MEMBERS[number % 3] for number, file in enumerate(files)}
    assert _moves(same(replace(parted, pinned=mixed), database, "select k, sum(n) from sales group by k"))


def test_other_columns_of_a_partitioned_table_are_exchanged(parted: Layout, database: LocalDatabase) -> None:
    assert _moves(same(parted, database, "select n % 5 as m, count(*) from sales group by n % 5"))
    assert _moves(same(parted, database, "select upper(k) as u, sum(n) from sales group by upper(k)"))

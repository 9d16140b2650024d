"""Sort orders of files on several members: streams are merged and nothing is sorted, exactly where the order exists.

The runner asserts of every ordered edge that each stream arrives in the order of its keys, so it detects a SORT that
was left out in error, whatever the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.distributed_ground import Layout, answer, on_one, table

from engine.catalog.model.objects import Storage, Table
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.plan_ir.logical import Sort
from engine.plan_ir.physical import Ordered, PhysicalPlan, Sequential
from engine.plan_ir.rewrite import walk_all
from engine.planner.optimizer.file_order import in_split_order

Row = tuple[int | None, int]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDatabase]:
    database = LocalDatabase(EngineConfig(tmp_path_factory.mktemp("member")))
    yield database
    database.close()


def _file(path: Path, rows: Sequence[Row], *, told: bool = True, group: int = 1000) -> str:
    """A file of (a, b). told: whether its footer says that it is sorted by both."""
    a, b = zip(*rows, strict=True)
    values = pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64())})
    order = pq.SortingColumn.from_ordering(values.schema, [("a", "ascending"), ("b", "ascending")]) if told else None
    pq.write_table(values, path, row_group_size=group, sorting_columns=order)
    return str(path)


def _sorted(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row[0] is None, row[0] or 0, row[1]))


def _layout(files: Sequence[str]) -> Layout:
    return Layout({"t": _stored(files)})


def _stored(files: Sequence[str]) -> Table:
    return replace(table("t", files), storage=Storage("t", 0, sort_by=("a", "b")))


def _planned(layout: Layout, text: str) -> PhysicalPlan:
    return in_split_order(layout.distributed(text))


def _sorts(plan: PhysicalPlan) -> bool:
    return any(isinstance(node, Sort) for fragment in plan.fragments for node in walk_all(fragment.root))


def _check(layout: Layout, database: LocalDatabase, text: str) -> PhysicalPlan:
    """Compare with the query run whole, keys in their order: of rows with equal keys any may come first."""
    physical, plan = _planned(layout, text), layout.plan(text)
    expected, found = answer(on_one(plan), plan, database), answer(physical, plan, database)
    assert expected.rows is not None
    assert found.rows is not None, found
    keys = [plan.columns.index(key.column) for key in plan.requirement if key.column in plan.columns]
    assert [[row[k] for k in keys] for row in found.rows] == [[row[k] for k in keys] for row in expected.rows]
    if "limit" not in text:
        assert sorted(map(repr, found.rows)) == sorted(map(repr, expected.rows))
    return physical


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """Six files whose ranges do not overlap, in no order of their names."""
    folder = tmp_path_factory.mktemp("apart")
    parts = [(4, 0), (0, 1), (3, 2), (1, 3), (5, 4), (2, 5)]
    return _layout(
        [_file(folder / f"{n}.parquet", [(at * 100 + i // 3, i % 3) for i in range(300)]) for at, n in parts]
    )


@pytest.mark.parametrize(
    ("query", "sorts"),
    [
        ("select a, b from t order by a, b", False),
        ("select a, b + 1 as c from t where b <> 1 order by a", False),
        ("select a from t order by a, b limit 7", False),
        ("select a from t order by a limit 450 offset 300", False),
        ("select a, b from t order by a, b desc", True),
        ("select a, b from t order by a desc", True),
        ("select a, b from t order by a nulls first", True),
        ("select b, a from t order by b", True),
        ("select a + 0 as a from t order by 1", True),
        ("select a from t order by a fetch first 5 rows with ties", True),
    ],
)
def test_files_that_follow_one_another(apart: Layout, database: LocalDatabase, query: str, sorts: bool) -> None:
    physical = _check(apart, database, query)
    assert len(physical.fragments[0].instances) == 3
    assert _sorts(physical) == sorts


def test_a_limit_reads_the_members_in_turn(apart: Layout, database: LocalDatabase) -> None:
    for query in (
        "select a from t order by a limit 5",
        "select a, count(*), sum(b) from t group by a order by a limit 5",
    ):
        physical = _check(apart, database, query)
        assert [type(edge.synchronizer) for edge in physical.edges] == [Sequential]


def test_groups_without_all_of_their_order_are_not_read_in_turn(apart: Layout, database: LocalDatabase) -> None:
    for query in (
        "select b, count(*) from t group by b order by b limit 5",
        "select a, count(*) from t group by a having count(*) > 1 order by a limit 5",
    ):
        assert not any(isinstance(edge.synchronizer, Sequential) for edge in _check(apart, database, query).edges)


def test_appended_files_that_overlap(tmp_path: Path, database: LocalDatabase) -> None:
    """One on each member is in order whatever the others have; two of one member are not."""
    files = [_file(tmp_path / f"{n}.parquet", [(i * 3 + n, n) for i in range(90)]) for n in range(6)]
    physical = _check(_layout(files[:3]), database, "select a, b from t order by a, b")
    assert not _sorts(physical)
    assert isinstance(physical.edges[0].synchronizer, Ordered)
    assert _sorts(_check(_layout(files), database, "select a, b from t order by a, b"))


def test_ranges_of_one_file(tmp_path: Path, database: LocalDatabase) -> None:
    one = _file(tmp_path / "one.parquet", [(i // 2, i % 2) for i in range(3000)], group=100)
    physical = _check(_layout([one]), database, "select a, b from t order by a")
    assert not _sorts(physical)
    assert all(split.end for instance in physical.fragments[0].instances for split in instance.splits[1])


def test_row_groups_that_are_each_sorted_are_no_sorted_file(tmp_path: Path, database: LocalDatabase) -> None:
    """A footer speaks of its row groups: whether these follow one another is seen by their ranges."""
    rows = [*((i, 0) for i in range(100, 200)), *((i, 0) for i in range(100))]
    files = [_file(tmp_path / f"{n}.parquet", [(a + n * 200, b) for a, b in rows], group=100) for n in range(3)]
    assert _sorts(_check(_layout(files), database, "select a, b from t order by a"))


def test_a_tie_between_row_groups_leaves_the_first_key(tmp_path: Path, database: LocalDatabase) -> None:
    files = [_file(tmp_path / f"{n}.parquet", [(n, 9 - i) for i in (0, 1, 4, 5)][::-1], group=2) for n in range(3)]
    assert not _sorts(_check(_layout(files), database, "select a, b from t order by a"))
    assert _sorts(_check(_layout(files), database, "select a, b from t order by a, b"))


def test_nulls_come_last(tmp_path: Path, database: LocalDatabase) -> None:
    rows: list[Row] = [(i, 0) for i in range(50)] + [(None, i) for i in range(50)]
    files = [_file(tmp_path / f"{n}.parquet", rows, group=30 * (n + 1)) for n in range(3)]
    assert _sorts(_check(_layout(files), database, "select a, b from t order by a nulls first"))
    assert not _sorts(_check(_layout(files), database, "select a, b from t order by a nulls last"))
    more = [*files, *(_file(tmp_path / f"more{n}.parquet", [(n, 0), (None, 0)]) for n in range(3))]
    assert _sorts(_check(_layout(more), database, "select a, b from t order by a"))


@pytest.mark.parametrize("seed", range(6))
def test_whatever_files_there_are(tmp_path: Path, database: LocalDatabase, seed: int) -> None:
    """Files of writers that sort and of some that do not, ranges that overlap or not, nulls, one row or many groups."""
    random = Random(seed)
    files = []
    for number in range(random.randint(2, 7)):
        low = random.choice([number * 50, random.randint(0, 200)])
        values = [low + random.randint(0, 49) for _ in range(random.randint(1, 120))]
        rows: list[Row] = [(None if random.random() < 0.02 else a, random.randint(0, 5)) for a in values]
        told = random.random() < 0.9
        rows = _sorted(rows) if told else rows
        files.append(_file(tmp_path / f"{number}.parquet", rows, told=told, group=random.choice([10, 40, 1000])))
    layout = _layout(files)
    for order in ("a", "a, b", "a desc", "a nulls first", "a, b desc"):
        for tail in ("", " limit 20 offset 30"):
            _check(layout, database, f"select a, b from t where b <> 3 order by {order}{tail}")
        _check(layout, database, f"select a, count(*), max(b) as b from t group by a order by {order} limit 6")

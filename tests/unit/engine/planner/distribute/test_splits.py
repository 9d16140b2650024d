"""Splits: whole files by rendezvous, ranges of row groups, files in the order of a column; balanced, stable, complete."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.distributed_ground import Layout, table

from engine.catalog.model.objects import Table
from engine.plan_ir.logical import TableReader
from engine.plan_ir.physical import Split
from engine.planner.distribute.splits import Reading, assign, plan_reading, reading_in_order
from engine.planner.optimizer.input_size import UNSEEN_BYTES

MEMBERS = ("a", "b", "c", "d")


def _files(sizes: Sequence[int]) -> list[Split]:
    return [Split(f"/lake/part-{number}.parquet", size) for number, size in enumerate(sizes)]


@given(st.lists(st.integers(0, 1000), max_size=60), st.integers(1, 9))
def test_each_file_goes_to_one_member_and_nobody_gets_too_much(sizes: list[int], members: int) -> None:
    files = _files(sizes)
    dealt = assign(files, [f"m{i}" for i in range(members)], {})
    assert sorted(s.file for splits in dealt.values() for s in splits) == sorted(f.file for f in files)
    most = max((sum(s.size for s in splits) for splits in dealt.values()), default=0)
    # An empty file weighs a byte, lest all of them go to one member.
    assert most <= sum(max(s, 1) for s in sizes) / members + max([*sizes, 1])


def test_a_member_that_joins_takes_its_share_and_little_else_moves() -> None:
    random = Random(5)
    files = _files([random.randint(900, 1100) for _ in range(2000)])
    before, after = (assign(files, [f"m{i}" for i in range(n)], {}) for n in (9, 10))
    owners = [{s.file: m for m, splits in dealt.items() for s in splits} for dealt in (before, after)]
    moved = {file for file in owners[0] if owners[0][file] != owners[1][file]}
    assert 150 <= sum(owners[1][file] == "m9" for file in moved) <= 250
    assert len(moved) < 400


def test_many_files_over_many_members() -> None:
    files = _files([1000] * 20_000)
    dealt = assign(files, [f"m{i}" for i in range(500)], {})
    assert {len(splits) for splits in dealt.values()} == {40}


def test_pinned_files_stay() -> None:
    files = _files([10, 10, 10])
    dealt = assign(files, ["a", "b"], {files[0].file: "z", files[1].file: "z"})
    assert dealt["z"] == tuple(files[:2])


# -- over real files -------------------------------------------------------------------------------------------------


def _write(path: Path, rows: Sequence[int | None], group: int = 10) -> str:
    pq.write_table(pa.table({"x": pa.array(rows, pa.int64()), "s": [str(r) for r in rows]}), path, row_group_size=group)
    return str(path)


def _reader(files: Sequence[str], where: str = "") -> tuple[TableReader, Table]:
    plan = Layout({"t": table("t", files)}).plan(f"select x, s from t {where}")
    [reader] = [node for node in plan.walk() if isinstance(node, TableReader)]
    assert isinstance(reader.table, Table)
    return reader, reader.table


def _read(files: Sequence[str], where: str = "", pinned: dict[str, str] | None = None) -> Reading:
    return plan_reading(*_reader(files, where), MEMBERS, pinned or {}, {})


def test_one_file_is_cut_at_its_row_groups(tmp_path: Path) -> None:
    found = _read([_write(tmp_path / "t.parquet", range(100))])
    assert found.ranged
    ranges = sorted((s.first, s.end) for splits in found.splits.values() for s in splits)
    assert len(ranges) == len(MEMBERS)
    assert [r[0] for r in ranges[1:]] == [r[1] for r in ranges[:-1]]
    assert (ranges[0][0], ranges[-1][1]) == (0, 100)
    assert all(first % 10 == 0 for first, _ in ranges)
    assert found.size == sum(s.size for splits in found.splits.values() for s in splits)


def test_row_groups_that_a_filter_excludes_are_nobodys(tmp_path: Path) -> None:
    file = _write(tmp_path / "t.parquet", range(100))
    ranges = sorted((s.first, s.end) for splits in _read([file], "where x >= 60").splits.values() for s in splits)
    assert (ranges[0][0], ranges[-1][1]) == (60, 100)
    assert _read([file], "where x > 1000").splits == {}


def test_few_files_are_cut_by_size(tmp_path: Path) -> None:
    files = [_write(tmp_path / "small.parquet", range(10)), _write(tmp_path / "large.parquet", range(500))]
    found = _read(files)
    assert found.ranged
    by_file = [s.file for splits in found.splits.values() for s in splits]
    assert (by_file.count(files[0]), by_file.count(files[1])) == (1, 3)


def test_as_many_files_as_members_stay_whole(tmp_path: Path) -> None:
    found = _read([_write(tmp_path / f"{i}.parquet", range(50)) for i in range(4)])
    assert not found.ranged
    assert all(s.end is None for splits in found.splits.values() for s in splits)


def test_a_pinned_file_is_not_cut(tmp_path: Path) -> None:
    file = _write(tmp_path / "t.parquet", range(100))
    found = _read([file], pinned={file: "c"})
    assert not found.ranged
    assert list(found.splits) == ["c"]


def test_a_file_that_is_elsewhere_has_an_assumed_size(tmp_path: Path) -> None:
    reader, known = _reader([_write(tmp_path / "t.parquet", range(10))])
    gone = Table(1, "public", "t", known.columns, "parquet", "/x", ("/nowhere/x.parquet",), 77)
    found = plan_reading(reader, gone, MEMBERS, {"/nowhere/x.parquet": "b"}, {})
    assert found.splits == {"b": (Split("/nowhere/x.parquet", UNSEEN_BYTES),)}


# -- in order --------------------------------------------------------------------------------------------------------


def _in_order(
    files: Sequence[str], *, descending: bool = False, pinned: dict[str, str] | None = None
) -> Reading | None:
    reader, known = _reader(files)
    return reading_in_order(reader, known, (reader.columns[0], descending), MEMBERS, pinned or {}, {})


@pytest.mark.parametrize("descending", [False, True])
def test_runs_of_files_are_in_the_order_of_a_column(tmp_path: Path, descending: bool) -> None:
    files = [_write(tmp_path / f"{i}.parquet", range((9 - i) * 10, (9 - i) * 10 + 10)) for i in range(9)]
    found = _in_order(files, descending=descending)
    assert found is not None
    in_turn = [s.file for splits in found.splits.values() for s in splits]
    assert in_turn == (files if descending else files[::-1])
    assert len(found.splits) == len(MEMBERS)
    _, *later = (int(Path(splits[0].file).stem) for splits in found.splits.values())
    assert found.bounds == tuple((9 - i) * 10 + (9 if descending else 0) for i in later)


def test_files_that_overlap_or_have_nulls_have_no_order(tmp_path: Path) -> None:
    first = _write(tmp_path / "1.parquet", range(10))
    assert _in_order([first, _write(tmp_path / "2.parquet", range(9, 20))]) is None
    assert _in_order([first, _write(tmp_path / "3.parquet", [20, None])]) is None
    assert _in_order([first, _write(tmp_path / "4.parquet", [20])], pinned={first: "a"}) is None


@pytest.mark.parametrize("members", [2, 3, 5, 8])
def test_as_many_files_of_about_one_size_as_members_are_one_for_each(members: int) -> None:
    splits = [Split(f"/lake/part-{number}.parquet", 1000 + 7 * number) for number in range(members)]
    dealt = assign(splits, [f"m{number}" for number in range(members)], {})
    assert sorted(len(own) for own in dealt.values()) == [1] * members

"""Splits by key: every row belongs to one member, equal keys belong to the same member, and tables that are not laid
out alike are not split in this way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.distributed_ground import MEMBERS, Layout, table

from engine.catalog.model.objects import Table
from engine.plan_ir.logical import TableReader
from engine.planner.distribute.splits_by_key import Keyed, KeyedReading, readings_by_key


def _write(path: Path, keys: Sequence[int | None], group: int = 10) -> str:
    pq.write_table(pa.table({"x": pa.array(keys, pa.int64())}), path, row_group_size=group)
    return str(path)


def _keyed(files: Sequence[str], where: str = "") -> Keyed:
    plan = Layout({"t": table("t", files)}).plan(f"select x from t {where}")
    [reader] = [node for node in plan.walk() if isinstance(node, TableReader)]
    assert isinstance(reader.table, Table)
    return Keyed(reader, reader.table, reader.columns[0])


def _dealt(
    *tables: Keyed, pinned: dict[str, str] | None = None, members: Sequence[str] = MEMBERS
) -> tuple[KeyedReading, ...] | None:
    return readings_by_key(tables, members, pinned or {}, {})


def _keys(reading: KeyedReading) -> dict[str, list[int]]:
    """Return the keys of each member, from the files and the range that it receives."""
    found = {}
    for member, splits in reading.splits.items():
        low, high = reading.within.get(member, (None, None))
        rows = [key for split in splits for key in pq.read_table(split.file)["x"].to_pylist()]
        found[member] = sorted(k for k in rows if (low is None or k >= int(low)) and (high is None or k < int(high)))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_every_row_is_some_members_and_equal_keys_are_one_members(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    members = [f"m{number}" for number in range(random.randint(2, 6))]
    whole, tables = [], []
    for number in range(2):
        keys = sorted(random.choices(range(400), k=random.randint(300, 600)))
        cuts = sorted(random.sample(range(1, len(keys)), random.randint(0, 7)))
        parts = [keys[a:b] for a, b in zip([0, *cuts], [*cuts, len(keys)], strict=True)]
        tables.append(_keyed([_write(tmp_path / f"{number}-{n}.parquet", part, 4) for n, part in enumerate(parts)]))
        whole.append(keys)
    dealt = _dealt(*tables, members=members)
    assert dealt is not None
    found = [_keys(reading) for reading in dealt]
    for keys, by_member in zip(whole, found, strict=True):
        assert sorted(key for mine in by_member.values() for key in mine) == keys
    owners: dict[int, str] = {}
    for by_member in found:
        for member, mine in by_member.items():
            assert all(owners.setdefault(key, member) == member for key in mine)
    assert len(set(owners.values())) > 1


def test_groups_of_files_are_read_whole(tmp_path: Path) -> None:
    left = [_write(tmp_path / f"l{n}.parquet", range(n * 20, n * 20 + 20)) for n in range(6)]
    right = [_write(tmp_path / f"r{n}.parquet", range(n * 40, n * 40 + 40, 3)) for n in range(3)]
    dealt = _dealt(_keyed(left), _keyed(right))
    assert dealt is not None
    assert not any(reading.within for reading in dealt)
    assert [sorted(map(len, reading.splits.values())) for reading in dealt] == [[2, 2, 2], [1, 1, 1]]


def test_one_file_is_cut(tmp_path: Path) -> None:
    dealt = _dealt(_keyed([_write(tmp_path / "t.parquet", range(300))]))
    assert dealt is not None
    assert all(60 < len(mine) < 140 for mine in _keys(dealt[0]).values())


def test_what_a_filter_excludes_is_nobodys(tmp_path: Path) -> None:
    files = [_write(tmp_path / f"{n}.parquet", range(n * 100, n * 100 + 100)) for n in range(4)]
    dealt = _dealt(_keyed(files, "where x >= 200"))
    assert dealt is not None
    assert {split.file for splits in dealt[0].splits.values() for split in splits} == set(files[2:])


def test_a_table_without_files_is_not_dealt_out(tmp_path: Path) -> None:
    files = [_write(tmp_path / f"{n}.parquet", range(n * 100, n * 100 + 100)) for n in range(4)]
    assert _dealt(_keyed(files, "where x >= 1000")) is None


def test_files_whose_key_is_null_alone_are_one_members(tmp_path: Path) -> None:
    files = []
    for number in range(3):
        folder = tmp_path / "x=__HIVE_DEFAULT_PARTITION__"
        folder.mkdir(exist_ok=True)
        pq.write_table(pa.table({"x": [number] * 10}), folder / f"{number}.parquet")
        files.append(str(folder / f"{number}.parquet"))
    keyed = _keyed(files)
    by_folder = replace(keyed.table, partition_by=("x",))
    [reading] = _dealt(Keyed(replace(keyed.reader, table=by_folder), by_folder, keyed.column)) or (None,)
    # One member has all of it, which is too uneven where another way is possible.
    assert reading is None or len(reading.splits) == 1


@pytest.mark.parametrize("keys", [[149 * n % 299 for n in range(300)], [None, *range(299)]])
def test_not_what_has_no_order_or_no_value(tmp_path: Path, keys: Sequence[int | None]) -> None:
    ordered = _keyed([_write(tmp_path / "o.parquet", range(300))])
    other = _keyed([_write(tmp_path / "t.parquet", keys)])
    assert _dealt(ordered) is not None
    assert _dealt(other) is None
    assert _dealt(ordered, other) is None


def test_not_where_one_would_have_it_all(tmp_path: Path) -> None:
    files = [_write(tmp_path / "a.parquet", range(10)), _write(tmp_path / "b.parquet", range(10, 4000), 4000)]
    assert _dealt(_keyed(files)) is None


@pytest.mark.parametrize("owners", ["aabb", "abab", "aaaa"])
def test_pinned_files_stay(tmp_path: Path, owners: str) -> None:
    files = [_write(tmp_path / f"{n}.parquet", range(n * 10, n * 10 + 10)) for n in range(4)]
    pinned = dict(zip(files, owners, strict=True))
    dealt = _dealt(_keyed(files), pinned=pinned)
    assert dealt is not None
    assert all(pinned[split.file] == member for member, splits in dealt[0].splits.items() for split in splits)


def test_pinned_files_that_share_keys_do_not_meet(tmp_path: Path) -> None:
    files = [_write(tmp_path / f"{n}.parquet", range(n, n + 10)) for n in range(2)]
    assert _dealt(_keyed(files), pinned=dict(zip(files, "ab", strict=True))) is None


def test_what_is_in_everybodys_reach_is_not_drawn_to_one(tmp_path: Path) -> None:
    few = _write(tmp_path / "few.parquet", range(0, 300, 20), 100)
    many = [_write(tmp_path / f"{n}.parquet", range(n * 100, n * 100 + 100)) for n in range(3)]
    assert _dealt(_keyed([few]), _keyed(many), pinned={few: "a"}) is None

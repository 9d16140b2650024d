"""A participant's part of a MUTATE: what it is told, where it may write, what it tells, and what it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mesh_ground import until

from engine.catalog.objects import Constraint, Storage, Table, TableColumn
from engine.mutation.participant import StagedIntents, StagedWriters
from engine.plan.logical import Mutate, Values
from engine.plan.mutation_spec import mutation_spec, rules_of
from engine.plan.physical import StagedChange
from engine.plan.spec import MutationSpec
from engine.spark.write_task import written_by
from engine.sql import types as st
from engine.sql.expr import Column
from engine.storage.staging_area import StagingArea, new_name
from wire import types as t
from wire.errors import CheckViolation, InsufficientPrivilege, IoError
from wire.text_settings import OutputSettings

COLUMNS = (TableColumn("a", st.of(t.INT4), 1, nullable=False), TableColumn("p", st.of(t.VARCHAR, 14), 2, stored="p_2"))
GIVEN = (
    Column(7, "p", st.of(t.VARCHAR, 14)), Column(9, "a", st.of(t.INT4)), Column(3, "kept", st.of(t.BOOL)),
    Column(4, "changed", st.of(t.BOOL)),
)  # fmt: skip


def told(location: str = "table", area: str = "", **storage: Any) -> MutationSpec:
    """An UPDATE of a table with a check, as it arrives."""
    table = Table(1, "public", "t", COLUMNS, "parquet", "", (), storage=Storage(location, 3, **storage))
    p, a, kept, changed = GIVEN
    check = Constraint(5, "positive", "check", ("a",), "a > 0")
    rules = Mutate((), "update", table, Values(GIVEN, ()), (a, p), ((check, kept),), changed=changed)
    spec = mutation_spec(StagedChange(rules, area or new_name(), OutputSettings()))
    return msgspec.msgpack.decode(msgspec.msgpack.encode(spec), type=MutationSpec)


class Rows:
    """Batches that are there."""

    def __init__(self, *batches: list[tuple[str | None, int, bool, bool]]) -> None:
        self.closed = False
        schema = pa.schema([("c7", pa.utf8()), ("c9", pa.int32()), ("c3", pa.bool_()), ("c4", pa.bool_())])
        self._batches = [
            pa.RecordBatch.from_arrays(
                [pa.array(v, f.type) for v, f in zip(zip(*rows, strict=True), schema, strict=True)], schema=schema
            )
            for rows in batches
        ]

    async def next_batch(self) -> pa.RecordBatch | None:
        return self._batches.pop(0) if self._batches else None

    async def close(self) -> None:
        self.closed = True


async def at_once(call: Callable[[], Any]) -> Any:
    return call()


def source(tables: Path, rows: Rows, spec: MutationSpec) -> StagedIntents:
    return StagedWriters(tables, at_once).intents(rows, spec)


@pytest.fixture
def area(tmp_path: Path) -> StagingArea:
    area = StagingArea(tmp_path / "table", new_name())
    (tmp_path / "table").mkdir()
    area.make()
    return area


def test_what_a_participant_is_told_is_what_was_meant() -> None:
    rules = rules_of(told(partition_by=("p_2",), sort_by=("a",)))
    assert [column.name for column in rules.rows] == ["c9", "c7"]
    assert [(constraint.name, column.name) for constraint, column in rules.checks] == [("positive", "c3")]
    assert rules.changed is not None
    assert (rules.changed.name, rules.dropped, rules.twice) == ("c4", None, None)
    assert rules.table.columns == COLUMNS
    assert rules.table.storage == Storage("table", 0, partition_by=("p_2",), sort_by=("a",))


async def test_rows_go_into_the_statements_folder_and_intents_out(tmp_path: Path, area: StagingArea) -> None:
    rows = Rows([("x", 2, True, True), ("y", 1, True, False)], [("x", 1, True, True)])
    intents = source(tmp_path, rows, told(area=area.path.name, partition_by=("p_2",), sort_by=("a",)))
    batch = await intents.next_batch()
    assert batch is not None
    assert await intents.next_batch() is None
    await intents.close()
    written = written_by([batch])
    assert (written.rows, sorted(file.partition for file in written.files)) == (2, [("x",), ("y",)])
    area.keep(written.files)
    there = {file.partition: pq.read_table(tmp_path / "table" / file.path, partitioning=None) for file in written.files}
    assert there["x",].to_pydict() == {"a": [1, 2], "p_2": ["x", "x"]}
    assert [path.name for path in (tmp_path / "table").iterdir() if path.name.startswith("_")] == []
    assert rows.closed


async def test_an_error_leaves_nothing(tmp_path: Path, area: StagingArea) -> None:
    intents = source(tmp_path, Rows([("x", 2, True, True)], [("x", -1, False, True)]), told(area=area.path.name))
    with pytest.raises(CheckViolation) as caught:
        await intents.next_batch()
    assert caught.value.detail == "Failing row contains (-1, x)."
    await intents.close()
    assert list(area.path.iterdir()) == []


async def test_one_that_is_stopped_leaves_nothing(tmp_path: Path, area: StagingArea) -> None:
    class Endless(Rows):
        async def next_batch(self) -> pa.RecordBatch | None:
            return await super().next_batch() or await asyncio.Event().wait()

    intents = source(tmp_path, Endless([("x", 2, True, True)]), told(area=area.path.name))
    running = asyncio.ensure_future(intents.next_batch())
    await until(lambda: list(area.path.iterdir()) != [])
    running.cancel()
    await asyncio.wait([running])
    await intents.close()
    assert list(area.path.iterdir()) == []


async def test_one_that_is_late_finds_no_folder(tmp_path: Path, area: StagingArea) -> None:
    area.abandon()
    intents = source(tmp_path, Rows([("x", 2, True, True)]), told(area=area.path.name))
    with pytest.raises(IoError, match="could not write"):
        await intents.next_batch()
    await intents.close()
    assert not area.path.exists()


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("../elsewhere", ""),
        ("", ""),
        (".", ""),
        ("/etc", ""),
        ("table", ".."),
        ("table", "x"),
        ("table", "_staging-0/../.."),
    ],
)
async def test_a_member_writes_below_its_own_tables_only(tmp_path: Path, location: str, name: str) -> None:
    intents = source(tmp_path / "tables", Rows([("x", 2, True, True)]), told(location, name or new_name()))
    with pytest.raises(InsufficientPrivilege, match="may not write"):
        await intents.next_batch()
    await intents.close()

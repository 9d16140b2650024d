"""A participant's part of a MUTATE: what it receives, where it may write, what it reports, and what it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.session_server import eventually

from engine.catalog.model.objects import Constraint, Sequence, Storage, Table, TableColumn
from engine.catalog.store.store import CatalogStore
from engine.common import sql_type as st
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.executor import SparkExecutor
from engine.plan_ir.expr import Column
from engine.plan_ir.logical import Mutate, Values
from engine.plan_ir.mutation_spec import mutation_spec, rules_of
from engine.plan_ir.physical import StagedChange
from engine.plan_ir.spec import MutationSpec
from engine.statements.dml.participant import StagedIntents, StagedWriters
from engine.statements.shared.sequences import SessionSequences
from engine.storage.staging_area import StagingArea, new_name
from engine.writers.write_result import Written, written_by
from wire.errors import CheckViolation, InsufficientPrivilege, IoError
from wire.types import pg_types as t
from wire.types.text_settings import OutputSettings

COLUMNS = (TableColumn("a", st.of(t.INT4), 1, nullable=False), TableColumn("p", st.of(t.VARCHAR, 14), 2, stored="p_2"))
GIVEN = (
    Column(7, "p", st.of(t.VARCHAR, 14)), Column(9, "a", st.of(t.INT4)), Column(3, "kept", st.of(t.BOOL)),
    Column(4, "changed", st.of(t.BOOL)),
)  # fmt: skip


def table_of(location: str = "table", **storage: Any) -> Table:
    return Table(1, "public", "t", COLUMNS, "parquet", "", (), storage=Storage(location, 3, **storage))


Source = Callable[["Rows", MutationSpec], StagedIntents]


def told(location: str = "table", area: str = "", sequence: Sequence | None = None, **storage: Any) -> MutationSpec:
    """An UPDATE of a table with a check, as it arrives; with a sequence, also of RETURNING p, a where that gives a's values."""
    table = table_of(location, **storage)
    p, a, kept, changed = GIVEN
    check = Constraint(5, "positive", "check", ("a",), "a > 0")
    rules = Mutate((), "update", table, Values(GIVEN, ()), (a, p), ((check, kept),), changed=changed)
    change = StagedChange(rules, area or new_name(), OutputSettings())
    if sequence is not None:
        rules = replace(rules, columns=(p, a), filled=((a, sequence.oid),), passed=((a, a),))
        change = replace(change, rules=rules, sequences={sequence.oid: sequence})
    spec = mutation_spec(change)
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


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[CatalogStore]:
    store = CatalogStore(tmp_path / "catalog.sqlite", tmp_path / "tables")
    yield store
    store.close()


@pytest.fixture
def source(tmp_path: Path, catalog: CatalogStore) -> Callable[[Rows, MutationSpec], StagedIntents]:
    spark = SparkExecutor(SparkConfig(), tmp_path)
    return StagedWriters(tmp_path, at_once, spark, lambda: SessionSequences(catalog)).intents


async def all_of(intents: StagedIntents) -> Written:
    batches = []
    while (batch := await intents.next_batch()) is not None:
        batches.append(batch)
    await intents.close()
    return written_by(batches)


@pytest.fixture
def area(tmp_path: Path) -> StagingArea:
    area = StagingArea(tmp_path / "table", new_name())
    (tmp_path / "table").mkdir()
    area.make()
    return area


def test_what_a_participant_is_told_is_what_was_meant() -> None:
    several = GIVEN[2:]
    rules = Mutate((), "insert", table_of(), Values(GIVEN, ()), GIVEN[1::-1], again=several)
    assert [c.name for c in rules_of(mutation_spec(StagedChange(rules, "", OutputSettings()))).again] == ["c3", "c4"]
    rules = rules_of(told(partition_by=("p_2",), sort_by=("a",)))
    assert [column.name for column in rules.rows] == ["c9", "c7"]
    assert [(constraint.name, column.name) for constraint, column in rules.checks] == [("positive", "c3")]
    assert rules.changed is not None
    assert (rules.changed.name, rules.dropped, rules.twice) == ("c4", None, None)
    assert rules.table.columns == COLUMNS
    assert rules.table.storage == Storage("table", 0, partition_by=("p_2",), sort_by=("a",))


async def test_rows_go_into_the_statements_folder_and_intents_out(
    source: Source, tmp_path: Path, area: StagingArea
) -> None:
    rows = Rows([("x", 2, True, True), ("y", 1, True, False)], [("x", 1, True, True)])
    intents = source(rows, told(area=area.path.name, partition_by=("p_2",), sort_by=("a",)))
    written = await all_of(intents)
    assert (written.rows, sorted(file.partition for file in written.files)) == (2, [("x",), ("y",)])
    area.keep(written.files)
    there = {file.partition: pq.read_table(tmp_path / "table" / file.path, partitioning=None) for file in written.files}
    assert there["x",].to_pydict() == {"a": [1, 2], "p_2": ["x", "x"]}
    assert [path.name for path in (tmp_path / "table").iterdir() if path.name.startswith("_")] == []
    assert rows.closed


async def test_returning_travels_with_the_values_that_sequences_gave(
    source: Source, catalog: CatalogStore, area: StagingArea
) -> None:
    """Two participants, of which the first takes more than it uses."""
    by_fives = Sequence(44, "public", "s", st.of(t.INT8), start=10, increment=5, cache=3, counter=44, first=10)
    spec = told(area=area.path.name, sequence=by_fives)
    first = await all_of(source(Rows([("x", 0, True, True), ("y", 0, True, True)]), spec))
    second = await all_of(source(Rows([("z", 0, True, True)]), spec))
    assert [batch.to_pydict() for batch in first.returned] == [{"c7": ["x", "y"], "c9": [10, 15]}]
    assert [batch.to_pydict() for batch in second.returned] == [{"c7": ["z"], "c9": [25]}]
    assert (first.given, second.given) == (((44, 15),), ((44, 25),))
    assert catalog.read_sequence(by_fives).value == 35


async def test_an_error_leaves_nothing(source: Source, area: StagingArea) -> None:
    intents = source(Rows([("x", 2, True, True)], [("x", -1, False, True)]), told(area=area.path.name))
    with pytest.raises(CheckViolation) as caught:
        await intents.next_batch()
    assert caught.value.detail == "Failing row contains (-1, x)."
    await intents.close()
    assert list(area.path.iterdir()) == []


async def test_one_that_is_stopped_leaves_nothing(source: Source, area: StagingArea) -> None:
    class Endless(Rows):
        async def next_batch(self) -> pa.RecordBatch | None:
            return await super().next_batch() or await asyncio.Event().wait()

    intents = source(Endless([("x", 2, True, True)]), told(area=area.path.name))
    running = asyncio.ensure_future(intents.next_batch())
    await eventually(lambda: list(area.path.iterdir()) != [])
    running.cancel()
    await asyncio.wait([running])
    await intents.close()
    assert list(area.path.iterdir()) == []


async def test_one_that_is_late_finds_no_folder(source: Source, area: StagingArea) -> None:
    area.abandon()
    intents = source(Rows([("x", 2, True, True)]), told(area=area.path.name))
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
async def test_a_member_writes_below_its_own_tables_only(source: Source, location: str, name: str) -> None:
    intents = source(Rows([("x", 2, True, True)]), told(location, name or new_name()))
    with pytest.raises(InsufficientPrivilege, match="may not write"):
        await intents.next_batch()
    await intents.close()

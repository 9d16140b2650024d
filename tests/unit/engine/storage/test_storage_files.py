"""Data files: what a writer leaves on disk, and the statistics of a file's values in Delta's log and in Parquet's
footers.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from support.plans import GT, Plans, call, const, ref

from engine.catalog.model.objects import DataFile, Storage, Table, TableColumn
from engine.common import sql_type as st
from engine.common.sql_type import SqlType
from engine.contracts.executor import ExecutionContext
from engine.contracts.output_cast import carrier_of
from engine.contracts.query_id import QueryId
from engine.executors.engine_config import EngineConfig
from engine.executors.local.executor import LocalExecutor
from engine.plan_ir.logical import Root
from engine.planner.codegen import Bindings, compile_plan
from engine.storage import delta, staging
from engine.storage.staging import TableWriter
from wire.errors import IoError, NumericValueOutOfRange
from wire.types import pg_types as t

INT4, FLOAT8, TEXT = st.of(t.INT4), st.of(t.FLOAT8), st.of(t.TEXT)


def columns(*types: SqlType) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(f"c{i}", typ, i) for i, typ in enumerate(types, 1))


def written(
    folder: Path,
    types: Sequence[SqlType],
    *batches: Sequence[Any],
    storage: Storage | None = None,
    kept_bytes: int = staging.KEPT_BYTES,
) -> tuple[DataFile, ...]:
    """Each batch: an array, or a list of values, for each column."""
    writer = TableWriter(folder, columns(*types), storage or Storage("t", 0), kept_bytes)
    for batch in batches:
        arrays = [
            a if isinstance(a, pa.Array) else pa.array(a, carrier_of(typ)) for a, typ in zip(batch, types, strict=True)
        ]
        writer.write(pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(types))]))
    return writer.finish()


def bounds(file: DataFile, column: str = "c1") -> tuple[Any, Any] | None:
    told = json.loads(file.statistics, parse_float=Decimal)
    return (told["minValues"][column], told["maxValues"][column]) if column in told["minValues"] else None


def test_small_batches_become_one_row_group_of_one_file(tmp_path: Path) -> None:
    (file,) = written(tmp_path, [INT4], *([[i]] for i in range(100)))
    metadata = pq.read_metadata(tmp_path / file.path)
    assert (metadata.num_row_groups, metadata.num_rows, file.rows) == (1, 100, 100)
    assert file.size == (tmp_path / file.path).stat().st_size
    assert pq.read_table(tmp_path / file.path)["c1"].to_pylist() == list(range(100))


def test_files_are_of_bounded_size_and_in_the_order_of_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "FILE_BYTES", 10_000)
    monkeypatch.setattr(staging, "_GROUP_ROWS", 1000)
    parts = [[list(range(i, i + 500))] for i in range(0, 10_000, 500)]
    files = written(tmp_path, [INT4], *parts)
    assert 1 < len(files) < 10
    assert [file.path for file in files] == sorted(file.path for file in files)
    rows = [pq.read_table(tmp_path / file.path)["c1"].to_pylist() for file in files]
    assert list(itertools.chain(*rows)) == list(range(10_000))


def test_every_file_of_a_sorted_table_is_sorted_as_postgresql_sorts(tmp_path: Path) -> None:
    storage = Storage("t", 0, sort_by=("c1", "c2"))
    values = [2.0, float("nan"), None, -1.0], ["é", "a", "b", "B"]
    files = written(
        tmp_path,
        [FLOAT8, TEXT],
        values,
        ([-1.0], [None]),
        ([-1.0], ["a"]),
        ([-1.0], ["B"]),
        storage=storage,
        kept_bytes=40,
    )
    found = [pq.read_table(tmp_path / file.path).to_pydict() for file in files]
    assert repr(found[0]) == repr({"c1": [-1.0, 2.0, float("nan"), None], "c2": ["B", "é", "a", "b"]})
    assert [len(part["c1"]) for part in found] == [4, 3]
    assert found[1] == {"c1": [-1.0] * 3, "c2": ["B", "a", None]}


def test_what_is_abandoned_is_gone(tmp_path: Path) -> None:
    writer = TableWriter(tmp_path, columns(INT4), Storage("t", 0))
    writer.write(pa.RecordBatch.from_arrays([pa.array([1], pa.int32())], names=["c1"]))
    writer.abandon()
    assert list(tmp_path.iterdir()) == []
    assert TableWriter(tmp_path, columns(INT4), Storage("t", 0)).finish() == ()


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(IoError, match="could not write to"):
        written(tmp_path / "nowhere", [INT4], [[1]])
    assert not (tmp_path / "nowhere").exists()


def test_a_numeric_with_more_digits_than_its_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NumericValueOutOfRange):
        written(tmp_path, [st.of(t.NUMERIC, t.numeric_typmod(4, 2))], [[Decimal("100.00")]])


def _micros(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64()).cast(pa.timestamp("us"))


@pytest.mark.parametrize(
    ("typ", "values", "expected"),
    [
        (INT4, [[3, None], [-7], [None]], (-7, 3)),
        (st.of(t.INT8), [[2**63 - 1], [-(2**63)]], (-(2**63), 2**63 - 1)),
        (FLOAT8, [[1.5, -0.0]], (Decimal("-0.0"), Decimal("1.5"))),
        (FLOAT8, [[1.5], [float("nan")], [2.0]], None),
        (FLOAT8, [[1.5, float("inf")]], None),
        (st.numeric(38, 10), [[Decimal("-1234567890123456789.0123456789"), Decimal(0)]],
         (Decimal("-1234567890123456789.0123456789"), Decimal("0E-10"))),
        (TEXT, [["b", None, ""]], ("", "b")),
        (TEXT, [["é" * 40, "x" * 32]], ("x" * 32, "é" * 32 + "\U0010ffff")),
        (TEXT, [[None], [None]], None),
        (st.of(t.DATE), [[19_000, -1]], ("1969-12-31", "2022-01-08")),
        (st.of(t.DATE), [pa.array([2**31 - 1, 0], pa.int32()).cast(pa.date32())], None),
        (st.of(t.TIMESTAMP), [_micros(-1, 1)], ("1969-12-31T23:59:59.999", "1970-01-01T00:00:00.001")),
        (st.of(t.TIMESTAMP), [_micros(0, 2**63 - 1)], None),
        (st.of(t.TIME), [pa.array([0, 86_400_000_000], pa.time64("us"))], ("00:00:00.000000", "24:00:00.000000")),
        (st.of(t.BYTEA), [[b"a"]], None),
        (st.of(t.BOOL), [[True]], None),
        (st.of(t.array_of(t.INT4)), [[[1]]], None),
    ],
    ids=lambda value: None if isinstance(value, list) else str(value),
)  # fmt: skip
def test_bounds_hold_for_all_values(typ: SqlType, values: list[Any], expected: Any, tmp_path: Path) -> None:
    (file,) = written(tmp_path, [typ], *([part] for part in values))
    assert bounds(file) == expected
    told = json.loads(file.statistics)
    assert told["numRecords"] == file.rows == sum(len(part) for part in values)
    if not typ.pg.is_array:
        nulls = sum(part.null_count if isinstance(part, pa.Array) else part.count(None) for part in values)
        assert told["nullCount"] == {"c1": nulls}


def test_delta_takes_the_statistics_for_what_they_are(tmp_path: Path) -> None:
    types = [INT4, st.numeric(38, 10), st.of(t.DATE), st.of(t.TIMESTAMP), st.of(t.TIMESTAMPTZ), TEXT]
    instants = pa.array([1_700_000_000_123_456], pa.int64()).cast(pa.timestamp("us", "UTC"))
    exact = Decimal("1234567890123456789.0123456789")
    folder = tmp_path / "t"
    delta.create(folder, columns(*types))
    files = written(folder, types, [[5], [exact], [19_000], _micros(1_700_000_000_123_456), instants, ["x" * 50]])
    log = delta.Log(str(folder))
    log.commit(7, files, ())
    assert log.published_version.number == 7
    actions = pa.table(DeltaTable(folder).get_add_actions(flatten=True)).to_pylist()[0]
    assert (actions["min.c1"], actions["max.c1"], actions["null_count.c1"]) == (5, 5, 0)
    assert actions["min.c3"].isoformat() == "2022-01-08"
    assert actions["min.c4"].isoformat() == "2023-11-14T22:13:20.123000"
    assert actions["max.c5"].isoformat() == "2023-11-14T22:13:20.124000+00:00"
    assert actions["max.c6"] == "x" * 32 + "\U0010ffff"
    assert DeltaTable(folder).transaction_version("sluice") == 7
    assert delta.open_version(str(folder), 1).files[files[0].path].rows == 1


async def test_a_filter_finds_nan_which_is_greater_than_all(tmp_path: Path) -> None:
    """Parquet's footers leave NaN out of their bounds; a reader that believed them would skip the row."""
    (file,) = written(tmp_path, [FLOAT8, st.of(t.BPCHAR, 9), INT4], [[1.0, float("nan")], ["a    ", "b    "], [1, 2]])
    group = pq.read_metadata(tmp_path / file.path).row_group(0)
    assert [group.column(i).statistics is not None for i in range(3)] == [False, False, True]
    plans = Plans()
    path = str(tmp_path / file.path)
    table = Table(1, "public", "t", columns(FLOAT8), "parquet", str(tmp_path), (path,), storage=Storage("t", 0))
    reader = plans.read(table, "c1")
    filtered = plans.emit(reader, ref(reader.columns[0]), where=call(GT, ref(reader.columns[0]), const(5.0, FLOAT8)))
    executor = LocalExecutor(EngineConfig(tmp_path))
    await executor.start()
    try:
        fragment = compile_plan(Root(filtered.columns, filtered), "local", Bindings({}))
        stream = await executor.open(fragment, ExecutionContext(QueryId("m1", 1)))
        batch = await stream.next_batch()
        assert batch is not None
        assert batch.num_rows == 1
        await stream.close()
    finally:
        await executor.close()

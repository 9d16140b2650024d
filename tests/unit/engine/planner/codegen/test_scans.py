"""Files that Spark's tasks read through DuckDB: what a task receives and returns, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from support.plans import BOOL, GT, INT4, TEXT, UPPER, Plans, call, const, ref, table

from engine.catalog.model.objects import Table
from engine.common.error_codec import TaskError, error_from_text
from engine.common.sql_type import of
from engine.executors.spark import scanning
from engine.executors.spark.scan_task import NOTHING, ScanUnits
from engine.lakes import csv_headers
from engine.plan_ir.expr import And, Expr
from engine.plan_ir.logical import TableReader
from engine.planner.codegen import Bindings, Unsupported, compile_plan, to_sql
from engine.planner.codegen.scan import Scan
from engine.planner.codegen.scans import READER
from engine.planner.distribute.splits import files_to_read
from wire.types import pg_types as t


def folders(folder: Path, **more: Any) -> Table:
    """A table over two files, of which Spark itself would misread the one's folder."""
    for first, name in ((0, "p="), (100, "p=a")):
        (folder / name).mkdir()
        rows = {"x": pa.array(range(first, first + 100), pa.int32()), "s": [f"row {n}" for n in range(100)]}
        pq.write_table(pa.table(rows), folder / name / "f.parquet", row_group_size=10)
    files = [str(folder / "p=" / "f.parquet"), str(folder / "p=a" / "f.parquet")]
    found = table("t", files, [("x", INT4), ("s", TEXT), ("p", TEXT)])
    return replace(found, partition_by=("p",), **more)


def scan_of(reader: TableReader) -> Scan:
    fragment = compile_plan(reader, "spark", Bindings())
    [(name, scan)] = fragment.scans.items()
    assert name in to_sql(fragment.statement, "spark")
    return scan


def given(scan: Scan, monkeypatch: pytest.MonkeyPatch | None = None) -> list[pa.RecordBatch]:
    """Return the batches of a scan's tasks, each sent as PySpark sends it."""
    if monkeypatch is not None:
        monkeypatch.setattr(scanning, "_TASK_BYTES", 100)
    assert isinstance(scan.reader.table, Table)
    tasks = tuple(scanning._tasks(files_to_read(scan.reader, scan.reader.table, {}), ranged=scan.ranged))
    labels = tuple(label for label, _ in scan.columns)
    task = cloudpickle.dumps(ScanUnits(scan.statement, READER, labels, tasks, (), "Asia/Tokyo"))  # type: ignore[no-untyped-call]
    batches = []
    for number in range(len(tasks)):
        numbers = pa.RecordBatch.from_pydict({"id": pa.array([number], pa.int64())})
        batches += cloudpickle.loads(task)([numbers])
    assert monkeypatch is None or len(tasks) > 2
    return batches


def rows(batches: list[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in pa.Table.from_batches(batches).to_pylist()]


def filtered(reader: TableReader, *conditions: Expr) -> TableReader:
    return replace(reader, filter=And(BOOL, conditions))


def test_tasks_give_every_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = scan_of(Plans().read(folders(tmp_path), "x", "p"))
    assert [typ for _, typ in scan.columns] == ["INTEGER", "STRING"]
    expected = [(n, "a" if n >= 100 else "") for n in range(200)]
    assert rows(given(scan)) == rows(given(scan, monkeypatch)) == expected


def test_a_task_reads_what_is_asked_for(tmp_path: Path) -> None:
    reader = Plans().read(folders(tmp_path), "x", "s")
    x, s = reader.columns
    beyond = call(GT, ref(x), const(187, INT4))
    scan = scan_of(filtered(reader, beyond))
    assert rows(given(scan)) == [(n, f"row {n - 100}") for n in range(188, 200)]
    assert isinstance(scan.reader.table, Table)
    assert len(list(files_to_read(scan.reader, scan.reader.table, {}))) == 1
    # What Spark and DuckDB may compute differently is left to Spark.
    both = scan_of(filtered(reader, beyond, call(GT, call(UPPER, ref(s)), const("B", TEXT))))
    assert "UPPER" not in both.statement.upper().split("READ_PARQUET")[1]
    assert scan.name != both.name or scan.statement == both.statement


def test_rows_without_columns_are_counted(tmp_path: Path) -> None:
    batches = given(scan_of(Plans().read(folders(tmp_path))))
    assert sum(batch.num_rows for batch in batches) == 200
    assert {name for batch in batches for name in batch.schema.names} == {NOTHING}


def test_what_cannot_cross_is_refused(tmp_path: Path) -> None:
    found = folders(tmp_path)
    times = replace(found, columns=(*found.columns[:2], replace(found.columns[2], type=of(t.TIME))))
    with pytest.raises(Unsupported, match='column "p" of type time'):
        compile_plan(Plans().read(times, "p"), "spark", Bindings())


def test_an_error_in_a_file_is_told(tmp_path: Path) -> None:
    found = folders(tmp_path)
    wrong = replace(found, columns=(found.columns[0], replace(found.columns[1], type=of(t.DATE)), found.columns[2]))
    with pytest.raises(TaskError) as caught:
        given(scan_of(Plans().read(wrong, "s")))
    error = error_from_text(f"org.apache.spark.SparkException: ... TaskError: {caught.value}\n\tat java")
    assert error is not None
    assert error.sqlstate == "22007"


def test_rows_that_deletion_vectors_name_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = folders(tmp_path, lake="delta")
    gone = {0, 9, 10, 63, 64}
    bits = bytes(sum((8 * byte + bit in gone) << (7 - bit) for bit in range(8)) for byte in range(9))
    scan = scan_of(Plans().read(replace(found, deleted=((found.files[1], bits),)), "x", "p"))
    expected = [(n, "a" if n >= 100 else None) for n in range(200) if n - 100 not in gone]
    assert sorted(rows(given(scan))) == sorted(rows(given(scan, monkeypatch))) == expected


def test_columns_of_csv_files_are_found_by_name(tmp_path: Path) -> None:
    for name, text in (("1", "x,s\n1,a\n"), ("2", "s,more,x\n,,2\n"), ("3", "s\nc\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    files = [str(tmp_path / f"{name}.csv") for name in (1, 2, 3)]
    found = csv_headers.with_columns_by_name(replace(table("t", files, [("x", INT4), ("s", TEXT)]), format="csv"))
    assert rows(given(scan_of(Plans().read(found, "x", "s")))) == [(1, "a"), (2, None), (None, "c")]

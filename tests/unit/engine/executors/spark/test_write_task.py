"""A task that writes, without Spark: pickled as PySpark pickles it, its intents read as the driver reads them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

from engine.catalog.model.objects import Constraint, Storage, Table, TableColumn
from engine.common import sql_type as st
from engine.common.error_codec import TaskError, error_from_text
from engine.contracts.output_cast import carrier_of
from engine.executors.spark.write_task import WritePartition, rules
from engine.plan_ir.expr import Column
from engine.plan_ir.logical import Mutate, Values
from engine.storage.staging_area import StagingArea, new_name
from engine.writers import returned_rows
from engine.writers.write_result import written_by
from wire.errors import InternalError
from wire.types import pg_types as t
from wire.types.text_settings import OutputSettings

TYPES = (st.of(t.INT8), st.numeric(6, 2, typmod=t.numeric_typmod(6, 2)), st.of(t.BOOL))
KEPT = Constraint(7, "kept", "check", ("n",), "n < 5")


def task(folder: Path, *, returning: bool = False, partition_by: tuple[str, ...] = ()) -> WritePartition:
    """INSERT of (k NOT NULL, n), with a check; sent and received. returning: n, k."""
    k, n, kept = (Column(i, name, typ) for i, (name, typ) in enumerate(zip("knc", TYPES, strict=True), 1))
    columns = (TableColumn("k", TYPES[0], 1, nullable=False), TableColumn("n", TYPES[1], 2))
    table = Table(
        9,
        "public",
        "t",
        columns,
        "parquet",
        str(folder),
        ("old.parquet",),
        storage=Storage("t", 3, partition_by=partition_by),
    )
    plan = Mutate((n, k) if returning else (), "insert", table, Values((k, n, kept), ()), (k, n), ((KEPT, kept),))
    schema = pa.schema([(name, carrier_of(typ)) for name, typ in zip("knc", TYPES, strict=True)])
    sent = WritePartition(rules(plan), str(folder), schema.serialize().to_pybytes(), OutputSettings())
    received = cloudpickle.loads(cloudpickle.dumps(sent))  # type: ignore[no-untyped-call]
    assert isinstance(received, WritePartition)
    return received


def batch(*rows: tuple[int | None, str, bool]) -> pa.RecordBatch:
    k, n, kept = zip(*rows, strict=True)
    arrays = [pa.array(k, pa.int64()), pa.array(map(Decimal, n), pa.decimal128(6, 2)), pa.array(kept)]
    return pa.RecordBatch.from_arrays(arrays, names=["c0", "c1", "c2"])


def test_small_batches_become_one_file(tmp_path: Path) -> None:
    received = task(tmp_path)
    assert received.plan.table.columns[1].type.pg is t.NUMERIC
    assert received.plan.table.files == ()
    written = written_by(received(batch((i, "1.50", True)) for i in range(100)))
    (file,) = written.files
    assert (written.rows, file.rows, file.size) == (100, 100, (tmp_path / file.path).stat().st_size)
    assert '"maxValues":{"k":99' in file.statistics
    assert pq.read_table(tmp_path / file.path)["k"].to_pylist() == list(range(100))


def test_no_rows_are_no_file(tmp_path: Path) -> None:
    written = written_by([*task(tmp_path)([]), *task(tmp_path)([])])
    assert (written.rows, written.files) == (0, ())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("row", "state", "message"),
    [
        ((None, "1.50", True), "23502", 'null value in column "k" of relation "t" violates not-null constraint'),
        ((3, "7.25", False), "23514", 'new row for relation "t" violates check constraint "kept"'),
    ],
)
def test_an_error_is_told_whole_and_leaves_nothing(
    tmp_path: Path, row: tuple[int | None, str, bool], state: str, message: str
) -> None:
    with pytest.raises(TaskError) as caught:
        list(task(tmp_path)([batch((1, "1.00", True), row)]))
    error = error_from_text(f"org.apache.spark.SparkException: ... TaskError: {caught.value}\n\tat java")
    assert error is not None
    shown = f"Failing row contains ({'null' if row[0] is None else row[0]}, {row[1]})."
    assert (error.sqlstate, error.message, error.detail) == (state, message, shown)
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_comes_too_late_writes_nothing(tmp_path: Path) -> None:
    area = StagingArea(tmp_path, new_name())
    area.make()
    begun = task(area.path)(iter([batch((1, "1.00", True))]))
    area.abandon()
    with pytest.raises(TaskError) as caught:
        list(begun)
    error = error_from_text(f"TaskError: {caught.value}\n\tat java")
    assert error is not None
    assert error.sqlstate == "58030"
    assert list(tmp_path.iterdir()) == []


def test_rows_that_are_returned_stay_on_disk_until_they_are_asked_for(tmp_path: Path) -> None:
    batches = [batch((1, "1.50", True), (2, "2.50", True)), batch((3, "3.50", True))]
    written = written_by([*task(tmp_path, returning=True)(batches), *task(tmp_path, returning=True)(batches[1:])])
    assert (written.rows, written.returned, len(written.returned_in)) == (4, (), 2)
    given = [row for rows in returned_rows.read(tmp_path, written.returned_in) for row in rows.to_pylist()]
    assert [(float(row["n"]), row["k"]) for row in given] == [(1.5, 1), (2.5, 2), (3.5, 3), (3.5, 3)]
    with pytest.raises(InternalError, match="outside of its folder"):
        returned_rows.read(tmp_path, ["../returned-0.arrow"])


def test_an_error_leaves_no_rows_that_would_be_returned(tmp_path: Path) -> None:
    with pytest.raises(TaskError):
        list(task(tmp_path, returning=True)([batch((1, "1.00", True), (None, "1.00", True))]))
    assert list(tmp_path.iterdir()) == []


def test_a_task_of_a_partitioned_table_knows_by_what(tmp_path: Path) -> None:
    received = task(tmp_path, partition_by=("k",))
    assert received.parted_by == (0,)
    written = written_by(received([batch((7, "1.50", True), (8, "1.50", True), (7, "2.50", True))]))
    assert sorted((file.partition, file.rows) for file in written.files) == [(("7",), 2), (("8",), 1)]

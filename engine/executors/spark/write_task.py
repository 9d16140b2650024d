"""Code of a Spark task that writes into a table: the sink of a MUTATE over the task's partition. It returns its
intents as the result.

Rows are checked, counted and written here as a member would do it (`engine.writers.sink`), so they never leave the
executor. The job's result is one row per task: the number of changed rows, and the files. Only files that such a row
names are ever committed. Of a task that was retried or ran twice at the same time, Spark takes the result of one
attempt, and the initiator removes the files of the others with the statement's folder (`engine.statements.dml.tasks`).

Spark's Python workers import this module only for tasks that write, because it costs them Arrow's Parquet and the sink.
The table travels as a part of the plan, in PySpark's own closures. Types are compared by identity everywhere, so they
travel as their OIDs or definitions.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.common.error_codec import TaskError
from engine.contracts.output_cast import carry_to
from engine.plan_ir.logical import Mutate, Values
from engine.storage.infinities import with_infinities
from engine.writers.parts import writer_of
from engine.writers.returned_rows import ReturnedFile
from engine.writers.sink import RowSink
from engine.writers.write_result import Written, encode_result
from wire.dataclass import dataclass
from wire.errors import InternalError, SqlError
from wire.types import pg_types as t
from wire.types.text_settings import OutputSettings
from wire.types.user_types import type_heard, type_told

#: Rows and bytes per batch for the sink: Spark's own batches are small, so that a first row need not wait.
_BATCH_ROWS: Final = 1 << 16
_BATCH_BYTES: Final = 16 << 20


copyreg.pickle(t.PgType, lambda typ: (type_heard, (type_told(typ),)))


def rules(plan: Mutate) -> Mutate:
    """Return the part of a MUTATE that a task needs: without the plan that finds its rows, and without the table's
    files.
    """
    assert plan.table.storage is not None, "a stored table"
    storage = replace(plan.table.storage, added=(), removed=())
    table = replace(plan.table, files=(), storage=storage, query=None)
    return replace(plan, table=table, input=Values(plan.input.columns, ()), located=None, targets=(), forbidden=None)


@dataclass(frozen=True, slots=True)
class WritePartition:
    """Writes one partition's batches. plan: the MUTATE's `rules`. folder: the statement's (`StagingArea`). schema: the
    Arrow IPC schema message of the carriers. output: the settings with which values are written in messages.
    """

    plan: Mutate
    folder: str
    schema: bytes
    output: OutputSettings

    @property
    def parted_by(self) -> tuple[int, ...]:
        """The positions of the input's columns by which the table is partitioned."""
        table = self.plan.table
        assert table.storage is not None, "a stored table"
        index = {column.id: number for number, column in enumerate(self.plan.input.columns)}
        rows = {c.file_column: index[row.id] for c, row in zip(table.written_columns, self.plan.rows, strict=True)}
        return tuple(rows[name] for name in table.storage.partition_by)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            written = self._write_rows(batches)
        except SqlError as error:
            raise TaskError(error) from None
        yield from encode_result(written)

    def _write_rows(self, batches: Iterable[pa.RecordBatch]) -> Written:
        schema = pa.ipc.read_schema(pa.py_buffer(self.schema))
        writer = writer_of(self.plan, Path(self.folder), self.output)
        sink = RowSink(self.plan, writer, _take, self.output)
        returned = ReturnedFile(Path(self.folder))
        try:
            for batch in _gather_batches(batches):
                sink.write(with_infinities(carry_to(batch, schema)))
                returned.write(sink.take_returned())
            return replace(sink.summarize(writer.finish()), returned_in=returned.finish())
        except BaseException:
            writer.abandon()
            returned.abandon()
            raise


def _gather_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    kept: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        kept.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield pa.concat_batches(kept)
            kept, rows, size = [], 0, 0
    if kept:
        yield pa.concat_batches(kept)


def _take(_sequence: int, _count: int) -> npt.NDArray[np.int64]:
    raise InternalError("values of sequences are the member's to give")

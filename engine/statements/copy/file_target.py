"""The file that a COPY TO writes: in a format whose rows are bytes (`RowForm`), or as Parquet or JSON.

Parquet files use the type that files of stored tables have for each PostgreSQL type (`engine.storage.types`), except
that intervals and times with a time zone are written as text, because no other reader knows their stored form. JSON
files have one object a line, as `row_to_json` prints it. Rows are written while the next ones are produced; only one
batch, or one row group, is in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.catalog.model.objects import TableColumn
from engine.common import sql_type as st
from engine.common.os_errors import kind_of
from engine.common.shielded import shielded
from engine.contracts.batch_stream import BatchStream
from engine.contracts.copy_progress import CopyProgress
from engine.contracts.sessions import ResultColumn
from engine.statements.dml.run import drain
from engine.statements.shared.copy_files import InPool, NewFile
from engine.storage.types import OUR_FORMS, file_schema, to_files
from wire.copy.json_lines import JsonLines
from wire.dataclass import dataclass
from wire.errors import DuplicateColumn, FeatureNotSupported
from wire.types import pg_types as t
from wire.types.output import EncodedColumn, OutputSettings, text_column

_GROUP_BYTES: Final = 64 << 20


class RowForm(Protocol):
    """A format whose rows are bytes (`wire.copy.writer`, `wire.pg.binary_rows`)."""

    def header(self) -> memoryview: ...

    def encode(self, batch: pa.RecordBatch) -> memoryview: ...

    def trailer(self) -> memoryview: ...


class LakeForm(Protocol):
    """A format whose writer buffers rows until it has many."""

    def begin(self, sink: BinaryIO) -> None: ...

    def write(self, batch: pa.RecordBatch) -> None: ...

    def finish(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FileTarget:
    """The file that is written. shown: the path as the statement gives it. lake: the format's writer; None if a
    `RowForm` writes the rows.
    """

    path: Path
    shown: str
    lake: LakeForm | None
    in_pool: InPool

    async def write(self, rows: BatchStream, form: RowForm, progress: CopyProgress) -> int:
        """Write all rows, and keep progress up to date. Returns the number of rows. On SqlError and on a cancel the
        file is as it was before.
        """
        lake = self.lake or _Plain(form)
        begun = asyncio.ensure_future(self.in_pool(lambda: NewFile(self.path, self.shown)))
        try:
            file: NewFile = await shielded(begun)
        except asyncio.CancelledError:
            if begun.exception() is None:
                await shielded(self.in_pool(begun.result().abandon))
            raise

        def write(batch: pa.RecordBatch) -> None:
            lake.write(batch)
            progress.rows += batch.num_rows
            progress.bytes = file.sink.tell()

        def finish() -> None:
            lake.finish()
            file.finish()

        try:
            await shielded(self.in_pool(lambda: lake.begin(file.sink)))
            await drain(rows, write, self.in_pool)
            await shielded(self.in_pool(finish))
        except OSError as error:
            await shielded(self.in_pool(file.abandon))
            raise kind_of(error)(f'could not write to file "{self.shown}": {error.strerror or error}') from error
        except BaseException:
            await shielded(self.in_pool(file.abandon))
            raise
        return progress.rows


def lake_form(form: str, columns: Sequence[ResultColumn]) -> LakeForm | None:
    """Return the writer of a format that clients cannot receive; None for the other formats. Raises DuplicateColumn,
    FeatureNotSupported.
    """
    if form == "json":
        return _Plain(JsonLines())
    if form != "parquet":
        return None
    names = [column.name for column in columns]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise DuplicateColumn(
                f'column name "{name}" specified more than once',
                hint="Columns of a Parquet file have names of their own.",
            )
    return _Parquet(columns)


class _Plain:
    def __init__(self, form: RowForm) -> None:
        self._form = form

    def begin(self, sink: BinaryIO) -> None:
        self._sink = sink
        sink.write(self._form.header())

    def write(self, batch: pa.RecordBatch) -> None:
        self._sink.write(self._form.encode(batch))

    def finish(self) -> None:
        self._sink.write(self._form.trailer())


def no_parquet(column: ResultColumn, target: str) -> FeatureNotSupported:
    """Return the error for a column whose type readers of Parquet would not recognise."""
    return FeatureNotSupported(
        f'not supported: COPY TO {target} of column "{column.name}", of type {column.type.pg.sql_name}',
        hint="COPY a query that casts it to text.",
    )


class _Parquet:
    def __init__(self, columns: Sequence[ResultColumn]) -> None:
        for column in columns:
            if column.type.pg.is_array and column.type.pg in OUR_FORMS:
                raise no_parquet(column, "a Parquet file")
        self._texts = {i: EncodedColumn(c.type.pg) for i, c in enumerate(columns) if c.type.pg in OUR_FORMS}
        types = [st.of(t.TEXT) if i in self._texts else column.type for i, column in enumerate(columns)]
        named = zip(columns, types, strict=True)
        self._schema = file_schema([TableColumn(column.name, typ, i) for i, (column, typ) in enumerate(named, 1)])
        self._kept: list[pa.RecordBatch] = []
        self._bytes = 0

    def begin(self, sink: BinaryIO) -> None:
        self._writer = pq.ParquetWriter(sink, self._schema, compression="snappy")

    def write(self, batch: pa.RecordBatch) -> None:
        for i, column in self._texts.items():
            batch = batch.set_column(i, batch.schema.names[i], _print_texts(column, batch.column(i)))
        self._kept.append(to_files(batch, self._schema))
        self._bytes += batch.nbytes
        if self._bytes >= _GROUP_BYTES:
            self._write_group()

    def finish(self) -> None:
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if self._kept:
            rows = pa.Table.from_batches(self._kept, self._schema)
            self._kept, self._bytes = [], 0
            self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))


def _print_texts(column: EncodedColumn, array: pa.Array) -> pa.Array:
    texts = text_column(column, array, OutputSettings()).join().view(pa.string())
    return pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.string()))

"""Writing parts of a folder as rows of text: the writer of a MUTATE that has a `PartForm`, in place of a table's
writer.

Each writer has its own files, each complete in itself (CSV with its header) and durable before `finish` returns it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

from engine.catalog.model.objects import DataFile, TableColumn
from engine.common.os_errors import kind_of
from engine.contracts.memory_share import MemoryShare, writer_bytes
from engine.plan_ir.logical import Mutate
from engine.plan_ir.part_form import PartForm
from engine.storage import disk
from engine.storage.durable import sync
from engine.storage.in_flight_files import IN_FLIGHT_FILES
from engine.storage.staging import FILE_BYTES, KEPT_BYTES, TableWriter, file_name
from wire.copy.json_lines import JsonLines
from wire.copy.writer import RowWriter
from wire.errors import SqlError
from wire.types.output import EncodedColumn
from wire.types.text_settings import OutputSettings

#: The endings of the names of parts.
SUFFIXES: Final = {"text": "txt", "csv": "csv", "json": "json"}


class Writer(Protocol):
    """The writer of a MUTATE's rows (`engine.storage.staging.TableWriter`). Every method blocks on the disk."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def finish(self) -> tuple[DataFile, ...]: ...

    def abandon(self) -> None: ...


def writer_of(plan: Mutate, folder: Path, output: OutputSettings, memory: MemoryShare | None = None) -> Writer:
    """Return the writer of a MUTATE. folder: the table's, or a statement's in it. output: the settings with which
    values are written as text. memory: the share of which the writer may keep a part.
    """
    assert plan.table.storage is not None, "a stored table"
    if plan.parts is not None:
        return PartWriter(folder, plan.table.columns, plan.parts, output)
    return TableWriter(folder, plan.table.written_columns, plan.table.storage, writer_bytes(memory, KEPT_BYTES))


class PartWriter:
    """Writes rows into parts. A new part is begun when one is full. Raises SqlError."""

    def __init__(self, folder: Path, columns: Sequence[TableColumn], form: PartForm, output: OutputSettings) -> None:
        self._folder = folder
        self._form = form
        self._rows = _rows(columns, form, output)
        self._open: _Part | None = None
        self._done: list[_Part] = []

    def write(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        encoded = self._rows.encode(batch)
        try:
            if self._open is None:
                self.begin()
            assert self._open is not None, "begun"
            self._open.write(encoded, batch.num_rows)
            if self._open.size >= FILE_BYTES:
                self._close()
        except OSError as error:
            raise self._write_error(error) from error

    def begin(self) -> None:
        """Begin a part, even if no row follows. Raises OSError."""
        self._open = _Part(self._folder / file_name(suffix=SUFFIXES[self._form.form]))
        self._open.write(self._rows.header(), 0)

    def finish(self) -> tuple[DataFile, ...]:
        try:
            self._close()
            if self._done:
                sync(self._folder)
        except OSError as error:
            raise self._write_error(error) from error
        return tuple(part.describe() for part in self._done)

    def abandon(self) -> None:
        """Remove what was written."""
        for part in (*self._done, *([] if self._open is None else [self._open])):
            part.discard()
        self._open = None
        self._done.clear()

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._done.append(self._open)
            self._open = None

    def _write_error(self, error: OSError) -> SqlError:
        return kind_of(error)(f'could not write to "{self._folder}": {error.strerror or error}')


class _Part:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = self._count = 0
        IN_FLIGHT_FILES.write(self)
        self._sink = disk.current_disk().create(path)

    def write(self, encoded: memoryview, rows: int) -> None:
        self.size += self._sink.write(encoded)
        self._count += rows

    def close(self) -> None:
        self._sink.close()
        sync(self.path)

    def describe(self) -> DataFile:
        file = DataFile(self.path.name, self.size, self._count)
        IN_FLIGHT_FILES.stage(self.path, file)
        return file

    def discard(self) -> None:
        try:
            self._sink.close()
        finally:
            disk.current_disk().remove(self.path)


def _rows(columns: Sequence[TableColumn], form: PartForm, output: OutputSettings) -> JsonLines | RowWriter:
    if form.form == "json":
        return JsonLines()
    encoded = [
        EncodedColumn(column.type.pg, column.type.typmod, *digits)
        for column, digits in zip(columns, form.digits, strict=True)
    ]
    settings = output if form.encoding is None else replace(output, client_encoding=form.encoding)
    return RowWriter(encoded, [column.name for column in columns], form.layout, settings, framed=False)

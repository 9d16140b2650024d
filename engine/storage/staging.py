"""Writing the data files of a table: staged in its folder, durable, and not yet part of any table.

Files are named by the time and a UUID. Names are never reused, and they sort in the order of creation, in which a
reader without an ORDER BY returns the files' rows. Each file is complete and on disk, with its folder's entry, before
`finish` returns it; so a commit names only files that a crash cannot take away.

Rows are buffered until there are enough for a row group, so that many small batches do not become many small groups.
Where the table has a sort order, a whole file is buffered and sorted when it is written: every file is sorted by
itself, whatever the order in which rows arrive. The total buffer of all open files is bounded: beyond that, the file
with the largest buffer writes it. Partition columns are in the folders' names, as Delta requires, and also in the
files, because readers read a file as it is.
"""

from __future__ import annotations

import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.catalog.model.objects import DataFile, Storage, TableColumn
from engine.common.os_errors import kind_of
from engine.storage import disk
from engine.storage.durable import sync
from engine.storage.in_flight_files import IN_FLIGHT_FILES
from engine.storage.staging_area import SEE_THE_SAME_FOLDER
from engine.storage.statistics import FileStatistics
from engine.storage.types import file_schema, to_files, without_statistics
from wire.errors import FeatureNotSupported

FILE_BYTES: Final = 128 << 20
#: The rows and bytes (in memory) of a row group.
_GROUP_ROWS: Final = 1 << 20
_GROUP_BYTES: Final = 64 << 20
#: The bytes (in memory) that all open files buffer together; for sorted files, the bytes of one file.
KEPT_BYTES: Final = 256 << 20
_OPEN_FILES_MAX: Final = 64
_NAME_MAX: Final = 200
_COMPRESSION: Final = "snappy"

Partition = tuple[str | None, ...]


def file_name(number: int = 0, suffix: str = "parquet") -> str:
    """Return a new file name. number: the file's place among those that are named now, in the order of their creation."""
    return f"{time.time_ns() // 1000 + number:014x}-{uuid.uuid4().hex}.{suffix}"


class TableWriter:
    """Writes rows into new files of a table. Not thread-safe; every method blocks on the disk.

    folder: the table's folder (`Table.path`), or a statement's folder in it (`StagingArea`). Paths are relative to it,
    and it is not created if it is missing. columns: all columns of the table, in its order. kept_bytes: the limit of
    the buffered bytes. Raises FeatureNotSupported for a type that files cannot store.
    """

    def __init__(
        self, folder: Path, columns: Sequence[TableColumn], storage: Storage, kept_bytes: int = KEPT_BYTES
    ) -> None:
        self._folder = folder
        self._kept_bytes = kept_bytes
        self._schema = file_schema(columns)
        self._storage = storage
        self._plain = without_statistics(columns)
        self._open: OrderedDict[Partition, _File] = OrderedDict()
        self._done: list[_File] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows, in carriers of `wire.types.carriers` and in the table's order of columns. Raises SqlError."""
        if not batch.num_rows:
            return
        with _telling(self._folder):
            for partition, rows in self._parts(to_files(batch, self._schema)):
                file = self._file(partition)
                file.write(rows)
                if file.full:
                    self._close(partition)
                self._limit_kept_bytes()

    def finish(self) -> tuple[DataFile, ...]:
        """Finish all files and return them, durable. Nothing may be written afterwards."""
        with _telling(self._folder):
            for partition in list(self._open):
                self._close(partition)
            for folder in self._changed_folders():
                sync(folder)
        return tuple(file.describe(self._folder) for file in self._done)

    def _changed_folders(self) -> set[Path]:
        """Return the folders that have new entries: those of the files, and their parents up to the table's."""
        depth = len(self._storage.partition_by)
        return {folder for file in self._done for folder in file.path.parents[: depth + 1]}

    def abandon(self) -> None:
        """Remove what was written."""
        for file in (*self._open.values(), *self._done):
            file.discard()
        self._open.clear()
        self._done.clear()

    def _parts(self, batch: pa.RecordBatch) -> Iterator[tuple[Partition, pa.RecordBatch]]:
        if not self._storage.partition_by:
            yield (), batch
            return
        yield from _split_by_partition(batch, self._storage.partition_by)

    def _file(self, partition: Partition) -> _File:
        file = self._open.get(partition)
        if file is None:
            if len(self._open) >= _OPEN_FILES_MAX:
                self._close(next(iter(self._open)))
            file = self._open[partition] = _File(
                self._path(partition), self._schema, self._storage, partition, self._plain
            )
        self._open.move_to_end(partition)
        return file

    def _limit_kept_bytes(self) -> None:
        while sum(file.kept_bytes for file in self._open.values()) >= self._kept_bytes:
            partition, file = max(self._open.items(), key=lambda opened: opened[1].kept_bytes)
            if self._storage.sort_by:
                self._close(partition)
            else:
                file.write_group()

    def _path(self, partition: Partition) -> Path:
        folder = self._folder
        for column, value in zip(self._storage.partition_by, partition, strict=True):
            folder = folder / _folder_name(column, value)
            disk.current_disk().make_folder(folder, exist_ok=True)
        return folder / file_name()

    def _close(self, partition: Partition) -> None:
        file = self._open.pop(partition)
        self._done.append(file)
        file.close()


def _sorting_columns(schema: pa.Schema, sort_by: Sequence[str]) -> Sequence[pq.SortingColumn] | None:
    """Return the sort order for a file's footer; None if there is none."""
    keys = [(name, "ascending") for name in sort_by]
    return pq.SortingColumn.from_ordering(schema, keys) if keys else None


class _File:
    """One data file while it is being written."""

    def __init__(
        self, path: Path, schema: pa.Schema, storage: Storage, partition: Partition, plain: frozenset[str]
    ) -> None:
        self.path = path
        self.full = False
        self._schema = schema
        self._partition = partition
        self._statistics = FileStatistics(schema, storage.partition_by)
        self._kept: list[pa.RecordBatch] = []
        self._kept_rows = self.kept_bytes = 0
        self._sort_by = storage.sort_by
        self._size = 0
        IN_FLIGHT_FILES.write(self)
        self._sink = disk.current_disk().create(path)
        try:
            self._writer = pq.ParquetWriter(
                self._sink, schema, compression=_COMPRESSION, store_schema=False,
                write_statistics=[name for name in schema.names if name not in plain] or False,
                sorting_columns=_sorting_columns(schema, self._sort_by),
            )  # fmt: skip
        except BaseException:
            self._remove()
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        self._statistics.add(batch)
        self._kept.append(batch)
        self._kept_rows += batch.num_rows
        self.kept_bytes += batch.nbytes
        if not self._sort_by and (self._kept_rows >= _GROUP_ROWS or self.kept_bytes >= _GROUP_BYTES):
            self.write_group()

    def write_group(self) -> None:
        if not self._kept:
            return
        rows = pa.Table.from_batches(self._kept, self._schema)
        self._kept, self._kept_rows, self.kept_bytes = [], 0, 0
        if self._sort_by:
            rows = rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in self._sort_by]))
        self._writer.write_table(rows, row_group_size=_GROUP_ROWS)
        self.full = self._sink.tell() >= FILE_BYTES

    def close(self) -> None:
        self.write_group()
        self._writer.close()
        self._size = self._sink.tell()
        self._sink.close()
        sync(self.path)

    def describe(self, folder: Path) -> DataFile:
        path = self.path.relative_to(folder).as_posix()
        file = DataFile(path, self._size, self._statistics.rows, self._partition, self._statistics.json())
        IN_FLIGHT_FILES.stage(self.path, file)
        return file

    def discard(self) -> None:
        if not self._sink.closed:
            self._kept = []
            # This writes a footer, for which there may be no space on the disk.
            with suppress(OSError, pa.ArrowException):
                self._writer.close()
        self._remove()

    def _remove(self) -> None:
        with suppress(OSError):
            self._sink.close()
        # VACUUM removes what cannot be removed here.
        with suppress(OSError):
            disk.current_disk().remove(self.path)


class _telling:  # noqa: N801
    """Translates errors of the file system into SQL errors."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, OSError):
            what = f'could not write to "{self._folder}": {error.strerror or error}'
            hint = None if self._folder.exists() else SEE_THE_SAME_FOLDER
            raise kind_of(error)(what, hint=hint) from error


# -- partitions ------------------------------------------------------------------------------------------------------


def require_partition(column: TableColumn, typ: pa.DataType) -> None:
    """Raise FeatureNotSupported for a type whose values cannot name folders."""
    if not (pa.types.is_integer(typ) or pa.types.is_string(typ) or pa.types.is_boolean(typ) or pa.types.is_date(typ)):
        raise FeatureNotSupported(f'not supported: PARTITION BY column "{column.name}" of type {column.type}')


def _split_by_partition(batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[tuple[Partition, pa.RecordBatch]]:
    """Yield the rows of each combination of partition values, in the order of their first rows."""
    encoded = [pc.dictionary_encode(batch.column(name), null_encoding="encode") for name in names]
    number = np.zeros(batch.num_rows, np.int64)
    for array in encoded:
        number = number * len(array.dictionary) + array.indices.to_numpy()
    _, first, group = np.unique(number, return_index=True, return_inverse=True)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(first) + 1))
    texts = [_texts(array.dictionary) for array in encoded]
    for index in np.argsort(first):
        row = int(first[index])
        partition = tuple(text[array.indices[row].as_py()] for text, array in zip(texts, encoded, strict=True))
        yield partition, batch.take(pa.array(order[bounds[index] : bounds[index + 1]]))


def _texts(values: pa.Array) -> list[str | None]:
    """Return partition values as Delta's log spells them."""
    texts: list[str | None] = values.cast(pa.utf8()).to_pylist()
    return texts


def _folder_name(column: str, value: str | None) -> str:
    """Name a partition's folder as Hive does. If that name is too long for the file system, return a hash of it
    instead.
    """
    text = "__HIVE_DEFAULT_PARTITION__" if value is None else quote(value, safe=" ")
    name = f"{quote(column, safe=' ')}={text}"
    return name if len(name.encode()) <= _NAME_MAX else uuid.uuid5(uuid.NAMESPACE_OID, name).hex

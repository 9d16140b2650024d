"""Files in the form in which `sluice load` sends them: CSV unchanged, Parquet and JSON as PostgreSQL's text format, a
piece at a time.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from engine.catalog.model.objects import FileFormat, TableColumn
from engine.common.duckdb_confinement import ONE_THREAD
from engine.contracts.output_cast import carrier_of, carry_to, match_dimensions
from engine.lakes.foreign_files import list_files
from engine.lakes.infer import infer_columns
from wire.copy.options import Layout
from wire.copy.writer import RowWriter
from wire.dataclass import dataclass
from wire.errors import UndefinedFile
from wire.types.output import EncodedColumn, OutputSettings

_PIECE_BYTES: Final = 1 << 20
_BATCH_ROWS: Final = 16_384
_ENDINGS: Final[dict[str, FileFormat]] = {
    ".parquet": "parquet", ".parq": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".tbl": "csv",
    ".json": "json", ".jsonl": "json", ".ndjson": "json",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read. form: None: by the ending of each name. header: None: if the first line contains column
    names. delimiter: None: a tab in .tsv, else a comma. null: the representation of null in CSV.
    """

    form: FileFormat | None = None
    header: bool | None = None
    delimiter: str | None = None
    null: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """Encoded rows. done: the number of the file's bytes that are read with this piece."""

    data: bytes | memoryview
    done: int


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file. delimiter, null, header: for CSV."""

    path: Path
    form: FileFormat
    delimiter: str
    null: str
    header: bool | None

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def columns(self) -> Sequence[TableColumn]:
        """Return the columns that a table for the file would have. Raises SqlError."""
        options: dict[str, str] = {}
        if self.form == "csv":
            options = {"delimiter": self.delimiter, "null": self.null}
            if self.header is not None:
                options["header"] = str(self.header).lower()
        return infer_columns((str(self.path),), self.form, options)

    def names(self, table: Sequence[str]) -> Sequence[str] | None:
        """Return the column names in the file; None if it has none. table: the columns of the target table."""
        if self.form != "csv":
            return [column.name for column in self.columns()]
        if self.header is False:
            return None
        with self._open() as file:
            first = next(csv.reader(io.TextIOWrapper(file, "utf-8", newline=""), delimiter=self.delimiter), [])
        return first if self.header or (first and set(first) <= set(table)) else None

    def pieces(self) -> Iterator[Piece]:
        """Yield the file's rows. Raises SqlError, OSError, ArrowException, duckdb.Error."""
        return self._plain() if self.form == "csv" else self._encode_pieces()

    def _plain(self) -> Iterator[Piece]:
        with self.path.open("rb") as raw, self._within(raw) as file:
            while data := file.read(_PIECE_BYTES):
                yield Piece(data, raw.tell())

    def _open(self) -> BinaryIO:
        return self._within(self.path.open("rb"))

    def _within(self, raw: BinaryIO) -> BinaryIO:
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if self.path.suffix == ".gz" else raw

    def _encode_pieces(self) -> Iterator[Piece]:
        columns, size, done = self.columns(), self.size, 0
        names = [column.name for column in columns]
        schema = pa.schema([pa.field(column.name, carrier_of(column.type)) for column in columns])
        encoded = [EncodedColumn(c.type.pg, c.type.typmod, c.type.display, c.type.minimum) for c in columns]
        writer = RowWriter(encoded, names, Layout(), OutputSettings(), framed=False)
        for batch, total in self._batches():
            done += batch.num_rows
            carried = carry_to(batch, match_dimensions(schema, batch.schema))
            yield Piece(writer.encode(carried), size * done // total if total else 0)

    def _batches(self) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches, each with the total number of rows, or 0 if that is not known."""
        if self.form == "parquet":
            with pq.ParquetFile(self.path) as file:
                for batch in file.iter_batches(_BATCH_ROWS):
                    yield batch, file.metadata.num_rows
        else:
            with duckdb.connect(":memory:", config=ONE_THREAD) as connection:
                reader: Any = connection.read_json(str(self.path), hive_partitioning=False).to_arrow_reader(_BATCH_ROWS)
                for batch in reader:
                    yield batch, 0


def source_files(path: Path, reading: Reading) -> Iterator[SourceFile]:
    """Yield the file, or the files of a folder or glob. Raises UndefinedFile if there is none, and for a name that
    does not tell the format.
    """
    form = reading.form or _ENDINGS.get(os.path.splitext(path.name.lower().removesuffix(".gz"))[1])
    if form is None and path.is_dir():
        form = "parquet"
    if form is None:
        raise UndefinedFile(f"{path}: its name does not say what it is; --format does")
    for found in list_files(str(path), form)[0]:
        tabs = ".tsv" in found.lower()
        yield SourceFile(Path(found), form, reading.delimiter or ("\t" if tabs else ","), reading.null, reading.header)

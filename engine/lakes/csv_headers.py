"""The headers of a table's CSV files. Where they differ, columns are matched by name, as in Parquet files.

Files with the same header, or with none, are read by the positions of their columns, so a table may name the columns
differently. Where headers differ, only the names can identify a column; a column that a file lacks is null in that
file's rows.

`engine.planner.codegen.files` reads such files in process, and on Spark by the same statement
(`engine.planner.codegen.scans`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import duckdb
import pyarrow as pa
from pyarrow import fs

from engine.catalog.model.file_options import CsvDialect
from engine.catalog.model.objects import Table
from engine.lakes import stores
from wire.errors import DataCorrupted

#: The maximal number of characters of a header.
_HEADER_LENGTH: Final = 1 << 16


def with_columns_by_name(table: Table) -> Table:
    """Return the table as its files have to be read: with `by_name` set if their headers differ. May block.

    Raises DataCorrupted if a column of such a table is in no header.
    """
    by_name = _dialect_by_name(table) if table.format == "csv" and len(table.files) > 1 else None
    return table if by_name == table.by_name else replace(table, by_name=by_name)


def _dialect_by_name(table: Table) -> CsvDialect | None:
    try:
        dialect, has_header = _dialect(table.files[0], table.options)
        headers: set[tuple[str, ...]] = {_header(file, dialect) for file in table.files} if has_header else set()
    except (OSError, UnicodeDecodeError, csv.Error, duckdb.Error, pa.ArrowException):
        # The reader of the files reports what is wrong with them.
        return None
    if len(headers) < 2:
        return None
    known = {name.lower() for header in headers for name in header}
    for column in table.columns:
        if column.name not in table.partition_by and column.name.lower() not in known:
            raise DataCorrupted(
                f'column "{column.name}" of "{table.name}" is in none of the headers of its files, which differ',
                hint="Files whose headers differ are read by the names of their columns.",
            )
    return dialect


def _dialect(file: str, options: Mapping[str, str]) -> tuple[CsvDialect, bool]:
    """Return the CSV dialect of a file, and whether it has a header: from the options, otherwise as DuckDB detects it."""
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        if stores.is_remote(file):
            from engine.lakes.store_files import StoreFiles

            connection.register_filesystem(StoreFiles())
        found = connection.execute("select Delimiter, Quote, Escape, HasHeader from sniff_csv(?)", [file]).fetchone()
    assert found is not None, "the sniffer gives one row"
    delimiter, quote, escape, header = found
    if "header" in options:
        header = options["header"].lower() in ("true", "on", "1", "yes")
    quote, escape = (_character(options.get(name, sniffed)) for name, sniffed in (("quote", quote), ("escape", escape)))
    return CsvDialect(options.get("delimiter", delimiter), quote, escape), bool(header)


def _character(sniffed: str) -> str:
    """Return a quote or escape character. The sniffer returns NUL or nothing if the file has none, and then it does
    not matter.
    """
    return '"' if sniffed in ("", "\0", "(empty)") else sniffed


def _header(file: str, dialect: CsvDialect) -> tuple[str, ...]:
    where, system = stores.resolve_path(file)
    with (system or fs.LocalFileSystem()).open_input_stream(where, compression="detect") as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="").read(_HEADER_LENGTH)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter, quotechar=dialect.quote)
    return tuple(next(lines, []))

"""The columns of a foreign table that declares none, inferred from its files.

Parquet declares its types; CSV and JSON are sampled by DuckDB's sniffer. A type that PostgreSQL lacks becomes jsonb
(structs, maps: `engine.catalog.model.file_types`), or its column is left out with a notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from engine.catalog.model.file_types import nested_type, type_of_arrow
from engine.catalog.model.objects import FileFormat, TableColumn
from engine.common import sql_type as st
from engine.lakes import stores
from wire.errors import DataCorrupted, FeatureNotSupported
from wire.types import pg_types as t


def infer_columns(
    files: tuple[str, ...],
    file_format: FileFormat,
    options: Mapping[str, str],
    leave_out: Callable[[str, str], None] | None = None,
) -> tuple[TableColumn, ...]:
    """Infer the columns from the first of `files`. leave_out: called with each column that has no type here, and its
    type in the file. Without it, or if no column is left, such a column is an error.

    Raises DataCorrupted for a file that cannot be read, FeatureNotSupported.
    """
    try:
        schema = read_schema(files[0]) if file_format == "parquet" else _sniff(files[0], file_format, options)
    except (pa.ArrowException, duckdb.Error, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DataCorrupted(f'could not read "{files[0]}" as {file_format}: {reason}') from error
    columns: list[TableColumn] = []
    for field in schema:
        column = _column(field, len(columns) + 1, file_format)
        if column is not None:
            columns.append(column)
        elif leave_out is None or len(schema) == 1:
            raise without_type(field.name, str(field.type), f'in "{files[0]}"')
        else:
            leave_out(field.name, str(field.type))
    return tuple(columns)


def without_type(name: str, typ: str, where: str) -> FeatureNotSupported:
    """Return the error for a column whose type PostgreSQL lacks."""
    return FeatureNotSupported(
        f'not supported: column "{name}" of type {typ} {where}',
        hint="List the columns to read in CREATE FOREIGN TABLE and leave this one out.",
    )


def _column(field: pa.Field, number: int, file_format: FileFormat) -> TableColumn | None:
    plain = type_of_arrow(field.type)
    if plain is not None:
        return TableColumn(field.name, plain, number, field.nullable)
    if file_format == "json":
        # The reader returns the text of such a member, whatever its type is.
        return TableColumn(field.name, st.of(t.JSONB), number, field.nullable)
    nested = nested_type(field.type)
    if nested is None:
        return None
    return TableColumn(field.name, st.of(t.JSONB), number, field.nullable, nested=nested)


def read_schema(file: str) -> pa.Schema:
    """Return a Parquet file's columns. Blocks. Raises OSError, pyarrow's errors."""
    where, system = stores.resolve_path(file)
    return pq.read_schema(where, filesystem=system)


def _sniff(file: str, file_format: FileFormat, options: Mapping[str, str]) -> pa.Schema:
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        if stores.is_remote(file):
            from engine.lakes.store_files import StoreFiles

            connection.register_filesystem(StoreFiles())
        # Columns from folders' names are not columns of the file (`engine.catalog.model.partitions`).
        if file_format == "json":
            relation = connection.read_json(file, hive_partitioning=False)
        else:
            relation = connection.read_csv(file, hive_partitioning=False, **csv_options(options))
        return relation.limit(0).to_arrow_table().schema


def csv_options(options: Mapping[str, str]) -> dict[str, Any]:
    """Convert a foreign table's options (file_fdw's names: header, delimiter, quote, escape, null) to those of
    DuckDB's CSV reader.
    """
    known: dict[str, Any] = {}
    if "header" in options:
        known["header"] = options["header"].lower() in ("true", "on", "1", "yes")
    for ours, theirs in (
        ("delimiter", "delimiter"),
        ("quote", "quotechar"),
        ("escape", "escapechar"),
        ("null", "na_values"),
    ):
        if ours in options:
            known[theirs] = options[ours]
    return known

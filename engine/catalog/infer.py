"""The columns of a foreign table that names none: read from its files.

Parquet says its types; CSV and JSON are sampled by DuckDB's sniffer. What PostgreSQL has no type for (structs, maps) is
refused by name rather than flattened in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from engine.catalog.objects import FileFormat, TableColumn
from engine.lakes import stores
from engine.sql import types as st
from wire import types as t
from wire.errors import DataCorrupted, FeatureNotSupported

_SIMPLE: Final = (
    (pa.types.is_boolean, t.BOOL),
    (lambda a: pa.types.is_int8(a) or pa.types.is_uint8(a) or pa.types.is_int16(a), t.INT2),
    (lambda a: pa.types.is_uint16(a) or pa.types.is_int32(a), t.INT4),
    (lambda a: pa.types.is_uint32(a) or pa.types.is_int64(a), t.INT8),
    (lambda a: pa.types.is_float16(a) or pa.types.is_float32(a), t.FLOAT4),
    (pa.types.is_float64, t.FLOAT8),
    (pa.types.is_date, t.DATE),
    (pa.types.is_time, t.TIME),
    (
        lambda a: (
            pa.types.is_string(a) or pa.types.is_large_string(a) or pa.types.is_string_view(a) or pa.types.is_null(a)
        ),
        t.TEXT,
    ),
    (
        lambda a: (
            pa.types.is_binary(a)
            or pa.types.is_large_binary(a)
            or pa.types.is_fixed_size_binary(a)
            or pa.types.is_binary_view(a)
        ),
        t.BYTEA,
    ),
)


def type_of_arrow(arrow: pa.DataType) -> st.SqlType | None:
    """The PostgreSQL type for an Arrow type that files hold, or None where there is none."""
    if pa.types.is_dictionary(arrow):
        return type_of_arrow(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return st.of(t.TIMESTAMPTZ if arrow.tz else t.TIMESTAMP)
    if pa.types.is_decimal(arrow) and arrow.precision <= st.MAX_PRECISION:
        return st.of(t.NUMERIC, t.numeric_typmod(arrow.precision, arrow.scale))
    if pa.types.is_uint64(arrow):
        return st.of(t.NUMERIC, t.numeric_typmod(20, 0))
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_list_view(arrow):
        element = type_of_arrow(arrow.value_type)
        return st.of(t.array_of(element.pg), element.typmod) if element else None
    return next((st.of(pg) for matches, pg in _SIMPLE if matches(arrow)), None)


def infer_columns(
    files: tuple[str, ...], file_format: FileFormat, options: Mapping[str, str]
) -> tuple[TableColumn, ...]:
    """The columns of the first of `files`. Raises DataCorrupted for what cannot be read, and
    FeatureNotSupported for a column whose type PostgreSQL lacks."""
    try:
        schema = read_schema(files[0]) if file_format == "parquet" else _sniff(files[0], file_format, options)
    except (pa.ArrowException, duckdb.Error, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DataCorrupted(f'could not read "{files[0]}" as {file_format}: {reason}') from error
    columns = []
    for number, field in enumerate(schema, 1):
        sql_type = type_of_arrow(field.type)
        if sql_type is None:
            raise FeatureNotSupported(
                f'not supported: column "{field.name}" of type {field.type} in "{files[0]}"',
                hint="List the columns to read in CREATE FOREIGN TABLE and leave this one out.",
            )
        columns.append(TableColumn(field.name, sql_type, number, field.nullable))
    return tuple(columns)


def read_schema(file: str) -> pa.Schema:
    """A Parquet file's columns. Blocks. Raises OSError, pyarrow's errors."""
    where, system = stores.located(file)
    return pq.read_schema(where, filesystem=system)


def _sniff(file: str, file_format: FileFormat, options: Mapping[str, str]) -> pa.Schema:
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        if stores.is_remote(file):
            from engine.lakes.store_files import StoreFiles

            connection.register_filesystem(StoreFiles())
        # What folders say is not what the file says (`engine.catalog.partitions`).
        if file_format == "json":
            relation = connection.read_json(file, hive_partitioning=False)
        else:
            relation = connection.read_csv(file, hive_partitioning=False, **csv_options(options))
        return relation.limit(0).to_arrow_table().schema


def csv_options(options: Mapping[str, str]) -> dict[str, Any]:
    """DuckDB's CSV reader options for a foreign table's (file_fdw's names: header, delimiter, quote, escape, null)."""
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

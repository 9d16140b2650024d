"""Tables in Spark: DataFrames of their rows, with columns in storage types. `engine.executors.spark.views` makes views
of them.

Parquet is read with the types of its files (Spark converts next to nothing while reading) and cast to the declared
types. Text formats are read as strings and cast, so that a malformed value is an error and never a silent null.

Source of the type names: `engine.sql.trees.storage_types`. The casts are Spark's, in ANSI mode, as column expressions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as st

from engine.catalog.model import partitions
from engine.catalog.model.file_types import is_list
from engine.catalog.model.objects import Table, TableColumn
from engine.common.sql_type import SqlType
from engine.executors.spark import catalogs
from engine.executors.spark.floats import hide_from_reader_filters
from engine.planner.codegen.scans import DOCUMENTS
from engine.sql.trees.storage_types import VIEW_FILE, VIEW_ROW, storage_name
from wire.errors import DataCorrupted, FeatureNotSupported, UndefinedFile
from wire.types import pg_types as t

_DAY_MICROS: Final = 86_400_000_000

_CSV_OPTIONS: Final = {
    "delimiter": "sep",
    "header": "header",
    "quote": "quote",
    "escape": "escape",
    "null": "nullValue",
}

_NATURAL: Final[dict[pa.DataType, str]] = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.uint64(): "decimal(20,0)",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.utf8(): "string",
    pa.large_utf8(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
}


def read_table(session: SparkSession, table: Table) -> DataFrame:
    """Return a table's rows, with columns under their own names in storage types."""
    if not table.files:
        return session.createDataFrame([], st.StructType([_empty_field(column) for column in table.columns]))
    if table.lake == "spark":
        return catalogs.read(session, table)
    if table.format == "parquet" and table.storage is None:
        # Documents are read by scans (`engine.planner.codegen.scans`).
        table = replace(table, columns=tuple(c for c in table.columns if c.type.pg not in DOCUMENTS))
    if table.lake:
        return _lake(session, table)
    if table.format == "parquet":
        return _parquet(session, table)
    return _text(session, table)


def _empty_field(column: TableColumn) -> st.StructField:
    return st.StructField(column.name, st.DataType.fromDDL(storage_name(column.type, "spark")))


def _parquet(session: SparkSession, table: Table) -> DataFrame:
    try:
        file = pq.ParquetFile(table.files[0])
    except FileNotFoundError as error:
        raise UndefinedFile(f'could not open file "{table.files[0]}" for reading: No such file or directory') from error
    except pa.ArrowInvalid as error:
        raise DataCorrupted(f'could not read file "{table.files[0]}": it is not Parquet') from error
    with file:
        physical, int96 = file.schema_arrow, _int96_columns(file)
    fields, columns = [], []
    for column in table.columns:
        if column.name in table.partition_by:
            fields.append(st.StructField(column.name, st.StringType()))
            columns.append(_to_storage_type(f.col(_quote(column.name)), column.type, "string").alias(column.name))
            continue
        if column.name not in physical.names:
            columns.append(f.lit(None).cast(storage_name(column.type, "spark")).alias(column.name))
            continue
        natural = "timestamp" if column.name in int96 else _natural(physical.field(column.name).type, column)
        fields.append(st.StructField(column.name, st.DataType.fromDDL(natural)))
        value = _from_parquet(column, physical.field(column.name).type, column.name in int96)
        columns.append(_to_storage_type(value, column.type, natural).alias(column.name))
    if table.storage is not None:
        # A view hides the metadata columns of the relation below it. Columns that a query does not use are not computed.
        columns += [f.col("_metadata.file_path").alias(VIEW_FILE), f.col("_metadata.row_index").alias(VIEW_ROW)]
    frame = _reader(session, table).schema(st.StructType(fields)).parquet(*table.files)
    return frame.select(*columns)


def _lake(session: SparkSession, table: Table) -> DataFrame:
    """Read files that may lack columns, which are null then. The types of the files' columns come from the table's
    log, from which the columns' types are derived (`engine.lakes.state`).
    """
    folders = table.partition_by
    fields = [st.StructField(c.name, st.StringType()) if c.name in folders else _empty_field(c) for c in table.columns]
    frame = _reader(session, table).schema(st.StructType(fields)).parquet(*table.files)
    kinds = {c.name: "string" if c.name in folders else storage_name(c.type, "spark") for c in table.columns}
    values = {c.name: hide_from_reader_filters(f.col(_quote(c.name)), kinds[c.name]) for c in table.columns}
    return frame.select(*(_to_storage_type(values[c.name], c.type, kinds[c.name]).alias(c.name) for c in table.columns))


def _reader(session: SparkSession, table: Table) -> DataFrameReader:
    """Return a reader that takes partition columns from the names of folders, as text."""
    base = partitions.spark_base(table) if table.partition_by else None
    return session.read if base is None else session.read.option("basePath", base)


def _int96_columns(file: pq.ParquetFile) -> frozenset[str]:
    """Return the columns with the old Parquet timestamps, which Spark reads as instants and all other readers as UTC
    wall clock.
    """
    columns = (file.schema.column(i) for i in range(len(file.schema)))
    return frozenset(column.path for column in columns if column.physical_type == "INT96")


def _natural(typ: pa.DataType, column: TableColumn) -> str:
    """Return the Spark type with which a Parquet column of that Arrow type is read."""
    if typ in _NATURAL:
        return _NATURAL[typ]
    if pa.types.is_decimal(typ):
        return f"decimal({typ.precision},{typ.scale})"
    if pa.types.is_timestamp(typ):
        if typ.unit == "ns":
            return "bigint"
        return "timestamp" if typ.tz else "timestamp_ntz"
    if typ == pa.time64("us"):
        return "time(6)"
    if pa.types.is_fixed_size_binary(typ) or isinstance(typ, pa.UuidType):
        return "binary"
    if pa.types.is_dictionary(typ):
        return _natural(typ.value_type, column)
    if is_list(typ):
        return f"array<{_natural(typ.value_type, column)}>"
    if pa.types.is_struct(typ):
        fields = (f"{_quote(field.name)}: {_natural(field.type, column)}" for field in typ)
        return f"struct<{', '.join(fields)}>"
    raise FeatureNotSupported(f'not supported: column "{column.name}" of Parquet type {typ} in Spark')


def _from_parquet(column: TableColumn, typ: pa.DataType, int96: bool) -> Column:
    """Return the column's value, converted where the value that Spark reads is not yet that of the declared type."""
    value = f.col(_quote(column.name))
    if int96:
        return value if column.type.pg is t.TIMESTAMPTZ else _wall_clock(f.unix_micros(value))
    if pa.types.is_timestamp(typ) and typ.unit == "ns":
        micros = f.floor(value / f.lit(1000).cast("bigint")).cast("bigint")
        return f.timestamp_micros(micros) if typ.tz else _wall_clock(micros)
    if pa.types.is_time(typ):
        return _micros_of_time(value)
    if isinstance(typ, pa.UuidType):
        return _uuid(value)
    return hide_from_reader_filters(value, _NATURAL.get(typ, ""))


def _wall_clock(micros: Column) -> Column:
    """Convert microseconds since 1970 to a TIMESTAMP_NTZ."""
    return f.timestamp_add("MICROSECOND", micros, f.lit("1970-01-01 00:00:00").cast("timestamp_ntz"))


def _micros_of_time(value: Column) -> Column:
    minutes = f.hour(value).cast("bigint") * 60 + f.minute(value)
    seconds = f.extract(f.lit("SECOND"), value)
    return minutes * 60_000_000 + (seconds * 1_000_000).cast("bigint")


def _uuid(value: Column) -> Column:
    return f.regexp_replace(f.lower(f.hex(value)), "^(.{8})(.{4})(.{4})(.{4})(.{12})$", "$1-$2-$3-$4-$5")


def _text(session: SparkSession, table: Table) -> DataFrame:
    schema = st.StructType([st.StructField(column.name, st.StringType()) for column in table.columns])
    reader = _reader(session, table).schema(schema).option("mode", "FAILFAST")
    if table.format == "json":
        frame = reader.option("primitivesAsString", "true").json(list(table.files))
    else:
        frame = reader.options(**_csv_options(table)).csv(list(table.files))
    return frame.select(
        *(_to_storage_type(f.col(_quote(c.name)), c.type, "string").alias(c.name) for c in table.columns)
    )


def _csv_options(table: Table) -> dict[str, str]:
    """Return Spark's options for the table's own (file_fdw's names), with those that the local engine's sniffer finds
    for the others.
    """
    for name in table.options:
        if name not in _CSV_OPTIONS:
            raise FeatureNotSupported(f'not supported: option "{name}" of a CSV file in Spark')
    found = {_CSV_OPTIONS[name]: value for name, value in table.options.items()}
    return {**_sniff_csv(table.files[0]), "multiLine": "true", "enforceSchema": "true", **found}


def _sniff_csv(file: str) -> dict[str, str]:
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        sniffed = connection.execute("select Delimiter, Quote, Escape, HasHeader from sniff_csv(?)", [file]).fetchone()
    assert sniffed is not None, "the sniffer gives one row"
    delimiter, quote, escape, header = sniffed
    return {"sep": delimiter, "quote": _character(quote), "escape": _character(escape), "header": str(bool(header))}


def _character(sniffed: str) -> str:
    """Return a quote or escape character. The sniffer returns NUL or nothing if the file has none, and then it does
    not matter.
    """
    return '"' if sniffed in ("", "\0", "(empty)") else sniffed


def _to_storage_type(value: Column, typ: SqlType, natural: str) -> Column:
    """Convert a value of Spark type `natural` to the storage type of `typ`."""
    if typ.pg is t.TIME and natural == "string":
        return _clock(value)
    if typ.pg is t.array_of(t.TIME) and natural == "array<string>":
        return f.transform(value, _clock)
    stored = value.cast(storage_name(typ, "spark"))
    if typ.pg is t.BPCHAR and typ.typmod >= 4:
        return f.rpad(stored, typ.typmod - 4, " ")
    return stored


def _clock(text: Column) -> Column:
    """Return the microseconds of a time of day."""
    clock = f.unix_micros(f.concat(f.lit("1970-01-01 "), text, f.lit("Z")).cast("timestamp"))
    return f.when(text.startswith("24:00:00"), f.lit(_DAY_MICROS)).otherwise(clock)


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

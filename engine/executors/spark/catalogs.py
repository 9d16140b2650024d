"""Tables of Spark's own catalogs: those configured as `spark.sql.catalog.NAME`, and the session's `spark_catalog`.

Only Spark can read these tables. A foreign table over one therefore has no list of files: its path is the table's name
in Spark, and its engine is Spark whatever its size (`engine.planner.codegen.sources`). Its content is determined when
it is read. Spark caches what it knows of a table's files, so that cache entry is dropped first.

Names come from Spark's own listing of a namespace, never from SQL, because a name like parquet.`/etc/x` would denote a
file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as st

from engine.catalog.model.objects import Table, TableColumn
from engine.common import sql_type as sql_types
from engine.common.sql_type import SqlType
from engine.executors.spark.floats import hide_from_reader_filters
from engine.sql.trees.storage_types import storage_name
from wire.dataclass import dataclass
from wire.errors import InvalidSchemaName, ObjectNotInPrerequisiteState
from wire.types import pg_types as t

_TYPES: Final[Mapping[type[st.DataType], t.PgType]] = {
    st.BooleanType: t.BOOL,
    st.ByteType: t.INT2,
    st.ShortType: t.INT2,
    st.IntegerType: t.INT4,
    st.LongType: t.INT8,
    st.FloatType: t.FLOAT4,
    st.DoubleType: t.FLOAT8,
    st.StringType: t.TEXT,
    st.VarcharType: t.TEXT,
    st.BinaryType: t.BYTEA,
    st.DateType: t.DATE,
    st.TimestampType: t.TIMESTAMPTZ,
    st.TimestampNTZType: t.TIMESTAMP,
}


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table of a Spark catalog.

    path: its name in Spark, quoted. columns: the columns whose types PostgreSQL has. left_out: (name, Spark's type) of
    the others.
    """

    name: str
    path: str
    columns: tuple[TableColumn, ...]
    left_out: tuple[tuple[str, str], ...]


def tables_of(session: SparkSession, namespace: str) -> Sequence[SparkTable]:
    """Return the tables and views of a namespace, `catalog.schema` or a schema of the session's catalog. Blocks.

    Raises InvalidSchemaName if there is no such namespace.
    """
    parts = namespace.split(".")
    try:
        listed = session.catalog.listTables(".".join(map(quote_name, parts)))
    except AnalysisException as error:
        raise InvalidSchemaName(f'schema "{namespace}" is not present on foreign server "spark"') from error
    found = [table.name for table in listed if not table.isTemporary]
    return [_describe_table(session, name, ".".join(map(quote_name, (*parts, name)))) for name in sorted(found)]


def _describe_table(session: SparkSession, name: str, path: str) -> SparkTable:
    fields = session.table(path).schema.fields
    typed = [(field, type_of(field.dataType)) for field in fields]
    known = [(field, typ) for field, typ in typed if typ is not None]
    columns = tuple(TableColumn(field.name, typ, n, field.nullable) for n, (field, typ) in enumerate(known, 1))
    return SparkTable(
        name, path, columns, tuple((field.name, field.dataType.simpleString()) for field, typ in typed if typ is None)
    )


def type_of(spark: st.DataType) -> SqlType | None:
    """Return the PostgreSQL type of a Spark column; None if there is none."""
    if isinstance(spark, st.DecimalType):
        return sql_types.numeric(spark.precision, spark.scale)
    if isinstance(spark, st.ArrayType):
        element = None if isinstance(spark.elementType, st.ArrayType) else type_of(spark.elementType)
        return None if element is None else sql_types.of(t.array_of(element.pg), element.typmod)
    pg = _TYPES.get(type(spark))
    return None if pg is None else sql_types.of(pg)


def read(session: SparkSession, table: Table) -> DataFrame:
    """Return a table's current rows, with columns in storage types. Raises ObjectNotInPrerequisiteState."""
    try:
        session.catalog.refreshTable(table.path)
        frame = session.table(table.path)
        kinds = {c.name: storage_name(c.type, "spark") for c in table.columns}
        return frame.select(
            *(
                hide_from_reader_filters(f.col(quote_name(name)).cast(kind), kind).alias(name)
                for name, kind in kinds.items()
            )
        )
    except AnalysisException as error:
        raise ObjectNotInPrerequisiteState(
            f'Spark has no table {table.path} with the columns of "{table.name}"',
            hint="Drop the foreign table and import it again.",
        ) from error


def quote_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

"""The storage type of each PostgreSQL type in each engine, while a fragment runs.

Function templates take and return these types; at an executor's boundary they become the carriers of
`wire.types.carriers`.

| PostgreSQL | local (DuckDB) | Spark |
|---|---|---|
| bool, int2/4/8, float4/8 | BOOLEAN, SMALLINT, INTEGER, BIGINT, FLOAT, DOUBLE | the same |
| oid, reg* | BIGINT | BIGINT |
| numeric(p, s) | DECIMAL(p, s), VARCHAR where it is wide | DECIMAL(p, s), STRING where it is wide |
| text, varchar, bpchar, name, "char", unknown, json, jsonb, uuid | VARCHAR | STRING |
| bytea | BLOB | BINARY |
| date | DATE | DATE |
| time | TIME | BIGINT, microseconds |
| timetz | STRUCT(micros BIGINT, zone INTEGER) | STRUCT<micros: BIGINT, zone: INT> |
| timestamp | TIMESTAMP | TIMESTAMP_NTZ |
| timestamptz | TIMESTAMP WITH TIME ZONE | TIMESTAMP |
| interval | INTERVAL | STRUCT<months: INT, days: INT, micros: BIGINT> |
| T[] | T[] | ARRAY<T> |
| void | BOOLEAN, always null | BOOLEAN, always null |
| record, composite types | STRUCT(f0 ..., f1 ...) | STRUCT<f0: ..., f1: ...> |

A type that is carried as another type (`PgType.carried`) is stored as that type.

uuid is its canonical text, whose order is that of its bytes. bpchar is stored padded to its length when it has one, and
compared without trailing blanks. Spark's TIME and interval types are not used: TIME is a preview, and its interval
types cannot hold months, days and microseconds together.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table
from engine.common.sql_type import SqlType, element_type
from engine.contracts.query_id import EngineName
from engine.sql.trees.copies import copy_tree
from wire.types import pg_types as t

#: The further columns of Spark's view of a stored table: a row's file, and its position in the file.
VIEW_FILE: Final = "sluice file"
VIEW_ROW: Final = "sluice row"

_TEXTUAL: Final = (
    t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.CHAR, t.UNKNOWN, t.JSON, t.JSONB, t.UUID, t.PG_NODE_TREE, t.ANYARRAY,
)  # fmt: skip

_LOCAL: Final[dict[t.PgType, str]] = {
    t.BOOL: "BOOLEAN",
    t.INT2: "SMALLINT",
    t.INT4: "INTEGER",
    t.INT8: "BIGINT",
    t.FLOAT4: "REAL",
    t.FLOAT8: "DOUBLE",
    t.BYTEA: "BLOB",
    t.DATE: "DATE",
    t.TIME: "TIME",
    t.TIMETZ: "STRUCT(micros BIGINT, zone INTEGER)",
    t.TIMESTAMP: "TIMESTAMP",
    t.TIMESTAMPTZ: "TIMESTAMPTZ",
    t.INTERVAL: "INTERVAL",
    t.VOID: "BOOLEAN",
    **dict.fromkeys(t.UNSIGNED, "BIGINT"),
    **dict.fromkeys(_TEXTUAL, "VARCHAR"),
}

_SPARK: Final[dict[t.PgType, str]] = {
    **_LOCAL,
    t.FLOAT4: "FLOAT",
    t.BYTEA: "BINARY",
    t.TIME: "BIGINT",
    t.TIMETZ: "STRUCT<micros: BIGINT, zone: INT>",
    t.TIMESTAMP: "TIMESTAMP_NTZ",
    t.TIMESTAMPTZ: "TIMESTAMP",
    t.INTERVAL: "STRUCT<months: INT, days: INT, micros: BIGINT>",
    **dict.fromkeys(_TEXTUAL, "STRING"),
}

#: Types that Arrow carries between DuckDB and Spark in the form in which both store them.
STORED_ALIKE: Final = frozenset(
    (
        t.BOOL, t.INT2, t.INT4, t.INT8, t.FLOAT4, t.FLOAT8, t.NUMERIC, t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.CHAR, t.JSON,
        t.JSONB, t.UUID, t.BYTEA, t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ, *t.UNSIGNED,
    )
)  # fmt: skip


def storage_name(typ: SqlType, engine: EngineName) -> str:
    """Return the storage type of `typ` in the engine's spelling."""
    pg = typ.pg
    if pg is t.NUMERIC:
        return _text_name(engine) if typ.is_wide else f"DECIMAL({typ.precision}, {typ.scale})"
    if pg.is_row:
        fields = [(pg.field(i), storage_name(field, engine)) for i, (_, field) in enumerate(typ.fields)]
        if engine == "spark":
            return "STRUCT<{}>".format(", ".join(f"{field}: {name}" for field, name in fields))
        return "STRUCT({})".format(", ".join(f"{field} {name}" for field, name in fields))
    if pg.is_array:
        name = storage_name(element_type(typ), engine)
        for _ in range(typ.dimensions):
            name = f"ARRAY<{name}>" if engine == "spark" else f"{name}[]"
        return name
    return (_SPARK if engine == "spark" else _LOCAL)[pg.carried or pg]


def _text_name(engine: EngineName) -> str:
    return (_SPARK if engine == "spark" else _LOCAL)[t.TEXT]


@cache
def _parse_type(name: str, engine: EngineName) -> exp.DataType:
    return exp.DataType.build(name, dialect="spark" if engine == "spark" else "duckdb")


def storage_type(typ: SqlType, engine: EngineName) -> exp.DataType:
    """Return the storage type as a tree, of which the caller owns the copy."""
    return copy_tree(_parse_type(storage_name(typ, engine), engine))


def relation_name(table: Table | SystemTable) -> str:
    """Return the name under which an engine that needs registration knows a table in its present version, or a system
    relation with the rows of the statement.
    """
    if isinstance(table, SystemTable):
        return f"sluice_{table.oid}"
    return f"sluice_{table.oid}_{table.version:x}"

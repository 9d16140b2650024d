"""The files of a foreign table as a table function of the local engine.

The files are those that the catalog resolved, named one by one. What DuckDB would find out or add by itself (globs, Hive
partitions, types) is switched off or said; the dialect of a CSV file is as the table's options say, else as found out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlglot import exp

from engine.catalog.objects import Table, TableColumn
from engine.plan.compile.storage import storage_name
from engine.plan.compile.trees import call, label, name, string
from engine.plan.compile.unsupported import Unsupported
from engine.sql.types import SqlType
from wire import types as t

_GLOB: Final = str.maketrans({"*": "[*]", "?": "[?]", "[": "[[]"})
#: file_fdw's option names and DuckDB's.
_CSV_OPTIONS: Final = {"delimiter": "delim", "quote": "quote", "escape": "escape", "null": "nullstr"}
_TRUE: Final = ("true", "on", "1", "yes")
#: What text in a CSV file means for these types is not what DuckDB takes it for.
_NOT_IN_CSV: Final = (t.BYTEA, t.INTERVAL, t.TIMETZ, t.RECORD)


def file_reader(table: Table, names: Sequence[str], alias: str) -> tuple[exp.Expression, list[exp.Expression]]:
    """The table function over the table's files, and its columns of these names under `alias`."""
    lowered = [c.name.lower() for c in table.columns]
    if len(set(lowered)) < len(lowered):
        raise Unsupported("local", f'table "{table.name}" whose columns differ only in case')
    reader = _READERS[table.format](table)
    return reader, [exp.Column(this=name(n), table=label(alias)) for n in names]


def _paths(table: Table) -> exp.Expression:
    return exp.Array(expressions=[string(path.translate(_GLOB)) for path in table.files])


def _option(key: str, value: exp.Expression) -> exp.Expression:
    return exp.EQ(this=exp.Column(this=label(key)), expression=value)


def _no_partitions() -> exp.Expression:
    return _option("hive_partitioning", exp.false())


def _parquet(table: Table) -> exp.Expression:
    return call("READ_PARQUET", _paths(table), _no_partitions())


def _csv(table: Table) -> exp.Expression:
    options = [_option("columns", _columns(table, _csv_type)), _no_partitions()]
    if "header" in table.options:
        options.append(_option("header", exp.Boolean(this=table.options["header"].lower() in _TRUE)))
    for ours, theirs in _CSV_OPTIONS.items():
        if ours in table.options:
            options.append(_option(theirs, string(table.options[ours])))
    options.append(_option("allow_quoted_nulls", exp.false()))
    return call("READ_CSV", _paths(table), *options)


def _json(table: Table) -> exp.Expression:
    return call("READ_JSON", _paths(table), _option("columns", _columns(table, _json_type)), _no_partitions())


def _columns(table: Table, type_name: Callable[[Table, TableColumn], str]) -> exp.Expression:
    pairs = [exp.PropertyEQ(this=string(c.name), expression=string(type_name(table, c))) for c in table.columns]
    return exp.Struct(expressions=pairs)


def _csv_type(table: Table, column: TableColumn) -> str:
    if column.type.pg in _NOT_IN_CSV or column.type.pg.is_array:
        raise Unsupported("local", f'column "{column.name}" of type {column.type} in csv files of "{table.name}"')
    return _text_type(column.type)


def _json_type(table: Table, column: TableColumn) -> str:
    if column.type.pg in _NOT_IN_CSV:
        raise Unsupported("local", f'column "{column.name}" of type {column.type} in json files of "{table.name}"')
    return "JSON" if column.type.pg in (t.JSON, t.JSONB) else _text_type(column.type)


def _text_type(typ: SqlType) -> str:
    """How the reader takes a value; a timestamp without an offset is the session's, which a cast knows to ask."""
    return "VARCHAR" if typ.pg is t.TIMESTAMPTZ else storage_name(typ, "local")


_READERS: Final = {"parquet": _parquet, "csv": _csv, "json": _json}

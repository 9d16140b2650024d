"""Files that Spark has no reader for, as a scan: a Spark relation whose tasks read the files through DuckDB.

Spark's own readers fall short in five ways. Spark's S3 connector is in no registry of Python packages. Spark interprets
some folder names differently from all other engines. It has no jsonb. Without Delta's own package it knows no deletion
vectors. It applies the header of one CSV file to all files of a table. So the reader is compiled for the local engine,
columns and filter included, and each Spark task runs that statement over its share of the files
(`engine.executors.spark.scan_task`). Both engines then interpret a file in the same way, and a task does not fetch what
neither the columns nor the filter need. Spark applies the filter again.

Rejected: PySpark's Python data sources, which receive the filters but not the columns, and for which each statement
starts two more Python processes on the driver during planning; Arrow's own readers, which would be a third
interpretation of csv, JSON and folders.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

from engine.catalog.model.objects import Table
from engine.catalog.model.partitions import spark_base
from engine.lakes import stores
from engine.plan_ir.conjuncts import conjunction, conjuncts
from engine.plan_ir.expr import And, Call, ColumnRef, Const, Expr, InList, IsNull, Not, Or, ParamRef
from engine.plan_ir.logical import TableReader
from engine.planner.codegen.files import ROW_NUMBER
from engine.planner.codegen.scan import Scan
from engine.planner.codegen.scope import Bindings, Compilation, Scope
from engine.sql.trees.dialects import to_sql
from engine.sql.trees.storage_types import STORED_ALIKE, storage_name
from engine.sql.trees.unsupported import Unsupported
from wire.types import pg_types as t

#: The types whose values Spark neither reads as PostgreSQL does, nor converts from the types that files have instead.
DOCUMENTS: Final = (t.JSON, t.JSONB)
#: The reader's number in a scan's statement: its files are `$r1`.
READER: Final = 1
_COMPARISONS: Final = frozenset(("=", "<>", "<", "<=", ">", ">="))


def is_scanned(node: TableReader) -> bool:
    """Return whether Spark has no reader of its own for some of the columns or files that are read."""
    table = node.table
    assert isinstance(table, Table), "a table of the catalog"
    if table.storage is not None or table.lake == "spark":
        return False
    if table.deleted or table.by_name is not None or any(column.type.pg in DOCUMENTS for column in node.columns):
        return True
    remote = stores.is_remote(table.path) or any(map(stores.is_remote, table.files[:1]))
    return remote or bool(table.partition_by and spark_base(table) is None)


def scan(node: TableReader, scope: Scope) -> Scan:
    """Return the scan for a reader. Raises Unsupported for columns that cannot cross, and for what the local engine
    cannot read.
    """
    table = node.table
    assert isinstance(table, Table), "a table of the catalog"
    for column in node.columns:
        if column.type.pg not in STORED_ALIKE:
            raise Unsupported("spark", f'column "{column.name}" of type {column.type} in files of "{table.name}"')
    ranged = table.format == "parquet" and all(column.name.lower() != ROW_NUMBER for column in table.columns)
    kept = conjunction(tuple(part for part in conjuncts(node.filter) if _may_be_asked(part, node)))
    reader = replace(node, reader=READER, ranged=ranged, filter=kept, guarantee=(), key=None)
    bindings = scope.compilation.bindings
    text = _statement(reader, bindings, scope)
    columns = tuple((column.label, storage_name(column.type, "spark")) for column in node.columns)
    digest = hashlib.sha256(repr((text, columns, table.oid, table.version, table.files)).encode()).hexdigest()
    return Scan(text, columns, reader, ranged, bindings.parameters, f"sluice_scan_{digest[:24]}")


def _statement(reader: TableReader, bindings: Bindings, scope: Scope) -> str:
    query, render = scope.compilation.query, scope.compilation.render
    try:
        return to_sql(query(reader, Scope(Compilation("local", bindings, query, render))), "local")
    except Unsupported as lacking:
        raise Unsupported("spark", lacking.what) from None


def _may_be_asked(condition: Expr, node: TableReader) -> bool:
    """Whether a condition compares the reader's own columns with constants."""

    def plain(part: Expr) -> bool:
        match part:
            case ColumnRef():
                return part.column in node.columns
            case Call():
                return part.function.name in _COMPARISONS and len(part.args) == 2
            case Const() | ParamRef() | And() | Or() | Not() | IsNull() | InList():
                return True
        return False

    return all(plain(part) and (part.type.pg in STORED_ALIKE) for part in condition.walk())

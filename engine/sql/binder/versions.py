"""Time travel, `t FOR VERSION AS OF 3` and `t FOR TIMESTAMP AS OF '2024-05-01 12:00'`: an earlier version of a stored
table (`engine.storage.history`) or of a lake's table (`engine.lakes.tables`).

The version number and the timestamp must be constants: binding decides which files are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from engine.catalog.model.objects import SystemTable, Table
from engine.lakes import tables as lakes
from engine.plan_ir.expr import Const
from engine.sql.binder.scope import Scope
from engine.sql.parser.lexical.positions import cursor, position
from engine.storage import history
from wire.errors import FeatureNotSupported, SqlError, WrongObjectType
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.sql.binder.queries import QueryBinder


def refuse(item: exp.Table, what: str) -> None:
    """Raises WrongObjectType if a version is requested of an item that has none."""
    version = item.args.get("version")
    if version is not None:
        raise WrongObjectType(
            f"FOR {version.name} AS OF needs a stored table, and {what}", position=cursor(position(item))
        )


def read(binder: QueryBinder, item: exp.Table, table: Table | SystemTable) -> Table | SystemTable:
    """Return the table that a FROM item reads, in the requested version if there is one. May block. Raises
    InvalidParameterValue for a version that does not exist.
    """
    version = item.args.get("version")
    if version is None:
        return table
    if not isinstance(table, Table) or (table.storage is None and table.lake in ("", "spark")):
        refuse(item, f'"{table.name}" is none')
        raise AssertionError("a version was asked for")
    # The log may be published, and its files removed, without a change of the catalog.
    binder.context.stable = False
    try:
        if version.name == "VERSION":
            number = _constant(binder, version, t.INT8)
            return lakes.at_version(table, number) if table.lake else history.at_version(table, number)
        micros = _constant(binder, version, t.TIMESTAMPTZ)
        return lakes.at_time(table, micros) if table.lake else history.at_time(table, micros)
    except SqlError as error:
        error.position = error.position or cursor(position(version.expression))
        raise


def _constant(binder: QueryBinder, version: exp.Version, typ: t.PgType) -> int:
    clause = f"FOR {version.name} AS OF"
    expr = binder.expressions.as_type(
        binder.expressions.bind(version.expression, Scope(binder.context, binder)), typ, clause
    )
    if not isinstance(expr, Const) or not isinstance(expr.value, int):
        raise FeatureNotSupported(f"not supported: {clause} what is not a constant")
    return expr.value

"""ALTER COLUMN ... SET DATA TYPE: the conditions under which a column's type cannot change, and whether rows must be
rewritten for it.
"""

from __future__ import annotations

from typing import Final

from engine.catalog.model.objects import Table, TableColumn
from engine.common.sql_type import SqlType
from engine.sql.binder.casts import can_coerce
from engine.sql.binder.definitions import RowOfTable, bind_check, bind_default, is_integer, without_position
from engine.sql.deparse.stored_text import columns_of, read_formula
from engine.statements.shared.definer import Definer
from engine.statements.shared.dependencies import check_layout, kind_of, names_column
from wire.errors import (
    DatatypeMismatch,
    FeatureNotSupported,
    InvalidColumnDefinition,
    InvalidParameterValue,
    InvalidTableDefinition,
)
from wire.types import pg_types as t

_TEXTS: Final = (t.TEXT, t.VARCHAR)


def check_type(table: Table, column: TableColumn, changed: TableColumn, *, using: bool, definer: Definer) -> None:
    """Raise PostgreSQL's error if a column cannot get another type. changed: the column with the new type. using:
    whether an expression converts the values.
    """
    if changed.type.pg.category == "P":
        raise InvalidTableDefinition(f'column "{column.name}" has pseudo-type {changed.type.pg.sql_name}')
    check_layout(table, column, "alter")
    _check_cast(column, changed.type, using)
    _check_views(table, definer, column)
    _check_generated(table, column, using)
    _check_foreign_keys(table, definer, column, changed.type)
    _check_dependents(table, definer, changed)


def _check_cast(column: TableColumn, typ: SqlType, using: bool) -> None:
    if not using and not can_coerce(column.type.pg, typ.pg, "assignment"):
        raise DatatypeMismatch(
            f'column "{column.name}" cannot be cast automatically to type {typ.pg.sql_name}',
            hint=f'You might need to specify "USING {column.name}::{typ}".',
        )
    if column.identity and not is_integer(typ):
        raise InvalidParameterValue("identity column type must be smallint, integer, or bigint")


def _check_views(table: Table, definer: Definer, column: TableColumn) -> None:
    for view in definer.snapshot.dependents(table.oid):
        if view.reads_column(table.oid, column.number):
            relation = definer.snapshot.relations[view.schema, view.name]
            raise FeatureNotSupported(
                "cannot alter type of a column used by a view or rule",
                detail=f'rule _RETURN on {kind_of(relation)} {view.name} depends on column "{column.name}"',
            )


def _check_generated(table: Table, column: TableColumn, using: bool) -> None:
    """Raise an error if the column is generated and USING is given, or if a generated column depends on it."""
    if column.generated and using:
        raise InvalidColumnDefinition(
            "cannot specify USING when altering type of generated column",
            detail=f'Column "{column.name}" is a generated column.',
        )
    for other in table.columns:
        if other.generated and other.default is not None and column.name in columns_of(other.default):
            raise FeatureNotSupported(
                "cannot alter type of a column used by a generated column",
                detail=f'Column "{column.name}" is used by generated column "{other.name}".',
            )


def _check_foreign_keys(table: Table, definer: Definer, column: TableColumn, typ: SqlType) -> None:
    """Check that the column's new type still fits its foreign keys, and the foreign keys that reference it, because
    their values are compared.
    """
    named = any(
        names_column(constraint, table.oid, column.number)
        for other in definer.snapshot.tables()
        for constraint in other.constraints
    )
    own = any(c.references is not None and column.name in c.columns for c in table.constraints)
    if (named or own) and not is_relabelling(column.type, typ):
        raise FeatureNotSupported(
            f'not supported: another type for column "{column.name}", which a foreign key constraint is about',
            hint="Drop the constraint, and add it again afterwards.",
        )


def _check_dependents(table: Table, definer: Definer, column: TableColumn) -> None:
    """Check that the column's default, and the check constraints that read it, can be bound with the new type."""
    if column.default is not None and not column.identity and not column.generated:
        try:
            bind_default(read_formula(column.default), column.name, column.type, definer.context())
        except DatatypeMismatch:
            message = (
                f'default for column "{column.name}" cannot be cast automatically to type {column.type.pg.sql_name}'
            )
            raise DatatypeMismatch(message) from None
    columns = [column if c.number == column.number else c for c in table.columns]
    for constraint in table.constraints:
        if constraint.kind == "check" and column.name in constraint.columns:
            context = definer.context()
            row = RowOfTable.from_columns(table.name, columns, context)
            with without_position():
                bind_check(read_formula(constraint.expression), row, context)


def is_relabelling(source: SqlType, target: SqlType) -> bool:
    """Return whether every value, as files store it, is also a value of the new type: a text whose maximum length does
    not shrink.
    """
    if source.pg is target.pg and source.modifier == target.modifier:
        return True
    if source.pg not in _TEXTS or target.pg not in _TEXTS:
        return False
    return target.typmod == -1 or (source.typmod != -1 and source.typmod <= target.typmod)

"""CREATE [OR REPLACE] [TEMP] VIEW."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.api import ResultColumn
from engine.catalog.objects import Relation, TableColumn, View
from engine.catalog.snapshot import TEMPORARY
from engine.catalog.transaction import SessionCatalog
from engine.sql.statements import CreateView
from wire.errors import DuplicateColumn, InvalidTableDefinition, SqlSyntaxError, WrongObjectType


def create_view(
    statement: CreateView,
    columns: Sequence[ResultColumn],
    reads: Sequence[Relation],
    catalog: SessionCatalog,
    search_path: Sequence[str],
    notify: Callable[[str], None],
) -> None:
    """Define a view whose query gives `columns` and reads `reads` directly.

    Raises DuplicateTable, InvalidTableDefinition, WrongObjectType.
    """
    temporary = statement.temporary or statement.name.schema == TEMPORARY
    if not temporary and any(relation.schema == TEMPORARY for relation in reads):
        notify(f'view "{statement.name.name}" will be a temporary view')
        temporary = True
    snapshot = catalog.current()
    schema = TEMPORARY if temporary else snapshot.creation_schema(statement.name.schema, search_path)
    existing = snapshot.relations.get((schema, statement.name.name))
    defined = _columns(statement, columns)
    if existing is not None and statement.replace:
        if not isinstance(existing, View):
            raise WrongObjectType(f'"{statement.name.name}" is not a view')
        _check_replacement(existing.columns, defined)
    view = View(
        existing.oid if existing is not None and statement.replace else catalog.new_oid(),
        schema,
        statement.name.name,
        defined,
        statement.query.text,
        tuple(search_path),
        tuple(sorted({relation.oid for relation in reads})),
    )
    catalog.put(view, replacing=statement.replace)


def _columns(statement: CreateView, columns: Sequence[ResultColumn]) -> tuple[TableColumn, ...]:
    if len(statement.columns) > len(columns):
        raise SqlSyntaxError("CREATE VIEW specifies more column names than columns")
    names = [*statement.columns, *(c.name for c in columns[len(statement.columns) :])]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateColumn(f'column "{name}" specified more than once')
    return tuple(TableColumn(name, c.type, i) for i, (name, c) in enumerate(zip(names, columns, strict=True), 1))


def _check_replacement(old: Sequence[TableColumn], new: Sequence[TableColumn]) -> None:
    """A replaced view keeps its columns and may add more (PostgreSQL, checkViewColumns)."""
    if len(new) < len(old):
        raise InvalidTableDefinition("cannot drop columns from view")
    for before, after in zip(old, new, strict=False):
        if before.name != after.name:
            raise InvalidTableDefinition(
                f'cannot change name of view column "{before.name}" to "{after.name}"',
                hint="Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.",
            )
        if (before.type.pg, before.type.typmod) != (after.type.pg, after.type.typmod):
            raise InvalidTableDefinition(
                f'cannot change data type of view column "{before.name}" from {before.type} to {after.type}'
            )

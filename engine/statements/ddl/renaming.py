"""RENAME and SET SCHEMA: of relations, their columns and constraints. No file is touched: a stored column keeps the
name that it has in files.

Source: PostgreSQL 15, tablecmds.c (renameatt_internal, RenameRelationInternal, AlterTableNamespaceInternal), alter.c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from engine.catalog.model.objects import Constraint, Sequence, StoredRelation, Table, TableColumn, View
from engine.catalog.snapshot import TEMPORARY
from engine.sql.deparse.stored_text import with_column_renamed, with_table_renamed
from engine.statements.ddl.columns import check_name
from engine.statements.ddl.index_parts import made_again, with_renamed_column, with_renamed_table
from engine.statements.shared.definer import Definer
from engine.statements.shared.names import Names
from wire.errors import (
    DuplicateColumn,
    DuplicateObject,
    DuplicateTable,
    FeatureNotSupported,
    InvalidSchemaName,
    UndefinedColumn,
    UndefinedObject,
    WrongObjectType,
)


def rename(relation: StoredRelation, to: str, definer: Definer) -> None:
    """Rename a relation. Raises DuplicateTable, InsufficientPrivilege."""
    definer.authority.require_creation(definer.snapshot, relation.schema)
    if Names(definer.snapshot, relation.schema).has_relation(to):
        raise DuplicateTable(f'relation "{to}" already exists')
    definer.catalog.objects.remove(relation)
    definer.catalog.objects.put(with_name(relation, relation.schema, to))


def move(relation: StoredRelation, schema: str, definer: Definer) -> None:
    """Move a relation to another schema, with the sequences that belong to it. Raises InvalidSchemaName,
    DuplicateTable.
    """
    _check_target(schema, definer)
    if schema == relation.schema:
        return
    if relation.schema == TEMPORARY:
        raise FeatureNotSupported("cannot move objects into or out of temporary schemas")
    if isinstance(relation, Sequence) and relation.owner is not None:
        table = definer.table_of(relation.owner[0])
        raise FeatureNotSupported(
            "cannot move an owned sequence into another schema",
            detail=f'Sequence "{relation.name}" is linked to table "{table.name if table else ""}".',
        )
    for moved in (relation, *_owned_sequences(relation, definer)):
        if Names(definer.snapshot, schema).has_relation(moved.name):
            raise DuplicateTable(f'relation "{moved.name}" already exists in schema "{schema}"')
        definer.catalog.objects.remove(moved)
        definer.catalog.objects.put(with_name(moved, schema, moved.name))


def _check_target(schema: str, definer: Definer) -> None:
    if schema == TEMPORARY:
        raise FeatureNotSupported("cannot move objects into or out of temporary schemas")
    if schema not in definer.snapshot.schemas:
        raise InvalidSchemaName(f'schema "{schema}" does not exist')
    definer.authority.require_creation(definer.snapshot, schema)


def _owned_sequences(relation: StoredRelation, definer: Definer) -> list[Sequence]:
    relations = definer.snapshot.relations.values()
    return [r for r in relations if isinstance(r, Sequence) and r.owner is not None and r.owner[0] == relation.oid]


def with_name(relation: StoredRelation, schema: str, name: str) -> StoredRelation:
    """Return the relation under another name."""
    if not isinstance(relation, Table):
        return replace(relation, schema=schema, name=name)
    constraints = tuple(_of_table(c, relation.name, name) for c in relation.constraints)
    query = None if relation.query is None else replace(relation.query, schema=schema, name=name)
    columns = _with_generated(relation, lambda text: with_table_renamed(text, relation.name, name))
    return replace(relation, schema=schema, name=name, columns=columns, constraints=constraints, query=query)


def _of_table(constraint: Constraint, name: str, to: str) -> Constraint:
    if constraint.kind == "check":
        return replace(constraint, expression=with_table_renamed(constraint.expression, name, to))
    return with_renamed_table(constraint, name, to) if constraint.parts else constraint


def _with_generated(table: Table, change: Callable[[str], str]) -> tuple[TableColumn, ...]:
    """Return the table's columns with their generation expressions changed."""
    return tuple(
        replace(c, default=change(c.default)) if c.generated and c.default is not None else c for c in table.columns
    )


# -- columns and constraints -----------------------------------------------------------------------------------------


def rename_column(relation: StoredRelation, name: str, to: str, definer: Definer) -> None:
    """Rename a column. Raises UndefinedColumn, DuplicateColumn, WrongObjectType."""
    if isinstance(relation, Sequence):
        raise WrongObjectType(
            f'cannot rename columns of relation "{relation.name}"',
            detail="This operation is not supported for sequences.",
        )
    if all(column.name != name for column in relation.columns):
        raise UndefinedColumn(f'column "{name}" does not exist')
    check_name(to)
    if any(column.name == to for column in relation.columns):
        raise DuplicateColumn(f'column "{to}" of relation "{relation.name}" already exists')
    made = _with_column(relation, name, to)
    if isinstance(made, Table):
        made = replace(made, constraints=tuple(_with_printed_text(c, made, definer) for c in made.constraints))
    definer.catalog.objects.put(made, replacing=True)


def _with_printed_text(constraint: Constraint, table: Table, definer: Definer) -> Constraint:
    """Return the constraint with the current printed text of its expressions."""
    return made_again(constraint, table, definer.context()) if constraint.parts else constraint


def _with_column(relation: Table | View, name: str, to: str) -> Table | View:
    if isinstance(relation, View):
        return replace(relation, columns=tuple(replace(c, name=to) if c.name == name else c for c in relation.columns))
    columns = _with_generated(relation, lambda text: with_column_renamed(text, name, to))
    columns = tuple(replace(c, name=to, stored=c.file_column) if c.name == name else c for c in columns)
    return replace(relation, columns=columns, constraints=tuple(_constraint(c, name, to) for c in relation.constraints))


def _constraint(constraint: Constraint, name: str, to: str) -> Constraint:
    if name not in constraint.all_columns:
        return constraint
    columns, included = (
        tuple(to if column == name else column for column in named)
        for named in (constraint.columns, constraint.included)
    )
    if constraint.parts:
        constraint = with_renamed_column(constraint, name, to)
    if constraint.kind != "check":
        return replace(constraint, columns=columns, included=included)
    return replace(constraint, columns=columns, expression=with_column_renamed(constraint.expression, name, to))


def rename_constraint(relation: StoredRelation, name: str, to: str, definer: Definer) -> None:
    """Rename a constraint. Raises UndefinedObject, DuplicateObject, DuplicateTable."""
    there = relation.constraints if isinstance(relation, Table) else ()
    found = next((c for c in there if c.name == name and not c.is_index), None)
    if found is None or not isinstance(relation, Table):
        raise UndefinedObject(f'constraint "{name}" for table "{relation.name}" does not exist')
    rename_found(relation, found, to, definer)


def rename_found(relation: Table, found: Constraint, to: str, definer: Definer) -> None:
    """Rename a table's constraint or index; a key and its index share one name. Raises DuplicateObject, DuplicateTable."""
    if not found.is_index and any(c.name == to for c in relation.constraints if not c.is_index):
        raise DuplicateObject(f'constraint "{to}" for relation "{relation.name}" already exists')
    if (found.is_key or found.is_index) and Names(definer.snapshot, relation.schema).has_relation(to):
        raise DuplicateTable(f'relation "{to}" already exists')
    constraints = tuple(replace(c, name=to) if c is found else c for c in relation.constraints)
    definer.catalog.objects.put(replace(relation, constraints=constraints), replacing=True)

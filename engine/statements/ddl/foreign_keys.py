"""Turns a FOREIGN KEY of a statement into a constraint of a table, by looking up the key that it references
(tablecmds.c: ATAddForeignKeyConstraint, transformFkeyGetPrimaryKey, transformFkeyCheckAttrs).
`engine.statements.dml.foreign_keys` enforces it when rows change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engine.catalog.model.objects import Constraint, References, Table, TableColumn
from engine.catalog.snapshot import TEMPORARY
from engine.sql.binder.casts import can_coerce
from engine.sql.parser.nodes.statements import ConstraintDefinition, ReferencedKey
from engine.statements.shared.definer import Definer
from engine.statements.shared.names import Names
from wire.errors import (
    DatatypeMismatch,
    DuplicateObject,
    InvalidColumnReference,
    InvalidForeignKey,
    InvalidTableDefinition,
    ObjectNotInPrerequisiteState,
    SqlSyntaxError,
    UndefinedColumn,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)
from wire.types import pg_types as t

#: Families of types whose values an index compares with each other (pg_amop, of btree).
_FAMILIES: Final = (
    {t.INT2, t.INT4, t.INT8}, {t.FLOAT4, t.FLOAT8}, {t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ}, {t.TEXT, t.VARCHAR, t.NAME}
)  # fmt: skip


def with_foreign_key(table: Table, written: ConstraintDefinition, definer: Definer, names: Names) -> Table:
    """Return the table with one more foreign key. Raises as PostgreSQL does."""
    assert written.references is not None
    said = written.references
    there = _find_referenced(table, said, definer)
    own = [_column(table, name) for name in written.columns]
    key = _key_columns(there, said)
    if len(own) != len(key):
        raise InvalidForeignKey("number of referencing and referenced columns for foreign key disagree")
    if there is not table:
        definer.authority.require_references(there, "table", [column.number for column in key])
    name = written.name
    if name is None:
        name = names.constraint(table.name, "_".join(written.columns), "fkey")
    elif any(constraint.name == name for constraint in table.constraints):
        raise DuplicateObject(f'constraint "{name}" for relation "{table.name}" already exists')
    else:
        names.take(name, key=False)
    _check_generated(own, said)
    _check_types(name, own, key)
    numbers = tuple(column.number for column in key)
    some = tuple(_set_column(table, column, own) for column in said.delete_columns)
    references = References(there.oid, numbers, said.on_update, said.on_delete, said.full, some)
    made = Constraint(
        definer.catalog.objects.new_oid(),
        name,
        "foreign key",
        written.columns,
        references=references,
        deferrable=written.deferrable,
        valid=written.valid,
    )
    return replace(table, constraints=(*table.constraints, made))


def _find_referenced(table: Table, said: ReferencedKey, definer: Definer) -> Table:
    """Find the referenced table, which may be the one that is being created."""
    if said.table.name == table.name and said.table.schema in (None, table.schema):
        return table
    found = definer.resolve(said.table)
    if found is None:
        raise UndefinedTable(f'relation "{said.table}" does not exist')
    if not isinstance(found, Table) or found.query is not None or found.storage is None:
        raise WrongObjectType(f'referenced relation "{found.name}" is not a table')
    if (found.schema == TEMPORARY) != (table.schema == TEMPORARY):
        kind = "temporary" if table.schema == TEMPORARY else "permanent"
        raise InvalidTableDefinition(f"constraints on {kind} tables may reference only {kind} tables")
    if found.unlogged and not table.unlogged and table.schema != TEMPORARY:
        raise InvalidTableDefinition("constraints on permanent tables may reference only permanent tables")
    return found


def _column(table: Table, name: str) -> TableColumn:
    column = table.column(name)
    if column is None:
        raise UndefinedColumn(f'column "{name}" referenced in foreign key constraint does not exist')
    return column


def _set_column(table: Table, name: str, own: Sequence[TableColumn]) -> int:
    """Return the number of a column that ON DELETE SET ... names (validateFkOnDeleteSetColumns)."""
    column = _column(table, name)
    if column not in own:
        raise InvalidColumnReference(f'column "{name}" referenced in ON DELETE SET action must be part of foreign key')
    return column.number


def _key_columns(there: Table, said: ReferencedKey) -> Sequence[TableColumn]:
    if not said.columns:
        primary = next((c for c in there.constraints if c.kind == "primary key"), None)
        if primary is None:
            raise UndefinedObject(f'there is no primary key for referenced table "{there.name}"')
        if primary.deferrable:
            raise ObjectNotInPrerequisiteState(
                f'cannot use a deferrable primary key for referenced table "{there.name}"'
            )
        return [_column(there, name) for name in primary.columns]
    columns = [_column(there, name) for name in said.columns]
    found = [c for c in there.constraints if c.is_key and not c.parts and set(c.columns) == set(said.columns)]
    if found and all(c.deferrable for c in found):
        raise ObjectNotInPrerequisiteState(
            f'cannot use a deferrable unique constraint for referenced table "{there.name}"'
        )
    if not found:
        raise InvalidForeignKey(
            f'there is no unique constraint matching given keys for referenced table "{there.name}"'
        )
    return columns


def _check_generated(own: Sequence[TableColumn], said: ReferencedKey) -> None:
    """Refuse actions that would change a generated column."""
    if not any(column.generated for column in own):
        return
    for when, action, changes in (
        ("UPDATE", said.on_update, ("set null", "set default", "cascade")), ("DELETE", said.on_delete, ("set null", "set default"))
    ):  # fmt: skip
        if action in changes:
            raise SqlSyntaxError(f"invalid ON {when} action for foreign key constraint containing generated column")


def _check_types(name: str, own: Sequence[TableColumn], key: Sequence[TableColumn]) -> None:
    """Check that the types can be compared: a key's index compares its type with the other types of its operator
    family, and with types that can be cast to it (ATAddForeignKeyConstraint).
    """
    for mine, theirs in zip(own, key, strict=True):
        a, b = mine.type.pg, theirs.type.pg
        if a is not b and not can_coerce(a, b, "implicit") and not any(a in f and b in f for f in _FAMILIES):
            raise DatatypeMismatch(
                f'foreign key constraint "{name}" cannot be implemented',
                detail=f'Key columns "{mine.name}" and "{theirs.name}" are of incompatible types: {a.sql_name} and {b.sql_name}.',
            )

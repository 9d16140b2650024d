"""Turns the constraints of a statement into constraints of a table: names them, binds them, and looks up their columns
(parse_utilcmd.c: transformIndexConstraint; heap.c: AddRelationNewConstraints).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.catalog.model.objects import Constraint, Table, TableColumn
from engine.sql.binder.definitions import RowOfTable, bind_check
from engine.sql.deparse.stored_text import columns_of
from engine.sql.parser.lexical.positions import cursor
from engine.sql.parser.nodes.statements import ConstraintDefinition
from engine.statements.ddl.foreign_keys import with_foreign_key
from engine.statements.shared.definer import Definer
from engine.statements.shared.names import Names
from wire.errors import (
    DuplicateColumn,
    DuplicateObject,
    DuplicateTable,
    InvalidTableDefinition,
    UndefinedColumn,
    UndefinedObject,
)
from wire.types import pg_types as t


def with_constraints(table: Table, written: Sequence[ConstraintDefinition], definer: Definer, names: Names) -> Table:
    """Return the table with the constraints added. All keys are checked first; then checks are added, then keys, the
    primary key first, then foreign keys. PostgreSQL, too, creates keys late and checks them early.
    """
    keys = [c for c in written if c.kind in ("primary key", "unique")]
    primary = [c for c in keys if c.kind == "primary key"]
    if len(primary) + sum(c.kind == "primary key" for c in table.constraints) > 1:
        raise InvalidTableDefinition(
            f'multiple primary keys for table "{table.name}" are not allowed', position=cursor(primary[-1].position)
        )
    for key in keys:
        _check_key(key, table)
    before = len(table.constraints)
    for check in (c for c in written if c.kind == "check"):
        if any(check.name == c.name for c in table.constraints[before:]):
            raise DuplicateObject(f'check constraint "{check.name}" already exists')
        table = _with_check(table, check, definer, names)
    for key in [*primary, *(c for c in keys if c.kind == "unique")]:
        table = _with_key(table, key, definer, names)
    for key in (c for c in written if c.kind == "foreign key"):
        table = with_foreign_key(table, key, definer, names)
    return table


def _with_check(table: Table, written: ConstraintDefinition, definer: Definer, names: Names) -> Table:
    assert written.formula is not None
    context = definer.context()
    bind_check(written.formula.tree, RowOfTable.of(table, context), context)
    columns = columns_of(written.formula.text)
    name = written.name
    if name is None:
        name = names.constraint(table.name, columns[0] if len(columns) == 1 else "", "check")
    else:
        _check_free(table, name)
        names.take(name, key=False)
    stored = definer.storage_text(written.formula.text)
    made = Constraint(definer.catalog.objects.new_oid(), name, "check", columns, stored, valid=written.valid)
    return replace(table, constraints=(*table.constraints, made))


def _check_free(table: Table, name: str) -> None:
    if any(constraint.name == name for constraint in table.constraints):
        raise DuplicateObject(f'constraint "{name}" for relation "{table.name}" already exists')


def _with_key(table: Table, written: ConstraintDefinition, definer: Definer, names: Names) -> Table:
    """Return the table with a key added. An unnamed key that another key of the same CREATE TABLE repeats is not added."""
    primary = written.kind == "primary key"
    said = (written.columns, written.included, written.nulls_not_distinct)
    same = [c for c in table.constraints if c.is_key and (c.columns, c.included, c.nulls_not_distinct) == said]
    if same and written.name is None and not primary and definer.table_of(table.oid) is None:
        return table
    name = written.name
    if name is None:
        name = names.relation(
            table.name, "" if primary else "_".join(written.columns + written.included), "pkey" if primary else "key"
        )
    elif names.has_relation(name):
        raise DuplicateTable(f'relation "{name}" already exists')
    else:
        _check_free(table, name)
    names.take(name, key=True)
    made = Constraint(
        definer.catalog.objects.new_oid(),
        name,
        written.kind,
        written.columns,
        deferrable=written.deferrable,
        included=written.included,
        nulls_not_distinct=written.nulls_not_distinct,
    )
    columns = tuple(_not_null(c) if primary and c.name in written.columns else c for c in table.columns)
    return replace(table, columns=columns, constraints=(*table.constraints, made))


def _not_null(column: TableColumn) -> TableColumn:
    return replace(column, nullable=False)


def _check_key(written: ConstraintDefinition, table: Table) -> None:
    seen: set[str] = set()
    for name in written.columns:
        column = table.column(name)
        if column is None:
            raise UndefinedColumn(f'column "{name}" named in key does not exist', position=cursor(written.position))
        if name in seen:
            what = "primary key" if written.kind == "primary key" else "unique"
            raise DuplicateColumn(
                f'column "{name}" appears twice in {what} constraint', position=cursor(written.position)
            )
        if column.type.pg is t.JSON:
            raise UndefinedObject(
                'data type json has no default operator class for access method "btree"',
                hint="You must specify an operator class for the index or define a default operator class for the data type.",
            )
        seen.add(name)
    for name in written.included:
        if table.column(name) is None:
            raise UndefinedColumn(f'column "{name}" named in key does not exist', position=cursor(written.position))

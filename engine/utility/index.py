"""CREATE INDEX: kept as a definition that clients find where they look for it (indexcmds.c: DefineIndex).

There is no index behind it, and no query is faster for it: files are skipped by their statistics, which a table's sort order makes
narrow. What a unique index says of rows holds, as a key's constraint does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from engine.catalog.objects import Constraint, Table
from engine.sql.statements import CreateIndex, IndexedColumn
from engine.utility.definer import Definer
from engine.utility.dependencies import kind_of
from engine.utility.names import Names
from engine.utility.questions import Question, keys_twice
from wire import types as t
from wire.errors import (
    DuplicateTable,
    UndefinedColumn,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)


def create_index(statement: CreateIndex, definer: Definer) -> tuple[Question, ...]:
    """Define it; what the rows that are there are to be asked. Raises as PostgreSQL does."""
    table = _table(statement, definer)
    names = Names(definer.snapshot, table.schema)
    for column in statement.columns:
        _check_column(table, column)
    columns = tuple(column.name for column in statement.columns)
    name = statement.name
    if name is None:
        name = names.relation(table.name, "_".join(columns), "idx")
    elif names.has_relation(name):
        if not statement.if_not_exists:
            raise DuplicateTable(f'relation "{name}" already exists')
        definer.notify(f'relation "{name}" already exists, skipping')
        return ()
    options = tuple(map(_option, statement.columns))
    kind: Literal["index", "unique index"] = "unique index" if statement.unique else "index"
    made = Constraint(definer.catalog.new_oid(), name, kind, columns, options=options if any(options) else ())
    table = replace(table, constraints=(*table.constraints, made))
    definer.catalog.put(table, replacing=True)
    return (keys_twice(table, made),) if statement.unique else ()


def _table(statement: CreateIndex, definer: Definer) -> Table:
    found = definer.resolve(statement.table)
    if found is None:
        raise UndefinedTable(f'relation "{statement.table}" does not exist')
    if not isinstance(found, Table) or found.storage is None:
        raise WrongObjectType(
            f'cannot create index on relation "{found.name}"',
            detail=f"This operation is not supported for {kind_of(found)}s.",
        )
    definer.authority.require_owner(found, kind_of(found))
    return found


def _check_column(table: Table, said: IndexedColumn) -> None:
    column = table.column(said.name)
    if column is None:
        raise UndefinedColumn(f'column "{said.name}" does not exist')
    if column.type.pg is t.JSON:
        raise UndefinedObject(
            'data type json has no default operator class for access method "btree"',
            hint="You must specify an operator class for the index or define a default operator class for the data type.",
        )


def _option(column: IndexedColumn) -> int:
    """As pg_index.indoption."""
    nulls_first = column.descending if column.nulls_first is None else column.nulls_first
    return int(column.descending) | int(nulls_first) << 1

"""CREATE INDEX: stored as a definition only, which clients find in the system catalog (indexcmds.c: DefineIndex).

No index structure is built, and no query is faster because of it: files are skipped by their statistics, and a table's
sort order makes those selective. The uniqueness that a unique index promises is enforced, as for a key constraint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from engine.catalog.model.objects import Constraint, KeyPart, Table
from engine.pg_catalog.access_methods import METHODS
from engine.sql.parser.nodes.statements import CreateIndex, IndexedColumn
from engine.statements.ddl.constraint_scan import Question, keys_twice
from engine.statements.ddl.index_parts import classes_of, columns_read, parts_of, predicate
from engine.statements.shared.definer import Definer
from engine.statements.shared.dependencies import kind_of
from engine.statements.shared.names import Names
from wire.errors import (
    DuplicateTable,
    FeatureNotSupported,
    InvalidParameterValue,
    UndefinedColumn,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)


def _store_part(part: KeyPart, definer: Definer) -> KeyPart:
    return replace(part, formula=definer.storage_text(part.formula)) if part.formula else part


def create_index(statement: CreateIndex, definer: Definer) -> tuple[Question, ...]:
    """Define an index. Returns the questions about existing rows. Raises as PostgreSQL does."""
    table = _table(statement, definer)
    _require_able(statement)
    names = Names(definer.snapshot, table.schema)
    parts = tuple(_store_part(part, definer) for part in parts_of(statement, table, definer.context()))
    where = None
    if statement.predicate is not None:
        where = _store_part(predicate(statement.predicate, table, definer.context()), definer)
    plain = where is None and not any(part.formula for part in parts)
    for included in statement.included:
        if table.column(included) is None:
            raise UndefinedColumn(f'column "{included}" does not exist')
    name = statement.name
    if name is None:
        name = names.relation(table.name, "_".join((*(part.name for part in parts), *statement.included)), "idx")
    elif names.has_relation(name):
        if not statement.if_not_exists:
            raise DuplicateTable(f'relation "{name}" already exists')
        definer.notify(f'relation "{name}" already exists, skipping')
        return ()
    options = tuple(map(_option, statement.columns))
    classes = classes_of(statement, parts, table)
    kind: Literal["index", "unique index"] = "unique index" if statement.unique else "index"
    made = Constraint(
        definer.catalog.objects.new_oid(),
        name,
        kind,
        tuple(part.name for part in parts) if plain else columns_read(parts if where is None else (*parts, where)),
        options=options if any(options) else (),
        included=statement.included,
        parts=() if plain else parts,
        predicate=where,
        method=statement.method,
        classes=classes,
        nulls_not_distinct=statement.nulls_not_distinct,
    )
    table = replace(table, constraints=(*table.constraints, made))
    definer.catalog.objects.put(table, replacing=True)
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


def _require_able(statement: CreateIndex) -> None:
    """Raise UndefinedObject, FeatureNotSupported or InvalidParameterValue for options that the access method does not
    support (DefineIndex, ComputeIndexAttrs). The values of storage parameters are ignored.
    """
    method = METHODS.get(statement.method)
    if method is None:
        raise UndefinedObject(f'access method "{statement.method}" does not exist')
    asked = (
        (statement.unique and not method.unique, "unique indexes"),
        (bool(statement.included) and not method.includes, "included columns"),
        (len(statement.columns) > 1 and not method.several, "multicolumn indexes"),
        (not method.orders and any(column.ordered for column in statement.columns), "ASC/DESC options"),
        (not method.orders and any(c.nulls_first is not None for c in statement.columns), "NULLS FIRST/LAST options"),
    )
    for lacking, what in asked:
        if lacking:
            raise FeatureNotSupported(f'access method "{statement.method}" does not support {what}')
    for number, name in enumerate(statement.parameters):
        if name not in method.parameters:
            raise InvalidParameterValue(f'unrecognized parameter "{name}"')
        if name in statement.parameters[:number]:
            raise InvalidParameterValue(f'parameter "{name}" specified more than once')


def _option(column: IndexedColumn) -> int:
    """Return the column's bits of pg_index.indoption."""
    nulls_first = column.descending if column.nulls_first is None else column.nulls_first
    return int(column.descending) | int(nulls_first) << 1

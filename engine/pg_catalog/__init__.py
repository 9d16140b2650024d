"""The system catalog: the relations of pg_catalog and of Sluice's own schema `sluice` as tables in memory, made from a
catalog snapshot, from the session and from the mesh.

Clients query these relations on connect and on browse, with joins, arrays and casts. They are therefore relations like
any other: bound, planned and run by the in-process engine. Each file has one family of relations. A row of `SYSTEM`
declares a relation: its OID and columns, which are PostgreSQL 15's where the relation is PostgreSQL's, and the function
that makes its rows.

Rows that depend on the snapshot alone are made once for each snapshot. Rows that depend on the session (activity,
cursors, settings) are made for each statement, which is then not cached.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from engine.catalog.model.counters import Count
from engine.catalog.model.objects import Relation, SystemTable, TableColumn, View
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.snapshot import Snapshot
from engine.pg_catalog import (
    cluster,
    definitions,
    dependencies,
    extension,
    postgres_views,
    privileges,
    relations,
    roles,
    sessions,
    settings,
    statements,
    statistics,
    tables,
    types,
    zones,
)
from engine.pg_catalog.acl_text import AclText
from engine.pg_catalog.builtin import rows as builtin_rows
from engine.pg_catalog.declared import PG_CATALOG, Key, Row, SystemContext, SystemRelation
from wire.types import pg_types as t
from wire.types.carriers import carrier

__all__ = ["PG_CATALOG", "SystemCatalog", "SystemContext"]

FAMILIES: Final = (
    types,
    relations,
    roles,
    privileges,
    definitions,
    statistics,
    dependencies,
    extension,
    sessions,
    statements,
    settings,
    cluster,
    tables,
    zones,
)
SYSTEM: Final[Mapping[Key, SystemRelation]] = {
    relation.key: relation for module in (postgres_views, *FAMILIES) for relation in module.SYSTEM
}
_BY_OID: Final[Mapping[int, SystemRelation]] = {relation.oid: relation for relation in SYSTEM.values()}


def is_system(relation: Relation) -> bool:
    """Return whether a relation is declared in this package. A user's table is not, nor is a sequence, although its row
    has the form of a system relation too.
    """
    return isinstance(relation, SystemTable) and (relation.schema, relation.name) in SYSTEM


class SystemCatalog:
    """The system relations of one session. `find` returns one with its current rows."""

    _versions = itertools.count(1)

    def __init__(self) -> None:
        self._made: dict[Key, tuple[Snapshot, SystemTable]] = {}

    @staticmethod
    def oid_of(schemas: Sequence[str], name: str) -> int | None:
        """Return the OID of the relation with that name, without making its rows."""
        schema = SystemCatalog.schema_of(schemas, name)
        return SYSTEM[schema, name].oid if schema is not None else None

    @staticmethod
    def schema_of(schemas: Sequence[str], name: str) -> str | None:
        """Return the first of the schemas that has a system relation with that name."""
        return next((schema for schema in schemas if (schema, name) in SYSTEM), None)

    def find(self, schemas: Sequence[str], name: str, context: SystemContext) -> SystemTable | View | None:
        """Return the relation with that name in the first of the schemas that has it. Its privileges are checked as
        those of any other relation.
        """
        schema = self.schema_of(schemas, name)
        if schema is None:
            return None
        key = (schema, name)
        relation, made = SYSTEM[key], self._made.get(key)
        if relation.query:
            columns, is_closed = relation.declared_columns(), bool(relation.closed)
            return View(relation.oid, *key, columns, relation.query, (PG_CATALOG,), is_closed=is_closed)
        if made is not None and self.has_rows(key, context):
            return made[1]
        columns = relation.declared_columns()
        rows = _table(columns, relation.rows(replace(context, system=SYSTEM)))
        if relation.stored:
            known = _with_role_names(columns, builtin_rows(name), context)
            rows = pa.concat_tables((known, rows.cast(known.schema))) if rows.num_rows else known
        table = SystemTable(relation.oid, *key, columns, rows, next(self._versions), relation.closed)
        self._made[key] = (context.snapshot, table)
        return table

    def has_rows(self, key: Key, context: SystemContext) -> bool:
        """Return whether the rows of a relation have been made and are current."""
        made = self._made.get(key)
        return made is not None and made[0] is context.snapshot and not SYSTEM[key].volatile

    @staticmethod
    def with_oid(oid: int) -> SystemRelation | None:
        return _BY_OID.get(oid)

    def counter(self, sequence: NumberSequence, at: Count) -> SystemTable:
        """Return a sequence as a relation of one row, which has the state of its counter."""
        columns = relations.COUNTER
        rows = _table(columns, [(at.value, 0, at.called)])
        return SystemTable(sequence.oid, sequence.schema, sequence.name, columns, rows, next(self._versions))

    @staticmethod
    def is_volatile(table: SystemTable | View) -> bool:
        return SYSTEM[table.schema, table.name].volatile


def _with_role_names(columns: Sequence[TableColumn], rows: pa.Table, context: SystemContext) -> pa.Table:
    """Replace the name of PostgreSQL's first role in PostgreSQL's own rows by the name that the first role has here."""
    for column in columns:
        if column.type.pg is t.array_of(t.ACLITEM):
            shown = AclText(context.snapshot.roles, context.user)
            at = rows.schema.get_field_index(column.name)
            rows = rows.set_column(at, rows.schema.field(at), shown.rename_owner(rows.column(at)))
    return rows


def _table(columns: Sequence[TableColumn], rows: Iterable[Row]) -> pa.Table:
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(v, carrier(c.type.pg, c.type.scale)) for c, v in zip(columns, values, strict=True)]
    return pa.Table.from_arrays(arrays, names=[c.name for c in columns])

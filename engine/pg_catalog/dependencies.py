"""Dependencies between objects: pg_depend, and pg_rewrite, whose rules hold the dependencies of views.

A view is a relation with a rule, and the rule depends on the columns that the view reads. Clients that look for the
dependents of a table (dbt, browsers of dependencies) join the two relations. Here a rule has the OID of its view.

Source: PostgreSQL 15, dependency.c (recordDependencyOnExpr), heap.c, index.c, pg_constraint.c, rewriteDefine.c.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.model.objects import Constraint, References, Sequence, StoredRelation, Table, View
from engine.catalog.model.user_types import CompositeType
from engine.catalog.snapshot import TEMPORARY
from engine.pg_catalog.declared import Row, SystemContext, postgres
from engine.pg_catalog.extension import members
from engine.pg_catalog.namespaces import namespace
from engine.pg_catalog.relations import keys
from engine.pg_catalog.row_types import row_type_oid
from engine.sql.deparse.stored_text import columns_of, sequences_of

_ATTRDEF: Final = 2604
_CLASS: Final = 1259
_CONSTRAINT: Final = 2606
_NAMESPACE: Final = 2615
_REWRITE: Final = 2618
_TYPE: Final = 1247


def _pg_depend(context: SystemContext) -> Iterator[Row]:
    yield from members(context)
    for relation in context.snapshot.relations.values():
        if relation.schema != TEMPORARY:
            yield _CLASS, relation.oid, 0, _NAMESPACE, namespace(context, relation.schema), 0, "n"
        if isinstance(relation, Sequence):
            if relation.owner is not None:
                yield _CLASS, relation.oid, 0, _CLASS, *relation.owner, "i" if relation.internal else "a"
            continue
        if isinstance(relation, Table):
            yield from _of_table(relation, context)
        if (query := defined_by(relation)) is not None:
            yield from _of_rule(relation, query)
        yield _TYPE, row_type_oid(relation), 0, _CLASS, relation.oid, 0, "i"
    for typ in context.snapshot.types.values():
        yield _TYPE, typ.oid, 0, _NAMESPACE, namespace(context, typ.schema), 0, "n"
        if isinstance(typ, CompositeType):
            yield _CLASS, typ.relation, 0, _TYPE, typ.oid, 0, "i"


def _of_table(table: Table, context: SystemContext) -> Iterator[Row]:
    numbers = {column.name: column.number for column in table.columns}
    for column in table.columns:
        if column.default is not None and not column.identity:
            default = table.oid * 10_000 + column.number
            yield _ATTRDEF, default, 0, _CLASS, table.oid, column.number, "a"
            for sequence in sequences_of(column.default):
                yield _ATTRDEF, default, 0, _CLASS, sequence, 0, "n"
    for constraint in table.constraints:
        if not constraint.is_index:
            for name in constraint.all_columns:
                yield _CONSTRAINT, constraint.oid, 0, _CLASS, table.oid, numbers[name], "a"
            yield from _of_foreign_key(constraint, context)
    for key in keys(table.constraints):
        if key.is_index:
            for name in _index_columns(key):
                yield _CLASS, key.oid, 0, _CLASS, table.oid, numbers[name], "a"
            if all(part.formula for part in key.key_parts) and not key.included:
                # The index depends on the table only through its expressions.
                yield _CLASS, key.oid, 0, _CLASS, table.oid, 0, "a"
        else:
            yield _CLASS, key.oid, 0, _CONSTRAINT, key.oid, 0, "i"


def _index_columns(index: Constraint) -> Iterator[str]:
    """Return the columns that an index needs. PostgreSQL lists its columns, its expressions and its predicate
    separately.
    """
    yield from (part.name for part in index.key_parts if not part.formula)
    yield from index.included
    yield from dict.fromkeys(name for part in index.parts if part.formula for name in columns_of(part.formula))
    if index.predicate is not None:
        yield from columns_of(index.predicate.formula)


def _of_foreign_key(constraint: Constraint, context: SystemContext) -> Iterator[Row]:
    if constraint.references is not None:
        for number in constraint.references.columns:
            yield _CONSTRAINT, constraint.oid, 0, _CLASS, constraint.references.table, number, "n"
        yield _CONSTRAINT, constraint.oid, 0, _CLASS, named_key(context, constraint.references), 0, "n"


def named_table(context: SystemContext, references: References) -> Table:
    return next(table for table in context.snapshot.tables() if table.oid == references.table)


def named_key(context: SystemContext, references: References) -> int:
    """Return the index of the key that a foreign key references."""
    table = named_table(context, references)
    names = {column.name for column in table.columns if column.number in references.columns}
    return next((key.oid for key in keys(table.constraints) if set(key.columns) == names and not key.parts), 0)


def _of_rule(relation: StoredRelation, query: View) -> Iterator[Row]:
    yield _REWRITE, relation.oid, 0, _CLASS, relation.oid, 0, "i"
    for seen in query.sees:
        for number in sorted(seen.used) or (0,):
            yield _REWRITE, relation.oid, 0, _CLASS, seen.oid, number, "n"


def defined_by(relation: StoredRelation) -> View | None:
    """Return the query of a view or a materialized view."""
    if isinstance(relation, Table):
        return relation.query
    return relation if isinstance(relation, View) else None


def _pg_rewrite(context: SystemContext) -> Iterator[Row]:
    for relation in context.snapshot.relations.values():
        if defined_by(relation) is not None:
            yield relation.oid, "_RETURN", relation.oid, "1", "O", True, None, None


SYSTEM: Final = (
    postgres("pg_depend", _pg_depend),
    postgres("pg_rewrite", _pg_rewrite, stored=True),
)

"""What needs what: pg_depend, and pg_rewrite, whose rules are what views need things for.

A view is a relation with a rule, and it is the rule that depends on the columns that the view reads: whoever asks what would go
with a table (dbt, browsers of dependencies) joins the two. A rule has its view's OID here.

Source: PostgreSQL 15, dependency.c (recordDependencyOnExpr), heap.c, index.c, pg_constraint.c, rewriteDefine.c.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.catalog.objects import Constraint, Sequence, StoredRelation, Table, View
from engine.catalog.snapshot import TEMPORARY
from engine.catalog.system.declared import Row, SystemContext, postgres
from engine.catalog.system.relations import keys, namespace

_ATTRDEF: Final = 2604
_CLASS: Final = 1259
_CONSTRAINT: Final = 2606
_NAMESPACE: Final = 2615
_REWRITE: Final = 2618


def _pg_depend(context: SystemContext) -> Iterator[Row]:
    for relation in context.snapshot.relations.values():
        if relation.schema != TEMPORARY:
            yield _CLASS, relation.oid, 0, _NAMESPACE, namespace(context, relation.schema), 0, "n"
        if isinstance(relation, Sequence):
            if relation.owner is not None:
                yield _CLASS, relation.oid, 0, _CLASS, *relation.owner, "i" if relation.internal else "a"
            continue
        if isinstance(relation, Table):
            yield from _of_table(relation)
        if (query := defined_by(relation)) is not None:
            yield from _of_rule(relation, query)


def _of_table(table: Table) -> Iterator[Row]:
    numbers = {column.name: column.number for column in table.columns}
    for column in table.columns:
        if column.default is not None and not column.identity:
            yield _ATTRDEF, table.oid * 10_000 + column.number, 0, _CLASS, table.oid, column.number, "a"
    for constraint in table.constraints:
        if not constraint.is_index:
            for name in constraint.columns:
                yield _CONSTRAINT, constraint.oid, 0, _CLASS, table.oid, numbers[name], "a"
            yield from _of_foreign_key(constraint)
    for key in keys(table.constraints):
        if key.is_index:
            for name in key.columns:
                yield _CLASS, key.oid, 0, _CLASS, table.oid, numbers[name], "a"
        else:
            yield _CLASS, key.oid, 0, _CONSTRAINT, key.oid, 0, "i"


def _of_foreign_key(constraint: Constraint) -> Iterator[Row]:
    if constraint.references is not None:
        for number in constraint.references.columns:
            yield _CONSTRAINT, constraint.oid, 0, _CLASS, constraint.references.table, number, "n"


def _of_rule(relation: StoredRelation, query: View) -> Iterator[Row]:
    yield _REWRITE, relation.oid, 0, _CLASS, relation.oid, 0, "i"
    for seen in query.sees:
        for number in sorted(seen.used) or (0,):
            yield _REWRITE, relation.oid, 0, _CLASS, seen.oid, number, "n"


def defined_by(relation: StoredRelation) -> View | None:
    """The query that a view or a materialized view is."""
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

"""Filling a table from a query, as INSERT does: CREATE TABLE AS, and ALTER TABLE where all rows are written anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from engine.catalog.files import refresh
from engine.catalog.objects import Relation, Table, View
from engine.sql.scope import Catalog
from engine.sql.statements import Insert

#: The name, in a schema that nobody can name, of a table as it was before it is written anew.
BEFORE: Final = ("\0", "before")


def filling(table: Table, rows: exp.Expression, columns: Sequence[str] | None = None) -> Insert:
    """INSERT INTO table [(columns)] OVERRIDING SYSTEM VALUE query."""
    named = None if columns is None else tuple(exp.to_identifier(name, quoted=True) for name in columns)
    return Insert(
        target=_table(table.schema, table.name), returning=(), alias=None, columns=named, source=rows, overriding="system",
        filling=True, text="",
    )  # fmt: skip


def reading_before(values: Sequence[exp.Expression]) -> exp.Select:
    """SELECT values FROM the table as it was."""
    return exp.Select(expressions=list(values), from_=exp.From(expressions=[_table(*BEFORE)]))


def _table(schema: str, name: str) -> exp.Table:
    return exp.Table(this=exp.Identifier(this=name, quoted=True), db=exp.Identifier(this=schema, quoted=True))


@dataclass(frozen=True, slots=True)
class BesideBefore:
    """`engine.sql.scope.Catalog`: another one, and beside it a table as it was, or a materialized view's query, named
    `BEFORE`."""

    around: Catalog
    before: Table | View

    def resolve(self, schema: str | None, name: str, search_path: Sequence[str]) -> Relation | None:
        if (schema, name) == BEFORE:
            return refresh(self.before) if isinstance(self.before, Table) else self.before
        return self.around.resolve(schema, name, search_path)

    def by_oid(self, oid: int) -> Relation | None:
        return self.around.by_oid(oid)

    def oid_of(self, schema: str | None, name: str, search_path: Sequence[str]) -> int | None:
        return self.around.oid_of(schema, name, search_path)

    def has_schema(self, name: str) -> bool:
        return self.around.has_schema(name)

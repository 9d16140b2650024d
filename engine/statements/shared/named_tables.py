"""Tables that internal statements read and that have no name in the catalog: a table's former state, or some of its
files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from engine.catalog.model.objects import Relation, SystemTable, Table, View
from engine.sql.binder.scope import Catalog
from wire.dataclass import dataclass

#: The schema of such tables, which no statement of a client can name.
_HIDDEN: Final = "\0"


def table_reference(name: str, alias: str | None = None) -> exp.Table:
    """Return a reference to such a table, as an item of FROM."""
    tree = exp.Table(this=exp.Identifier(this=name, quoted=True), db=exp.Identifier(this=_HIDDEN, quoted=True))
    if alias is not None:
        tree.set("alias", exp.TableAlias(this=exp.Identifier(this=alias, quoted=True)))
    return tree


@dataclass(frozen=True, slots=True)
class NamedTables:
    """An `engine.sql.binder.scope.Catalog` of these tables, with the files that they have, and of another catalog's
    relations.
    """

    tables: Mapping[str, Table | View | SystemTable]
    around: Catalog | None = None

    def resolve(self, schema: str | None, name: str, search_path: Sequence[str]) -> Relation | None:
        if schema == _HIDDEN:
            return self.tables.get(name)
        return None if self.around is None else self.around.resolve(schema, name, search_path)

    def by_oid(self, oid: int) -> Relation | None:
        return None if self.around is None else self.around.by_oid(oid)

    def oid_of(self, schema: str | None, name: str, search_path: Sequence[str]) -> int | None:
        return None if self.around is None else self.around.oid_of(schema, name, search_path)

    def schema_oid(self, name: str) -> int | None:
        return None if self.around is None else self.around.schema_oid(name)

    def has_schema(self, name: str) -> bool:
        return self.around is not None and self.around.has_schema(name)

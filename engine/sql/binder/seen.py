"""The catalog as a view saw it when it was created: the view's text keeps referring to the same relations and columns
after renames, and `*` keeps its columns.

PostgreSQL stores views as trees of OIDs and attribute numbers (pg_rewrite). Here a view is stored as its text together
with the objects that the names in it refer to (`View.sees`). Users want to see the text that they wrote, and later
releases are not bound to a tree format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from engine.catalog.model.objects import Relation, Seen, Table, TableColumn, View
from wire.errors import InternalError

if TYPE_CHECKING:
    from engine.sql.binder.scope import Catalog

RelationT = TypeVar("RelationT", Table, View)


class SeenCatalog:
    """`engine.sql.binder.scope.Catalog` for a view's definition. Names that are not recorded with the view (functions'
    arguments like `'t'::regclass`) are looked up in the current catalog.
    """

    def __init__(self, view: View, around: Catalog) -> None:
        self._view = view
        self._around = around

    def resolve(self, schema: str | None, name: str, search_path: Sequence[str]) -> Relation | None:
        for seen in self._view.sees:
            if (seen.schema, seen.name) == (schema, name):
                return self._as_seen(seen)
        return self._around.resolve(schema, name, search_path)

    def _as_seen(self, seen: Seen) -> Relation:
        relation = self._around.by_oid(seen.oid)
        if isinstance(relation, Table):
            return _with_columns(relation, seen)
        if isinstance(relation, View):
            return _with_columns(relation, seen)
        raise InternalError(f'view "{self._view.name}" reads relation {seen.oid}, which is not there')

    def by_oid(self, oid: int) -> Relation | None:
        return self._around.by_oid(oid)

    def oid_of(self, schema: str | None, name: str, search_path: Sequence[str]) -> int | None:
        return self._around.oid_of(schema, name, search_path)

    def schema_oid(self, name: str) -> int | None:
        return self._around.schema_oid(name)

    def has_schema(self, name: str) -> bool:
        return self._around.has_schema(name)


def _with_columns(relation: RelationT, seen: Seen) -> RelationT:
    there = {column.number: column for column in relation.columns}
    columns = tuple(_rename_column(there[number], name) for number, name in seen.columns if number in there)
    return relation if columns == relation.columns else replace(relation, columns=columns)


def _rename_column(column: TableColumn, name: str) -> TableColumn:
    return column if column.name == name else replace(column, name=name, stored=column.file_column)

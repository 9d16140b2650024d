"""Stored expressions of one snapshot with their names marked, so that each session prints the names as its own search
path requires (`engine.sql.deparse.stored_names`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial

from engine.catalog.model.objects import Constraint, KeyPart, Seen, Table, View
from engine.catalog.snapshot import Snapshot
from engine.sql.deparse.stored_names import Named, mark_names
from engine.sql.deparse.stored_text import parenthesize
from wire.types import pg_types as t

#: The search path by which texts of earlier releases name types.
_PATH = ("public",)


class MarkedNames:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._by_oid = {relation.oid: relation for relation in snapshot.relations.values()}

    def expression(self, text: str) -> str:
        """Mark the names in a default, a generated column's expression or a check."""
        return mark_names(_enclose(text), partial(self._type, path=_PATH), sequences=True)

    def index(self, key: Constraint) -> Constraint:
        """Mark the names in the parts of an index that are printed: types outside of `public` are printed with their
        schemas.
        """
        if not self._snapshot.types:
            return key
        predicate = None if key.predicate is None else self._with_printed_types(key.predicate)
        parts = tuple(self._with_printed_types(part) if part.formula else part for part in key.parts)
        return replace(key, parts=parts, predicate=predicate)

    def _with_printed_types(self, part: KeyPart) -> KeyPart:
        find = partial(self._type, path=_PATH)
        return replace(part, text=mark_names(part.text, find), pretty=mark_names(part.pretty, find))

    def query(self, view: View) -> str:
        """Mark the names in a view's query."""
        text = view.definition.strip().removesuffix(";")
        seen = {(each.schema, each.name): each for each in view.sees}
        return mark_names(
            text,
            partial(self._type, path=view.search_path),
            lambda schema, name: self._find_relation(seen[schema, name]) if (schema, name) in seen else None,
        )

    def _type(self, schema: str | None, name: str, path: tuple[str, ...]) -> int | None:
        if schema is None and name in t.BY_NAME:
            return None
        found = self._snapshot.type_named(schema, name, path)
        return None if found is None else found.oid

    def _find_relation(self, seen: Seen) -> Named | None:
        relation = self._by_oid.get(seen.oid)
        if not isinstance(relation, Table | View):
            return None
        now = {column.number: column.name for column in relation.columns}
        names = [(name, now[number]) for number, name in seen.columns if number in now]
        called = tuple(name for name, _ in names) if any(old != new for old, new in names) else ()
        only = tuple(new for _, new in names) if len(names) < len(now) else ()
        return Named(relation.oid, relation.name, called, only)


@lru_cache(4096)
def _enclose(text: str) -> str:
    return parenthesize(text)

"""A catalog of a few relations in schema public, for planning without a store: the simulation, benchmarks, tests.

It implements what binding needs of a catalog (`engine.sql.binder.scope.Catalog`); a session's catalog is
`engine.session.context.recording_catalog`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.catalog.model.objects import Relation
from engine.catalog.snapshot import PUBLIC
from engine.pg_catalog import PG_CATALOG


class FixedCatalog:
    """A catalog with a fixed set of relations. relations: by name."""

    def __init__(self, relations: Mapping[str, Relation]) -> None:
        self.relations = dict(relations)

    def resolve(self, schema: str | None, name: str, search_path: Sequence[str]) -> Relation | None:
        visible = schema == PUBLIC or (schema is None and PUBLIC in search_path)
        return self.relations.get(name) if visible else None

    def by_oid(self, oid: int) -> Relation | None:
        return next((relation for relation in self.relations.values() if relation.oid == oid), None)

    def oid_of(self, schema: str | None, name: str, search_path: Sequence[str]) -> int | None:
        found = self.resolve(schema, name, search_path)
        return found.oid if found is not None else None

    def schema_oid(self, name: str) -> int | None:
        del name
        return None

    def has_schema(self, name: str) -> bool:
        return name in (PUBLIC, PG_CATALOG)

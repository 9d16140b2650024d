"""A catalog snapshot: what a statement sees of schemas and relations, and the changes a transaction makes to one.

Immutable, so that a transaction's view of the catalog is a value: BEGIN remembers one, each DDL statement makes the next,
a savepoint is a reference, ROLLBACK forgets. COMMIT replays the transaction's changes onto the newest committed snapshot
(`engine.catalog.store`), which is where two transactions that changed the same name meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from engine.catalog.objects import Schema, StoredRelation, Table, View
from wire.errors import DuplicateSchema, DuplicateTable, InvalidSchemaName, SerializationFailure, UndefinedTable

TEMPORARY: Final = "pg_temp"
PUBLIC: Final = "public"
#: The schema of relations that show Sluice itself (`engine.catalog.system`); nothing can be created in it.
SLUICE: Final = "sluice"
#: Objects of users begin here, as in PostgreSQL (transam.h, FirstNormalObjectId).
FIRST_OID: Final = 16_384

Key = tuple[str, str]
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the catalog. relation: the new object under `key`, or None when it was dropped; for a schema, `key`
    is its name and the empty string. before: what stood there for the statement that made the change."""

    key: Key
    after: StoredRelation | Schema | None
    before: StoredRelation | Schema | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """version: grows with every committed change. Temporary relations live under the schema `pg_temp` of a session's own
    snapshot and are never stored."""

    version: int = 0
    schemas: Mapping[str, Schema] = field(default_factory=lambda: {PUBLIC: Schema(2200, PUBLIC)})
    relations: Mapping[Key, StoredRelation] = field(default_factory=dict)

    def resolve(self, schema: str | None, name: str, search_path: Sequence[str]) -> StoredRelation | None:
        """The relation that `name` means: in `schema` if given, else in the first schema of the path that has it.
        Temporary relations come first unless the path says otherwise (PostgreSQL, namespace.c)."""
        if schema is not None:
            return self.relations.get((schema, name))
        path = search_path if TEMPORARY in search_path else (TEMPORARY, *search_path)
        for candidate in path:
            if found := self.relations.get((candidate, name)):
                return found
        return None

    def has_schema(self, name: str) -> bool:
        return name in self.schemas or name in (TEMPORARY, SLUICE)

    def creation_schema(self, schema: str | None, search_path: Sequence[str]) -> str:
        """Where a new object goes. Raises InvalidSchemaName."""
        if schema is not None:
            if schema not in self.schemas and schema != TEMPORARY:
                raise InvalidSchemaName(f'schema "{schema}" does not exist')
            return schema
        for candidate in search_path:
            if candidate in self.schemas:
                return candidate
        raise InvalidSchemaName("no schema has been selected to create in")

    def dependents(self, oid: int) -> Iterator[View]:
        """The views that read the relation `oid` directly."""
        for relation in self.relations.values():
            if isinstance(relation, View) and oid in relation.depends:
                yield relation

    def with_declared(self, tables: Iterable[Table]) -> Snapshot:
        """With tables that the topology declares, which hide what was stored under their names."""
        return replace(self, relations={**self.relations, **{(table.schema, table.name): table for table in tables}})

    def tables(self) -> Iterator[Table]:
        for relation in self.relations.values():
            if isinstance(relation, Table):
                yield relation

    def put(self, relation: StoredRelation, *, replacing: bool = False) -> tuple[Snapshot, Change]:
        key = (relation.schema, relation.name)
        before = self.relations.get(key)
        if before is not None and not replacing:
            raise DuplicateTable(f'relation "{relation.name}" already exists')
        return self._apply(change := Change(key, relation, before)), change

    def remove(self, relation: StoredRelation) -> tuple[Snapshot, Change]:
        return self._apply(change := Change((relation.schema, relation.name), None, relation)), change

    def put_schema(self, schema: Schema) -> tuple[Snapshot, Change]:
        if schema.name in self.schemas or schema.name == SLUICE:
            raise DuplicateSchema(f'schema "{schema.name}" already exists')
        return self._apply(change := Change((schema.name, ""), schema)), change

    def remove_schema(self, name: str) -> tuple[Snapshot, Change]:
        if name not in self.schemas:
            raise InvalidSchemaName(f'schema "{name}" does not exist')
        return self._apply(change := Change((name, ""), None, self.schemas[name])), change

    def _apply(self, change: Change) -> Snapshot:
        schema, name = change.key
        if not name:
            return replace(self, schemas=_changed(self.schemas, schema, change.after))
        return replace(self, relations=_changed(self.relations, change.key, change.after))

    def replay(self, changes: Iterable[Change]) -> Snapshot:
        """This snapshot with a transaction's changes. Raises SerializationFailure when something else now stands
        where the transaction saw what it changed."""
        snapshot = self
        for change in changes:
            schema, name = change.key
            present = snapshot.relations.get(change.key) if name else snapshot.schemas.get(schema)
            if present != change.before:
                raise SerializationFailure(
                    f'could not commit: "{name or schema}" was changed by another transaction',
                    hint="Run the transaction again.",
                )
            if name and schema not in snapshot.schemas:
                raise UndefinedTable(f'schema "{schema}" was dropped by another transaction')
            snapshot = snapshot._apply(change)
        return replace(snapshot, version=self.version + 1)


def _changed(mapping: Mapping[K, V], key: K, value: object) -> dict[K, V]:
    changed = dict(mapping)
    if value is None:
        changed.pop(key, None)
    else:
        changed[key] = value  # type: ignore[assignment]
    return changed

"""A catalog snapshot: the schemas and relations that a statement sees, and the changes that a transaction makes to
them.

A snapshot is immutable, so a transaction's view of the catalog is a value. BEGIN keeps a snapshot, each DDL statement
makes the next, a savepoint is a reference to one, and ROLLBACK drops them. COMMIT replays the transaction's changes
onto the newest committed snapshot (`engine.catalog.replay`, `engine.catalog.store.store`), which is where two
transactions that changed the same name conflict.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, TypeVar

from engine.catalog.conflicts import ChangedByAnother, SchemaDropped
from engine.catalog.model import objects
from engine.catalog.model.acl import Acl
from engine.catalog.model.objects import Schema, StoredRelation, Table, View
from engine.catalog.model.rights import DATABASE_OID, DefaultKey, ObjectRights, Rights
from engine.catalog.model.roles import Role, Roles
from engine.catalog.model.statistics import TableStatistics
from engine.catalog.model.user_types import UserType, with_current_types
from engine.storage.tables import FileChange
from wire.dataclass import dataclass
from wire.errors import (
    DuplicateObject,
    DuplicateSchema,
    DuplicateTable,
    InvalidSchemaName,
)

TEMPORARY: Final = objects.TEMPORARY
PUBLIC: Final = "public"
#: The initial comment of schema public.
PUBLIC_COMMENT: Final = "standard public schema"
#: The schema of relations that show Sluice itself (`engine.pg_catalog`); nothing can be created in it.
SLUICE: Final = "sluice"
#: The first OID of users' objects, as in PostgreSQL (transam.h, FirstNormalObjectId).
FIRST_OID: Final = 16_384
#: The first OID of tables that a topology declares.
DECLARED_OIDS: Final = 0x8000_0000

Key = tuple[str, str]
_DEFINITIONS: Final = itertools.count(1)
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the catalog. after: the new object under `key`, or None if it was dropped; for a schema, `key` is
    its name and the empty string. before: the object as the statement that made the change saw it.
    """

    key: Key
    after: StoredRelation | Schema | None
    before: StoredRelation | Schema | None = None


@dataclass(frozen=True, slots=True)
class DataChange:
    """Files that are added to a stored table and removed from it. before: the table that the statement saw.

    whole: whether the statement depends on all of the table's rows (it checked a key, for example): the change is valid
    only while no other transaction has changed the table's files. Otherwise removed files must still exist, and files
    may be added at any time.
    truncates: whether the change is that of a TRUNCATE.
    """

    before: Table
    files: FileChange
    whole: bool = False
    truncates: bool = False

    @property
    def key(self) -> Key:
        return self.before.schema, self.before.name

    @property
    def location(self) -> str:
        assert self.before.storage is not None, "a stored table"
        return self.before.storage.location


@dataclass(frozen=True, slots=True)
class Guard:
    """No change, but a condition of the commit: the transaction has read rows of a stored table FOR UPDATE. The table
    must still have the files with these rows when the transaction commits, so that no row of them was changed or
    removed. Files may have been added.

    before: the table that the statement saw. paths: of its files, below its folder. whole: files may not have been
    added, either. serializable: a condition of the isolation level alone, which holds for transactions that write.
    """

    before: Table
    paths: tuple[str, ...]
    whole: bool = False
    serializable: bool = False

    @property
    def key(self) -> Key:
        return self.before.schema, self.before.name


@dataclass(frozen=True, slots=True)
class Analysis:
    """Statistics of a table. They conflict with nothing; if the table was dropped by the time of the commit, they are
    dropped too.

    before: the table that the statement saw.
    """

    before: Table
    statistics: TableStatistics

    @property
    def key(self) -> Key:
        return self.before.schema, self.before.name


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A role after a statement, or None if it was dropped. before: as the statement saw it."""

    name: str
    after: Role | None
    before: Role | None = None

    @property
    def key(self) -> Key:
        """A key that no relation has, since no schema has this name."""
        return "", self.name


@dataclass(frozen=True, slots=True)
class TypeChange:
    """A type after a statement, or None if it was dropped. before: as the statement saw it, possibly under another
    name.
    """

    after: UserType | None
    before: UserType | None = None

    @property
    def key(self) -> Key:
        typ = self.after or self.before
        assert typ is not None
        return typ.schema, typ.name


@dataclass(frozen=True, slots=True)
class RightsChange:
    """An object's owner and privileges after a statement, by the object's OID. name: the object's name in messages.
    before: as the statement saw them; None: there was no entry.
    """

    oid: int
    name: str
    after: ObjectRights
    before: ObjectRights | None

    @property
    def key(self) -> Key:
        return "", self.name


@dataclass(frozen=True, slots=True)
class DefaultsChange:
    """Default privileges. after: None if the entry was removed."""

    of: DefaultKey
    after: Acl | None
    before: Acl | None

    @property
    def key(self) -> Key:
        return "", ""


AnyChange = Change | DataChange | Guard | Analysis | RoleChange | TypeChange | RightsChange | DefaultsChange


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A catalog snapshot.

    version: grows with every committed change.
    stamp: the last write to the database that it includes (`engine.catalog.store.difference`); it does not count when
        snapshots are compared.
    definitions: equal in two snapshots of this process that differ only in the files of tables.
    Temporary relations are in the schema `pg_temp` of a session's own snapshot and are never stored.
    """

    version: int = 0
    schemas: Mapping[str, Schema] = field(default_factory=lambda: {PUBLIC: Schema(2200, PUBLIC, PUBLIC_COMMENT)})
    relations: Mapping[Key, StoredRelation] = field(default_factory=dict)
    roles: Roles = field(default_factory=Roles)
    types: Mapping[Key, UserType] = field(default_factory=dict)
    rights: Rights = field(default_factory=Rights)
    stamp: int = field(default=0, compare=False)
    definitions: int = field(default_factory=lambda: next(_DEFINITIONS), compare=False)

    def resolve(self, schema: str | None, name: str, search_path: Sequence[str]) -> StoredRelation | None:
        """Return the relation that `name` refers to: in `schema` if given, else in the first schema of the path that
        has it. Temporary relations come first unless the path says otherwise (PostgreSQL, namespace.c).
        """
        if schema is not None:
            return self.relations.get((schema, name))
        path = search_path if TEMPORARY in search_path else (TEMPORARY, *search_path)
        for candidate in path:
            if found := self.relations.get((candidate, name)):
                return found
        return None

    def type_named(self, schema: str | None, name: str, search_path: Sequence[str]) -> UserType | None:
        """Return the user-defined type that `name` refers to; it is found as relations are."""
        for candidate in search_path if schema is None else (schema,):
            if found := self.types.get((candidate, name)):
                return found
        return None

    def has_schema(self, name: str) -> bool:
        return name in self.schemas or name in (TEMPORARY, SLUICE)

    def creation_schema(self, schema: str | None, search_path: Sequence[str]) -> str:
        """Return the schema in which a new object is created. Raises InvalidSchemaName."""
        if schema is not None:
            if schema not in self.schemas and schema != TEMPORARY:
                raise InvalidSchemaName(f'schema "{schema}" does not exist')
            return schema
        for candidate in search_path:
            if candidate in self.schemas or candidate == TEMPORARY:
                return candidate
        raise InvalidSchemaName("no schema has been selected to create in")

    def dependents(self, oid: int) -> Iterator[View]:
        """Yield the views that read the relation `oid` directly; for materialized views their queries, which have their
        OID.
        """
        for relation in self.relations.values():
            view = relation.query if isinstance(relation, Table) else relation
            if isinstance(view, View) and oid in view.depends:
                yield view

    def with_declared(self, tables: Iterable[Table]) -> Snapshot:
        """Return the snapshot with tables that the topology declares, which hide stored relations of the same names."""
        return replace(self, relations={**self.relations, **{(table.schema, table.name): table for table in tables}})

    def oids(self) -> set[int]:
        """Return the OIDs of everything that has an owner and privileges of its own."""
        found = {made.oid for made in (*self.relations.values(), *self.types.values())}
        return found | {schema.oid for schema in self.schemas.values()} | {DATABASE_OID}

    def tables(self) -> Iterator[Table]:
        for relation in self.relations.values():
            if isinstance(relation, Table):
                yield relation

    def put(self, relation: StoredRelation, *, replacing: bool = False) -> tuple[Snapshot, Change]:
        key = (relation.schema, relation.name)
        before = self.relations.get(key)
        if before is not None and not replacing:
            raise DuplicateTable(f'relation "{relation.name}" already exists')
        return self.with_change(change := Change(key, relation, before)), change

    def remove(self, relation: StoredRelation) -> tuple[Snapshot, Change]:
        return self.with_change(change := Change((relation.schema, relation.name), None, relation)), change

    def put_schema(self, schema: Schema, *, replacing: bool = False) -> tuple[Snapshot, Change]:
        before = self.schemas.get(schema.name)
        if (before is not None and not replacing) or schema.name == SLUICE:
            raise DuplicateSchema(f'schema "{schema.name}" already exists')
        return self.with_change(change := Change((schema.name, ""), schema, before)), change

    def remove_schema(self, name: str) -> tuple[Snapshot, Change]:
        if name not in self.schemas:
            raise InvalidSchemaName(f'schema "{name}" does not exist')
        return self.with_change(change := Change((name, ""), None, self.schemas[name])), change

    def put_role(self, role: Role) -> tuple[Snapshot, RoleChange]:
        change = RoleChange(role.name, role, self.roles.find_role(role.name))
        return self.with_role(change), change

    def remove_role(self, role: Role) -> tuple[Snapshot, RoleChange]:
        return self.with_role(change := RoleChange(role.name, None, role)), change

    def put_type(self, made: UserType, before: UserType | None = None) -> tuple[Snapshot, TypeChange]:
        """Add or replace a type. before: the type until now, possibly under another name. Raises DuplicateObject."""
        key = (made.schema, made.name)
        if (before is None or key != (before.schema, before.name)) and (key in self.types or key in self.relations):
            raise DuplicateObject(f'type "{made.name}" already exists')
        return self.with_type(change := TypeChange(made, before)), change

    def remove_type(self, gone: UserType) -> tuple[Snapshot, TypeChange]:
        return self.with_type(change := TypeChange(None, gone)), change

    def with_type(self, change: TypeChange) -> Snapshot:
        """Return the snapshot after a change of a type. Relations with columns of the type get its new definition.
        Whether a relation has a dropped type is checked by the replay, since a later statement may drop the relation.
        Raises SerializationFailure.
        """
        before, after = change.before, change.after
        types = dict(self.types)
        if before is not None and types.pop((before.schema, before.name), None) != before:
            raise ChangedByAnother(before.name)
        if after is None:
            return replace(self, types=types).with_new_definitions()
        if change.key in types or change.key in self.relations:
            raise ChangedByAnother(after.name)
        if after.schema not in self.schemas:
            raise SchemaDropped(after.schema)
        types[change.key] = after
        relations = {key: with_current_types(r, types) for key, r in self.relations.items()}
        return replace(self, types=types, relations=relations).with_new_definitions()

    def with_role(self, change: RoleChange) -> Snapshot:
        """Return the snapshot after a change of a role. Raises SerializationFailure if the role is not as the change
        saw it (as `with_rights` and `with_defaults` do for their objects).
        """
        if self.roles.find_role(change.name) != change.before:
            raise ChangedByAnother(change.name)
        return replace(
            self, roles=Roles(_with_entry(self.roles.by_name, change.name, change.after))
        ).with_new_definitions()

    def put_defaults(self, of: DefaultKey, after: Acl | None) -> tuple[Snapshot, DefaultsChange]:
        change = DefaultsChange(of, after, self.rights.defaults.get(of))
        return self.with_defaults(change), change

    def with_rights(self, change: RightsChange) -> Snapshot:
        if self.rights.objects.get(change.oid) != change.before:
            raise ChangedByAnother(change.name)
        return replace(self, rights=self.rights.with_object(change.oid, change.after)).with_new_definitions()

    def with_defaults(self, change: DefaultsChange) -> Snapshot:
        if self.rights.defaults.get(change.of) != change.before:
            raise ChangedByAnother("default privileges")
        return replace(self, rights=self.rights.with_default(change.of, change.after)).with_new_definitions()

    def with_new_definitions(self) -> Snapshot:
        """Return the same snapshot with a `definitions` number that no other snapshot has."""
        return replace(self, definitions=next(_DEFINITIONS))

    def with_change(self, change: Change) -> Snapshot:
        """Return the snapshot after a change of a schema or a relation. Raises SerializationFailure if the relation has
        a dropped type.
        """
        schema, name = change.key
        if not name:
            return replace(self, schemas=_with_entry(self.schemas, schema, change.after)).with_new_definitions()
        after = change.after
        if isinstance(after, Table | View):
            try:
                after = with_current_types(after, self.types)
            except KeyError:
                raise ChangedByAnother(name) from None
        return replace(self, relations=_with_entry(self.relations, change.key, after)).with_new_definitions()


def net_changes(changes: Iterable[AnyChange]) -> dict[str, FileChange]:
    """Return a transaction's net changes to the files of each table, by location."""
    each: dict[str, list[FileChange]] = {}
    for change in changes:
        if isinstance(change, DataChange):
            each.setdefault(change.location, []).append(change.files)
    return {location: FileChange.sequence(files) for location, files in each.items()}


def _with_entry(mapping: Mapping[K, V], key: K, value: object) -> dict[K, V]:
    changed = dict(mapping)
    if value is None:
        changed.pop(key, None)
    else:
        changed[key] = value  # type: ignore[assignment]
    return changed

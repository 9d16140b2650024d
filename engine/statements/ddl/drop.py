"""DROP: look up the named objects, and decide whether they may be dropped. `engine.statements.shared.dependencies`
finds the objects that are dropped with them.

Source: PostgreSQL 15, tablecmds.c (RemoveRelations, DropErrorMsgWrongType), dropcmds.c (does_not_exist_skipping).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.catalog.authority import UNBOUNDED, Authority
from engine.catalog.model.objects import Constraint, StoredRelation, Table
from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.model.user_types import CompositeType, EnumType, UserType
from engine.catalog.snapshot import SLUICE, Snapshot
from engine.catalog.store.transaction import SessionCatalog
from engine.pg_catalog import PG_CATALOG
from engine.sql.parser.nodes.statements import Drop, QualifiedName
from engine.statements.shared.dependencies import Dependencies, Notify, Thing, kind_of, remove
from engine.statements.shared.names import key_named, required_by_system
from wire.errors import (
    DependentObjectsStillExist,
    InsufficientPrivilege,
    InvalidSchemaName,
    SqlError,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)
from wire.types import pg_types as t

_ARTICLES: Final = {"index": "an"}
#: Kinds for which a missing object is another error than for a table.
_OBJECTS: Final = ("index", "foreign table")


def drop(
    statement: Drop,
    catalog: SessionCatalog,
    search_path: Sequence[str],
    notify: Notify,
    authority: Authority = UNBOUNDED,
) -> None:
    """Run a DROP. Raises UndefinedTable, WrongObjectType, DependentObjectsStillExist, InsufficientPrivilege, with
    PostgreSQL's messages.
    """
    snapshot = catalog.current()
    find = {"schema": _find_schema, "type": _find_type, "domain": _find_type}.get(statement.kind, _find_relation)
    things = [find(name, statement, snapshot, search_path, notify, authority) for name in statement.names]
    named = list(dict.fromkeys(thing for thing in things if thing is not None))
    dependencies = Dependencies(snapshot, search_path)
    for found in dependencies.closure(named):
        if found.thing.kind == "relation":
            _require_droppable(dependencies.relation(found.thing.oid), dependencies)
    for thing in named:
        if thing.kind == "relation":
            _require_free(dependencies.relation(thing.oid), dependencies)
    what = dependencies.describe(named[0]) if len(named) == 1 else "desired object(s)"
    remove(named, what, statement.cascade, catalog, search_path, notify)


def _find_schema(
    name: QualifiedName, statement: Drop, snapshot: Snapshot, _path: Sequence[str], notify: Notify, authority: Authority
) -> Thing | None:
    if name.name in (PG_CATALOG, SLUICE, "information_schema"):
        raise required_by_system(f"schema {name.name}")
    schema = snapshot.schemas.get(name.name)
    if schema is not None:
        authority.require_schema_owner(schema.oid, schema.name)
        return Thing(schema.oid, kind="schema")
    if not statement.if_exists:
        raise InvalidSchemaName(f'schema "{name.name}" does not exist')
    notify(f'schema "{name.name}" does not exist, skipping')
    return None


def _find_type(
    name: QualifiedName, statement: Drop, snapshot: Snapshot, path: Sequence[str], notify: Notify, authority: Authority
) -> Thing | None:
    found = snapshot.type_named(name.schema, name.name, path)
    if statement.kind == "domain" and (
        isinstance(found, EnumType | CompositeType) or (found is None and _is_own(name))
    ):
        raise WrongObjectType(f'"{name.name}" is not a domain')
    if found is not None:
        _require_may_drop(found, "type", found.name, snapshot, authority)
        return Thing(found.oid, kind="type")
    if _is_own(name):
        shown = t.format_type(t.BY_NAME[name.name])
        raise required_by_system(f"type {shown}")
    if name.schema is not None and not snapshot.has_schema(name.schema) and name.schema != PG_CATALOG:
        missing: SqlError = InvalidSchemaName(f'schema "{name.schema}" does not exist')
    else:
        missing = UndefinedObject(f'type "{name}" does not exist')
    if not statement.if_exists:
        raise missing
    notify(f"{missing.message}, skipping")
    return None


def _is_own(name: QualifiedName) -> bool:
    """Return whether a type is one of PostgreSQL's."""
    return name.schema in (None, PG_CATALOG) and name.name in t.BY_NAME


def _find_relation(
    name: QualifiedName, statement: Drop, snapshot: Snapshot, path: Sequence[str], notify: Notify, authority: Authority
) -> Thing | None:
    if name.schema is not None:
        authority.require_usage(snapshot, name.schema)
    relation = snapshot.resolve(name.schema, name.name, path)
    key = None if relation is not None else _key(name, snapshot, path)
    if relation is None and key is None:
        _report_missing(name, statement, snapshot, notify)
        return None
    if key is not None and (statement.kind != "index" or not key[1].is_index):
        _refuse_key(statement, *key)
    if key is not None:
        _require_may_drop(key[0], "index", key[1].name, snapshot, authority)
        return Thing(key[1].oid, kind="constraint")
    assert relation is not None
    kind = kind_of(relation)
    if kind != statement.kind:
        article = _ARTICLES.get(statement.kind, "a")
        other = f"Use DROP {kind.upper()} to remove a {kind}."
        raise WrongObjectType(f'"{name.name}" is not {article} {statement.kind}', hint=other)
    _require_may_drop(relation, kind, relation.name, snapshot, authority)
    return Thing(relation.oid)


def _require_may_drop(
    relation: StoredRelation | UserType, kind: str, name: str, snapshot: Snapshot, authority: Authority
) -> None:
    """Check that the role owns the relation or its schema. Raises InsufficientPrivilege."""
    schema = snapshot.schemas.get(relation.schema)
    if not authority.owns(relation) and not (schema and authority.judge.owns(authority.role, schema.oid)):
        raise InsufficientPrivilege(f"must be owner of {kind} {name}")


def _key(name: QualifiedName, snapshot: Snapshot, path: Sequence[str]) -> tuple[Table, Constraint] | None:
    schemas = (name.schema,) if name.schema is not None else path
    return next((found for schema in schemas if (found := key_named(snapshot, schema, name.name))), None)


def _refuse_key(statement: Drop, table: Table, key: Constraint) -> None:
    """Raise the error for dropping the index of a key, which can only be dropped with its constraint."""
    if statement.kind != "index":
        raise WrongObjectType(f'"{key.name}" is not a {statement.kind}', hint="Use DROP INDEX to remove an index.")
    raise DependentObjectsStillExist(
        f"cannot drop index {key.name} because constraint {key.name} on table {table.name} requires it",
        hint=f"You can drop constraint {key.name} on table {table.name} instead.",
    )


def _report_missing(name: QualifiedName, statement: Drop, snapshot: Snapshot, notify: Notify) -> None:
    """Report an object that does not exist: an error, or a notice with IF EXISTS."""
    lost = name.schema is not None and not snapshot.has_schema(name.schema) and name.schema != PG_CATALOG
    what = f'schema "{name.schema}"' if lost else f'{statement.kind} "{name.name}"'
    message = f"{what} does not exist"
    if statement.if_exists:
        notify(f"{message}, skipping")
    elif lost:
        raise InvalidSchemaName(message)
    elif statement.kind in _OBJECTS:
        raise UndefinedObject(message)
    else:
        raise UndefinedTable(message)


def _require_free(relation: StoredRelation, dependencies: Dependencies) -> None:
    """Refuse to drop the sequence of an identity column, which has a name but belongs to its column."""
    if isinstance(relation, NumberSequence) and relation.internal and relation.owner is not None:
        column = dependencies.describe(Thing(*relation.owner, kind="column"))
        raise DependentObjectsStillExist(
            f"cannot drop sequence {dependencies.name(relation)} because {column} requires it",
            hint=f"You can drop {column} instead.",
        )


def _require_droppable(relation: StoredRelation, dependencies: Dependencies) -> None:
    """Refuse to drop a relation that the topology declares, with PostgreSQL's message for an object of an extension."""
    if isinstance(relation, Table) and relation.parts:
        raise DependentObjectsStillExist(
            f"cannot drop {dependencies.describe(Thing(relation.oid))} because the topology file requires it",
            hint="Take it out of the file that all members are given, and start them again.",
        )

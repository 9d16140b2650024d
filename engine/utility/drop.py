"""DROP VIEW, DROP FOREIGN TABLE, DROP SCHEMA: what depends on what, and PostgreSQL's words about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from engine.catalog.objects import StoredRelation, Table, View
from engine.catalog.snapshot import Snapshot
from engine.catalog.transaction import SessionCatalog
from engine.sql.statements import Drop, QualifiedName
from wire.errors import DependentObjectsStillExist, InvalidSchemaName, UndefinedTable, WrongObjectType

Notify = Callable[[str], None]
_USE: Final = {
    "view": "Use DROP VIEW to remove a view.",
    "foreign table": "Use DROP FOREIGN TABLE to remove a foreign table.",
}


def kind_of(relation: StoredRelation) -> str:
    return "foreign table" if isinstance(relation, Table) else "view"


def drop(statement: Drop, catalog: SessionCatalog, search_path: Sequence[str], notify: Notify) -> None:
    """Carry out a DROP. Notices go to `notify`. Raises UndefinedTable, WrongObjectType, DependentObjectsStillExist."""
    for name in statement.names:
        if statement.kind == "schema":
            _drop_schema(name.name, statement, catalog, notify)
        else:
            _drop_relation(name, statement, catalog, search_path, notify)


def _drop_relation(
    name: QualifiedName, statement: Drop, catalog: SessionCatalog, search_path: Sequence[str], notify: Notify
) -> None:
    relation = catalog.current().resolve(name.schema, name.name, search_path)
    if relation is None:
        if not statement.if_exists:
            raise UndefinedTable(f'{statement.kind} "{name}" does not exist')
        notify(f'{statement.kind} "{name}" does not exist, skipping')
        return
    kind = kind_of(relation)
    if kind != statement.kind:
        raise WrongObjectType(f'"{name.name}" is not a {statement.kind}', hint=_USE[kind])
    _require_droppable(relation)
    _remove(relation, statement.cascade, catalog, notify)


def _require_droppable(relation: StoredRelation) -> None:
    """Refuses what the topology declares, in PostgreSQL's words about what an extension has made."""
    if isinstance(relation, Table) and relation.parts:
        raise DependentObjectsStillExist(
            f"cannot drop {_named(relation)} because the topology file requires it",
            hint="Take it out of the file that all members are given, and start them again.",
        )


def _remove(relation: StoredRelation, cascade: bool, catalog: SessionCatalog, notify: Notify) -> None:
    dependents = _all_dependents(catalog.current(), relation)
    if dependents and not cascade:
        raise DependentObjectsStillExist(
            f"cannot drop {_named(relation)} because other objects depend on it",
            detail="\n".join(f"{_named(view)} depends on {_named(on)}" for view, on in dependents),
            hint="Use DROP ... CASCADE to drop the dependent objects too.",
        )
    for view, _ in dependents:
        notify(f"drop cascades to {_named(view)}")
        catalog.remove(view)
    catalog.remove(relation)


def _named(relation: StoredRelation) -> str:
    name = relation.name if relation.schema in ("public", "pg_temp") else f"{relation.schema}.{relation.name}"
    return f"{kind_of(relation)} {name}"


def _all_dependents(snapshot: Snapshot, relation: StoredRelation) -> list[tuple[View, StoredRelation]]:
    """Every view that reads `relation`, directly or not, each once, with what it reads."""
    found: dict[int, tuple[View, StoredRelation]] = {}
    waiting: list[StoredRelation] = [relation]
    while waiting:
        on = waiting.pop(0)
        for view in snapshot.dependents(on.oid):
            if view.oid not in found:
                found[view.oid] = (view, on)
                waiting.append(view)
    return list(found.values())


def _drop_schema(name: str, statement: Drop, catalog: SessionCatalog, notify: Notify) -> None:
    snapshot = catalog.current()
    if name not in snapshot.schemas:
        if not statement.if_exists:
            raise InvalidSchemaName(f'schema "{name}" does not exist')
        notify(f'schema "{name}" does not exist, skipping')
        return
    inside = [relation for relation in snapshot.relations.values() if relation.schema == name]
    if inside and not statement.cascade:
        raise DependentObjectsStillExist(
            f"cannot drop schema {name} because other objects depend on it",
            detail="\n".join(f"{_named(relation)} depends on schema {name}" for relation in inside),
            hint="Use DROP ... CASCADE to drop the dependent objects too.",
        )
    for relation in inside:
        _require_droppable(relation)
    for relation in inside:
        if (relation.schema, relation.name) in catalog.current().relations:
            notify(f"drop cascades to {_named(relation)}")
            _remove(relation, True, catalog, notify)
    catalog.remove_schema(name)

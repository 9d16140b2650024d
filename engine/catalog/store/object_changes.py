"""Changes of the catalog's objects: relations, schemas, types, roles, privileges. A new object belongs to the role that
creates it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Sequential
from dataclasses import replace

from engine.catalog.model.acl import Acl, Kind
from engine.catalog.model.objects import Schema, Sequence, StoredRelation, Table
from engine.catalog.model.rights import DefaultKey, ObjectRights
from engine.catalog.model.roles import FIRST_ROLE, Role
from engine.catalog.model.user_types import UserType
from engine.catalog.snapshot import TEMPORARY, RightsChange, Snapshot
from engine.catalog.store.visible_catalog import VisibleCatalog


class ObjectChanges:
    """Records changes of objects. creator: returns the OID of the session's role, which owns the objects that the
    session creates.
    """

    def __init__(self, visible: VisibleCatalog, creator: Callable[[], int]) -> None:
        self._visible = visible
        self._creator = creator
        #: OIDs of objects that are about to be created.
        self._unused: set[int] = set()

    def new_oid(self) -> int:
        oid = self._visible.store.next_oid()
        self._unused.add(oid)
        return oid

    def forget_oids(self) -> None:
        """Forget the OIDs of objects that were about to be created and will not be."""
        self._unused.clear()

    def put(self, relation: StoredRelation, *, replacing: bool = False) -> None:
        snapshot = self._visible.current()
        _, change = snapshot.put(relation, replacing=replacing)
        self._visible.record(change, *self._own_new_object(snapshot, relation), *_lost(snapshot, relation))

    def remove(self, relation: StoredRelation) -> None:
        _, change = self._visible.current().remove(relation)
        self._visible.record(change)

    def put_schema(self, schema: Schema, *, replacing: bool = False) -> None:
        snapshot = self._visible.current()
        _, change = snapshot.put_schema(schema, replacing=replacing)
        self._visible.record(change, *self._own_new_object(snapshot, schema))

    def remove_schema(self, name: str) -> None:
        _, change = self._visible.current().remove_schema(name)
        self._visible.record(change)

    def put_type(self, made: UserType, before: UserType | None = None) -> None:
        snapshot = self._visible.current()
        _, change = snapshot.put_type(made, before)
        self._visible.record(change, *self._own_new_object(snapshot, made))

    def remove_type(self, gone: UserType) -> None:
        _, change = self._visible.current().remove_type(gone)
        self._visible.record(change)

    def put_role(self, role: Role) -> None:
        _, change = self._visible.current().put_role(role)
        self._visible.record(change)

    def remove_role(self, role: Role) -> None:
        _, change = self._visible.current().remove_role(role)
        self._visible.record(change)

    def put_rights(self, changes: Sequential[RightsChange]) -> None:
        """Record changes of privileges, at least one, made against the current state."""
        self._visible.record(*changes)

    def put_defaults(self, of: DefaultKey, said: Acl | None) -> None:
        _, change = self._visible.current().put_defaults(of, said)
        self._visible.record(change)

    def _own_new_object(self, snapshot: Snapshot, made: StoredRelation | Schema | UserType) -> list[RightsChange]:
        """Make a new object owned by its creator, with the creator's default privileges. A temporary one belongs to the
        session.
        """
        if made.oid not in self._unused:
            return []
        self._unused.discard(made.oid)
        if isinstance(made, Schema):
            schema = 0
        elif made.schema == TEMPORARY:
            return []
        else:
            there = snapshot.schemas.get(made.schema)
            schema = 0 if there is None else there.oid
        kind: Kind = "n" if isinstance(made, Schema) else "T" if isinstance(made, UserType) else "r"
        if isinstance(made, Sequence):
            kind = "s"
        owner = self._creator()
        said = snapshot.rights.of_new(owner, schema, kind, snapshot.roles)
        if owner == FIRST_ROLE and said is None:
            return []
        return [RightsChange(made.oid, made.name, ObjectRights(owner, said), None)]


def _lost(snapshot: Snapshot, relation: StoredRelation) -> list[RightsChange]:
    """Remove the privileges on columns that a table no longer has: a role with a privilege on any column may count the
    table's rows.
    """
    rights = snapshot.rights.objects.get(relation.oid)
    if rights is None or not isinstance(relation, Table):
        return []
    there = {column.number for column in relation.columns}
    kept = tuple((number, own) for number, own in rights.columns if number in there)
    return (
        [RightsChange(relation.oid, relation.name, replace(rights, columns=kept), rights)]
        if kept != rights.columns
        else []
    )

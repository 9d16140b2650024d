"""Objects that a role owns, and objects whose privileges name it: REASSIGN OWNED, DROP OWNED, and the objects that
prevent DROP ROLE.

Source: PostgreSQL 15, pg_shdepend.c (shdepReassignOwned, shdepDropOwned, checkSharedDependencies), aclchk.c
(RemoveRoleFromObjectACL).
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.catalog.model import acl
from engine.catalog.model.objects import DATABASE, Table
from engine.catalog.model.rights import DATABASE_OID, DefaultKey, ObjectRights
from engine.catalog.model.roles import FIRST_ROLE, Role
from engine.catalog.snapshot import Snapshot
from engine.common.identifiers import quote_ident
from engine.sql.parser.nodes.privileges import DropOwned, ReassignOwned
from engine.statements.ddl.owner import owned_by
from engine.statements.ddl.rights_draft import RightsDraft
from engine.statements.ddl.role_ground import RoleGround
from engine.statements.shared.dependencies import Dependencies, Thing, remove
from wire.errors import DependentObjectsStillExist, InsufficientPrivilege, Notice

_KINDS = {"r": "relations", "s": "sequences", "f": "functions", "T": "types", "n": "schemas"}


def owned_objects(role: int, snapshot: Snapshot) -> list[int]:
    """Return the OIDs of the objects that a role owns; the role must not be the first one."""
    return sorted(oid for oid in snapshot.oids() if snapshot.rights.of(oid).owner == role)


def reassign_owned(statement: ReassignOwned, ground: RoleGround) -> None:
    """Run REASSIGN OWNED. Raises InsufficientPrivilege, UndefinedObject, DependentObjectsStillExist."""
    roles, to = [ground.find_role(name) for name in statement.roles], ground.find_role(statement.to)
    for role in (*roles, to):
        if not ground.authority.judge.has_rights_of(ground.current.oid, role.oid) and not ground.current.superuser:
            raise InsufficientPrivilege("permission denied to reassign objects")
    draft, snapshot = RightsDraft(ground.catalog), ground.catalog.current()
    for role in roles:
        _require_ordinary(role, "reassign ownership of objects")
        for oid in owned_objects(role.oid, snapshot):
            draft.put(oid, role.name, owned_by(draft.of(oid), to.oid))
    draft.record()


def drop_owned(statement: DropOwned, ground: RoleGround) -> None:
    """Run DROP OWNED. Raises InsufficientPrivilege, UndefinedObject, DependentObjectsStillExist."""
    roles = [ground.find_role(name) for name in statement.roles]
    for role in roles:
        if not ground.authority.judge.has_rights_of(ground.current.oid, role.oid) and not ground.current.superuser:
            raise InsufficientPrivilege("permission denied to drop objects")
    for role in roles:
        _require_ordinary(role, "drop objects")
        _revoke_all(role.oid, ground)
    snapshot = ground.catalog.current()
    things = [
        _thing(oid, snapshot) for role in roles for oid in owned_objects(role.oid, snapshot) if oid != DATABASE_OID
    ]

    def notify(message: str, detail: str | None = None) -> None:
        ground.notify(Notice(message, detail=detail))

    if things:
        remove(things, "desired object(s)", statement.cascade, ground.catalog, ground.search_path, notify)


def _thing(oid: int, snapshot: Snapshot) -> Thing:
    if any(schema.oid == oid for schema in snapshot.schemas.values()):
        return Thing(oid, kind="schema")
    is_type = any(typ.oid == oid for typ in snapshot.types.values())
    return Thing(oid, kind="type" if is_type else "relation")


def _require_ordinary(role: Role, doing: str) -> None:
    if role.oid == FIRST_ROLE:
        raise DependentObjectsStillExist(
            f"cannot {doing} owned by role {quote_ident(role.name)} because they are required by the database system"
        )


def _revoke_all(role: int, ground: RoleGround) -> None:
    """Revoke what was granted to the role, and its default privileges."""
    draft, has = RightsDraft(ground.catalog), ground.roles.has_rights_of
    for oid, rights in list(draft.judge.rights.objects.items()):
        if role in rights.roles:
            said = None if rights.acl is None else acl.without_role(rights.acl, role, rights.owner, has)
            columns = tuple((n, acl.without_role(column, role, rights.owner, has)) for n, column in rights.columns)
            draft.put(oid, "", ObjectRights(rights.owner, said, tuple((n, column) for n, column in columns if column)))
    draft.record()
    for key, defaults in ground.catalog.current().rights.defaults.items():
        if key.role == role:
            ground.catalog.objects.put_defaults(key, None)
        elif role in acl.named_roles(defaults, key.role):
            ground.catalog.objects.put_defaults(key, acl.without_role(defaults, role, key.role, has))


# -- DROP ROLE -------------------------------------------------------------------------------------------------------


def require_free(role: Role, ground: RoleGround) -> None:
    """Raise DependentObjectsStillExist for a role that owns something or has privileges."""
    told = list(_dependents(role.oid, ground))
    if told:
        raise DependentObjectsStillExist(
            f'role "{role.name}" cannot be dropped because some objects depend on it', detail="\n".join(told)
        )


def _dependents(role: int, ground: RoleGround) -> Iterator[str]:
    snapshot = ground.catalog.current()
    things = Dependencies(snapshot, ground.search_path)
    tables = {relation.oid: relation for relation in snapshot.relations.values()}
    for oid in sorted(snapshot.oids()):
        rights = snapshot.rights.of(oid)
        if rights.owner != role and role not in rights.roles:
            continue
        name = f"database {DATABASE}"
        if oid != DATABASE_OID:
            name = things.describe(_thing(oid, snapshot))
        if rights.owner == role:
            yield f"owner of {name}"
        if role in acl.named_roles(rights.acl, rights.owner):
            yield f"privileges for {name}"
        for number, column in rights.columns:
            table = tables.get(oid)
            declared = table.columns if isinstance(table, Table) else ()
            named = next((c.name for c in declared if c.number == number), None)
            if named is not None and role in acl.named_roles(column, rights.owner):
                yield f"privileges for column {named} of {name}"
    yield from _of_defaults(role, snapshot)


def _of_defaults(role: int, snapshot: Snapshot) -> Iterator[str]:
    for key, said in snapshot.rights.defaults.items():
        if key.role == role:
            yield f"owner of {_describe_default(key, snapshot)}"
        elif role in acl.named_roles(said, key.role):
            yield f"privileges for {_describe_default(key, snapshot)}"


def _describe_default(key: DefaultKey, snapshot: Snapshot) -> str:
    role = snapshot.roles.with_oid(key.role)
    schema = next((s.name for s in snapshot.schemas.values() if s.oid == key.schema), None)
    of = f"default privileges on new {_KINDS[key.kind]} belonging to role {quote_ident(role.name if role else '')}"
    return of if schema is None else f"{of} in schema {quote_ident(schema)}"

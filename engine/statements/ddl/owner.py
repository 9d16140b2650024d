"""ALTER ... OWNER TO: of relations together with the relations that belong to them, of types, of schemas and of the
database.

The new owner becomes the grantor of the privileges that the old owner granted. Source: PostgreSQL 15, tablecmds.c
(ATExecChangeOwner), typecmds.c (AlterTypeOwner), schemacmds.c (AlterSchemaOwner_internal), dbcommands.c
(AlterDatabaseOwner).
"""

from __future__ import annotations

from engine.catalog.model import acl
from engine.catalog.model.objects import DATABASE, Schema, Sequence, StoredRelation, Table
from engine.catalog.model.rights import DATABASE_OID, ObjectRights
from engine.catalog.model.roles import Role
from engine.catalog.model.user_types import DomainType
from engine.catalog.snapshot import TEMPORARY
from engine.sql.parser.nodes.privileges import AlterOwner
from engine.statements.ddl.rights_draft import RightsDraft
from engine.statements.ddl.role_ground import RoleGround, is_row_type, type_of_users
from engine.statements.shared.dependencies import kind_of
from wire.errors import (
    FeatureNotSupported,
    InsufficientPrivilege,
    InvalidSchemaName,
    Notice,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)


def alter_owner(statement: AlterOwner, ground: RoleGround) -> None:
    """Run ALTER ... OWNER TO. Raises InsufficientPrivilege, UndefinedTable, InvalidSchemaName, UndefinedObject,
    WrongObjectType.
    """
    draft = RightsDraft(ground.catalog)
    match statement.kind:
        case "schema":
            _of_schema(statement, draft, ground)
        case "database":
            _of_database(statement, draft, ground)
        case "type" | "domain":
            _of_type(statement, draft, ground)
        case _:
            _of_relation(statement, draft, ground)
    draft.record()


def _of_relation(statement: AlterOwner, draft: RightsDraft, ground: RoleGround) -> None:
    snapshot = ground.catalog.current()
    if statement.name.schema is not None:
        ground.authority.require_usage(snapshot, statement.name.schema)
    relation = snapshot.resolve(statement.name.schema, statement.name.name, ground.search_path)
    if relation is None:
        if not statement.if_exists:
            raise UndefinedTable(f'relation "{statement.name}" does not exist')
        ground.notify(Notice(f'relation "{statement.name.name}" does not exist, skipping'))
        return
    kind = kind_of(relation)
    ground.authority.require_owner(relation, kind)
    if statement.kind not in ("table", kind):
        raise WrongObjectType(f'"{relation.name}" is not a {statement.kind}')
    if relation.schema == TEMPORARY:
        raise FeatureNotSupported("not supported: OWNER TO of a temporary relation, which is its session's alone")
    owner = ground.meant(statement.owner)
    if isinstance(relation, Sequence) and relation.owner is not None:
        _require_same_owner(relation, owner, draft, ground)
    if owner.oid == draft.of(relation.oid).owner:
        return
    _require_heir(owner, relation.schema, draft, ground)
    change_owner(relation, owner.oid, draft, ground)


def _require_heir(owner: Role, name: str, draft: RightsDraft, ground: RoleGround) -> None:
    """Check that the current role may become the new owner, and that the new owner may create objects in the schema
    itself.
    """
    if ground.current.superuser:
        return
    require_member(owner, ground)
    schema = ground.catalog.current().schemas.get(name)
    if schema is not None and not draft.judge.may(owner.oid, schema.oid, "n", acl.CREATE):
        raise InsufficientPrivilege(f"permission denied for schema {name}")


def _of_type(statement: AlterOwner, draft: RightsDraft, ground: RoleGround) -> None:
    if is_row_type(statement.name, ground):
        raise WrongObjectType(f"{statement.name} is a table's row type", hint="Use ALTER TABLE instead.")
    typ = type_of_users(statement.name, ground)
    if statement.kind == "domain" and not isinstance(typ, DomainType):
        raise WrongObjectType(f"{statement.name} is not a domain")
    owner, before = ground.meant(statement.owner), draft.of(typ.oid)
    if owner.oid == before.owner:
        return
    if not ground.authority.owns(typ):
        raise InsufficientPrivilege(f"must be owner of type {statement.name}")
    _require_heir(owner, typ.schema, draft, ground)
    draft.put(typ.oid, typ.name, owned_by(before, owner.oid))


def _require_same_owner(sequence: Sequence, owner: Role, draft: RightsDraft, ground: RoleGround) -> None:
    """Refuse to change the owner of a sequence that belongs to a table: it has the table's owner."""
    assert sequence.owner is not None
    table = next((table for table in ground.catalog.current().tables() if table.oid == sequence.owner[0]), None)
    if table is not None and owner.oid != draft.of(sequence.oid).owner:
        raise FeatureNotSupported(
            f'cannot change owner of sequence "{sequence.name}"',
            detail=f'Sequence "{sequence.name}" is linked to table "{table.name}".',
        )


def change_owner(relation: StoredRelation, owner: int, draft: RightsDraft, ground: RoleGround) -> None:
    """Change the owner of a relation and of the sequences that belong to it."""
    others = ground.catalog.current().relations.values() if isinstance(relation, Table) else ()
    owned = [r for r in others if isinstance(r, Sequence) and r.owner is not None and r.owner[0] == relation.oid]
    for each in (relation, *owned):
        draft.put(each.oid, each.name, owned_by(draft.of(each.oid), owner))


def owned_by(rights: ObjectRights, owner: int) -> ObjectRights:
    lists = None if rights.acl is None else acl.with_owner(rights.acl, rights.owner, owner)
    columns = tuple((number, acl.with_owner(said, rights.owner, owner)) for number, said in rights.columns)
    return ObjectRights(owner, lists, columns)


def _of_schema(statement: AlterOwner, draft: RightsDraft, ground: RoleGround) -> None:
    schema: Schema | None = ground.catalog.current().schemas.get(statement.name.name)
    if schema is None:
        raise InvalidSchemaName(f'schema "{statement.name.name}" does not exist')
    owner = ground.meant(statement.owner)
    before = draft.of(schema.oid)
    if owner.oid == before.owner:
        return
    ground.authority.require_schema_owner(schema.oid, schema.name)
    require_member(owner, ground)
    ground.authority.require_new_schemas()
    draft.put(schema.oid, schema.name, owned_by(before, owner.oid))


def _of_database(statement: AlterOwner, draft: RightsDraft, ground: RoleGround) -> None:
    if statement.name.name != DATABASE:
        raise UndefinedObject(f'database "{statement.name.name}" does not exist', sqlstate="3D000")
    owner, before = ground.meant(statement.owner), draft.of(DATABASE_OID)
    if owner.oid == before.owner:
        return
    if not ground.authority.judge.owns(ground.current, DATABASE_OID):
        raise InsufficientPrivilege(f"must be owner of database {DATABASE}")
    require_member(owner, ground)
    if not (ground.current.superuser or ground.current.createdb):
        raise InsufficientPrivilege("permission denied to change owner of database")
    draft.put(DATABASE_OID, DATABASE, owned_by(before, owner.oid))


def require_member(role: Role, ground: RoleGround) -> None:
    """Raise InsufficientPrivilege unless the current role may become that role."""
    if not ground.roles.is_member(ground.current, role):
        raise InsufficientPrivilege(f'must be member of role "{role.name}"')

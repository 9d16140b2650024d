"""CREATE SCHEMA and ALTER SCHEMA RENAME (schemacmds.c)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.catalog.model.objects import Schema
from engine.catalog.model.roles import Role
from engine.catalog.snapshot import SLUICE, RightsChange
from engine.sql.parser.nodes.statements import AlterSchema, CreateSchema
from engine.statements.ddl.owner import owned_by
from engine.statements.ddl.renaming import with_name
from engine.statements.shared.definer import Definer
from wire.errors import (
    DuplicateSchema,
    FeatureNotSupported,
    InsufficientPrivilege,
    InvalidSchemaName,
    ReservedName,
    UndefinedObject,
)

_RESERVED: Final = "pg_"


def create_schema(statement: CreateSchema, definer: Definer) -> None:
    """Run CREATE SCHEMA. Raises DuplicateSchema, ReservedName."""
    owner = _owner(statement, definer)
    name = statement.name or owner.name
    definer.authority.require_new_schemas()
    if not definer.snapshot.roles.is_member(definer.authority.role, owner):
        raise InsufficientPrivilege(f'must be member of role "{owner.name}"')
    _check_name(name)
    if statement.if_not_exists and definer.snapshot.has_schema(name):
        definer.notify(f'schema "{name}" already exists, skipping')
        return
    made = Schema(definer.catalog.objects.new_oid(), name)
    definer.catalog.objects.put_schema(made)
    before = definer.snapshot.rights.objects.get(made.oid)
    if definer.snapshot.rights.of(made.oid).owner != owner.oid:
        after = owned_by(definer.snapshot.rights.of(made.oid), owner.oid)
        definer.catalog.objects.put_rights([RightsChange(made.oid, name, after, before)])


def _owner(statement: CreateSchema, definer: Definer) -> Role:
    """Return the owner of a new schema. Raises UndefinedObject."""
    asked = statement.owner
    if asked is None or asked.special == "current":
        return definer.authority.role
    if asked.special == "session":
        raise FeatureNotSupported("not supported: AUTHORIZATION SESSION_USER", hint="Name the role.")
    found = definer.snapshot.roles.find_role(asked.special or asked.name)
    if found is None:
        raise UndefinedObject(f'role "{asked.special or asked.name}" does not exist')
    return found


def alter_schema(statement: AlterSchema, definer: Definer) -> None:
    """Rename a schema with all that is in it. Raises InvalidSchemaName, DuplicateSchema, ReservedName."""
    snapshot, catalog = definer.snapshot, definer.catalog
    schema = snapshot.schemas.get(statement.name)
    if schema is None:
        raise InvalidSchemaName(f'schema "{statement.name}" does not exist')
    definer.authority.require_schema_owner(schema.oid, schema.name)
    definer.authority.require_new_schemas()
    if statement.to in snapshot.schemas or statement.to == SLUICE:
        raise DuplicateSchema(f'schema "{statement.to}" already exists')
    _check_name(statement.to)
    catalog.objects.put_schema(Schema(schema.oid, statement.to, schema.comment))
    for relation in [r for r in snapshot.relations.values() if r.schema == statement.name]:
        catalog.objects.remove(relation)
        catalog.objects.put(with_name(relation, statement.to, relation.name))
    for typ in [typ for typ in snapshot.types.values() if typ.schema == statement.name]:
        catalog.objects.put_type(replace(typ, schema=statement.to), typ)
    catalog.objects.remove_schema(statement.name)


def _check_name(name: str) -> None:
    if name.startswith(_RESERVED):
        raise ReservedName(
            f'unacceptable schema name "{name}"', detail='The prefix "pg_" is reserved for system schemas.'
        )

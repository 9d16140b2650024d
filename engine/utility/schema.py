"""CREATE SCHEMA and ALTER SCHEMA RENAME (schemacmds.c)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from engine.catalog.objects import Schema
from engine.catalog.snapshot import SLUICE
from engine.sql.statements import AlterSchema, CreateSchema
from engine.utility.definer import Definer
from engine.utility.renaming import named
from wire.errors import DuplicateSchema, InvalidSchemaName, ReservedName

_RESERVED: Final = "pg_"


def create_schema(statement: CreateSchema, definer: Definer) -> None:
    """Raises DuplicateSchema, ReservedName."""
    _check_name(statement.name)
    if statement.if_not_exists and definer.snapshot.has_schema(statement.name):
        definer.notify(f'schema "{statement.name}" already exists, skipping')
        return
    definer.catalog.put_schema(Schema(definer.catalog.new_oid(), statement.name))


def alter_schema(statement: AlterSchema, definer: Definer) -> None:
    """RENAME, with all that is in it. Raises InvalidSchemaName, DuplicateSchema, ReservedName."""
    snapshot, catalog = definer.snapshot, definer.catalog
    schema = snapshot.schemas.get(statement.name)
    if schema is None:
        raise InvalidSchemaName(f'schema "{statement.name}" does not exist')
    if statement.to in snapshot.schemas or statement.to == SLUICE:
        raise DuplicateSchema(f'schema "{statement.to}" already exists')
    _check_name(statement.to)
    catalog.put_schema(Schema(schema.oid, statement.to, schema.comment))
    for relation in [r for r in snapshot.relations.values() if r.schema == statement.name]:
        catalog.remove(relation)
        catalog.put(named(relation, statement.to, relation.name))
    for typ in [typ for typ in snapshot.types.values() if typ.schema == statement.name]:
        catalog.put_type(replace(typ, schema=statement.to), typ)
    catalog.remove_schema(statement.name)


def _check_name(name: str) -> None:
    if name.startswith(_RESERVED):
        raise ReservedName(
            f'unacceptable schema name "{name}"', detail='The prefix "pg_" is reserved for system schemas.'
        )

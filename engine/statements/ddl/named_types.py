"""Names and schemas of user-defined types: creating, renaming, and SET SCHEMA.

Source: PostgreSQL 15, typecmds.c (RenameType, AlterTypeNamespace).
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.model.user_types import UserType
from engine.catalog.snapshot import TEMPORARY
from engine.sql.deparse.stored_names import names_type
from engine.sql.parser.nodes.statements import QualifiedName
from engine.statements.shared.definer import Definer
from wire.errors import DuplicateObject, FeatureNotSupported, InvalidSchemaName


def schema_of_new_type(name: QualifiedName, definer: Definer) -> str:
    """Return the schema of a new type. Raises DuplicateObject, FeatureNotSupported for one in pg_temp, and the errors
    of `schema_of_new`.
    """
    schema = definer.schema_of_new(name, temporary=False)
    if schema == TEMPORARY:
        raise FeatureNotSupported("not supported: a temporary type")
    _require_free(schema, name.name, definer, f'type "{name.name}" already exists')
    return schema


def put_renamed(typ: UserType, to: str, definer: Definer) -> None:
    _require_free(typ.schema, to, definer, f'type "{to}" already exists')
    _require_unnamed(typ, definer)
    _put_as(typ, typ.schema, to, definer)


def put_elsewhere(typ: UserType, schema: str, definer: Definer) -> None:
    """Move a type to a schema; it may be the one where the type is."""
    if schema not in definer.snapshot.schemas:
        raise InvalidSchemaName(f'schema "{schema}" does not exist')
    definer.authority.require_creation(definer.snapshot, schema)
    if schema != typ.schema:
        _require_free(schema, typ.name, definer, f'type "{typ.name}" already exists in schema "{schema}"')
        _require_unnamed(typ, definer)
        _put_as(typ, schema, typ.name, definer)


def _require_free(schema: str, name: str, definer: Definer, message: str) -> None:
    snapshot = definer.snapshot
    if (schema, name) in snapshot.types or (schema, name) in snapshot.relations:
        raise DuplicateObject(message)


def _put_as(typ: UserType, schema: str, name: str, definer: Definer) -> None:
    definer.catalog.objects.put_type(replace(typ, schema=schema, name=name), typ)


def _require_unnamed(typ: UserType, definer: Definer) -> None:
    """Refuse the change if a stored definition names the type, because the text would then name another type or none."""
    for relation in definer.snapshot.relations.values():
        for text in definer.texts_of(relation):
            if names_type(text, typ.name):
                raise FeatureNotSupported(
                    f'not supported: another name for type "{typ.name}", which a definition of "{relation.name}" says'
                )

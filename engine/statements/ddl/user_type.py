"""CREATE TYPE ... AS ENUM, and ALTER TYPE; `engine.statements.ddl.composite` handles composite types. Changing an enum
touches no file: values are stored as numbers, and each label keeps its number (`wire.types.enums`).

A label that is added in a transaction block may be used in the same block, as in a block that created the type;
PostgreSQL requires the commit first (55P04).

Source: PostgreSQL 15, typecmds.c (DefineEnum, AlterEnum), pg_enum.c (AddEnumLabel, RenameEnumLabel).
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.model.user_types import EnumType, Label, UserType
from engine.sql.parser.lexical.lexer import NAME_BYTES_MAX
from engine.sql.parser.nodes.statements import (
    AddLabel,
    AlterType,
    CreateEnum,
    RenameAttribute,
    RenameLabel,
    RenameRelation,
    SetSchema,
)
from engine.statements.ddl.composite import alter_attributes, composite, rename_attribute
from engine.statements.ddl.named_types import put_elsewhere, put_renamed, schema_of_new_type
from engine.statements.shared.definer import Definer
from wire.errors import (
    DuplicateObject,
    InvalidName,
    InvalidParameterValue,
    ProgramLimitExceeded,
    UniqueViolation,
    WrongObjectType,
)
from wire.types.enums import STEP


def create_enum(statement: CreateEnum, definer: Definer) -> None:
    """Create an enum. Raises DuplicateObject, InvalidName, UniqueViolation."""
    name, catalog = statement.name, definer.catalog
    schema = schema_of_new_type(name, definer)
    for label in statement.labels:
        _check_label(label)
    twice = next((label for label in statement.labels if statement.labels.count(label) > 1), None)
    if twice is not None:
        raise UniqueViolation('duplicate key value violates unique constraint "pg_enum_typid_label_index"')
    labels = tuple(Label(catalog.objects.new_oid(), STEP * n, label) for n, label in enumerate(statement.labels, 1))
    catalog.objects.put_type(EnumType(catalog.objects.new_oid(), catalog.objects.new_oid(), schema, name.name, labels))


def _check_label(label: str) -> None:
    if len(label.encode()) > NAME_BYTES_MAX:
        raise InvalidName(f'invalid enum label "{label}"', detail=f"Labels must be {NAME_BYTES_MAX} bytes or less.")


def alter_type(statement: AlterType, definer: Definer) -> None:
    """Run ALTER TYPE. Raises UndefinedObject, WrongObjectType, DuplicateObject, InvalidParameterValue."""
    typ, action = definer.type(statement.name), statement.action
    definer.authority.require_owner(typ, "type")
    match action:
        case AddLabel():
            _add_label(_enum(typ), action, definer)
        case RenameLabel():
            _rename_label(_enum(typ), action, definer)
        case RenameAttribute():
            rename_attribute(composite(typ), action, definer)
        case tuple():
            alter_attributes(composite(typ), action, definer)
        case RenameRelation(to=to):
            put_renamed(typ, to, definer)
        case SetSchema(schema=schema):
            put_elsewhere(typ, schema, definer)


def _enum(typ: UserType) -> EnumType:
    if not isinstance(typ, EnumType):
        raise WrongObjectType(f"{typ.name} is not an enum")
    return typ


def _add_label(typ: EnumType, action: AddLabel, definer: Definer) -> None:
    _check_label(action.label)
    if any(label.name == action.label for label in typ.labels):
        message = f'enum label "{action.label}" already exists'
        if not action.if_not_exists:
            raise DuplicateObject(message)
        definer.notify(f"{message}, skipping")
        return
    at = len(typ.labels)
    if action.neighbour is not None:
        at = _place(typ, action.neighbour) + (0 if action.before else 1)
    made = Label(definer.catalog.objects.new_oid(), _number_at(typ, at), action.label)
    definer.catalog.objects.put_type(replace(typ, labels=(*typ.labels[:at], made, *typ.labels[at:])), typ)


def _place(typ: EnumType, name: str) -> int:
    for place, label in enumerate(typ.labels):
        if label.name == name:
            return place
    raise InvalidParameterValue(f'"{name}" is not an existing enum label')


def _number_at(typ: EnumType, at: int) -> int:
    """Return a number between those of two neighbouring labels. Raises ProgramLimitExceeded if there is none left."""
    if not typ.labels:
        return STEP
    if at == len(typ.labels):
        return typ.labels[-1].number + STEP
    after = typ.labels[at].number
    if at == 0:
        return after - STEP
    before = typ.labels[at - 1].number
    if after - before < 2:
        raise ProgramLimitExceeded(
            f'no room for another label between "{typ.labels[at - 1].name}" and "{typ.labels[at].name}"'
        )
    return (before + after) // 2


def _rename_label(typ: EnumType, action: RenameLabel, definer: Definer) -> None:
    _check_label(action.to)
    at = _place(typ, action.label)
    if any(label.name == action.to for label in typ.labels):
        raise DuplicateObject(f'enum label "{action.to}" already exists')
    labels = tuple(replace(label, name=action.to) if n == at else label for n, label in enumerate(typ.labels))
    definer.catalog.objects.put_type(replace(typ, labels=labels), typ)

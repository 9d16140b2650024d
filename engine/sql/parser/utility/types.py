"""CREATE TYPE and ALTER TYPE (gram.y: DefineStmt, AlterEnumStmt, AlterCompositeTypeStmt, RenameStmt, AlterObjectSchemaStmt)."""

from __future__ import annotations

from typing import TypeVar

from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.nodes.statements import (
    AddAttribute,
    AddLabel,
    AlterAttribute,
    AlterType,
    AttributeAction,
    AttributeDefinition,
    CreateComposite,
    CreateEnum,
    DropAttribute,
    RenameAttribute,
    RenameLabel,
    RenameRelation,
    SetSchema,
    Statement,
)
from engine.sql.parser.utility.columns import take_collation
from engine.sql.parser.utility.reader import StatementReader


def create_type(reader: StatementReader) -> Statement:
    """Read CREATE TYPE, after these words."""
    name = reader.qualified_name()
    if not reader.take("as"):
        reader.raise_unsupported("CREATE TYPE of a base type")
    if reader.word_at("range"):
        reader.raise_unsupported("CREATE TYPE AS RANGE")
    if not reader.take("enum"):
        attributes = reader.parenthesized_list(lambda: _attribute(reader), empty=True)
        return CreateComposite(name=name, attributes=tuple(attributes), text="")
    return CreateEnum(name=name, labels=tuple(reader.parenthesized_list(lambda: _label(reader), empty=True)), text="")


def _attribute(reader: StatementReader) -> AttributeDefinition:
    made = AttributeDefinition(name=reader.name(), type=reader.type_name())
    take_collation(reader, made.type)
    return made


def _label(reader: StatementReader) -> str:
    return reader.expect_kind(Kind.STRING).text


def alter_type(reader: StatementReader) -> Statement:
    """Read ALTER TYPE, after these words."""
    name = reader.qualified_name()
    if reader.take("add", "value"):
        return AlterType(name=name, action=_add_label(reader), text="")
    if reader.take("rename", "value"):
        label = _label(reader)
        reader.expect("to")
        return AlterType(name=name, action=RenameLabel(label=label, to=_label(reader)), text="")
    if reader.take("rename", "to"):
        return AlterType(name=name, action=RenameRelation(to=reader.name()), text="")
    if reader.take("rename", "attribute"):
        old = reader.name()
        reader.expect("to")
        return AlterType(
            name=name, action=RenameAttribute(name=old, to=_with_behaviour(reader, reader.name())), text=""
        )
    if (
        reader.words_at("add", "attribute")
        or reader.words_at("drop", "attribute")
        or reader.words_at("alter", "attribute")
    ):
        actions = reader.comma_list(lambda: _attribute_action(reader))
        return AlterType(name=name, action=tuple(actions), text="")
    if reader.take("set", "schema"):
        return AlterType(name=name, action=SetSchema(schema=reader.name()), text="")
    reader.fail()


def _attribute_action(reader: StatementReader) -> AttributeAction:
    if reader.take("add", "attribute"):
        return _with_behaviour(reader, AddAttribute(attribute=_attribute(reader)))
    if reader.take("drop", "attribute"):
        exists = reader.take("if", "exists")
        return _with_behaviour(reader, DropAttribute(name=reader.name(), if_exists=exists))
    reader.expect("alter")
    reader.expect("attribute")
    called = reader.name()
    if not reader.take("set", "data", "type"):
        reader.expect("type")
    made = AttributeDefinition(name=called, type=reader.type_name())
    take_collation(reader, made.type)
    return _with_behaviour(reader, AlterAttribute(attribute=made))


_T = TypeVar("_T")


def _with_behaviour(reader: StatementReader, read: _T) -> _T:
    """Read CASCADE or RESTRICT, which have no effect: they are for typed tables, which Sluice lacks."""
    reader.behaviour()
    return read


def _add_label(reader: StatementReader) -> AddLabel:
    missing = reader.take("if", "not", "exists")
    label = _label(reader)
    before = reader.take("before")
    if before or reader.take("after"):
        return AddLabel(label=label, if_not_exists=missing, before=before, neighbour=_label(reader))
    return AddLabel(label=label, if_not_exists=missing)

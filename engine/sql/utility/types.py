"""CREATE TYPE and ALTER TYPE (gram.y: DefineStmt, AlterEnumStmt, RenameStmt, AlterObjectSchemaStmt)."""

from __future__ import annotations

from engine.sql.lexer import Kind
from engine.sql.statements import AddLabel, AlterType, CreateEnum, RenameLabel, RenameRelation, SetSchema, Statement
from engine.sql.utility.reader import StatementReader


def create_type(reader: StatementReader) -> Statement:
    """After CREATE TYPE."""
    name = reader.qualified_name()
    if not reader.take("as"):
        reader.unsupported("CREATE TYPE of a base type")
    if reader.word_at("range"):
        reader.unsupported("CREATE TYPE AS RANGE")
    if not reader.take("enum"):
        reader.unsupported("CREATE TYPE of a composite type")
    return CreateEnum(name=name, labels=_labels(reader), text="")


def _labels(reader: StatementReader) -> tuple[str, ...]:
    reader.expect_symbol("(")
    found: list[str] = []
    if not reader.symbol_at(")"):
        found.append(_label(reader))
        while reader.take_symbol(","):
            found.append(_label(reader))
    reader.expect_symbol(")")
    return tuple(found)


def _label(reader: StatementReader) -> str:
    return reader.expect_kind(Kind.STRING).text


def alter_type(reader: StatementReader) -> Statement:
    """After ALTER TYPE."""
    name = reader.qualified_name()
    if reader.take("add", "value"):
        return AlterType(name=name, action=_added(reader), text="")
    if reader.take("rename", "value"):
        label = _label(reader)
        reader.expect("to")
        return AlterType(name=name, action=RenameLabel(label=label, to=_label(reader)), text="")
    if reader.take("rename", "to"):
        return AlterType(name=name, action=RenameRelation(to=reader.name()), text="")
    if reader.take("set", "schema"):
        return AlterType(name=name, action=SetSchema(schema=reader.name()), text="")
    if reader.word_at("owner"):
        reader.unsupported("OWNER TO")
    if reader.word_at("add", "drop", "alter", "rename", "set"):
        reader.unsupported("ALTER TYPE of another type than an enum")
    reader.fail()


def _added(reader: StatementReader) -> AddLabel:
    missing = reader.take("if", "not", "exists")
    label = _label(reader)
    before = reader.take("before")
    if before or reader.take("after"):
        return AddLabel(label=label, if_not_exists=missing, before=before, neighbour=_label(reader))
    return AddLabel(label=label, if_not_exists=missing)

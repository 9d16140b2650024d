"""CREATE EXTENSION and DROP EXTENSION (gram.y: CreateExtensionStmt, RemoveObjectsStmt)."""

from __future__ import annotations

from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.nodes.extensions import CreateExtension, DropExtension
from engine.sql.parser.nodes.statements import Statement
from engine.sql.parser.utility.reader import StatementReader


def create_extension(reader: StatementReader) -> Statement:
    """Read CREATE EXTENSION, after these words. Schema, version and CASCADE are ignored, because there is nothing to
    install.
    """
    missing = reader.take("if", "not", "exists")
    name = reader.name()
    reader.take("with")
    said: set[str] = set()
    redundant: int | None = None
    while reader.word_at("schema", "version", "cascade"):
        option = reader.next()
        if option.text in said and redundant is None:
            redundant = option.start + 1
        said.add(option.text)
        if option.text == "version" and reader.token.kind is Kind.STRING:
            reader.next()
        elif option.text != "cascade":
            reader.name()
    return CreateExtension(name=name, if_not_exists=missing, redundant=redundant, text="")


def drop_extension(reader: StatementReader) -> Statement:
    """Read DROP EXTENSION, after these words."""
    exists = reader.take("if", "exists")
    names = reader.comma_list(reader.name)
    reader.behaviour()
    return DropExtension(names=tuple(names), if_exists=exists, text="")

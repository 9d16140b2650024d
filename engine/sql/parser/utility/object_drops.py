"""DROP of kinds of objects that cannot be created here (gram.y: RemoveFuncStmt, RemoveAggrStmt, DropStmt, func_args)."""

from __future__ import annotations

from functools import partial
from typing import Final

from sqlglot import exp

from engine.sql.parser.nodes.object_drops import (
    Argument,
    DropFunctions,
    DropObjects,
    DropPart,
    FunctionKind,
    NamedFunction,
    RelationPart,
)
from engine.sql.parser.nodes.statements import Statement
from engine.sql.parser.utility.reader import StatementReader

_FUNCTIONS: Final[tuple[FunctionKind, ...]] = ("function", "procedure", "routine", "aggregate")
_PARTS: Final[tuple[RelationPart, ...]] = ("trigger", "rule", "policy")
#: Kinds of objects, by their words, and whether their names may have a schema.
_OBJECTS: Final = (
    (("event", "trigger"), False), (("access", "method"), False), (("language",), False), (("publication",), False),
    (("subscription",), False), (("tablespace",), False), (("statistics",), True), (("collation",), True),
    (("conversion",), True), *((("text", "search", kind), True) for kind in ("parser", "dictionary", "template", "configuration")),
)  # fmt: skip


def drop_object(reader: StatementReader) -> Statement | None:
    """Read DROP, after this word. Returns None for other kinds of objects."""
    if reader.words_at("procedural", "language"):
        reader.next()
    for words, qualified in _OBJECTS:
        if reader.take(*words):
            exists = reader.take("if", "exists")
            names = reader.comma_list(reader.qualified_name if qualified else reader.bare_name)
            reader.behaviour()
            return DropObjects(kind=" ".join(words), names=tuple(names), if_exists=exists, text="")
    for part in _PARTS:
        if reader.take(part):
            return _part(reader, part)
    for kind in _FUNCTIONS:
        if reader.take(kind):
            exists = reader.take("if", "exists")
            functions = reader.comma_list(partial(_function, reader, kind))
            reader.behaviour()
            return DropFunctions(kind=kind, functions=tuple(functions), if_exists=exists, text="")
    return None


def _part(reader: StatementReader, kind: RelationPart) -> Statement:
    exists = reader.take("if", "exists")
    name = reader.name()
    reader.expect("on")
    relation = reader.qualified_name()
    reader.behaviour()
    return DropPart(kind=kind, name=name, relation=relation, if_exists=exists, text="")


def _function(reader: StatementReader, kind: FunctionKind) -> NamedFunction:
    name = reader.qualified_name()
    if kind != "aggregate" and not reader.symbol_at("("):
        return NamedFunction(name=name, arguments=None)
    if kind == "aggregate" and reader.symbol_at("(") and reader.symbol_at("*", ahead=1):
        reader.next()
        reader.next()
        reader.expect_symbol(")")
        return NamedFunction(name=name, arguments=())
    found = reader.parenthesized_list(partial(_argument, reader), empty=kind != "aggregate")
    return NamedFunction(name=name, arguments=tuple(argument for argument in found if argument is not None))


def _argument(reader: StatementReader) -> Argument | None:
    """Read an argument; None for an OUT argument."""
    only_out = _mode(reader)
    argument = _type(reader)
    if not reader.symbol_at(",", ")"):
        # The token read was the argument's name, which a mode may follow.
        reader.at = argument[1] + 1
        only_out = _mode(reader) or only_out
        argument = _type(reader)
    return None if only_out else argument[0]


def _mode(reader: StatementReader) -> bool:
    if reader.take("out"):
        return True
    if not reader.take("in", "out") and not reader.take("inout") and not reader.take("variadic"):
        reader.take("in")
    return False


def _type(reader: StatementReader) -> tuple[Argument, int]:
    """Read a type; return it and the index of its first token."""
    start = reader.at
    grammar = reader.constant_type_at()
    typ = reader.type_name()
    return Argument(type=typ, written=_type_text(typ, grammar)), start


def _type_text(typ: exp.DataType, grammar: bool) -> str:
    name: str = typ.args["kind"].name
    schema = "pg_catalog" if grammar else typ.args.get("schema")
    words = {"float": "float8"}.get(name, name) if grammar else name
    return (f"{schema}." if schema else "") + words + ("[]" if typ.args.get("array") else "")

"""Literals of the object types by name: `'lineitem'::regclass`, `'numeric(10,2)'::regtype`.

Such a name means the object that it finds while binding, in the statement's catalog and search path. Numbers and columns
are not read here: a number is its own OID (`wire.text_input`).

Source: PostgreSQL 15, chapter 8.19; regproc.c (regclassin, regtypein).
"""

from __future__ import annotations

from engine.sql.lexer import Kind, tokenize
from engine.sql.scope import BindContext, cursor
from engine.sql.type_names import resolve_type
from engine.sql.types import SqlType
from engine.sql.utility.reader import StatementReader
from wire import types as t
from wire.errors import InvalidName, SqlError, UndefinedTable


def is_name(pg: t.PgType, text: str) -> bool:
    """Whether a literal of `pg` is an object's name, to be read by `read_name`."""
    return pg in (t.REGCLASS, t.REGTYPE) and text != "-" and not text.isdecimal()


def read_name(pg: t.PgType, text: str, context: BindContext, at: int) -> int:
    """The OID of the relation or type that `text` names. Raises UndefinedTable (42P01) or UndefinedObject (42704)."""
    try:
        return relation_named(text, context) if pg is t.REGCLASS else type_oid(text)
    except SqlError as error:
        error.position = cursor(at)
        raise


def relation_named(text: str, context: BindContext) -> int:
    """The OID of the relation that `text` names: also of one that no query reads, such as a sequence. Raises UndefinedTable."""
    names = dotted(text)
    schema, name = (names[0], names[1]) if len(names) == 2 else (None, names[0])
    oid = context.catalog.oid_of(schema, name, context.search_path)
    if oid is None:
        raise UndefinedTable(f'relation "{".".join(names)}" does not exist')
    return oid


def dotted(text: str) -> list[str]:
    """The identifiers of `a` or `a.b`, folded (stringToQualifiedNameList)."""
    *tokens, _end = tokenize(text)
    names, dots = tokens[::2], tokens[1::2]
    well_formed = len(names) == len(dots) + 1 <= 2 and all(d.text == "." for d in dots)
    if not well_formed or not all(n.kind in (Kind.WORD, Kind.NAME) for n in names):
        raise InvalidName("invalid name syntax")
    return [n.text for n in names]


def type_oid(text: str) -> int:
    """The OID of the type that `text` names. Raises as `type_named`."""
    return type_named(text).pg.oid


def type_named(text: str) -> SqlType:
    """The type that `text` names. Raises UndefinedObject, or SqlSyntaxError for what is no name of a type."""
    reader = StatementReader(text, tokenize(text))
    typ = resolve_type(reader.type_name())
    if not reader.at_end():
        reader.fail()
    return typ

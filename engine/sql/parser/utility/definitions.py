"""CREATE VIEW, FOREIGN TABLE and SCHEMA, and DROP. Tables and sequences: `tables`, `sequences`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.nodes.statements import (
    ColumnDefinition,
    CreateForeignTable,
    CreateSchema,
    CreateView,
    Drop,
    ImportForeignSchema,
    RelationKind,
    Statement,
)
from engine.sql.parser.utility.columns import options as reloptions
from engine.sql.parser.utility.domains import create_domain
from engine.sql.parser.utility.extensions import create_extension, drop_extension
from engine.sql.parser.utility.indexes import create_index
from engine.sql.parser.utility.object_drops import drop_object
from engine.sql.parser.utility.privileges import drop_owned
from engine.sql.parser.utility.reader import StatementReader
from engine.sql.parser.utility.role_names import role_spec
from engine.sql.parser.utility.roles import KINDS as ROLES
from engine.sql.parser.utility.roles import create_role, drop_role
from engine.sql.parser.utility.sequences import create_sequence
from engine.sql.parser.utility.tables import create_materialized_view, create_table, refresh
from engine.sql.parser.utility.types import create_type
from engine.sql.parser.utility.unsupported import refuse
from wire.errors import DuplicateObject, FeatureNotSupported

_DropKind = Literal["schema", "type", "domain"] | RelationKind
_DROPS: Final[tuple[tuple[tuple[str, ...], _DropKind], ...]] = (
    (("view",), "view"),
    (("foreign", "table"), "foreign table"),
    (("materialized", "view"), "materialized view"),
    (("table",), "table"),
    (("sequence",), "sequence"),
    (("index",), "index"),
    (("schema",), "schema"),
    (("type",), "type"),
    (("domain",), "domain"),
)


def _create(reader: StatementReader) -> Statement:
    start = reader.at
    reader.next()
    replace = reader.take("or", "replace")
    temporary = reader.take_temporary()
    if reader.word_at("view"):
        return _view(reader, replace, temporary)
    if not replace and reader.take("table"):
        return create_table(reader, temporary)
    if not replace and not temporary and reader.take("unlogged", "table"):
        return create_table(reader, temporary, unlogged=True)
    if not replace and not temporary and reader.take("materialized", "view"):
        return create_materialized_view(reader)
    if not replace and reader.take("sequence"):
        return create_sequence(reader, temporary)
    if not replace and not temporary:
        if reader.take("foreign", "table"):
            return _foreign_table(reader)
        if reader.take("schema"):
            return _schema(reader)
        if reader.take("extension"):
            return create_extension(reader)
        if reader.take("type"):
            return create_type(reader)
        if reader.take("domain"):
            return create_domain(reader)
        if reader.word_at("index") or reader.words_at("unique", "index"):
            return create_index(reader)
        if _role_at(reader):
            return create_role(reader)
    reader.at = start
    refuse(reader)


def _role_at(reader: StatementReader) -> bool:
    """Return whether USER begins the name of a kind of role; USER MAPPING does not."""
    return reader.word_at(*ROLES) and not reader.word_at("mapping", ahead=1)


def _view(reader: StatementReader, replace: bool, temporary: bool) -> Statement:
    reader.next()
    name = reader.qualified_name()
    columns = tuple(c.name for c in reader.names()) if reader.symbol_at("(") else ()
    written = reloptions(reader) if reader.take("with") else ()
    reader.expect("as")
    if not reader.query_at():
        reader.fail()
    query = reader.query_statement()
    if "into" in query.tree.meta:
        raise FeatureNotSupported("views must not contain SELECT INTO")
    if reader.take("with"):
        how = "local" if reader.take("local") else "cascaded"
        if how == "cascaded":
            reader.take("cascaded")
        reader.expect("check", "option")
        written = (*written, ("check_option", how))
    return CreateView(
        name=name, columns=columns, query=query, replace=replace, temporary=temporary, options=written, text=""
    )


def _if_not_exists(reader: StatementReader) -> bool:
    return reader.take("if", "not", "exists")


def _foreign_table(reader: StatementReader) -> Statement:
    missing = _if_not_exists(reader)
    name = reader.qualified_name()
    columns = reader.parenthesized_list(lambda: _column(reader), empty=True) if reader.symbol_at("(") else ()
    if reader.take("server"):
        reader.name()
    options = _options(reader) if reader.take("options") else ()
    return CreateForeignTable(name=name, columns=tuple(columns), options=options, if_not_exists=missing, text="")


def _column(reader: StatementReader) -> ColumnDefinition:
    if reader.word_at("constraint", "check", "unique", "primary", "foreign", "exclude", "like"):
        reader.raise_unsupported(f"{reader.token.text.upper()} in CREATE FOREIGN TABLE")
    name = reader.name()
    typ = reader.type_name()
    not_null = False
    while reader.token.kind is Kind.WORD:
        if reader.take("not", "null"):
            not_null = True
        elif not reader.take("null"):
            reader.raise_unsupported(f"{reader.token.text.upper()} in CREATE FOREIGN TABLE")
    return ColumnDefinition(name=name, type=typ, not_null=not_null)


def _options(reader: StatementReader) -> tuple[tuple[str, str], ...]:
    """Read create_generic_options."""
    reader.expect_symbol("(")
    found: dict[str, str] = {}
    while True:
        token = reader.token
        key = reader.column_label().name
        if key in found:
            raise DuplicateObject(f'option "{key}" provided more than once', position=token.start + 1)
        found[key] = reader.expect_kind(Kind.STRING).text
        if not reader.take_symbol(","):
            break
    reader.expect_symbol(")")
    return tuple(found.items())


def _import(reader: StatementReader) -> Statement:
    reader.next()
    reader.expect("foreign")
    reader.expect("schema")
    remote = reader.name()
    kind: Literal["all", "limit to", "except"] = "all"
    tables: tuple[str, ...] = ()
    if reader.take("limit", "to"):
        kind = "limit to"
    elif reader.take("except"):
        kind = "except"
    if kind != "all":
        tables = tuple(identifier.name for identifier in reader.names())
    for word in ("from", "server"):
        reader.expect(word)
    server = reader.name()
    reader.expect("into")
    into = reader.name()
    options = _options(reader) if reader.take("options") else ()
    return ImportForeignSchema(
        remote=remote, server=server, into=into, kind=kind, tables=tables, options=options, text=""
    )


def _schema(reader: StatementReader) -> Statement:
    missing = _if_not_exists(reader)
    name = "" if reader.word_at("authorization") else reader.name()
    owner = role_spec(reader) if reader.take("authorization") else None
    if reader.word_at("create", "grant"):
        reader.raise_unsupported("CREATE SCHEMA with elements")
    return CreateSchema(name=name, owner=owner, if_not_exists=missing, text="")


def _drop(reader: StatementReader) -> Statement:
    start = reader.at
    reader.next()
    for words, kind in _DROPS:
        if reader.take(*words):
            return _drop_kind(reader, kind)
    if reader.take("extension"):
        return drop_extension(reader)
    if _role_at(reader):
        return drop_role(reader)
    if reader.take("owned"):
        return drop_owned(reader)
    if (other := drop_object(reader)) is not None:
        return other
    reader.at = start
    refuse(reader)


def _drop_kind(reader: StatementReader, kind: _DropKind) -> Statement:
    if kind == "index":
        reader.take("concurrently")  # dropping an index blocks no other session anyway
    exists = reader.take("if", "exists")
    names = reader.comma_list(reader.bare_name if kind == "schema" else reader.qualified_name)
    return Drop(kind=kind, names=tuple(names), if_exists=exists, cascade=reader.behaviour(), text="")


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {
    "create": _create,
    "drop": _drop,
    "import": _import,
    "refresh": refresh,
}

"""COPY, with its options in parentheses or in the syntax before PostgreSQL 9.0 (gram.y: CopyStmt)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.nodes.copy import CopyFrom, CopyOption, CopyTo
from engine.sql.parser.nodes.statements import Query, Statement
from engine.sql.parser.utility.options import generic_options
from engine.sql.parser.utility.reader import StatementReader

_VALUED: Final = ("delimiter", "null", "quote", "escape")


def _copy(reader: StatementReader) -> Statement:
    reader.expect("copy")
    if reader.symbol_at("("):
        return _copy_query(reader)
    options: list[CopyOption] = []
    if reader.word_at("binary"):
        options.append(CopyOption("format", "binary", reader.token.start - reader.base))
        reader.next()
    table = reader._relation()
    columns = tuple(reader.names()) if reader.symbol_at("(") else None
    if reader.word_at("from"):
        reader.next()
        file = _place(reader)
        _delimiters(reader, options)
        _options(reader, options)
        where = reader.expression() if reader.take("where") else None
        return CopyFrom(table=table, columns=columns, options=tuple(options), file=file, where=where, text="")
    reader.expect("to")
    file = _place(reader)
    _delimiters(reader, options)
    _options(reader, options)
    return CopyTo(table=table, columns=columns, options=tuple(options), file=file, text="")


def _copy_query(reader: StatementReader) -> Statement:
    reader.expect_symbol("(")
    if reader.mutation_at():
        reader.raise_unsupported("COPY of a statement that changes rows")
    query: Query = reader.query_statement()
    reader.expect_symbol(")")
    reader.expect("to")
    file = _place(reader)
    options: list[CopyOption] = []
    _options(reader, options)
    return CopyTo(table=None, query=query, options=tuple(options), file=file, text="")


def _place(reader: StatementReader) -> str | None:
    if reader.word_at("program"):
        reader.raise_unsupported("COPY with a program")
    if reader.take("stdin") or reader.take("stdout"):
        return None
    return reader.expect_kind(Kind.STRING).text


def _delimiters(reader: StatementReader, options: list[CopyOption]) -> None:
    """Read [USING] DELIMITERS, the syntax before PostgreSQL 7.3."""
    if reader.take("using"):
        if not reader.word_at("delimiters"):
            reader.fail()
    elif not reader.word_at("delimiters"):
        return
    at = reader.next().start - reader.base
    options.append(CopyOption("delimiter", reader.expect_kind(Kind.STRING).text, at))


def _options(reader: StatementReader, options: list[CopyOption]) -> None:
    reader.take("with")
    if reader.symbol_at("("):
        options += [CopyOption(name, value, at.start - reader.base) for name, value, at in generic_options(reader)]
        return
    while (option := _old_option(reader)) is not None:
        options.append(option)


def _old_option(reader: StatementReader) -> CopyOption | None:
    at = reader.token.start - reader.base
    for word in ("binary", "csv"):
        if reader.take(word):
            return CopyOption("format", word, at)
    for word in ("freeze", "header"):
        if reader.take(word):
            return CopyOption(word, "true", at)
    for word in _VALUED:
        if reader.take(word):
            reader.take("as")
            return CopyOption(word, reader.expect_kind(Kind.STRING).text, at)
    if reader.take("encoding"):
        return CopyOption("encoding", reader.expect_kind(Kind.STRING).text, at)
    if not reader.take("force"):
        return None
    if reader.take("quote"):
        return CopyOption("force_quote", "*" if reader.take_symbol("*") else tuple(reader.comma_list(reader.name)), at)
    name = "force_not_null" if reader.take("not") else "force_null"
    reader.expect("null")
    return CopyOption(name, tuple(reader.comma_list(reader.name)), at)


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {"copy": _copy}

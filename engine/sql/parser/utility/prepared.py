"""PREPARE, EXECUTE, DEALLOCATE, and DISCARD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.nodes.statements import (
    Deallocate,
    Discard,
    ExecuteStatement,
    PrepareStatement,
    PrepareTransaction,
    Statement,
)
from engine.sql.parser.utility.reader import StatementReader

_DISCARDED: Final[dict[str, Literal["all", "plans", "sequences", "temp"]]] = {
    "all": "all",
    "plans": "plans",
    "sequences": "sequences",
    "temp": "temp",
    "temporary": "temp",
}


def _prepare(reader: StatementReader) -> Statement:
    reader.next()
    if reader.word_at("transaction") and not reader.word_at("as", ahead=1) and not reader.symbol_at("(", ahead=1):
        reader.next()
        return PrepareTransaction(name=reader.expect_kind(Kind.STRING).text, text="")
    name = reader.name()
    types = reader.parenthesized_list(reader.type_name) if reader.symbol_at("(") else []
    reader.expect("as")
    inner: Statement
    if reader.mutation_at():
        inner = reader.mutation_statement()
    elif reader.query_at():
        inner = reader.query_statement()
    else:
        reader.fail()
    return PrepareStatement(name=name, types=tuple(types), inner=inner, text="")


def execute(reader: StatementReader) -> Statement:
    """Read EXECUTE name [(arguments)]."""
    start = reader.token.start
    reader.next()
    name = reader.name()
    arguments = reader.parenthesized_list(reader.expression) if reader.symbol_at("(") else []
    return ExecuteStatement(name=name, arguments=tuple(arguments), text=reader.text_since(start), offset=start)


def _deallocate(reader: StatementReader) -> Statement:
    reader.next()
    if reader.word_at("prepare") and (reader.column_id_at(1) or reader.word_at("all", ahead=1)):
        reader.next()
    if reader.take("all"):
        return Deallocate(name=None, text="")
    return Deallocate(name=reader.name(), text="")


def _discard(reader: StatementReader) -> Statement:
    reader.next()
    for word, target in _DISCARDED.items():
        if reader.take(word):
            return Discard(target=target, text="")
    reader.fail()


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {
    "prepare": _prepare,
    "execute": execute,
    "deallocate": _deallocate,
    "discard": _discard,
}

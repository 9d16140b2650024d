"""Options in parentheses, `(name [value], ...)`, as EXPLAIN, VACUUM and COPY take them (gram.y: utility_option_list,
copy_generic_opt_list)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from engine.sql.parser.lexical.lexer import Kind, Token
from engine.sql.parser.utility.reader import StatementReader
from wire.errors import SqlSyntaxError

T = TypeVar("T")
_TRUE: Final = ("", "true", "on", "1")
_FALSE: Final = ("false", "off", "0")


#: An option's value: None without one; a tuple for several words in parentheses, or for two numbers with OF between
#: them; `*`.
Written = str | tuple[str, ...] | None


def options(reader: StatementReader) -> Iterator[tuple[str, str, Token]]:
    """Yield each option up to the closing parenthesis: its name, its value (a word or a number, or an empty string),
    and the name's token.
    """
    for name, value, token in _each(reader, _word_or_number):
        yield "analyze" if name == "analyse" else name, "" if value is None else value.lower(), token


def generic_options(reader: StatementReader) -> Iterator[tuple[str, Written, Token]]:
    """Yield the same for options whose value may be a list, a star, or `number OF number` (COPY's PARTITION); words
    stay as they are written.
    """
    yield from _each(reader, _generic)


def _each(reader: StatementReader, value: Callable[[StatementReader], T]) -> Iterator[tuple[str, T, Token]]:
    reader.expect_symbol("(")
    while True:
        token = reader.token
        yield reader.column_label().name, value(reader), token
        if not reader.take_symbol(","):
            break
    reader.expect_symbol(")")


def boolean(name: str, value: str) -> bool:
    """Parse an option's Boolean value; no value is true (defGetBoolean)."""
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise SqlSyntaxError(f"{name} requires a Boolean value")


def _generic(reader: StatementReader) -> Written:
    if reader.take_symbol("*"):
        return "*"
    if reader.number_at():
        number = reader.number()
        return (number, reader.number()) if reader.take("of") else number
    if not reader.symbol_at("("):
        return _word_or_number(reader)
    return tuple(reader.parenthesized_list(lambda: _word(reader)))


def _word_or_number(reader: StatementReader) -> str | None:
    if reader.symbol_at(",", ")"):
        return None
    return reader.number() if reader.number_at() else _word(reader)


def _word(reader: StatementReader) -> str:
    if reader.token.kind not in (Kind.WORD, Kind.NAME, Kind.STRING):
        reader.fail()
    return reader.next().text

"""Options in parentheses, `(name [value], ...)`, as EXPLAIN and VACUUM take them (gram.y: utility_option_list)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.sql.lexer import Kind, Token
from engine.sql.utility.reader import StatementReader
from wire.errors import SqlSyntaxError

_TRUE: Final = ("", "true", "on", "1")
_FALSE: Final = ("false", "off", "0")


def options(reader: StatementReader) -> Iterator[tuple[str, str, Token]]:
    """(name, value or the empty string, where the name stands) of each, up to the closing parenthesis."""
    reader.expect_symbol("(")
    while True:
        token = reader.token
        name = reader.column_label().name
        yield "analyze" if name == "analyse" else name, _value(reader), token
        if not reader.take_symbol(","):
            break
    reader.expect_symbol(")")


def boolean(name: str, value: str) -> bool:
    """What an option's value says; none is true (defGetBoolean)."""
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise SqlSyntaxError(f"{name} requires a Boolean value")


def _value(reader: StatementReader) -> str:
    if reader.symbol_at(",", ")"):
        return ""
    if reader.number_at():
        return reader.number()
    if reader.token.kind in (Kind.WORD, Kind.NAME, Kind.STRING):
        return reader.next().text.lower()
    reader.fail()

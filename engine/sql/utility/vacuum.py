"""VACUUM, its options as words and in parentheses (gram.y: VacuumStmt; vacuum.c: ExecVacuum)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.sql.lexer import Kind, Token
from engine.sql.statements import QualifiedName, Statement, Vacuum
from engine.sql.utility.reader import StatementReader
from wire.errors import FeatureNotSupported, SqlSyntaxError

#: PostgreSQL's. What the others ask for, a stored table has not.
_OPTIONS: Final = frozenset(
    (
        "verbose", "full", "analyze", "freeze", "skip_locked", "disable_page_skipping", "index_cleanup", "process_toast",
        "truncate", "parallel",
    )
)  # fmt: skip
_OURS: Final = ("full", "verbose")
_TRUE: Final = ("", "true", "on", "1")
_FALSE: Final = ("false", "off", "0")
#: Options that take something else than a Boolean.
_OTHERS: Final = ("index_cleanup", "parallel")


def _vacuum(reader: StatementReader) -> Statement:
    reader.next()
    chosen: set[str] = set()
    if reader.symbol_at("("):
        _options(reader, chosen)
    else:
        for word in ("full", "freeze", "verbose", "analyze"):
            _word(reader, word, chosen)
    tables: list[QualifiedName] = []
    if not reader.at_end() and not reader.symbol_at(";"):
        tables.append(_table(reader))
        while reader.take_symbol(","):
            tables.append(_table(reader))
    return Vacuum(tables=tuple(tables), full="full" in chosen, verbose="verbose" in chosen, text="")


def _word(reader: StatementReader, word: str, chosen: set[str]) -> None:
    token = reader.token
    if reader.take(word) or (word == "analyze" and reader.take("analyse")):
        _choose(word, token, chosen)


def _choose(name: str, token: Token, chosen: set[str]) -> None:
    if name not in _OURS:
        raise FeatureNotSupported(f"not supported: VACUUM ({name.upper()})", position=token.start + 1)
    chosen.add(name)


def _options(reader: StatementReader, chosen: set[str]) -> None:
    """The list in parentheses; of one that is said twice the later counts."""
    reader.expect_symbol("(")
    while True:
        token = reader.token
        name = reader.column_label().name
        name = "analyze" if name == "analyse" else name
        value = _argument(reader)
        if name not in _OPTIONS:
            raise SqlSyntaxError(f'unrecognized VACUUM option "{name}"', position=token.start + 1)
        if name in _OTHERS or _boolean(name, value):
            _choose(name, token, chosen)
        else:
            chosen.discard(name)
        if not reader.take_symbol(","):
            break
    reader.expect_symbol(")")


def _argument(reader: StatementReader) -> str:
    if reader.symbol_at(",", ")"):
        return ""
    if reader.number_at():
        return reader.number()
    if reader.token.kind in (Kind.WORD, Kind.NAME, Kind.STRING):
        return reader.next().text.lower()
    reader.fail()


def _boolean(name: str, value: str) -> bool:
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise SqlSyntaxError(f"{name} requires a Boolean value")


def _table(reader: StatementReader) -> QualifiedName:
    name = reader.qualified_name()
    if reader.symbol_at("("):
        raise FeatureNotSupported("ANALYZE option must be specified when a column list is provided")
    return name


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {"vacuum": _vacuum}

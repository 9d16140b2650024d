"""VACUUM, its options as words and in parentheses (gram.y: VacuumStmt; vacuum.c: ExecVacuum)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.sql.lexer import Token
from engine.sql.statements import QualifiedName, Statement, Vacuum
from engine.sql.utility.options import boolean, options
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
    for name, value, token in options(reader):
        if name not in _OPTIONS:
            raise SqlSyntaxError(f'unrecognized VACUUM option "{name}"', position=token.start + 1)
        if name in _OTHERS or boolean(name, value):
            _choose(name, token, chosen)
        else:
            chosen.discard(name)


def _table(reader: StatementReader) -> QualifiedName:
    name = reader.qualified_name()
    if reader.symbol_at("("):
        raise FeatureNotSupported("ANALYZE option must be specified when a column list is provided")
    return name


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {"vacuum": _vacuum}

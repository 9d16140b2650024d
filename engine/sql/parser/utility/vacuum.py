"""VACUUM and ANALYZE, their options as words and in parentheses (gram.y: VacuumStmt, AnalyzeStmt; vacuum.c: ExecVacuum)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.sql.parser.lexical.lexer import Token
from engine.sql.parser.nodes.statements import Analyze, QualifiedName, Statement, Vacuum
from engine.sql.parser.utility.options import boolean, options
from engine.sql.parser.utility.reader import StatementReader
from wire.errors import FeatureNotSupported, SqlSyntaxError

#: PostgreSQL's options. Those that are not in `_OURS` have no meaning for a stored table.
_OPTIONS: Final = frozenset(
    (
        "verbose", "full", "analyze", "freeze", "skip_locked", "disable_page_skipping", "index_cleanup", "process_toast",
        "truncate", "parallel",
    )
)  # fmt: skip
_OURS: Final = ("full", "verbose", "analyze")
_ANALYZE_OPTIONS: Final = ("verbose", "skip_locked")
#: Options whose value is not a Boolean.
_OTHERS: Final = ("index_cleanup", "parallel")


def _vacuum(reader: StatementReader) -> Statement:
    reader.next()
    chosen: set[str] = set()
    if reader.symbol_at("("):
        _options(reader, chosen)
    else:
        for word in ("full", "freeze", "verbose", "analyze"):
            _word(reader, word, chosen)
    verbose = "verbose" in chosen
    relations = _relations(reader)
    if "analyze" not in chosen and any(columns for _, columns in relations):
        raise FeatureNotSupported("ANALYZE option must be specified when a column list is provided")
    analyze = Analyze(tables=relations, verbose=verbose, text="") if "analyze" in chosen else None
    tables = tuple(name for name, _ in relations)
    return Vacuum(tables=tables, full="full" in chosen, verbose=verbose, analyze=analyze, text="")


def _analyze(reader: StatementReader) -> Statement:
    reader.next()
    verbose = False
    if reader.symbol_at("("):
        for name, value, token in options(reader):
            if name not in _ANALYZE_OPTIONS:
                raise SqlSyntaxError(f'unrecognized ANALYZE option "{name}"', position=token.start + 1)
            # Nothing is locked, so SKIP_LOCKED skips nothing.
            chosen = boolean(name, value)
            verbose = chosen if name == "verbose" else verbose
    else:
        verbose = reader.take("verbose")
    return Analyze(tables=_relations(reader), verbose=verbose, text="")


def _relations(reader: StatementReader) -> tuple[tuple[QualifiedName, tuple[str, ...]], ...]:
    """Read tables with their column lists (gram.y: opt_vacuum_relation_list)."""
    if reader.at_end() or reader.symbol_at(";"):
        return ()
    return tuple(reader.comma_list(lambda: _relation(reader)))


def _relation(reader: StatementReader) -> tuple[QualifiedName, tuple[str, ...]]:
    name = reader.qualified_name()
    return name, tuple(reader.parenthesized_list(reader.name)) if reader.symbol_at("(") else ()


def _word(reader: StatementReader, word: str, chosen: set[str]) -> None:
    token = reader.token
    if reader.take(word) or (word == "analyze" and reader.take("analyse")):
        _choose(word, token, chosen)


def _choose(name: str, token: Token, chosen: set[str]) -> None:
    if name not in _OURS:
        raise FeatureNotSupported(f"not supported: VACUUM ({name.upper()})", position=token.start + 1)
    chosen.add(name)


def _options(reader: StatementReader, chosen: set[str]) -> None:
    """Read the list in parentheses. A later mention of an option overrides an earlier one."""
    for name, value, token in options(reader):
        if name not in _OPTIONS:
            raise SqlSyntaxError(f'unrecognized VACUUM option "{name}"', position=token.start + 1)
        if name in _OTHERS or boolean(name, value):
            _choose(name, token, chosen)
        else:
            chosen.discard(name)


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {
    "vacuum": _vacuum,
    **dict.fromkeys(("analyze", "analyse"), _analyze),
}

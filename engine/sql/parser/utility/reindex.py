"""REINDEX, its options in parentheses and CONCURRENTLY as a word (gram.y: ReindexStmt; indexcmds.c: ExecReindex)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, get_args

from engine.sql.parser.nodes.statements import Reindex, ReindexKind, Statement
from engine.sql.parser.utility.options import boolean, options
from engine.sql.parser.utility.reader import StatementReader
from wire.errors import FeatureNotSupported, SqlSyntaxError

_OPTIONS: Final = ("verbose", "concurrently", "tablespace")


def _reindex(reader: StatementReader) -> Statement:
    reader.next()
    chosen: set[str] = set()
    if reader.symbol_at("("):
        for name, value, token in options(reader):
            if name not in _OPTIONS:
                raise SqlSyntaxError(f'unrecognized REINDEX option "{name}"', position=token.start + 1)
            if name == "tablespace":
                raise FeatureNotSupported("not supported: REINDEX (TABLESPACE)", position=token.start + 1)
            # A later mention of an option overrides an earlier one.
            if boolean(name, value):
                chosen.add(name)
            else:
                chosen.discard(name)
    kind = next((kind for kind in get_args(ReindexKind) if reader.take(kind)), None)
    if kind is None:
        reader.fail()
    concurrently = reader.take("concurrently") or "concurrently" in chosen
    return Reindex(kind=kind, name=reader.qualified_name(), concurrently=concurrently, text="")


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {"reindex": _reindex}

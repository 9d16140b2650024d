"""EXPLAIN and its options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from engine.sql.parser.lexical.lexer import Token
from engine.sql.parser.nodes.statements import Explain, Statement
from engine.sql.parser.utility import cursors
from engine.sql.parser.utility.options import boolean, options
from engine.sql.parser.utility.prepared import execute
from engine.sql.parser.utility.reader import StatementReader
from engine.sql.parser.utility.unsupported import refuse
from wire.errors import InvalidParameterValue, SqlSyntaxError

_BOOLEANS: Final = frozenset(
    ("analyze", "verbose", "costs", "settings", "buffers", "wal", "timing", "summary", "distsql")
)
#: Options that have a meaning only for a statement that has run.
_RUNNING: Final = ("wal", "timing")
Format = Literal["text", "json", "xml", "yaml"]


def _explain(reader: StatementReader) -> Statement:
    reader.next()
    chosen: dict[str, bool] = {}
    form: Format = "text"
    if reader.symbol_at("(") and not reader.query_at():
        form = _options(reader, chosen)
    else:
        if reader.word_at("analyze", "analyse"):
            reader.next()
            chosen["analyze"] = True
        chosen["verbose"] = reader.take("verbose")
    for name in _RUNNING:
        if chosen.get(name) and not chosen.get("analyze"):
            raise InvalidParameterValue(f"EXPLAIN option {name.upper()} requires ANALYZE")
    return Explain(
        inner=_inner(reader),
        analyze=chosen.get("analyze", False),
        verbose=chosen.get("verbose", False),
        costs=chosen.get("costs", True),
        distsql=chosen.get("distsql", False),
        timing=chosen.get("timing", True),
        summary=chosen.get("summary"),
        format=form,
        text="",
    )


def _options(reader: StatementReader, chosen: dict[str, bool]) -> Format:
    """Read the list in parentheses and return the format. A later mention of an option overrides an earlier one."""
    form: Format = "text"
    for name, value, token in options(reader):
        if name == "format":
            form = _format(value, token)
        elif name in _BOOLEANS:
            chosen[name] = boolean(name, value)
        else:
            raise SqlSyntaxError(f'unrecognized EXPLAIN option "{name}"', position=token.start + 1)
    return form


def _format(value: str, token: Token) -> Format:
    match value:
        case "text" | "json" | "xml" | "yaml":
            return value
        case _:
            message = f'unrecognized value for EXPLAIN option "format": "{value}"'
            raise InvalidParameterValue(message, position=token.start + 1)


def _inner(reader: StatementReader) -> Statement:
    if reader.query_at():
        return reader.query_statement()
    if reader.word_at("declare"):
        return cursors.READERS["declare"](reader)
    if reader.word_at("execute"):
        return execute(reader)
    if reader.word_at("insert", "update", "delete", "merge"):
        return reader.mutation_statement()
    if not reader.word_at("create", "refresh"):
        reader.fail()
    refuse(reader)


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {"explain": _explain}

"""EXPLAIN with its options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.sql.lexer import Kind, Token
from engine.sql.statements import Explain, Statement
from engine.sql.utility import cursors
from engine.sql.utility.prepared import execute
from engine.sql.utility.reader import StatementReader
from engine.sql.utility.unsupported import refuse
from wire.errors import InvalidParameterValue, SqlSyntaxError

_BOOLEANS: Final = frozenset(
    ("analyze", "verbose", "costs", "settings", "buffers", "wal", "timing", "summary", "distsql")
)
#: Options that say something only of a statement that has run.
_RUNNING: Final = ("wal", "timing")
_TRUE: Final = frozenset(("true", "on", "1", ""))
_FALSE: Final = frozenset(("false", "off", "0"))
_FORMATS: Final = frozenset(("text", "json", "xml", "yaml"))


def _explain(reader: StatementReader) -> Statement:
    reader.next()
    options: dict[str, bool] = {}
    chosen = "text"
    if reader.symbol_at("(") and not reader.query_at():
        chosen = _options(reader, options)
    else:
        if reader.word_at("analyze", "analyse"):
            reader.next()
            options["analyze"] = True
        options["verbose"] = reader.take("verbose")
    for name in _RUNNING:
        if options.get(name) and not options.get("analyze"):
            raise InvalidParameterValue(f"EXPLAIN option {name.upper()} requires ANALYZE")
    return Explain(
        inner=_inner(reader),
        analyze=options.get("analyze", False),
        verbose=options.get("verbose", False),
        costs=options.get("costs", True),
        distsql=options.get("distsql", False),
        format="json" if chosen == "json" else "text",
        text="",
    )


def _options(reader: StatementReader, options: dict[str, bool]) -> str:
    """The list in parentheses; a later word of the same option wins. The format is returned."""
    chosen = "text"
    reader.expect_symbol("(")
    while True:
        token = reader.token
        name = reader.column_label().name
        name = "analyze" if name == "analyse" else name
        value = _argument(reader)
        if name == "format":
            chosen = _format(value, token)
        elif name in _BOOLEANS:
            options[name] = _boolean(name, value)
        else:
            raise SqlSyntaxError(f'unrecognized EXPLAIN option "{name}"', position=token.start + 1)
        if not reader.take_symbol(","):
            break
    reader.expect_symbol(")")
    return chosen


def _argument(reader: StatementReader) -> str:
    if reader.symbol_at(",", ")"):
        return ""
    if reader.number_at():
        return reader.number()
    if reader.token.kind in (Kind.WORD, Kind.NAME, Kind.STRING):
        return reader.next().text.lower()
    reader.fail()


def _format(value: str, token: Token) -> str:
    if value not in _FORMATS:
        raise InvalidParameterValue(
            f'unrecognized value for EXPLAIN option "format": "{value}"', position=token.start + 1
        )
    return value


def _boolean(name: str, value: str) -> bool:
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise SqlSyntaxError(f"{name} requires a Boolean value")


def _inner(reader: StatementReader) -> Statement:
    if reader.query_at():
        return reader.query_statement()
    if reader.word_at("declare"):
        return cursors.READERS["declare"](reader)
    if reader.word_at("execute"):
        return execute(reader)
    if not reader.word_at("insert", "update", "delete", "merge", "create", "refresh"):
        reader.fail()
    refuse(reader)


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {"explain": _explain}

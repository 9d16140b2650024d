"""CREATE SEQUENCE and the options of sequences (gram.y: SeqOptList, OptParenthesizedSeqOptList)."""

from __future__ import annotations

from typing import Any, Final

from engine.sql.parser.lexical.lexer import Kind, Token
from engine.sql.parser.nodes.statements import CreateSequence, QualifiedName, SequenceOptions
from engine.sql.parser.utility.reader import StatementReader
from wire.errors import SqlSyntaxError
from wire.types import pg_types as t
from wire.types.numbers_input import read_integer

_ENDS: Final = (";", ",", ")")


def create_sequence(reader: StatementReader, temporary: bool) -> CreateSequence:
    """Read CREATE [TEMPORARY] SEQUENCE, after these words."""
    missing = reader.take("if", "not", "exists")
    name = reader.qualified_name()
    return CreateSequence(
        name=name, options=sequence_options(reader), temporary=temporary, if_not_exists=missing, text=""
    )


def options_in_parentheses(reader: StatementReader) -> SequenceOptions:
    """Read the options in parentheses after AS IDENTITY, if there are any."""
    if not reader.take_symbol("("):
        return SequenceOptions()
    if reader.symbol_at(")"):
        reader.fail()
    found = sequence_options(reader)
    reader.expect_symbol(")")
    return found


def sequence_options(reader: StatementReader) -> SequenceOptions:
    """Read as many options as there are."""
    said: dict[str, Any] = {}
    while reader.token.kind is Kind.WORD:
        token = reader.token
        found = _option(reader)
        if found is None:
            break
        key, value = found
        if key in said:
            raise SqlSyntaxError("conflicting or redundant options", position=token.start + 1)
        said[key] = value
    return SequenceOptions(**said)


def _option(reader: StatementReader) -> tuple[str, Any] | None:
    token = reader.token
    if reader.take("as"):
        return "type", reader.simple_type()
    if reader.take("no"):
        return _without(reader)
    if reader.take("increment"):
        reader.take("by")
        return "increment", _number(reader)
    if reader.take("start"):
        reader.take("with")
        return "start", _number(reader)
    if reader.take("restart"):
        said = reader.take("with") or reader.number_at()
        return "restart", _number(reader) if said else "start"
    for word, key in (("minvalue", "minimum"), ("maxvalue", "maximum"), ("cache", "cache")):
        if reader.take(word):
            return key, _number(reader)
    if reader.take("cycle"):
        return "cycle", True
    if reader.take("owned", "by"):
        return "owned_by", _owner(reader, token)
    if reader.take("sequence", "name"):
        return "name", reader.qualified_name()
    return None


def _without(reader: StatementReader) -> tuple[str, Any]:
    if reader.take("minvalue"):
        return "minimum", "no"
    if reader.take("maxvalue"):
        return "maximum", "no"
    reader.expect("cycle")
    return "cycle", False


def _number(reader: StatementReader) -> int:
    """Read a NumericOnly that is a whole number of 64 bits (defGetInt64)."""
    return read_integer(t.INT8, reader.number())


def _owner(reader: StatementReader, token: Token) -> tuple[QualifiedName, str] | tuple[()]:
    *table, part = reader.any_name()
    if not table:
        if part == "none":
            return ()
        raise SqlSyntaxError(
            "invalid OWNED BY option",
            hint="Specify OWNED BY table.column or OWNED BY NONE.",
        )
    return reader.relation(table, token), part

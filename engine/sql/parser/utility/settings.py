"""SET, SHOW and RESET in all their spellings, read as names and values of settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.common.keywords import COLUMN_NAME, RESERVED, TYPE_FUNCTION_NAME
from engine.sql.parser.lexical.lexer import Kind, fold
from engine.sql.parser.nodes.statements import ResetVariable, SetVariable, ShowVariable, Statement
from engine.sql.parser.utility.deferrable import set_constraints
from engine.sql.parser.utility.reader import StatementReader
from engine.sql.parser.utility.transactions import modes
from wire.errors import FeatureNotSupported

#: Settings whose value is a list of names, which are quoted if necessary (GUC_LIST_QUOTE).
_NAME_LISTS: Final = frozenset(("search_path", "temp_tablespaces", "local_preload_libraries"))
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


def _variable(reader: StatementReader) -> str:
    """Read a var_name; the case of settings' names does not matter."""
    name = reader.name()
    while reader.take_symbol("."):
        name += "." + reader.name()
    return fold(name)


def _set(reader: StatementReader) -> Statement:
    reader.next()
    local = reader.take("local")
    if not local and reader.word_at("constraints") and not _is_set(reader):
        return set_constraints(reader)
    session = not local and reader.word_at("session") and not _is_set(reader)
    if local and reader.take("session", "authorization"):
        return SetVariable(name="session_authorization", value=_word_or_default(reader), local=True, text="")
    if session:
        reader.next()
        if reader.take("characteristics", "as", "transaction"):
            return _transaction(reader, "default_", local=False)
        if reader.take("authorization"):
            return SetVariable(name="session_authorization", value=_word_or_default(reader), text="")
    if reader.take("transaction"):
        return _transaction(reader, "", local=True)
    return _one(reader, local)


def _is_set(reader: StatementReader) -> bool:
    """Return whether the word is the name of a setting, as in `SET session = ...` and `SET session TO`."""
    return reader.symbol_at("=", ".", ahead=1) or reader.word_at("to", ahead=1)


def _transaction(reader: StatementReader, prefix: str, *, local: bool) -> Statement:
    if reader.word_at("snapshot"):
        reader.raise_unsupported("SET TRANSACTION SNAPSHOT")
    chosen = modes(reader)
    if not chosen:
        reader.fail()
    (name, value), *rest = chosen
    also = tuple((prefix + other, text) for other, text in rest)
    return SetVariable(name=prefix + name, value=value, local=local, also=also, text="")


def _one(reader: StatementReader, local: bool) -> Statement:
    if reader.take("time", "zone"):
        return SetVariable(name="timezone", value=_zone(reader), local=local, text="")
    if reader.word_at("catalog") and reader.peek().kind is Kind.STRING:
        raise FeatureNotSupported("current database cannot be changed", position=reader.peek().start + 1)
    if reader.word_at("schema") and reader.peek().kind is Kind.STRING:
        reader.next()
        return SetVariable(name="search_path", value=_quote(reader.next().text), local=local, text="")
    if reader.word_at("names") and not reader.symbol_at("=", ahead=1) and not reader.word_at("to", ahead=1):
        reader.next()
        return SetVariable(name="client_encoding", value=_encoding(reader), local=local, text="")
    if reader.word_at("role") and not reader.symbol_at("=", ahead=1) and not reader.word_at("to", ahead=1):
        reader.next()
        return SetVariable(name="role", value=_word_or_default(reader), local=local, text="")
    name = _variable(reader)
    if not reader.take("to") and not reader.take_symbol("="):
        reader.fail()
    return SetVariable(name=name, value=_values(reader, name), local=local, text="")


def _values(reader: StatementReader, name: str) -> str | None:
    """Read the value as one text, None for DEFAULT (flatten_set_variable_args)."""
    if reader.take("default"):
        return None
    return ", ".join(reader.comma_list(lambda: _value(reader, name)))


def _value(reader: StatementReader, name: str) -> str:
    if reader.number_at():
        return reader.number()
    text = _word(reader)
    return _quote(text) if name in _NAME_LISTS else text


def _word(reader: StatementReader) -> str:
    """Read an opt_boolean_or_string: a string, a word that is not reserved, TRUE, FALSE or ON."""
    token = reader.token
    if token.kind in (Kind.STRING, Kind.NAME):
        return reader.next().text
    if token.kind is not Kind.WORD or (token.text in RESERVED and token.text not in ("true", "false", "on")):
        reader.fail()
    return reader.next().text


def _word_or_default(reader: StatementReader) -> str | None:
    return None if reader.take("default") else _word(reader)


def _encoding(reader: StatementReader) -> str | None:
    if reader.token.kind is Kind.STRING:
        return reader.next().text
    reader.take("default")
    return None


def _zone(reader: StatementReader) -> str | None:
    """Read a zone_value; an interval becomes the text that the setting accepts for it."""
    if reader.take("default") or reader.take("local"):
        return None
    if reader.number_at():
        return reader.number()
    if reader.word_at("interval"):
        token = reader.next()
        text = reader.expect_kind(Kind.STRING).text
        reader.interval_fields(reader.data_type(token, "interval"))
        return "INTERVAL '{}'".format(text.replace("'", "''"))
    return _word(reader)


def _quote(name: str) -> str:
    """Quote a name if necessary (quote_identifier)."""
    keyword = name in RESERVED or name in COLUMN_NAME or name in TYPE_FUNCTION_NAME
    if name and set(name) <= _PLAIN and not name[0].isdigit() and not keyword:
        return name
    return '"{}"'.format(name.replace('"', '""'))


def _setting_name(reader: StatementReader) -> str:
    """Read the name of the setting after SHOW or RESET."""
    for words, name in (
        (("time", "zone"), "timezone"),
        (("transaction", "isolation", "level"), "transaction_isolation"),
        (("session", "authorization"), "session_authorization"),
        (("all",), "all"),
    ):
        if reader.take(*words):
            return name
    return _variable(reader)


def _show(reader: StatementReader) -> Statement:
    reader.next()
    return ShowVariable(name=_setting_name(reader), text="")


def _reset(reader: StatementReader) -> Statement:
    reader.next()
    return ResetVariable(name=_setting_name(reader), text="")


READERS: Final[dict[str, Callable[[StatementReader], Statement]]] = {"set": _set, "show": _show, "reset": _reset}

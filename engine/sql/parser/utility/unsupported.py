"""Statements that PostgreSQL's grammar has and Sluice lacks: refused by name, before any other error."""

from __future__ import annotations

from typing import Final, NoReturn

from engine.sql.parser.lexical.lexer import Kind
from engine.sql.parser.utility.reader import StatementReader

_STATEMENTS: Final = frozenset(
    (
        "alter", "call", "cluster", "comment", "create", "delete", "do", "drop",
        "grant", "import", "insert", "load", "merge", "reassign", "refresh", "reindex", "revoke",
        "security", "truncate", "update",
    )
)  # fmt: skip
#: Statements that contain code in a procedural language, and the hint for clients.
_CODE: Final = frozenset(
    ("DO", "CALL", *(f"CREATE {kind}" for kind in ("FUNCTION", "PROCEDURE", "TRIGGER", "EVENT TRIGGER", "LANGUAGE")))
)
_PROCEDURAL: Final = "There is no procedural language here: the client has to send the statements by itself."
#: Words between CREATE or ALTER and the kind of object.
_PASSED: Final = frozenset(
    ("or", "replace", "temp", "temporary", "global", "local", "unlogged", "trusted", "procedural", "default")
)
#: The first words of kinds of objects that have two words.
_TWO_WORDS: Final = frozenset(
    ("access", "event", "foreign", "large", "materialized", "operator", "owned", "text", "unique", "user")
)
_OBJECTS: Final = _TWO_WORDS | frozenset(
    (
        "aggregate", "assertion", "cast", "collation", "constraint", "conversion", "database", "default", "domain",
        "extension", "function", "group", "index", "language", "policy", "procedure", "publication", "recursive", "role",
        "routine", "rule", "schema", "sequence", "server", "statistics", "subscription", "system", "table", "tablespace",
        "transform", "trigger", "type", "view",
    )
)  # fmt: skip


def refuse(reader: StatementReader) -> NoReturn:
    """Raise FeatureNotSupported for a statement that PostgreSQL has, otherwise PostgreSQL's syntax error."""
    token = reader.token
    if token.kind is not Kind.WORD or token.text not in _STATEMENTS:
        reader.fail()
    what = _statement_name(reader)
    reader.raise_unsupported(what, token, _PROCEDURAL if what in _CODE else None)


def _statement_name(reader: StatementReader) -> str:
    verb = reader.token.text.upper()
    if verb not in ("CREATE", "ALTER", "DROP"):
        return verb
    ahead = 1
    while reader.peek(ahead).text in _PASSED:
        ahead += 1
    first = reader.peek(ahead)
    if first.kind is not Kind.WORD or first.text not in _OBJECTS:
        reader.fail(first)
    words = [verb, first.text]
    if first.text in _TWO_WORDS and reader.peek(ahead + 1).kind is Kind.WORD:
        words.append(reader.peek(ahead + 1).text)
    return " ".join(words).upper()

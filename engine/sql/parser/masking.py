"""Statements with their passwords removed, so that they can be shown.

A string that directly follows the word PASSWORD is taken for one, wherever it stands. A text that cannot be tokenized
is cut off at that word; so is a text that takes long to tokenize, because the caller may be the event loop. A text that
only uses the word otherwise, such as the name of a column, may lose a part when it is shown, which does no harm.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from engine.sql.parser.lexical.lexer import Kind, tokenize
from wire.errors import SqlError, SqlSyntaxError

_PASSWORD: Final = re.compile("password", re.IGNORECASE)
_MASK: Final = "'***'"
#: The length of a text that is tokenized within some hundredths of a second.
_READ: Final = 1 << 14
#: The bytes of a running statement that are shown: track_activity_query_size minus C's terminating byte.
ACTIVITY_BYTES: Final = 1023


def names_password(sql: str) -> bool:
    """Return whether a text may contain a password."""
    return _PASSWORD.search(sql) is not None


def mask_passwords(sql: str) -> str:
    """Return a text without its passwords."""
    found = _PASSWORD.search(sql)
    if found is None:
        return sql
    if len(sql) > _READ:
        return cut(sql)
    try:
        tokens = tokenize(sql)
    except SqlError:
        return cut(sql)
    parts, at = [], 0
    for word, value in pairwise(tokens):
        if word.kind is Kind.WORD and word.text == "password" and value.kind is Kind.STRING:
            parts += [sql[at : value.start], _MASK]
            at = value.end
    return "".join((*parts, sql[at:]))


def cut(sql: str) -> str:
    """Return the beginning of a text that is no statement, up to what may be a password."""
    found = _PASSWORD.search(sql)
    return sql if found is None else f"{sql[: found.end()]} {_MASK}"


def may_quote_password(sqlstate: str | None, sql: str) -> bool:
    """Return whether an error's message may quote a password of the statement: a syntax error quotes a word of it."""
    return sqlstate == SqlSyntaxError.default_sqlstate and names_password(sql)


def activity_text(sql: str) -> str:
    """Return the beginning of a text, as long as pg_stat_activity shows it, without its passwords."""
    return mask_passwords(sql[:ACTIVITY_BYTES].encode()[:ACTIVITY_BYTES].decode(errors="ignore"))

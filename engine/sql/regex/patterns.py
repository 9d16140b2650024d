"""LIKE's ESCAPE and SIMILAR TO: patterns rewritten to the two forms that the operators `~~` and `~` take.

PostgreSQL does this at run time with the functions like_escape and similar_to_escape; a constant pattern, which nearly
every pattern is, is rewritten here once.

Source: PostgreSQL 15, like_match.c (do_like_escape), regexp.c (similar_escape_internal).
"""

from __future__ import annotations

from wire.errors import SqlError

_SPECIAL = frozenset("\\.^$")


def _check_escape(escape: str) -> str:
    if len(escape) > 1:
        raise SqlError("invalid escape string", hint="Escape string must be empty or one character.", sqlstate="22025")
    return escape


def like_escape(pattern: str, escape: str) -> str:
    """Return the LIKE pattern with backslash as its escape character. Raises 22025 for an escape of several
    characters.
    """
    escape = _check_escape(escape)
    if escape == "\\":
        return pattern
    out: list[str] = []
    escaped = False
    for char in pattern:
        if char == escape and not escaped:
            out.append("\\")
            escaped = True
            continue
        out.append("\\\\" if char == "\\" and not escaped else char)
        escaped = False
    return "".join(out)


def similar_to_escape(pattern: str, escape: str = "\\") -> str:
    """Return the SQL regular expression as a POSIX one, anchored. Raises 22025, or 2200C for a third separator."""
    escape = _check_escape(escape)
    out, quotes, escaped, bracket = ["^(?:"], 0, False, False
    for char in pattern:
        if escaped:
            if char == '"' and not bracket:
                out.append(_separator(quotes))
                quotes += 1
            else:
                out.append("\\" + char)
            escaped = False
        elif escape and char == escape:
            escaped = True
        elif bracket:
            out.append("\\\\" if char == "\\" else char)
            bracket = char != "]"
        else:
            out.append(_plain(char))
            bracket = char == "["
    return "".join([*out, ")$"])


def _separator(quotes: int) -> str:
    if quotes > 1:
        raise SqlError(
            "SQL regular expression may not contain more than two escape-double-quote separators", sqlstate="2200C"
        )
    return "){1,1}?(" if quotes == 0 else "){1,1}(?:"


def _plain(char: str) -> str:
    if char in _SPECIAL:
        return "\\" + char
    return {"%": ".*", "_": ".", "(": "(?:"}.get(char, char)

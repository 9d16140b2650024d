r"""Query strings that are written with standard_conforming_strings off: in their plain strings, too, a backslash begins
an escape (scan.l, state xe).

Such a text is rewritten before it is parsed, `'a\'b'` into `E'a\'b'`. So statements, and whatever is stored of them
(defaults, checks, views), mean the same under any setting.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.sql.parser.lexical.lexer import Kind, tokenize
from wire.errors import FeatureNotSupported


def with_escape_strings(sql: str) -> str:
    """Return the text with E before each plain string that has a backslash. Positions behind it move by two.

    Raises SqlSyntaxError; FeatureNotSupported for U&'' strings, as PostgreSQL does, and for N'' strings with backslashes.
    """
    if "\\" not in sql and "&'" not in sql:
        return sql
    return "".join(_parts(sql))


def _parts(sql: str) -> Iterator[str]:
    at = 0
    for token in tokenize(sql, escapes=True):
        written = sql[token.start : token.end]
        if token.kind is Kind.STRING and written[:1] in "uU":
            raise FeatureNotSupported(
                "unsafe use of string constant with Unicode escapes",
                detail="String constants with Unicode escapes cannot be used when standard_conforming_strings is off.",
                position=token.start + 1,
            )
        if "\\" not in written:
            continue
        if token.kind is Kind.NATIONAL:
            raise FeatureNotSupported("N'' strings with backslashes while standard_conforming_strings is off")
        if token.kind is Kind.STRING and written[0] == "'":
            # The space separates it from a word that ends right before it.
            yield f"{sql[at : token.start]} E"
            at = token.start
    yield sql[at:]

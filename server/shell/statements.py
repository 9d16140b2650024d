"""Splits input into complete statements, which end with a semicolon, and an incomplete rest.

The server's own lexer reads the input, so a semicolon in a string, a comment, a quoted name or between dollars ends
nothing.
"""

from __future__ import annotations

from engine.sql.parser.lexical.lexer import Kind, tokenize
from wire.dataclass import dataclass
from wire.errors import SqlSyntaxError


@dataclass(frozen=True, slots=True)
class Split:
    """statements: the complete ones, without their semicolons. rest: the text after them; blank if there is none."""

    statements: tuple[str, ...]
    rest: str


def split(text: str) -> Split:
    """Split a text. A text that the lexer refuses, such as one that ends within a string, is returned as the rest."""
    try:
        tokens = tokenize(text)
    except SqlSyntaxError:
        return Split((), text)
    statements, begun, depth = [], 0, 0
    last = 0
    for token in tokens:
        if token.kind is Kind.OPERATOR and token.text in ("(", ")"):
            depth += 1 if token.text == "(" else -1
        if token.kind is Kind.OPERATOR and token.text == ";" and depth <= 0:
            if last > begun:
                statements.append(text[begun : token.start].strip())
            begun = last = token.end
            depth = 0
        elif token.kind is not Kind.END:
            last = token.end
    return Split(tuple(statements), text[begun:] if last > begun else "")


def is_complete(text: str) -> bool:
    """Return whether Enter runs a text: a command of the shell, or complete statements only."""
    stripped = text.strip()
    return not stripped or stripped.startswith("\\") or not split(text).rest.strip()

"""Replacement strings of regexp_replace: literal texts and references to groups (varlena.c,
appendStringInfoRegexpSubstr).
"""

from __future__ import annotations

Replacement = list[str | int]


def replacement_parts(replacement: str) -> Replacement:
    """Parse a replacement into literal texts and group numbers (0: the whole match)."""
    parts: Replacement = []
    literal = ""
    at = 0
    while at < len(replacement):
        char, following = replacement[at], replacement[at + 1 : at + 2]
        if char == "\\" and following and (following in "123456789&"):
            parts += [literal, 0 if following == "&" else int(following)]
            literal, at = "", at + 2
        elif char == "\\" and following == "\\":
            literal, at = literal + "\\", at + 2
        else:
            literal, at = literal + char, at + 1
    parts.append(literal)
    return [part for part in parts if part != ""]

"""Replacement strings of regexp_replace: literal texts and references to groups (varlena.c,
appendStringInfoRegexpSubstr).
"""

from __future__ import annotations

import re
from typing import Final

Replacement = list[str | int]
_ESCAPE: Final = re.compile(r"\\([1-9&\\])")


def replacement_parts(replacement: str) -> Replacement:
    """Parse a replacement into literal texts and group numbers (0: the whole match)."""
    parts: Replacement = []
    literal: list[str] = []
    at = 0
    for found in _ESCAPE.finditer(replacement):
        literal.append(replacement[at : found.start()])
        at = found.end()
        if found[1] == "\\":
            literal.append(found[1])
        else:
            parts += ["".join(literal), 0 if found[1] == "&" else int(found[1])]
            literal = []
    parts.append("".join((*literal, replacement[at:])))
    return [part for part in parts if part != ""]

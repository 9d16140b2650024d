"""Identifiers as SQL writes them."""

from __future__ import annotations

import re
from typing import Final

from engine.common.keywords import COLUMN_NAME, RESERVED, TYPE_FUNCTION_NAME

_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_QUOTED: Final = RESERVED | COLUMN_NAME | TYPE_FUNCTION_NAME


def quote_ident(name: str) -> str:
    """Return a name as SQL must write it (quote_ident): without quotes only if it is plain and no keyword with another
    meaning.
    """
    if _PLAIN.fullmatch(name) and name not in _QUOTED:
        return name
    return '"' + name.replace('"', '""') + '"'

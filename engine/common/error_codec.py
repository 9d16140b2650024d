"""Encoding of an SqlError as text, because engines report their failures as text. It carries the whole error out of a
Spark task (`TaskError`), or the SQLSTATE and message alone out of an expression that raises it
(`engine.sql.functions.trees.raises`).
"""

from __future__ import annotations

import base64
import re
from typing import Final

import msgspec

from wire.errors import About, SqlError

#: Not after a quote, where it would be part of a statement, which engines show.
_TOLD: Final = re.compile(r"(?<!['\"])\bSLUICE:([A-Za-z0-9+/=]+):")
#: SQLSTATE, message, DETAIL, HINT, and the object that the error is about.
_FIELDS: Final = msgspec.json.Decoder(tuple[str, str, str | None, str | None, About | None])


class TaskError(Exception):
    """An SqlError, encoded so that it can be found in the text that Spark reports for a failed task."""

    def __init__(self, error: SqlError) -> None:
        super().__init__(as_text(error))


def as_text(error: SqlError) -> str:
    told = msgspec.json.encode((error.sqlstate, error.message, error.detail, error.hint, error.about))
    return f"SLUICE:{base64.b64encode(told).decode()}: {error.message}"


def error_from_text(text: str) -> SqlError | None:
    """Decode the error in a text; None if the text has none."""
    found = _TOLD.search(text)
    if found is None:
        return None
    sqlstate, message, detail, hint, about = _FIELDS.decode(base64.b64decode(found[1]))
    return SqlError(message, detail=detail, hint=hint, sqlstate=sqlstate, about=about)

"""How an SqlError gets out of a Spark task whole: as text, since that is how Spark tells why a task failed."""

from __future__ import annotations

import base64
import re
from typing import Final

import msgspec

from wire.errors import About, SqlError

_TOLD: Final = re.compile(r"\bSLUICE:([A-Za-z0-9+/=]+):")
#: SQLSTATE, message, DETAIL, HINT, and what it is about.
_FIELDS: Final = msgspec.json.Decoder(tuple[str, str, str | None, str | None, About | None])


class TaskError(Exception):
    """An SqlError, said so that it can be found in whatever Spark says of a failed task."""

    def __init__(self, error: SqlError) -> None:
        told = msgspec.json.encode((error.sqlstate, error.message, error.detail, error.hint, error.about))
        super().__init__(f"SLUICE:{base64.b64encode(told).decode()}: {error.message}")


def told_error(text: str) -> SqlError | None:
    """The error that a task told, or None if the text has none."""
    found = _TOLD.search(text)
    if found is None:
        return None
    sqlstate, message, detail, hint, about = _FIELDS.decode(base64.b64decode(found[1]))
    return SqlError(message, detail=detail, hint=hint, sqlstate=sqlstate, about=about)

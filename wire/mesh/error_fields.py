"""An error's fields beyond its texts, as they travel between members: where in the statement, in what context, and which objects
it is about. A client gets them from whichever member found the error.

They are one field of the messages that carry errors, the last, and may be absent: a member of an older version sends none, and
ignores those that it is sent.
"""

from __future__ import annotations

from typing import Final

import msgspec

from wire.errors import About, SqlError

#: Of a context, whose length nobody bounds; names have 63 bytes.
_CONTEXT_MAX: Final = 4096


class ErrorFields(msgspec.Struct, frozen=True, array_like=True):
    """The fields of `wire.errors.SqlError` of the same names."""

    position: int | None = None
    context: str | None = None
    about: About | None = None


def fields_of(error: SqlError) -> ErrorFields | None:
    """None: it has none."""
    if error.position is None and error.context is None and error.about is None:
        return None
    context = None if error.context is None else error.context[:_CONTEXT_MAX]
    return ErrorFields(error.position, context, error.about)


def error_from_fields(sqlstate: str, message: str, detail: str, hint: str, fields: ErrorFields | None) -> SqlError:
    """The error that a message tells of; empty texts are none."""
    more = fields or ErrorFields()
    error = SqlError(
        message,
        detail=detail or None,
        hint=hint or None,
        position=more.position,
        sqlstate=sqlstate,
        about=more.about,
    )
    error.context = more.context
    return error

"""The fields of an error beyond its texts, as members send them to each other: the position in the statement, the
context, and the objects that the error is about. With them a client sees the same error whichever member found it.

These fields are one field of each message that carries an error. It is the message's last field and may be absent: a
member of an older version does not send it, and ignores it when it receives it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from wire.errors import About, SqlError

#: The maximum length of a context, which is otherwise unbounded; names have at most 63 bytes.
_CONTEXT_MAX: Final = 4096


class ErrorFields(msgspec.Struct, frozen=True, array_like=True):
    """The fields of `wire.errors.SqlError` with the same names."""

    position: int | None = None
    context: str | None = None
    about: About | None = None


def fields_of(error: SqlError) -> ErrorFields | None:
    """Return the fields of an error; None if it has none."""
    if error.position is None and error.context is None and error.about is None:
        return None
    context = None if error.context is None else error.context[:_CONTEXT_MAX]
    return ErrorFields(error.position, context, error.about)


def error_from_fields(sqlstate: str, message: str, detail: str, hint: str, fields: ErrorFields | None) -> SqlError:
    """Return the error that a message carries. Empty texts become None."""
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

"""Errors of a transaction whose changes conflict with concurrent commits (`engine.catalog.replay`).

They have classes of their own because an autocommit statement may be retried after them, but after no other error with
their SQLSTATE (the loss of a member is 40001, too).
"""

from __future__ import annotations

from typing import Final

from wire.errors import SerializationFailure, SqlError, UndefinedTable


class ChangedByAnother(SerializationFailure):
    """An object that the transaction changed is no longer as the transaction saw it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f'could not commit: "{name}" was changed by another transaction', hint="Run the transaction again."
        )


class SchemaDropped(UndefinedTable):
    """The schema in which the transaction created an object was dropped."""

    def __init__(self, schema: str) -> None:
        super().__init__(f'schema "{schema}" was dropped by another transaction')


CONFLICTS: Final[tuple[type[SqlError], ...]] = (ChangedByAnother, SchemaDropped)

"""Errors of a transaction whose changes do not fit what others have committed meanwhile (`Snapshot.replay`).

Kinds of their own, since a statement that is a transaction of its own may run again after them, and after nothing else that has
their SQLSTATE (a member that was lost is 40001, too).
"""

from __future__ import annotations

from typing import Final

from wire.errors import SerializationFailure, SqlError, UndefinedTable


class ChangedByAnother(SerializationFailure):
    """Something else stands where the transaction saw what it changed."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f'could not commit: "{name}" was changed by another transaction', hint="Run the transaction again."
        )


class SchemaDropped(UndefinedTable):
    """The schema is gone in which the transaction made something."""

    def __init__(self, schema: str) -> None:
        super().__init__(f'schema "{schema}" was dropped by another transaction')


CONFLICTS: Final[tuple[type[SqlError], ...]] = (ChangedByAnother, SchemaDropped)

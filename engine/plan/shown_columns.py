"""Which columns of a table's rows a message may show to whoever runs a statement.

Messages about constraints quote values: a key that is there already, a row that fails a check. The row may have been changed in one
column and the message would tell the others, so only those are shown that the role may read, and of a failing row those that the
statement itself gave values.

Source: PostgreSQL 15, execMain.c (ExecBuildSlotValueDescription), genam.c (BuildIndexValueDescription), ri_triggers.c
(ri_ReportViolation).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ShownColumns:
    """readable: names of the columns that the role may SELECT; None: the whole table. given: those that the statement sets."""

    readable: frozenset[str] | None = None
    given: frozenset[str] = frozenset()

    def shows_key(self, names: Iterable[str]) -> bool:
        """Whether a message may show a key of these columns."""
        return self.readable is None or self.readable.issuperset(names)

    def shows_of_row(self, name: str) -> bool:
        """Whether a message about a failing row may show its value of a column."""
        return self.readable is None or name in self.readable or name in self.given


EVERYTHING: Final = ShownColumns()

"""The columns of a table whose values an error message may show to the role that runs a statement.

Messages about constraints quote values: a key that already exists, a row that fails a check. A statement may assign one column of
a row, and the message would disclose the others. Therefore a message shows only columns that the role may read and, for a failing
row, also columns to which the statement itself assigned values.

Source: PostgreSQL 15, execMain.c (ExecBuildSlotValueDescription), genam.c (BuildIndexValueDescription), ri_triggers.c
(ri_ReportViolation).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ShownColumns:
    """The columns whose values messages may show. readable: names of the columns that the role may SELECT; None: all
    columns. given: columns that the statement assigns.
    """

    readable: frozenset[str] | None = None
    given: frozenset[str] = frozenset()

    def shows_key(self, names: Iterable[str]) -> bool:
        """Whether a message may show a key of these columns."""
        return self.readable is None or self.readable.issuperset(names)

    def shows_of_row(self, name: str) -> bool:
        """Whether a message about a failing row may show its value of a column."""
        return self.readable is None or name in self.readable or name in self.given


EVERYTHING: Final = ShownColumns()

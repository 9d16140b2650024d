"""The work of a cursor's statement, as far as it is done in Python: functions that a value may keep for long look there whether the
statement has been interrupted.

DuckDB looks for interrupts between vectors, not within a call of a function of ours, and does not say to which statement a call
belongs. So each cursor has a number, which its connection keeps in a variable; the calls of such functions have
`getvariable('sluice_cursor')` as their last argument, and `work_of_cursor` makes what they do a part of that cursor's work.

Considered and rejected: DuckDB's own number of a connection, which is another one's in each of a member's databases.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

from engine.common.interrupts import StatementWork, work_scope

#: The variable of a connection that has its cursor's number.
CURSOR_VARIABLE: Final = "sluice_cursor"
_NUMBERS: Final = count(1)


class CursorWork:
    """The work in Python of one cursor, from one statement to the next. `interrupt` may be called from any thread."""

    def __init__(self) -> None:
        self.number = next(_NUMBERS)
        self.current = StatementWork()
        _WORKS[self.number] = self

    def begin(self) -> None:
        """Begin another statement: an interrupt of the one before does not concern it."""
        self.current = StatementWork()

    def interrupt(self) -> None:
        self.current.interrupted = True


_WORKS: Final[WeakValueDictionary[int, CursorWork]] = WeakValueDictionary()


@contextmanager
def work_of_cursor(number: int | None) -> Iterator[None]:
    """Within, on this thread: what is done is a part of the work of the cursor with this number, if there is one."""
    work = None if number is None else _WORKS.get(number)
    if work is None:
        yield
        return
    with work_scope(work.current):
        yield

"""The part of a cursor's statement that runs in Python. A function that may spend long on one value checks here
whether its statement has been interrupted.

DuckDB checks for interrupts between vectors, but not within a call of one of our functions, and it does not say to
which statement a call belongs. So each cursor has a number, which its connection keeps in a variable. Calls of such
functions have `getvariable('sluice_cursor')` as their last argument, and `work_of_cursor` attributes what they do to
that cursor's work.

Considered and rejected: DuckDB's own connection number, which denotes a different connection in each of a member's
databases.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

from engine.common.interrupts import StatementWork, work_scope

#: The variable in which a connection keeps its cursor's number.
CURSOR_VARIABLE: Final = "sluice_cursor"
_NUMBERS: Final = count(1)


class CursorWork:
    """The work in Python of one cursor, across its statements. `interrupt` may be called from any thread."""

    def __init__(self) -> None:
        self.number = next(_NUMBERS)
        self.current = StatementWork()
        _WORKS[self.number] = self

    def begin(self) -> None:
        """Begin another statement, which an interrupt of the preceding one does not affect."""
        self.current = StatementWork()

    def interrupt(self) -> None:
        self.current.interrupted = True


_WORKS: Final[WeakValueDictionary[int, CursorWork]] = WeakValueDictionary()


@contextmanager
def work_of_cursor(number: int | None) -> Iterator[None]:
    """Attribute everything that this thread does within the block to the work of the cursor with this number, if there
    is one.
    """
    work = None if number is None else _WORKS.get(number)
    if work is None:
        yield
        return
    with work_scope(work.current):
        yield

"""Counters that the processes of one server share: the connections of each that have ended, and its number of
sessions.

They lie in anonymous memory that is mapped before the processes are forked. Each number has one writer; a reader may
see a value that is a moment old, as with any count of what comes and goes.
"""

from __future__ import annotations

import mmap
from typing import Final

_FIELDS: Final = 2
_CLOSED, _SESSIONS = range(_FIELDS)


class SharedCounts:
    """Counters of `count` processes. number: the index of a process, from 0."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._memory = memoryview(mmap.mmap(-1, 8 * _FIELDS * count)).cast("Q")

    def __len__(self) -> int:
        return self._count

    def note_closed(self, number: int) -> None:
        """Count the end of a connection of a process."""
        self._memory[_FIELDS * number + _CLOSED] += 1

    def count_closed(self, number: int) -> int:
        """Return how many connections of a process have ended."""
        return self._memory[_FIELDS * number + _CLOSED]

    def set_sessions(self, number: int, sessions: int) -> None:
        """Set how many sessions a process has."""
        self._memory[_FIELDS * number + _SESSIONS] = sessions

    def sessions_beside(self, number: int) -> int:
        """Return how many sessions all other processes have."""
        return sum(self._memory[_FIELDS * other + _SESSIONS] for other in range(self._count) if other != number)

    def reset(self, number: int) -> None:
        """Reset the counters of a process that has ended."""
        for field in range(_FIELDS):
            self._memory[_FIELDS * number + field] = 0

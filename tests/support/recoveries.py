"""Times from a fault to its report and to the recovery from it: the tests that cause faults measure them, and the end
of a run prints them.

Nothing asserts these times. docs/faults.md has those of one run.
"""

from __future__ import annotations

import time

#: One line for each measurement: the seconds, the fault, the state that was reached. Of this process, and of those that
#: ran tests for it.
MEASURED: list[str] = []


class Recovery:
    """A stopwatch that starts when it is created, at the moment of the fault."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self._began = time.monotonic()

    def reached(self, what: str) -> None:
        MEASURED.append(f"{time.monotonic() - self._began:8.2f} s  {self._fault}: {what}")

"""How long a fault takes to be told, and to be over: measured by the tests that break things, told at the end of their run.

Nothing asserts these times. docs/faults.md has those of one run.
"""

from __future__ import annotations

import time

#: A line for each: after how many seconds, the fault, what was reached. Of this process, and of those that ran tests for it.
MEASURED: list[str] = []


class Recovery:
    """From a fault, which happens now, on."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self._began = time.monotonic()

    def reached(self, what: str) -> None:
        MEASURED.append(f"{time.monotonic() - self._began:8.2f} s  {self._fault}: {what}")

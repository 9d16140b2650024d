"""How long a fault takes to be told, and to be over: measured by the tests that break things, told at the end of their run.

Nothing asserts these times. docs/faults.md has those of one run.
"""

from __future__ import annotations

import time

#: Of this run: the fault, what was reached, after how many seconds.
MEASURED: list[tuple[str, str, float]] = []


class Recovery:
    """From a fault, which happens now, on."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self._began = time.monotonic()

    def reached(self, what: str) -> None:
        MEASURED.append((self._fault, what, time.monotonic() - self._began))


def lines() -> list[str]:
    return [f"{seconds:8.2f} s  {fault}: {what}" for fault, what, seconds in MEASURED]

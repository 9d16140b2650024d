"""The process of a driver that starts, seen from outside.

PySpark starts the process and returns it only when it answers, and waits for its answers without a bound: a driver that
is suspended meanwhile (SIGSTOP, a frozen container) would never be recovered from. So the process is found among the
member's children, and a driver that uses no processor time does not run. An idle JVM uses some, for its timers.

Rejected: a bound for the whole start. A start waits for its master for as long as the master may still answer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import psutil

#: An argument of PySpark's, in the command lines of its script and of the JVM that replaces it.
_ARGUMENT: Final = "pyspark-shell"


class DriverProcess:
    """The process of this member's driver, of which there is one at most, with its children."""

    def __init__(self) -> None:
        self._used: dict[int, float] = {}
        self._stalled_seconds = 0.0

    def measure_stall(self, elapsed: float) -> float:
        """Return the seconds for which the process has used no processor time. elapsed: the seconds since the last
        call. Takes some milliseconds.
        """
        used = {}
        for process in _family():
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                used[process.pid] = times.user + times.system
        self._stalled_seconds = self._stalled_seconds + elapsed if used and used == self._used else 0.0
        self._used = used
        return self._stalled_seconds

    @staticmethod
    def kill() -> None:
        """Kill the process if it runs. Takes some milliseconds."""
        for process in _family():
            with contextlib.suppress(psutil.Error):
                process.kill()


def _family() -> Iterator[psutil.Process]:
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if _ARGUMENT in child.cmdline():
                yield from (*child.children(recursive=True), child)

"""Processor time of a process and its descendants: the part of a measurement that other load on the machine changes
least.
"""

from __future__ import annotations

import contextlib

import psutil


def seconds(pid: int) -> float:
    """Return the user and system time so far, of the process and of all running processes that it has started."""
    root = psutil.Process(pid)
    total = 0.0
    for process in (root, *root.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total

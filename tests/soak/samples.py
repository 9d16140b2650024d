"""Samples of a member's resources when nothing runs: its process, its JVM after a collection, its counters, its files."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Final

import psutil
from support.answers import value
from support.member_process import MemberProcess
from support.member_state import in_use, spool_files, status

_MIB: Final = 1 << 20
_HEAP: Final = re.compile(r"total (\d+)K, used (\d+)K")
#: What is measured, and how much an hour it may seem to grow: below is what fluctuates.
TOLERANCES: Final[Mapping[str, float]] = {
    "memory, MiB": 120.0,
    "JVM heap after GC, MiB": 60.0,
    "file descriptors": 12.0,
    "threads": 12.0,
    "spool files": 0.0,
    "Spark jobs and streams": 0.0,
    "held for queries": 0.0,
    "files of tables": 120.0,
}
#: Upper limits of the longest waits, in milliseconds, by the names of `counters.stalls`. They are ample for a loaded machine, and
#: far below the time of a statement that is planned or collected on the event loop.
STALLS_MS_MAX: Final[Mapping[str, int]] = {"loop_ms_max": 5_000, "operations_ms_max": 20_000, "messages_ms_max": 20_000}


def stalled(member: MemberProcess) -> list[str]:
    """Return a line for each kind of wait whose longest one since the member's start exceeds `STALLS_MS_MAX`."""
    stalls = status(member)["counters"]["stalls"]
    return [f"{name}: {stalls[name]} ms, {most} at most" for name, most in STALLS_MS_MAX.items() if stalls[name] > most]


def sample(member: MemberProcess) -> dict[str, float]:
    """Return the resources under the names of `TOLERANCES`, as far as the member has them."""
    process = psutil.Process(member.pid)
    held = in_use(member)
    counters = status(member)["counters"]
    found = {
        "memory, MiB": process.memory_info().rss / _MIB,
        "file descriptors": float(process.num_fds()),
        "threads": float(process.num_threads()),
        "spool files": float(len(spool_files(member))),
        "Spark jobs and streams": float(counters["spark"]["streams"] + counters["spark"]["productions"]),
        "held for queries": float(sum(n for name, n in held.items() if name.startswith(("mesh.", "local.")))),
        "files of tables": _table_files(member),
    }
    heap = _heap(process)
    return found if heap is None else {**found, "JVM heap after GC, MiB": heap}


def _table_files(member: MemberProcess) -> float:
    """Return the number of files that tables have, after VACUUM has removed older ones."""
    with member.connect() as connection:
        return float(value(connection, "select coalesce(sum(files), 0) from sluice.tables"))


def _heap(process: psutil.Process) -> float | None:
    """Return the size of the JVM's live heap after a full collection, or None where no JVM runs or jcmd is missing."""
    java = [child for child in process.children() if child.name() == "java"]
    tool = shutil.which("jcmd")
    if not java or tool is None:
        return None
    for command in ("GC.run", "GC.heap_info"):
        told = subprocess.run([tool, str(java[0].pid), command], capture_output=True, text=True, check=False).stdout
    used = [int(kib) for _, kib in _HEAP.findall(told)]
    return sum(used) / 1024 if used else None

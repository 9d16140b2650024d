"""Measures the processor time of importing a member and the command line, which every start pays."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from benchmarks.figures import Figure, Measure, median
from benchmarks.ground import Ground

_RUNS: Final = 15
_YARDSTICK: Final = "duckdb, pyarrow, sqlglot, deltalake"
_MEMBER, _COMMAND_LINE = "server.serving", "server.cli.main"
_MEMBER_BAR: Final = 2.7
_COMMAND_LINE_BAR: Final = 0.75


def _run(_ground: Ground) -> Iterator[Figure]:
    taken: dict[str, list[float]] = {modules: [] for modules in (_YARDSTICK, _MEMBER, _COMMAND_LINE)}
    for modules in taken:
        _seconds(modules)
    for _ in range(_RUNS):
        for modules, seconds in taken.items():
            seconds.append(_seconds(modules))
    yardstick, member, command_line = (median(seconds) for seconds in taken.values())
    yield Figure(f"`import {_YARDSTICK}`", yardstick * 1000, "ms")
    yield Figure(f"`import {_MEMBER}`", member * 1000, "ms")
    yield Figure(f"`import {_COMMAND_LINE}`", command_line * 1000, "ms")
    yield Figure("the member relative to the four libraries", member / yardstick, "", _MEMBER_BAR)
    yield Figure("the command line relative to the four libraries", command_line / yardstick, "", _COMMAND_LINE_BAR)


def _seconds(modules: str) -> float:
    """Return the processor time, user and system, of a process that imports modules and exits."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", f"import {modules}"], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


MEASURE: Final = Measure(
    "import_time",
    "Importing a member and the command line",
    f"Processor time of `python -c` with one import: the median of {_RUNS} runs after one that writes the bytecode, "
    "alternating with an import of four libraries that every member needs. Modules that only one listener or engine "
    "needs (Starlette for the console, FastAPI for Trino's clients, PySpark, pydantic for the configuration) are "
    "imported when it starts, and are not included.",
    _run,
)

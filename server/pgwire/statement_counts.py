"""Counts completed statements by command, errors by SQLSTATE, and the durations of statements, for `/metrics`.

A duration is counted in a bucket of its command, as in Prometheus' histograms: an observation costs a search among a
few bounds and no lock, since all sessions are on one loop.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from typing import Final

#: Upper bounds of the buckets, in seconds; a further bucket has no bound.
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
#: Further commands count as `other`. The first word of a tag is a command of PostgreSQL, of which there are few.
_COMMANDS_MAX: Final = 100


class Durations:
    """The durations of one command. buckets: the number of durations in each; total: their sum in seconds."""

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


class StatementCounts:
    """The counts of one member since its start."""

    def __init__(self) -> None:
        self._durations: dict[str, Durations] = {}
        self._errors: Counter[str] = Counter()
        self._engines: Counter[str] = Counter()

    @property
    def durations(self) -> Mapping[str, Durations]:
        """The durations by the first word of the command tag."""
        return self._durations

    @property
    def errors(self) -> Mapping[str, int]:
        """The number of errors by SQLSTATE."""
        return self._errors

    @property
    def engines(self) -> Mapping[str, int]:
        """The number of statements by the engine that gave the rows: `local`, `spark`, `distributed`."""
        return self._engines

    def count_completed(self, tag: str, seconds: float, engine: str | None = None) -> None:
        """Count a completed statement. engine: the engine that gave the rows; None if it was no query."""
        if engine is not None:
            self._engines[engine] += 1
        command = tag.partition(" ")[0]
        if command not in self._durations and len(self._durations) >= _COMMANDS_MAX:
            command = "other"
        self._durations.setdefault(command, Durations()).add(seconds)

    def count_failed(self, sqlstate: str) -> None:
        self._errors[sqlstate] += 1

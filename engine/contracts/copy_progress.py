"""Progress of each COPY on this member: pg_stat_progress_copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(slots=True, eq=False)
class CopyProgress:
    """A running COPY. The code that runs it writes the counters; any thread may read them.

    relation: the table's OID; 0 for a query. size: of its file in bytes; 0 if that is not known. excluded: rows that
    WHERE left out.
    """

    pid: int
    database: str
    relation: int
    command: Literal["COPY FROM", "COPY TO"]
    type: Literal["FILE", "PIPE"]
    size: int = 0
    bytes: int = 0
    rows: int = 0
    excluded: int = 0


class Copies:
    """The running COPY statements. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._running: dict[int, CopyProgress] = {}

    def begin(self, progress: CopyProgress) -> CopyProgress:
        self._running[id(progress)] = progress
        return progress

    def end(self, progress: CopyProgress) -> None:
        """Remove a COPY. Idempotent."""
        self._running.pop(id(progress), None)

    def running_copies(self) -> Sequence[CopyProgress]:
        return list(self._running.values())

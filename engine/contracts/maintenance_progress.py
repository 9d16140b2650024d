"""The progress of VACUUM and ANALYZE on this member: pg_stat_progress_vacuum, _analyze and _cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

#: PostgreSQL counts pages of this many bytes.
PAGE_BYTES: Final = 8192
Phase = Literal[
    "initializing", "vacuuming heap", "acquiring sample rows", "computing statistics", "finalizing analyze",
    "writing new heap", "performing final cleanup",
]  # fmt: skip


@dataclass(slots=True, eq=False)
class MaintenanceProgress:
    """A table that a VACUUM or ANALYZE is working on. The code that runs the statement writes it; any thread may read
    it.

    relation: the table's OID. phase: in PostgreSQL's words. pages, pages_done: the size of the table's files in pages,
    and the pages that are done. rows: scanned, or written.
    """

    pid: int
    database: str
    relation: int
    command: Literal["VACUUM", "ANALYZE", "VACUUM FULL"]
    phase: Phase = "initializing"
    pages: int = 0
    pages_done: int = 0
    rows: int = 0


class Maintenance:
    """The tables that VACUUM and ANALYZE are working on. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._running: dict[int, MaintenanceProgress] = {}

    @contextmanager
    def show(self, progress: MaintenanceProgress) -> Iterator[MaintenanceProgress]:
        """Report the progress while the block runs."""
        self._running[id(progress)] = progress
        try:
            yield progress
        finally:
            self._running.pop(id(progress), None)

    def running_tables(self) -> Sequence[MaintenanceProgress]:
        return list(self._running.values())


def pages_of(size: int) -> int:
    """Return how many of PostgreSQL's pages hold `size` bytes."""
    return -(-size // PAGE_BYTES)

"""The intents of a MUTATE (the RFC's intents), and their collector: the initiator commits all intents of a statement,
or
none.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.catalog.model.objects import DataFile
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Intents:
    """A table's changes: files that come, paths (below its folder) of those that go, and how many rows changed."""

    added: tuple[DataFile, ...] = ()
    removed: tuple[str, ...] = ()
    rows: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def collect_intents(parts: Iterable[Intents]) -> Intents:
    """The intents of all who took part. A file that several want removed is an error of the plan's."""
    added: list[DataFile] = []
    removed: list[str] = []
    rows = 0
    for part in parts:
        added += part.added
        removed += part.removed
        rows += part.rows
    assert len(set(removed)) == len(removed), "a file is written anew by one participant"
    return Intents(tuple(added), tuple(removed), rows)

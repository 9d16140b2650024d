"""The intents of a MUTATE (the RFC's intents), and their collector: the initiator commits all intents of a statement,
or none.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.catalog.model.objects import DataFile
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Intents:
    """The changes of a table: added files, the paths (below its folder) of removed ones, and the number of changed
    rows.
    """

    added: tuple[DataFile, ...] = ()
    removed: tuple[str, ...] = ()
    rows: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def collect_intents(parts: Iterable[Intents]) -> Intents:
    """Merge the intents of all participants. It is an internal error if several of them remove the same file."""
    added: list[DataFile] = []
    removed: list[str] = []
    rows = 0
    for part in parts:
        added += part.added
        removed += part.removed
        rows += part.rows
    assert len(set(removed)) == len(removed), "a file is written anew by one participant"
    return Intents(tuple(added), tuple(removed), rows)

"""Removal of files that a transaction has written and that its commit does not need.

The files that a change adds, and the folders of tables that it makes, are removed when the change is rolled back. A
commit that fails because of a conflict is rolled back; a commit with unknown outcome leaves everything in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from engine.catalog.model.objects import Schema, StoredRelation, Table
from engine.catalog.snapshot import AnyChange, DataChange, Snapshot, net_changes
from engine.storage import tables
from engine.storage.kept_rows import KeptRows
from wire.errors import IoError, SqlError, StatementCompletionUnknown


def take_back(root: Path, changes: Iterable[AnyChange | KeptRows], made: Iterable[str]) -> None:
    """Remove the files of changes that will never be committed. made: the folders that the changes have made."""
    for location in made:
        tables.discard(root, location)
    for change in changes:
        if isinstance(change, DataChange):
            tables.unlink(root / change.location, change.files.added)


def remove_unused(
    root: Path, changes: Sequence[AnyChange], made: Iterable[str], present: Iterable[StoredRelation]
) -> None:
    """Remove files and folders that the transaction itself has made obsolete: tables created and dropped, files added
    and removed. present: the relations that exist after it.
    """
    if made := tuple(made):
        live = {location_of(table) for table in present}
        for location in made:
            if location not in live:
                tables.discard(root, location)
    whole = net_changes(changes)
    for change in changes:
        if isinstance(change, DataChange):
            kept = {file.path for file in whole[change.location].added}
            unused = [file for file in change.files.added if file.path not in kept]
            tables.unlink(root / change.location, unused)


def settle_files(
    root: Path,
    changes: Sequence[AnyChange],
    made: Sequence[str],
    outcome: Snapshot | BaseException,
    temporary: Iterable[StoredRelation],
) -> None:
    """Remove the files that a commit does not need. outcome: the state after it, or its error. temporary: relations
    that stay, besides those of the state.
    """
    if isinstance(outcome, Snapshot):
        remove_unused(root, changes, made, chain(outcome.relations.values(), temporary))
    elif has_surely_failed(outcome):
        take_back(root, changes, made)


def has_surely_failed(error: BaseException) -> bool:
    """Return whether a commit that ended with this error has certainly not taken place."""
    return isinstance(error, SqlError) and not isinstance(error, (StatementCompletionUnknown, IoError))


def location_of(relation: StoredRelation | Schema | None) -> str | None:
    """Return the folder of a stored table, below the folder of all tables."""
    return relation.storage.location if isinstance(relation, Table) and relation.storage is not None else None

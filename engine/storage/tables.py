"""A stored table: its folder, the files that its value names, and how that value changes.

A `Table` with a `Storage` is a value like any other of the catalog's. It names a pinned Delta version and the changes
since. This module has the operations on it, which a session's own changes, a commit and the reader of the catalog
database share.

`Table.version` identifies the files in all caches (statements, Spark's views, footers). For a committed table it is
made of the folder and the commit that last changed the table. Publishing changes where the files are recorded, not
which they are, so it does not change the version. A session's own change derives another version from it.
"""

from __future__ import annotations

import contextlib
import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from engine.catalog.model.objects import DataFile, Storage, Table, TableColumn
from engine.common.weighted_lru_cache import WeightedLruCache
from engine.storage import delta, disk
from engine.storage.in_flight_files import IN_FLIGHT_FILES
from engine.storage.staging import require_partition
from engine.storage.types import file_schema
from wire.dataclass import dataclass

#: The time for which a dropped table's folder stays, for statements that began to read it before.
DROPPED_SECONDS: Final = 3600
#: The bytes of the hash that is a version: engines keep it in signed 64 bits.
_DIGEST_BYTES: Final = 7
#: Paths by folder and the table's version: two million in all, at some 150 bytes each, so that a table of a million files fits.
_FILES: Final[WeightedLruCache[tuple[str, int], tuple[str, ...]]] = WeightedLruCache(
    512, 1 << 21, lambda _, files: 1 + len(files), largest=1 << 20, family=lambda key: key[0], each=8
)


@dataclass(frozen=True, slots=True)
class FileChange:
    """The files that one or several changes add to a table, and the paths of those that they remove."""

    added: tuple[DataFile, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    @classmethod
    def sequence(cls, changes: Iterable[FileChange]) -> FileChange:
        """Combine changes in order, in time that grows with the number of files that are only added."""
        whole, added = cls(), list[DataFile]()
        for change in changes:
            if change.removed:
                whole = whole.then(cls(tuple(added))).then(change)
                added.clear()
            else:
                added += change.added
        return whole.then(cls(tuple(added)))

    def then(self, later: FileChange) -> FileChange:
        """Combine two changes in order. A file that the first adds and the second removes is in neither set."""
        if not later.removed:
            return FileChange(self.added + later.added, self.removed)
        gone = frozenset(later.removed)
        made = frozenset(file.path for file in self.added)
        added = tuple(file for file in self.added if file.path not in gone)
        removed = tuple(path for path in later.removed if path not in made)
        return FileChange(added + later.added, self.removed + removed)


def create(
    root: Path, columns: Sequence[TableColumn], *, partition_by: Sequence[str] = (), sort_by: Sequence[str] = ()
) -> Storage:
    """Create a folder below `root` (the catalog's folder of tables) with an empty table, which nobody knows until the
    catalog has it.

    partition_by, sort_by: columns, by the names that files give them. Raises FeatureNotSupported for a type that files
    cannot store or that cannot partition, IoError.
    """
    schema = file_schema(columns)
    for column in columns:
        if column.file_column in partition_by:
            require_partition(column, schema.field(column.file_column).type)
    storage = Storage(uuid.uuid4().hex, 0, partition_by=tuple(partition_by), sort_by=tuple(sort_by))
    with IN_FLIGHT_FILES.protect_new_folder(storage.location):
        delta.create(folder(root, storage), columns, partition_by)
    return storage


def folder(root: Path, storage: Storage) -> Path:
    return root / storage.location


def discard(root: Path, location: str) -> None:
    """Remove a table's folder with everything in it. Another process may be doing so at the same time."""
    disk.current_disk().remove_tree(root / location, ignore_errors=True)


def unlink(folder: Path, files: Iterable[DataFile]) -> None:
    """Remove the files of a change that was rolled back, which nothing will ever name. Files that cannot be removed
    are left for VACUUM, because the caller has its own error to report and other resources to release.

    folder: the table's.
    """
    for file in files:
        with contextlib.suppress(OSError):
            disk.current_disk().remove(folder / file.path)


# -- the value -------------------------------------------------------------------------------------------------------


def bare(storage: Storage) -> Storage:
    """Return the definition in a storage, without its content."""
    return Storage(storage.location, 0, partition_by=storage.partition_by, sort_by=storage.sort_by)


def same_definition(table: Table, other: Table) -> bool:
    """Return whether two states of stored tables differ in nothing but their content."""
    if table is other:
        return True
    if bare(_storage(table)) != bare(_storage(other)):
        return False
    return table == replace(other, files=table.files, version=table.version, storage=table.storage)


def with_commit(table: Table, version: int, changed: int, change: FileChange) -> Table:
    """Return the table in its committed state. version: the Delta version. changed: the number of the last decision
    that changed the table, whether published or not. change: the decisions since that version.
    """
    storage = bare(_storage(table))
    storage = replace(storage, version=version, changed=changed, added=change.added, removed=change.removed)
    return replace(table, files=(), version=_digest(storage.location, str(changed)), storage=storage)


def at(table: Table, version: int) -> Table:
    """Return the table with the files of a Delta version of its folder, and nothing else."""
    storage = replace(bare(_storage(table)), version=version)
    return replace(table, files=(), version=_digest(storage.location, "at", str(version)), storage=storage)


def with_changed_files(table: Table, change: FileChange) -> Table:
    """Return the table with a change of its files that is not committed."""
    storage = _storage(table)
    whole = FileChange(storage.added, storage.removed).then(change)
    told = (str(table.version), *(file.path for file in change.added), *change.removed)
    storage = replace(storage, added=whole.added, removed=whole.removed)
    return replace(table, files=(), version=_digest(*told), storage=storage)


def _storage(table: Table) -> Storage:
    assert table.storage is not None, "a stored table"
    return table.storage


def _digest(*parts: str) -> int:
    whole = "\0".join(parts).encode()
    return int.from_bytes(hashlib.blake2b(whole, digest_size=_DIGEST_BYTES).digest(), "big")


# -- its files -------------------------------------------------------------------------------------------------------


def files(table: Table) -> tuple[str, ...]:
    """Return the absolute paths of the table's files, in the order of their names; the same tuple each time. May block
    if the version was never opened before. Raises DataCorrupted.
    """
    return _FILES.get((table.path, table.version), lambda: _files(table.path, _storage(table)))


def has_all_files(table: Table) -> bool:
    """Return whether `table.files` is what `files` returns for the table: all of its files, and no others."""
    return _FILES.find((table.path, table.version)) is table.files


def forget_files() -> None:
    """Clear the cache of tables' files, as in a process that has just started."""
    _FILES.clear()


def _files(path: str, storage: Storage) -> tuple[str, ...]:
    paths = delta.open_version(path, storage.version).paths
    if storage.removed:
        gone = frozenset(storage.removed)
        paths = tuple(p for p in paths if p not in gone)
    if storage.added:
        paths = tuple(sorted((*paths, *(file.path for file in storage.added))))
    return tuple(f"{path}/{name}" for name in paths)


def data_files(table: Table) -> Mapping[str, DataFile]:
    """Return the table's files by their paths below its folder. Those of the pinned version have their statistics in
    `delta.open_version(...).actions`.
    """
    storage = _storage(table)
    gone = frozenset(storage.removed)
    kept = delta.open_version(table.path, storage.version).files
    present = {path: file for path, file in kept.items() if path not in gone}
    return present | {file.path: file for file in storage.added}


def missing_paths(table: Table, paths: Iterable[str]) -> list[str]:
    """Return the paths (below the folder) that are not files of the table."""
    paths = tuple(paths)
    if not paths:
        return []
    storage = _storage(table)
    added = frozenset(file.path for file in storage.added)
    gone = frozenset(storage.removed)
    pinned = delta.open_version(table.path, storage.version)
    return [path for path in paths if path not in added and (path in gone or path not in pinned)]

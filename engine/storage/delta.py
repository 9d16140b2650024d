"""A table's Delta log, through delta-rs: creation, reading at a version, and writing, with one commit for several
decisions.

delta-rs commits added and removed files in one transaction (`create_write_transaction`, which accepts removes since
1.6). It checks nothing about them, and it returns paths as they are spelled in Delta's log, percent-encoded. So this
module uses paths of the file system on both sides, and it rejects the removal of a path that is not in the log before
anything is written.

The commit carries Delta's `txn` action: application `sluice`, with the number of the last decision that the commit
holds as its version. There is one application with growing numbers because Delta keeps one `txn` for each application
for ever: a name for each transaction would grow with the table's history.

delta-rs does not call fsync. Decisions that the catalog forgets once they are in the log must survive a power failure.
So before a version is pinned, all versions from the pinned one up to it are made durable, whoever wrote them
(`Log.make_durable`): another publisher may have been killed between its commit and its sync, and columns are added by a
commit of their own.

A power failure may tear commits that had not been synced. They are beyond the version that the catalog pins, and their
decisions are still in the catalog. Where such commits make the log unreadable, `repair` removes them, and they are
written again.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import logging
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

from engine.catalog.model.objects import DataFile, TableColumn
from engine.common.os_errors import kind_of
from engine.common.weighted_lru_cache import CacheFigures, WeightedLruCache
from engine.storage import disk
from engine.storage.durable import sync
from engine.storage.types import file_schema
from wire.dataclass import dataclass
from wire.errors import DataCorrupted, IoError

APPLICATION: Final = "sluice"
LOG: Final = "_delta_log"
_LAST_CHECKPOINT: Final = "_last_checkpoint"
#: Commits and checkpoints are named by their version.
_NUMBERED: Final = re.compile(r"\d{20}\.")
_log: Final = logging.getLogger(__name__)
#: The opened versions that are cached, and how many of one table: the newest, and those that running statements read.
_OPENED: Final = 256
_OPENED_OF_ONE: Final = 4
#: The number of commits per checkpoint: without one, opening a table reads all commits. Commits before a checkpoint are kept for
#: a week, for time travel; a member needs none of them for longer than it takes to see the next commit.
_CONFIGURATION: Final = {"delta.checkpointInterval": "50", "delta.logRetentionDuration": "interval 7 days"}


@dataclass(frozen=True)
class Version:
    """One version of a table, which never changes. actions: delta-rs' table of its files."""

    actions: pa.Table

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, as the file system spells them, in the order of their names. Not cached, because a million of
        them take 100 MB.
        """
        return tuple(sorted(_spell_paths(self.actions["path"])))

    @functools.cached_property
    def files(self) -> Mapping[str, DataFile]:
        """The files by path. Their statistics are in `actions`."""
        sizes, rows = self.actions["size_bytes"].to_pylist(), self.actions["num_records"].to_pylist()
        described = zip(self._paths, sizes, rows, self.partitions, strict=True)
        return {path: DataFile(path, size, count or 0, partition) for path, size, count, partition in described}

    @functools.cached_property
    def _paths(self) -> list[str]:
        return _spell_paths(self.actions["path"])

    @functools.cached_property
    def numbers(self) -> Mapping[str, int]:
        """The row of each path in `actions`."""
        return {path: number for number, path in enumerate(self._paths)}

    @functools.cached_property
    def rows(self) -> pa.Array:
        """The number of rows of each file, null where the log does not record it."""
        return self.actions["num_records"].combine_chunks()

    def statistics(self, kind: Literal["null_count", "min", "max"], name: str) -> pa.Array | None:
        """Return the log's statistics of a column for each file; None if it has none."""
        if (kind, name) not in self._statistics:
            self._statistics[kind, name] = self._field(kind, name)
        return self._statistics[kind, name]

    def partition(self, name: str) -> pa.Array | None:
        """Return each file's value of a partition column, as text; None if the table is not partitioned by it."""
        found = self._field("partition", name)
        return None if found is None else found.cast(pa.utf8())

    def _field(self, kind: str, name: str) -> pa.Array | None:
        if kind not in self.actions.column_names or name not in self.actions.schema.field(kind).type.names:
            return None
        return pc.struct_field(self.actions[kind], [name]).combine_chunks()

    def integers(self, kind: Literal["null_count", "min", "max"], name: str) -> pa.Array | None:
        """Return the log's statistics of a column for each file, if they are integers or dates (as days since 1970);
        None if the log has none, or others.
        """
        found = self.statistics(kind, name)
        if found is None:
            return None
        if pa.types.is_date32(found.type):
            found = found.cast(pa.int32())
        return found.cast(pa.int64()) if pa.types.is_integer(found.type) else None

    @functools.cached_property
    def _statistics(self) -> dict[tuple[str, str], pa.Array | None]:
        return {}

    def paths_of(self, mask: pa.Array) -> list[str]:
        """Return the files for which a mask over `actions` is true, as the file system spells them."""
        return _spell_paths(self.actions["path"].filter(mask))

    @functools.cached_property
    def partitioned_by(self) -> Sequence[str]:
        known = "partition" in self.actions.column_names
        return self.actions.schema.field("partition").type.names if known else []

    @functools.cached_property
    def partitions(self) -> Sequence[tuple[str | None, ...]]:
        """The values of the partition columns (`partitioned_by`), as text, in the order of `numbers`."""
        if "partition" not in self.actions.column_names:
            return [()] * self.actions.num_rows
        values = self.actions["partition"].combine_chunks()
        texts = [pc.struct_field(values, index).cast(pa.utf8()).to_pylist() for index in range(values.type.num_fields)]
        return list(zip(*texts, strict=True))

    def __contains__(self, path: str) -> bool:
        return path in self._set

    @functools.cached_property
    def _set(self) -> frozenset[str]:
        return frozenset(self._paths)


def _spell_paths(paths: pa.ChunkedArray) -> list[str]:
    return [unquote(path) if "%" in path else path for path in paths.to_pylist()]


#: By folder and number.
_VERSIONS: Final[WeightedLruCache[tuple[str, int], Version]] = WeightedLruCache(
    _OPENED, family=lambda key: key[0], each=_OPENED_OF_ONE
)


def cache_figures() -> CacheFigures:
    """Return the hits and misses of the cache of versions' files."""
    return _VERSIONS.figures()


def create(folder: Path, columns: Sequence[TableColumn], partition_by: Sequence[str] = ()) -> None:
    """Create a table without rows, as version 0. Raises FeatureNotSupported for a type that files cannot store,
    IoError.
    """
    schema = Schema.from_arrow(file_schema(columns))
    try:
        disk.current_disk().let_write(
            folder,
            lambda: DeltaTable.create(folder, schema, partition_by=list(partition_by), configuration=_CONFIGURATION),
        )
    except (DeltaError, OSError) as error:
        raise IoError(f'could not create a table in "{folder}": {error}') from error
    try:
        _make_durable(folder, 0, 0)
        for made in (folder, folder.parent, folder.parent.parent):
            sync(made)
    except OSError as error:
        raise kind_of(error)(f'could not create a table in "{folder}": {error}') from error


def open_version(folder: str, version: int) -> Version:
    """Return a version's files. Raises DataCorrupted."""

    def read() -> Version:
        return _version(_open(folder, version))

    return _VERSIONS.get((folder, version), lambda: disk.current_disk().let_read(Path(folder) / LOG, version, read))


def forget_opened() -> None:
    """Clear the cache of opened versions, because a version that was lost is made again with other files."""
    _VERSIONS.clear()


def commit_times(folder: str) -> Mapping[int, int]:
    """Return the commit time of each version that the log still has, in milliseconds since 1970. Raises DataCorrupted."""
    return {entry["version"]: entry["timestamp"] for entry in _open(folder).history() if "timestamp" in entry}


def _version(table: DeltaTable) -> Version:
    return Version(pa.table(table.get_add_actions(flatten=False)))


def _open(folder: str, version: int | None = None) -> DeltaTable:
    try:
        return DeltaTable(folder, version=version)
    except (DeltaError, OSError) as error:
        hint = None if os.path.exists(folder) else "Tables that others drop or rewrite are kept for an hour."
        raise DataCorrupted(
            f'could not read the table in "{folder}" at version {version}: {error}', hint=hint
        ) from error


@dataclass(frozen=True, slots=True)
class Published:
    """The state of a table's log. version: Delta's newest version. number: the number of the last decision that is in
    it.
    """

    version: int
    number: int


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest version of a table's log: its state, and its files."""

    published: Published
    files: Version


def newest(folder: str) -> Newest:
    """Return the newest version. Raises DataCorrupted if the log cannot be read."""

    def read() -> Newest:
        log = Log(folder)
        return Newest(log.published_version, log.files)

    return disk.current_disk().let_read(Path(folder) / LOG, "newest", read)


class Log:
    """A table's log, for its publisher. Not thread-safe; blocks.

    durable: a version that is on disk with all before it: one that the catalog has pinned; -1: none is known to be.
    Raises DataCorrupted if the log cannot be read.
    """

    def __init__(self, folder: str, durable: int = -1) -> None:
        self._folder = folder
        self._durable = durable
        self._table = _open(folder)

    @property
    def published_version(self) -> Published:
        return Published(self._table.version(), self._table.transaction_version(APPLICATION) or 0)

    @property
    def files(self) -> Version:
        """The files of the version in `published_version`."""
        return _VERSIONS.get((self._folder, self._table.version()), lambda: _version(self._table))

    def refresh(self) -> None:
        self._table.update_incremental()

    def add_columns(self, columns: Iterable[TableColumn]) -> bool:
        """Add the columns that the table lacks, in a commit of their own, which the next `make_durable` makes durable.
        Returns whether there were any. Columns are never removed. Raises IoError.
        """
        known = {field.name for field in self._table.schema().fields}
        missing = [column for column in columns if column.file_column not in known]
        if not missing:
            return False
        fields = Schema.from_arrow(file_schema(missing)).fields
        try:
            disk.current_disk().let_write(Path(self._folder), lambda: self._table.alter.add_columns(fields))
        except (DeltaError, OSError) as error:
            raise IoError(f'could not write to the log of the table in "{self._folder}": {error}') from error
        self.refresh()
        return True

    def commit(self, number: int, added: Sequence[DataFile], removed: Collection[str]) -> None:
        """Write decisions up to `number`, unless another publisher writes to the log meanwhile: `published_version` then
        says what is in it.

        Raises DataCorrupted if a file to be removed is not in the table, or one to be added is.
        """
        present = self.files
        _require_consistent(self._folder, present, added, removed)
        names = self._table.metadata().partition_columns
        now = time.time_ns() // 1_000_000
        actions: list[Any] = [
            AddAction(f.path, f.size, dict(zip(names, f.partition, strict=True)), now, True, f.statistics)
            for f in added
        ]
        actions += [RemoveAction(path, True, now, present.files[path].size) for path in removed]
        try:
            disk.current_disk().let_write(
                Path(self._folder),
                lambda: self._table.create_write_transaction(
                    actions,
                    "append",
                    self._table.schema(),
                    names,
                    commit_properties=CommitProperties(app_transactions=[Transaction(APPLICATION, number)]),
                    post_commithook_properties=PostCommitHookProperties(create_checkpoint=True),
                ),
            )
        except CommitFailedError:
            self.refresh()
            return
        except (DeltaError, OSError) as error:
            raise IoError(f'could not write to the log of the table in "{self._folder}": {error}') from error
        self.refresh()
        self.make_durable()
        # The catalog pins this version next, and readers then find it in the cache. It is cached only once it is durable: a version
        # that a power failure loses is made again with other files.
        _ = self.files

    def make_durable(self) -> None:
        """Make the version in `published_version` durable, and all before it, whoever wrote them. Raises IoError."""
        newest = self._table.version()
        try:
            _make_durable(Path(self._folder), self._durable + 1, newest)
        except OSError as error:
            raise kind_of(error)(f'could not write to the log of the table in "{self._folder}": {error}') from error
        self._durable = newest


def _require_consistent(folder: str, present: Version, added: Sequence[DataFile], removed: Collection[str]) -> None:
    for path in removed:
        if path not in present:
            raise DataCorrupted(f'file "{path}" is to be removed from the table in "{folder}", which does not have it')
    for file in added:
        if file.path in present:
            raise DataCorrupted(f'file "{file.path}" is to be added to the table in "{folder}", which has it already')


def _make_durable(folder: Path, first: int, last: int) -> None:
    """Sync the log's files of versions `first` to `last`, including checkpoints, and their names. Raises OSError, also
    if the last version is gone: a power failure of the machine that holds the disk lost it, and `repair` removed it.
    """
    log = folder / LOG
    numbers = versions_of_files(log)
    if f"{last:020}.json" not in numbers:
        raise FileNotFoundError(errno.ENOENT, "a commit is gone", str(log / f"{last:020}.json"))
    for name, number in numbers.items():
        if first <= number <= last:
            sync(log / name)
    if (log / _LAST_CHECKPOINT).is_file():
        sync(log / _LAST_CHECKPOINT)
    sync(log)


def versions_of_files(log: Path) -> dict[str, int]:
    """Return the log's files, commits and checkpoints, with their versions. Raises OSError."""
    return {name: int(name[:20]) for name in sorted(os.listdir(log)) if _NUMBERED.match(name)}


def repair(folder: Path, pinned: Callable[[], int]) -> None:
    """Remove all commits beyond the pinned version if the log cannot be read because a power failure has torn one.

    pinned: returns the version that the catalog pins. A writer opens the log first, so nothing readable follows an
    unreadable commit. One process repairs at a time, and checks again when it holds the lock: a log that another
    process has repaired may have been written to and pinned since. Raises IoError if another process is repairing, or
    the disk fails; the caller may try again later.
    """
    log = folder / LOG
    try:
        with _repair_lock(log):
            try:
                _open(str(folder))
            except DataCorrupted:
                _discard_beyond(log, pinned())
                forget_opened()
    except OSError as error:
        raise kind_of(error)(f'could not repair the log of the table in "{folder}": {error}') from error


def _discard_beyond(log: Path, version: int) -> None:
    for name, number in versions_of_files(log).items():
        if number > version:
            _log.warning("a power failure has torn the log in %s: %s is removed, to be written again", log, name)
            disk.current_disk().remove(log / name)
    # This file is a hint, and may name a removed checkpoint.
    disk.current_disk().remove(log / _LAST_CHECKPOINT)
    sync(log)


@contextmanager
def _repair_lock(log: Path) -> Iterator[None]:
    """Hold the lock under which one process repairs the log. Raises BlockingIOError if another process holds it."""
    descriptor = os.open(log, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)

"""Removal of files that no reader can name any more: files of tables, and folders of tables that were never committed.

A file of a table is removed if all of the following holds:

- the catalog does not name it: neither the pinned version, nor a pending decision, nor the newest version of Delta's
  log (published, and not pinned yet);
- it was not taken out of the table a short while ago: a reader that began before may have it in its plan;
- nothing on this member is about to name it (`IN_FLIGHT_FILES`);
- it is old: another member that is about to name it touches it every few minutes, and so does one that writes it.

Nothing is removed while a backup copies (`engine.storage.claims.Hold`).

The folder of a statement that crashed (`StagingArea`) is removed with its files, by the same rules.

"A short while ago" and "old" are the same `retention`. Files, and files in flight, are listed before the catalog is
read, never after: a file that is committed in between is then named by the catalog. (Files in flight are young, unless
the machine has slept and no member has touched them yet.) The tombstones of Delta's log tell when a file was taken out
of a table, by the modification time of the log's file; the time of the data file itself is that of its writing.

A folder that the catalog does not know is removed if nothing in it is young and its log has no decision: then no row
was ever committed to it (a CREATE or a rewrite that crashed, a temporary table of a member that did). A folder with
decisions is somebody's table, for example if the catalog was restored from an earlier day. It is kept and reported.

Rejected: delta-rs' own vacuum. It counts in whole hours, knows neither the catalog's decisions nor the files in flight,
and uses the time that a file was written if the log has forgotten its tombstone.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import msgspec

from engine.catalog.model.objects import Table
from engine.catalog.store.publication import readable_version
from engine.storage import delta, disk, tables
from engine.storage.claims import is_held
from engine.storage.in_flight_files import IN_FLIGHT_FILES
from wire.dataclass import dataclass
from wire.errors import DataCorrupted, IoError

if TYPE_CHECKING:
    from engine.catalog.snapshot import Snapshot
    from engine.catalog.store.catalog_database import CatalogDatabase
    from engine.catalog.store.rows import Decision

_COMMIT: Final = re.compile(r"\d{20}\.json")
#: The folder names that `tables.create` makes: other folders are not Sluice's.
_LOCATION: Final = re.compile(r"[0-9a-f]{32}")
#: A time later than any drop.
_EVER: Final = 1 << 53


@dataclass(frozen=True, slots=True)
class Found:
    """A file that is old enough to be removed. path: below the table's folder."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of sweeping a table: the number of removed files and their bytes. left: the number of files that the
    table has.
    """

    location: str
    files: int
    size: int
    left: int


@dataclass(frozen=True, slots=True)
class Strays:
    """Folders that the catalog does not know. kept: those with committed rows."""

    removed: Sequence[str] = ()
    kept: Sequence[str] = ()


class Vacuum:
    """One run of the sweep. It is made before the catalog is read; its methods block. before: seconds since 1970; files
    changed later are kept.
    """

    def __init__(self, database: CatalogDatabase, root: Path, before: float) -> None:
        self._database = database
        self._root = root
        self._before = before
        #: The hold is checked first: a backup that begins later reads a catalog that does not name the files removed
        #: here.
        self._held = is_held(root)

    def tables(self, locations: Sequence[str]) -> Iterator[Swept]:
        """Remove dead files of those of these tables that still exist. Raises SqlError."""
        listed = () if self._held else locations
        found = {location: list(_old_files(self._root / location, self._before)) for location in listed}
        areas = {location: list(_old_areas(self._root / location, self._before)) for location in locations}
        underway = IN_FLIGHT_FILES.files()
        decisions, snapshot = self._state()
        known = _by_location(snapshot)
        for location in locations:
            if location in known:
                table = known[location]
                nobodys = [file for file in found.get(location, ()) if str(Path(table.path, file.path)) not in underway]
                yield self._sweep(table, nobodys, decisions)
                _remove_empty(areas[location])

    def strays(self) -> Strays:
        """Remove folders of tables that the catalog does not know. Raises IoError."""
        if self._held:
            return Strays()
        there = [path for path in _folders(self._root) if _is_old(path, self._before)]
        underway = IN_FLIGHT_FILES.folders()
        _, snapshot = self._state()
        dropped = frozenset(self._database.dropped_locations(_EVER))
        known = frozenset(_by_location(snapshot)) | dropped | underway
        strange = [path for path in there if path.name not in known]
        kept = [path.name for path in strange if _has_decisions(path)]
        for path in strange:
            if path.name not in kept:
                tables.discard(self._root, path.name)
        # Claims of transactions whose members have died.
        _remove_empty(_old_areas(self._root, self._before))
        return Strays([path.name for path in strange if path.name not in kept], kept)

    def _state(self) -> tuple[Sequence[Decision], Snapshot]:
        """Read the decisions and then the snapshot. In this order a decision that is settled in between is in the
        version that the snapshot pins.
        """
        return self._database.decisions(), self._database.load()

    def _sweep(self, table: Table, found: Sequence[Found], decisions: Sequence[Decision]) -> Swept:
        assert table.storage is not None, "a stored table"
        location, folder = table.storage.location, Path(table.path)
        named = self._named_paths(table)
        named |= _decided_paths(table, decisions)
        left = len(named)
        named |= set(_taken_away(folder, self._before))
        dead = [file for file in found if file.path not in named]
        for file in dead:
            _unlink(folder / file.path)
        return Swept(location, len(dead), sum(file.size for file in dead), left)

    def _named_paths(self, table: Table) -> set[str]:
        """Return the paths that the catalog and Delta's log name. Raises DataCorrupted if the log has a later decision
        than the catalog: a catalog that was restored from an earlier time does not know which files are dead.
        """
        assert table.storage is not None, "a stored table"
        newest = readable_version(self._database, Path(table.path), table.storage.version)
        # The catalog is asked after the log: what other transactions commit meanwhile is in both.
        if newest.published.number > self._database.version():
            raise DataCorrupted(
                f'the log of the table in "{table.path}" is newer than the catalog',
                hint="Where the catalog was restored from a copy, restore the tables' folder from one of the same time.",
            )
        pinned = delta.open_version(table.path, table.storage.version)
        return {*pinned.paths, *newest.files.paths}


def _decided_paths(table: Table, decisions: Sequence[Decision]) -> set[str]:
    """Return the files that decisions add and that may not be in any Delta version yet. They include files that a later
    decision removes, and those of decisions that were made after `decisions` were read.
    """
    assert table.storage is not None, "a stored table"
    decided = (made.files.added for made in decisions if made.location == table.storage.location)
    return {file.path for added in (*decided, table.storage.added) for file in added}


def _by_location(snapshot: Snapshot) -> dict[str, Table]:
    return {table.storage.location: table for table in snapshot.tables() if table.storage is not None}


# -- kept files ------------------------------------------------------------------------------------------------------


def _taken_away(folder: Path, since: float) -> Iterator[str]:
    """Yield the files that versions since that time have removed. Commits stay in the log for a week, longer than any
    retention.
    """
    for path in (folder / delta.LOG).iterdir():
        status = _status(path) if _COMMIT.fullmatch(path.name) else None
        if status is not None and status.st_mtime >= since:
            for line in path.read_bytes().splitlines():
                action = msgspec.json.decode(line)
                if "remove" in action:
                    yield unquote(action["remove"]["path"])


def folders_with_rows(root: Path) -> Iterator[str]:
    """Return the folders of tables whose logs have committed rows. If the catalog is empty, it has lost these tables.
    Blocks.
    """
    return (path.name for path in _folders(root) if _has_decisions(path))


def _has_decisions(folder: Path) -> bool:
    """Return whether rows were ever committed to a table. True also if the log cannot be read, but has more than the
    version that CREATE makes, which a power failure may have torn.
    """
    if not (folder / delta.LOG).exists():
        return False
    try:
        return delta.Log(str(folder)).published_version.number > 0
    except DataCorrupted:
        return any(int(path.stem) > 0 for path in (folder / delta.LOG).iterdir() if _COMMIT.fullmatch(path.name))


# -- present files ---------------------------------------------------------------------------------------------------


def _old_files(folder: Path, before: float) -> Iterator[Found]:
    """Yield the Parquet files of a table that were written, and last touched, before that time."""
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != delta.LOG]
        for name in names:
            path = Path(base, name)
            status = _status(path)
            if name.endswith(".parquet") and status is not None and status.st_mtime < before:
                yield Found(path.relative_to(folder).as_posix(), status.st_size)


def _old_areas(folder: Path, before: float) -> Iterator[Path]:
    """Yield the folders of statements that are over; the folders of running statements are touched regularly."""
    underway = IN_FLIGHT_FILES.files()
    for path in folder.glob("_staging-*"):
        status = _status(path)
        if status is not None and status.st_mtime < before and str(path) not in underway:
            yield path


def _folders(root: Path) -> Collection[Path]:
    if not root.is_dir():
        return ()
    return [path for path in root.iterdir() if _LOCATION.fullmatch(path.name) and path.is_dir()]


def _is_old(folder: Path, before: float) -> bool:
    """Return whether nothing in the folder is younger."""
    paths = (Path(base, name) for base, folders, names in os.walk(folder) for name in (*folders, *names))
    statuses = map(_status, (folder, *paths))
    return all(status is not None and status.st_mtime < before for status in statuses)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a path; None if it is gone."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _remove_empty(folders: Iterable[Path]) -> None:
    for path in folders:
        # A folder that is not empty has young files.
        with contextlib.suppress(OSError):
            disk.current_disk().remove_folder(path)


def _unlink(path: Path) -> None:
    try:
        disk.current_disk().remove(path)
    except OSError as error:
        raise IoError(f'could not remove "{path}": {error.strerror or error}') from error

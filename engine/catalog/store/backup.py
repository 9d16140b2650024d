"""Backup and restore of stored data: the catalog, and for each stored table the files that the catalog names.

Theory. A commit is one transaction of the catalog database, and the files that it names never change. A copy of the
catalog's rows at one moment, with the files that they name, is therefore the state of that moment: it contains every
transaction that was acknowledged before, as a whole, and none that was committed after. The files exist when the
catalog names them and need only stay until they are copied, which a hold on all tables ensures
(`engine.storage.claims.Hold`). Members are not disturbed: they commit, publish and compact meanwhile.

A backup's folder has `tables`; `catalog.json`, the catalog's rows, whichever database keeps them; and `backup.json`,
written last, which lists each file with its size and digest. A folder without it is not a backup. A restore writes
nothing to the backup.

A backup contains no files of foreign tables, no configuration, and no uncommitted data.

Considered and rejected: copying the tables' folder as it is (`cp -a`), whose logs are later than the catalog; a backup
written by members, which would need a running one; links instead of copies, since a disk failure damages both.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from engine.catalog.store import contents
from engine.catalog.store.catalog_database import CatalogDatabase
from engine.catalog.store.contents import Contents, require_empty
from engine.catalog.store.store import is_url, open_database
from engine.common.os_errors import kind_of
from engine.storage import tables
from engine.storage.claims import Hold
from engine.storage.durable import sync
from engine.storage.file_copies import (
    Copied,
    copy_file,
    copy_log,
    describe_copy,
    restore_files,
    sync_folders,
    write_file,
)
from engine.storage.in_flight_files import Keeper
from wire.dataclass import dataclass
from wire.errors import DataCorrupted, ObjectInUse, UndefinedFile

_FORMAT: Final = 1
_CATALOG: Final = "catalog.json"
_TABLES: Final = "tables"
_MANIFEST: Final = "backup.json"
#: The number of attempts to copy a log, since Delta may truncate it meanwhile (it removes entries that are a week old).
_ATTEMPTS: Final = 5


class _Manifest(msgspec.Struct):
    """The content of backup.json. made: when the catalog was read, ISO 8601. files: by path below `tables`."""

    format: int
    made: str
    catalog: Copied
    files: dict[str, Copied]


@dataclass(frozen=True, slots=True)
class Saved:
    """The result of a backup. made: when the catalog was read. version: the catalog's. size: bytes of the tables'
    files.
    """

    made: str
    version: int
    tables: int
    files: int
    size: int

    def __str__(self) -> str:
        return (
            f"{self.tables} tables, {self.files} files, {self.size:,} bytes, as of {self.made} (version {self.version})"
        )


def back_up(location: Path | str, root: Path, target: Path) -> Saved:
    """Write a backup while members run. Blocks. Raises SqlError; the files written so far are then removed.

    location: the catalog's. root: the folder of stored tables. target: a folder that does not exist or is empty.
    """
    with _translate_errors(f"could not write the backup in {target}"):
        if not is_url(location) and not Path(location).exists():
            raise UndefinedFile(
                f"there is no catalog in {location}", hint="Check the data and catalog keys, or --data."
            )
        _require_room(target)
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.mkdir(parents=True, exist_ok=True)
        try:
            with contextlib.closing(open_database(location, root)) as database, _held(root):
                return _back_up(database, root, target)
        except BaseException:
            for written in target.iterdir():
                shutil.rmtree(written) if written.is_dir() else written.unlink()
            raise


def _require_room(target: Path) -> None:
    if target.exists() and any(target.iterdir()):
        raise ObjectInUse(f"{target} is not empty", hint="Give each backup a folder of its own.")


@contextlib.contextmanager
def _held(root: Path) -> Iterator[None]:
    """Keep members from removing files of tables. The hold exists before the catalog is read, and is touched as long as
    the backup takes.
    """
    hold, keeper = Hold(root), Keeper(root)
    keeper.start()
    try:
        yield
    finally:
        keeper.close()
        hold.release()


def _back_up(database: CatalogDatabase, root: Path, target: Path) -> Saved:
    (target / _TABLES).mkdir()
    given, made, logs = _logs(database, root, target / _TABLES)
    found = {
        f"{table.storage.location}/{path}": file.size
        for table in contents.snapshot(given, target / _TABLES).tables()
        if table.storage is not None
        for path, file in tables.data_files(table).items()
    }
    files = {path: _copy(root / path, target / _TABLES / path, size) for path, size in found.items()} | logs
    catalog = write_file(target / _CATALOG, msgspec.json.encode(given))
    manifest = _Manifest(_FORMAT, made, catalog, files)
    write_file(target / _MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    sync_folders(target)
    sync(target.parent)
    return _summarize(manifest, given)


def _summarize(manifest: _Manifest, given: Contents) -> Saved:
    size = sum(file.size for file in manifest.files.values())
    return Saved(manifest.made, given.version, len(given.rows["storages"]), len(manifest.files), size)


def _logs(database: CatalogDatabase, root: Path, target: Path) -> tuple[Contents, str, dict[str, Copied]]:
    """Return the catalog's rows, the time when they were read, and the copied logs that they pin. Each copied log could
    be opened.
    """
    for attempt in range(_ATTEMPTS):
        made = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        given, copied = database.contents(), dict[str, Copied]()
        try:
            for location, version, _ in given.rows["storages"]:
                for path, file in copy_log(root / location, target / location, version):
                    copied[f"{location}/{path}"] = file
            for table in contents.snapshot(given, target).tables():
                if table.storage is not None:
                    tables.data_files(table)
        except (FileNotFoundError, DataCorrupted):
            if attempt + 1 == _ATTEMPTS:
                raise
            for location, _, _ in given.rows["storages"]:
                shutil.rmtree(target / location, ignore_errors=True)
        else:
            return given, made, copied
    raise AssertionError("the last attempt returns or raises")


def _copy(source: Path, target: Path, size: int) -> Copied:
    file = copy_file(source, target)
    if file.size != size:
        raise DataCorrupted(f'"{source}" has {file.size} bytes, and the catalog says {size}')
    return file


def restore(source: Path, location: Path | str, root: Path) -> Saved:
    """Restore a backup into an empty place. Blocks. location: of the new catalog. root: the new folder of stored
    tables.

    The catalog is filled last, so no member starts on an interrupted restore. Raises SqlError: ObjectInUse if the
    catalog or the folder is not empty, DataCorrupted if the backup was changed since it was written.
    """
    with _translate_errors(f"could not restore the backup in {source}"):
        manifest = _manifest(source)
        given = _catalog(source, manifest)
        if root.exists() and any(root.iterdir()):
            raise ObjectInUse(
                f"{root} is not empty",
                hint="Move away what is there, also what a restore has left that was cut short.",
            )
        with contextlib.closing(open_database(location, root)) as database:
            require_empty(database.version(), str(location) if not is_url(location) else "PostgreSQL")
            root.mkdir(parents=True, exist_ok=True)
            restore_files(source / _TABLES, root, manifest.files)
            sync_folders(root)
            sync(root.parent)
            database.fill(given)
    return _summarize(manifest, given)


_MANIFESTS: Final = msgspec.json.Decoder(_Manifest)
_CONTENTS: Final = msgspec.json.Decoder(Contents)


def _manifest(source: Path) -> _Manifest:
    path = source / _MANIFEST
    if not path.exists():
        raise UndefinedFile(f"{source} is no backup, or not a whole one: it has no {_MANIFEST}")
    try:
        manifest = _MANIFESTS.decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise DataCorrupted(f"{path} is damaged: {error}") from None
    if manifest.format > _FORMAT:
        raise DataCorrupted(f"the backup in {source} was written by a later release of Sluice")
    return manifest


def _catalog(source: Path, manifest: _Manifest) -> Contents:
    data = (source / _CATALOG).read_bytes()
    if describe_copy(data) != manifest.catalog:
        raise DataCorrupted(f"{source / _CATALOG} is not what was backed up: its size or digest differs")
    return _CONTENTS.decode(data)


@contextlib.contextmanager
def _translate_errors(failed: str) -> Iterator[None]:
    """Translate errors of the file system into SqlErrors."""
    try:
        yield
    except OSError as error:
        raise kind_of(error)(f"{failed}: {error}") from error

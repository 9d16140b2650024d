"""The files of a table. The value of a stored table names them (`engine.storage`). The rest of this module is about
foreign tables: it resolves a path to a sorted list with a version, within the allowed roots.

A path is a file, a folder or a glob. In a folder, all files below it of the table's format count, except hidden ones
and those that begin with `_` (folders `_name=value` do count), as for Spark. Relative paths start at the member's data
directory. A table's files are looked up again for each statement, which costs a `stat` for a file and a listing for a
folder, so that new files are seen.
"""

from __future__ import annotations

import glob
import os
import stat
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from engine.catalog.model import partitions
from engine.catalog.model.objects import FileFormat, Table
from engine.catalog.model.remote_file_ref import RemoteFileRef
from engine.lakes import csv_headers, stores
from engine.lakes import tables as lakes
from engine.lakes.file_stamps import FileStamp, note_listing
from engine.lakes.infer import infer_columns
from engine.storage import tables as stored
from wire.dataclass import dataclass
from wire.errors import InsufficientPrivilege, ObjectNotInPrerequisiteState, UndefinedFile, WrongObjectType

_SUFFIXES: Final[dict[FileFormat, tuple[str, ...]]] = {
    "parquet": (".parquet", ".parq", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".tbl"),
    "json": (".json", ".json.gz", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
}


_ANY_SUFFIX: Final = tuple(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes)


@dataclass(frozen=True, slots=True)
class DataRoots:
    """The folders in which files may lie. base: the folder to which paths are relative. roots: the folders in which
    paths must lie; empty: any that the member can read.
    """

    base: Path
    roots: tuple[Path, ...] = ()

    def absolute(self, path: str) -> str:
        """Make `path` absolute. Raises InsufficientPrivilege outside the roots; `..` and links are resolved first.

        For object stores, the buckets in the member's configuration are the roots.
        """
        if stores.is_remote(path):
            return stores.absolute(path)
        whole = os.path.normpath(self.base / os.path.expanduser(path))
        fixed = Path(os.path.realpath(before_magic(whole)))
        if self.roots and not any(fixed.is_relative_to(os.path.realpath(root)) for root in self.roots):
            raise _outside(path)
        return whole

    def require(self, files: Iterable[str]) -> None:
        """Raise InsufficientPrivilege if one of these files, with links resolved, lies outside the roots. May block."""
        files = list(files)
        for file in filter(stores.is_remote, files):
            stores.require(file)
        if not self.roots:
            return
        roots = [os.path.realpath(root) for root in self.roots]

        def is_inside(place: str) -> bool:
            fixed = Path(os.path.realpath(place))
            return any(fixed.is_relative_to(root) for root in roots)

        folders: dict[str, bool] = {}
        for file in (file for file in files if not stores.is_remote(file)):
            folder = os.path.dirname(file)
            if folder not in folders:
                folders[folder] = is_inside(folder)
            # A file that is no link lies in its folder, which is resolved once for many files.
            if not (folders[folder] and not os.path.islink(file)) and not is_inside(file):
                raise _outside(file)


def _outside(path: str) -> InsufficientPrivilege:
    return InsufficientPrivilege(
        f'path "{path}" lies outside the folders that this member may read',
        hint="Its configuration names them under roots.",
    )


def format_of_name(path: str) -> FileFormat | None:
    """Return the format that the ending of a name denotes."""
    name = path.lower()
    return next((file_format for file_format, suffixes in _SUFFIXES.items() if name.endswith(suffixes)), None)


def without_ending(name: str) -> str:
    """Return a name without an ending that denotes a format."""
    lowered = name.lower()
    # The longest ending: `.csv.gz` for `a.csv.gz`, not only `.gz`.
    ending = max(filter(lowered.endswith, _ANY_SUFFIX), key=len, default="")
    return name[: len(name) - len(ending)]


def listed_from(path: str) -> str:
    """Return the folder below which the files of an absolute path are looked for."""
    if stores.is_remote(path):
        return path.rpartition("/")[0] if path.lower().endswith(_ANY_SUFFIX) else path
    return os.path.dirname(path) if os.path.isfile(path) else before_magic(path)


def before_magic(path: str) -> str:
    """Return the part of a glob before the folder of its first wildcard."""
    parts = Path(path).parts
    for index, part in enumerate(parts):
        if glob.has_magic(part):
            return str(Path(*parts[:index]))
    return path


def list_files(path: str, file_format: FileFormat) -> tuple[tuple[str, ...], int]:
    """Return (files, version) of an absolute path. Raises UndefinedFile if there is none, WrongObjectType if one is a
    FIFO, a socket or a device.
    """
    if stores.is_remote(path):
        return _in_store(path, file_format)
    if os.path.isfile(path):
        found: Sequence[str] = (path,)
    elif os.path.isdir(path):
        found = sorted(_below(path, file_format))
    else:
        found = sorted(f for f in glob.glob(path, recursive=True) if os.path.exists(f) and not os.path.isdir(f))
    if not found:
        what = "directory has no such files" if os.path.isdir(path) else "No such file or directory"
        raise UndefinedFile(f'could not read {file_format} files at "{path}": {what}')
    stamps = {}
    for file in found:
        try:
            status = os.stat(file)
        except OSError as error:
            # A link whose target is missing, or a file that was deleted after the listing.
            raise UndefinedFile(
                f'could not read {file_format} files at "{path}": "{file}": {error.strerror}'
            ) from error
        if not stat.S_ISREG(status.st_mode):
            # Opening a FIFO would wait for its other end, and could not be cancelled.
            raise WrongObjectType(f'could not read {file_format} files at "{path}": "{file}" is not a regular file')
        stamps[file] = FileStamp(status.st_size, status.st_mtime_ns)
    return _note_files(path, stamps)


def _in_store(path: str, file_format: FileFormat) -> tuple[tuple[str, ...], int]:
    found = sorted(stores.list_files(path), key=lambda file: file.path)
    if [file.path for file in found] != [path]:
        found = [file for file in found if _counts(file.path[len(path) :], file_format)]
    if not found:
        raise UndefinedFile(f'could not read {file_format} files at "{path}": there are no such files')
    return _note_files(path, {file.path: FileStamp(file.size, file.changed) for file in found})


def _note_files(path: str, stamps: Mapping[str, FileStamp]) -> tuple[tuple[str, ...], int]:
    note_listing(path, stamps)
    digest = 0
    for file, stamp in stamps.items():
        digest = zlib.crc32(f"{file}|{stamp.size}|{stamp.changed}".encode(), digest)
    return tuple(stamps), digest


def _counts(below: str, file_format: FileFormat) -> bool:
    """Return whether a file at this place below a folder belongs to the folder's table."""
    *folders, name = below.split("/")
    return _is_data(name, file_format) and all(map(is_listed, filter(None, folders)))


def is_listed(folder: str) -> bool:
    """Return whether the files of a folder of this name, below a table's folder, belong to the table."""
    return not folder.startswith(".") and ("=" in folder or not folder.startswith("_"))


def _is_data(name: str, file_format: FileFormat) -> bool:
    return not name.startswith((".", "_")) and name.lower().endswith(_SUFFIXES[file_format])


def _below(folder: str, file_format: FileFormat) -> Sequence[str]:
    files = []
    for base, folders, names in os.walk(folder):
        folders[:] = filter(is_listed, folders)
        files += [os.path.join(base, name) for name in names if _is_data(name, file_format)]
    return files


def refresh(table: Table) -> Table:
    """Return the table with its current files; the same object if nothing changed. The files of a stored table are
    those that its value names.
    """
    if table.storage is not None:
        files = stored.files(table)
        return table if files is table.files or files == table.files else replace(table, files=files)
    if table.parts:
        return _refresh_parts(table)
    if table.lake:
        return lakes.refresh(table)
    files, version = list_files(table.path, table.format)
    if version == table.version and files == table.files:
        return table
    partitions.require_readable(table.name, table.columns, table.partition_by, files)
    return csv_headers.with_columns_by_name(replace(table, files=files, version=version))


def _refresh_parts(table: Table) -> Table:
    """List the parts that this member holds; the others get stand-ins. Columns that are not declared are taken from
    the files here. Raises ObjectNotInPrerequisiteState if there are none.
    """
    files: list[str] = []
    here: list[str] = []
    version = 0
    for part in table.parts:
        if part.here:
            found, digest = list_files(part.path, table.format)
            here += found
        else:
            found, digest = (str(RemoteFileRef(part.member, table.format, part.path)),), 0
        files += found
        version = zlib.crc32(f"{part.member}|{part.path}|{digest}".encode(), version)
    if table.columns and version == table.version and tuple(files) == table.files:
        return table
    columns = table.columns or (infer_columns(tuple(here), table.format, table.options) if here else ())
    if not columns:
        holders = ", ".join(dict.fromkeys(part.member for part in table.parts))
        raise ObjectNotInPrerequisiteState(
            f'the columns of "{table.name}" are not known to this member',
            detail=f"The topology file does not declare them, and its files are at {holders}.",
            hint=f"Declare them there (columns), or ask one of {holders}.",
        )
    return replace(table, files=tuple(files), version=version, columns=columns)

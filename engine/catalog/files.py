"""The files of a foreign table: from a path to a sorted list with a version, within the roots that are allowed.

A path is a file, a folder (all files below it of the table's format, hidden ones and those that begin with `_` left out,
as Spark does) or a glob. Relative paths start at the member's data directory. A table's files are looked up anew for each
statement, which is a `stat` for a file and a listing for a folder, so that files that appear are seen.
"""

from __future__ import annotations

import glob
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from engine.catalog.objects import FileFormat, Table
from wire.errors import InsufficientPrivilege, UndefinedFile

_SUFFIXES: Final[dict[FileFormat, tuple[str, ...]]] = {
    "parquet": (".parquet", ".parq", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".tbl"),
    "json": (".json", ".json.gz", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
}


@dataclass(frozen=True, slots=True)
class DataRoots:
    """base: where relative paths start. roots: folders that paths must lie in; empty allows any the member can read."""

    base: Path
    roots: tuple[Path, ...] = ()

    def absolute(self, path: str) -> str:
        """`path` made absolute. Raises InsufficientPrivilege outside the roots; `..` and links are resolved first."""
        whole = os.path.normpath(self.base / os.path.expanduser(path))
        fixed = Path(os.path.realpath(_before_magic(whole)))
        if self.roots and not any(fixed.is_relative_to(os.path.realpath(root)) for root in self.roots):
            raise InsufficientPrivilege(
                f'path "{path}" lies outside the folders that this member may read',
                hint="Its configuration names them under roots.",
            )
        return whole


def _before_magic(path: str) -> str:
    """The part of a glob before its first wildcard's folder."""
    parts = Path(path).parts
    for index, part in enumerate(parts):
        if glob.has_magic(part):
            return str(Path(*parts[:index]))
    return path


def list_files(path: str, file_format: FileFormat) -> tuple[tuple[str, ...], int]:
    """(files, version) of an absolute path. Raises UndefinedFile when there is none."""
    if os.path.isfile(path):
        found: Sequence[str] = (path,)
    elif os.path.isdir(path):
        found = sorted(_below(path, file_format))
    else:
        found = sorted(f for f in glob.glob(path, recursive=True) if os.path.isfile(f))
    if not found:
        what = "directory has no such files" if os.path.isdir(path) else "No such file or directory"
        raise UndefinedFile(f'could not read {file_format} files at "{path}": {what}')
    digest = 0
    for file in found:
        status = os.stat(file)
        digest = zlib.crc32(f"{file}|{status.st_size}|{status.st_mtime_ns}".encode(), digest)
    return tuple(found), digest


def _below(folder: str, file_format: FileFormat) -> Sequence[str]:
    files = []
    for base, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith((".", "_"))]
        files += [
            os.path.join(base, name)
            for name in names
            if not name.startswith((".", "_")) and name.lower().endswith(_SUFFIXES[file_format])
        ]
    return files


def refresh(table: Table) -> Table:
    """The table with its files as they are now; the same object when nothing changed."""
    files, version = list_files(table.path, table.format)
    if version == table.version and files == table.files:
        return table
    return replace(table, files=files, version=version)

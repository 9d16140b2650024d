"""Copies of tables' files for a backup: durable, and with a digest each, so that a restore can detect a damaged copy.

Data files never change, so they are copied as they are. Of Delta's log, the entries up to the pinned version are
copied, and none beyond: to the catalog that is copied with them, a log with later decisions would look like that of
another point in time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from engine.storage import delta
from engine.storage.durable import sync
from wire.dataclass import dataclass
from wire.errors import DataCorrupted

_CHUNK: Final = 1 << 20
_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Copied:
    """A copied file. size: its bytes. digest: their BLAKE2b, in hexadecimal."""

    size: int
    digest: str


def copy_log(source: Path, target: Path, version: int) -> Iterator[tuple[str, Copied]]:
    """Copy a table's log up to a version of Delta's, from the table's folder to another. Yields the copies by their
    paths below the folder.

    Raises FileNotFoundError if an entry is removed meanwhile. Whether the log is complete shows when the version is
    opened.
    """
    for entry, number in delta.versions_of_files(source / delta.LOG).items():
        if number <= version:
            path = f"{delta.LOG}/{entry}"
            yield path, copy_file(source / path, target / path)


def copy_file(source: Path, target: Path) -> Copied:
    """Copy a file, and make the copy's bytes durable. Creates missing folders. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.blake2b(digest_size=_DIGEST_BYTES), 0
    with source.open("rb") as given, target.open("xb") as taken:
        while chunk := given.read(_CHUNK):
            digest.update(chunk)
            taken.write(chunk)
            size += len(chunk)
        taken.flush()
        os.fsync(taken.fileno())
    return Copied(size, digest.hexdigest())


def restore_files(source: Path, target: Path, known: Mapping[str, Copied]) -> None:
    """Copy files, given by their paths below a folder, to another folder. Raises DataCorrupted for a copy that was
    changed, OSError.
    """
    for path, expected in known.items():
        if copy_file(source / path, target / path) != expected:
            raise DataCorrupted(f'"{source / path}" is not what was backed up: its size or digest differs')


def sync_folders(root: Path) -> None:
    """Make the names of everything below a folder durable. Raises OSError."""
    for base, _, _ in os.walk(root, topdown=False):
        sync(Path(base))


def write_file(path: Path, data: bytes) -> Copied:
    """Write a new file and make its bytes durable, but not its name. Raises OSError."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return describe_copy(data)


def describe_copy(data: bytes) -> Copied:
    return Copied(len(data), hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest())

"""The disk as storage uses it: every change that it makes below the folder of tables goes through a `Disk`.

What is written outlives the process at once, and a power failure only when it was synced: a file's bytes by a sync of the file, its
name by a sync of the folder. docs/storage.md ("What outlives a power failure") has the argument that stands on it.

A process has one disk. The simulation (`simulated.disk`) puts another in its place, which stops processes between two
changes, fails them, and takes back what was not synced.

delta-rs reads and writes its files by itself: `Disk.let_write` stands around each of its writes, `Disk.let_read` around what it is
asked of a log as a whole. Arrow writes the bytes of Parquet files into what `Disk.create` gives. SQLite's files are its own affair.

Rejected: to give the disk to each object that writes (a parameter of some twenty functions, for one that never differs in a
member); a file system in user space (root, a kernel module, ten times the cost of a run).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

T = TypeVar("T")


class Disk:
    """The operating system's. All methods raise OSError."""

    def sync(self, path: Path) -> None:
        """Make a file's bytes, or a folder's entries, durable."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def create(self, path: Path) -> Any:
        """A new file, to be written from its beginning: Arrow's."""
        return pa.OSFile(str(path), "wb")

    def make_folder(self, path: Path, *, exist_ok: bool = False) -> None:
        """A folder in one that is there."""
        path.mkdir(exist_ok=exist_ok)

    def rename(self, source: Path, target: Path) -> None:
        os.rename(source, target)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        path.unlink(missing_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        path.rmdir()

    def remove_tree(self, path: Path, *, ignore_errors: bool = False) -> None:
        """Remove a folder with all that is in it. ignore_errors: leave what cannot be removed, and do not say so."""
        shutil.rmtree(path, ignore_errors=ignore_errors)

    def touch(self, path: Path) -> None:
        """Set the time of a file's or folder's last change to now."""
        os.utime(path)

    def let_read(self, log: Path, what: Hashable, read: Callable[[], T]) -> T:
        """Have a library read the files of a log. what: says which part of them; equal files and equal parts give equal results."""
        del log, what
        return read()

    def let_write(self, folder: Path, write: Callable[[], T]) -> T:
        """Have a library change what is below a folder."""
        del folder
        return write()


_disk = Disk()


def current_disk() -> Disk:
    """The process's disk."""
    return _disk


@contextmanager
def replace_disk(disk: Disk) -> Iterator[None]:
    """Have another disk in the place of the process's, for all threads."""
    global _disk  # noqa: PLW0603 - a process has one disk
    before, _disk = _disk, disk
    try:
        yield
    finally:
        _disk = before

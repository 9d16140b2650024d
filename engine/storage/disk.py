"""The disk interface of storage: every change below the folder of tables goes through a `Disk`.

Written data survives the end of the process at once, but it survives a power failure only if it was synced: the bytes
of a file by a sync of the file, its name by a sync of its folder. docs/storage.md ("What outlives a power failure") has
the argument that rests on this.

A process has one disk. The simulation (`simulated.disk`) replaces it by one that stops processes between two changes,
makes changes fail, and undoes what was not synced.

delta-rs reads and writes its files itself: `Disk.let_write` wraps each of its writes, `Disk.let_read` wraps requests
that read a log as a whole. Arrow writes the bytes of Parquet files into the file that `Disk.create` returns. SQLite
manages its own files. A restore (`engine.storage.file_copies`) fills a folder that no member uses yet, and only then the
catalog. `tests/unit/test_repository.py` holds the modules that write tables to this.

Rejected: passing the disk to each object that writes (a parameter of some twenty functions, which never differs within
a member); a file system in user space (root, a kernel module, ten times the cost of a run).
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
    """The operating system's disk. All methods raise OSError."""

    def sync(self, path: Path) -> None:
        """Make a file's bytes, or a folder's entries, durable."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def create(self, path: Path) -> Any:
        """Create a file, to be written from its beginning. Returns Arrow's file."""
        return pa.OSFile(str(path), "wb")

    def make_folder(self, path: Path, *, exist_ok: bool = False) -> None:
        """Create a folder in an existing one."""
        path.mkdir(exist_ok=exist_ok)

    def make_folders(self, path: Path) -> None:
        """Create a folder and those above it, as far as they do not exist."""
        if not path.is_dir():
            self.make_folders(path.parent)
            self.make_folder(path, exist_ok=True)

    def rename(self, source: Path, target: Path) -> None:
        os.rename(source, target)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        path.unlink(missing_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        path.rmdir()

    def remove_tree(self, path: Path, *, ignore_errors: bool = False) -> None:
        """Remove a folder with everything in it. ignore_errors: leave what cannot be removed, without an error."""
        shutil.rmtree(path, ignore_errors=ignore_errors)

    def touch(self, path: Path) -> None:
        """Set the modification time of a file or folder to now."""
        os.utime(path)

    def let_read(self, log: Path, what: Hashable, read: Callable[[], T]) -> T:
        """Let a library read the files of a log. what: identifies which part of them; equal files and equal parts give
        equal results.
        """
        del log, what
        return read()

    def let_write(self, folder: Path, write: Callable[[], T]) -> T:
        """Let a library change files below a folder."""
        del folder
        return write()


_disk = Disk()


def current_disk() -> Disk:
    """Return the process's disk."""
    return _disk


@contextmanager
def replace_disk(disk: Disk) -> Iterator[None]:
    """Replace the process's disk, for all threads, within the block."""
    global _disk  # noqa: PLW0603 - a process has one disk
    before, _disk = _disk, disk
    try:
        yield
    finally:
        _disk = before

"""The state of files that may be replaced under their names: what is cached of a file is keyed by it."""

from __future__ import annotations

import os
from typing import NamedTuple

from engine.lakes.file_stamps import is_settled


class FileState(NamedTuple):
    """The state of a file.

    size: bytes. changed: the time of the last change in nanoseconds. inode: the file's. inode_changed: the time at which
    the inode last changed, in nanoseconds. A program that copies a file with its times (cp -p, tar, rsync) sets
    `changed`, and nobody sets this one.
    """

    size: int
    changed: int
    inode: int
    inode_changed: int

    @property
    def is_settled(self) -> bool:
        """Whether a later change of the file will show in its state."""
        return is_settled(self.changed)


def state_of(file: str) -> FileState | None:
    """Return the state of a file; None where it cannot be looked at."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return FileState(status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)

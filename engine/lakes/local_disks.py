"""Finds out which paths lie on local disks, so that the event loop's thread may look at them.

A call that looks at a file of a network file system, or of one that a process serves, waits as long as its server does
not answer, and cannot be interrupted. On the event loop's thread it would stop the whole member. So code that looks at
files there asks `are_local` first, which looks at dictionaries only, and leaves paths that are not known to be local to
a thread, which calls `look_up`.

A path is local if all file systems on its way, those below it, and those on the way of what links resolve it to are
of types that are known to be local (proc(5), /proc/self/mountinfo). What was found is kept until the mounts change,
which `look_up` notices at once and `are_local` within a second. Where there is no such file, no path is local, and
all of this runs on threads.

Rejected: a list of network file systems, which would lack the next one; statfs(2) for each path, which waits for the
server too.
"""

from __future__ import annotations

import os
import re
import select
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Final

from engine.catalog.model.objects import Table
from engine.lakes import stores
from engine.lakes.foreign_files import before_magic

_MOUNTS: Final = "/proc/self/mountinfo"
#: File systems whose files lie in memory or on a device of this machine, and overlays of such. The device of one of these
#: types may be a network's (iSCSI, NBD): the kernel reports errors of such a device after a time.
_LOCAL_TYPES: Final = frozenset((
    "bcachefs", "btrfs", "devtmpfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfsplus", "iso9660", "jfs",
    "nilfs2", "ntfs3", "overlay", "proc", "ramfs", "reiserfs", "rootfs", "squashfs", "sysfs", "tmpfs", "udf", "vfat",
    "xfs", "zfs",
))  # fmt: skip
_CHECK_SECONDS: Final = 1.0
_PATHS_MOST: Final = 1 << 18
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


def mounts_of(text: str) -> Mapping[str, bool]:
    """Return the mount points of a mountinfo file, and whether everything that is mounted there is local."""
    mounts: dict[str, bool] = {}
    for line in text.splitlines():
        mounted, _, source = line.partition(" - ")
        point = _ESCAPED.sub(lambda code: chr(int(code[1], 8)), mounted.split(" ")[4])
        # A mount over another one hides it, but the way to it is through it.
        mounts[point] = mounts.get(point, True) and source.split(" ")[0] in _LOCAL_TYPES
    return mounts


class LocalPaths:
    """The paths that were looked up while the mounts were the same.

    mounts: as `mounts_of` returns them.
    """

    def __init__(self, mounts: Mapping[str, bool]) -> None:
        self._others = [point for point, is_local in mounts.items() if not is_local]
        self.found: dict[str, bool] = {}

    def look_up(self, paths: Iterable[str]) -> None:
        """Find out which of these absolute paths are local. May block."""
        folders: dict[str, str | None] = {}
        for path in paths:
            if path in self.found:
                continue
            if len(self.found) >= _PATHS_MOST:
                self.found.clear()
            self.found[path] = not stores.is_remote(path) and self._is_local(before_magic(path), folders)

    def _is_local(self, path: str, folders: dict[str, str | None]) -> bool:
        """Find out whether a path is local.

        folders: those that were looked at before, with what links resolve them to; None if they are not local.
        """
        folder, name = os.path.split(path)
        if folder not in folders:
            real = os.path.realpath(folder) if self._is_reached(folder) else None
            folders[folder] = real if real is not None and self._is_reached(real) else None
        if (real := folders[folder]) is None:
            return False
        real = os.path.join(real, name)
        if self._is_reached(real) and os.path.islink(real):
            real = os.path.realpath(real)
        below = real.rstrip("/") + "/"
        return self._is_reached(real) and not any(point.startswith(below) for point in self._others)

    def _is_reached(self, path: str) -> bool:
        """Return whether all mounts on the way to a path are local."""
        way = path.rstrip("/") + "/"
        return not any(way.startswith(point.rstrip("/") + "/") for point in self._others)


class _Mounts:
    """The mounts of this process, and the paths that were looked up since they last changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: int | None = None
        self._changes = select.poll()
        self._checked = 0.0
        self._paths: LocalPaths | None = None

    def paths(self) -> LocalPaths | None:
        """Return what was looked up while the mounts were as they are now; None if they must be read. Does not block."""
        if self._paths is not None and time.monotonic() - self._checked > _CHECK_SECONDS:
            self._check()
        return self._paths

    def _check(self) -> None:
        self._checked = time.monotonic()
        # The kernel reports each change once to each open file.
        if self._changes.poll(0):
            self._paths = None

    def read(self) -> LocalPaths:
        """Return the same, and read the mounts if necessary. Raises OSError."""
        with self._lock:
            self._check()
            if (paths := self._paths) is not None:
                return paths
            if self._file is None:
                self._file = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
                self._changes.register(self._file, select.POLLPRI)
                self._check()
            with open(_MOUNTS, errors="surrogateescape") as mounts:
                self._paths = paths = LocalPaths(mounts_of(mounts.read()))
            return paths

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)


_mounts = _Mounts()


def _begin_again() -> None:
    """Have a forked process open the file for itself: a change is reported once, and the processes share the open file."""
    global _mounts  # noqa: PLW0603 - a process has one table of mounts
    _mounts.close()
    _mounts = _Mounts()


os.register_at_fork(after_in_child=_begin_again)


def are_local(paths: Iterable[str]) -> bool:
    """Return whether all of these absolute paths are known to be local. Does not block."""
    known = _mounts.paths()
    return known is not None and all(map(known.found.get, paths))


def look_up(paths: Iterable[str]) -> None:
    """Find out which of these absolute paths are local. May block."""
    try:
        known = _mounts.read()
    except OSError:
        return
    known.look_up(paths)


def paths_of(tables: Iterable[Table]) -> tuple[str, ...]:
    """Return the paths that are looked at to find the current files of tables, and those of the files as they are known."""
    paths: list[str] = []
    for table in tables:
        paths += [part.path for part in table.parts if part.here] if table.parts else [table.path]
        if table.storage is None:
            paths += table.files
    return tuple(paths)

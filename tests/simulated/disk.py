"""A disk that loses unsynced data, fills up, and fails.

The files are real ones, in a folder in memory, so delta-rs, Arrow and SQLite are the real ones too. Only the effect of
a power failure on them is simulated. `sync` of a file records that its bytes are durable, `sync` of a folder that its
entries are. A power failure then visits the folders and decides at random for each difference:

- an entry that no sync has seen (created, or renamed to) exists or not: so any subset of several changes survives, in
  no order;
- an entry that a sync has seen and that was removed since is gone, or comes back;
- bytes that no sync has seen are complete, missing, cut off at a sector, or zeros from there on.

What has survived is durable from then on. A kill loses nothing.

While the disk is `bad`, changes fail at random with ENOSPC or EIO, before they take effect or, for files that a library
writes, after.

Not simulated: bytes of a file that is written twice (no file of ours is); a sync that fails and loses the bytes for
good while a second one succeeds; errors in the middle of what delta-rs or Arrow write. SQLite's own files survive as
they are, since it syncs each commit: where it does not, the catalog is an earlier one after a power failure
(`simulated.databases`).

Considered and rejected: a file system in memory under Python's own calls, which delta-rs and SQLite do not see.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from engine.common.weighted_lru_cache import WeightedLruCache
from engine.storage.disk import Disk
from simulated.stage import Stage

T = TypeVar("T")
_SECTOR: Final = 512
#: The probability that a change fails while the disk is bad.
_FAILS: Final = 0.3
_ERRORS: Final = (errno.ENOSPC, errno.ENOSPC, errno.EIO)
#: The results of libraries that have read logs, by a digest of the files. delta-rs took a quarter of a run to read the
#: same files again.
_READ: Final[WeightedLruCache[Hashable, Any]] = WeightedLruCache(256)


class SimulatedDisk(Disk):
    """The simulated disk; see the module's docstring. All files that exist at first are durable.

    folder: the folder that it simulates.
    kept: a folder beside it that holds the bytes of removed files.
    left_out: prefixes of names in `folder` that the disk ignores.
    """

    def __init__(self, stage: Stage, folder: Path, kept: Path, left_out: str) -> None:
        self._stage = stage
        self._folder = folder
        self._kept = kept
        self._left_out = left_out
        self.bad = False
        self.failures = 0
        #: Sizes of files whose bytes were synced, by inode.
        self._synced: dict[int, int] = {}
        #: Entries of folders, as they were synced: inodes by name. Folders are strings: paths cost a sixth of a run.
        self._entries: dict[str, dict[str, int]] = {}
        #: The inodes that `kept` has an entry for.
        self._linked: set[int] = set()
        self._settle(str(folder))

    # -- what storage does ---------------------------------------------------------------------------------------

    def sync(self, path: Path) -> None:
        self._change("sync", path)
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            self._see_entries(str(path))
        else:
            self._synced[status.st_ino] = status.st_size

    def create(self, path: Path) -> Any:
        self._change("create", path)
        return super().create(path)

    def make_folder(self, path: Path, *, exist_ok: bool = False) -> None:
        self._change("make folder", path)
        super().make_folder(path, exist_ok=exist_ok)

    def rename(self, source: Path, target: Path) -> None:
        self._change("rename to", target)
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._change("remove", path)
        super().remove(path)

    def remove_folder(self, path: Path) -> None:
        self._change("remove", path)
        super().remove_folder(path)

    def remove_tree(self, path: Path, *, ignore_errors: bool = False) -> None:
        try:
            self._change("remove all of", path)
        except OSError:
            if ignore_errors:
                return
            raise
        super().remove_tree(path, ignore_errors=ignore_errors)

    def touch(self, path: Path) -> None:
        self._stage.require_alive()
        super().touch(path)

    def let_write(self, folder: Path, write: Callable[[], T]) -> T:
        self._change("write log of", folder)
        written = write()
        self._change("log is written of", folder)
        return written

    def let_read(self, log: Path, what: Hashable, read: Callable[[], T]) -> T:
        """Cache the result of reading a log, by the content of its files: a process that starts reads the same files
        again, and all runs begin with equal files.

        Before the newest version is read, others may add one. A given version never changes, and is read under a lock.
        """
        if what == "newest":
            self._stage.step("read the log")
        # The folder of a table that was dropped long ago is gone.
        found: T = _READ.get((what, _digest(log)), read) if log.is_dir() else read()
        return found

    def _change(self, what: str, path: Path) -> None:
        self._stage.step(what, _kind(path))
        if self.bad and self._stage.runs is not None and self._stage.chance.random() < _FAILS:
            number = self._stage.chance.choice(_ERRORS)
            self.failures += 1
            self._stage.note("fails:", errno.errorcode[number])
            raise OSError(number, os.strerror(number), str(path))

    # -- what happens to it --------------------------------------------------------------------------------------

    def lose_power(self) -> None:
        """Undo, at random, the changes that were not synced."""
        self._lose(str(self._folder))
        self._settle(str(self._folder))

    def _lose(self, folder: str) -> None:
        durable = self._entries.get(folder, {})
        present = {each.name: each.inode() for each in self._list_folder(folder)}
        for name in sorted(present.keys() | durable.keys()):
            before, now = durable.get(name), present.get(name)
            if before != now and self._by_half():
                self._put_back(f"{folder}/{name}", before)
        for each in sorted(self._list_folder(folder), key=lambda each: each.name):
            if each.is_dir():
                self._lose(each.path)
            elif self._synced.get((status := each.stat()).st_ino) != status.st_size:
                self._tear(each.path, status.st_size)

    def _put_back(self, path: str, inode: int | None) -> None:
        """Restore an entry: the inode, or None for no entry."""
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        if inode is None:
            return
        if inode in self._linked:
            os.link(self._place_of(inode), path)
        else:
            os.mkdir(path)
            for name, each in self._entries.get(path, {}).items():
                self._put_back(f"{path}/{name}", each)

    def _tear(self, path: str, size: int) -> None:
        kept = self._stage.chance.choice((size, 0, self._sector(size), self._sector(size)))
        zeros = kept < size and self._by_half()
        self._stage.note("torn:", _kind(Path(path)), kept < size, zeros)
        os.truncate(path, kept)
        if zeros:
            os.truncate(path, size)

    def _sector(self, size: int) -> int:
        # One draw for any size: times in delta-rs' commits have more or fewer digits.
        return int(self._stage.chance.random() * (size // _SECTOR + 1)) * _SECTOR

    def _by_half(self) -> bool:
        return self._stage.chance.random() < 0.5

    # -- what is durable -----------------------------------------------------------------------------------------

    def _settle(self, folder: str) -> None:
        """Make everything in the folder durable."""
        for each in self._see_entries(folder):
            if each.is_dir():
                self._settle(each.path)
            else:
                status = each.stat()
                self._synced[status.st_ino] = status.st_size

    def _see_entries(self, folder: str) -> Sequence[os.DirEntry[str]]:
        """Record that a folder's entries are durable. Returns them."""
        listed = self._list_folder(folder)
        self._entries[folder] = {each.name: each.inode() for each in listed}
        for each in listed:
            if (inode := each.inode()) not in self._linked and each.is_file():
                os.link(each.path, self._place_of(inode))
                self._linked.add(inode)
        return listed

    def _place_of(self, inode: int) -> str:
        """Return the path at which the bytes of a file are kept."""
        return f"{self._kept}/{inode}"

    def _list_folder(self, folder: str) -> Sequence[os.DirEntry[str]]:
        mine = folder == str(self._folder)
        with os.scandir(folder) as found:
            return [each for each in found if not (mine and each.name.startswith(self._left_out))]


def _digest(folder: Path) -> bytes:
    """Return a digest of the names and bytes of the files in a folder."""
    digest = hashlib.blake2b()
    for name in sorted(os.listdir(folder)):
        content = (folder / name).read_bytes()
        digest.update(f"{name}/{len(content)}/".encode())
        digest.update(content)
    return digest.digest()


def _kind(path: Path) -> str:
    """Return the kind of the file or folder at a path, without its name."""
    name = path.name
    if name == "_delta_log" or "_delta_log" in path.parts:
        return f"log {name}" if name[:1].isdigit() else "log"
    if name.endswith(".parquet"):
        return "data file"
    return "area" if name.startswith("_staging") else "folder"

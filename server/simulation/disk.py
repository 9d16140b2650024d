"""A disk that loses what was not synced, runs full, and fails.

The files are real ones, in a folder in memory, so that delta-rs, Arrow and SQLite are the real ones, too. What is simulated is what
a power failure leaves of them. `sync` of a file remembers that its bytes are on the disk, `sync` of a folder its entries. A power
failure then goes through the folders and decides, by chance, for each difference:

- an entry that no sync has seen (made, or renamed to) is there or not: so of several changes any part survives, in no order;
- an entry that a sync has seen and that was removed since is gone, or comes back;
- bytes that no sync has seen are whole, none, cut off at a sector, or zeros from there on.

What has survived is on the disk from then on. A kill loses nothing.

While the disk is `bad`, changes fail with ENOSPC or EIO by chance, before they take effect or, of what a library writes, after.

Not simulated: bytes of a file that is written twice (no file of ours is); a sync that fails and loses the bytes for good while a
second one succeeds; errors in the middle of what delta-rs or Arrow write. SQLite's own files survive as they are, since it syncs
each commit: where it does not, the catalog is an earlier one after a power failure (`server.simulation.databases`).

Considered and rejected: a file system in memory under Python's own calls, which delta-rs and SQLite do not see.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from engine.storage.disk import Disk
from server.simulation.stage import Stage

T = TypeVar("T")
_SECTOR: Final = 512
#: How often a change fails while the disk is bad.
_FAILS: Final = 0.3
_ERRORS: Final = (errno.ENOSPC, errno.ENOSPC, errno.EIO)


class SimulatedDisk(Disk):
    """See the module's docstring. folder: what it holds. kept: a folder beside it, in which the bytes of what was removed are.
    left_out: the beginning of names in `folder` that are another's affair. All that is there is durable at first."""

    def __init__(self, stage: Stage, folder: Path, kept: Path, left_out: str) -> None:
        self._stage = stage
        self._folder = folder
        self._kept = kept
        self._left_out = left_out
        self.bad = False
        self.failures = 0
        #: Sizes of files whose bytes were synced, by inode.
        self._synced: dict[int, int] = {}
        #: Entries of folders, as they were synced: inodes by name.
        self._entries: dict[Path, dict[str, int]] = {}
        self._settle(folder)

    # -- what storage does ---------------------------------------------------------------------------------------

    def sync(self, path: Path) -> None:
        self._change("sync", path)
        if path.is_dir():
            self._see_entries(path)
        else:
            self._see_bytes(path)

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

    def _change(self, what: str, path: Path) -> None:
        self._stage.step(what, _kind(path))
        if self.bad and self._stage.runs is not None and self._stage.chance.random() < _FAILS:
            number = self._stage.chance.choice(_ERRORS)
            self.failures += 1
            self._stage.note("fails:", errno.errorcode[number])
            raise OSError(number, os.strerror(number), str(path))

    # -- what happens to it --------------------------------------------------------------------------------------

    def lose_power(self) -> None:
        """Take back, by chance, what was not synced."""
        self._lose(self._folder)
        self._settle(self._folder)

    def _lose(self, folder: Path) -> None:
        durable = self._entries.get(folder, {})
        present = self._inodes(folder)
        for name in sorted(present.keys() | durable.keys()):
            before, now = durable.get(name), present.get(name)
            if before != now and self._by_half():
                self._put_back(folder / name, before)
        for name in sorted(self._inodes(folder)):
            path = folder / name
            if path.is_dir():
                self._lose(path)
            elif self._synced.get((status := path.stat()).st_ino) != status.st_size:
                self._tear(path, status.st_size)

    def _put_back(self, path: Path, inode: int | None) -> None:
        """Have the entry as it was: that inode, or none."""
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        if inode is None:
            return
        if (kept := self._kept / str(inode)).exists():
            os.link(kept, path)
        else:
            path.mkdir()
            for name, each in self._entries.get(path, {}).items():
                self._put_back(path / name, each)

    def _tear(self, path: Path, size: int) -> None:
        kept = self._stage.chance.choice((size, 0, self._sector(size), self._sector(size)))
        zeros = kept < size and self._by_half()
        self._stage.note("torn:", _kind(path), kept < size, zeros)
        os.truncate(path, kept)
        if zeros:
            os.truncate(path, size)

    def _sector(self, size: int) -> int:
        # One draw for any size: times in delta-rs' commits have more or fewer digits.
        return int(self._stage.chance.random() * (size // _SECTOR + 1)) * _SECTOR

    def _by_half(self) -> bool:
        return self._stage.chance.random() < 0.5

    # -- what is durable -----------------------------------------------------------------------------------------

    def _settle(self, folder: Path) -> None:
        """All that is there is durable."""
        self._see_entries(folder)
        for name in self._entries[folder]:
            path = folder / name
            if path.is_dir():
                self._settle(path)
            else:
                self._see_bytes(path)

    def _see_bytes(self, file: Path) -> None:
        status = file.stat()
        self._synced[status.st_ino] = status.st_size

    def _see_entries(self, folder: Path) -> None:
        self._entries[folder] = inodes = self._inodes(folder)
        for name, inode in inodes.items():
            if (folder / name).is_file() and not (kept := self._kept / str(inode)).exists():
                os.link(folder / name, kept)

    def _inodes(self, folder: Path) -> dict[str, int]:
        with os.scandir(folder) as found:
            mine = folder == self._folder
            return {each.name: each.inode() for each in found if not (mine and each.name.startswith(self._left_out))}


def _kind(path: Path) -> str:
    """Return the kind of the file or folder at a path, without its name."""
    name = path.name
    if name == "_delta_log" or "_delta_log" in path.parts:
        return f"log {name}" if name[:1].isdigit() else "log"
    if name.endswith(".parquet"):
        return "data file"
    return "area" if name.startswith("_staging") else "folder"

"""Claims: the tables on which open transactions depend, made visible to background compaction on any member, which
then gives way.

Compaction changes no row, but it removes files that a transaction of several statements may have read and wants to
remove itself. One of the two must fail. Nobody asked for the compaction, so it should be the one that fails, even if
the transaction runs on another member. The one thing that all members of a catalog certainly share is the tables'
folders. So a claim is an empty folder in the table's folder, made before the statement looks at the table, and removed
when its transaction has ended. Checking for claims costs one listing of the folder per compaction, just before it
commits.

A transaction that works on one snapshot (REPEATABLE READ) may later change any table, of which it sees the files that
were there when it began. So it claims all tables, by a folder beside theirs.

The claim of a member that is gone is no longer touched (`Keeper`) and does not count; VACUUM removes it as it removes a
statement's folder. A claim that is made between the check and the commit is not seen: such a transaction fails with
40001, as it would without claims.

A hold is another kind of claim, on all tables. While one exists (a backup that copies files), no member removes files
that tables no longer have (VACUUM, folders of dropped tables). Compaction and all other commits go on, because they
remove nothing.

Rejected: asking the members, which fails if one cannot be reached at that moment; a table of claims in the catalog
database, which would cost each transaction that changes rows one more write to it.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.storage import disk
from engine.storage.file_clock import FILE_CLOCK, TOUCH_SECONDS
from engine.storage.in_flight_files import IN_FLIGHT_FILES

_PREFIX: Final = "_staging-claim-"
_HOLD_PREFIX: Final = "_staging-hold-"
_FORGOTTEN_SECONDS: Final = 3 * TOUCH_SECONDS


class _Mark:
    """A folder that shows other processes that its owner is alive, because a `Keeper` touches it. Blocks on the disk;
    raises OSError.
    """

    def __init__(self, folder: Path, prefix: str) -> None:
        self.path = folder / f"{prefix}{uuid.uuid4().hex[:16]}"
        self._make()
        IN_FLIGHT_FILES.watch(self)

    def paths(self) -> Iterator[Path]:
        yield self.path

    def release(self) -> None:
        with contextlib.suppress(OSError):
            disk.current_disk().remove_folder(self.path)

    def _make(self) -> None:
        disk.current_disk().make_folder(self.path)


class Claim(_Mark):
    """A claim on a table. table: the table's folder, or the folder of all tables. Raises no OSError."""

    def __init__(self, table: Path) -> None:
        super().__init__(table, _PREFIX)

    def _make(self) -> None:
        # A table that is gone, or a folder that is read-only, is not compacted either.
        with contextlib.suppress(OSError):
            super()._make()


class Hold(_Mark):
    """A hold on all tables. root: the folder of all tables."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, _HOLD_PREFIX)


def is_held(root: Path) -> bool:
    """Return whether any process still needs files that tables no longer have. root: the folder of all tables. Blocks."""
    return _is_alive(root, _HOLD_PREFIX)


def is_claimed(table: Path) -> bool:
    """Return whether an open transaction on any member depends on the table. Blocks on the disk."""
    return _is_alive(table, _PREFIX)


def _is_alive(folder: Path, prefix: str) -> bool:
    since = FILE_CLOCK.now() - _FORGOTTEN_SECONDS
    return any(_modification_time(path) > since for path in folder.glob(f"{prefix}*"))


def _modification_time(path: Path) -> float:
    """Return the time of a folder's last modification; 0 if it has been removed meanwhile."""
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0

"""Claims: which tables open transactions depend on, told to background compaction on any member, which then gives way.

Compaction changes no row, and yet takes files away that a transaction of several statements may have read and wants to take away
itself: one of the two fails. Nobody has asked for compaction, so it should be that one, also where the transaction is another
member's. What members of a catalog certainly share is the tables' folders. So a claim is an empty folder in the table's, made
before the statement looks at the table, and removed when its transaction has ended. Looking for one costs a listing of the folder,
once in a compaction, just before it commits.

A transaction that sees one state (REPEATABLE READ) may change any table later, of which it saw the files that were there when it
began: it claims all tables, by a folder beside theirs.

A claim whose member is gone is not touched any more (`Keeper`) and does not count; VACUUM removes it as it does a statement's
folder. What is claimed between the look and the commit is not seen: such a transaction fails with 40001, as before.

A hold is a claim of another kind, on all tables: while somebody has one (a backup that copies files), no member removes what tables
have no more (VACUUM, folders of dropped tables). Compaction and all other commits go on, since they remove nothing.

Rejected: to ask the members, which fails for one that cannot be reached just now; a table of claims in the catalog database, which
would cost transactions that change rows one more write to it.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.storage import disk
from engine.storage.in_flight_files import IN_FLIGHT_FILES, TOUCH_SECONDS

_PREFIX: Final = "_staging-claim-"
_HOLD_PREFIX: Final = "_staging-hold-"
_FORGOTTEN_SECONDS: Final = 3 * TOUCH_SECONDS


class _Mark:
    """A folder that says to other processes that its owner lives: a `Keeper` touches it. Blocks on the disk; raises OSError."""

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
    """table: the table's folder, or the one in which all tables' are. Raises no OSError."""

    def __init__(self, table: Path) -> None:
        super().__init__(table, _PREFIX)

    def _make(self) -> None:
        # A table that is gone, or a folder that one may only read, is not compacted either.
        with contextlib.suppress(OSError):
            super()._make()


class Hold(_Mark):
    """root: the folder of all tables."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, _HOLD_PREFIX)


def is_held(root: Path) -> bool:
    """Whether somebody, in whichever process, needs what tables have no more. root: the folder of all tables. Blocks."""
    return _is_alive(root, _HOLD_PREFIX)


def is_claimed(table: Path) -> bool:
    """Whether a transaction that is open on any member depends on the table. Blocks on the disk."""
    return _is_alive(table, _PREFIX)


def _is_alive(folder: Path, prefix: str) -> bool:
    since = time.time() - _FORGOTTEN_SECONDS
    return any(_modification_time(path) > since for path in folder.glob(f"{prefix}*"))


def _modification_time(path: Path) -> float:
    """0 for one that went meanwhile."""
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0

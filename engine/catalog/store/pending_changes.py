"""The changes of an open transaction, in order, and the folders that it has made.

Rows that a transaction appends one by one are kept in memory (`keep_rows`) until they are written as files: before a
statement reads the tables, and before the commit. A transaction that has done nothing else leaves its few rows to the
commit, which writes them together with those of other transactions (`engine.catalog.store.commit_group`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from engine.catalog.model.objects import Table
from engine.catalog.replay import replay
from engine.catalog.snapshot import TEMPORARY, AnyChange, DataChange, Guard, Snapshot
from engine.catalog.store.uncommitted_files import location_of
from engine.storage.kept_rows import KeptRows, kept_size
from engine.storage.tables import FileChange

#: Rows up to so many bytes may be written by the commit itself, into a file that it shares with other transactions.
SHARED_BYTES: Final = 256 << 10


class PendingChanges:
    """changes: of the transaction, oldest first. made: the folders that it has made. definitions: grows with each of its changes
    to definitions, and whenever such changes may have been taken back."""

    def __init__(self) -> None:
        self.changes: list[AnyChange | KeptRows] = []
        self.made: list[str] = []
        self.definitions = 0
        #: Of `changes`, the rows to which more may be added, by the locations of tables, and the bytes of all that are kept.
        self._kept: dict[str, KeptRows] = {}
        self._kept_bytes = 0
        self._ending = threading.Lock()

    def append(self, change: AnyChange, *more: AnyChange) -> None:
        """more: what else is to be committed with the change."""
        self.changes += (change, *more)
        if not isinstance(change, DataChange):
            self.definitions += 1

    def forget_guards(self) -> None:
        self.changes = [change for change in self.changes if not isinstance(change, Guard)]

    def take(self) -> tuple[list[AnyChange | KeptRows], list[str]]:
        """Take all changes and folders out, for one caller."""
        with self._ending:
            changes, self.changes = self.changes, []
            made, self.made = self.made, []
        self._shorten(changes)
        return changes, made

    def truncate(self, count: int, folders: int) -> tuple[list[AnyChange | KeptRows], list[str]]:
        """Take out the changes and the folders after the first so many."""
        changes, made = self.changes[count:], self.made[folders:]
        del self.changes[count:], self.made[folders:]
        self._shorten(changes)
        return changes, made

    def _shorten(self, gone: Iterable[AnyChange | KeptRows]) -> None:
        """Some of the changes are gone: count what is kept, and add nothing to it."""
        self.definitions += not all(isinstance(change, DataChange | Guard | KeptRows) for change in gone)
        self._kept = {}
        self._kept_bytes = sum(change.bytes for change in self.changes if isinstance(change, KeptRows))

    # -- rows that are kept --------------------------------------------------------------------------------------

    @property
    def keeps_rows(self) -> bool:
        """Whether the transaction has appended rows that are in no file yet."""
        return self._kept_bytes > 0

    @property
    def only_keeps_rows(self) -> bool:
        """Whether the transaction has done nothing but append rows to one table, and they are few: its commit writes them
        (`engine.catalog.store.commit_group`)."""
        changes = self.changes
        return len(changes) == 1 and isinstance(changes[0], KeptRows) and self._kept_bytes <= SHARED_BYTES

    def has_room(self, batch: pa.RecordBatch, bound: int) -> bool:
        """Whether no more than `bound` bytes are kept together with this batch."""
        return self._kept_bytes + kept_size(batch) <= bound

    def keep_rows(self, table: Table, batch: pa.RecordBatch) -> None:
        """Rows come to a stored table, in the transaction that is open, and depend on nothing that is in the table. They are the
        transaction's at once, but its statements see them only after `SessionCatalog.write_kept`.

        table: as for `StoredTables.change_data`, not temporary."""
        assert table.schema != TEMPORARY, "its changes are recorded at once"
        location = location_of(table)
        assert location is not None, "a stored table"
        rows = self._kept.get(location)
        if rows is None or not rows.fits(table):
            rows = self._kept[location] = KeptRows(table)
            self.changes.append(rows)
        rows.add(batch)
        self._kept_bytes += kept_size(batch)

    def close_kept(self) -> None:
        """Let rows that come from now on stand by themselves among the changes."""
        self._kept = {}

    def write_kept(self, now: Snapshot, writer_bytes: int) -> Sequence[DataChange]:
        """Write the rows that are kept into files, each where it stands among the changes, and return the changes that have taken
        their places. May block on the disk. Raises SerializationFailure where another transaction has changed a table's
        definition. now: the current state; writer_bytes: as `kept_bytes` of `TableWriter`."""
        self._kept = {}
        changes, written = self.changes, list[DataChange]()
        for index, rows in enumerate(changes):
            if isinstance(rows, KeptRows):
                change = changes[index] = write_rows(rows, now, writer_bytes)
                written.append(change)
        self._kept_bytes = 0
        return written


def write_rows(rows: KeptRows, now: Snapshot, writer_bytes: int) -> DataChange:
    """Write rows that were kept into files; as `PendingChanges.write_kept`."""
    # A table that is gone has no folder to write to: that is a conflict, and no error of the disk.
    replay(now, [DataChange(rows.table, FileChange())])
    return DataChange(rows.table, FileChange(rows.write(writer_bytes)))


def catalog_changes(changes: Iterable[AnyChange | KeptRows]) -> list[AnyChange]:
    """Return the changes that the catalog can have: without rows that are in no file yet."""
    return [change for change in changes if not isinstance(change, KeptRows)]

"""The changes of an open transaction, in order, and the folders that it has made.

Rows that a transaction appends one by one are kept in memory (`keep_rows`) until they are written as files: before a
statement reads the tables, and before the commit. A transaction that has done nothing else leaves its few rows to the
commit, which writes them together with those of other transactions (`engine.catalog.store.commit_group`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow as pa

from engine.catalog.model.objects import Table
from engine.catalog.replay import find_present
from engine.catalog.snapshot import TEMPORARY, AnyChange, DataChange, Guard, Snapshot
from engine.catalog.store.uncommitted_files import location_of
from engine.storage.kept_rows import KeptRows, kept_size, row_size
from engine.storage.tables import FileChange

#: Rows up to this many bytes may be written by the commit itself, into a file that it shares with other transactions.
SHARED_BYTES: Final = 256 << 10


class PendingChanges:
    """The pending changes of a transaction. changes: oldest first. made: the folders that it has made. definitions:
    grows with each of its changes to definitions, and whenever such changes may have been rolled back.
    """

    def __init__(self) -> None:
        self.changes: list[AnyChange | KeptRows] = []
        self.made: list[str] = []
        self.definitions = 0
        #: Those of `changes` to which rows may be added, by the locations of tables; and the bytes of all kept rows.
        self._kept: dict[str, KeptRows] = {}
        self._kept_bytes = 0
        self._ending = threading.Lock()

    def append(self, change: AnyChange, *more: AnyChange) -> None:
        """Add a change. more: changes that are to be committed with it."""
        self.changes += (change, *more)
        if not isinstance(change, DataChange):
            self.definitions += 1

    def forget_guards(self) -> None:
        if self.changes:
            self.changes = [change for change in self.changes if not isinstance(change, Guard)]

    def take(self) -> tuple[list[AnyChange | KeptRows], list[str]]:
        """Remove and return all changes and folders. Only one caller receives them."""
        with self._ending:
            changes, self.changes = self.changes, []
            made, self.made = self.made, []
        if changes:
            self._shorten(changes)
        return changes, made

    def truncate(self, count: int, folders: int) -> tuple[list[AnyChange | KeptRows], list[str]]:
        """Remove and return the changes after the first `count`, and the folders after the first `folders`. What was
        read at SERIALIZABLE stays read (predicate.c keeps the locks of subtransactions).
        """
        changes, made = self.changes[count:], self.made[folders:]
        del self.changes[count:], self.made[folders:]
        self._shorten(changes)
        # A table that was read after it was defined anew may not exist without the definition.
        if all(isinstance(change, DataChange | Guard | KeptRows) for change in changes):
            self.changes += [change for change in changes if isinstance(change, Guard) and change.serializable]
        return changes, made

    def _shorten(self, gone: Iterable[AnyChange | KeptRows]) -> None:
        """Update the counters after changes were removed, and add no further rows to those that remain."""
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
        """Whether the transaction has only appended a few rows to one table: its commit then writes them
        (`engine.catalog.store.commit_group`).
        """
        changes = self.changes
        return len(changes) == 1 and isinstance(changes[0], KeptRows) and self._kept_bytes <= SHARED_BYTES

    def has_room(self, size: int, bound: int) -> bool:
        """Return whether the kept rows together with others of this size have at most `bound` bytes."""
        return self._kept_bytes + size <= bound

    def keep_rows(self, table: Table, batch: pa.RecordBatch) -> None:
        """Keep rows that the open transaction appends to a stored table. They must not depend on the table's content.
        They are part of the transaction at once, but its statements see them only after `SessionCatalog.write_kept`.

        table: as for `StoredTables.change_data`, not temporary; or an earlier state with the same definition.
        """
        self._kept_for(table).add(batch)
        self._kept_bytes += kept_size(batch)

    def keep_row(self, table: Table, row: Sequence[Any]) -> None:
        """Keep one row likewise. row: as in `KeptRows.add_row`."""
        self._kept_for(table).add_row(row)
        self._kept_bytes += row_size(row)

    def _kept_for(self, table: Table) -> KeptRows:
        """Return the kept rows to which rows of the table may be added."""
        assert table.schema != TEMPORARY, "its changes are recorded at once"
        location = location_of(table)
        assert location is not None, "a stored table"
        rows = self._kept.get(location)
        if rows is None or not rows.fits(table):
            rows = self._kept[location] = KeptRows(table)
            self.changes.append(rows)
        return rows

    def close_kept(self) -> None:
        """Record later rows as a change of their own, separate from those kept so far."""
        self._kept = {}

    def write_kept(self, now: Snapshot, writer_bytes: int) -> Sequence[DataChange]:
        """Write the kept rows into files, each at its place among the changes. Returns the changes that have replaced
        them. May block on the disk. Raises SerializationFailure if another transaction has changed a table's
        definition.

        now: the current state. writer_bytes: as `kept_bytes` of `TableWriter`.
        """
        self._kept = {}
        changes, written = self.changes, list[DataChange]()
        for index, rows in enumerate(changes):
            if isinstance(rows, KeptRows):
                change = changes[index] = write_rows(rows, now, writer_bytes)
                written.append(change)
        self._kept_bytes = 0
        return written


def write_rows(rows: KeptRows, now: Snapshot, writer_bytes: int) -> DataChange:
    """Write kept rows into files, as `PendingChanges.write_kept` does."""
    # A dropped table has no folder to write to: that is a conflict, and not an error of the disk.
    find_present(now, rows.table)
    return DataChange(rows.table, FileChange(rows.write(writer_bytes)))


def catalog_changes(changes: Iterable[AnyChange | KeptRows]) -> list[AnyChange]:
    """Return the changes without kept rows, which the catalog cannot store."""
    return [change for change in changes if not isinstance(change, KeptRows)]

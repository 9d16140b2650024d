"""Changes of stored tables by a session's transaction: new tables, and the files that it adds to tables and removes
from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.catalog.model.objects import DataFile, Table
from engine.catalog.model.statistics import TableStatistics
from engine.catalog.snapshot import TEMPORARY, Analysis, DataChange, Guard, net_changes
from engine.catalog.store.compaction_claims import CompactionClaims
from engine.catalog.store.object_changes import ObjectChanges
from engine.catalog.store.pending_changes import catalog_changes
from engine.catalog.store.uncommitted_files import has_surely_failed, location_of, take_back
from engine.catalog.store.visible_catalog import VisibleCatalog
from engine.storage import tables
from engine.storage.kept_rows import KeptRows
from engine.storage.tables import FileChange
from wire.errors import InternalError


class StoredTables:
    """The stored tables of a session's catalog."""

    def __init__(self, visible: VisibleCatalog, objects: ObjectChanges, claims: CompactionClaims) -> None:
        self._visible = visible
        self._pending = visible.pending
        self._root = visible.store.tables
        self._objects = objects
        self._claims = claims

    def create_table(self, table: Table, *, partition_by: Sequence[str] = (), sort_by: Sequence[str] = ()) -> Table:
        """A new stored table without rows, recorded; also a temporary one. May block on the disk.

        table: its oid, schema, name, columns and constraints; where its files are is decided here. partition_by, sort_by:
        columns by the names that files call them. Returns the table as the catalog has it now.
        Raises DuplicateTable, FeatureNotSupported for a type that files cannot hold.
        """
        stored = self._create_storage(table, partition_by, sort_by)
        self._put_stored(stored, replacing=False)
        return stored

    def rewrite_table(self, before: Table, table: Table) -> Table:
        """`before`, as the catalog has it, defined anew as `table` and without rows, in a folder of its own: whoever calls
        writes them all anew, with `change_data` on the table that is returned. May block on the disk.

        It conflicts with whatever else changes the table's files meanwhile. Raises FeatureNotSupported.
        """
        assert before.storage is not None, "a stored table"
        stored = self._create_storage(table, before.storage.partition_by, before.storage.sort_by)
        self._put_stored(stored, replacing=True)
        return stored

    def _create_storage(self, table: Table, partition_by: Sequence[str], sort_by: Sequence[str]) -> Table:
        storage = tables.create(self._root, table.columns, partition_by=partition_by, sort_by=sort_by)
        folder = str(tables.folder(self._root, storage))
        placed = replace(
            table, format="parquet", path=folder, storage=storage, options={}, parts=(), guarantee=storage.sort_by
        )
        return tables.with_commit(placed, storage.version, 0, FileChange())

    def _put_stored(self, table: Table, *, replacing: bool) -> None:
        location = location_of(table)
        assert location is not None
        self._pending.made.append(location)
        try:
            self._objects.put(table, replacing=replacing)
        except BaseException as error:
            if has_surely_failed(error):
                tables.discard(self._root, location)
            raise
        finally:
            if not self._visible.in_transaction:
                self._pending.made.clear()

    def change_data(
        self,
        table: Table,
        added: Iterable[DataFile],
        removed: Iterable[str],
        *,
        appends_only: bool,
        whole: bool = False,
    ) -> None:
        """Files come to a stored table and go from it: seen by this session at once, by others at the commit.

        table: as the statement saw it, in the catalog (`current`); its own changes of the table are in it. added: what a
        `TableWriter` of the table has finished. They are this catalog's from the call on, whatever it raises: it removes them
        if the change is taken back, and whoever called must not, since nobody may know whether a commit has taken place.
        removed: paths below the table's folder. appends_only: the rows depend on nothing that is in the table: nobody's
        commit can conflict. whole: they depend on all that is in it (a key was checked): any other commit to the table
        conflicts. Neither: only a commit that removes one of `removed` conflicts; where there are none, `whole` is meant.

        Raises SerializationFailure; InternalError when a path that is to be removed is not one of the table's.
        """
        change = DataChange(table, FileChange(tuple(added), tuple(removed)), whole or not (appends_only or removed))
        if not change.files:
            return
        assert not (appends_only and change.files.removed), "what only appends removes nothing"
        strangers = tables.missing_paths(table, change.files.removed)
        if strangers:
            take_back(self._root, [change], ())
            raise InternalError(f'file "{strangers[0]}" is to be removed from "{table.name}", which does not have it')
        self._visible.record(change)

    def guard(self, table: Table, *, whole: bool = False) -> None:
        """The rows of a stored table were read FOR UPDATE, in the transaction that is open: it commits only if no other commit
        has taken away one of the files that they were in. May block when the version was never opened before.

        table: as the statement saw it. whole: it depends on what is not in the table, too: no commit may have added to it.
        """
        known = (change for change in self._pending.changes if isinstance(change, Guard))
        if table.schema == TEMPORARY or any(
            g.key == (table.schema, table.name) and _same(g, table) and g.whole >= whole for g in known
        ):
            return
        self._claims.claim(table)
        self._pending.changes.append(Guard(table, tuple(tables.data_files(table)), whole))

    def forget_guards(self) -> None:
        """Drop the guards: what was read may have changed."""
        self._pending.forget_guards()
        self._visible.forget_changes()

    def keep_statistics(self, table: Table, statistics: TableStatistics) -> None:
        """Record ANALYZE's statistics of a table, as the statement saw it; seen by others at the commit."""
        self._visible.record(Analysis(table, statistics))

    def files(self, table: Table) -> Sequence[DataFile]:
        """A stored table's files. May block."""
        return tuple(tables.data_files(table).values())

    def own_files(self, table: Table) -> Sequence[str]:
        """The files of a table that are the transaction's own: paths below its folder. All of a temporary table's. May block."""
        if table.schema == TEMPORARY:
            return [file.path for file in self.files(table)]
        location = location_of(table)
        whole = net_changes(catalog_changes(self._pending.changes))
        return [file.path for file in whole[location].added] if location in whole else []

    def appended_files(self, table: Table) -> Sequence[DataFile]:
        """The files that the latest statements of the open transaction have added to a stored table, if they did nothing else with
        it and defined nothing, oldest first."""
        location, added = location_of(table), list[Sequence[DataFile]]()
        for change in reversed(self._pending.changes if self._visible.in_transaction else ()):
            if not isinstance(change, DataChange | Guard | KeptRows):
                break
            if isinstance(change, DataChange) and change.location == location:
                if change.files.removed:
                    break
                added.append(change.files.added)
        return [file for files in reversed(added) for file in files]

    def own_folders(self) -> set[str]:
        """Folders of tables that nobody else knows. May be asked from any thread."""
        own = (location_of(relation) for relation in list(self._visible.temporary.relations.values()))
        return {*self._pending.made, *(location for location in own if location is not None)}

    def is_new(self, table: Table) -> bool:
        """Whether this transaction has made a stored table, or taken all its rows away."""
        emptied = {c.location for c in list(self._pending.changes) if isinstance(c, DataChange) and c.whole}
        return location_of(table) in self.own_folders() | emptied

    def contested_folders(self) -> set[str]:
        """Folders of tables whose commits by others may fail this transaction. May be asked from any thread."""
        changes = [change for change in list(self._pending.changes) if isinstance(change, DataChange)]
        return {change.location for change in changes if change.whole or change.files.removed}


def _same(guard: Guard, table: Table) -> bool:
    return guard.before.version == table.version

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
        """Create a stored table without rows, which may be temporary. May block on the disk.

        table: its oid, schema, name, columns and constraints; this method decides the location of its files.
        partition_by, sort_by: columns by the names in the files.
        Returns the table as the catalog has it now. Raises DuplicateTable, FeatureNotSupported for a type that files
        cannot hold.
        """
        stored = self._create_storage(table, partition_by, sort_by)
        self._put_stored(stored, replacing=False)
        return stored

    def rewrite_table(self, before: Table, table: Table) -> Table:
        """Replace `before`, as the catalog has it, by `table`, without rows and in a folder of its own. The caller then
        writes all rows with `change_data` on the returned table. May block on the disk.

        It conflicts with any concurrent change of the table's files. Raises FeatureNotSupported.
        """
        assert before.storage is not None, "a stored table"
        stored = self._create_storage(table, before.storage.partition_by, before.storage.sort_by)
        self._put_stored(stored, replacing=True)
        return stored

    def _create_storage(self, table: Table, partition_by: Sequence[str], sort_by: Sequence[str]) -> Table:
        storage = tables.create(self._root, table.written_columns, partition_by=partition_by, sort_by=sort_by)
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
        """Add files to a stored table and remove files from it. This session sees the change at once, others after the
        commit.

        table: as the statement saw it in the catalog (`current`), including this session's own changes of the table.
        added: the finished files of a `TableWriter` of the table. The catalog owns them from this call on, even if the
            call raises: it removes them if the change is rolled back. The caller must not remove them, since it may be
            unknown whether a commit has taken place.
        removed: paths below the table's folder.
        appends_only: whether the rows are independent of the table's content: no other commit conflicts.
        whole: whether the rows depend on the whole content (a key was checked): any other commit to the table
            conflicts.
        If neither is set, only a commit that removes one of `removed` conflicts; if `removed` is empty, `whole` is
        implied.

        Raises SerializationFailure; InternalError if a path to remove is not one of the table's.
        """
        files = FileChange(tuple(added), tuple(removed))
        assert not (appends_only and files.removed), "what only appends removes nothing"
        self._change(DataChange(table, files, whole or not (appends_only or files.removed)))

    def truncate(self, table: Table) -> None:
        """Remove all files of a stored table: any other commit to the table conflicts. May block.

        table: as for `change_data`. Raises SerializationFailure.
        """
        removed = tuple(file.path for file in self.files(table))
        self._change(DataChange(table, FileChange((), removed), whole=True, truncates=True))

    def _change(self, change: DataChange) -> None:
        table = change.before
        if not change.files:
            return
        strangers = tables.missing_paths(table, change.files.removed)
        if strangers:
            take_back(self._root, [change], ())
            raise InternalError(f'file "{strangers[0]}" is to be removed from "{table.name}", which does not have it')
        self._visible.record(change)

    def guard(self, table: Table, *, whole: bool = False, serializable: bool = False) -> None:
        """Record that the open transaction has read rows of a stored table FOR UPDATE: it commits only if no other
        commit has removed one of the files with these rows. May block if the version was never opened before.

        table: as the statement saw it. whole: whether the transaction also depends on rows that are not in the table,
        so that no other commit may have added any. serializable: whether it depends on them only if it writes.
        """
        known = (change for change in self._pending.changes if isinstance(change, Guard))
        if table.schema == TEMPORARY or any(
            g.key == (table.schema, table.name)
            and _same(g, table)
            and g.whole >= whole
            and g.serializable <= serializable
            for g in known
        ):
            return
        self._claims.claim(table)
        # What is whole depends on no single file, and the files of a savepoint may be rolled back.
        paths = () if serializable else tuple(tables.data_files(table))
        self._pending.changes.append(Guard(table, paths, whole, serializable))

    def forget_guards(self) -> None:
        """Drop the guards: the rows that were read may have changed."""
        self._pending.forget_guards()
        self._visible.forget_changes()

    def keep_statistics(self, table: Table, statistics: TableStatistics) -> None:
        """Record ANALYZE's statistics of a table, as the statement saw it. Other sessions see them after the commit."""
        self._visible.record(Analysis(table, statistics))

    def files(self, table: Table) -> Sequence[DataFile]:
        """Return a stored table's files. May block."""
        return tuple(tables.data_files(table).values())

    def own_files(self, table: Table) -> Sequence[str]:
        """Return the files of a table that the transaction has written, as paths below the table's folder. For a
        temporary table, all of its files. May block.
        """
        if table.schema == TEMPORARY:
            return [file.path for file in self.files(table)]
        location = location_of(table)
        whole = net_changes(catalog_changes(self._pending.changes))
        return [file.path for file in whole[location].added] if location in whole else []

    def appended_files(self, table: Table) -> Sequence[DataFile]:
        """Return the files that the latest statements of the open transaction have added to a stored table, oldest
        first. The search ends at a statement that has removed files of the table or changed a definition.
        """
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
        """Return the folders of tables that no other session knows. May be called from any thread."""
        own = (location_of(relation) for relation in list(self._visible.temporary.relations.values()))
        return {*self._pending.made, *(location for location in own if location is not None)}

    def is_new(self, table: Table) -> bool:
        """Return whether this transaction has created or truncated a stored table. A temporary table counts as new."""
        truncated = {c.location for c in list(self._pending.changes) if isinstance(c, DataChange) and c.truncates}
        return location_of(table) in self.own_folders() | truncated

    def contested_folders(self) -> set[str]:
        """Return the folders of tables for which a commit of another session may make this transaction fail. May be
        called from any thread.
        """
        changes = [change for change in list(self._pending.changes) if isinstance(change, DataChange)]
        return {change.location for change in changes if change.whole or change.files.removed}


def _same(guard: Guard, table: Table) -> bool:
    return guard.before.version == table.version

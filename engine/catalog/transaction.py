"""A session's window on the catalog: the newest committed snapshot, its own uncommitted changes, its temporary objects.

READ COMMITTED: each statement sees what is committed when it begins, with this transaction's changes on top. Outside a
transaction every change is committed at once; a statement that makes several, which are to be committed together, makes them
within `statement`.

Files that a change adds, and folders of tables that it makes, are removed when the change is taken back. A commit that fails
because of a conflict is taken back; one of which nobody knows how it ended leaves everything where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from engine.catalog.objects import DataFile, Schema, StoredRelation, Table
from engine.catalog.snapshot import TEMPORARY, AnyChange, Change, DataChange, Key, Snapshot
from engine.catalog.store import CatalogStore
from engine.storage import tables
from engine.storage.tables import FileChange
from wire.errors import InternalError, IoError, StatementCompletionUnknown

_Token = tuple[int, dict[Key, StoredRelation]]


class SessionCatalog:
    """Not thread-safe: one statement of a session at a time changes it. `commit` may block on the disk."""

    def __init__(self, store: CatalogStore) -> None:
        self._store = store
        self._changes: list[AnyChange] = []
        self._seen: tuple[Snapshot, int, Snapshot] | None = None
        self._temporary: dict[Key, StoredRelation] = {}
        self._begun: dict[Key, StoredRelation] | None = None

    @property
    def in_transaction(self) -> bool:
        return self._begun is not None

    @property
    def has_changes(self) -> bool:
        """Whether `commit` has anything to write, and may block."""
        return bool(self._changes)

    def current(self) -> Snapshot:
        """What a statement that begins now sees. Raises SerializationFailure when another transaction has committed a
        change to what this one changed."""
        committed, count = self._store.snapshot, len(self._changes)
        if self._seen is None or self._seen[0] is not committed or self._seen[1] != count:
            self._seen = (committed, count, committed.replay(self._changes) if count else committed)
        base = self._seen[2]
        if not self._temporary:
            return base
        return replace(base, relations={**base.relations, **self._temporary})

    def cache_key(self) -> tuple[int, int, int] | None:
        """Equal keys see equal catalogs; None while this session's view is its own, and nothing may be cached."""
        if self._changes or self._temporary:
            return None
        return (self._store.snapshot.version, 0, 0)

    def new_oid(self) -> int:
        return self._store.next_oid()

    def put(self, relation: StoredRelation, *, replacing: bool = False) -> None:
        _, change = self.current().put(relation, replacing=replacing)
        self._record(change)

    def remove(self, relation: StoredRelation) -> None:
        _, change = self.current().remove(relation)
        self._record(change)

    def put_schema(self, schema: Schema) -> None:
        _, change = self.current().put_schema(schema)
        self._record(change)

    def remove_schema(self, name: str) -> None:
        _, change = self.current().remove_schema(name)
        self._record(change)

    # -- stored tables -------------------------------------------------------------------------------------------

    def create_table(self, table: Table, *, partition_by: Sequence[str] = (), sort_by: Sequence[str] = ()) -> Table:
        """A new stored table without rows, recorded; also a temporary one. May block on the disk.

        table: its oid, schema, name, columns and constraints; where its files are is decided here. partition_by, sort_by:
        columns by the names that files call them. Returns the table as the catalog has it now.
        Raises DuplicateTable, FeatureNotSupported for a type that files cannot hold.
        """
        stored = self._stored(table, partition_by, sort_by)
        self._put_stored(stored, replacing=False)
        return stored

    def rewrite_table(self, before: Table, table: Table) -> Table:
        """`before`, as the catalog has it, defined anew as `table` and without rows, in a folder of its own: whoever calls
        writes them all anew, with `change_data` on the table that is returned. May block on the disk.

        It conflicts with whatever else changes the table's files meanwhile. Raises FeatureNotSupported.
        """
        assert before.storage is not None, "a stored table"
        stored = self._stored(table, before.storage.partition_by, before.storage.sort_by)
        self._put_stored(stored, replacing=True)
        return stored

    def _stored(self, table: Table, partition_by: Sequence[str], sort_by: Sequence[str]) -> Table:
        storage = tables.create(self._store.tables, table.columns, partition_by=partition_by, sort_by=sort_by)
        folder = str(tables.folder(self._store.tables, storage))
        placed = replace(
            table, format="parquet", path=folder, storage=storage, options={}, parts=(), guarantee=storage.sort_by
        )
        return tables.committed(placed, storage.version, 0, FileChange())

    def _put_stored(self, table: Table, *, replacing: bool) -> None:
        assert table.storage is not None
        try:
            self.put(table, replacing=replacing)
        except BaseException as error:
            if not _unknown(error):
                tables.discard(self._store.tables, table.storage.location)
            raise

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
        `TableWriter` of the table has finished; they are this catalog's now, which removes them if the change is taken back.
        removed: paths below the table's folder. appends_only: the rows depend on nothing that is in the table: nobody's
        commit can conflict. whole: they depend on all that is in it (a key was checked): any other commit to the table
        conflicts. Neither: only a commit that removes one of `removed` conflicts; where there are none, `whole` is meant.

        Raises SerializationFailure; InternalError when a path that is to be removed is not one of the table's.
        """
        change = DataChange(table, FileChange(tuple(added), tuple(removed)), whole or not (appends_only or removed))
        if not change.files:
            return
        strangers = tables.missing(table, change.files.removed)
        assert not (appends_only and change.files.removed), "what only appends removes nothing"
        if strangers:
            raise InternalError(f'file "{strangers[0]}" is to be removed from "{table.name}", which does not have it')
        self._record(change)

    def files(self, table: Table) -> Sequence[DataFile]:
        """A stored table's files. May block."""
        return tuple(tables.described(table).values())

    # -- changes -------------------------------------------------------------------------------------------------

    def _record(self, change: AnyChange) -> None:
        if change.key[0] == TEMPORARY:
            self._record_temporary(change)
        elif self.in_transaction:
            self._changes.append(change)
        else:
            self._commit([change])

    def _record_temporary(self, change: AnyChange) -> None:
        self._temporary = dict(self._temporary)
        match change:
            case DataChange():
                present = self._temporary[change.key]
                assert isinstance(present, Table)
                self._temporary[change.key] = tables.changed(present, change.files)
            case Change(after=None):
                del self._temporary[change.key]
            case Change(after=relation) if relation is not None:
                assert not isinstance(relation, Schema), "a schema is not temporary"
                self._temporary[change.key] = relation

    def _commit(self, changes: Sequence[AnyChange]) -> None:
        try:
            self._store.commit(changes)
        except BaseException as error:
            if not _unknown(error):
                self._take_back(changes)
            raise

    def _take_back(self, changes: Iterable[AnyChange]) -> None:
        """Remove what changes that will never be committed have written."""
        root = self._store.tables
        for change in changes:
            if isinstance(change, DataChange):
                tables.unlink(root, change.location, change.files.added)
            elif (made := _location(change.after)) is not None and made != _location(change.before):
                tables.discard(root, made)

    @contextmanager
    def statement(self) -> Iterator[None]:
        """The changes of one statement: committed together where no transaction is open, taken back where it fails."""
        if self.in_transaction:
            token = self.savepoint()
            try:
                yield
            except BaseException:
                self.rollback_to(token)
                raise
            return
        self.begin()
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def begin(self) -> None:
        self._begun = self._temporary

    def commit(self) -> None:
        """Raises SerializationFailure; the transaction is then over, with nothing changed."""
        changes, self._changes = self._changes, []
        begun, self._begun = self._begun, None
        self._seen = None
        try:
            self._commit(changes)
        except BaseException:
            self._temporary = begun or {}
            raise

    def rollback(self) -> None:
        """May block where files were written."""
        self._temporary = self._begun or {}
        self._begun = None
        changes, self._changes = self._changes, []
        self._seen = None
        self._take_back(changes)

    def savepoint(self) -> _Token:
        return len(self._changes), self._temporary

    def rollback_to(self, token: _Token) -> None:
        count, self._temporary = token
        changes = self._changes[count:]
        del self._changes[count:]
        self._seen = None
        self._take_back(changes)

    def discard_temporary(self) -> None:
        """Forget the temporary relations, and remove the folders of tables."""
        temporary, self._temporary = self._temporary, {}
        for relation in temporary.values():
            if (location := _location(relation)) is not None:
                tables.discard(self._store.tables, location)


def _location(relation: StoredRelation | Schema | None) -> str | None:
    return relation.storage.location if isinstance(relation, Table) and relation.storage is not None else None


def _unknown(error: BaseException) -> bool:
    """Whether a commit that ended so may have taken place."""
    return isinstance(error, (StatementCompletionUnknown, IoError))

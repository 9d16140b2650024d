"""A session's window on the catalog: the newest committed snapshot, its own uncommitted changes, its temporary objects.

READ COMMITTED: each statement sees what is committed when it begins, with this transaction's changes on top. REPEATABLE READ:
every statement sees what was committed when the first one began. Either way the commit begins on the newest state, where it
meets what others have committed. Outside a transaction every change is committed at once; a statement that makes several, which
are to be committed together, makes them within `statement`.

Rows that a transaction appends one by one are kept in memory (`keep_rows`) until they are written as files: before anything reads
the tables, and before the commit (`write_kept`). A transaction that has done nothing else leaves few rows to the commit, which
writes them together with those of others (`engine.catalog.store.commit_group`).

Files that a change adds, and folders of tables that it makes, are removed when the change is taken back. A commit that fails
because of a conflict is taken back; one of which nobody knows how it ended leaves everything where it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Sequential
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from engine.catalog.model.acl import Acl, Kind
from engine.catalog.model.objects import DataFile, Schema, Sequence, StoredRelation, Table
from engine.catalog.model.rights import DefaultKey, ObjectRights
from engine.catalog.model.roles import FIRST_ROLE, Role
from engine.catalog.model.statistics import TableStatistics
from engine.catalog.model.user_types import UserType, with_current_types
from engine.catalog.snapshot import (
    TEMPORARY,
    Analysis,
    AnyChange,
    Change,
    DataChange,
    Guard,
    Key,
    RightsChange,
    Snapshot,
    net_changes,
    with_statistics,
)
from engine.catalog.store.store import CatalogStore
from engine.sql.parser.nodes.statements import OnCommit
from engine.storage import tables
from engine.storage.claims import Claim
from engine.storage.in_flight_files import IN_FLIGHT_FILES
from engine.storage.kept_rows import KeptRows, kept_size
from engine.storage.tables import FileChange
from wire.dataclass import dataclass
from wire.errors import InternalError, IoError, SqlError, StatementCompletionUnknown

#: The place of all tables among those that are claimed.
_EVERYTHING = ""
_Token = tuple[int, dict[Key, StoredRelation], int]
#: Rows up to so many bytes may be written by the commit itself, into a file that it shares with other transactions.
SHARED_BYTES: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class EndingTransaction:
    """A transaction that is taken from its session to be committed. made: the folders that it has made. temporary: the temporary
    relations with which it began."""

    changes: Sequential[AnyChange | KeptRows]
    made: Sequential[str]
    temporary: dict[Key, StoredRelation] | None


class SessionCatalog:
    """Not thread-safe: one statement of a session at a time changes it. `commit` may block on the disk.

    repeatable: whether the transaction that is open is to see one state; asked until it says so. creator: the OID of the role that
    the session is, whose everything is that it creates.
    """

    def __init__(
        self,
        store: CatalogStore,
        repeatable: Callable[[], bool] = lambda: False,
        creator: Callable[[], int] = lambda: FIRST_ROLE,
    ) -> None:
        self._store = store
        self._repeatable = repeatable
        self._creator = creator
        #: OIDs of what is about to be created.
        self._unused: set[int] = set()
        self._frozen: Snapshot | None = None
        #: What one statement sees from its beginning to its end.
        self._held: Snapshot | None = None
        self._changes: list[AnyChange | KeptRows] = []
        #: Of `_changes`, the rows to which more may be added, by the locations of tables, and the bytes of all that are kept.
        self._kept: dict[str, KeptRows] = {}
        self._kept_bytes = 0
        #: Grows with each change of the transaction's to definitions, and whenever such changes may have been taken back.
        self._definitions = 0
        #: The folders that this transaction has made.
        self._made: list[str] = []
        #: By the locations of tables.
        self._claims: dict[str, Claim] = {}
        self._ending = threading.Lock()
        self._seen: tuple[Snapshot, int, Snapshot] | None = None
        self._temporary: dict[Key, StoredRelation] = {}
        #: A state, the temporary relations, and that state with them: the same object as long as both are.
        self._shown: tuple[Snapshot, dict[Key, StoredRelation], Snapshot] | None = None
        #: What becomes of temporary tables at each commit, by OID; those that are gone do not count.
        self._at_commit: dict[int, OnCommit] = {}
        self._begun: dict[Key, StoredRelation] | None = None
        IN_FLIGHT_FILES.join(self)

    @property
    def in_transaction(self) -> bool:
        return self._begun is not None

    @property
    def has_changes(self) -> bool:
        """Whether `commit` has anything to write, and may block."""
        return bool(self._changes or self._claims)

    def current(self) -> Snapshot:
        """Return the snapshot that a statement sees which begins now. Raises SerializationFailure when another transaction has
        committed a change to what this one changed."""
        committed, count = self._base(), len(self._changes)
        if self._seen is None or self._seen[0] is not committed or self._seen[1] != count:
            self._seen = (committed, count, self._replay(committed, count))
        base, temporary = self._seen[2], self._temporary
        if not temporary:
            return base
        if self._shown is None or self._shown[0] is not base or self._shown[1] is not temporary:
            own = {key: with_current_types(relation, base.types) for key, relation in temporary.items()}
            self._shown = (base, temporary, replace(base, relations={**base.relations, **own}))
        return self._shown[2]

    def _replay(self, committed: Snapshot, count: int) -> Snapshot:
        """The committed state with the changes of this transaction. Rows that were added since are added to the state that was
        seen last, so that what a statement costs does not grow with the statements before it."""
        if self._seen is not None and self._seen[0] is committed and self._seen[1] < count:
            latest = _catalog_changes(self._changes[self._seen[1] :])
            if all(isinstance(change, DataChange | Guard) for change in latest):
                return replace(self._seen[2].replay(latest), version=committed.version + 1)
        return committed.replay(_catalog_changes(self._changes)) if count else committed

    def _base(self) -> Snapshot:
        """The committed state that this session sees now."""
        if self._frozen is None:
            if self._held is not None:
                return self._held
            if not self.in_transaction or not self._repeatable():
                return self._store.snapshot
            self._frozen = self._store.snapshot
        return self._frozen

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """A definition looks at what is there, and changes it, in several steps: all of them see one committed state. What others
        commit meanwhile is a conflict when the changes are tried on it, and is not taken for what the statement changed."""
        self._held = self._base()
        try:
            yield
        finally:
            self._held = None

    def cache_key(self) -> tuple[int, int, int] | None:
        """Equal keys see equal catalogs; None while this session's view is its own, and nothing may be cached."""
        if self._temporary or not all(isinstance(change, Guard | KeptRows) for change in self._changes):
            return None
        return (self._base().version, 0, 0)

    def definition_key(self) -> tuple[int, int] | None:
        """Equal keys see equal definitions, whatever rows the open transaction has changed; None where nothing may be concluded."""
        return None if self._temporary else (self._base().definitions, self._definitions)

    def own_folders(self) -> set[str]:
        """Folders of tables that nobody else knows. May be asked from any thread."""
        own = (_location(relation) for relation in list(self._temporary.values()))
        return {*self._made, *(location for location in own if location is not None)}

    def is_new(self, table: Table) -> bool:
        """Whether this transaction has made a stored table, or taken all its rows away."""
        emptied = {c.location for c in list(self._changes) if isinstance(c, DataChange) and c.whole}
        return _location(table) in self.own_folders() | emptied

    def contested_folders(self) -> set[str]:
        """Folders of tables whose commits by others may fail this transaction. May be asked from any thread."""
        changes = [change for change in list(self._changes) if isinstance(change, DataChange)]
        return {change.location for change in changes if change.whole or change.files.removed}

    def claim(self, table: Table) -> None:
        """The transaction that is open, if one is, is about to depend on what a stored table holds: nobody is to compact it in the
        background. Before the statement looks at it; may block on the disk."""
        location = _location(table)
        if self.in_transaction and location is not None and table.schema != TEMPORARY and location not in self._claims:
            self._claims[location] = Claim(Path(table.path))

    @property
    def claims_snapshot(self) -> bool:
        """Whether `claim_snapshot` is to be called before the next statement looks at the catalog."""
        return self.in_transaction and self._frozen is None and _EVERYTHING not in self._claims and self._repeatable()

    def claim_snapshot(self) -> None:
        """The transaction that is open is to see one state of all tables, and may change each later: no table is to be compacted in
        the background. May block on the disk."""
        self._claims[_EVERYTHING] = Claim(self._store.tables)

    def _release(self) -> None:
        claims, self._claims = self._claims, {}
        for claim in claims.values():
            claim.release()

    def new_oid(self) -> int:
        oid = self._store.next_oid()
        self._unused.add(oid)
        return oid

    def put(self, relation: StoredRelation, *, replacing: bool = False) -> None:
        snapshot = self.current()
        _, change = snapshot.put(relation, replacing=replacing)
        self._record(change, *self._own_new_object(snapshot, relation), *_lost(snapshot, relation))

    def remove(self, relation: StoredRelation) -> None:
        _, change = self.current().remove(relation)
        self._record(change)

    def put_schema(self, schema: Schema, *, replacing: bool = False) -> None:
        snapshot = self.current()
        _, change = snapshot.put_schema(schema, replacing=replacing)
        self._record(change, *self._own_new_object(snapshot, schema))

    def remove_schema(self, name: str) -> None:
        _, change = self.current().remove_schema(name)
        self._record(change)

    def put_type(self, made: UserType, before: UserType | None = None) -> None:
        snapshot = self.current()
        _, change = snapshot.put_type(made, before)
        self._record(change, *self._own_new_object(snapshot, made))

    def remove_type(self, gone: UserType) -> None:
        _, change = self.current().remove_type(gone)
        self._record(change)

    def put_role(self, role: Role) -> None:
        _, change = self.current().put_role(role)
        self._record(change)

    def remove_role(self, role: Role) -> None:
        _, change = self.current().remove_role(role)
        self._record(change)

    def put_rights(self, changes: Sequential[RightsChange]) -> None:
        """At least one; made against the state that is current."""
        self._record(*changes)

    def put_defaults(self, of: DefaultKey, said: Acl | None) -> None:
        _, change = self.current().put_defaults(of, said)
        self._record(change)

    def _own_new_object(self, snapshot: Snapshot, made: StoredRelation | Schema | UserType) -> list[RightsChange]:
        """Give a new object to its creator, with his default privileges. A temporary one is the session's."""
        if made.oid not in self._unused:
            return []
        self._unused.discard(made.oid)
        if isinstance(made, Schema):
            schema = 0
        elif made.schema == TEMPORARY:
            return []
        else:
            there = snapshot.schemas.get(made.schema)
            schema = 0 if there is None else there.oid
        kind: Kind = "n" if isinstance(made, Schema) else "T" if isinstance(made, UserType) else "r"
        if isinstance(made, Sequence):
            kind = "s"
        owner = self._creator()
        said = snapshot.rights.of_new(owner, schema, kind, snapshot.roles)
        if owner == FIRST_ROLE and said is None:
            return []
        return [RightsChange(made.oid, made.name, ObjectRights(owner, said), None)]

    # -- stored tables -------------------------------------------------------------------------------------------

    def create_table(self, table: Table, *, partition_by: Sequential[str] = (), sort_by: Sequential[str] = ()) -> Table:
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

    def _create_storage(self, table: Table, partition_by: Sequential[str], sort_by: Sequential[str]) -> Table:
        storage = tables.create(self._store.tables, table.columns, partition_by=partition_by, sort_by=sort_by)
        folder = str(tables.folder(self._store.tables, storage))
        placed = replace(
            table, format="parquet", path=folder, storage=storage, options={}, parts=(), guarantee=storage.sort_by
        )
        return tables.with_commit(placed, storage.version, 0, FileChange())

    def _put_stored(self, table: Table, *, replacing: bool) -> None:
        location = _location(table)
        assert location is not None
        self._made.append(location)
        try:
            self.put(table, replacing=replacing)
        except BaseException as error:
            if _has_surely_failed(error):
                tables.discard(self._store.tables, location)
            raise
        finally:
            if not self.in_transaction:
                self._made.clear()

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
            _take_back(self._store.tables, [change], ())
            raise InternalError(f'file "{strangers[0]}" is to be removed from "{table.name}", which does not have it')
        self._record(change)

    def guard(self, table: Table, *, whole: bool = False) -> None:
        """The rows of a stored table were read FOR UPDATE, in the transaction that is open: it commits only if no other commit
        has taken away one of the files that they were in. May block when the version was never opened before.

        table: as the statement saw it. whole: it depends on what is not in the table, too: no commit may have added to it.
        """
        known = (change for change in self._changes if isinstance(change, Guard))
        if table.schema == TEMPORARY or any(
            g.key == (table.schema, table.name) and _same(g, table) and g.whole >= whole for g in known
        ):
            return
        self.claim(table)
        self._changes.append(Guard(table, tuple(tables.data_files(table)), whole))

    def forget_guards(self) -> None:
        """Drop the guards: what was read may have changed."""
        self._changes = [change for change in self._changes if not isinstance(change, Guard)]
        self._seen = None

    def keep_statistics(self, table: Table, statistics: TableStatistics) -> None:
        """Record ANALYZE's statistics of a table, as the statement saw it; seen by others at the commit."""
        self._record(Analysis(table, statistics))

    def files(self, table: Table) -> Sequential[DataFile]:
        """A stored table's files. May block."""
        return tuple(tables.data_files(table).values())

    def own_files(self, table: Table) -> Sequential[str]:
        """The files of a table that are the transaction's own: paths below its folder. All of a temporary table's. May block."""
        if table.schema == TEMPORARY:
            return [file.path for file in self.files(table)]
        location = _location(table)
        whole = net_changes(_catalog_changes(self._changes))
        return [file.path for file in whole[location].added] if location in whole else []

    def appended_files(self, table: Table) -> Sequential[DataFile]:
        """The files that the latest statements of the open transaction have added to a stored table, if they did nothing else with
        it and defined nothing, oldest first."""
        location, added = _location(table), list[Sequential[DataFile]]()
        for change in reversed(self._changes if self.in_transaction else ()):
            if not isinstance(change, DataChange | Guard | KeptRows):
                break
            if isinstance(change, DataChange) and change.location == location:
                if change.files.removed:
                    break
                added.append(change.files.added)
        return [file for files in reversed(added) for file in files]

    # -- rows that are kept --------------------------------------------------------------------------------------

    @property
    def keeps_rows(self) -> bool:
        """Whether the open transaction has appended rows that are in no file yet."""
        return self._kept_bytes > 0

    def has_room(self, batch: pa.RecordBatch, bound: int) -> bool:
        """Whether no more than `bound` bytes are kept together with this batch."""
        return self._kept_bytes + kept_size(batch) <= bound

    def keep_rows(self, table: Table, batch: pa.RecordBatch) -> None:
        """Rows come to a stored table, in the transaction that is open, and depend on nothing that is in the table. They are the
        transaction's at once, but its statements see them only after `write_kept`. table: as for `change_data`, not temporary."""
        assert self.in_transaction, "somebody writes them before the commit"
        assert table.schema != TEMPORARY, "its changes are recorded at once"
        location = _location(table)
        assert location is not None, "a stored table"
        rows = self._kept.get(location)
        if rows is None or not rows.fits(table):
            rows = self._kept[location] = KeptRows(table)
            self._changes.append(rows)
        rows.add(batch)
        self._kept_bytes += kept_size(batch)

    def write_kept(self, writer_bytes: int) -> None:
        """Write the rows that are kept into files, each where it stands among the changes. May block on the disk.

        writer_bytes: as `kept_bytes` of `TableWriter`. Raises SerializationFailure where another transaction has changed a
        table's definition; after any SqlError the transaction can only be rolled back, as far as before the rows.
        """
        now, changes, seen = self.current(), self._changes, self._seen
        self._kept, self._seen = {}, None
        missed: list[DataChange] = []
        for index, rows in enumerate(changes):
            if isinstance(rows, KeptRows):
                # A table that is gone has no folder to write to: that is a conflict, and no error of the disk.
                now.replay([DataChange(rows.table, FileChange())])
                change = DataChange(rows.table, FileChange(rows.write(writer_bytes)))
                changes[index] = change
                if seen is not None and index < seen[1]:
                    missed.append(change)
        self._kept_bytes = 0
        if seen is not None:
            # Appended files are the same in whatever order they are recorded.
            shown = replace(seen[2].replay(missed), version=seen[0].version + 1) if missed else seen[2]
            self._seen = (seen[0], seen[1], shown)

    def _forget_kept(self) -> None:
        """Some of the changes are gone: count what is kept, and add nothing to it."""
        self._kept = {}
        self._kept_bytes = sum(change.bytes for change in self._changes if isinstance(change, KeptRows))

    # -- changes -------------------------------------------------------------------------------------------------

    def _record(self, change: AnyChange, *more: AnyChange) -> None:
        """more: what else is to be committed with it."""
        if change.key[0] == TEMPORARY:
            self._record_temporary(change)
        elif self.in_transaction:
            self._changes += (change, *more)
            if not isinstance(change, DataChange):
                self._definitions += 1
        else:
            self._commit([change, *more])

    def _record_temporary(self, change: AnyChange) -> None:
        self._temporary = dict(self._temporary)
        match change:
            case DataChange():
                present = self._temporary[change.key]
                assert isinstance(present, Table)
                self._temporary[change.key] = tables.with_changed_files(present, change.files)
            case Analysis():
                present = self._temporary[change.key]
                assert isinstance(present, Table)
                self._temporary[change.key] = with_statistics(present, change.statistics)
            case Change(after=None):
                del self._temporary[change.key]
            case Change(after=relation) if relation is not None:
                assert not isinstance(relation, Schema), "a schema is not temporary"
                self._temporary[change.key] = relation

    def _commit(self, changes: Sequential[AnyChange], made: Sequential[str] = ()) -> None:
        """made: folders that these changes have made."""
        try:
            committed = self._store.commit(changes)
        except BaseException as error:
            if _has_surely_failed(error):
                _take_back(self._store.tables, changes, made)
            raise
        _remove_unused(self._store.tables, changes, made, (*committed.relations.values(), *self._temporary.values()))

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

    def plan_for_commit(self, table: Table, action: OnCommit) -> None:
        """ON COMMIT of a temporary table."""
        if action != "preserve":
            self._at_commit[table.oid] = action

    def due_at_commit(self) -> Sequential[tuple[Table, OnCommit]]:
        """The temporary tables of which the commit that is about to take place leaves less."""
        if not self._at_commit:
            return ()
        there = [table for table in self._temporary.values() if isinstance(table, Table)]
        return [(table, self._at_commit[table.oid]) for table in there if table.oid in self._at_commit]

    def begin(self) -> None:
        self._begun = self._temporary

    @property
    def only_keeps_rows(self) -> bool:
        """Whether the transaction has done nothing but append rows to one table, and they are few: its commit writes them
        (`engine.catalog.store.commit_group`)."""
        changes = self._changes
        return len(changes) == 1 and isinstance(changes[0], KeptRows) and self._kept_bytes <= SHARED_BYTES

    def commit(self) -> None:
        """Raises SerializationFailure; the transaction is then over, with nothing changed. Rows that were kept are written."""
        assert not self.keeps_rows, "written before"
        ending = self.end()
        changes = _catalog_changes(ending.changes)
        try:
            committed = self._store.commit(changes)
        except BaseException as error:
            self.settle(ending, changes, error)
            raise
        self.settle(ending, changes, committed)

    def end(self) -> EndingTransaction:
        """End the transaction, for one caller that commits or takes back what it has changed: a session that ends may roll back
        while its commit still runs on a thread, and must not take back what that commits. A commit is followed by `settle`."""
        with self._ending:
            changes, self._changes = self._changes, []
            made, self._made = self._made, []
        begun, self._begun = self._begun, None
        self._frozen = self._seen = None
        self._forget_kept()
        self._definitions += _define(changes)
        self._unused.clear()
        return EndingTransaction(changes, made, begun)

    def settle(
        self, ending: EndingTransaction, changes: Sequential[AnyChange], outcome: Snapshot | BaseException
    ) -> None:
        """The commit of a transaction is over. changes: as they were committed, without what is somebody else's to remove. outcome:
        the state after it, or why it has failed. May block on the disk."""
        try:
            if isinstance(outcome, Snapshot):
                _remove_unused(
                    self._store.tables, changes, ending.made, (*outcome.relations.values(), *self._temporary.values())
                )
            elif _has_surely_failed(outcome):
                _take_back(self._store.tables, changes, ending.made)
        finally:
            if not isinstance(outcome, Snapshot):
                self._temporary = ending.temporary or {}
            self._release()

    def rollback(self) -> None:
        """May block where files were written."""
        ending = self.end()
        if ending.temporary is not None:
            self._temporary = ending.temporary
        _take_back(self._store.tables, ending.changes, ending.made)
        self._release()

    def savepoint(self) -> _Token:
        # Rows that come after it stand by themselves.
        self._kept = {}
        return self.mark()

    def mark(self) -> _Token:
        """A savepoint for `rollback_to` before which no rows are kept that come after it."""
        return len(self._changes), self._temporary, len(self._made)

    def rollback_to(self, token: _Token) -> None:
        count, self._temporary, folders = token
        changes, made = self._changes[count:], self._made[folders:]
        del self._changes[count:], self._made[folders:]
        self._seen = None
        self._definitions += _define(changes)
        self._forget_kept()
        _take_back(self._store.tables, changes, made)

    def discard_temporary(self) -> None:
        """Forget the temporary relations, and remove the folders of tables."""
        temporary, self._temporary = self._temporary, {}
        self._at_commit.clear()
        for relation in temporary.values():
            if (location := _location(relation)) is not None:
                tables.discard(self._store.tables, location)


def _take_back(root: Path, changes: Iterable[AnyChange | KeptRows], made: Iterable[str]) -> None:
    """Remove what changes that will never be committed have written."""
    for location in made:
        tables.discard(root, location)
    for change in changes:
        if isinstance(change, DataChange):
            tables.unlink(root, change.location, change.files.added)


def _remove_unused(
    root: Path, changes: Sequential[AnyChange], made: Iterable[str], present: Iterable[StoredRelation]
) -> None:
    """Remove what the transaction itself did away with again: tables made and dropped, files added and removed.
    present: the relations that there are after it."""
    if made := tuple(made):
        live = {_location(table) for table in present}
        for location in made:
            if location not in live:
                tables.discard(root, location)
    whole = net_changes(changes)
    for change in changes:
        if isinstance(change, DataChange):
            kept = {file.path for file in whole[change.location].added}
            unused = [file for file in change.files.added if file.path not in kept]
            tables.unlink(root, change.location, unused)


def _lost(snapshot: Snapshot, relation: StoredRelation) -> list[RightsChange]:
    """The privileges of columns that a table has no more: whoever has one of any column may count its rows."""
    rights = snapshot.rights.objects.get(relation.oid)
    if rights is None or not isinstance(relation, Table):
        return []
    there = {column.number for column in relation.columns}
    kept = tuple((number, own) for number, own in rights.columns if number in there)
    return (
        [RightsChange(relation.oid, relation.name, replace(rights, columns=kept), rights)]
        if kept != rights.columns
        else []
    )


def _catalog_changes(changes: Iterable[AnyChange | KeptRows]) -> list[AnyChange]:
    """The changes that the catalog can have: without rows that are in no file yet."""
    return [change for change in changes if not isinstance(change, KeptRows)]


def _define(changes: Iterable[AnyChange | KeptRows]) -> bool:
    """Whether changes are of something else than rows."""
    return not all(isinstance(change, DataChange | Guard | KeptRows) for change in changes)


def _same(guard: Guard, table: Table) -> bool:
    return guard.before.version == table.version


def _location(relation: StoredRelation | Schema | None) -> str | None:
    return relation.storage.location if isinstance(relation, Table) and relation.storage is not None else None


def _has_surely_failed(error: BaseException) -> bool:
    """Whether a commit that ended so has surely not taken place."""
    return isinstance(error, SqlError) and not isinstance(error, (StatementCompletionUnknown, IoError))

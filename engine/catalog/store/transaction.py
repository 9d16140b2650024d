"""A session's view of the catalog: the newest committed snapshot, the session's own uncommitted changes, its temporary
objects.

`engine.catalog.store.visible_catalog` decides what a statement sees. A commit begins on the newest state, where it
conflicts with the commits of other sessions or does not. Outside a transaction every change is committed at once; a
statement that makes several changes, which are to be committed together, makes them within `statement`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from engine.catalog.model.objects import Sequence as NumberSequence
from engine.catalog.model.objects import StoredRelation
from engine.catalog.model.roles import FIRST_ROLE
from engine.catalog.snapshot import AnyChange, Key, Snapshot
from engine.catalog.store.compaction_claims import CompactionClaims
from engine.catalog.store.object_changes import ObjectChanges
from engine.catalog.store.pending_changes import PendingChanges, catalog_changes
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.stored_tables import StoredTables
from engine.catalog.store.temporary_relations import TemporaryRelations
from engine.catalog.store.uncommitted_files import settle_files, take_back
from engine.catalog.store.visible_catalog import VisibleCatalog
from engine.storage.in_flight_files import IN_FLIGHT_FILES
from engine.storage.kept_rows import KeptRows
from wire.dataclass import dataclass
from wire.errors import InternalError

_Token = tuple[int, dict[Key, StoredRelation], int]


@dataclass(frozen=True, slots=True)
class EndingTransaction:
    """A transaction taken from its session to be committed. made: the folders that it has made. temporary: the
    temporary relations with which it began.
    """

    changes: Sequence[AnyChange | KeptRows]
    made: Sequence[str]
    temporary: dict[Key, StoredRelation] | None

    @property
    def is_empty(self) -> bool:
        """Whether the transaction has neither changes nor folders."""
        return not self.changes and not self.made


class SessionCatalog:
    """The catalog of one session. Not thread-safe: only one statement of the session at a time changes it. `commit` may
    block on the disk.

    repeatable: returns whether the open transaction is to see one state; it is called until it returns True.
    creator: returns the OID of the session's role, which owns the objects that the session creates.
    objects, tables, temporary, claims: the parts of the catalog that record changes.
    pending: the changes of the open transaction.
    """

    def __init__(
        self,
        store: CatalogStore,
        repeatable: Callable[[], bool] = lambda: False,
        creator: Callable[[], int] = lambda: FIRST_ROLE,
    ) -> None:
        self._store = store
        self.pending = PendingChanges()
        self.temporary = TemporaryRelations(store.tables)
        self._visible = VisibleCatalog(store, self.pending, self.temporary, repeatable)
        self.claims = CompactionClaims(self._visible)
        self.objects = ObjectChanges(self._visible, creator)
        self.tables = StoredTables(self._visible, self.objects, self.claims)
        #: The temporary relations with which the open transaction began.
        self._begun: dict[Key, StoredRelation] | None = None
        IN_FLIGHT_FILES.join(self.tables)

    @property
    def in_transaction(self) -> bool:
        return self._visible.in_transaction

    @property
    def has_changes(self) -> bool:
        """Whether `commit` has anything to write, and may block."""
        return bool(self.pending.changes or self.claims)

    @property
    def has_files(self) -> bool:
        """Whether the end of the transaction, or of a part of it, may have files to remove, and may block."""
        return bool(self.pending.changes or self.pending.made or self.claims)

    def current(self) -> Snapshot:
        """Return the snapshot that a statement sees if it begins now. Raises SerializationFailure if another
        transaction has committed a change to an object that this one changed.
        """
        return self._visible.current()

    def one_state(self) -> AbstractContextManager[None]:
        """Let the steps of one statement see one committed state."""
        return self._visible.one_state()

    def sequence(self, oid: int) -> NumberSequence:
        """Return the sequence with that OID, as a statement sees it."""
        for relation in self.current().relations.values():
            if relation.oid == oid and isinstance(relation, NumberSequence):
                return relation
        raise InternalError(f"could not open relation with OID {oid}")

    def cache_key(self) -> tuple[int, int, int] | None:
        """Return a key such that equal keys have equal catalogs; None while the view has changes of this session, and
        nothing may be cached.
        """
        return self._visible.cache_key()

    def definition_key(self) -> tuple[int, int] | None:
        """Return a key such that equal keys have equal definitions, whatever rows the open transaction has changed;
        None if the view has temporary relations.
        """
        return self._visible.definition_key()

    def write_kept(self, writer_bytes: int) -> None:
        """Write the kept rows into files. May block on the disk. Raises SqlError; the transaction can then only be
        rolled back, to a point before the rows. writer_bytes: as `kept_bytes` of `TableWriter`.
        """
        self._visible.write_kept(writer_bytes)

    # -- transactions --------------------------------------------------------------------------------------------

    @contextmanager
    def statement(self) -> Iterator[None]:
        """Hold one statement: its changes are committed together if no transaction is open, and rolled back if it
        fails.
        """
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
        self._begun = self.temporary.relations
        self._visible.in_transaction = True

    def commit(self) -> None:
        """Commit the transaction. Kept rows have been written before. Raises SerializationFailure; the transaction has
        then ended without changes.
        """
        assert not self.pending.keeps_rows, "written before"
        ending = self.end()
        if ending.is_empty:
            self.claims.release()
            return
        changes = catalog_changes(ending.changes)
        try:
            committed = self._store.commit(changes)
        except BaseException as error:
            self.settle(ending, changes, error)
            raise
        self.settle(ending, changes, committed)

    def end(self) -> EndingTransaction:
        """End the transaction, and return its changes to the one caller that commits them or rolls them back. A session
        that ends may roll back while its commit still runs on a thread, and must not roll back the changes that are
        being committed. After a commit the caller calls `settle`.
        """
        changes, made = self.pending.take()
        begun, self._begun = self._begun, None
        self._visible.end_transaction()
        self.objects.forget_oids()
        return EndingTransaction(changes, made, begun)

    def settle(
        self, ending: EndingTransaction, changes: Sequence[AnyChange], outcome: Snapshot | BaseException
    ) -> None:
        """Finish the commit of a transaction. May block on the disk.

        changes: as they were committed, without files that another transaction of the group removes.
        outcome: the state after the commit, or its error.
        """
        try:
            temporary = self.temporary.relations.values()
            settle_files(self._store.tables, changes, ending.made, outcome, temporary)
        finally:
            if not isinstance(outcome, Snapshot):
                self.temporary.relations = ending.temporary or {}
            self.claims.release()

    def rollback(self) -> None:
        """Roll the transaction back. May block if files were written."""
        ending = self.end()
        if ending.temporary is not None:
            self.temporary.relations = ending.temporary
        take_back(self._store.tables, ending.changes, ending.made)
        self.claims.release()

    def savepoint(self) -> _Token:
        # Rows that are appended later are kept as a change of their own.
        self.pending.close_kept()
        return self.mark()

    def mark(self) -> _Token:
        """Return a savepoint for `rollback_to` like `savepoint`, for a caller that ensures that rows appended later are
        not merged with rows kept before it.
        """
        return len(self.pending.changes), self.temporary.relations, len(self.pending.made)

    def rollback_to(self, token: _Token) -> None:
        count, self.temporary.relations, folders = token
        changes, made = self.pending.truncate(count, folders)
        self._visible.forget_changes()
        take_back(self._store.tables, changes, made)

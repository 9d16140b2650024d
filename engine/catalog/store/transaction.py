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
    """A transaction that is taken from its session to be committed. made: the folders that it has made. temporary: the temporary
    relations with which it began."""

    changes: Sequence[AnyChange | KeptRows]
    made: Sequence[str]
    temporary: dict[Key, StoredRelation] | None

    @property
    def is_empty(self) -> bool:
        """Whether it has neither changed nor made anything."""
        return not self.changes and not self.made


class SessionCatalog:
    """Not thread-safe: one statement of a session at a time changes it. `commit` may block on the disk.

    repeatable: whether the transaction that is open is to see one state; asked until it says so. creator: the OID of the role that
    the session is, whose everything is that it creates. objects, tables, temporary, claims: what changes them. pending: what the
    open transaction has changed.
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

    def current(self) -> Snapshot:
        """Return the snapshot that a statement sees which begins now. Raises SerializationFailure when another transaction has
        committed a change to what this one changed."""
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
        """Equal keys see equal catalogs; None while this session's view is its own, and nothing may be cached."""
        return self._visible.cache_key()

    def definition_key(self) -> tuple[int, int] | None:
        """Equal keys see equal definitions, whatever rows the open transaction has changed; None where nothing may be concluded."""
        return self._visible.definition_key()

    def write_kept(self, writer_bytes: int) -> None:
        """Write the rows that are kept into files. May block on the disk. Raises SqlError, after which the transaction can only be
        rolled back, as far as before the rows. writer_bytes: as `kept_bytes` of `TableWriter`."""
        self._visible.write_kept(writer_bytes)

    # -- transactions --------------------------------------------------------------------------------------------

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
        self._begun = self.temporary.relations
        self._visible.in_transaction = True

    def commit(self) -> None:
        """Raises SerializationFailure; the transaction is then over, with nothing changed. Rows that were kept are written."""
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
        """End the transaction, for one caller that commits or takes back what it has changed: a session that ends may roll back
        while its commit still runs on a thread, and must not take back what that commits. A commit is followed by `settle`."""
        changes, made = self.pending.take()
        begun, self._begun = self._begun, None
        self._visible.end_transaction()
        self.objects.forget_oids()
        return EndingTransaction(changes, made, begun)

    def settle(
        self, ending: EndingTransaction, changes: Sequence[AnyChange], outcome: Snapshot | BaseException
    ) -> None:
        """The commit of a transaction is over. changes: as they were committed, without what is somebody else's to remove. outcome:
        the state after it, or why it has failed. May block on the disk."""
        try:
            temporary = self.temporary.relations.values()
            settle_files(self._store.tables, changes, ending.made, outcome, temporary)
        finally:
            if not isinstance(outcome, Snapshot):
                self.temporary.relations = ending.temporary or {}
            self.claims.release()

    def rollback(self) -> None:
        """May block where files were written."""
        ending = self.end()
        if ending.temporary is not None:
            self.temporary.relations = ending.temporary
        take_back(self._store.tables, ending.changes, ending.made)
        self.claims.release()

    def savepoint(self) -> _Token:
        # Rows that come after it stand by themselves.
        self.pending.close_kept()
        return self.mark()

    def mark(self) -> _Token:
        """A savepoint for `rollback_to` before which no rows are kept that come after it."""
        return len(self.pending.changes), self.temporary.relations, len(self.pending.made)

    def rollback_to(self, token: _Token) -> None:
        count, self.temporary.relations, folders = token
        changes, made = self.pending.truncate(count, folders)
        self._visible.forget_changes()
        take_back(self._store.tables, changes, made)

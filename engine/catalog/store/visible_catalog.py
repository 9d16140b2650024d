"""The catalog as a session's statements see it, and the recording of the statements' changes.

READ COMMITTED: each statement sees everything committed before it begins, plus this transaction's changes. REPEATABLE
READ: every statement sees everything committed before the first one began. Outside a transaction every change is
committed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from engine.catalog.model.objects import Table
from engine.catalog.replay import replay
from engine.catalog.snapshot import TEMPORARY, AnyChange, Guard, Snapshot
from engine.catalog.store.pending_changes import PendingChanges, catalog_changes
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.temporary_relations import TemporaryRelations
from engine.catalog.store.uncommitted_files import settle_files
from engine.storage.kept_rows import KeptRows


class VisibleCatalog:
    """The catalog that statements see. in_transaction: whether a transaction is open. repeatable: returns whether it is
    to see one state; it is called until it returns True.
    """

    def __init__(
        self,
        store: CatalogStore,
        pending: PendingChanges,
        temporary: TemporaryRelations,
        repeatable: Callable[[], bool],
    ) -> None:
        self.store = store
        self.pending = pending
        self.temporary = temporary
        self.in_transaction = False
        self._repeatable = repeatable
        self._frozen: Snapshot | None = None
        #: The committed state that one statement sees from its beginning to its end.
        self._held: Snapshot | None = None
        #: A committed state, the number of changes, and that state with them.
        self._seen: tuple[Snapshot, int, Snapshot] | None = None
        #: The state that the replay of those changes left for the replay of later ones.
        self._moving: dict[str, Table] = {}

    def current(self) -> Snapshot:
        """Return the snapshot that a statement sees if it begins now. Raises SerializationFailure if another
        transaction has committed a change to an object that this one changed.
        """
        committed, count = self._base(), len(self.pending.changes)
        if self._seen is None or self._seen[0] is not committed or self._seen[1] != count:
            self._seen = (committed, count, self._replay(committed, count))
        return self.temporary.add_to(self._seen[2])

    def _replay(self, committed: Snapshot, count: int) -> Snapshot:
        """Return the committed state with the changes of this transaction. Changes made since the last call are applied
        to the state of that call, so the cost of a statement does not grow with the statements before it.
        """
        seen, self._seen = self._seen, None
        if seen is not None and seen[0] is committed and seen[1] < count:
            latest = catalog_changes(self.pending.changes[seen[1] :])
            return replace(replay(seen[2], latest, self._moving), version=committed.version + 1)
        self._moving = {}
        return replay(committed, catalog_changes(self.pending.changes), self._moving) if count else committed

    def _base(self) -> Snapshot:
        """Return the committed state that this session sees now."""
        if self._frozen is None:
            if self._held is not None:
                return self._held
            if not self.in_transaction or not self._repeatable():
                return self.store.snapshot
            self._frozen = self.store.snapshot
        return self._frozen

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Let all steps of a definition see one committed state. A definition reads and changes the catalog in several
        steps. Concurrent commits of other sessions become a conflict when its changes are replayed, and are not
        mistaken for the objects that the statement changed.
        """
        self._held = self._base()
        try:
            yield
        finally:
            self._held = None

    @property
    def will_freeze(self) -> bool:
        """Whether the next read of the open transaction decides the one state that it sees from then on."""
        return self.in_transaction and self._frozen is None and self._repeatable()

    def cache_key(self) -> tuple[int, int, int] | None:
        """Return a key such that equal keys have equal catalogs; None while the view has changes of this session, and
        nothing may be cached.
        """
        own = self.temporary.relations or not all(isinstance(c, Guard | KeptRows) for c in self.pending.changes)
        return None if own else (self._base().version, 0, 0)

    def definition_key(self) -> tuple[int, int] | None:
        """Return a key such that equal keys have equal definitions, whatever rows the open transaction has changed;
        None if the view has temporary relations.
        """
        return None if self.temporary.relations else (self._base().definitions, self.pending.definitions)

    def write_kept(self, writer_bytes: int) -> None:
        """Write the kept rows into files, each at its place among the changes. May block on the disk.

        writer_bytes: as `kept_bytes` of `TableWriter`. Raises SerializationFailure if another transaction has changed a
        table's definition; after any SqlError the transaction can only be rolled back, to a point before the rows.
        """
        now = self.current()
        seen, self._seen = self._seen, None
        written = self.pending.write_kept(now, writer_bytes)
        assert seen is not None, "current has set it"
        # The order in which appended files are recorded does not matter.
        shown = replace(replay(seen[2], written), version=seen[0].version + 1) if written else seen[2]
        self._seen = (seen[0], seen[1], shown)

    def forget_changes(self) -> None:
        """Forget the state that includes changes which have been removed."""
        self._seen = None

    def end_transaction(self) -> None:
        self.in_transaction = False
        self._frozen = self._seen = None

    # -- changes -------------------------------------------------------------------------------------------------

    def record(self, change: AnyChange, *more: AnyChange) -> None:
        """Record a change. more: changes that are to be committed with it."""
        if change.key[0] == TEMPORARY:
            self.temporary.record(change)
        elif self.in_transaction:
            self.pending.append(change, *more)
        else:
            self._commit([change, *more])

    def _commit(self, changes: Sequence[AnyChange]) -> None:
        root, temporary = self.store.tables, self.temporary.relations.values()
        try:
            committed = self.store.commit(changes)
        except BaseException as error:
            settle_files(root, changes, (), error, temporary)
            raise
        settle_files(root, changes, (), committed, temporary)

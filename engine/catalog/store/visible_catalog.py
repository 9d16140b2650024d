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
    """in_transaction: whether a transaction is open. repeatable: whether it is to see one state; asked until it says so."""

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
        #: What one statement sees from its beginning to its end.
        self._held: Snapshot | None = None
        #: A committed state, the number of changes, and that state with them.
        self._seen: tuple[Snapshot, int, Snapshot] | None = None
        #: What the replay of those changes has left for the replay of later ones.
        self._moving: dict[str, Table] = {}

    def current(self) -> Snapshot:
        """Return the snapshot that a statement sees which begins now. Raises SerializationFailure when another transaction has
        committed a change to what this one changed."""
        committed, count = self._base(), len(self.pending.changes)
        if self._seen is None or self._seen[0] is not committed or self._seen[1] != count:
            self._seen = (committed, count, self._replay(committed, count))
        return self.temporary.add_to(self._seen[2])

    def _replay(self, committed: Snapshot, count: int) -> Snapshot:
        """The committed state with the changes of this transaction. Those that were made since are made to the state that was
        seen last, so that what a statement costs does not grow with the statements before it."""
        seen, self._seen = self._seen, None
        if seen is not None and seen[0] is committed and seen[1] < count:
            latest = catalog_changes(self.pending.changes[seen[1] :])
            return replace(replay(seen[2], latest, self._moving), version=committed.version + 1)
        self._moving = {}
        return replay(committed, catalog_changes(self.pending.changes), self._moving) if count else committed

    def _base(self) -> Snapshot:
        """The committed state that this session sees now."""
        if self._frozen is None:
            if self._held is not None:
                return self._held
            if not self.in_transaction or not self._repeatable():
                return self.store.snapshot
            self._frozen = self.store.snapshot
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

    @property
    def will_freeze(self) -> bool:
        """Whether the next look of the open transaction is at the one state that it is to see from then on."""
        return self.in_transaction and self._frozen is None and self._repeatable()

    def cache_key(self) -> tuple[int, int, int] | None:
        """Equal keys see equal catalogs; None while this session's view is its own, and nothing may be cached."""
        own = self.temporary.relations or not all(isinstance(c, Guard | KeptRows) for c in self.pending.changes)
        return None if own else (self._base().version, 0, 0)

    def definition_key(self) -> tuple[int, int] | None:
        """Equal keys see equal definitions, whatever rows the open transaction has changed; None where nothing may be concluded."""
        return None if self.temporary.relations else (self._base().definitions, self.pending.definitions)

    def write_kept(self, writer_bytes: int) -> None:
        """Write the rows that are kept into files, each where it stands among the changes. May block on the disk.

        writer_bytes: as `kept_bytes` of `TableWriter`. Raises SerializationFailure where another transaction has changed a
        table's definition; after any SqlError the transaction can only be rolled back, as far as before the rows.
        """
        now = self.current()
        seen, self._seen = self._seen, None
        written = self.pending.write_kept(now, writer_bytes)
        assert seen is not None, "current has set it"
        # Appended files are the same in whatever order they are recorded.
        shown = replace(replay(seen[2], written), version=seen[0].version + 1) if written else seen[2]
        self._seen = (seen[0], seen[1], shown)

    def forget_changes(self) -> None:
        """Some of the changes are gone: what was seen with them is not to be built upon."""
        self._seen = None

    def end_transaction(self) -> None:
        self.in_transaction = False
        self._frozen = self._seen = None

    # -- changes -------------------------------------------------------------------------------------------------

    def record(self, change: AnyChange, *more: AnyChange) -> None:
        """more: what else is to be committed with it."""
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

"""A session's window on the catalog: the newest committed snapshot, its own uncommitted changes, its temporary objects.

READ COMMITTED: each statement sees what is committed when it begins, with this transaction's changes on top. Outside a
transaction every change is committed at once.
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalog.objects import Schema, StoredRelation
from engine.catalog.snapshot import TEMPORARY, Change, Key, Snapshot
from engine.catalog.store import CatalogStore

_Token = tuple[int, dict[Key, StoredRelation]]


class SessionCatalog:
    """Not thread-safe: one statement of a session at a time changes it. `commit` may block on the disk."""

    def __init__(self, store: CatalogStore) -> None:
        self._store = store
        self._changes: list[Change] = []
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
        committed = self._store.snapshot
        base = committed.replay(self._changes) if self._changes else committed
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

    def _record(self, change: Change) -> None:
        if change.key[0] == TEMPORARY:
            self._temporary = dict(self._temporary)
            if change.after is None:
                del self._temporary[change.key]
            elif not isinstance(change.after, Schema):
                self._temporary[change.key] = change.after
        elif self.in_transaction:
            self._changes.append(change)
        else:
            self._store.commit([change])

    def begin(self) -> None:
        self._begun = self._temporary

    def commit(self) -> None:
        """Raises SerializationFailure; the transaction is then over, with nothing changed."""
        changes, self._changes = self._changes, []
        begun, self._begun = self._begun, None
        try:
            self._store.commit(changes)
        except BaseException:
            self._temporary = begun or {}
            raise

    def rollback(self) -> None:
        self._temporary = self._begun or {}
        self._begun = None
        self._changes = []

    def savepoint(self) -> _Token:
        return len(self._changes), self._temporary

    def rollback_to(self, token: _Token) -> None:
        count, self._temporary = token
        del self._changes[count:]

    def discard_temporary(self) -> None:
        self._temporary = {}

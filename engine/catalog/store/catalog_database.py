"""The interface of the catalog database (SQLite or PostgreSQL) for the store and its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from engine.catalog.model.counters import Count
from engine.catalog.snapshot import AnyChange, Snapshot
from engine.catalog.store.contents import Contents
from engine.catalog.store.decide import CommitOutcome
from engine.catalog.store.rows import Decision
from engine.storage.delta import Published


class CatalogDatabase(Protocol):
    """The database that stores the catalog. Methods may block and may be called from any thread; they raise SqlError.

    near: whether `version` answers in microseconds and never waits for a writer.
    """

    near: bool

    def version(self) -> int:
        """Return the version of the newest commit."""
        ...

    def load(self) -> Snapshot:
        """Return the newest committed state, read at one moment."""
        ...

    def next_oid(self) -> int:
        """Return a number that no member was ever given before."""
        ...

    def count(self, counter: int, change: Callable[[Count | None], Count]) -> Count | None:
        """Change a counter in a transaction of its own. `change` receives the counter's state, None before its first
        use. Returns the state that `change` received. If `change` raises, the counter stays as it was.
        """
        ...

    def read_counter(self, counter: int) -> Count | None:
        """Return the state of a counter."""
        ...

    def commit(self, known: Snapshot, group: Sequence[Sequence[AnyChange]]) -> Sequence[CommitOutcome]:
        """Commit the changes of each transaction, one after the other, in one transaction that is durable when it
        returns (`engine.catalog.store.decide`). known: a snapshot that need not be read again if it is still the
        newest. An error that this method raises applies to all of them.
        """
        ...

    def decisions(self) -> Sequence[Decision]:
        """Return the decisions of commits about tables' files that Delta's logs may not have yet, in the order of the
        commits.
        """
        ...

    def settle(self, location: str, published: Published) -> None:
        """Pin the version that a table's Delta log has reached, and delete the decisions that it includes. The contents
        of the catalog do not change, so its version stays. The call is idempotent.
        """
        ...

    def dropped_locations(self, until: int) -> Sequence[str]:
        """Return the folders of tables that were dropped before that second (since 1970) and have not been removed yet."""
        ...

    def forget(self, location: str) -> None:
        """Note that a dropped table's folder has been removed."""
        ...

    def contents(self) -> Contents:
        """Return all rows, read at one moment."""
        ...

    def fill(self, given: Contents) -> None:
        """Fill this database with another one's rows. Raises ObjectInUse if anything was committed here already."""
        ...

    def close(self) -> None: ...

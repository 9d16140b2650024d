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
    """The database that has the catalog. Methods may block and may be called from any thread; they raise SqlError.

    near: whether `version` answers in microseconds and never waits for a writer.
    """

    near: bool

    def version(self) -> int:
        """The version of the newest commit."""
        ...

    def load(self) -> Snapshot:
        """The newest committed state, read at one moment."""
        ...

    def next_oid(self) -> int:
        """A number that no member was ever given before."""
        ...

    def count(self, counter: int, change: Callable[[Count | None], Count]) -> Count | None:
        """Change a counter in a transaction of its own: `change` is given where it stands, None before its first use.
        Returns what `change` was given. What `change` raises leaves the counter as it was."""
        ...

    def read_counter(self, counter: int) -> Count | None:
        """Return the state of a counter."""
        ...

    def commit(self, known: Snapshot, group: Sequence[Sequence[AnyChange]]) -> Sequence[CommitOutcome]:
        """Commit the changes of each transaction, one after the other, in one transaction that is durable when it returns
        (`engine.catalog.store.decide`). known: what need not be read again if it is still the newest. What it raises is true of
        all of them."""
        ...

    def decisions(self) -> Sequence[Decision]:
        """Return commits' decisions about tables' files that Delta's logs may not have yet, in the order of the commits."""
        ...

    def settle(self, location: str, published: Published) -> None:
        """A table's Delta log stands there: pin that version, forget the decisions that are in it. No change of what
        the catalog says, so the catalog's version stays. Once is as good as twice."""
        ...

    def dropped_locations(self, until: int) -> Sequence[str]:
        """The folders of tables that were dropped before that second (since 1970) and are still to be removed."""
        ...

    def forget(self, location: str) -> None:
        """A dropped table's folder is no more."""
        ...

    def contents(self) -> Contents:
        """All rows, read at one moment."""
        ...

    def fill(self, given: Contents) -> None:
        """Take another database's rows for one's own. Raises ObjectInUse where something was committed here already."""
        ...

    def close(self) -> None: ...

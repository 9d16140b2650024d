"""The catalog database of a simulated process: the real one over SQLite, whose transactions are steps and may fail.

Each transaction is one step, before and after which other actors run and the process may be killed. While the disk is
bad, a transaction may fail before it has begun (a full disk), or report an error after it has committed, so that its
outcome is unknown.

SQLite syncs each commit (`synchronous = full`), so a commit survives a power failure. If a connection does not set
this, its last commits are lost: `Durability` keeps the catalog as it was before them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from engine.catalog.model.counters import Count
from engine.catalog.snapshot import AnyChange, DataChange, Snapshot
from engine.catalog.store.decide import CommitOutcome
from engine.catalog.store.rows import Decision
from engine.catalog.store.sqlite import SqliteDatabase
from engine.storage.delta import Published
from simulated.disk import SimulatedDisk
from simulated.history import History, Transaction, Violation, WrittenFile, read_file
from simulated.stage import Actor, Stage
from wire.errors import DiskFull, IoError

T = TypeVar("T")
#: SQLite's number of `full`.
_FULL: Final = 2
_FAILS: Final = 0.15
#: The probability that a state that was read is compared with all rows.
_COMPARED: Final = 0.2


class Durability:
    """The durability of the catalog: what remains of it after a power failure. path: the catalog's file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._earlier: bytes | None = None

    def note_commit_begin(self, connection: sqlite3.Connection) -> None:
        """Record that a transaction begins that is to be committed."""
        [(synchronous,)] = connection.execute("pragma synchronous").fetchall()
        if synchronous < _FULL:
            self._earlier = connection.serialize()

    def lose_power(self) -> None:
        """Discard the commits that were not synced. No connection may be open."""
        if self._earlier is None:
            return
        for name in (f"{self._path.name}-wal", f"{self._path.name}-shm"):
            (self._path.parent / name).unlink(missing_ok=True)
        self._path.write_bytes(self._earlier)


class SimulatedDatabase(SqliteDatabase):
    """The catalog database of one process; see the module's docstring. transactions: the open transaction of each actor
    that has one.
    """

    def __init__(
        self,
        path: Path,
        tables: Path,
        stage: Stage,
        disk: SimulatedDisk,
        history: History,
        durability: Durability,
        transactions: dict[Actor, Transaction],
    ) -> None:
        self._stage = stage
        self._disk = disk
        self._history = history
        self._durability = durability
        self._transactions = transactions
        super().__init__(path, tables)

    def commit(self, known: Snapshot, group: Sequence[Sequence[AnyChange]]) -> Sequence[CommitOutcome]:
        def write() -> Sequence[CommitOutcome]:
            outcomes = SqliteDatabase.commit(self, known, group)
            try:
                for changes, outcome in zip(group, outcomes, strict=True):
                    if isinstance(outcome, Snapshot):
                        self._history.commit(outcome.version, changes, self._transactions_of(changes))
            except Violation as violation:
                self._history.found = self._history.found or violation
                raise
            return outcomes

        return self._transact(f"commit of {len(group)}", write)

    def _transactions_of(self, changes: Sequence[AnyChange]) -> Sequence[Transaction]:
        """Return the transactions that a commit contains. Raises Violation if it has rows of others, or not all rows of
        these.
        """
        ids = {id(change) for change in changes}
        asked = [
            each
            for each in self._transactions.values()
            if each.request is not None and not ids.isdisjoint(map(id, each.request.changes))
        ]
        if asked:
            return asked
        if files := self._unknown_files(changes):
            numbers = {number for file in files.values() for number in file.numbers}
            kept = [
                each
                for each in self._transactions.values()
                if any(not numbers.isdisjoint(of_table) for of_table in each.kept.values())
            ]
            self._history.note_written(kept, files)
            return kept
        # It was committed by its client itself, as it was made.
        actor = self._stage.runs
        return [self._transactions[actor]] if actor in self._transactions else []

    def _unknown_files(self, changes: Sequence[AnyChange]) -> dict[tuple[str, str], WrittenFile]:
        """Return the files that the changes add and that no client has written, by folder and path: the commit itself
        has written them.
        """
        return {
            (change.location, file.path): read_file(self._tables / change.location / file.path)
            for change in changes
            if isinstance(change, DataChange)
            for file in change.files.added
            if (change.location, file.path) not in self._history.contents
        }

    def settle(self, location: str, published: Published) -> None:
        self._transact("settle", lambda: SqliteDatabase.settle(self, location, published))

    def decisions(self) -> Sequence[Decision]:
        self._stage.step("ask for decisions")
        found = super().decisions()
        # What comes between this answer and what is asked next: commits, publications, other members' removals.
        self._stage.step("has decisions")
        return found

    def next_oid(self) -> int:
        return self._transact("new OID", super().next_oid)

    def count(self, counter: int, change: Callable[[Count | None], Count]) -> Count | None:
        return self._transact("count", lambda: SqliteDatabase.count(self, counter, change))

    def forget(self, location: str) -> None:
        self._transact("forget", lambda: SqliteDatabase.forget(self, location))

    def age_dropped(self, seconds: int) -> None:
        """Move the times at which tables were dropped into the past by `seconds`."""
        self.connections.writer.execute("update dropped set seconds = seconds - ?", (seconds,))

    def load(self) -> Snapshot:
        self._stage.require_alive()
        found = super().load()
        if self._stage.runs is not None and self._stage.chance.random() < _COMPARED:
            self._require_equal(found)
        return found

    def _require_equal(self, found: Snapshot) -> None:
        """Check that a state that was updated by what others have touched is the one that all rows describe."""
        with self.connections.read() as reader:
            whole = self._snapshot(reader, found.stamp)
        if whole != found:
            self._history.found = self._history.found or Violation("a catalog differs from the rows in its database")

    def version(self) -> int:
        self._stage.require_alive()
        return super().version()

    def _transact(self, what: str, write: Callable[[], T]) -> T:
        self._stage.step(what)
        if self._fails():
            raise DiskFull(f"the catalog in {self._path} cannot be used: database or disk is full")
        self._durability.note_commit_begin(self.connections.writer)
        made = write()
        self._stage.step(what, "is done")
        if self._fails():
            raise IoError(f"the catalog in {self._path} cannot be used: disk I/O error")
        return made

    def _fails(self) -> bool:
        fails = self._disk.bad and self._stage.runs is not None and self._stage.chance.random() < _FAILS
        self._disk.failures += fails
        return fails

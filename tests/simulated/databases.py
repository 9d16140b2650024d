"""The catalog database of a simulated process: the real one over SQLite, whose transactions are steps and may fail.

Each transaction is one step, before and after which others run and the process may be killed. While the disk is bad, one may fail
before it has begun (a full disk), or tell an error after it has committed, so that nobody knows.

SQLite syncs each commit (`synchronous = full`), so what is committed outlives a power failure. Where a connection does not say so,
the last commits are lost: `Durability` keeps the catalog as it was before them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from engine.catalog.snapshot import AnyChange, Snapshot
from engine.catalog.store.decide import CommitOutcome
from engine.catalog.store.rows import Decision
from engine.catalog.store.sqlite import SqliteDatabase
from engine.storage.delta import Published
from simulated.disk import SimulatedDisk
from simulated.history import History, Transaction
from simulated.stage import Actor, Stage
from wire.errors import DiskFull, IoError

T = TypeVar("T")
#: SQLite's number of `full`.
_FULL: Final = 2
_FAILS: Final = 0.15


class Durability:
    """The durability of the catalog: what a power failure leaves of it. path: the catalog's file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._earlier: bytes | None = None

    def note_commit_begin(self, connection: sqlite3.Connection) -> None:
        """Note that a transaction that is to be committed begins."""
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
    """See the module's docstring. transactions: of the actors that are in one."""

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
            actor = self._stage.runs
            transaction = self._transactions.get(actor) if actor is not None else None
            for changes, outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, Snapshot):
                    self._history.commit(outcome.version, changes, transaction)
            return outcomes

        return self._transact("commit", write)

    def settle(self, location: str, published: Published) -> None:
        self._transact("settle", lambda: SqliteDatabase.settle(self, location, published))

    def decisions(self) -> Sequence[Decision]:
        self._stage.step("ask for decisions")
        return super().decisions()

    def forget(self, location: str) -> None:
        self._transact("forget", lambda: SqliteDatabase.forget(self, location))

    def age_dropped(self, seconds: int) -> None:
        """Have tables been dropped so many seconds earlier than they were."""
        self.connections.writer.execute("update dropped set seconds = seconds - ?", (seconds,))

    def load(self) -> Snapshot:
        self._stage.require_alive()
        return super().load()

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

"""The catalog in a SQLite file: a member's own, or one that the members of one machine share.

Two connections, so that asking for the version never waits behind a commit: `reader` for that alone, `writer` for the rest
under a lock. In WAL mode readers and the one writer of all processes do not meet. WAL needs shared memory: the file must
not lie on a network file system; members that share no disk use PostgreSQL.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from engine.catalog import rows
from engine.catalog.counters import Count
from engine.catalog.rows import Content, Decision, StepKind
from engine.catalog.snapshot import FIRST_OID, PUBLIC, PUBLIC_COMMENT, AnyChange, Snapshot
from engine.storage.delta import Published
from wire.errors import DataCorrupted, DiskFull, IoError

#: 1: foreign tables and views. 2: stored tables, sequences, comments. 3: roles. 4: types. 5: privileges.
_FORMAT: Final = 5
#: How long a commit may wait for those of other members.
_BUSY_SECONDS: Final = 10.0
_RETRY_SECONDS: Final = 0.02
_SCHEMA: Final = (
    "create table if not exists meta (key text primary key, value integer not null) strict",
    "create table if not exists schemas (name text primary key, oid integer not null, comment text) strict",
    """create table if not exists relations (
        schema text not null, name text not null, oid integer not null, kind text not null, body text not null,
        primary key (schema, name)
    ) strict""",
    "create table if not exists counters (oid integer primary key, value integer not null, called integer not null) strict",
    "create table if not exists storages (location text primary key, version integer not null, number integer not null) strict",
    """create table if not exists decisions (
        number integer not null, location text not null, body text not null, primary key (location, number)
    ) strict""",
    "create table if not exists dropped (location text primary key, seconds integer not null) strict",
    "create table if not exists statistics (oid integer primary key, body text not null) strict",
    "create table if not exists roles (name text primary key, body text not null) strict",
    "create table if not exists types (oid integer primary key, body text not null) strict",
    "create table if not exists rights (key text primary key, body text not null) strict",
)
#: What makes an older format this one, after `_SCHEMA`.
_UPGRADES: Final = {1: ("alter table schemas add column comment text",), 2: (), 3: (), 4: ()}
_STEPS: Final[dict[StepKind, str]] = {
    "put schema": "insert or replace into schemas values (?, ?, ?)",
    "drop schema": "delete from schemas where name = ?",
    "put relation": "insert or replace into relations values (?, ?, ?, ?, ?)",
    "drop counter": "delete from counters where oid = ?",
    "drop relation": "delete from relations where schema = ? and name = ?",
    "put storage": "insert into storages values (?, 0, 0)",
    "drop storage": "delete from storages where location = ?",
    "decide": "insert into decisions values (?, ?, ?)",
    "drop decisions": "delete from decisions where location = ?",
    "put dropped": "insert into dropped values (?, ?)",
    "put statistics": "insert or replace into statistics values (?, ?)",
    "drop statistics": "delete from statistics where oid = ?",
    "put role": "insert or replace into roles values (?, ?)",
    "drop role": "delete from roles where name = ?",
    "put type": "insert or replace into types values (?, ?)",
    "drop type": "delete from types where oid = ?",
    "put rights": "insert or replace into rights values (?, ?)",
    "drop rights": "delete from rights where key = ?",
}
_DECISIONS: Final = "select number, location, body from decisions"
_VERSION: Final = "select value from meta where key = 'version'"


class SqliteDatabase:
    """`engine.catalog.store.CatalogDatabase`. tables: the folder of stored tables."""

    near = True

    def __init__(self, path: Path, tables: Path) -> None:
        self._path = path
        self._tables = tables
        self._lock = threading.Lock()
        self._reading = threading.Lock()
        with self._telling():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = self._connect()
            self._reader = self._connect()
            self._prepare()
        if self._meta("format") > _FORMAT:
            self.close()
            raise DataCorrupted(f"the catalog in {path} was written by a later release of Sluice")

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS)

    def _prepare(self) -> None:
        self._enter_wal()
        self._writer.execute("pragma synchronous = full")
        with self._transaction():
            for statement in _SCHEMA:
                self._writer.execute(statement)
            first = [("format", _FORMAT), ("version", 0), ("next_oid", FIRST_OID)]
            self._writer.executemany("insert or ignore into meta values (?, ?)", first)
            self._upgrade()
            self._writer.execute("insert or ignore into schemas values (?, ?, ?)", (PUBLIC, 2200, PUBLIC_COMMENT))

    def _upgrade(self) -> None:
        for older in range(self._meta("format"), _FORMAT):
            for statement in _UPGRADES[older]:
                self._writer.execute(statement)
        self._writer.execute("update meta set value = ? where key = 'format' and value < ?", (_FORMAT, _FORMAT))

    def _enter_wal(self) -> None:
        """The change of mode wants the file alone and does not wait for others as statements do."""
        end = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._writer.execute("pragma journal_mode = wal")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(_RETRY_SECONDS)

    def version(self) -> int:
        with self._reading, self._telling():
            return int(self._reader.execute(_VERSION).fetchone()[0])

    def load(self) -> Snapshot:
        with self._lock, self._telling(), self._transaction("deferred"):
            return self._read()

    def _meta(self, key: str) -> int:
        return int(self._writer.execute("select value from meta where key = ?", (key,)).fetchone()[0])

    def _read(self) -> Snapshot:
        return rows.snapshot(
            self._meta("version"),
            self._writer.execute("select name, oid, comment from schemas"),
            self._writer.execute("select schema, name, oid, kind, body from relations"),
            Content.of(
                self._writer.execute("select location, version, number from storages"),
                self._writer.execute(_DECISIONS),
            ),
            self._writer.execute("select oid, body from statistics"),
            self._tables,
            self._writer.execute("select name, body from roles"),
            self._writer.execute("select body from types"),
            self._writer.execute("select key, body from rights"),
        )

    def next_oid(self) -> int:
        taken = "update meta set value = value + 1 where key = 'next_oid' returning value - 1"
        with self._lock, self._telling(), self._transaction():
            return int(self._writer.execute(taken).fetchone()[0])

    def count(self, counter: int, change: Callable[[Count | None], Count]) -> Count | None:
        found = "select value, called from counters where oid = ?"
        with self._lock, self._telling(), self._transaction():
            row = self._writer.execute(found, (counter,)).fetchone()
            before = Count(row[0], bool(row[1])) if row is not None else None
            after = change(before)
            if after != before:
                values = (counter, after.value, int(after.called))
                self._writer.execute("insert or replace into counters values (?, ?, ?)", values)
        return before

    def counted(self, counter: int) -> Count | None:
        with self._lock, self._telling():
            row = self._writer.execute("select value, called from counters where oid = ?", (counter,)).fetchone()
        return Count(row[0], bool(row[1])) if row is not None else None

    def commit(self, known: Snapshot, changes: Sequence[AnyChange]) -> Snapshot:
        with self._lock, self._telling(), self._transaction():
            newest = known if self._meta("version") == known.version else self._read()
            committed = newest.committed(changes)
            for step in rows.steps(newest, changes, committed, int(time.time())):
                self._writer.execute(_STEPS[step.kind], step.values)
            self._writer.execute("update meta set value = ? where key = 'version'", (committed.version,))
        return committed

    def decisions(self) -> Sequence[Decision]:
        with self._lock, self._telling():
            return [rows.decision(*row) for row in self._writer.execute(f"{_DECISIONS} order by number")]

    def settle(self, location: str, published: Published) -> None:
        with self._lock, self._telling(), self._transaction():
            self._writer.execute(
                "update storages set version = ?, number = ? where location = ? and number < ?",
                (published.version, published.number, location, published.number),
            )
            self._writer.execute(
                "delete from decisions where location = ? and number <= ?", (location, published.number)
            )

    def dropped(self, until: int) -> Sequence[str]:
        with self._lock, self._telling():
            found = self._writer.execute("select location from dropped where seconds <= ?", (until,))
            return [location for (location,) in found]

    def forget(self, location: str) -> None:
        with self._lock, self._telling():
            self._writer.execute("delete from dropped where location = ?", (location,))

    @contextmanager
    def _transaction(self, kind: str = "immediate") -> Iterator[None]:
        self._writer.execute(f"begin {kind}")
        try:
            yield
            self._writer.execute("commit")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("rollback")
            raise

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """What SQLite says, as an error of ours."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            kind = DiskFull if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL else IoError
            raise kind(f"the catalog in {self._path} cannot be used: {error}") from error

    def close(self) -> None:
        with self._lock, self._reading:
            self._reader.close()
            self._writer.close()

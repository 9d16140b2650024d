"""The catalog in a SQLite file: a member's own, or one that the members of one machine share.

Three connections, so that what reads never waits for what writes: `asker` for the version alone, which is asked on the loop,
`reader` for all else that reads, `writer` for transactions. In WAL mode readers and the one writer of all processes do not meet.
WAL needs shared memory: the file must not lie on a network file system; members that share no disk use PostgreSQL.

Another process may hold SQLite's write lock for long (a shell with an open transaction, a member that was stopped). Each
transaction waits for it for the same time, counted from when it was asked for and not from when its turn came; and from when one
has found it locked until one gets through, those who come then wait a short time only. So all who wait are told together, and
nobody waits for the sum of those before him, nor twice because a statement was not yet where it commits. Who waits does not keep
an operation thread from other statements (`engine.catalog.store.request_clock.mark_waiting`).
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from sqlglot import exp

from engine.catalog.model.counters import Count
from engine.catalog.snapshot import FIRST_OID, PUBLIC, PUBLIC_COMMENT, AnyChange, Snapshot
from engine.catalog.store import contents, rows
from engine.catalog.store.catalog_file import CatalogFile
from engine.catalog.store.contents import Contents
from engine.catalog.store.decide import CommitOutcome, decide
from engine.catalog.store.difference import Difference, Marks, Question, Touch, touch_of_files, touches
from engine.catalog.store.request_clock import mark_waiting, take_asked
from engine.catalog.store.rows import Content, Decision, StepKind
from engine.storage.delta import Published
from wire.errors import DataCorrupted, DiskFull, IoError, SqlError

#: 1: foreign tables and views. 2: stored tables, sequences, comments. 3: roles. 4: types. 5: privileges. 6: notes.
_FORMAT: Final = 6
#: How long a commit may wait for those of other members, from when it was asked for.
_BUSY_SECONDS: Final = 10.0
#: ... or so long, where they have been in the way for all that time already; and at least, where the call itself came late.
_LEAST_SECONDS: Final = 1.0
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
    """create table if not exists touched (
        kind text not null, first text not null, second text not null, stamp integer not null, primary key (kind, first, second)
    ) strict, without rowid""",
    "create index if not exists touched_by_stamp on touched (stamp)",
)
#: What makes an older format this one, after `_SCHEMA`.
_UPGRADES: Final = {1: ("alter table schemas add column comment text",), 2: (), 3: (), 4: (), 5: ()}
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
_QUESTIONS: Final[dict[Question, str]] = {
    "marks": "select key, value from meta where key in ('version', 'stamp', 'floor', 'noted')",
    "touched": "select kind, first, second from touched where stamp > ?",
    "schemas": "select name, oid, comment from schemas",
    "relation": "select schema, name, oid, kind, body from relations where schema = ? and name = ?",
    "storage": "select location, version, number from storages where location = ?",
    "decisions": f"{_DECISIONS} where location = ?",
    "statistics": "select oid, body from statistics where oid = ?",
    "roles": "select name, body from roles",
    "rights": "select key, body from rights where key = ?",
}


class SqliteDatabase:
    """`engine.catalog.store.catalog_database.CatalogDatabase`. tables: the folder of stored tables."""

    near = True

    def __init__(self, path: Path, tables: Path) -> None:
        self._path = path
        self._tables = tables
        self._difference = Difference(tables)
        #: What was read last.
        self._latest = Snapshot(stamp=-1)
        self._asking = threading.Lock()
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        #: When a transaction gave up waiting for another process; None: one has got through since.
        self._found_locked: float | None = None
        with self._translate_errors(), ExitStack() as opened:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = opened.enter_context(closing(self._connect()))
            self._reader = opened.enter_context(closing(self._connect()))
            self._asker = opened.enter_context(closing(self._connect()))
            self._require_whole()
            self._prepare()
            self._asker.execute(_VERSION).fetchone()
            self._file = CatalogFile(path)
            if self._meta(self._reader, "format") > _FORMAT:
                raise DataCorrupted(f"the catalog in {path} was written by a later release of Sluice")
            opened.pop_all()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS)

    def _require_whole(self) -> None:
        """Raise DataCorrupted where SQLite finds pages, indexes or values that do not fit together."""
        found = [said for (said,) in self._writer.execute("pragma integrity_check(3)")]
        if found != ["ok"]:
            raise _corruption_error(self._path, "; ".join(found))

    def _prepare(self) -> None:
        self._enter_wal()
        self._writer.execute("pragma synchronous = full")
        with self._begun(self._writer, "immediate"):
            for statement in _SCHEMA:
                self._writer.execute(statement)
            first = [
                ("format", _FORMAT),
                ("version", 0),
                ("next_oid", FIRST_OID),
                ("stamp", 0),
                ("floor", 0),
                ("noted", 0),
            ]
            self._writer.executemany("insert or ignore into meta values (?, ?)", first)
            self._upgrade()
            self._writer.execute("insert or ignore into schemas values (?, ?, ?)", (PUBLIC, 2200, PUBLIC_COMMENT))

    def _upgrade(self) -> None:
        for older in range(self._meta(self._writer, "format"), _FORMAT):
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
        with self._asking, self._translate_errors():
            self._file.require_present()
            return int(self._asker.execute(_VERSION).fetchone()[0])

    def load(self) -> Snapshot:
        with self._read() as reader, self._begun(reader, "deferred"):
            return self._advance(reader)

    def next_oid(self) -> int:
        taken = "update meta set value = value + 1 where key = 'next_oid' returning value - 1"
        with self._transaction() as writer:
            return int(writer.execute(taken).fetchone()[0])

    def count(self, counter: int, change: Callable[[Count | None], Count]) -> Count | None:
        with self._transaction() as writer:
            before = _read_counter(writer, counter)
            after = change(before)
            if after != before:
                values = (counter, after.value, int(after.called))
                writer.execute("insert or replace into counters values (?, ?, ?)", values)
        return before

    def read_counter(self, counter: int) -> Count | None:
        with self._read() as reader:
            return _read_counter(reader, counter)

    def commit(self, known: Snapshot, group: Sequence[Sequence[AnyChange]]) -> Sequence[CommitOutcome]:
        with self._transaction() as writer:
            marks = Marks.of(writer.execute(_QUESTIONS["marks"]))
            newest = known if marks.is_of(known) else self._advance(writer)
            decided = decide(newest, group, int(time.time()))
            if decided.changes_anything:
                for step in decided.steps:
                    writer.execute(_STEPS[step.kind], step.values)
                marks = marks.after_commit(decided.newest.version)
                self._note(writer, marks, touches(decided.steps))
        return decided.outcomes_at(marks.stamp)

    def decisions(self) -> Sequence[Decision]:
        with self._read() as reader:
            return [rows.decision(*row) for row in reader.execute(f"{_DECISIONS} order by number")]

    def settle(self, location: str, published: Published) -> None:
        with self._transaction() as writer:
            before = writer.total_changes
            writer.execute(
                "update storages set version = ?, number = ? where location = ? and number < ?",
                (published.version, published.number, location, published.number),
            )
            writer.execute("delete from decisions where location = ? and number <= ?", (location, published.number))
            if writer.total_changes > before:
                marks = Marks.of(writer.execute(_QUESTIONS["marks"])).after_settlement()
                self._note(writer, marks, [touch_of_files(location)])

    def dropped_locations(self, until: int) -> Sequence[str]:
        with self._read() as reader:
            found = reader.execute("select location from dropped where seconds <= ?", (until,))
            return [location for (location,) in found]

    def forget(self, location: str) -> None:
        with self._transaction() as writer:
            writer.execute("delete from dropped where location = ?", (location,))

    def contents(self) -> Contents:
        with self._read() as reader, self._begun(reader, "deferred"):
            found = {
                table: reader.execute(_all_rows(table, columns)).fetchall()
                for table, columns in contents.COLUMNS.items()
            }
            return Contents(self._meta(reader, "version"), self._meta(reader, "next_oid"), found)

    def fill(self, given: Contents) -> None:
        with self._transaction() as writer:
            contents.require_empty(self._meta(writer, "version"), str(self._path))
            for table, columns in contents.COLUMNS.items():
                writer.execute(exp.delete(table).sql("sqlite"))
                writer.executemany(_new_row(table, columns), given.rows[table])
            writer.execute("update meta set value = ? where key = 'next_oid'", (given.next_oid,))
            self._note(writer, Marks.of(writer.execute(_QUESTIONS["marks"])).after_fill(given.version), ())

    def _meta(self, connection: sqlite3.Connection, key: str) -> int:
        return int(connection.execute("select value from meta where key = ?", (key,)).fetchone()[0])

    def _advance(self, connection: sqlite3.Connection) -> Snapshot:
        """The committed state, within a transaction that has changed nothing yet."""

        def read(question: Question, values: Sequence[Any] = ()) -> Iterable[tuple[Any, ...]]:
            return connection.execute(_QUESTIONS[question], values)

        self._latest = self._difference.advance(self._latest, read, lambda stamp: self._snapshot(connection, stamp))
        return self._latest

    def _note(self, connection: sqlite3.Connection, marks: Marks, touched: Iterable[Touch]) -> None:
        """Leave notes of what the transaction has written, and set the marks to what they are with it."""
        connection.executemany(
            "insert or replace into touched values (?, ?, ?, ?)", [(*key, marks.stamp) for key in touched]
        )
        connection.execute("delete from touched where stamp <= ?", (marks.floor,))
        connection.executemany("update meta set value = ? where key = ?", marks.values())

    def _snapshot(self, connection: sqlite3.Connection, stamp: int) -> Snapshot:
        """All rows, within a transaction."""
        return rows.snapshot(
            self._meta(connection, "version"),
            connection.execute("select name, oid, comment from schemas"),
            connection.execute("select schema, name, oid, kind, body from relations"),
            Content.of(
                connection.execute("select location, version, number from storages"), connection.execute(_DECISIONS)
            ),
            connection.execute("select oid, body from statistics"),
            self._tables,
            connection.execute("select name, body from roles"),
            connection.execute("select body from types"),
            connection.execute("select key, body from rights"),
            stamp,
        )

    # -- connections ---------------------------------------------------------------------------------------------

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection that reads."""
        with self._reading, self._translate_errors():
            self._file.require_present()
            yield self._reader

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection that writes, within a transaction whose changes are durable, in the file at the path, at the end.

        Raises IoError where another process is in the way until this call's time is over, UndefinedFile where the file is no
        more, StatementCompletionUnknown where it went in the last moment.
        """
        asked = take_asked()
        if not self._writing.acquire(blocking=False):
            with mark_waiting():
                if not self._writing.acquire(timeout=self._patience(asked)):
                    raise self._locked_error()
        try:
            with self._translate_errors(asked):
                self._begin_writing(self._patience(asked))
                with self._end_transaction(self._writer):
                    self._found_locked = None
                    self._file.require_present()
                    yield self._writer
                self._file.require_committed()
        finally:
            self._writing.release()

    def _begin_writing(self, seconds: float) -> None:
        """Begin a transaction that writes. seconds: how long it may wait for another process."""
        self._writer.execute("pragma busy_timeout = 0")
        try:
            self._writer.execute("begin immediate")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            self._writer.execute(f"pragma busy_timeout = {round(seconds * 1000)}")
            with mark_waiting():
                self._writer.execute("begin immediate")

    def _patience(self, asked: float) -> float:
        """Return the seconds that a call may still wait for the lock. asked: when it was requested, by the monotonic clock."""
        now, found = time.monotonic(), self._found_locked
        if found is None:
            return max(asked + _BUSY_SECONDS - now, _LEAST_SECONDS)
        return max(asked + _LEAST_SECONDS - now, 0.0)

    @contextmanager
    def _begun(self, connection: sqlite3.Connection, kind: str) -> Iterator[None]:
        connection.execute(f"begin {kind}")
        with self._end_transaction(connection):
            yield

    @contextmanager
    def _end_transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        """End a transaction that has begun."""
        try:
            yield
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise

    @contextmanager
    def _translate_errors(self, asked: float | None = None) -> Iterator[None]:
        """Raise what SQLite says as an error of ours. asked: when what wants to write was asked for."""
        try:
            yield
        except msgspec.MsgspecError as error:
            raise _corruption_error(self._path, f"a row cannot be read: {error}") from error
        except (sqlite3.Error, OSError) as error:
            # The lowest byte is the kind, the others which of it.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                if asked is not None:
                    self._found_locked = time.monotonic()
                raise self._locked_error() from error
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise _corruption_error(self._path, str(error)) from error
            kind = DiskFull if code == sqlite3.SQLITE_FULL else IoError
            raise kind(f"the catalog in {self._path} cannot be used: {error}") from error

    def _locked_error(self) -> SqlError:
        return IoError(
            f"the catalog in {self._path} cannot be used: another process has held its lock for {_BUSY_SECONDS:g} s",
            hint="End that process's transaction; fuser or lsof tell who has the file open.",
        )

    def close(self) -> None:
        with self._asking, self._reading, self._writing:
            for connection in (self._asker, self._reader, self._writer):
                connection.close()


def _all_rows(table: str, columns: Sequence[str]) -> str:
    return exp.select(*columns).from_(table).sql("sqlite")


def _new_row(table: str, columns: Sequence[str]) -> str:
    places = exp.values([tuple(exp.Placeholder() for _ in columns)])
    return exp.insert(places, table, columns=list(columns)).sql("sqlite")


def _corruption_error(path: Path, said: str) -> DataCorrupted:
    return DataCorrupted(
        f"the catalog in {path} is damaged: {said}",
        hint="Keep the file and its -wal for who may repair it, and restore a backup (sluice restore).",
    )


def _read_counter(connection: sqlite3.Connection, counter: int) -> Count | None:
    row = connection.execute("select value, called from counters where oid = ?", (counter,)).fetchone()
    return Count(row[0], bool(row[1])) if row is not None else None

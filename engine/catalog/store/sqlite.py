"""The catalog in a SQLite file: a member's own, or one that the members of one machine share.

This module has the queries and writes. `engine.catalog.store.sqlite_connections` has the connections, their
transactions and their waits for other processes.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from sqlglot import exp

from engine.catalog.model.counters import Count
from engine.catalog.snapshot import FIRST_OID, PUBLIC, PUBLIC_COMMENT, AnyChange, Snapshot
from engine.catalog.store import contents, rows
from engine.catalog.store.contents import Contents
from engine.catalog.store.decide import CommitOutcome, decide
from engine.catalog.store.difference import Difference, Marks, Question, Touch, touch_of_files, touches
from engine.catalog.store.rows import Content, Decision, StepKind
from engine.catalog.store.sqlite_connections import SqliteConnections
from engine.storage.delta import Published
from wire.errors import DataCorrupted

#: The format of the tables. 1: foreign tables and views. 2: stored tables, sequences, comments. 3: roles. 4: types. 5:
#: privileges. 6: notes.
_FORMAT: Final = 6
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
#: Statements that upgrade an older format, after `_SCHEMA`.
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
    """The `engine.catalog.store.catalog_database.CatalogDatabase` in a SQLite file. tables: the folder of stored
    tables.
    """

    near = True

    def __init__(self, path: Path, tables: Path) -> None:
        self._path = path
        self._tables = tables
        self._difference = Difference(tables)
        #: The state that was read last.
        self._latest = Snapshot(stamp=-1)
        self.connections = SqliteConnections(path, self._prepare)
        with ExitStack() as opened:
            opened.callback(self.connections.close)
            with self.connections.read() as reader:
                newest = self._meta(reader, "format")
            if newest > _FORMAT:
                raise DataCorrupted(f"the catalog in {path} was written by a later release of Sluice")
            opened.pop_all()

    def _prepare(self, writer: sqlite3.Connection) -> None:
        for statement in _SCHEMA:
            writer.execute(statement)
        first = [
            ("format", _FORMAT),
            ("version", 0),
            ("next_oid", FIRST_OID),
            ("stamp", 0),
            ("floor", 0),
            ("noted", 0),
        ]
        writer.executemany("insert or ignore into meta values (?, ?)", first)
        self._upgrade(writer)
        writer.execute("insert or ignore into schemas values (?, ?, ?)", (PUBLIC, 2200, PUBLIC_COMMENT))

    def _upgrade(self, writer: sqlite3.Connection) -> None:
        for older in range(self._meta(writer, "format"), _FORMAT):
            for statement in _UPGRADES[older]:
                writer.execute(statement)
        writer.execute("update meta set value = ? where key = 'format' and value < ?", (_FORMAT, _FORMAT))

    def version(self) -> int:
        connections = self.connections
        with connections.asking, connections.translate_errors():
            connections.file.require_present()
            return int(connections.asker.execute(_VERSION).fetchone()[0])

    def load(self) -> Snapshot:
        with self.connections.read() as reader, self.connections.begun(reader, "deferred"):
            return self._advance(reader)

    def next_oid(self) -> int:
        taken = "update meta set value = value + 1 where key = 'next_oid' returning value - 1"
        with self.connections.transaction() as writer:
            return int(writer.execute(taken).fetchone()[0])

    def count(self, counter: int, change: Callable[[Count | None], Count]) -> Count | None:
        with self.connections.transaction() as writer:
            before = _read_counter(writer, counter)
            after = change(before)
            if after != before:
                values = (counter, after.value, int(after.called))
                writer.execute("insert or replace into counters values (?, ?, ?)", values)
        return before

    def read_counter(self, counter: int) -> Count | None:
        with self.connections.read() as reader:
            return _read_counter(reader, counter)

    def commit(self, known: Snapshot, group: Sequence[Sequence[AnyChange]]) -> Sequence[CommitOutcome]:
        with self.connections.transaction() as writer:
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
        with self.connections.read() as reader:
            return [rows.decision(*row) for row in reader.execute(f"{_DECISIONS} order by number")]

    def settle(self, location: str, published: Published) -> None:
        with self.connections.transaction() as writer:
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
        with self.connections.read() as reader:
            found = reader.execute("select location from dropped where seconds <= ?", (until,))
            return [location for (location,) in found]

    def forget(self, location: str) -> None:
        with self.connections.transaction() as writer:
            writer.execute("delete from dropped where location = ?", (location,))

    def contents(self) -> Contents:
        with self.connections.read() as reader, self.connections.begun(reader, "deferred"):
            found = {
                table: reader.execute(_all_rows(table, columns)).fetchall()
                for table, columns in contents.COLUMNS.items()
            }
            return Contents(self._meta(reader, "version"), self._meta(reader, "next_oid"), found)

    def fill(self, given: Contents) -> None:
        with self.connections.transaction() as writer:
            contents.require_empty(self._meta(writer, "version"), str(self._path))
            for table, columns in contents.COLUMNS.items():
                writer.execute(exp.delete(table).sql("sqlite"))
                writer.executemany(_new_row(table, columns), given.rows[table])
            writer.execute("update meta set value = ? where key = 'next_oid'", (given.next_oid,))
            self._note(writer, Marks.of(writer.execute(_QUESTIONS["marks"])).after_fill(given.version), ())

    def _meta(self, connection: sqlite3.Connection, key: str) -> int:
        return int(connection.execute("select value from meta where key = ?", (key,)).fetchone()[0])

    def _advance(self, connection: sqlite3.Connection) -> Snapshot:
        """Return the committed state, within a transaction that has changed nothing yet."""

        def read(question: Question, values: Sequence[Any] = ()) -> Iterable[tuple[Any, ...]]:
            return connection.execute(_QUESTIONS[question], values)

        self._latest = self._difference.advance(self._latest, read, lambda stamp: self._snapshot(connection, stamp))
        return self._latest

    def _note(self, connection: sqlite3.Connection, marks: Marks, touched: Iterable[Touch]) -> None:
        """Note the keys of the rows that the transaction has written, and store the new marks."""
        connection.executemany(
            "insert or replace into touched values (?, ?, ?, ?)", [(*key, marks.stamp) for key in touched]
        )
        connection.execute("delete from touched where stamp <= ?", (marks.floor,))
        connection.executemany("update meta set value = ? where key = ?", marks.values())

    def _snapshot(self, connection: sqlite3.Connection, stamp: int) -> Snapshot:
        """Read all rows, within a transaction."""
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

    def close(self) -> None:
        self.connections.close()


def _all_rows(table: str, columns: Sequence[str]) -> str:
    return exp.select(*columns).from_(table).sql("sqlite")


def _new_row(table: str, columns: Sequence[str]) -> str:
    places = exp.values([tuple(exp.Placeholder() for _ in columns)])
    return exp.insert(places, table, columns=list(columns)).sql("sqlite")


def _read_counter(connection: sqlite3.Connection, counter: int) -> Count | None:
    row = connection.execute("select value, called from counters where oid = ?", (counter,)).fetchone()
    return Count(row[0], bool(row[1])) if row is not None else None

"""The catalog database: SQLite under the member's data directory, the commit point of catalog changes.

It holds schemas and relations as rows (a relation's body as JSON) and a version that grows with every commit. The newest
committed `Snapshot` is kept in memory; `commit` replays a transaction's changes onto it under a lock, writes them in one
SQLite transaction, and only then shows the new snapshot to others. All methods block briefly and may be called from any
thread.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec

from engine.catalog.objects import Schema, StoredRelation, Table, TableColumn, View
from engine.catalog.snapshot import FIRST_OID, PUBLIC, TEMPORARY, Change, Snapshot
from engine.sql import types as st
from wire import types as t
from wire.errors import DataCorrupted

_FORMAT: Final = 1
_SCHEMA: Final = """
create table if not exists meta (key text primary key, value integer not null) strict;
create table if not exists schemas (name text primary key, oid integer not null) strict;
create table if not exists relations (
    schema text not null, name text not null, oid integer not null, kind text not null, body text not null,
    primary key (schema, name)
) strict;
"""


class CatalogStore:
    """`snapshot`: the newest committed state. Raises DataCorrupted for a database written by a later release."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")
        self._db.executescript(_SCHEMA)
        self._db.executemany(
            "insert or ignore into meta values (?, ?)", [("format", _FORMAT), ("version", 0), ("next_oid", FIRST_OID)]
        )
        self._db.execute("insert or ignore into schemas values (?, ?)", (PUBLIC, 2200))
        if self._meta("format") > _FORMAT:
            raise DataCorrupted(f"the catalog in {path} was written by a later release of Sluice")
        self.snapshot = self._load()

    def _meta(self, key: str) -> int:
        return int(self._db.execute("select value from meta where key = ?", (key,)).fetchone()[0])

    def _load(self) -> Snapshot:
        schemas = {name: Schema(oid, name) for name, oid in self._db.execute("select name, oid from schemas")}
        rows = self._db.execute("select schema, name, oid, kind, body from relations")
        relations = {(row[0], row[1]): _relation(*row) for row in rows}
        return Snapshot(self._meta("version"), schemas, relations)

    def next_oid(self) -> int:
        """A new OID, never given again even when its transaction rolls back."""
        with self._lock:
            oid = self._meta("next_oid")
            self._db.execute("update meta set value = ? where key = 'next_oid'", (oid + 1,))
            return oid

    def commit(self, changes: Iterable[Change]) -> Snapshot:
        """Make a transaction's changes durable and visible. Raises SerializationFailure; then nothing was changed."""
        lasting = [change for change in changes if change.key[0] != TEMPORARY]
        with self._lock:
            if not lasting:
                return self.snapshot
            snapshot = self.snapshot.replay(lasting)
            self._db.execute("begin immediate")
            try:
                for change in lasting:
                    self._write(change)
                self._db.execute("update meta set value = ? where key = 'version'", (snapshot.version,))
                self._db.execute("commit")
            except BaseException:
                self._db.execute("rollback")
                raise
            self.snapshot = snapshot
            return snapshot

    def _write(self, change: Change) -> None:
        schema, name = change.key
        match change.after:
            case None if not name:
                self._db.execute("delete from schemas where name = ?", (schema,))
            case None:
                self._db.execute("delete from relations where schema = ? and name = ?", (schema, name))
            case Schema(oid, _):
                self._db.execute("insert into schemas values (?, ?)", (schema, oid))
            case Table() | View() as relation:
                row = (schema, name, relation.oid, _kind(relation), _body(relation))
                self._db.execute("insert or replace into relations values (?, ?, ?, ?, ?)", row)

    def close(self) -> None:
        with self._lock, closing(self._db):
            pass


class _Column(msgspec.Struct):
    name: str
    type: int
    typmod: int
    number: int
    nullable: bool


class _TableBody(msgspec.Struct):
    columns: list[_Column]
    format: str
    path: str
    options: dict[str, str]


class _ViewBody(msgspec.Struct):
    columns: list[_Column]
    definition: str
    search_path: list[str]
    depends: list[int]


def _kind(relation: StoredRelation) -> str:
    return "table" if isinstance(relation, Table) else "view"


def _body(relation: StoredRelation) -> str:
    columns = [_Column(c.name, c.type.pg.oid, c.type.typmod, c.number, c.nullable) for c in relation.columns]
    body: Any
    if isinstance(relation, Table):
        body = _TableBody(columns, relation.format, relation.path, dict(relation.options))
    else:
        body = _ViewBody(columns, relation.definition, list(relation.search_path), list(relation.depends))
    return msgspec.json.encode(body).decode()


def _relation(schema: str, name: str, oid: int, kind: str, body: str) -> StoredRelation:
    if kind == "view":
        view = msgspec.json.decode(body, type=_ViewBody)
        path, depends = tuple(view.search_path), tuple(view.depends)
        return View(oid, schema, name, _columns(view.columns), view.definition, path, depends)
    table = msgspec.json.decode(body, type=_TableBody)
    return Table(
        oid, schema, name, _columns(table.columns), table.format, table.path, files=(), options=table.options  # type: ignore[arg-type]
    )  # fmt: skip


def _columns(columns: list[_Column]) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(c.name, st.of(t.BY_OID[c.type], c.typmod), c.number, c.nullable) for c in columns)

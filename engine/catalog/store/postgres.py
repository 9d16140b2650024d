"""The catalog in a PostgreSQL database (12 or later), for members that share no disk.

All tables lie in the schema `sluice_catalog` of the database that the URL names. Commits of all members are serialized
by the row of the version, which each locks first; OIDs come from a sequence. There are two connections, so that reading
the version never waits behind a commit; each is opened when it is needed and opened again after it broke. A request on
a broken connection is repeated once on a new one, except for a COMMIT: nobody can know whether it took effect, and the
client gets an error that says so (40003).

A database may also be silent: its machine switched off, its network cut, its processes stopped. There is no error then,
so every answer has a timeout. Calls that waited for a connection while the database was found to be unreachable fail at
once too, instead of each waiting for its own timeout, one after the other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import psycopg
from psycopg import sql
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict

from engine.catalog.model.counters import Count
from engine.catalog.snapshot import FIRST_OID, PUBLIC, PUBLIC_COMMENT, AnyChange, Snapshot
from engine.catalog.store import contents, rows
from engine.catalog.store.contents import Contents
from engine.catalog.store.decide import CommitOutcome, decide
from engine.catalog.store.difference import Difference, Marks, Question, Touch, touch_of_files, touches
from engine.catalog.store.request_clock import take_asked
from engine.catalog.store.rows import Content, Decision, StepKind
from engine.common.error_copy import copy_error
from engine.storage.delta import Published
from wire.errors import DataCorrupted, IoError, SqlError, StatementCompletionUnknown

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]
R = TypeVar("R")

#: The format of the tables. 1: foreign tables and views. 2: stored tables, sequences, comments. 3: roles. 4: types. 5:
#: privileges. 6: notes.
_FORMAT: Final = 6
_CONNECT_SECONDS: Final = 10
#: The timeouts of answers: to the version check of every statement, and to requests that may wait for other members
#: (`_SESSION`).
_VERSION_SECONDS: Final = 10.0
_WORK_SECONDS: Final = 35.0
_POLL_SECONDS: Final = 0.1
#: A member that stops in the middle of a commit must not block the others forever.
_SESSION: Final = (
    "set lock_timeout = '10s'",
    "set statement_timeout = '30s'",
    "set idle_in_transaction_session_timeout = '10s'",
)
#: Serialized by a lock, since CREATE ... IF NOT EXISTS fails if two members create the same name at once.
_SCHEMA: Final = (
    "select pg_advisory_xact_lock(hashtext('sluice_catalog'))",
    "create schema if not exists sluice_catalog",
    "create table if not exists sluice_catalog.meta (key text primary key, value bigint not null)",
    "create table if not exists sluice_catalog.schemas (name text primary key, oid bigint not null)",
    """create table if not exists sluice_catalog.relations (
        schema text not null, name text not null, oid bigint not null, kind text not null, body text not null,
        primary key (schema, name)
    )""",
    "create table if not exists sluice_catalog.counters (oid bigint primary key, value bigint not null, called bool not null)",
    "alter table sluice_catalog.schemas add column if not exists comment text",
    """create table if not exists sluice_catalog.storages (
        location text primary key, version bigint not null, number bigint not null
    )""",
    """create table if not exists sluice_catalog.decisions (
        number bigint not null, location text not null, body text not null, primary key (location, number)
    )""",
    "create table if not exists sluice_catalog.dropped (location text primary key, seconds bigint not null)",
    "create table if not exists sluice_catalog.statistics (oid bigint primary key, body text not null)",
    "create table if not exists sluice_catalog.roles (name text primary key, body text not null)",
    "create table if not exists sluice_catalog.types (oid bigint primary key, body text not null)",
    "create table if not exists sluice_catalog.rights (key text primary key, body text not null)",
    """create table if not exists sluice_catalog.touched (
        kind text not null, first text not null, second text not null, stamp bigint not null, primary key (kind, first, second)
    )""",
    "create index if not exists touched_by_stamp on sluice_catalog.touched (stamp)",
)
_STEPS: Final[dict[StepKind, str]] = {
    "put schema": (
        "insert into sluice_catalog.schemas values (%s, %s, %s) on conflict (name)"
        " do update set oid = excluded.oid, comment = excluded.comment"
    ),
    "drop schema": "delete from sluice_catalog.schemas where name = %s",
    "put relation": (
        "insert into sluice_catalog.relations values (%s, %s, %s, %s, %s) on conflict (schema, name)"
        " do update set oid = excluded.oid, kind = excluded.kind, body = excluded.body"
    ),
    "drop counter": "delete from sluice_catalog.counters where oid = %s",
    "drop relation": "delete from sluice_catalog.relations where schema = %s and name = %s",
    "put storage": "insert into sluice_catalog.storages values (%s, 0, 0)",
    "drop storage": "delete from sluice_catalog.storages where location = %s",
    "decide": "insert into sluice_catalog.decisions values (%s, %s, %s)",
    "drop decisions": "delete from sluice_catalog.decisions where location = %s",
    "put dropped": "insert into sluice_catalog.dropped values (%s, %s)",
    "put statistics": (
        "insert into sluice_catalog.statistics values (%s, %s) on conflict (oid) do update set body = excluded.body"
    ),
    "drop statistics": "delete from sluice_catalog.statistics where oid = %s",
    "put role": (
        "insert into sluice_catalog.roles values (%s, %s) on conflict (name) do update set body = excluded.body"
    ),
    "drop role": "delete from sluice_catalog.roles where name = %s",
    "put type": (
        "insert into sluice_catalog.types values (%s, %s) on conflict (oid) do update set body = excluded.body"
    ),
    "drop type": "delete from sluice_catalog.types where oid = %s",
    "put rights": (
        "insert into sluice_catalog.rights values (%s, %s) on conflict (key) do update set body = excluded.body"
    ),
    "drop rights": "delete from sluice_catalog.rights where key = %s",
}
_COUNTER: Final = "select value, called from sluice_catalog.counters where oid = %s"
_DECISIONS: Final = "select number, location, body from sluice_catalog.decisions"
_VERSION: Final = "select value from sluice_catalog.meta where key = 'version'"
_QUESTIONS: Final[dict[Question, str]] = {
    "marks": "select key, value from sluice_catalog.meta where key in ('version', 'stamp', 'floor', 'noted')",
    "touched": "select kind, first, second from sluice_catalog.touched where stamp > %s",
    "schemas": "select name, oid, comment from sluice_catalog.schemas",
    "relation": "select schema, name, oid, kind, body from sluice_catalog.relations where schema = %s and name = %s",
    "storage": "select location, version, number from sluice_catalog.storages where location = %s",
    "decisions": f"{_DECISIONS} where location = %s",
    "statistics": "select oid, body from sluice_catalog.statistics where oid = %s",
    "roles": "select name, body from sluice_catalog.roles",
    "rights": "select key, body from sluice_catalog.rights where key = %s",
}


class _Patient(psycopg.Connection[tuple[Any, ...]]):
    """A connection that breaks if an answer takes longer than `seconds`."""

    seconds = _WORK_SECONDS

    def wait(self, gen: PQGen[R], interval: float = _POLL_SECONDS, timeout: float | None = None) -> R:
        until = time.monotonic() + (self.seconds if timeout is None else timeout)

        def resume_until() -> PQGen[R]:
            """Run `gen`, and resume it every `interval`, whether data has arrived or not."""
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if not ready and time.monotonic() > until:
                        self.pgconn.finish()
                        raise _SilentError(f"it has not answered within {self.seconds:g} s")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

        return super().wait(resume_until(), interval)


class _SilentError(psycopg.OperationalError):
    """The database did not answer. The request is not repeated: that would take as long again."""


class _Link:
    """One connection, made on demand, used by one thread at a time. seconds: the timeout of an answer."""

    def __init__(self, url: str, seconds: float) -> None:
        self._url = url
        self._seconds = seconds
        self._away: tuple[float, SqlError] | None = None
        self._lock = threading.Lock()
        self._connection: _Patient | None = None
        at = conninfo_to_dict(url)
        self.place = f"{at.get('host', 'localhost')}:{at.get('port', 5432)}/{at.get('dbname', '')}"

    def ask(self, work: Callable[[Connection], T]) -> T:
        """Return the result of `work`; repeat it once if the connection turns out to be broken. Raises SqlError."""
        asked = take_asked()
        with self._lock:
            if self._away is not None and self._away[0] > asked:
                raise copy_error(self._away[1])
            try:
                return work(self._open())
            except psycopg.Error as error:
                if not self._broken() or isinstance(error, _SilentError | psycopg.errors.ConnectionTimeout):
                    raise self._translate_error(error) from error
            try:
                return work(self._open())
            except psycopg.Error as error:
                raise self._translate_error(error) from error

    def _open(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = _Patient.connect(
                self._url, autocommit=True, connect_timeout=_CONNECT_SECONDS, application_name="sluice catalog",
                prepare_threshold=None,
            )  # fmt: skip
            self._connection.seconds = self._seconds
            for statement in _SESSION:
                self._connection.execute(statement)
        return self._connection

    def _broken(self) -> bool:
        return self._connection is None or self._connection.closed

    def _translate_error(self, error: psycopg.Error) -> SqlError:
        said = str(error).strip().partition("\n")[0]
        told = IoError(
            f"the catalog database at {self.place} cannot be used: {said}",
            hint="Check that it runs, and the catalog key of this member's configuration.",
        )
        if self._broken():
            self._away = time.monotonic(), told
        return told

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


class PostgresDatabase:
    """The `engine.catalog.store.catalog_database.CatalogDatabase` in PostgreSQL. url: a libpq connection URL. tables:
    the folder of stored tables.
    """

    near = False

    def __init__(self, url: str, tables: Path) -> None:
        self._catalog = _Catalog(tables)
        self._reader = _Link(url, _VERSION_SECONDS)
        self._writer = _Link(url, _WORK_SECONDS)
        if self._writer.ask(_prepare) > _FORMAT:
            self.close()
            raise DataCorrupted(f"the catalog in {self._writer.place} was written by a later release of Sluice")

    def version(self) -> int:
        return self._reader.ask(_version)

    def load(self) -> Snapshot:
        return self._reader.ask(self._catalog.load)

    def next_oid(self) -> int:
        return self._writer.ask(lambda c: _number(c, "select nextval('sluice_catalog.oids')"))

    def count(self, counter: int, change: Callable[[Count | None], Count]) -> Count | None:
        return self._writer.ask(lambda connection: _count(connection, counter, change))

    def read_counter(self, counter: int) -> Count | None:
        return self._reader.ask(lambda connection: _read_counter(connection, counter))

    def decisions(self) -> Sequence[Decision]:
        found = self._writer.ask(lambda c: c.execute(f"{_DECISIONS} order by number").fetchall())
        return [rows.decision(*row) for row in found]

    def settle(self, location: str, published: Published) -> None:
        self._writer.ask(lambda connection: _settle(connection, location, published))

    def dropped_locations(self, until: int) -> Sequence[str]:
        query = "select location from sluice_catalog.dropped where seconds <= %s"
        return [row[0] for row in self._writer.ask(lambda c: c.execute(query, (until,)).fetchall())]

    def forget(self, location: str) -> None:
        self._writer.ask(lambda c: c.execute("delete from sluice_catalog.dropped where location = %s", (location,)))

    def contents(self) -> Contents:
        return self._writer.ask(_contents)

    def fill(self, given: Contents) -> None:
        self._writer.ask(lambda connection: _fill(connection, given, self._writer.place))

    def commit(self, known: Snapshot, group: Sequence[Sequence[AnyChange]]) -> Sequence[CommitOutcome]:
        return self._writer.ask(lambda connection: self._commit(connection, known, group))

    def _commit(
        self, connection: Connection, known: Snapshot, group: Sequence[Sequence[AnyChange]]
    ) -> Sequence[CommitOutcome]:
        connection.execute("begin")
        try:
            outcomes = self._catalog.write(connection, known, group)
        except BaseException:
            if not connection.closed:
                connection.execute("rollback")
            raise
        try:
            connection.execute("commit")
        except psycopg.OperationalError as error:
            connection.close()
            raise StatementCompletionUnknown(
                f"the connection to the catalog database at {self._writer.place} was lost during a commit",
                hint="Look whether the change took place before you repeat it.",
            ) from error
        return outcomes

    def close(self) -> None:
        self._reader.close()
        self._writer.close()


def _number(connection: Connection, query: Any) -> int:
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def _version(connection: Connection) -> int:
    return _number(connection, _VERSION)


def _prepare(connection: Connection) -> int:
    """Create what is missing in the database. Returns the format that it has."""
    with connection.transaction():
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(f"create sequence if not exists sluice_catalog.oids start {FIRST_OID}")
        for key, value in (("format", _FORMAT), ("version", 0), ("stamp", 0), ("floor", 0), ("noted", 0)):
            connection.execute("insert into sluice_catalog.meta values (%s, %s) on conflict do nothing", (key, value))
        connection.execute(
            "insert into sluice_catalog.schemas (name, oid, comment) values (%s, %s, %s) on conflict do nothing",
            (PUBLIC, 2200, PUBLIC_COMMENT),
        )
        connection.execute(
            "update sluice_catalog.meta set value = %s where key = 'format' and value < %s", (_FORMAT,) * 2
        )
        return _number(connection, "select value from sluice_catalog.meta where key = 'format'")


class _Catalog:
    """The catalog's state as it was last read, and its update to a newer one. May be used from several threads."""

    def __init__(self, tables: Path) -> None:
        self._tables = tables
        self._difference = Difference(tables)
        self._latest = Snapshot(stamp=-1)

    def load(self, connection: Connection) -> Snapshot:
        """Return the newest committed state, read at one moment."""
        with connection.transaction():
            connection.execute("set transaction isolation level repeatable read, read only")
            return self._advance(connection)

    def write(
        self, connection: Connection, known: Snapshot, group: Sequence[Sequence[AnyChange]]
    ) -> Sequence[CommitOutcome]:
        """Commit within a transaction. The holder of the version row's lock is the only one who commits, and sees all
        earlier commits.
        """
        connection.execute(f"{_VERSION} for update")
        marks = Marks.of(connection.execute(_QUESTIONS["marks"]))
        newest = known if marks.is_of(known) else self._advance(connection)
        decided = decide(newest, group, int(time.time()))
        if decided.changes_anything:
            for step in decided.steps:
                connection.execute(_STEPS[step.kind], step.values)
            marks = marks.after_commit(decided.newest.version)
            _note(connection, marks, touches(decided.steps))
        return decided.outcomes_at(marks.stamp)

    def _advance(self, connection: Connection) -> Snapshot:
        """Return the committed state, within a transaction that has changed nothing yet."""

        def read(question: Question, values: Sequence[Any] = ()) -> Iterable[tuple[Any, ...]]:
            return connection.execute(_QUESTIONS[question], values)

        self._latest = self._difference.advance(self._latest, read, lambda stamp: self._read(connection, stamp))
        return self._latest

    def _read(self, connection: Connection, stamp: int) -> Snapshot:
        """Read all rows."""
        return rows.snapshot(
            _version(connection),
            connection.execute("select name, oid, comment from sluice_catalog.schemas"),
            connection.execute("select schema, name, oid, kind, body from sluice_catalog.relations"),
            Content.of(
                connection.execute("select location, version, number from sluice_catalog.storages"),
                connection.execute(_DECISIONS),
            ),
            connection.execute("select oid, body from sluice_catalog.statistics"),
            self._tables,
            connection.execute("select name, body from sluice_catalog.roles"),
            connection.execute("select body from sluice_catalog.types"),
            connection.execute("select key, body from sluice_catalog.rights"),
            stamp,
        )


def _note(connection: Connection, marks: Marks, touched: Iterable[Touch]) -> None:
    """Note the keys of the rows that the transaction has written, and store the new marks."""
    for key in touched:
        connection.execute(
            "insert into sluice_catalog.touched values (%s, %s, %s, %s) on conflict (kind, first, second)"
            " do update set stamp = excluded.stamp",
            (*key, marks.stamp),
        )
    connection.execute(
        "with gone as (delete from sluice_catalog.touched where stamp <= %s) update sluice_catalog.meta set value = case key"
        " when 'version' then %s when 'stamp' then %s when 'floor' then %s when 'noted' then %s end::bigint"
        " where key in ('version', 'stamp', 'floor', 'noted')",
        (marks.floor, marks.version, marks.stamp, marks.floor, marks.noted),
    )


def _contents(connection: Connection) -> Contents:
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        version = _version(connection)
        found = {
            table: connection.execute(
                sql.SQL("select {} from {}").format(_names(columns), sql.Identifier("sluice_catalog", table))
            ).fetchall()
            for table, columns in contents.COLUMNS.items()
        }
        # Sequences belong to no snapshot: this value is read later than the rows, and so it is beyond every OID in
        # them.
        next_oid = _number(connection, "select last_value + is_called::int from sluice_catalog.oids")
    return Contents(version, next_oid, found)


def _fill(connection: Connection, given: Contents, place: str) -> None:
    with connection.transaction():
        contents.require_empty(_number(connection, f"{_VERSION} for update"), place)
        for table, columns in contents.COLUMNS.items():
            connection.execute(sql.SQL("delete from {}").format(sql.Identifier("sluice_catalog", table)))
            copied = sql.SQL("copy {} ({}) from stdin").format(sql.Identifier("sluice_catalog", table), _names(columns))
            with connection.cursor() as cursor, cursor.copy(copied) as copy:
                for row in given.rows[table]:
                    copy.write_row(row)
        _note(connection, Marks.of(connection.execute(_QUESTIONS["marks"])).after_fill(given.version), ())
        connection.execute("select setval('sluice_catalog.oids', %s, false)", (given.next_oid,))


def _names(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _settle(connection: Connection, location: str, published: Published) -> None:
    """Settle a table under the lock of commits, since a commit reads storages and decisions in two statements."""
    with connection.transaction():
        connection.execute(f"{_VERSION} for update")
        pinned = connection.execute(
            "update sluice_catalog.storages set version = %s, number = %s where location = %s and number < %s",
            (published.version, published.number, location, published.number),
        )
        forgotten = connection.execute(
            "delete from sluice_catalog.decisions where location = %s and number <= %s", (location, published.number)
        )
        if pinned.rowcount or forgotten.rowcount:
            marks = Marks.of(connection.execute(_QUESTIONS["marks"])).after_settlement()
            _note(connection, marks, [touch_of_files(location)])


def _read_counter(connection: Connection, counter: int, found: str = _COUNTER) -> Count | None:
    row = connection.execute(found, (counter,)).fetchone()
    return Count(int(row[0]), bool(row[1])) if row is not None else None


def _count(connection: Connection, counter: int, change: Callable[[Count | None], Count]) -> Count | None:
    """Change a counter. A counter that does not exist yet cannot be locked by its row, so all transactions that create
    one wait for each other.
    """
    with connection.transaction():
        before = _read_counter(connection, counter, f"{_COUNTER} for update")
        if before is None:
            connection.execute("select pg_advisory_xact_lock(hashtext('sluice_catalog.counters'))")
            before = _read_counter(connection, counter, f"{_COUNTER} for update")
        after = change(before)
        if after != before:
            connection.execute(
                "insert into sluice_catalog.counters values (%s, %s, %s) on conflict (oid)"
                " do update set value = excluded.value, called = excluded.called",
                (counter, after.value, after.called),
            )
    return before

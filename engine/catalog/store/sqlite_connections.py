"""Connections to a catalog's SQLite file, with transactions that wait for other processes for a limited time, and
translation of SQLite's errors.

There are three connections, so that reads never wait for writes: `asker` reads only the version, on the event loop,
`reader` does all other reads, `writer` runs transactions. In WAL mode readers do not block the one writer of all
processes, nor the writer them. WAL needs shared memory: the file must not lie on a network file system; members that
share no disk use PostgreSQL.

Another process may hold SQLite's write lock for long (a shell with an open transaction, a stopped member). Each
transaction has the same timeout, counted from when it was requested and not from when its turn came. After one
transaction has timed out, new ones wait only a short time until one succeeds. So all waiting transactions fail
together, and none waits for the sum of those before it, nor twice because its statement had not yet reached its commit.
A waiting transaction does not keep an operation thread from other statements
(`engine.catalog.store.request_clock.mark_waiting`).
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from engine.catalog.store.catalog_file import CatalogFile
from engine.catalog.store.request_clock import mark_waiting, take_asked
from wire.errors import DataCorrupted, DiskFull, IoError, SqlError

#: How long a commit may wait for other processes, from the time of its request.
_BUSY_SECONDS: Final = 10.0
#: The shorter time, for commits that begin while others have timed out already; also the minimum for calls that begin
#: late.
_LEAST_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 0.02


class SqliteConnections:
    """The connections to one file (see the module's docstring).

    prepare: creates or upgrades the tables in the file, within a transaction of `writer`.
    asker: for reads on the event loop; `asking` is held meanwhile.
    reader, writer: lent by `read` and `transaction`.
    file: the file that the connections have open.
    """

    def __init__(self, path: Path, prepare: Callable[[sqlite3.Connection], None]) -> None:
        self._path = path
        self.asking = threading.Lock()
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        #: When a transaction last timed out waiting for another process; None: one has succeeded since.
        self._found_locked: float | None = None
        with self.translate_errors(), ExitStack() as opened:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.writer = opened.enter_context(closing(self._connect()))
            self.reader = opened.enter_context(closing(self._connect()))
            self.asker = opened.enter_context(closing(self._connect()))
            self._require_whole()
            self._enter_wal()
            self.writer.execute("pragma synchronous = full")
            with self.begun(self.writer, "immediate"):
                prepare(self.writer)
            self.asker.execute("select 1 from sqlite_schema").fetchone()
            self.file = CatalogFile(path)
            opened.pop_all()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS)

    def _require_whole(self) -> None:
        """Raise DataCorrupted if SQLite's integrity check finds inconsistent pages, indexes or values."""
        found = [said for (said,) in self.writer.execute("pragma integrity_check(3)")]
        if found != ["ok"]:
            raise _corruption_error(self._path, "; ".join(found))

    def _enter_wal(self) -> None:
        """Switch to WAL mode. This needs the file exclusively, and SQLite does not wait for other processes as it does
        for statements, so it is retried.
        """
        end = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self.writer.execute("pragma journal_mode = wal")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(_RETRY_SECONDS)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection that reads."""
        with self._reading, self.translate_errors():
            self.file.require_present()
            yield self.reader

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection that writes, within a transaction. At the end its changes are durable, in the file at the
        path.

        Raises IoError if another process holds the lock until this call's timeout, UndefinedFile if the file no longer
        exists, StatementCompletionUnknown if it disappeared at the last moment.
        """
        asked = take_asked()
        if not self._writing.acquire(blocking=False):
            with mark_waiting():
                if not self._writing.acquire(timeout=self._patience(asked)):
                    raise self._locked_error()
        try:
            with self.translate_errors(asked):
                self._begin_writing(self._patience(asked))
                with self._end_transaction(self.writer):
                    self._found_locked = None
                    self.file.require_present()
                    yield self.writer
                self.file.require_committed()
        finally:
            self._writing.release()

    def _begin_writing(self, seconds: float) -> None:
        """Begin a transaction that writes. seconds: how long it may wait for another process."""
        self.writer.execute("pragma busy_timeout = 0")
        try:
            self.writer.execute("begin immediate")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            self.writer.execute(f"pragma busy_timeout = {round(seconds * 1000)}")
            with mark_waiting():
                self.writer.execute("begin immediate")

    def _patience(self, asked: float) -> float:
        """Return the seconds that a call may still wait for the lock. asked: when it was requested, by the monotonic clock."""
        now, found = time.monotonic(), self._found_locked
        if found is None:
            return max(asked + _BUSY_SECONDS - now, _LEAST_SECONDS)
        return max(asked + _LEAST_SECONDS - now, 0.0)

    @contextmanager
    def begun(self, connection: sqlite3.Connection, kind: str) -> Iterator[None]:
        """Hold a transaction on a connection. kind: deferred or immediate."""
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
    def translate_errors(self, asked: float | None = None) -> Iterator[None]:
        """Translate SQLite's errors into SqlErrors. asked: when a write was requested; None for reads."""
        try:
            yield
        except msgspec.MsgspecError as error:
            raise _corruption_error(self._path, f"a row cannot be read: {error}") from error
        except (sqlite3.Error, OSError) as error:
            # The lowest byte is the primary result code; the other bytes refine it.
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
        with self.asking, self._reading, self._writing:
            for connection in (self.asker, self.reader, self.writer):
                connection.close()


def _corruption_error(path: Path, said: str) -> DataCorrupted:
    return DataCorrupted(
        f"the catalog in {path} is damaged: {said}",
        hint="Keep the file and its -wal for who may repair it, and restore a backup (sluice restore).",
    )

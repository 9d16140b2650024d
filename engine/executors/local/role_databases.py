"""The DuckDB databases of roles whose memory is limited: one for each role and limit, so that one role's use does not
reduce another's memory.

DuckDB applies a memory limit to a database, not to a statement. So the statements of a limited role run in a database
of their own and share its limit. Operators that can spill do so; one that cannot ends its statement with 53200. The
database has one thread, the calling one: operators that run on several threads need memory for each, and a limited role
should not occupy the general database's workers as well. Tables in memory for small files are not available to it,
because they belong to another database.

A database is created when a statement first needs it, on that statement's thread (a tenth of a second), and kept for
later statements. Only a few databases that are not in use are kept.

Considered and rejected: a limit for each statement (a database each: a tenth of a second, and a role with many sessions
would have the limit many times).
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Final

import duckdb

from engine.contracts.memory_share import MemoryShare
from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalCursor, LocalDatabase

_IDLE: Final = 8


class RoleDatabase:
    """A role's database, created when the first cursor is requested. Cursors use it like a `LocalDatabase`. Its
    methods may be called from any thread.
    """

    def __init__(self, make: Callable[[], LocalDatabase]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: LocalDatabase | None = None

    def borrow(self, time_zone: str) -> LocalCursor:
        """Borrow a cursor, as `LocalDatabase.borrow` does."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return self._made.borrow(time_zone)

    def give_back(self, cursor: LocalCursor, *, healthy: bool) -> None:
        assert self._made is not None, "it lent the cursor"
        self._made.give_back(cursor, healthy=healthy)

    def statistics(self) -> Mapping[str, int]:
        return {} if self._made is None else self._made.statistics()

    def close(self) -> None:
        """Close the database, which must not be in use any more. Blocks."""
        if self._made is not None:
            self._made.close()

    def abandon(self) -> None:
        """Leave the database to the cursors that are lent. Blocks."""
        if self._made is not None:
            self._made.abandon()


class RoleDatabases:
    """The databases of all limited roles. Used on the event loop's thread.

    Every `enter` must be followed by a `leave`. The databases that `leave` returns are no longer used; the caller
    closes them, off the event loop.
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._numbers = count(1)
        self._kept: OrderedDict[MemoryShare, RoleDatabase] = OrderedDict()
        self._users: Counter[RoleDatabase] = Counter()
        self._dropped: set[RoleDatabase] = set()

    def enter(self, share: MemoryShare) -> RoleDatabase:
        """Return the database in which a statement of this share is to run."""
        database = self._kept.get(share)
        if database is None:
            folder = f"role-{next(self._numbers)}"
            database = self._kept[share] = RoleDatabase(lambda: self._make_database(share, folder))
        self._kept.move_to_end(share)
        self._users[database] += 1
        return database

    def leave(self, database: RoleDatabase) -> list[RoleDatabase]:
        self._users[database] -= 1
        if self._users[database]:
            return []
        del self._users[database]
        if database in self._dropped:
            self._dropped.discard(database)
            return [database]
        idle = [share for share, kept in self._kept.items() if kept not in self._users]
        return [self._kept.pop(share) for share in idle[: max(len(idle) - _IDLE, 0)]]

    def drop(self, broken: RoleDatabase) -> None:
        """Replace a database that has become unusable."""
        for share in [share for share, kept in self._kept.items() if kept is broken]:
            del self._kept[share]
            self._dropped.add(broken)

    def statistics(self) -> Counter[str]:
        counted = Counter(role_databases=len(self._kept))
        for database in (*self._kept.values(), *self._dropped):
            counted.update(database.statistics())
        return counted

    def close(self) -> list[RoleDatabase]:
        """Return the databases that are to be closed: they are not in use, or nobody waits for their statements."""
        kept = [*self._kept.values()]
        self._kept.clear()
        return kept

    def _make_database(self, share: MemoryShare, folder: str) -> LocalDatabase:
        try:
            return LocalDatabase(replace(self._config, local_threads=1, local_memory=f"{share.bytes}B"), folder)
        except duckdb.OutOfMemoryException:
            raise share.exceeded_error() from None

"""The sessions of this member by process id: who may cancel what, and who is connected.

A "process id" is a number that clients see in BackendKeyData and pg_stat_activity; no process stands behind it. Cancel
requests arrive on connections of their own and prove themselves with the key; `pg_cancel_backend` and
`pg_terminate_backend` come from the engine, on any thread.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Iterator
from typing import Final, Protocol

from engine.api import Activity
from wire.errors import AdminShutdown, QueryCanceled, SqlError

#: Cancel keys of protocol 3.0 have always four bytes; PostgreSQL 18 chose 32 for 3.2.
KEY_BYTES: Final = {(3, 0): 4, (3, 2): 32}


class Interruptible(Protocol):
    """What the registry needs of a session."""

    pid: int
    cancel_key: bytes

    def interrupt(self, cause: SqlError) -> None:
        """Called on the loop's thread, never from a session's own task."""
        ...

    def activity(self) -> Activity: ...


def canceled_by_user() -> QueryCanceled:
    return QueryCanceled("canceling statement due to user request")


def shut_down() -> AdminShutdown:
    return AdminShutdown("terminating connection due to administrator command")


class SessionRegistry:
    """All sessions that have begun. `register` and `forget` on the loop's thread, the rest on any."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._sessions: dict[int, Interruptible] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Interruptible]:
        return iter(list(self._sessions.values()))

    def assign(self, session: Interruptible, protocol: tuple[int, int]) -> None:
        """Give a session its process id and its cancel key."""
        pid = secrets.randbelow(2**31 - 2) + 1
        while pid in self._sessions:
            pid = secrets.randbelow(2**31 - 2) + 1
        session.pid = pid
        session.cancel_key = secrets.token_bytes(KEY_BYTES[protocol])

    def register(self, session: Interruptible) -> None:
        """Make a session known by its process id: it may be cancelled and is listed."""
        self._sessions[session.pid] = session

    def forget(self, session: Interruptible) -> None:
        if self._sessions.get(session.pid) is session:
            del self._sessions[session.pid]

    def cancel_request(self, pid: int, key: bytes) -> bool:
        """A CancelRequest: whether it named a session and had its key. The client is told nothing either way."""
        session = self._sessions.get(pid)
        # A comparison takes place in any case, and in constant time: its duration tells neither keys nor process ids.
        expected = session.cancel_key if session is not None else bytes(len(key))
        if not hmac.compare_digest(expected, key) or session is None:
            return False
        return self.cancel(pid)

    def cancel(self, pid: int) -> bool:
        """pg_cancel_backend: False if there is no such session."""
        return self._interrupt(pid, canceled_by_user())

    def terminate(self, pid: int) -> bool:
        """pg_terminate_backend: False if there is no such session."""
        return self._interrupt(pid, shut_down())

    def _interrupt(self, pid: int, cause: SqlError) -> bool:
        session = self._sessions.get(pid)
        if session is None:
            return False
        self._loop.call_soon_threadsafe(session.interrupt, cause)
        return True

    def activity(self) -> list[Activity]:
        return [session.activity() for session in self]

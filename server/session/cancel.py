"""The registry of this member's sessions by process id: cancel requests, and the connected clients.

A "process id" is a number that clients see in BackendKeyData and pg_stat_activity; there is no operating-system process
behind it. A cancel request arrives on a connection of its own and authenticates with the key; `pg_cancel_backend` and
`pg_terminate_backend` come from the engine, on any thread.

A load balancer may bring any of them to another member than the session's. So the process id names the member in its
upper 11 bits (a digest of the member's name; the lower 20 bits are random), and a process id that names no session here
is passed on (`Elsewhere`, which `server.cluster.routing` implements). The member is in the process id and not in the
key, because the process id is public anyway while the key is the proof: all four bytes that protocol 3.0 has for the
key stay unguessable; and because `pg_cancel_backend` gets only the process id. If two members have the same digest,
both are told; the key decides.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from engine.contracts.sessions import Activity
from engine.monitor.record import StatementRecord
from server.cursors.cursor_lease import CursorLeases
from server.cursors.remote_cursors import Asking, Nobody
from server.session.notifications import Said
from server.session.statement_statistics import StatementStatistics
from wire.errors import AdminShutdown, QueryCanceled, SqlError

if TYPE_CHECKING:
    from engine.contracts.activity import ClusterReport, Part
    from server.processes.place import Place
    from server.session.commands import Commands

#: Cancel keys of protocol 3.0 have always four bytes; PostgreSQL 18 uses 32 with 3.2.
KEY_BYTES: Final = {(3, 0): 4, (3, 2): 32}
#: The number of random bits of a process id, which is a positive int4; those above name the member.
_SESSION_BITS: Final = 20
_MEMBER_BITS: Final = 31 - _SESSION_BITS


def member_bits(member: str) -> int:
    """Return the leading bits of the process ids of a member's sessions."""
    digest = hashlib.sha256(member.encode()).digest()
    return int.from_bytes(digest[:4], "big") >> (32 - _MEMBER_BITS)


def names_member(pid: int, member: str) -> bool:
    """Return whether a session with this process id may be on `member`."""
    return pid >> _SESSION_BITS == member_bits(member)


class Interruptible(Protocol):
    """A session, as the registry sees it."""

    pid: int
    cancel_key: bytes

    def interrupt(self, cause: SqlError) -> None:
        """Interrupt the session. Called on the loop's thread, never from a session's own task."""
        ...

    def activity(self) -> Activity: ...

    def statements(self) -> list[StatementRecord]:
        """Return the records of its statements. May be called from any thread."""
        ...

    def hear(self, pid: int, said: Sequence[Said]) -> None:
        """Handle the notifications of a committed transaction of this or another member. Called on the loop's thread."""
        ...

    @property
    def notifications_waiting(self) -> float: ...

    @property
    def visits(self) -> CursorLeases:
        """The leases by which other sessions move its cursors."""
        ...

    def commands_of(self, user: str, database: str) -> Commands | None:
        """Return its statements and cursors, if it belongs to this user and database."""
        ...


class Elsewhere(Protocol):
    """The other members. Methods may be called from any thread. They return whether a member was told, which may not
    know the session either.
    """

    def cancel_request(self, pid: int, key: bytes) -> bool: ...

    def interrupt(self, pid: int, *, terminate: bool) -> bool: ...


class ActivityQuestions(Protocol):
    """Queries all members for their activity (`server.cluster.activity_routing`)."""

    def ask_from_thread(self, parts: Collection[Part], query: str = "") -> ClusterReport:
        """Query all members from a thread that may block. Raises ConnectionFailure."""
        ...

    def reset_statements_from_thread(self, user: str | None, query_id: int) -> Sequence[str]:
        """Have all members reset their statement statistics. Returns the names of those that did not answer. Raises
        ConnectionFailure.
        """
        ...

    def reset_statements_nowait(self, user: str | None, query_id: int) -> None:
        """Reset the statistics without waiting for answers. Called on the loop."""
        ...


class Nowhere:
    """The implementation for a member without others."""

    def cancel_request(self, pid: int, key: bytes) -> bool:
        del pid, key
        return False

    def interrupt(self, pid: int, *, terminate: bool) -> bool:
        del pid, terminate
        return False


def _to_nobody(_pid: int, _said: Sequence[Said]) -> None: ...


def canceled_by_user() -> QueryCanceled:
    return QueryCanceled("canceling statement due to user request")


def shut_down() -> AdminShutdown:
    return AdminShutdown("terminating connection due to administrator command")


class SessionRegistry:
    """All sessions that have begun. `register` and `forget` are called on the loop's thread, the rest on any.

    member: this member's name. statistics: of statements, for pg_stat_statements. The others are set once the mesh
    exists: `elsewhere` passes on requests for sessions of other members, `far_cursors` carries movements of cursors to
    their sessions, `cluster` queries all members for their activity, and `announce` sends a transaction's notifications
    to the other members.
    """

    def __init__(self, member: str = "", statistics: StatementStatistics | None = None) -> None:
        self.statistics = statistics or StatementStatistics()
        self.elsewhere: Elsewhere = Nowhere()
        self.far_cursors: Asking = Nobody()
        self.cluster: ActivityQuestions | None = None
        self.announce: Callable[[int, Sequence[Said]], None] = _to_nobody
        self.member = member
        self._first = member_bits(member) << _SESSION_BITS
        self._loop = asyncio.get_running_loop()
        self._sessions: dict[int, Interruptible] = {}
        self._place: Place | None = None

    def share(self, place: Place) -> None:
        """Share the count of sessions with the other processes of this server."""
        self._place = place

    def sessions_of_server(self) -> int:
        """Return how many sessions this process and the others of its server have."""
        beside = 0 if self._place is None else self._place.counts.sessions_beside(self._place.number)
        return len(self._sessions) + beside

    def _share_count(self) -> None:
        if self._place is not None:
            self._place.counts.set_sessions(self._place.number, len(self._sessions))

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Interruptible]:
        return iter(list(self._sessions.values()))

    def assign(self, session: Interruptible, protocol: tuple[int, int]) -> None:
        """Give a session its process id and its cancel key."""
        while (pid := self._first | (secrets.randbelow(2**_SESSION_BITS - 1) + 1)) in self._sessions:
            pass
        session.pid = pid
        session.cancel_key = secrets.token_bytes(KEY_BYTES[protocol])

    def register(self, session: Interruptible) -> None:
        """Make a session known by its process id, so that it can be cancelled and is listed."""
        self._sessions[session.pid] = session
        self._share_count()

    def forget(self, session: Interruptible) -> None:
        if self._sessions.get(session.pid) is session:
            del self._sessions[session.pid]
            self._share_count()

    def connections_of(self, user: str) -> int:
        """Return how many sessions a user has here."""
        return sum(1 for activity in self.activity() if activity.user == user)

    def busy_beside(self, session: Interruptible, user: str) -> int:
        """Return how many other sessions of a user are running a statement."""
        others = (other.activity() for other in self if other is not session)
        return sum(1 for activity in others if activity.user == user and activity.state == "active")

    def cancel_request(self, pid: int, key: bytes) -> bool:
        """Handle a CancelRequest. Returns whether it named a session with its key, or was passed on. The client is
        told nothing either way.
        """
        return self.cancel_request_here(pid, key) or (
            pid not in self._sessions and self.elsewhere.cancel_request(pid, key)
        )

    def cancel_request_here(self, pid: int, key: bytes) -> bool:
        """Handle a CancelRequest if it names a session of this member."""
        session = self._sessions.get(pid)
        # The keys are always compared, and in constant time, so that the duration reveals neither keys nor process ids.
        expected = session.cancel_key if session is not None else bytes(len(key))
        if not hmac.compare_digest(expected, key) or session is None:
            return False
        return self.interrupt_here(pid, canceled_by_user())

    def cancel(self, pid: int) -> bool:
        """Execute pg_cancel_backend. Returns False if there is no such session here, and no other member that may have
        it.
        """
        return self.interrupt_here(pid, canceled_by_user()) or self.elsewhere.interrupt(pid, terminate=False)

    def terminate(self, pid: int) -> bool:
        """Execute pg_terminate_backend. Returns False if there is no such session here, and no other member that may
        have it.
        """
        return self.interrupt_here(pid, shut_down()) or self.elsewhere.interrupt(pid, terminate=True)

    def interrupt_here(self, pid: int, cause: SqlError) -> bool:
        """Interrupt a session of this member. Returns False if there is none with this process id."""
        session = self._sessions.get(pid)
        if session is None:
            return False
        self._loop.call_soon_threadsafe(session.interrupt, cause)
        return True

    def say(self, pid: int, said: Sequence[Said]) -> None:
        """Send the notifications of a committed transaction of this member to the listeners of all members."""
        self.hear(pid, said)
        self.announce(pid, said)

    def hear(self, pid: int, said: Sequence[Said]) -> None:
        """Pass notifications to the listeners of this member."""
        for session in self:
            session.hear(pid, said)

    def notifications_waiting(self) -> float:
        """Return the highest fill level of the listeners' buffers of pending notifications, 0 to 1."""
        return min(1.0, max((session.notifications_waiting for session in self), default=0.0))

    def activity(self) -> list[Activity]:
        return [session.activity() for session in self]

    def statements(self) -> list[StatementRecord]:
        """Return the statements that sessions parse, plan, run, or have suspended."""
        return [record for session in self for record in session.statements()]

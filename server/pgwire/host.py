"""The member as the sessions of its clients use it, through whichever door they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Final

from engine.session.engine_session import SessionFactory
from server.auth.gate import Gate
from server.monitor.records import EndedStatements
from server.pgwire.lite import LiteDoor
from server.pgwire.statement_counts import StatementCounts
from server.session.cancel import SessionRegistry
from wire.dataclass import dataclass
from wire.errors import TooManyConnections

#: The state in pg_stat_activity by the transaction's status between commands.
STATES: Final = {"I": "idle", "T": "idle in transaction", "E": "idle in transaction (aborted)"}
#: Further connections, beyond `max_connections`, that may be unauthenticated or carry a cancel request.
UNADMITTED_MAX: Final = 100


def too_many() -> TooManyConnections:
    return TooManyConnections("sorry, too many clients already")


@dataclass(frozen=True, slots=True)
class Host:
    """The member, as its sessions use it.

    new_session: `Engine.session`. gate: authenticates clients. authentication_timeout: seconds from the first byte to the end
    of authentication. superuser_reserved_connections: how many of `max_connections` are for superusers only. door: on a lite
    member, decides which clients are relayed to a data member. draining: whether new clients are refused. statements: counts of
    completed statements. ended: their history. log_connections: whether connections are logged when they arrive and when they
    are authorized.
    """

    registry: SessionRegistry
    new_session: SessionFactory
    gate: Gate
    authentication_timeout: float = 60.0
    max_connections: int = 500
    superuser_reserved_connections: int = 0
    door: LiteDoor | None = None
    draining: Callable[[], bool] = lambda: False
    statements: StatementCounts = field(default_factory=StatementCounts)
    ended: EndedStatements = field(default_factory=EndedStatements)
    log_connections: bool = False

    def require_room(self, *, superuser: bool = True) -> None:
        """Raise TooManyConnections if one more session would exceed the limit."""
        free = self.max_connections - self.registry.sessions_of_server()
        if free <= 0:
            raise too_many()
        if free <= self.superuser_reserved_connections and not superuser:
            raise TooManyConnections(
                "remaining connection slots are reserved for non-replication superuser connections"
            )

"""The engine's view of its client (`engine.contracts.sessions.Client`): it sends notices, cancels connections and
lists cursors.

The engine calls it from any of its threads; calls that touch the session are passed on to the loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from engine.contracts.activity import Answer, ClusterReport, Part, StatementsKept
from engine.contracts.sessions import Activity, CursorState, PreparedState
from engine.monitor.record import StatementRecord
from server.session.cancel import SessionRegistry
from server.session.commands import Commands
from wire.errors import Notice


class ConnectionClient:
    """See the module's docstring. `commands` is set once the engine's session is made."""

    def __init__(
        self, pid: int, registry: SessionRegistry, deliver: Callable[[Notice], None], turn: Callable[[], float]
    ) -> None:
        self.backend_pid = pid
        self._turn = turn
        self.commands: Commands | None = None
        self._registry = registry
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._told: tuple[StatementRecord, tuple[Part, ...], ClusterReport] | None = None

    @property
    def turn(self) -> float:
        return self._turn()

    def notice(self, notice: Notice) -> None:
        if threading.get_ident() == self._thread:
            self._deliver(notice)
            return
        with suppress(RuntimeError):  # the loop has ended, and with it the client
            self._loop.call_soon_threadsafe(self._deliver, notice)

    def cancel_backend(self, pid: int) -> bool:
        return self._registry.cancel(pid)

    def terminate_backend(self, pid: int) -> bool:
        return self._registry.terminate(pid)

    def activity(self) -> Sequence[Activity]:
        return self._registry.activity()

    def cursors(self) -> Sequence[CursorState]:
        if self.commands is None:
            return ()
        return [portal.cursor_state() for portal in self.commands.portals if portal.cursor is not None]

    def cluster(self, *parts: Part) -> ClusterReport:
        """Return the activity of all members; on the loop's thread, only this member's running statements. The members
        are queried once for each statement when its rows are made, which is when it is prepared and when it is
        executed.
        """
        asking = self._registry.cluster
        if asking is None or threading.get_ident() == self._thread:
            running = tuple(record.report() for record in self._registry.statements())
            return ClusterReport({self._registry.member: Answer(running=running)})
        record = self.commands.engine.record if self.commands is not None else None
        if self._told is not None and self._told[0] is record is not None and self._told[1] == parts:
            return self._told[2]
        told = asking.ask_from_thread(parts)
        for member in told.silent:
            missing = "counted" if parts == ("statements",) else "does"
            self.notice(Notice(f"member {member} has not answered: what it {missing} is missing", "WARNING"))
        self._told = None if record is None else (record, parts, told)
        return told

    def statement_statistics(self) -> StatementsKept:
        return self._registry.statistics.snapshot()

    def reset_statement_statistics(self, user: str | None, query_id: int) -> None:
        asking = self._registry.cluster
        if asking is None:
            self._registry.statistics.reset(user, query_id)
            return
        if threading.get_ident() == self._thread:
            asking.reset_statements_nowait(user, query_id)
            return
        for member in asking.reset_statements_from_thread(user, query_id):
            self.notice(Notice(f"member {member} has not answered: what it counted may go on to be shown", "WARNING"))

    def prepared_statements(self) -> Sequence[PreparedState]:
        if self.commands is None:
            return ()
        return [statement.state() for statement in self.commands.prepared]

    def notify(self, channel: str, payload: str) -> None:
        if self.commands is not None:
            self.commands.notifications.notify(channel, payload)

    def listening_channels(self) -> Sequence[str]:
        return self.commands.notifications.channels if self.commands is not None else ()

    def notifications_waiting(self) -> float:
        return self._registry.notifications_waiting()

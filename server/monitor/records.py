"""The records of a session's statements (`engine.monitor.record`), and the member's history of those that have ended."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import field
from typing import Final

from engine.contracts.activity import StatementState
from engine.contracts.query_id import QueryId
from engine.monitor.record import GRAPH_SECONDS, History, StatementRecord
from server.monitor.spans import SessionTrace, end_statement
from wire.dataclass import dataclass
from wire.errors import SqlError

log: Final = logging.getLogger(__name__)


def _no_graph(_record: StatementRecord, _state: StatementState) -> bytes:
    return b""


@dataclass(frozen=True, slots=True)
class EndedStatements:
    """The statements of a member that have ended. describe: returns the graph of a statement's plan as JSON, when a
    statement ends that took long. watchers: called with each statement whose graph has been kept.
    """

    history: History = field(default_factory=History)
    describe: Callable[[StatementRecord, StatementState], bytes] = _no_graph
    watchers: list[Callable[[StatementRecord], None]] = field(default_factory=list)

    def add(self, record: StatementRecord, state: StatementState, error: SqlError | None) -> None:
        """End a record and keep it."""
        graph = b""
        if record.planned is not None and record.seconds >= GRAPH_SECONDS:
            try:
                graph = self.describe(record, state)
            except Exception:
                # The graph is only for viewers; its failure must not fail the statement.
                log.exception("the plan of statement %s could not be described", record.id)
        record.end(state, *((error.sqlstate, error.message) if error is not None else ()))
        end_statement(record)
        self.history.add(record, graph)
        if graph:
            for watch in self.watchers:
                watch(record)


@dataclass(frozen=True, slots=True)
class SessionRecords:
    """See the module's docstring. pid, user, database: of the session."""

    pid: int
    user: str
    database: str
    ended: EndedStatements
    trace: SessionTrace = field(default_factory=SessionTrace)

    def begin(self, text: str, new_id: Callable[[], QueryId], traceparent: str = "") -> StatementRecord:
        """Begin a record. traceparent: of the client's trace, if it has named one."""
        record = StatementRecord(self.pid, self.user, self.database, text, new_id)
        self.trace.begin(record, traceparent)
        return record

    def close(self) -> None:
        """End the session's span."""
        self.trace.end(self.user, self.database, self.pid)

    def end(self, record: StatementRecord, state: StatementState, error: SqlError | None = None) -> None:
        self.ended.add(record, state, error)

"""The activity of this member, for its own clients, its console and other members, in parts, each of a bounded size.

Everything is read at the time of the request, on the loop. This module enforces no privileges: whoever shows an answer
to a client hides what the client's role may not see.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from engine.common.resident_memory import resident_bytes
from engine.contracts.activity import (
    Answer,
    EdgeCounters,
    FragmentCounters,
    Graph,
    Part,
    SessionReport,
    SparkJobReport,
    StatementReport,
)
from engine.monitor.engine_monitor import EngineMonitor
from engine.monitor.record import SHORT_TEXT, STATEMENTS_MAX, TEXT_MAX, StatementRecord
from server.monitor.records import EndedStatements
from server.session.cancel import SessionRegistry

#: The limit of statements, of fragments and of streams in one answer.
ENTRIES_MAX: Final = 2_000
#: The number of finished statements if only recent ones are requested.
RECENT_MAX: Final = 100
_GRAPH: Final = msgspec.json.Decoder(Graph)


async def _no_status() -> Mapping[str, Any]:
    return {}


class MemberActivity:
    """See the module's docstring. member: this member's name. status: returns the state from which metrics are made."""

    def __init__(
        self,
        member: str,
        engine: EngineMonitor,
        registry: SessionRegistry,
        ended: EndedStatements,
        status: Callable[[], Awaitable[Mapping[str, Any]]] = _no_status,
    ) -> None:
        self.member = member
        self._status = status
        self._engine = engine
        self._registry = registry
        self._ended = ended

    async def answer(self, parts: Collection[Part], query: str = "") -> Answer:
        """Return the requested parts. query: restricts them to this query; empty: all."""
        records = [record for record in self._registry.statements() if not query or str(record.id) == query]
        runs = self._run_as(records, query)
        wanted = not {"fragments", "edges", "graph"}.isdisjoint(parts)
        fragments, edges = self._engine.running_counters(runs) if wanted else ([], [])
        ended = self._ended.history.find(query) if query else None
        graph = self._graph(records, ended, fragments, edges) if "graph" in parts and query else None
        jobs: tuple[SparkJobReport, ...] = ()
        if "spark_jobs" in parts:
            jobs = tuple(await self._engine.spark_jobs(runs))
        text_max = TEXT_MAX if query else SHORT_TEXT
        return Answer(
            resident_bytes(),
            self._engine.spooled_bytes,
            self._sessions() if "sessions" in parts else (),
            tuple(record.report(text_max=text_max) for record in records[:ENTRIES_MAX]) if "running" in parts else (),
            self._finished_reports(parts, query, ended),
            tuple(fragments[:ENTRIES_MAX]),
            tuple(edges[:ENTRIES_MAX]),
            jobs,
            graph,
            msgspec.json.encode(_without_sessions(await self._status())) if "status" in parts else b"",
            tuple(self._engine.copies.running_copies()[:ENTRIES_MAX]) if "progress" in parts else (),
            tuple(self._engine.maintenance.running_tables()[:ENTRIES_MAX]) if "progress" in parts else (),
            self._registry.statistics.snapshot() if "statements" in parts else None,
            self._engine.spark_report() if "spark_jobs" in parts else None,
        )

    def reset_statements(self, user: str | None, query_id: int) -> None:
        """Reset the statement statistics of a user, of a statement, or of all."""
        self._registry.statistics.reset(user, query_id)

    @staticmethod
    def _run_as(records: list[StatementRecord], query: str) -> str:
        """Return the id under which a statement runs now, which differs from its first one if it was retried. Members
        other than the initiator know it by that id only.
        """
        found = next((record.query for record in records if query and record.query is not None), None)
        return query if found is None else str(found)

    def _graph(
        self,
        records: list[StatementRecord],
        ended: tuple[StatementReport, bytes] | None,
        fragments: Sequence[FragmentCounters],
        edges: Sequence[EdgeCounters],
    ) -> Graph | None:
        """Return the graph at the initiator: as planned, without the counters of other members."""
        if records:
            return self._engine.graph(records[0], fragments, edges)
        return _GRAPH.decode(ended[1]) if ended is not None and ended[1] else None

    def _finished_reports(
        self, parts: Collection[Part], query: str, ended: tuple[StatementReport, bytes] | None
    ) -> tuple[StatementReport, ...]:
        if {"finished", "recent"}.isdisjoint(parts):
            return ()
        if query:
            return () if ended is None else (ended[0],)
        count = STATEMENTS_MAX if "finished" in parts else RECENT_MAX
        return tuple(self._ended.history.newest(count, text_max=SHORT_TEXT))

    def _sessions(self) -> tuple[SessionReport, ...]:
        return tuple(
            SessionReport(
                self.member, a.pid, a.user, a.database, a.application_name, a.client_address, a.state,
                a.state_change or a.backend_start, a.query, a.client_port, a.backend_start, a.transaction_start,
                a.query_start,
            )
            for a in self._registry.activity()[:ENTRIES_MAX]
        )  # fmt: skip


def _without_sessions(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the state with only the `state` of each session and query."""
    states = {key: [{"state": each["state"]} for each in status.get(key, ())] for key in ("connections", "queries")}
    return {**status, **states}

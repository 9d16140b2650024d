"""The answers of the console's API, as values for JSON: the overview and the page of one statement, from all members,
for one viewer.

The text of another user's statement is hidden from viewers who may not see it, as in pg_stat_activity. Viewers who look
at the same time share one request to the members for the overview.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from engine.contracts.activity import ClusterReport, Graph, Phases, SessionReport, SparkJobReport, StatementReport
from engine.contracts.mesh import Mesh
from engine.contracts.query_id import QueryId
from engine.monitor.graph import with_counters
from engine.pg_catalog.declared import HIDDEN
from engine.pg_catalog.merged_edges import merge_edges
from server.cluster.activity_routing import ClusterActivity
from server.http.console_login import Viewer
from server.monitor.activity import RECENT_MAX
from wire.dataclass import dataclass
from wire.errors import InsufficientPrivilege

#: Seconds after which an overview is requested again.
FRESH_SECONDS: Final = 0.4
#: The limit of running statements in an overview.
_RUNNING_MAX: Final = 500
_PARTS: Final = ("running", "finished", "fragments", "edges", "spark_jobs", "graph")
_COUNTERS: Final = ("fragments", "edges", "spark_jobs")


@dataclass(frozen=True, slots=True)
class Detail:
    """The content of a statement's page."""

    told: StatementReport
    graph: Graph
    spark_jobs: tuple[SparkJobReport, ...]

    def json(self) -> dict[str, Any]:
        return {**msgspec.structs.asdict(self.told), "graph": self.graph, "spark_jobs": self.spark_jobs}


class ConsoleViews:
    """See the module's docstring. Used on the loop's thread."""

    def __init__(self, mesh: Mesh, activity: ClusterActivity) -> None:
        self._mesh = mesh
        self._activity = activity
        self._asked_at = -FRESH_SECONDS
        self._asking: asyncio.Task[ClusterReport] | None = None

    async def overview(self, viewer: Viewer) -> dict[str, Any]:
        told = await self._cluster_report()
        answers = told.told.values()
        running = sorted((s for a in answers for s in a.running), key=_begun, reverse=True)
        finished = sorted((s for a in answers for s in a.finished), key=_ended_at, reverse=True)
        return {
            "at": time.time(),
            "member": self._mesh.member,
            "members": [self._member(info, told) for info in self._mesh.members()],
            "sessions": [_session(s, viewer) for a in answers for s in a.sessions],
            "running": [statement_for(s, viewer) for s in running[:_RUNNING_MAX]],
            "finished": [statement_for(s, viewer) for s in finished[:RECENT_MAX]],
        }

    async def detail(self, query: str, viewer: Viewer) -> Detail | None:
        """Return the page of a statement; None if it does not exist or is forgotten. Raises InsufficientPrivilege."""
        found = await self.find(query)
        if found is None:
            return None
        told, graph, first = found
        if not viewer.may_see(told.user):
            raise InsufficientPrivilege("permission denied to examine another role's statement")
        if told.ended is not None or told.engine != "distributed" or told.query is None:
            return Detail(told, graph or Graph(), tuple(_jobs(first)))
        others = await self._activity.ask(_COUNTERS, told.query)
        answers = list(others.told.values())
        fragments = [fragment for answer in answers for fragment in answer.fragments]
        edges = merge_edges(edge for answer in answers for edge in answer.edges)
        return Detail(told, with_counters(graph or Graph(), fragments, edges), tuple(_jobs(others)))

    async def find(self, query: str) -> tuple[StatementReport, Graph | None, ClusterReport] | None:
        """Return a statement, and its graph without the counters of other members. Privileges are not checked here."""
        try:
            initiator = QueryId.parse(query).initiator
        except ValueError:
            return None
        told = await self._activity.ask(_PARTS, query, of=(initiator,))
        answer = told.told.get(initiator)
        if answer is None:
            return None
        statement = next(iter((*answer.running, *answer.finished)), None)
        return None if statement is None else (statement, answer.graph, told)

    async def _cluster_report(self) -> ClusterReport:
        now = asyncio.get_running_loop().time()
        if self._asking is None or (self._asking.done() and now - self._asked_at >= FRESH_SECONDS):
            self._asked_at = now
            self._asking = asyncio.create_task(self._activity.ask(("sessions", "running", "recent")))
        return await asyncio.shield(self._asking)

    @staticmethod
    def _member(info: Any, told: ClusterReport) -> dict[str, Any]:
        answer = told.told.get(info.id)
        return {
            "name": info.id, "role": info.role, "version": info.version, "load": info.load, "mesh": info.mesh,
            "client": info.client,
            "state": "silent" if info.id in told.silent and info.state in ("up", "suspect", "draining") else info.state,
            "memory_bytes": None if answer is None else answer.memory_bytes,
            "spool_bytes": None if answer is None else answer.spool_bytes,
        }  # fmt: skip


def statement_for(told: StatementReport, viewer: Viewer) -> StatementReport:
    """Return the report as the viewer may see it."""
    if viewer.may_see(told.user):
        return told
    return StatementReport(
        told.id, told.member, told.pid, told.user, told.database, HIDDEN, told.state, None, None, None, 0, told.started,
        told.ended, Phases(),
    )  # fmt: skip


def _session(told: SessionReport, viewer: Viewer) -> SessionReport:
    if viewer.may_see(told.user):
        return told
    return msgspec.structs.replace(told, client=None, query=HIDDEN)


def _jobs(told: ClusterReport) -> Iterable[SparkJobReport]:
    return (job for answer in told.told.values() for job in answer.spark_jobs)


def _begun(told: StatementReport) -> float:
    return told.started


def _ended_at(told: StatementReport) -> float:
    return told.ended or 0.0

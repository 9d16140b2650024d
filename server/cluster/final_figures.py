"""Final counters of distributed statements: requested from the other members when a statement ends, and merged into
the graph that the history keeps.

The initiator has the counters of its own streams only. The counters of a stream between two other members stay in their
memory for some time (`engine.runtime.ended_figures`). Their parts of the query may end a little later than the
statement, so a member whose instances still run is asked again. Only statements whose graph is kept are completed; they
took long compared with such a request.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from engine.contracts.activity import ClusterReport, Graph
from engine.monitor.graph import ended_graph, with_counters
from engine.monitor.record import StatementRecord
from engine.pg_catalog.merged_edges import merge_edges
from server.cluster.activity_routing import ClusterActivity
from server.monitor.records import EndedStatements

#: Seconds before the first request and the further ones.
_PAUSES: Final = (0.0, 0.1, 0.5, 2.0)
#: The number of statements that are completed at a time; further ones wait.
_AT_A_TIME: Final = 4
#: The number of statements that may wait; further ones keep the initiator's counters only.
_WAITING_MAX: Final = 256
_GRAPH: Final = msgspec.json.Decoder(Graph)


class FinalFigures:
    """See the module's docstring. Made and used on the loop's thread."""

    def __init__(self, activity: ClusterActivity, ended: EndedStatements) -> None:
        self._activity = activity
        self._history = ended.history
        self._turns = asyncio.Semaphore(_AT_A_TIME)
        self._tasks: set[asyncio.Task[None]] = set()
        ended.watchers.append(self._on_ended)

    async def close(self) -> None:
        """Stop all requests."""
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    def _on_ended(self, record: StatementRecord) -> None:
        if record.engine == "distributed" and record.query is not None and len(self._tasks) < _WAITING_MAX:
            task = asyncio.get_running_loop().create_task(self._complete(record, str(record.query)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _complete(self, record: StatementRecord, query: str) -> None:
        """Merge the final counters of all members into a statement's graph. query: the id under which the statement
        ran last.
        """
        async with self._turns:
            found = self._history.find(str(record.id))
            if found is None or not found[1]:
                return
            graph = _GRAPH.decode(found[1])
            members = frozenset(fragment.member for fragment in graph.fragments)
            for pause in _PAUSES:
                await asyncio.sleep(pause)
                told = await self._activity.ask(("fragments", "edges"), query, of=members)
                graph = _with_report(graph, told, record.state)
                self._history.replace_graph(str(record.id), msgspec.json.encode(graph))
                if not told.silent and not _goes_on_elsewhere(told, record.id.initiator):
                    return


def _with_report(graph: Graph, told: ClusterReport, state: str) -> Graph:
    edges = merge_edges(edge for answer in told.told.values() for edge in answer.edges)
    fragments = [fragment for answer in told.told.values() for fragment in answer.fragments]
    return ended_graph(with_counters(graph, fragments, edges), state)


def _goes_on_elsewhere(told: ClusterReport, initiator: str) -> bool:
    """Return whether an instance at a member other than the initiator has not ended. The initiator's own root instance
    does not count, since nothing runs it.
    """
    others = (answer for member, answer in told.told.items() if member != initiator)
    return any(fragment.state in ("waiting", "running") for answer in others for fragment in answer.fragments)

"""The state of a member's engine: running statements, held resources, hit rates of caches, graphs of statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from engine.common.weighted_lru_cache import CacheFigures
from engine.contracts.activity import (
    EdgeCounters,
    FragmentCounters,
    Graph,
    Observed,
    SparkJobReport,
    SparkReport,
    StatementState,
)
from engine.contracts.copy_progress import Copies
from engine.contracts.maintenance_progress import Maintenance
from engine.exchange.edge_totals import edge_figures
from engine.executors.engine_config import EngineConfig
from engine.monitor.figures import cache_figures, memory_figures
from engine.monitor.graph import ended_graph, graph_of
from engine.monitor.record import StatementRecord
from engine.runtime.executors import Executors
from engine.runtime.pools import Pools
from engine.runtime.runtime import MeshRuntime
from engine.runtime.stream_counts import receiver_counters

#: Counters of a part of the engine, by the part's name.
Counters = Callable[[], Mapping[str, Mapping[str, int]]]
Caches = Mapping[str, Callable[[], CacheFigures]]


class EngineMonitor:
    """The monitor of a member's engine. copies, maintenance: the running statements of these kinds. counters, caches:
    those of higher packages.
    """

    def __init__(
        self,
        config: EngineConfig,
        executors: Executors,
        pools: Pools,
        runtime: MeshRuntime,
        copies: Copies,
        maintenance: Maintenance,
        counters: Counters,
        caches: Caches,
    ) -> None:
        self._config = config
        self._executors = executors
        self._pools = pools
        self._runtime = runtime
        self.copies = copies
        self.maintenance = maintenance
        self._counters = counters
        self._caches = caches

    @property
    def load(self) -> int:
        """The number of queries that run here."""
        return self._runtime.load + self._executors.load

    def status(self) -> Mapping[str, str]:
        """Return each engine's state in a word or two."""
        return self._executors.status()

    @property
    def spooled_bytes(self) -> int:
        return self._executors.spooler.bytes_used

    def statistics(self) -> Mapping[str, Mapping[str, int]]:
        """Return counters by room: the resources that are open and held right now."""
        return {
            **self._counters(),
            **self._pools.statistics(),
            "fragments": self._executors.local.pool_statistics,
            "spool": self._executors.spooler.statistics(),
            "edges": self._edge_figures(),
            "memory": memory_figures(self._config.memory_bytes or 0),
            "mesh": self._runtime.statistics(),
            **self._executors.statistics(),
        }

    def _edge_figures(self) -> Mapping[str, int]:
        spark, runtime = self._executors.spark, self._runtime
        receivers = [receiver for _, receiver in spark.streams()] + runtime.mailboxes.receivers()
        return edge_figures(receivers, runtime.figures.streams_out, spark.sent.with_other(runtime.totals))

    def caches(self) -> Mapping[str, CacheFigures]:
        """Return the figures of each cache, by its name."""
        return {**{name: figures() for name, figures in self._caches.items()}, **cache_figures()}

    async def observe(self) -> None:
        """Read the figures that a scrape shows and that are not counters of this process (`statistics`)."""
        await self._executors.spark.reports.observe()

    def running_counters(self, query: str = "") -> Observed:
        """Return the counters of distributed queries that run here, and of queries whose rows Spark's tasks send.
        query: only this one's.
        """
        fragments, edges = self._runtime.figures.observe(query)
        member = self._config.member
        sent = [
            receiver_counters(token, (0, 0, 0), member, receiver, list(receiver.streams.by_partition.values()))
            for token, receiver in self._executors.spark.streams(query)
        ]
        return fragments, [*edges, *sent]

    def spark_report(self) -> SparkReport:
        """Return the state of this member's Spark."""
        return self._executors.watch.report(self._config.member)

    async def spark_jobs(self, query: str = "") -> Sequence[SparkJobReport]:
        """Return Spark's jobs that run here. query: only this one's."""
        return await self._executors.spark.reports.jobs(self._config.member, query)

    def graph(
        self,
        record: StatementRecord,
        fragments: Sequence[FragmentCounters],
        edges: Sequence[EdgeCounters],
        state: StatementState | None = None,
    ) -> Graph | None:
        """Return the graph of a statement that this member has planned and that has not ended. fragments, edges: the
        counters of this member and others. state: the state in which the statement is about to end.
        """
        if record.planned is None:
            return None
        state = state or record.state
        return graph_of(
            *record.planned, self._config.member, state, record.rows_so_far, fragments, edges, record.operators
        )

    def last_graph(self, record: StatementRecord, state: StatementState) -> bytes:
        """Return the graph of a statement that is ending in this state, as JSON; empty if it has none."""
        graph = self.graph(
            record, *(([], []) if record.query is None else self.running_counters(str(record.query))), state=state
        )
        return b"" if graph is None else msgspec.json.encode(ended_graph(graph, state))

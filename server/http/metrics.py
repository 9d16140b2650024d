"""A member's metrics for Prometheus, in its text format by `prometheus_client`.

A scrape reads the same data as `/status`, so neither has a counter that the other lacks. `docs/metrics.md` lists all
metrics.

A server of several processes returns the metrics of all processes, whichever is scraped, each with the label `process`.
Rejected: sums. The longest wait, or a limit, has no sum, and nobody could see which process is short of something;
PromQL can sum the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, Literal

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from server.common.version import VERSION
from server.pgwire.statement_counts import BOUNDS
from wire.dataclass import dataclass

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Figure:
    """A counter of `/status` as a metric. kind: a counter only grows while the member runs. scale: the factor to the
    metric's unit (seconds, bytes).
    """

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    scale: float = 1.0


def _gauge(name: str, text: str, scale: float = 1.0) -> Figure:
    return Figure(f"sluice_{name}", "gauge", text, scale)


def _counter(name: str, text: str, scale: float = 1.0) -> Figure:
    return Figure(f"sluice_{name}", "counter", text, scale)


#: Figures by section and name in the `counters` of `/status`.
FIGURES: Final[Mapping[tuple[str, str], Figure]] = {
    ("statements", "cached"): _gauge("statements_cached", "Statements whose plans are kept."),
    ("statements", "cached_bytes"): _gauge("statements_cached_bytes", "Memory of the plans that are kept."),
    ("operations", "queued"): _gauge("operations_queued", "Operations of sessions that wait for a thread."),
    ("operations", "running"): _gauge("operations_running", "Operations of sessions that run on a thread."),
    ("operations", "aside"): _gauge("operations_aside", "Operations that wait for a lock and have given their thread to others."),
    ("messages", "queued"): _gauge("messages_queued", "Messages of members that wait for a thread."),
    ("messages", "running"): _gauge("messages_running", "Messages of members that are read on a thread."),
    ("fragments", "queued"): _gauge("fragments_queued", "Pulls of DuckDB's streams that wait for a thread."),
    ("fragments", "running"): _gauge("fragments_running", "Pulls of DuckDB's streams that run on a thread."),
    ("fragments", "aside"): _gauge("fragments_aside", "Canceled statements that DuckDB still plans, on threads of their own."),
    ("planning", "waiting"): _gauge("planning_waiting", "Statements that wait to be planned."),
    ("planning", "live_nodes"): _gauge("planning_live_nodes", "Tokens and nodes of long statements that are in memory."),
    ("planning", "interrupted"): _counter("planning_interrupted", "Statements that were cancelled while they were planned."),
    ("planning", "refused"): _counter("planning_refused", "Statements whose planning would have taken too much memory."),
    ("stalls", "loop_ms_max"): _gauge("loop_stall_max_seconds", "The longest time that the event loop stood still.", 1e-3),
    ("stalls", "operations_ms_max"): _gauge("operations_wait_max_seconds", "The longest wait for an operation thread.", 1e-3),
    ("stalls", "messages_ms_max"): _gauge("messages_wait_max_seconds", "The longest wait for a thread of long messages.", 1e-3),
    ("stalls", "fragments_ms_max"): _gauge("fragments_wait_max_seconds", "The longest wait for a thread of fragments.", 1e-3),
    ("stalls", "loop_stalls"): _counter("loop_stalls", "How often the event loop stood still for too long."),
    ("tables", "stored"): _gauge("tables_stored", "Stored tables in the catalog."),
    ("tables", "unpublished"): _gauge("tables_unpublished", "Stored tables whose Delta log lacks commits that the catalog has."),
    ("tables", "failing"): _gauge("tables_publishing_fails", "1 while commits cannot be published to Delta's logs, else 0."),
    ("tables", "publish_pending"): _gauge(
        "publish_pending", "Commits of this member that its publisher has not written to Delta's logs yet."
    ),
    ("tables", "publish_lag_ms"): _gauge("publish_lag_seconds", "How long the oldest of those commits has waited.", 1e-3),
    ("tables", "publish_rounds"): _counter("publish_rounds", "Rounds of the publisher that went well."),
    ("tables", "commits"): _counter("commits", "Transactions of this member that were committed to the catalog."),
    ("tables", "commit_conflicts"): _counter(
        "commit_conflicts", "Commits to the catalog that were refused because another transaction came first."
    ),
    ("tables", "compacted"): _counter("tables_compacted", "Batches of small files that were compacted in the background."),
    ("writers", "queued"): _gauge("writers_queued", "Files that wait for a thread which writes them."),
    ("writers", "running"): _gauge("writers_running", "Files that are being written."),
    ("spool", "bytes"): _gauge("spool_bytes", "Results that wait on disk."),
    ("spool", "files"): _gauge("spool_files", "Streams that have a file on disk."),
    ("spool", "bytes_max"): _gauge("spool_limit_bytes", "How many bytes may wait on disk."),
    ("spool", "written_bytes"): _counter("spool_written_bytes", "Bytes of results that were written to disk."),
    ("edges", "receiving"): _gauge("edge_streams_receiving", "Open streams of edges that end here."),
    ("edges", "sending"): _gauge("edge_streams_sending", "Open streams of edges that begin here."),
    ("edges", "waiting"): _gauge("edge_streams_waiting", "Streams that end here and whose sender is out of credit."),
    ("edges", "credit_bytes"): _gauge("edge_credit_bytes", "Credit that the senders of these streams have left."),
    ("edges", "window_bytes"): _gauge("edge_window_bytes", "The windows of the streams that end here."),
    ("edges", "sent_bytes"): _counter("edge_sent_bytes", "Bytes that fragments and Spark jobs here have sent."),
    ("edges", "sent_batches"): _counter("edge_sent_batches", "Batches that fragments and Spark jobs here have sent."),
    ("edges", "stalls"): _counter("edge_stalls", "How often they have waited for credit."),
    ("edges", "stalled_ms"): _counter("edge_stalled_seconds", "How long fragments here have waited for credit.", 1e-3),
    ("memory", "resident_bytes"): _gauge("memory_resident_bytes", "Resident memory of the member's process."),
    ("memory", "arrow_bytes"): _gauge("memory_arrow_bytes", "Memory of Arrow's batches in the member's process."),
    ("memory", "limit_bytes"): _gauge("memory_limit_bytes", "What the process may take, by its configuration."),
    ("mesh", "queries"): _gauge("mesh_queries", "Distributed queries in which the member takes part."),
    ("mesh", "requests"): _gauge("mesh_requests", "Requests to other members that are not answered yet."),
    ("mesh", "mailboxes"): _gauge("mesh_mailboxes", "Edges of distributed queries that the member receives."),
    ("mesh", "held_bytes"): _gauge("mesh_held_bytes", "Batches that have arrived and were not consumed yet."),
    ("local", "streams"): _gauge("local_streams", "Fragments and queries that run in process."),
    ("local", "cursors"): _gauge("local_cursors", "DuckDB connections in use."),
    ("local", "idle_cursors"): _gauge("local_cursors_idle", "DuckDB connections that are kept for the next statement."),
    ("local", "role_databases"): _gauge("local_role_databases", "DuckDB databases of roles with a memory limit of their own."),
    ("local", "small_tables"): _gauge("local_small_tables", "Small files that are kept in memory."),
    ("local", "small_table_bytes"): _gauge("local_small_table_bytes", "Memory of the small files that are kept."),
    ("local", "point_reads"): _counter("local_point_reads", "Queries by key that columns in memory have answered."),
    ("local", "held_columns"): _gauge("local_held_columns", "Columns of row groups that are held in memory for these."),
    ("local", "held_column_bytes"): _gauge("local_held_column_bytes", "Memory of the columns that are held."),
    ("spark", "streams"): _gauge("spark_streams", "Queries whose rows come from Spark."),
    ("spark", "productions"): _gauge("spark_productions", "Spark jobs that send rows."),
    ("spark", "connections"): _gauge("spark_connections", "Data connections of Spark's tasks and of other members."),
    ("spark", "executors"): _gauge("spark_executors", "Executors of Spark's that run tasks."),
    ("spark", "slots"): _gauge("spark_task_slots", "Tasks that they can run at once."),
    ("spark", "jobs"): _gauge("spark_jobs_active", "Spark's jobs that run."),
    ("spark", "stages"): _gauge("spark_stages_active", "Spark's stages that run."),
    ("spark", "tasks_running"): _gauge("spark_tasks_running", "Spark's tasks that run."),
    ("spark", "tasks_done"): _counter("spark_tasks_done", "Spark's tasks that succeeded, since Spark's start."),
    ("spark", "tasks_failed"): _counter("spark_tasks_failed", "Spark's tasks that failed, since Spark's start."),
    ("spark", "memory_bytes"): _gauge("spark_memory_bytes", "Memory of the blocks that executors keep."),
    ("cursors", "asked"): _gauge("cursors_asked", "Cursors of other members that sessions here read by query id."),
    ("cursors", "served"): _gauge("cursors_served", "Cursors here that sessions of other members read."),
    ("cursors", "unsettled"): _gauge("cursors_unsettled", "Requests for cursors whose outcome is open."),
    ("clients", "input_bytes"): _gauge("clients_input_bytes", "Messages of clients that are being received."),
    ("clients", "output_bytes"): _gauge("clients_output_bytes", "Messages to clients that were not read yet."),
    ("logins", "failed"): _counter("logins_failed", "Logins that failed."),
    ("logins", "refused"): _counter("logins_refused", "Logins that were refused unheard, after too many failures."),
}  # fmt: skip


class StatusCollector(Collector):
    """The metrics of one status (`Member.status`)."""

    def __init__(self, status: Mapping[str, Any]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        status = self._status
        yield InfoMetricFamily(
            "sluice", "The member and its version.", {"member": status["member"], "version": VERSION}
        )
        for room, counters in status["counters"].items():
            for name, value in counters.items():
                yield _metric(FIGURES[room, name], value)
        yield from _statements(status["statements"])
        yield from _caches(status["caches"])
        yield from _members(status["members"])
        yield from _engines(status["engines"])
        yield from _sessions(status)
        yield from _background_metrics(status["background"])


def _metric(figure: Figure, value: float) -> Metric:
    family = CounterMetricFamily if figure.kind == "counter" else GaugeMetricFamily
    return family(figure.name, figure.help, value=value * figure.scale)


def _statements(counted: Mapping[str, Any]) -> Iterator[Metric]:
    seconds = HistogramMetricFamily(
        "sluice_statement_seconds", "Durations of statements that ran to their end, by command.", labels=["command"]
    )
    for command, durations in counted["durations"].items():
        bounds = [*map(str, BOUNDS), "+Inf"]
        buckets = list(zip(bounds, accumulate(durations["buckets"]), strict=True))
        seconds.add_metric([command], buckets, durations["seconds"])
    yield seconds
    errors = CounterMetricFamily("sluice_statement_errors", "Statements that failed, by SQLSTATE.", labels=["sqlstate"])
    for sqlstate, count in counted["errors"].items():
        errors.add_metric([sqlstate], count)
    yield errors
    engines = CounterMetricFamily(
        "sluice_statement_engines",
        "Queries that ran to their end, by who gave the rows: local, spark, or distributed for several members.",
        labels=["engine"],
    )
    for engine, count in counted["engines"].items():
        engines.add_metric([engine], count)
    yield engines


def _caches(caches: Mapping[str, Mapping[str, int]]) -> Iterator[Metric]:
    hits = CounterMetricFamily("sluice_cache_hits", "Look-ups that a cache has answered.", labels=["cache"])
    misses = CounterMetricFamily("sluice_cache_misses", "Look-ups that a cache has not answered.", labels=["cache"])
    entries = GaugeMetricFamily("sluice_cache_entries", "Entries that a cache keeps.", labels=["cache"])
    for name, figures in caches.items():
        hits.add_metric([name], figures["hits"])
        misses.add_metric([name], figures["misses"])
        entries.add_metric([name], figures["entries"])
    yield hits
    yield misses
    yield entries


def _members(members: list[Mapping[str, Any]]) -> Iterator[Metric]:
    up = GaugeMetricFamily(
        "sluice_member_up",
        "1 for each member of the cluster that is up, as this one sees it, else 0.",
        labels=["member", "role"],
    )
    load = GaugeMetricFamily("sluice_member_load", "Statements that each member runs.", labels=["member", "role"])
    for member in members:
        up.add_metric([member["id"], member["role"]], member["state"] == "up")
        load.add_metric([member["id"], member["role"]], member["load"])
    yield up
    yield load


def _engines(engines: Mapping[str, str]) -> Iterator[Metric]:
    ready = GaugeMetricFamily(
        "sluice_engine_ready", "1 while an engine can run queries at once, else 0.", labels=["engine"]
    )
    for engine, state in engines.items():
        ready.add_metric([engine], state == "ready")
    yield ready


def _sessions(status: Mapping[str, Any]) -> Iterator[Metric]:
    sessions = GaugeMetricFamily(
        "sluice_sessions", "Sessions of PostgreSQL clients, by state as in pg_stat_activity.", labels=["state"]
    )
    states = [connection["state"] for connection in status["connections"]]
    for state in sorted(set(states)):
        sessions.add_metric([state or "unknown"], states.count(state))
    yield sessions
    queries = GaugeMetricFamily("sluice_queries", "Queries that run or are suspended.", labels=["state"])
    states = [query["state"] for query in status["queries"]]
    for state in ("running", "suspended"):
        queries.add_metric([state], states.count(state))
    yield queries
    yield GaugeMetricFamily(
        "sluice_client_sockets",
        "Connections of PostgreSQL clients, those that are not logged in included.",
        value=status["sockets"],
    )
    yield GaugeMetricFamily(
        "sluice_http_sessions", "Sessions of the second door, for Trino's clients.", value=status["http_sessions"]
    )


def _background_metrics(workers: Mapping[str, Mapping[str, Any]]) -> Iterator[Metric]:
    failures = CounterMetricFamily(
        "sluice_background_failures", "How often a background task has failed.", labels=["task"]
    )
    failing = GaugeMetricFamily(
        "sluice_background_failing",
        "How often in a row a background task has failed; 0 while it goes well.",
        labels=["task"],
    )
    for name, told in workers.items():
        failures.add_metric([name], told["failures"])
        failing.add_metric([name], told["failing"])
    yield failures
    yield failing


def exposition(status: Mapping[str, Any]) -> bytes:
    """Return all metrics of a member, in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(StatusCollector(status))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def exposition_of_processes(statuses: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Return the metrics of several processes of this machine. statuses: by the value of the label `process`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_ProcessesCollector(statuses))
    return generate_latest(registry)


class _ProcessesCollector(Collector):
    def __init__(self, statuses: Mapping[str, Mapping[str, Any]]) -> None:
        self._statuses = statuses

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for process, status in sorted(self._statuses.items()):
            pid = status["pid"]
            own = ProcessCollector(pid=lambda pid=pid: pid, registry=None)  # type: ignore[misc]
            for metric in (*StatusCollector(status).collect(), *own.collect()):
                family = families.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                family.samples += [
                    sample._replace(labels={**sample.labels, "process": process}) for sample in metric.samples
                ]
        yield from families.values()

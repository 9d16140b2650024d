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
    ("statements", "cached"): _gauge("statements_cached", "Statements whose plans are cached."),
    ("statements", "cached_bytes"): _gauge("statements_cached_bytes", "Memory of the cached plans."),
    ("operations", "queued"): _gauge("operations_queued", "Short calls of statements that wait for an operation thread."),
    ("operations", "running"): _gauge("operations_running", "Short calls of statements that are running on an operation thread."),
    ("operations", "aside"): _gauge(
        "operations_aside", "Operation calls outside the pool, because they wait or have waited for a lock of another process."
    ),
    ("messages", "queued"): _gauge("messages_queued", "Messages from other members that wait for a message thread."),
    ("messages", "running"): _gauge(
        "messages_running", "Messages from other members that are being processed on a message thread."
    ),
    ("fragments", "queued"): _gauge("fragments_queued", "Reads of DuckDB streams that wait for a fragment thread."),
    ("fragments", "running"): _gauge("fragments_running", "Reads of DuckDB streams that are running on a fragment thread."),
    ("fragments", "aside"): _gauge(
        "fragments_aside", "Cancelled statements that DuckDB is still planning, on threads set aside from the pool."
    ),
    ("planning", "waiting"): _gauge("planning_waiting", "Long statements that wait for their turn to be planned."),
    ("planning", "live_nodes"): _gauge("planning_live_nodes", "Tokens and nodes of long statements in memory, approximately."),
    ("planning", "interrupted"): _counter("planning_interrupted", "Statements that were cancelled or timed out during planning."),
    ("planning", "refused"): _counter("planning_refused", "Statements that failed during planning for lack of memory."),
    ("stalls", "loop_ms_max"): _gauge(
        "loop_stall_max_seconds", "The longest stall of the event loop since the member's start.", 1e-3
    ),
    ("stalls", "operations_ms_max"): _gauge(
        "operations_wait_max_seconds", "The longest wait for an operation thread since the member's start.", 1e-3
    ),
    ("stalls", "messages_ms_max"): _gauge(
        "messages_wait_max_seconds", "The longest wait for a message thread since the member's start.", 1e-3
    ),
    ("stalls", "fragments_ms_max"): _gauge(
        "fragments_wait_max_seconds", "The longest wait for a fragment thread since the member's start.", 1e-3
    ),
    ("stalls", "loop_stalls"): _counter("loop_stalls", "Stalls of the event loop of more than 200 ms."),
    ("tables", "stored"): _gauge("tables_stored", "Stored tables in the catalog."),
    ("tables", "unpublished"): _gauge("tables_unpublished", "Stored tables whose Delta log lacks commits of the catalog."),
    ("tables", "failing"): _gauge("tables_publishing_fails", "1 while commits cannot be published to Delta's logs, else 0."),
    ("tables", "publish_pending"): _gauge(
        "publish_pending", "Commits of this member that have not been published to Delta's logs yet."
    ),
    ("tables", "publish_lag_ms"): _gauge("publish_lag_seconds", "The age of this member's oldest unpublished commit.", 1e-3),
    ("tables", "publish_rounds"): _counter("publish_rounds", "Rounds of the publisher that succeeded."),
    ("tables", "commits"): _counter("commits", "Transactions that this member has committed to the catalog."),
    ("tables", "commit_conflicts"): _counter(
        "commit_conflicts", "Commits that the catalog refused because a conflicting transaction had committed first."
    ),
    ("tables", "compacted"): _counter("tables_compacted", "Batches of small files that were compacted in the background."),
    ("writers", "queued"): _gauge("writers_queued", "Files that wait for a writer thread."),
    ("writers", "running"): _gauge("writers_running", "Files that are being written."),
    ("spool", "bytes"): _gauge("spool_bytes", "Bytes of results that are spooled on disk."),
    ("spool", "files"): _gauge("spool_files", "Streams that have a spool file."),
    ("spool", "bytes_max"): _gauge("spool_limit_bytes", "The limit of spooled bytes."),
    ("spool", "written_bytes"): _counter("spool_written_bytes", "Bytes of results that have been written to spool files."),
    ("edges", "receiving"): _gauge("edge_streams_receiving", "Open streams of edges that this member receives."),
    ("edges", "sending"): _gauge("edge_streams_sending", "Open streams of edges that this member sends."),
    ("edges", "waiting"): _gauge("edge_streams_waiting", "Streams that this member receives whose sender has no credit left."),
    ("edges", "credit_bytes"): _gauge(
        "edge_credit_bytes", "Credit that the senders of the streams that this member receives have left."
    ),
    ("edges", "window_bytes"): _gauge("edge_window_bytes", "Total size of the windows of the streams that this member receives."),
    ("edges", "sent_bytes"): _counter("edge_sent_bytes", "Bytes that this member's fragments and Spark jobs have sent."),
    ("edges", "sent_batches"): _counter("edge_sent_batches", "Batches that this member's fragments and Spark jobs have sent."),
    ("edges", "stalls"): _counter("edge_stalls", "Waits for credit by this member's fragments and Spark jobs."),
    ("edges", "stalled_ms"): _counter(
        "edge_stalled_seconds", "Total time that this member's fragments have waited for credit.", 1e-3
    ),
    ("memory", "resident_bytes"): _gauge("memory_resident_bytes", "Resident memory of the member's process."),
    ("memory", "arrow_bytes"): _gauge("memory_arrow_bytes", "Memory of Arrow's batches in the member's process."),
    ("memory", "limit_bytes"): _gauge("memory_limit_bytes", "The configured memory limit of the process."),
    ("mesh", "queries"): _gauge("mesh_queries", "Distributed queries in which the member takes part."),
    ("mesh", "requests"): _gauge("mesh_requests", "Requests to other members that have not been answered yet."),
    ("mesh", "mailboxes"): _gauge("mesh_mailboxes", "Edges of distributed queries that the member receives."),
    ("mesh", "held_bytes"): _gauge("mesh_held_bytes", "Bytes of batches that have arrived and have not been consumed yet."),
    ("local", "streams"): _gauge("local_streams", "Fragments and queries that are running in process."),
    ("local", "cursors"): _gauge("local_cursors", "DuckDB connections in use."),
    ("local", "idle_cursors"): _gauge("local_cursors_idle", "Idle DuckDB connections, kept for the next statement."),
    ("local", "role_databases"): _gauge("local_role_databases", "DuckDB databases of roles that have their own memory limit."),
    ("local", "small_tables"): _gauge("local_small_tables", "Small files that are cached in memory."),
    ("local", "small_table_bytes"): _gauge("local_small_table_bytes", "Memory of the cached small files."),
    ("local", "point_reads"): _counter("local_point_reads", "Queries by key that were answered from columns cached in memory."),
    ("local", "held_columns"): _gauge("local_held_columns", "Columns of row groups that are cached in memory for queries by key."),
    ("local", "held_column_bytes"): _gauge("local_held_column_bytes", "Memory of the columns cached for queries by key."),
    ("local", "cached_answers"): _counter("local_cached_answers", "Queries that were answered with the result of an equal one."),
    ("local", "cached_results"): _gauge("local_cached_results", "Results that are kept in memory for repeated queries."),
    ("local", "cached_result_bytes"): _gauge("local_cached_result_bytes", "Memory of the results kept for repeated queries."),
    ("spark", "streams"): _gauge("spark_streams", "Queries and statements that are running on Spark."),
    ("spark", "productions"): _gauge("spark_productions", "Spark jobs that are sending rows to members."),
    ("spark", "connections"): _gauge("spark_connections", "Data connections from Spark's tasks and from other members."),
    ("spark", "executors"): _gauge("spark_executors", "Spark executors that can run tasks."),
    ("spark", "slots"): _gauge("spark_task_slots", "Number of tasks that the Spark executors can run at once."),
    ("spark", "jobs"): _gauge("spark_jobs_active", "Spark jobs that are running."),
    ("spark", "stages"): _gauge("spark_stages_active", "Spark stages that are running."),
    ("spark", "tasks_running"): _gauge("spark_tasks_running", "Spark tasks that are running."),
    ("spark", "tasks_done"): _counter("spark_tasks_done", "Spark tasks that have succeeded since Spark's start."),
    ("spark", "tasks_failed"): _counter("spark_tasks_failed", "Spark tasks that have failed since Spark's start."),
    ("spark", "memory_bytes"): _gauge("spark_memory_bytes", "Memory of the blocks that Spark's executors cache."),
    ("cursors", "asked"): _gauge("cursors_asked", "Unanswered requests of this member's sessions to cursors of other members."),
    ("cursors", "served"): _gauge("cursors_served", "Requests of other members' sessions that cursors of this member are serving."),
    ("cursors", "unsettled"): _gauge("cursors_unsettled", "Answers to cursor requests whose receipt has not been confirmed yet."),
    ("clients", "input_bytes"): _gauge(
        "clients_input_bytes", "Bytes of clients' messages that have arrived and have not been processed yet."
    ),
    ("clients", "output_bytes"): _gauge("clients_output_bytes", "Bytes of messages to clients that the clients have not read yet."),
    ("logins", "failed"): _counter("logins_failed", "Logins that failed."),
    ("logins", "refused"): _counter(
        "logins_refused", "Login attempts refused without a check of the password, after too many failures."
    ),
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
        "sluice_statement_seconds", "Durations of completed statements, by command.", labels=["command"]
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
        "Completed queries, by the engine that returned their rows: local, spark, or distributed for several members.",
        labels=["engine"],
    )
    for engine, count in counted["engines"].items():
        engines.add_metric([engine], count)
    yield engines


def _caches(caches: Mapping[str, Mapping[str, int]]) -> Iterator[Metric]:
    hits = CounterMetricFamily("sluice_cache_hits", "Cache lookups that found an entry.", labels=["cache"])
    misses = CounterMetricFamily("sluice_cache_misses", "Cache lookups that found no entry.", labels=["cache"])
    entries = GaugeMetricFamily("sluice_cache_entries", "Entries in a cache.", labels=["cache"])
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
        "1 for each member of the cluster that this member sees as up, else 0.",
        labels=["member", "role"],
    )
    load = GaugeMetricFamily(
        "sluice_member_load", "Queries and fragments that each member is running.", labels=["member", "role"]
    )
    for member in members:
        up.add_metric([member["id"], member["role"]], member["state"] == "up")
        load.add_metric([member["id"], member["role"]], member["load"])
    yield up
    yield load


def _engines(engines: Mapping[str, str]) -> Iterator[Metric]:
    ready = GaugeMetricFamily(
        "sluice_engine_ready",
        "1 while an engine can run queries without a delay for its start, else 0.",
        labels=["engine"],
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
    queries = GaugeMetricFamily("sluice_queries", "Queries that are running or suspended.", labels=["state"])
    states = [query["state"] for query in status["queries"]]
    for state in ("running", "suspended"):
        queries.add_metric([state], states.count(state))
    yield queries
    yield GaugeMetricFamily(
        "sluice_client_sockets",
        "Connections of PostgreSQL clients, including those that are not logged in.",
        value=status["sockets"],
    )
    yield GaugeMetricFamily(
        "sluice_http_sessions", "Sessions of Trino's clients, over HTTP.", value=status["http_sessions"]
    )


def _background_metrics(workers: Mapping[str, Mapping[str, Any]]) -> Iterator[Metric]:
    failures = CounterMetricFamily("sluice_background_failures", "Failures of a background task.", labels=["task"])
    failing = GaugeMetricFamily(
        "sluice_background_failing",
        "Consecutive failures of a background task; 0 after a success.",
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

"""Reports of statements, fragments, edges and members: typed structs, JSON for the console and MessagePack between members.

The names of the fields are the console's API. A field that is added goes to the end with a default, so that members of two
releases understand each other; structs are encoded as maps, and a field that is not known is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from engine.contracts.copy_progress import CopyProgress
from engine.contracts.maintenance_progress import MaintenanceProgress
from wire.dataclass import dataclass

StatementState = Literal["planning", "running", "suspended", "finished", "failed", "cancelled"]
EngineUsed = Literal["local", "spark", "distributed"]
#: waiting: a stream's sender is out of credit. interrupted: it has lost its connection and goes on over another.
StreamState = Literal["open", "waiting", "interrupted", "done"]
#: A part of an answer. recent: the newest finished statements. status: requested from processes of one server only, as
#: members of earlier releases do not know it.
#: progress: of COPY, VACUUM and ANALYZE. statements: the data of pg_stat_statements.
Part = Literal[
    "sessions", "running", "finished", "recent", "fragments", "edges", "spark_jobs", "graph", "status", "progress", "statements"
]  # fmt: skip
InstanceState = Literal["waiting", "running", "done", "failed"]


class Report(msgspec.Struct, frozen=True):
    """Base of the reports; see the module's docstring."""


class Phases(Report, frozen=True):
    """Seconds in each phase; None: not reached, or no such phase. start: until the engine has begun. first_row: from
    there to the first rows. run: from there to the end, or until now.
    """

    parse: float | None = None
    bind: float | None = None
    plan: float | None = None
    compile: float | None = None
    start: float | None = None
    first_row: float | None = None
    run: float | None = None


class StatementReport(Report, frozen=True):
    """A statement. id: a query's id (`engine.contracts.query_id.QueryId`). member: the initiator. portal: the name of
    its cursor or portal. started, ended: seconds since the epoch. query: the id of the query that it runs, if it runs
    one.
    """

    id: str
    member: str
    pid: int
    user: str
    database: str
    sql: str
    state: StatementState
    engine: EngineUsed | None
    reason: str | None
    portal: str | None
    rows: int
    started: float
    ended: float | None
    phases: Phases
    sqlstate: str | None = None
    error: str | None = None
    query: str | None = None


class SessionReport(Report, frozen=True):
    """A client's session. since: when its state changed. query: the beginning of its current or last statement. client:
    the address of its client. begun: when the session began. transaction_start, query_start: of its last transaction
    and statement. Times are seconds since the epoch.
    """

    member: str
    pid: int
    user: str
    database: str
    application_name: str
    client: str | None
    state: str
    since: float
    query: str
    client_port: int | None = None
    begun: float | None = None
    transaction_start: float | None = None
    query_start: float | None = None


class OperatorReport(Report, frozen=True):
    """An operator of a fragment. inputs: ids of the operators and edges that it reads. rows: None if they are not
    counted.
    """

    id: str
    name: str
    detail: str
    inputs: tuple[str, ...] = ()
    rows: int | None = None


class FragmentReport(Report, frozen=True):
    """A fragment on a member. id: `fragment.instance`, or `client` for the receiver of the last edge."""

    id: str
    member: str
    engine: str
    state: InstanceState
    operators: tuple[OperatorReport, ...] = ()
    rows: int | None = None
    seconds: float | None = None


class EdgeReport(Report, frozen=True):
    """The streams from one instance of a fragment to one of another. id: `edge.sender.receiver`.

    credit: bytes that the senders may still send. window: bytes of credit of all streams together. backlog_bytes: bytes
    that have arrived and have not been consumed. stalls, stalled_seconds: how often and how long the sender has waited
    for credit.
    """

    id: str
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    kind: str = "gather"
    streams: int = 0
    rows: int = 0
    bytes: int = 0
    credit: int | None = None
    window: int | None = None
    backlog_bytes: int = 0
    stalls: int = 0
    stalled_seconds: float = 0.0
    spooled_bytes: int = 0
    state: StreamState = "open"


class Graph(Report, frozen=True):
    """A plan: fragments on members, and the edges between them."""

    fragments: tuple[FragmentReport, ...] = ()
    edges: tuple[EdgeReport, ...] = ()


class SparkJobReport(Report, frozen=True):
    """A Spark job. query: the statement that it belongs to. id: Spark's number of the job. url: its page in Spark's own
    interface.
    """

    id: int
    query: str
    member: str
    name: str
    stages: int
    tasks: int
    tasks_done: int
    tasks_failed: int
    url: str | None = None


class SparkReport(Report, frozen=True):
    """A member's Spark. state: as in `/status`. waits_for: what statements on it wait for; None: nothing. wait_seconds:
    for how long. executors: None while they are unknown. start_seconds: the time that it took to start.
    """

    member: str
    master: str
    state: str
    waits_for: str | None = None
    wait_seconds: float | None = None
    executors: int | None = None
    start_seconds: float | None = None


class FragmentCounters(Report, frozen=True):
    """A member's counters of an instance of a fragment that it runs."""

    query: str
    fragment: int
    instance: int
    member: str
    engine: str
    state: InstanceState
    rows: int
    seconds: float | None = None


class EdgeCounters(Report, frozen=True):
    """A member's counters of the streams from one instance to another, as their sender or as their receiver (`end`)."""

    query: str
    edge: int
    sender: int
    receiver: int
    end: Literal["sender", "receiver"]
    member: str
    streams: int = 0
    rows: int = 0
    bytes: int = 0
    credit: int | None = None
    window: int | None = None
    backlog_bytes: int = 0
    stalls: int = 0
    stalled_seconds: float = 0.0
    spooled_bytes: int = 0
    state: StreamState = "open"


class StatementFigures(Report, frozen=True):
    """The cost of one statement of one user, for pg_stat_statements. text: normalised. Times are in milliseconds.
    engine: the one that ran the statement last; None if that is not known.
    """

    user: str
    query_id: int
    text: str
    calls: int
    rows: int
    total: float
    least: float
    most: float
    mean: float
    deviation: float
    engine: str | None


class StatementsKept(Report, frozen=True):
    """The state of pg_stat_statements as a whole. since: the last reset, in seconds since the epoch."""

    statements: tuple[StatementFigures, ...] = ()
    deallocations: int = 0
    since: float = 0.0


#: A member's counters of queries: instances of fragments, and ends of streams.
Observed = tuple[list[FragmentCounters], list[EdgeCounters]]


class Answer(Report, frozen=True):
    """The answer of one member, with the parts that were requested. graph: of the requested statement, from its
    initiator. status: the member's state without the sessions' part, as JSON. copies, maintenance: running statements.
    kept: None if it was not requested. spark: with `spark_jobs`.
    """

    memory_bytes: int = 0
    spool_bytes: int = 0
    sessions: tuple[SessionReport, ...] = ()
    running: tuple[StatementReport, ...] = ()
    finished: tuple[StatementReport, ...] = ()
    fragments: tuple[FragmentCounters, ...] = ()
    edges: tuple[EdgeCounters, ...] = ()
    spark_jobs: tuple[SparkJobReport, ...] = ()
    graph: Graph | None = None
    status: bytes = b""
    copies: tuple[CopyProgress, ...] = ()
    maintenance: tuple[MaintenanceProgress, ...] = ()
    kept: StatementsKept | None = None
    spark: SparkReport | None = None


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """The members' answers, by their names. silent: members that are lost, or have not answered in time."""

    told: Mapping[str, Answer]
    silent: tuple[str, ...] = ()

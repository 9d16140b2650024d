"""The record of one statement, from its first byte read to its end, and the history of statements that have ended.

A record costs a few attribute writes a statement and nothing a row: the number of rows is read from the cursor on
request. `server.pgwire.running` begins and ends the record; the engine's session notes its phases, the engine and the
reason for the choice of engine.

`History` keeps the last records as values (`engine.contracts.activity`), bounded in number and bytes. A plan is not
kept: it would hold the rows of system tables and the trees of long statements. Its graph is described once, when the
statement ends, and only for statements that took `GRAPH_SECONDS` or longer, compared with which the description costs
little. The counters of other members are added when these have answered (`server.cluster.final_figures`).

Considered and rejected: a table of running statements beside the sessions' own. The statement that a session runs is
found in its portals, so no entry can be left behind.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from engine.contracts.activity import EngineUsed, OperatorReport, Phases, StatementReport, StatementState
from engine.sql.parser.masking import mask_passwords, may_quote_password

if TYPE_CHECKING:
    from engine.common.tracing import Span
    from engine.contracts.query_id import QueryId
    from engine.plan_ir.logical import Root
    from engine.statements.shared.distribution import CompiledQuery

#: The maximum number of a statement's characters that are kept and reported.
TEXT_MAX: Final = 10_000
#: The maximum where many statements are reported.
SHORT_TEXT: Final = 1_000
STATEMENTS_MAX: Final = 1_000
#: The maximum size of all ended statements together, approximately in bytes.
BYTES_MAX: Final = 8 << 20
#: Statements that took at least this long keep the graph of their plan.
GRAPH_SECONDS: Final = 0.05
#: The approximate bytes of an entry besides its texts.
_ENTRY_BYTES: Final = 800


class Position(Protocol):
    """The part of a cursor that a record reads. first_at: when the first rows arrived, by the monotonic clock."""

    position: int
    first_at: float | None


class StatementRecord:
    """The record of one statement (see the module's docstring). text: the statement's. new_id: returns query ids; the
    first one is the record's.

    query: the id under which the statement runs now, which changes if the statement is repeated. position: of the
    cursor or portal; rows: of a statement without one. Times of phases are seconds; None: not reached.
    """

    __slots__ = (
        "_begun", "_first_at", "_id", "_new_id", "_text", "bind", "compile", "database", "ended_at", "engine", "error",
        "opened_at", "operators", "parse", "pid", "plan", "planned", "portal", "position", "query", "reason", "rows", "size",
        "span", "sqlstate", "start", "started", "state", "user",
    )  # fmt: skip

    def __init__(self, pid: int, user: str, database: str, text: str, new_id: Callable[[], QueryId]) -> None:
        self.pid = pid
        self.user = user
        self.database = database
        self._text = text
        self._new_id: Callable[[], QueryId] | None = new_id
        self._id: QueryId | None = None
        self._first_at: float | None = None
        self.query: QueryId | None = None
        self.portal: str | None = None
        self.position: Position | None = None
        self.rows = 0
        #: The approximate bytes of the record, once it has ended.
        self.size = 0
        self.state: StatementState = "planning"
        self.started = time.time()
        self._begun = time.monotonic()
        self.parse: float | None = None
        self.bind: float | None = None
        self.plan: float | None = None
        self.compile: float | None = None
        self.start: float | None = None
        self.opened_at: float | None = None
        self.ended_at: float | None = None
        self.engine: EngineUsed | None = None
        self.reason: str | None = None
        self.sqlstate: str | None = None
        self.error: str | None = None
        #: The plan from which the graph is made while the statement runs.
        self.planned: tuple[Root | None, CompiledQuery] | None = None
        #: The operators of the graph, once it has been made (`engine.monitor.graph`).
        self.operators: dict[str, tuple[OperatorReport, ...]] = {}
        #: The statement's span, until it has ended; None while tracing is off.
        self.span: Span | None = None

    @property
    def id(self) -> QueryId:
        """The id of the statement's first query. If no query has run yet, the id is taken now, for the first one to
        come.
        """
        if self._id is None:
            self._id = self._take_id()
        return self._id

    @property
    def trace(self) -> str:
        """The traceparent of the statement's span; empty: it has none."""
        return "" if self.span is None else self.span.traceparent

    @property
    def is_finished(self) -> bool:
        return self.ended_at is not None

    @property
    def rows_so_far(self) -> int:
        return self.rows if self.position is None else max(self.position.position, self.rows)

    @property
    def is_fresh(self) -> bool:
        """Whether the statement has not begun to run."""
        return self.opened_at is None and not self.is_finished

    @property
    def is_query(self) -> bool:
        """Whether the statement has begun to run a query whose rows a cursor or portal returns."""
        return self.query is not None and self.position is not None

    def is_of(self, text: str) -> bool:
        return self._text is text or self._text == text

    def next_query(self) -> QueryId:
        """Return the id for a query that the statement runs now: the first query has the record's id."""
        self.query = self.id if self.query is None else self._take_id()
        return self.query

    def _take_id(self) -> QueryId:
        assert self._new_id is not None, "a statement that has ended runs no more queries"
        return self._new_id()

    def record_plan(self, plan: Root | None, query: CompiledQuery, seconds: float = 0.0) -> None:
        """Note how the statement's query runs, and how long compiling took. If the statement runs several queries, a
        distributed one takes precedence. plan: None if it is too long to be described.
        """
        self.compile = (self.compile or 0.0) + seconds
        physical = query.physical
        is_spread = physical is not None and len(physical.fragments) > 1
        if self.engine == "distributed" and not is_spread:
            return
        self.engine = "distributed" if is_spread else query.choice.engine
        self.reason = query.choice.reason
        if physical is not None:
            self.reason = f"{self.reason}; {physical.reason}" if self.reason else physical.reason
        self.planned, self.operators = (plan, query), {}

    def record_start(self, seconds: float) -> None:
        """Note that the execution has begun. seconds: the time that this took, including compilation."""
        self.opened_at = time.monotonic()
        self.start = max(0.0, seconds - (self.compile or 0.0))
        self.state = "running"

    def report(self, *, text_max: int = TEXT_MAX) -> StatementReport:
        """Return a report of the statement's present state. text_max: the maximum number of characters of its text."""
        now, opened = self._until(), self.opened_at
        first = self._first_at if self.position is None else self.position.first_at
        if opened is not None and first is not None:
            first = max(0.0, first - opened)
        phases = Phases(
            self.parse, self.bind, self.plan, self.compile, self.start, first, None if opened is None else now - opened
        )
        ended = None if self.ended_at is None else self.started + self.ended_at - self._begun
        return StatementReport(
            str(self.id), self.id.initiator, self.pid, self.user, self.database, self._visible_text(text_max), self.state,
            self.engine, self.reason, self.portal, self.rows_so_far, self.started, ended, phases, self.sqlstate, self.error,
            None if self.query is None else str(self.query),
        )  # fmt: skip

    @property
    def seconds(self) -> float:
        """The seconds that the statement has taken so far."""
        return self._until() - self._begun

    def end(self, state: StatementState, sqlstate: str | None = None, error: str | None = None) -> None:
        """End the record: release its cursor, its plan, its session and the rest of a long text. The graph is made
        before this.
        """
        self.ended_at, self.state = time.monotonic(), state
        if may_quote_password(sqlstate, self._text):
            error = "syntax error"
        self.sqlstate, self.error = sqlstate, error and error[:TEXT_MAX]
        if self.position is not None:
            self.rows, self._first_at = self.rows_so_far, self.position.first_at
        # The id is taken now, since the function that returns ids belongs to the session, and the history outlives the
        # session.
        self._id, self._new_id = self.id, None
        self.position = self.planned = None
        self.operators = {}
        if len(self._text) > TEXT_MAX:
            self._text = self._visible_text(TEXT_MAX)
        self.size = _ENTRY_BYTES + 4 * (len(self._text) + len(self.reason or "") + len(self.error or ""))

    def _until(self) -> float:
        return time.monotonic() if self.ended_at is None else self.ended_at

    def _visible_text(self, length: int) -> str:
        """Return the text without passwords. A long text is cut first, so that at most twice the length of the result
        is scanned.
        """
        return mask_passwords(self._text[: 2 * length])[:length]


class History:
    """The last statements that have ended, each with the graph of its plan as JSON; empty if it has none."""

    def __init__(self, statements_max: int = STATEMENTS_MAX, bytes_max: int = BYTES_MAX) -> None:
        self._statements_max = statements_max
        self._bytes_max = bytes_max
        self._kept: deque[tuple[StatementRecord, bytes]] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """The approximate bytes that the history takes."""
        return self._bytes

    def add(self, record: StatementRecord, graph: bytes = b"") -> None:
        """Keep a statement that has ended. graph: its plan's, as JSON."""
        self._kept.append((record, graph))
        self._bytes += record.size + len(graph)
        self._make_room()

    def replace_graph(self, query: str, graph: bytes) -> None:
        """Replace the graph of a statement, by its id; if the statement is not kept any more, nothing happens."""
        for at in range(len(self._kept) - 1, -1, -1):
            record, before = self._kept[at]
            if str(record.id) == query:
                self._kept[at] = record, graph
                self._bytes += len(graph) - len(before)
                self._make_room()
                return

    def newest(self, count: int, *, text_max: int = TEXT_MAX) -> list[StatementReport]:
        """Return the last statements, newest first."""
        return [record.report(text_max=text_max) for record, _ in islice(reversed(self._kept), count)]

    def find(self, query: str) -> tuple[StatementReport, bytes] | None:
        """Return a statement by its id, with its graph as JSON."""
        found = next((entry for entry in reversed(self._kept) if str(entry[0].id) == query), None)
        return None if found is None else (found[0].report(), found[1])

    def _make_room(self) -> None:
        while len(self._kept) > self._statements_max or self._bytes > self._bytes_max:
            oldest, its_graph = self._kept.popleft()
            self._bytes -= oldest.size + len(its_graph)

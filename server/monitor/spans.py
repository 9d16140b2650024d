"""Spans of a session and of its statements (`engine.common.tracing`), made from the statements' records.

    session                        from its first statement to its end
      statement                    its text without passwords, state, engine, rows
        parse, bind, plan, compile, start, run      phases, one after another as they were measured
        fragment                   on each member (`engine.runtime.query_run`)
          edge                     what the fragment's instance has sent
        Spark job                  (`engine.executors.spark.jobs`)

A client names the trace to which its statements belong in `sluice.traceparent`, or in its `application_name`. The
session's span is a child of the span that was named when the session's span began; a statement that begins under
another name is a child of that one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.common import tracing
from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.contracts.activity import StatementReport
    from engine.monitor.record import StatementRecord

_PHASES: Final = ("parse", "bind", "plan", "compile", "start", "run")


@dataclass(slots=True)
class SessionTrace:
    """A session's span; None before it has one. named: the traceparent that its client had named when the span began."""

    span: tracing.Span | None = None
    named: str = ""

    def begin(self, record: StatementRecord, named: str) -> None:
        """Begin the span of a statement. named: the client's current traceparent."""
        if not tracing.is_on():
            return
        if self.span is None:
            self.span, self.named = tracing.begin("session", named, at=record.started), named
        parent = named if named != self.named or self.span is None else self.span.traceparent
        record.span = tracing.begin("statement", parent, at=record.started)

    def end(self, user: str, database: str, pid: int) -> None:
        """End the session's span."""
        if self.span is not None:
            self.span.end({"db.system": "sluice", "db.user": user, "db.name": database, "sluice.pid": pid})
            self.span = None


def end_statement(record: StatementRecord) -> None:
    """End the span of a statement whose record has ended."""
    span, record.span = record.span, None
    if span is None:
        return
    told = record.report()
    _record_phases(told, span.traceparent)
    error = told.error if told.sqlstate is None else f"{told.sqlstate}: {told.error}"
    attributes: dict[str, str | int] = {
        "db.system": "sluice", "db.statement": told.sql, "db.user": told.user, "db.name": told.database,
        "sluice.query": told.id, "sluice.member": told.member, "sluice.state": told.state, "sluice.rows": told.rows,
    }  # fmt: skip
    optional = {"sluice.engine": told.engine, "sluice.reason": told.reason, "db.response.status_code": told.sqlstate}
    span.end(attributes | {name: value for name, value in optional.items() if value}, at=told.ended, error=error)


def _record_phases(told: StatementReport, parent: str) -> None:
    begun = told.started
    for name in _PHASES:
        seconds = getattr(told.phases, name)
        if seconds is None:
            continue
        if name == "run" and told.ended is not None:
            begun = told.ended - seconds
        tracing.record(name, parent, begun, {}, ended=begun + seconds)
        begun += seconds

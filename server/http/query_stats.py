"""The `stats` of a statement in Trino's answers: computed from the statement's record, its plan and its result at the
time of the request.

A split is a unit that is scheduled by itself: a task of this member's Spark if Spark has reported any, else an instance
of a fragment; a query on one member has one instance. `processedRows` and `processedBytes` count the rows and bytes of
the result that have been given, since nothing counts the input.

Source: Trino, QueryStateInfo and StatementStats.java: the names of states, and that elapsed time includes queued time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from buenavista.http import schemas

if TYPE_CHECKING:
    from engine.contracts.progress import Progress
    from engine.monitor.record import StatementRecord
    from server.http.result import Result


def stats_of(result: Result, started: float, progress: Progress | None, *, over: bool) -> schemas.StatementStats:
    """Return the stats of a statement. started: the arrival of the statement, in seconds since the epoch. progress:
    while it runs. over: the client is told the end.
    """
    record, now = result.record, time.time()
    state = _state(result, record, over=over)
    queued = now if record is None else min(record.started, now)
    total, done = _splits(result, progress, over=over)
    is_running = state == "RUNNING"
    return schemas.StatementStats(
        state=state,
        queued=state == "QUEUED",
        scheduled=is_running or over,
        nodes=result.nodes,
        total_splits=total,
        queued_splits=total - done if state in ("QUEUED", "PLANNING") else 0,
        running_splits=total - done if is_running else 0,
        completed_splits=done,
        wall_time_millis=_millis(now - queued),
        queued_time_millis=_millis(queued - started),
        elapsed_time_millis=_millis(now - started),
        processed_rows=result.rows_given,
        processed_bytes=result.bytes_given,
    )


def _state(result: Result, record: StatementRecord | None, *, over: bool) -> str:
    if result.ending is not None and result.ending.error is not None:
        return "FAILED"
    if over:
        return "FINISHED"
    if result.ending is not None:
        return "FINISHING"
    if record is None:
        return "QUEUED"
    return "PLANNING" if record.state == "planning" else "RUNNING"


def _splits(result: Result, progress: Progress | None, *, over: bool) -> tuple[int, int]:
    """Return the number of all splits, and of completed ones."""
    if progress is not None and progress.tasks is not None:
        done, total = progress.tasks
        result.splits = max(total, result.splits)
        return result.splits, done
    return result.splits, result.splits if over else 0


def note_plan(result: Result) -> None:
    """Record on how many members, and as how many instances, the statement runs, once it has a plan."""
    planned = None if result.record is None else result.record.planned
    physical = None if planned is None else planned[1].physical
    if physical is not None:
        instances = [instance for fragment in physical.fragments for instance in fragment.instances]
        result.nodes, result.splits = len({instance.member for instance in instances}), len(instances)


def _millis(seconds: float) -> int:
    return max(0, round(seconds * 1000))

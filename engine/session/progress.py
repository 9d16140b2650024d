"""The progress of a session's statement: rows, engines, and the tasks of its Spark jobs."""

from __future__ import annotations

from engine.contracts.progress import Progress, RunningQuery
from engine.session.context.services import SessionServices


async def read_progress(engine: SessionServices, underway: RunningQuery, pid: int) -> Progress:
    """Return the progress of a session's statement. pid: the session's."""
    query, engines = underway.query, tuple(sorted(underway.engines))
    copied = max((copy.rows for copy in engine.copies.running_copies() if copy.pid == pid), default=0)
    rows = max(underway.rows, copied)
    if query is None or "spark" not in engines:
        return Progress(query, engines, rows=rows)
    starting = engine.spark.state == "starting"
    tasks = None if starting else await engine.spark.reports.tasks_of(query)
    return Progress(query, engines, starting, tasks, rows)

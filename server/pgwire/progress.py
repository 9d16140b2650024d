"""Notices of a statement's progress, for clients that ask for them: `SET sluice.progress = 2` (seconds).

A notice is one line: how long the statement has run, on which engine, how many of Spark's tasks have succeeded, and how
many rows have been read, as far as known. The first notice is sent after one interval, then at most one in each
interval, and none within another message (`server.pgwire.client_stream`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from engine.contracts.progress import Progress
from engine.contracts.query_id import QueryId
from server.cursors.portal import Portal
from server.session.cursor_statements import Fetching

log: Final = logging.getLogger(__name__)
_ENGINES: Final = {"local": "the local engine", "spark": "Spark"}


class ProgressReports:
    """Calls `report` once an interval, from `start` to `stop`."""

    def __init__(self, report: Callable[[], Awaitable[None]]) -> None:
        self._report = report
        self._task: asyncio.Task[None] | None = None

    def start(self, seconds: float) -> None:
        """Begin, unless it has begun or `seconds` is 0."""
        if seconds and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._repeat(seconds))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _repeat(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await self._report()
            except Exception:
                log.exception("a client could not be told how far its statement has come")
                return


def progress_line(progress: Progress, active: Portal | None, seconds: float) -> str:
    """Describe a statement's progress in one line. active: the portal that runs; None: the statement is not planned
    yet. seconds: since its start.
    """
    parts = [f"progress: {_phase(progress, active)} for {seconds:.0f} s"]
    if active is None or _query_of(active) not in (None, progress.query):
        return parts[0]
    if progress.tasks is not None:
        parts.append(f"{progress.tasks[0]} of {progress.tasks[1]} tasks done")
    cursor = active.cursor
    rows = max(progress.rows, cursor.position if cursor is not None else 0)
    if rows:
        parts.append(f"{rows} rows so far")
    return ", ".join(parts)


def _query_of(portal: Portal) -> QueryId | None:
    """Return the query whose rows a portal gives: for a FETCH, that of its cursor."""
    execution = portal.execution
    return execution.portal.query if isinstance(execution, Fetching) else portal.query


def _phase(progress: Progress, active: Portal | None) -> str:
    if active is None:
        return "planning"
    if progress.starting:
        return "waiting for Spark"
    if not progress.engines:
        return "running"
    return f"running on {' and '.join(_ENGINES[engine] for engine in progress.engines)}"

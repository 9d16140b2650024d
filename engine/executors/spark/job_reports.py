"""Reports from Spark about its work for this member: jobs of queries, their tasks, and the metrics of its executors.

A request to the JVM runs on a thread of the executor's pool. If Spark does not run, the report is empty.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from engine.contracts.activity import SparkJobReport
from engine.contracts.query_id import QueryId
from engine.executors.spark.connection import own_connection
from engine.executors.spark.figures import SparkFigures, figures_of
from engine.executors.spark.jobs import SparkJob, tasks_of_groups
from engine.executors.spark.progress import report_jobs
from engine.executors.spark.start import SparkStart

if TYPE_CHECKING:
    from engine.executors.spark.session import SparkRuntime

#: The time that a scrape waits for Spark's metrics.
_OBSERVE_SECONDS: Final = 1.0
#: The maximal number of actions in one progress report.
_JOBS_MAX: Final = 100


class JobReports:
    """Reports about Spark's work for this member; see the module's docstring.

    spark: the member's. call: runs a short call to the JVM. jobs: the actions that run here now. figures: the metrics
    of the last observation.
    """

    def __init__(
        self,
        spark: SparkStart,
        call: Callable[[Callable[[], Any]], Awaitable[Any]],
        jobs: Callable[[], Sequence[SparkJob]],
    ) -> None:
        self.figures = SparkFigures()
        self._spark = spark
        self._call = call
        self._jobs = jobs

    async def tasks_of(self, query: QueryId) -> tuple[int, int] | None:
        """Count the tasks of a query's jobs that run here. Returns the number that have succeeded and the number of
        all; None if the query has no job with tasks.
        """
        groups = [job.group for job in self._jobs_of(str(query)) if job.is_running]
        runtime = self._spark.running_runtime()
        if not groups or runtime is None:
            return None
        done, known = await self._call(functools.partial(_tasks, runtime, groups))
        return (done, known) if known else None

    async def jobs(self, member: str, query: str = "") -> Sequence[SparkJobReport]:
        """Return Spark's jobs that run for queries here, including those of the same action that have ended. query:
        only this query's.
        """
        jobs, runtime = self._jobs_of(query)[:_JOBS_MAX], self._spark.running_runtime()
        if not jobs or runtime is None:
            return ()
        told: Sequence[SparkJobReport] = await self._call(functools.partial(report_jobs, runtime, jobs, member))
        return told

    async def observe(self) -> None:
        """Ask Spark for its tasks and executors, for `statistics`. If Spark does not answer soon, the previous metrics
        stay; if it does not run, there are none.
        """
        runtime = self._spark.running_runtime()
        if runtime is None:
            self.figures = SparkFigures()
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_OBSERVE_SECONDS):
                self.figures = await self._call(functools.partial(figures_of, runtime))

    def _jobs_of(self, query: str) -> list[SparkJob]:
        """Return the actions that run here for a query; for all queries if `query` is empty."""
        return [job for job in self._jobs() if not query or job.query == query]


def _tasks(runtime: SparkRuntime, groups: Sequence[str]) -> tuple[int, int]:
    with own_connection(), runtime.unless_ended():
        return tasks_of_groups(runtime, groups)
    return 0, 0

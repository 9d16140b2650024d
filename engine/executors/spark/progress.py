"""The progress of Spark's jobs, from its status store: stages, and how many of their tasks are done. The JVM is asked
only when somebody requests it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from engine.contracts.activity import SparkJobReport
from engine.executors.spark.connection import own_connection
from engine.executors.spark.jobs import stages_of_jobs

if TYPE_CHECKING:
    from engine.executors.spark.jobs import SparkJob
    from engine.executors.spark.session import SparkRuntime


def report_jobs(runtime: SparkRuntime, jobs: Iterable[SparkJob], member: str) -> list[SparkJobReport]:
    """Report the jobs that Spark has run for these actions so far. Blocks for some calls to the JVM."""
    found: list[SparkJobReport] = []
    with own_connection(), runtime.unless_ended():
        tracker, address = runtime.context.statusTracker(), runtime.context.uiWebUrl
        for job in jobs:
            for number in sorted(tracker.getJobIdsForGroup(job.group)):
                stages = list(stages_of_jobs(runtime, (number,)))
                found.append(_job_report(job, member, int(number), stages, address))
    return found


def _job_report(job: SparkJob, member: str, number: int, stages: list[Any], address: str | None) -> SparkJobReport:
    return SparkJobReport(
        number, job.query, member, job.group, len(stages),
        sum(stage.numTasks() for stage in stages),
        sum(stage.numCompleteTasks() for stage in stages),
        sum(stage.numFailedTasks() for stage in stages),
        f"{address}/jobs/job/?id={number}" if address else None,
    )  # fmt: skip

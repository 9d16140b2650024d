"""Tasks, executors and stages of a member's Spark, read from its status store. The JVM is asked at each scrape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.executors.spark.connection import own_connection
from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.executors.spark.session import SparkRuntime


@dataclass(frozen=True, slots=True)
class SparkFigures:
    """Metrics of a member's Spark.

    executors: the executors that are alive and run tasks. slots: the number of tasks that they can run at once.
    tasks_done, tasks_failed: since Spark's start. memory_bytes: the memory of the blocks that executors cache.
    """

    executors: int = 0
    slots: int = 0
    jobs: int = 0
    stages: int = 0
    tasks_running: int = 0
    tasks_done: int = 0
    tasks_failed: int = 0
    memory_bytes: int = 0


def figures_of(runtime: SparkRuntime) -> SparkFigures:
    """Read the metrics. Blocks for some calls to the JVM. The driver counts as an executor if it runs tasks itself (a
    local master).
    """
    with own_connection(), runtime.unless_ended():
        context = runtime.context._jsc.sc()
        tracker, listed = context.statusTracker(), context.statusStore().executorList(False)
        told = [listed.apply(number) for number in range(listed.size())]
        active = [one for one in told if one.isActive() and one.maxTasks() > 0]
        return SparkFigures(
            len(active),
            sum(one.maxTasks() for one in active),
            len(tracker.getActiveJobIds()),
            len(tracker.getActiveStageIds()),
            sum(one.activeTasks() for one in active),
            sum(one.completedTasks() for one in told),
            sum(one.failedTasks() for one in told),
            sum(one.memoryUsed() for one in active),
        )
    return SparkFigures()

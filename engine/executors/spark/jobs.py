"""A Spark action on a thread of its own, and its cancellation.

Py4J blocks the calling thread, and Spark ties a query's properties (job group, pool) to the thread. So each running
action has one thread, which is named after its query and joined when it ends.

**Cancel** has four parts, because the action may be anywhere. The jobs of its group are cancelled, both running ones
and those that it has yet to start (`cancelJobGroupAndFutureJobs`). Its Java thread is interrupted, which ends waits on
the driver (listing files, a broadcast, a subquery), and the Python thread's own waits and loops end at their next check
for interrupts (`engine.common.interrupts`). And `wait_gone` returns only when the thread has ended and the
scheduler has no task of the group left. Until then it cancels the group again and again: of the jobs that have yet to
start, Spark's scheduler refuses result jobs but not the stages that adaptive execution runs one by one
(`submitMapStage`), so without this a stage that was planned when the cancel arrived would run to its end.

Code that neither waits nor checks for interrupts cannot be stopped. On the driver this is analysis and planning, which
take milliseconds for hand-written queries; the thread is waited for. In a task it is a sort in memory, or the
comparison of one batch of rows in a join with few distinct keys (a join without any key checks for each row:
`engine.planner.codegen.interruptible`). Such a task has been killed and delivers nothing, so after `_GONE_SECONDS` it
is left to notice the kill by itself.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from engine.common import tracing
from engine.common.interrupts import StatementWork, work_scope
from engine.executors.spark.connection import own_connection
from engine.executors.spark.errors import translate, translate_text
from wire.errors import QueryCanceled, SqlError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.executors.spark.session import SparkRuntime

_log = logging.getLogger(__name__)
_POLL_SECONDS: Final = 0.01
_CANCEL_AGAIN_SECONDS: Final = 0.1
_GONE_SECONDS: Final = 0.5
_CAUSE_SECONDS: Final = 1.0
_GROUPS: Final = itertools.count(1)
#: Spark's scheduler never removes a pool, so a few names are reused.
_POOLS: Final = 64


class SparkJob:
    """One Spark action. name: the id of its query. `work(session)` runs on the job's thread; `done(result, error)` is
    called there when the action has ended. trace: the traceparent of the statement's span.
    """

    def __init__(
        self,
        runtime: SparkRuntime,
        name: str,
        time_zone: str,
        work: Callable[[SparkSession], Any],
        done: Callable[[Any, SqlError | None], None],
        trace: str = "",
    ) -> None:
        number = next(_GROUPS)
        self.query = name
        self.group = f"sluice-{number}-{name}"
        self._pool = f"sluice-{number % _POOLS}"
        self._runtime = runtime
        self._time_zone = time_zone
        self._work = work
        self._done = done
        self._trace = trace
        self._lock = threading.Lock()
        self._interrupts = StatementWork()
        self._java_thread: Any = None
        self._thread = threading.Thread(target=self._run, name=self.group, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def cancel(self) -> None:
        """Cancel the action, wherever it is, without waiting for its end. Blocks for a call or two to the JVM."""
        with self._lock:
            self._interrupts.interrupted = True
            java_thread = self._java_thread
        if not self.is_running:
            return
        with self._runtime.unless_ended():
            self._cancel_group()
            if java_thread is not None:
                java_thread.interrupt()

    def wait_gone(self) -> None:
        """Wait, after `cancel`, until the thread has ended and no task of the group is left; for tasks at most
        `_GONE_SECONDS`.
        """
        while self.is_running:
            self._thread.join(_CANCEL_AGAIN_SECONDS)
            with self._runtime.unless_ended():
                self._cancel_group()
        deadline = time.monotonic() + _GONE_SECONDS
        with self._runtime.unless_ended():
            while self._tasks_active():
                if time.monotonic() > deadline:
                    _log.warning("%s: killed tasks have not noticed yet", self.group)
                    return
                time.sleep(_POLL_SECONDS)

    def _cancel_group(self) -> None:
        self._runtime.context._jsc.sc().cancelJobGroupAndFutureJobs(self.group)

    def _run(self) -> None:
        result, error, begun = None, None, time.time()
        with own_connection():
            try:
                result = self._act()
            except BaseException as raised:  # noqa: BLE001
                error = self._error_of(raised)
            finally:
                with self._lock:
                    self._java_thread = None
        if self._trace:
            told = None if error is None else f"{error.sqlstate}: {error.message}"
            about = {"sluice.query": self.query, "spark.job.group": self.group}
            tracing.record("Spark job", self._trace, begun, about, error=told)
        self._done(result, error)

    def _error_of(self, raised: BaseException) -> SqlError:
        if self._interrupts.interrupted:
            return QueryCanceled("canceling statement due to user request")
        return self._runtime.loss(raised) or translate(raised)

    def _act(self) -> Any:
        context = self._runtime.context
        with self._lock:
            self._interrupts.step()
            self._java_thread = self._runtime.jvm.java.lang.Thread.currentThread()
        context.setJobGroup(self.group, self.group, interruptOnCancel=True)
        context.setLocalProperty("spark.scheduler.pool", self._pool)
        with work_scope(self._interrupts):
            return self._work(self._runtime.session(self._time_zone))

    def _tasks_active(self) -> bool:
        """Return whether the group has active tasks, or may have: on a very busy machine their ends are reported late."""
        if not self._runtime.settle():
            return True
        tracker = self._runtime.context.statusTracker()
        stages = (s for job in tracker.getJobIdsForGroup(self.group) for s in _stages(tracker.getJobInfo(job)))
        infos = (tracker.getStageInfo(stage) for stage in stages)
        return any(info is not None and info.numActiveTasks > 0 for info in infos)


def _stages(job: Any) -> list[int]:
    return list(job.stageIds) if job is not None else []


def tasks_of_groups(runtime: SparkRuntime, groups: Sequence[str]) -> tuple[int, int]:
    """Count the tasks of the jobs of these groups. Returns the number that have succeeded, and the number of all in
    stages that were not skipped.
    """
    tracker = runtime.context.statusTracker()
    jobs = {job for group in groups for job in tracker.getJobIdsForGroup(group)}
    found = list(stages_of_jobs(runtime, jobs))
    return sum(stage.numCompleteTasks() for stage in found), sum(stage.numTasks() for stage in found)


def stages_of_jobs(runtime: SparkRuntime, jobs: Iterable[int]) -> Iterator[Any]:
    """Yield the last attempt of each stage of these jobs that was not skipped, each stage once (Spark's `StageData`)."""
    from py4j.protocol import Py4JJavaError

    tracker, store = runtime.context.statusTracker(), runtime.context._jsc.sc().statusStore()
    for stage in {stage for job in jobs for stage in _stages(tracker.getJobInfo(job))}:
        # The store drops old stages, and does not have the newest ones yet.
        with contextlib.suppress(Py4JJavaError):
            data = store.lastStageAttempt(stage)
            if data.status().toString() != "SKIPPED":
                yield data


def status_of_task(runtime: SparkRuntime, task: int) -> str | None:
    """Return the state of a task attempt in Spark's status store: RUNNING, SUCCESS, FAILED, KILLED; None if it is not there."""
    store, kind = _task_store(runtime)
    with contextlib.suppress(Exception):
        return str(store.read(kind, task).status())
    return None


def failure_of_task(runtime: SparkRuntime, task: int) -> SqlError | None:
    """Return the error with which a task attempt failed, if Spark's status store reports it within a second and it is
    an error of the query itself.
    """
    store, kind = _task_store(runtime)
    deadline = time.monotonic() + _CAUSE_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(Exception):
            message = store.read(kind, task).errorMessage()
            if message.isDefined():
                return translate_text(message.get())
        time.sleep(_POLL_SECONDS)
    return None


def _task_store(runtime: SparkRuntime) -> tuple[Any, Any]:
    """Return Spark's status store and the class of its entries for tasks."""
    store = runtime.context._jsc.sc().statusStore().store()
    return store, runtime.jvm.java.lang.Class.forName("org.apache.spark.status.TaskDataWrapper")

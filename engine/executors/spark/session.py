"""The JVM and its Spark context: start, configuration, end. There is one per member, and one per process, as PySpark
requires.

The JVM is a child process of the member. It dies with the member even if the member is killed: PySpark's gateway holds
a pipe to its standard input, and the JVM ends when that breaks. If the JVM ends by itself (killed, out of memory), the
member goes on: the statements that ran there fail with that error (`loss`), and the next query that needs Spark starts
it again (`engine.executors.spark.executor`). All of Spark's own files (logs, shuffle files, warehouse) are in one
directory.

There is one session per time zone, because Spark's time zone is a setting of the session and a running query must keep
the one with which it began.

All of this blocks; `engine.executors.spark.executor` calls it from its own threads.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from py4j.clientserver import FinalizerWorker
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql.udf import _create_udf
from pyspark.util import PythonEvalType

from engine.common.error_copy import copy_error
from engine.executors.engine_config import SparkConfig
from engine.executors.local.zone_names import zone_name
from engine.executors.spark.collect import collect_arrow
from engine.executors.spark.connection import embedded_cores, is_embedded
from engine.executors.spark.errors import report_stopped, text_of
from engine.executors.spark.worker import SUMMARY_SCHEMA, idle
from wire.errors import SerializationFailure, SqlError

#: PySpark writes each failed statement to standard error in full, with its literals and its plan.
for _name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    PySparkLogger.getLogger(_name).disabled = True

_STOPPED: Final = "on a stopped SparkContext"
_SESSIONS_MAX: Final = 16
_STOP_SECONDS: Final = 10
_EXECUTOR_POLL_SECONDS: Final = 0.05
_SETTLE_MILLIS: Final = 10_000
#: The time within which a JVM whose connections have broken must have ended, and a context whose jobs Spark has aborted
#: because the application was removed must have stopped.
_DYING_SECONDS: Final = 2.0
_REMOVED: Final = "Master removed our application"
#: What a start waits for once the driver has started, step by step.
_ACCEPTS: Final = "Spark's master to accept the application"
_EXECUTORS: Final = "Spark's master to give the application executors"
_FIRST_TASKS: Final = "Spark's first tasks"
#: Settings by which the user has divided the cores of a cluster.
_DYNAMIC: Final = "spark.dynamicAllocation.enabled"
_CORES: Final = frozenset(("spark.cores.max", "spark.executor.instances", _DYNAMIC))
_IDLE: Final = "10s"
_LOG_SETTINGS: Final = """
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {directory}/spark.log
appender.file.filePattern = {directory}/spark.log.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
logger.pools.name = org.apache.spark.scheduler.FairSchedulableBuilder
logger.pools.level = error
"""


_EXCLUDED_RULES: Final = "spark.sql.optimizer.excludedRules"
#: The rule fails for a set operation in IN in an aggregate's argument or filter, beside ROLLUP: "key not found".
_FAILING_RULE: Final = "org.apache.spark.sql.catalyst.optimizer.PushProjectionThroughUnion"


def spark_settings(config: SparkConfig, directory: Path) -> dict[str, str]:
    """Return Spark's settings for a member. `config.conf` overrides all but the master, and adds to the excluded rules."""
    settings = {
        "spark.app.name": "sluice",
        "spark.driver.memory": config.driver_memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # No pruning on fields of rows: a file's statistics leave NaN out (`engine.executors.spark.floats`).
        "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources": "",
        # The rule that reads fields of rows early loses them in the condition of a subquery that became a join.
        "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
        # The retention of the status store, from which the causes of failed tasks are read (`engine.executors.spark.jobs`).
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "200",
        "spark.ui.retainedTasks": "5000",
        "spark.sql.ui.retainedExecutions": "20",
        # A new query gets a slot as soon as one is free, however many tasks other queries have queued.
        "spark.scheduler.mode": "FAIR",
        "spark.speculation": "false",
        "spark.sql.ansi.enabled": "true",
        # Otherwise a subexpression that occurs twice below AND or OR is computed first, for all rows, and may raise an error.
        "spark.sql.subexpressionElimination.skipForShortcutExpr": "true",
        # Sums and products of decimals keep their scale or fail; the function table's numeric rows rely on it.
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.timestampType": "TIMESTAMP_LTZ",
        "spark.sql.timeType.enabled": "true",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
        "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
        "spark.sql.legacy.parquet.nanosAsLong": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.localRelationThreshold": "0",
        # The first row waits until a whole batch is there.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
        # Files that Spark itself writes store times as Sluice's do, in microseconds and by one calendar; and the buffers of its
        # tasks leave room in the heap, however many tasks there are.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        "spark.hadoop.parquet.memory.pool.ratio": "0.4",
        "spark.sql.debug.maxToStringFields": "64",
        # The parser's caches are flushed when they may take this percentage of the heap. Otherwise they are never flushed: a few
        # hundred different long statements filled the heap.
        "spark.sql.parser.manageParserCaches": "true",
        "spark.sql.parser.parserDfaCacheFlushRatio": "10",
        # A worker that does not notice that its task was killed is ended after this time.
        "spark.python.task.killTimeout": "100ms",
        "spark.python.worker.reuse": "true",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={(directory.absolute() / 'log4j2.properties').as_uri()}",
    }
    if is_embedded(config.master):
        settings |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": str(directory / "local"),
            "spark.sql.shuffle.partitions": str(max(2, embedded_cores(config.master))),
            "spark.python.daemon.module": "engine.executors.spark.worker_daemon",
        }
    elif config.allocation == "own" and _CORES.isdisjoint(config.conf):
        # Members with an application each return executors that they do not use, for the other ones.
        settings[_DYNAMIC] = "true"
        settings["spark.dynamicAllocation.shuffleTracking.enabled"] = "true"
        settings["spark.dynamicAllocation.executorIdleTimeout"] = _IDLE
    excluded = ",".join(filter(None, (_FAILING_RULE, config.conf.get(_EXCLUDED_RULES))))
    return settings | dict(config.conf) | {_EXCLUDED_RULES: excluded, "spark.master": _master(config.master)}


def _master(master: str) -> str:
    """Return the master URL, with which an embedded Spark retries a task once, as a cluster does, unless the user has
    set the number of attempts.
    """
    if master == "local":
        return "local[1,2]"
    if is_embedded(master) and "," not in master:
        return master.removesuffix("]") + ",2]"
    return master


class SparkRuntime:
    """A running Spark. slots: the number of tasks that run at once, as known at the start. is_dynamic: whether it has
    executors only while there are tasks.
    """

    def __init__(
        self,
        config: SparkConfig,
        directory: Path,
        *,
        abandoned: Callable[[], None] = lambda: None,
        waits: Callable[[str], None] = lambda _what: None,
    ) -> None:
        """Start the JVM and the context, and run a first query. Takes seconds. Raises SqlError if that fails.

        abandoned: called between the steps, and while a cluster has no executor for the application; if it raises an
        SqlError, everything that has been started is ended.
        waits: called with what the start waits for next.
        """
        self._directory = directory
        self._abandoned = abandoned
        self._waits = waits
        self._is_embedded = is_embedded(config.master)
        self._is_ended = False
        self._cause: SqlError | None = None
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, SparkSession] = OrderedDict()
        self._prepare_directory()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        self._log = (directory / "jvm.log").open("wb")
        try:
            self._start(config)
        except Exception as error:
            said = text_of(error)
            self.stop()
            if isinstance(error, SqlError):
                raise
            self._abandoned()
            # Spark stops the context of an application that no master registers, and does not report why.
            reason = "no master has accepted the application" if _STOPPED in said else said
            raise SqlError(f"Spark could not be started: {reason}", sqlstate="58000") from error

    def _start(self, config: SparkConfig) -> None:
        conf = SparkConf(loadDefaults=False)
        conf.setAll(list(spark_settings(config, self._directory).items()))
        gateway = launch_gateway(conf, {"stdout": self._log, "stderr": self._log})  # type: ignore[no-untyped-call]
        self._process: subprocess.Popen[bytes] = gateway.proc
        SparkContext._ensure_initialized(gateway=gateway)
        self._abandoned()
        self._waits(_ACCEPTS)
        self.context = SparkContext(conf=conf, gateway=gateway)
        # The Python program that an executor starts; PySpark itself reads only the environment.
        self.context.pythonExec = config.conf.get("spark.pyspark.python", self.context.pythonExec)
        if not self._is_embedded:
            self.context.addPyFile(str(_sources(self._directory)))
        self._root = SparkSession(self.context)
        self._abandoned()
        # With dynamic allocation, Spark requests executors only when there are tasks.
        self.is_dynamic = self.context.getConf().get(_DYNAMIC) == "true"
        if not self.is_dynamic:
            self._waits(_EXECUTORS)
            self._wait_executor(config.wait_timeout)
        self._waits(_FIRST_TASKS)
        self.slots = int(self.context.defaultParallelism)
        self._warm()

    def session(self, time_zone: str) -> SparkSession:
        """Return the session of a time zone, given PostgreSQL's name of the zone. Raises SqlError if Spark does not
        know it.
        """
        with self._lock:
            session = self._sessions.get(time_zone)
            if session is None:
                session = self._root.newSession()
                session.conf.set("spark.sql.session.timeZone", zone_name(time_zone))
                self._sessions[time_zone] = session
            self._sessions.move_to_end(time_zone)
            while len(self._sessions) > _SESSIONS_MAX:
                self._sessions.popitem(last=False)
            return session

    @property
    def jvm(self) -> Any:
        return self.context._jvm

    def has_ended(self, seconds: float = 0.0) -> bool:
        """Return whether the JVM has ended, or ends within that time."""
        if self._is_ended:
            self._process.poll()
            return True
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def loss(self, error: BaseException) -> SqlError | None:
        """Translate the error of a call to the JVM if its cause is that the JVM has ended; None otherwise. Blocks for
        a moment.

        When the connection is broken, Py4J raises whatever its caller makes of a missing answer, such as that a class
        does not exist; other readers of the JVM report that their stream is short or their port closed. A JVM whose
        context has stopped, as when the master has removed the application, is ended.
        """
        if isinstance(error, SqlError):
            return None
        unanswered = isinstance(error, (Py4JError, OSError)) and not isinstance(error, Py4JJavaError)
        if not self.has_ended(_DYING_SECONDS if unanswered else 0.0):
            if not self._has_stopped(_DYING_SECONDS if _REMOVED in text_of(error) else 0.0):
                return None
            self.end_stopped()
        if self._cause is not None:
            return copy_error(self._cause)
        return SerializationFailure(
            "could not complete the query: Spark has ended unexpectedly",
            hint="The statement may be repeated: Spark is started again for it.",
        )

    @contextlib.contextmanager
    def unless_ended(self) -> Iterator[None]:
        """Ignore errors of calls that have nothing to do if the JVM has ended."""
        try:
            yield
        except (Py4JError, OSError) as error:
            if self.loss(error) is None:
                raise

    def settle(self) -> bool:
        """Wait until Spark's status store has received all events so far. Returns False if that takes longer than
        `_SETTLE_MILLIS`.
        """
        try:
            self.context._jsc.sc().listenerBus().waitUntilEmpty(_SETTLE_MILLIS)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() != "java.util.concurrent.TimeoutException":
                raise
            return False
        return True

    def count_executors(self) -> int | None:
        """Return the number of executors, among which the driver of an embedded Spark counts; None if the context has
        stopped or the JVM has ended. Blocks for some calls to the JVM. Raises the errors of Py4J.
        """
        try:
            context = self.context._jsc.sc()
            if context.isStopped():
                return None
            # The driver is always in the map.
            return int(context.getExecutorMemoryStatus().size()) - (not self._is_embedded)
        except (Py4JError, OSError):
            if self.has_ended(_DYING_SECONDS):
                return None
            raise

    def _has_stopped(self, seconds: float) -> bool:
        """Return whether the context has stopped, or stops within that time."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(Py4JError, OSError):
            while self.count_executors() is not None:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_EXECUTOR_POLL_SECONDS)
            return True
        return False

    def end_stopped(self) -> None:
        """End a JVM whose context has stopped, unless it has ended by itself."""
        if not self.has_ended():
            self.end(report_stopped(self._directory / "spark.log"))

    def end(self, cause: SqlError | None = None) -> None:
        """Kill the JVM. What runs on it fails with this error; None: with the error that it has ended unexpectedly."""
        if not self._is_ended:
            self._cause = cause
            self._is_ended = True
            self._process.kill()

    def _wait_executor(self, seconds: float) -> None:
        """Wait until the cluster has given the application an executor. Raises SqlError if that takes longer."""
        deadline = time.monotonic() + seconds
        while not (executors := self.count_executors()):
            self._abandoned()
            if executors is None:
                raise SqlError("Spark could not be started: its application has ended", sqlstate="58000")
            if time.monotonic() > deadline:
                raise SqlError(f"Spark could not be started: it had no executor for {seconds} s", sqlstate="58000")
            time.sleep(_EXECUTOR_POLL_SECONDS)

    def _warm(self) -> None:
        """Run a first query and start the Python workers, so that the first client does not wait for them."""
        frame = self.session("UTC").range(0, self.slots, 1, self.slots)
        udf = _create_udf(idle, SUMMARY_SCHEMA, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
        collect_arrow(frame._jdf.mapInArrow(udf(frame["id"])._jc, False, None))

    def stop(self) -> None:
        """End the context and the JVM. Returns when the process is gone."""
        gateway = SparkContext._gateway
        with contextlib.suppress(Exception):
            if self.has_ended():
                # Stopping the JVM's context would fail, and the context's state in this process would remain.
                self.context._jsc = None
            self.context.stop()
        _forget_context()
        if gateway is not None:
            _end(gateway)
        self._log.close()
        for name in ("local", "warehouse"):
            shutil.rmtree(self._directory / name, ignore_errors=True)

    def _prepare_directory(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / "local").mkdir(exist_ok=True)
        (self._directory / "log4j2.properties").write_text(_log_settings(self._directory))


def _log_settings(directory: Path) -> str:
    """Return the logging configuration as Java properties: Latin-1, in which all else is escaped, as in JSON."""
    return _LOG_SETTINGS.format(directory=json.dumps(str(directory))[1:-1])


def _sources(directory: Path) -> Path:
    """Pack Sluice's own packages as a zip, for executors that do not have them installed."""
    root = Path(__file__).resolve().parents[3]
    target = directory / "sluice.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for package in ("wire", "engine"):
            for path in sorted((root / package).rglob("*.py")):
                archive.write(path, path.relative_to(root))
    return target


def _forget_context() -> None:
    """Clear the context and gateway that PySpark keeps per process in class attributes, so that the next start makes
    new ones.
    """
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None


def _end(gateway: Any) -> None:
    with contextlib.suppress(Exception):
        gateway.shutdown()
    # PySpark's collector of Java references checks once a second whether it has to end.
    for thread in threading.enumerate():
        if isinstance(thread, FinalizerWorker):
            thread.join(_STOP_SECONDS)
    process = gateway.proc
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

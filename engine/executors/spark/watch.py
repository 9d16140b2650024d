"""The background loop of a member's Spark. It watches the application, not the JVM, and follows the host of a shared one.

**The application.** A driver can live without an application: a master that starts again has forgotten it, and its
executors end; an administrator removes it, and its context stops; a driver that is suspended does not answer. Spark
itself waits for executors for ever. So the loop asks the driver once a second. Statements that have waited for some
seconds are told what they wait for. After `spark.wait_timeout` they fail (58000) and the application is ended, so that
the next statement starts another one. An application without executors on which nothing runs is ended sooner. A start
is ended if its driver has not run at all for `spark.wait_timeout`.

**The host.** The loop starts the application that members share if this member has become its host, and ends a
superseded one (`engine.contracts.shared_spark`). Statements of this member that run on the host are told what it announces to
be waiting for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from engine.common.shielded import stop_task
from engine.common.supervised import Supervised
from engine.contracts.activity import SparkReport
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.connection import own_connection
from engine.executors.spark.executor import SparkExecutor
from engine.executors.spark.start import NOTICE_SECONDS
from wire.errors import SqlError

if TYPE_CHECKING:
    from engine.executors.spark.session import SparkRuntime

_log = logging.getLogger(__name__)
#: Within this time after their start, members that start together know each other.
_MEETING_SECONDS: Final = 3.0
_PERIOD_SECONDS: Final = 1.0
#: The time within which a driver answers.
_ANSWER_SECONDS: Final = 1.0
#: The time after which an application without executors is ended if nothing runs on it.
_IDLE_SECONDS: Final = 10.0
#: The longest time for which one step of the loop counts: a member that was suspended itself has not waited.
_STEP_SECONDS_MAX: Final = 3.0
_ANSWER: Final = "an answer of Spark's driver"
_EXECUTORS: Final = "executors, of which Spark has none"


class SparkWatch:
    """See the module's docstring. spark: the member's executor. supervised: the supervisor of the loop.

    tell: called while the host of the shared application announces that it waits, with the host and the text.
    executors: the application's, as known last; None: unknown.
    """

    def __init__(self, config: SparkConfig, spark: SparkExecutor, supervised: Supervised) -> None:
        self._config = config
        self._spark = spark
        self._application = spark.application
        self._supervised = supervised
        self._task: asyncio.Task[None] | None = None
        self._asked: asyncio.Future[int | None] | None = None
        self._asked_of: SparkRuntime | None = None
        self._waits_for = ""
        self._seconds = 0.0
        self._informed: set[str] = set()
        self.tell: Callable[[str, str], None] = lambda _host, _waits_for: None
        self.executors: int | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="sluice-spark")

    async def close(self) -> None:
        if self._task is not None:
            await stop_task(self._task)

    def report(self, member: str) -> SparkReport:
        """Return the state of this member's Spark. member: this member."""
        waits_for, seconds = self._current_wait()
        return SparkReport(
            member, self._config.master, self._spark.state, waits_for or None, seconds if waits_for else None,
            self.executors, self._spark.start_seconds,
        )  # fmt: skip

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        begun = looked = loop.time()
        while True:
            now = loop.time()
            elapsed, looked = min(now - looked, _STEP_SECONDS_MAX), now
            await self._supervised.attempt_async(lambda elapsed=elapsed: self._look_at_application(elapsed))  # type: ignore[misc]
            # The members have to meet before they know which of them is the host.
            if self._spark.sharing.is_shared and now - begun >= _MEETING_SECONDS:
                await self._supervised.attempt_async(self._follow_host)
            await asyncio.sleep(self._supervised.pause or _PERIOD_SECONDS)

    # -- the application -----------------------------------------------------------------------------------------

    async def _look_at_application(self, elapsed: float) -> None:
        """Act on what the application lacks. elapsed: the seconds since the last look."""
        runtime = self._application.running_runtime()
        waiting = [running for running in self._spark.list_running() if running.job.is_running]
        lacking = "" if runtime is None else await self._find_lack(runtime, is_idle=not waiting)
        self._seconds = self._seconds + elapsed if lacking else 0.0
        self._waits_for = lacking
        self._informed = {running.job.group for running in waiting if running.job.group in self._informed and lacking}
        if runtime is None:
            self.executors = None
            await self._application.end_stalled(elapsed)
        elif self._seconds >= self._bound(is_idle=not waiting):
            _log.warning("Spark's application is ended: for %.0f s it has been waiting for %s", self._seconds, lacking)
            runtime.end(self._timeout_error())
        elif self._seconds >= NOTICE_SECONDS:
            for running in waiting:
                if running.job.group not in self._informed:
                    self._informed.add(running.job.group)
                    running.notice(f"waiting for {lacking}")
        waits_for, seconds = self._current_wait()
        self._spark.sharing.waits_for = waits_for if seconds >= NOTICE_SECONDS else ""

    async def _find_lack(self, runtime: SparkRuntime, *, is_idle: bool) -> str:
        """Return what the application lacks to run tasks; empty: nothing. An application that has stopped is ended."""
        if self._asked is None or self._asked_of is not runtime:
            self._asked, self._asked_of = asyncio.ensure_future(asyncio.to_thread(_count, runtime)), runtime
            # A runtime that is ended is not asked again.
            self._asked.add_done_callback(lambda asked: asked.cancelled() or asked.exception())
        done, _ = await asyncio.wait((self._asked,), timeout=_ANSWER_SECONDS)
        if not done:
            return _ANSWER
        asked, self._asked = self._asked, None
        self.executors = asked.result()
        if self.executors is None:
            runtime.end_stopped()
        return _EXECUTORS if self.executors == 0 and not (is_idle and runtime.is_dynamic) else ""

    def _bound(self, *, is_idle: bool) -> float:
        timeout = float(self._config.wait_timeout)
        return min(timeout, _IDLE_SECONDS) if is_idle and self._waits_for == _EXECUTORS else timeout

    def _timeout_error(self) -> SqlError:
        return SqlError(
            f"could not complete the query: it has waited for Spark for {self._config.wait_timeout} s",
            sqlstate="58000",
            detail=f"It was waiting for {self._waits_for}.",
            hint="The statement may be repeated: Spark is started again for it.",
        )

    def _current_wait(self) -> tuple[str, float]:
        """Return what statements wait for, and for how many seconds they have; empty: nothing."""
        if (seconds := self._application.starting_seconds) > 0:
            return self._application.waits_for, seconds
        return self._waits_for, self._seconds

    # -- the host ------------------------------------------------------------------------------------------------

    async def _follow_host(self) -> None:
        """Start the shared application if this member has become its host and Spark starts eagerly, and end it when
        another member's takes precedence and nothing runs on it.
        """
        sharing = self._spark.sharing
        host = sharing.host()
        if host is not None and not host.local and host.spark.waits_for:
            self.tell(host.id, host.spark.waits_for)
        if sharing.running_elsewhere is not None:
            await self._application.release()
        elif self._config.start == "eager" and sharing.other_host is None:
            self._application.begin_again()


def _count(runtime: SparkRuntime) -> int | None:
    with own_connection():
        return runtime.count_executors()

"""Start and end of a member's Spark. Spark starts in the background, once for all that wait for it, and again after a
failed start or after it has ended. A start whose driver does not run is ended (`engine.executors.spark.watch`), and
those that wait for it wait for the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.contracts.mesh import Members
from engine.contracts.shared_spark import Application
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.connection import own_connection
from engine.executors.spark.driver_process import DriverProcess
from engine.executors.spark.sharing import SparkSharing
from wire.errors import AdminShutdown, SerializationFailure, SqlError

if TYPE_CHECKING:
    from engine.executors.spark.session import SparkRuntime

_log = logging.getLogger(__name__)
_STARTING: Final = "waiting for Spark to start"
#: The errors of a start that is no longer wanted, which is no failure of Spark.
_WITHDRAWN: Final = (AdminShutdown, SerializationFailure)
_STARTED: Final = "Spark has started"
#: The step of a start before the steps that `engine.executors.spark.session` names.
STARTS_DRIVER: Final = "Spark's driver to start"
#: While the member closes, a driver that starts is killed if it has not run for this time.
_CLOSING_SECONDS: Final = 3.0
_LOOK_SECONDS: Final = 1.0
#: After this time, statements are told what they wait for.
NOTICE_SECONDS: Final = 5.0


class DriverStalled(SqlError):
    """A start was ended because its driver did not run."""


class SparkStart:
    """Starts and ends a member's Spark; see the module's docstring. directory: the member's own folder for Spark's
    files. listen: opens the port for tasks. mesh: the members that may share one Spark. is_idle: whether nothing runs on
    Spark. start_seconds: the time that Spark took to start; None while it has not started. waits_for: what a start
    waits for now.
    """

    def __init__(
        self,
        config: SparkConfig,
        directory: Path,
        listen: Callable[[], Awaitable[object]],
        mesh: Members | None,
        is_idle: Callable[[], bool],
    ) -> None:
        self._config = config
        self._directory = directory
        self._listen_for_tasks = listen
        self.sharing = SparkSharing(config, mesh, lambda: self.application)
        self._is_idle = is_idle
        self._starting: asyncio.Task[SparkRuntime] | None = None
        self._releasing: asyncio.Task[None] | None = None
        self._uses = 0
        self._started = False
        self._closing = False
        self._begun = 0.0
        self._driver = DriverProcess()
        self._stalled: DriverStalled | None = None
        self.start_seconds: float | None = None
        self.waits_for = ""

    def start(self) -> bool:
        """Permit Spark to start, and begin with it, unless it is configured to wait for its first query or members
        share it (`engine.executors.spark.watch`). Returns whether this is the first call.
        """
        if self._started:
            return False
        self._started = True
        if self._config.start == "eager" and not self.sharing.is_shared:
            self._begin()
        return True

    def begin_again(self) -> None:
        """Begin to start Spark, unless it starts, has started, or has failed to start a short time ago."""
        starting = self._starting
        if starting is None or (starting.done() and starting.exception() and not self.sharing.has_failed):
            self._begin()

    def _begin(self) -> asyncio.Task[SparkRuntime]:
        """Return the task that starts Spark. It begins now if it has not yet, and again if the start failed or Spark
        has ended by itself.
        """
        former = self._starting
        if former is not None and not self._is_over(former):
            return former
        self.sharing.require_here()
        self.start_seconds = None
        self._begun, self.waits_for, self._stalled = 0.0, STARTS_DRIVER, None
        starting = asyncio.get_running_loop().create_task(self._start(former))
        starting.add_done_callback(_log_failure)
        self._starting = starting
        return starting

    async def _start(self, former: asyncio.Task[SparkRuntime] | None) -> SparkRuntime:
        if former is not None:
            await self._stop(former)
        if self._releasing is not None:
            await self._releasing
        await self._listen()
        self._begun = time.monotonic()
        try:
            runtime = await asyncio.to_thread(self._start_runtime)
        except SqlError as error:
            instead = None if isinstance(error, _WITHDRAWN) else self.sharing.note_failure(error)
            if instead is None:
                raise
            raise instead from error
        self.start_seconds = time.monotonic() - self._begun
        return runtime

    @property
    def starting_seconds(self) -> float:
        """How long Spark has been starting; 0 if it does not start now."""
        return time.monotonic() - self._begun if self.application is Application.STARTING and self._begun else 0.0

    async def _listen(self) -> None:
        """Open the port for tasks: the member's mesh port, or a separate one if the member has none."""
        try:
            await self._listen_for_tasks()
        except OSError as error:
            raise SqlError(
                f"could not listen for Spark's tasks: {error.strerror or error}", sqlstate="58000"
            ) from error

    @staticmethod
    def _is_over(starting: asyncio.Task[SparkRuntime]) -> bool:
        return starting.done() and (starting.exception() is not None or starting.result().has_ended())

    def _start_runtime(self) -> SparkRuntime:
        from engine.executors.spark.session import SparkRuntime

        with own_connection():
            return SparkRuntime(self._config, self._directory, abandoned=self._check_wanted, waits=self._note_wait)

    def _note_wait(self, what: str) -> None:
        self.waits_for = what

    def _check_wanted(self) -> None:
        """Raise AdminShutdown, SerializationFailure or DriverStalled if this start is not to continue. Called by the
        thread that starts Spark.
        """
        if self._closing:
            raise AdminShutdown("terminating connection due to administrator command")
        if self._stalled is not None:
            raise self._stalled
        self.sharing.require_here()

    async def wait_runtime(self, notice: Callable[[str], None]) -> SparkRuntime:
        """Wait until Spark has started, at most `spark.wait_timeout`, and return it. notice: sends the client a notice.
        Raises SqlError.
        """
        if not self._started or self._closing:
            raise AdminShutdown("terminating connection due to administrator command")
        starting = self._begin()
        if starting.done():
            return starting.result()
        notice(_STARTING)
        with self.in_use():
            runtime = await self._wait_started(notice)
        notice(_STARTED)
        return runtime

    async def _wait_started(self, notice: Callable[[str], None]) -> SparkRuntime:
        """Wait until Spark has started. A start that is ended because its driver does not run is followed by another
        one. Raises SqlError, also if the wait takes longer than `spark.wait_timeout`.
        """
        timeout = self._config.wait_timeout
        begun = time.monotonic()
        deadlines = [begun + timeout, begun + min(NOTICE_SECONDS, timeout)]
        while deadlines:
            starting = self._begin()
            await asyncio.wait((starting,), timeout=max(deadlines[-1] - time.monotonic(), 0.0))
            if not starting.done():
                deadlines.pop()
                if deadlines:
                    notice(f"waiting for {self.waits_for}")
            elif not isinstance(starting.exception(), DriverStalled):
                return starting.result()
        raise SqlError(
            f"Spark has not started within {timeout} s",
            sqlstate="58000",
            detail=f"It is waiting for {self.waits_for}.",
            hint="The start continues, and the statement may be repeated.",
        )

    async def end_stalled(self, elapsed: float) -> None:
        """End a start whose driver has used no processor time for `spark.wait_timeout`. elapsed: the seconds since the
        last call.
        """
        starting, timeout = self._starting, self._config.wait_timeout
        if starting is None or starting.done() or not self._begun:
            return
        stalled = await asyncio.to_thread(self._driver.measure_stall, elapsed)
        if stalled >= timeout and starting is self._starting and not starting.done():
            message = f"Spark could not be started: its driver has not run for {timeout} s"
            self._stalled = DriverStalled(message, sqlstate="58000")
            await asyncio.to_thread(self._driver.kill)

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep Spark from being released during the block."""
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1

    async def release(self) -> None:
        """End a Spark that has started, unless it is in use. It starts again when a query needs it."""
        starting = self._starting
        if starting is None or not starting.done() or self._uses or not self._is_idle():
            return
        self._starting = self.start_seconds = None
        self._releasing = asyncio.get_running_loop().create_task(self._stop(starting))
        await asyncio.shield(self._releasing)

    async def _stop(self, starting: asyncio.Task[SparkRuntime]) -> None:
        try:
            runtime = await starting
        except SqlError:
            return
        await asyncio.to_thread(runtime.stop)

    def running_runtime(self) -> SparkRuntime | None:
        """Return Spark if it has started and has not ended."""
        starting = self._starting
        if starting is None or not starting.done() or self._is_over(starting):
            return None
        return starting.result()

    @property
    def state(self) -> str:
        """The state of Spark, in a word or two."""
        if self._closing or not self._started:
            return "closed"
        if self._starting is None:
            return "not started"
        if not self._starting.done():
            return "starting"
        error = self._starting.exception()
        if error is not None:
            return f"failed: {error}"
        return "ended" if self._is_over(self._starting) else "ready"

    @property
    def application(self) -> Application:
        """The state of the application for the members that share it."""
        if self._starting is None or self._closing or self._is_over(self._starting):
            return Application.NONE
        return Application.READY if self._starting.done() else Application.STARTING

    def slot_count(self) -> int:
        """Return the number of tasks that run at once; 1 while it is unknown."""
        if self._starting is None or not self._starting.done() or self._starting.exception() is not None:
            return 1
        return self._starting.result().slots

    def end(self) -> None:
        """Refuse all further requests for Spark."""
        self._closing = True

    async def close(self) -> None:
        """Stop Spark, if its start has begun."""
        if self._releasing is not None:
            await self._releasing
        if self._starting is not None:
            await self._wait_or_kill(self._starting)
            await self._stop(self._starting)

    async def _wait_or_kill(self, starting: asyncio.Task[SparkRuntime]) -> None:
        """Wait until a start has ended, which it does at its next step. A driver that does not run is killed."""
        while not starting.done():
            if await asyncio.to_thread(self._driver.measure_stall, _LOOK_SECONDS) >= _CLOSING_SECONDS:
                await asyncio.to_thread(self._driver.kill)
            await asyncio.wait((starting,), timeout=_LOOK_SECONDS)


def _log_failure(starting: asyncio.Task[SparkRuntime]) -> None:
    error = None if starting.cancelled() else starting.exception()
    if error is not None and not (isinstance(error, _WITHDRAWN) and error.__cause__ is None):
        _log.error("Spark could not be started", exc_info=error)

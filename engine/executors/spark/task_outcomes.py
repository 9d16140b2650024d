"""The outcomes of a stream's tasks, as Spark reports them. Spark is asked when a stream was lost, and when a stream
has ended and the next one waits for it.

`engine.exchange.receive` gives the reasons, under "Attempts" and "Confirmed counts".
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

from engine.common.shielded import wait_out
from engine.exchange.receive import Receiver, partly_consumed
from engine.executors.spark.connection import own_connection
from engine.executors.spark.jobs import failure_of_task, status_of_task
from wire.errors import SqlError
from wire.mesh.messages import Open

if TYPE_CHECKING:
    from engine.executors.spark.session import SparkRuntime

#: Pauses between two lookups of a task's outcome: the first and the longest.
_LOOK_SECONDS: Final = 0.01
_LOOK_SECONDS_MAX: Final = 0.2
_TASK_ENDED: Final = ("SUCCESS", "FAILED", "KILLED")


class TaskOutcomes:
    """Looks up the outcomes of a stream's tasks; see the module's docstring. Used on the event loop's thread.

    call: runs a short call to the JVM. is_running: whether the stream's job runs. receiver: the stream's receiver,
    which is informed of the outcomes; the stream sets it before the job begins.
    """

    receiver: Receiver

    def __init__(
        self,
        runtime: SparkRuntime,
        call: Callable[[Callable[[], Any]], Awaitable[Any]],
        is_running: Callable[[], bool],
    ) -> None:
        self._runtime = runtime
        self._call = call
        self._is_running = is_running
        self._over = asyncio.Event()
        self._lookups: set[asyncio.Task[None]] = set()

    def end(self) -> None:
        """Begin no more lookups."""
        self._over.set()

    async def wait_ended(self) -> None:
        """Wait for the lookups that were begun before `end`."""
        await wait_out(*self._lookups)

    def explain_lost(self, opening: Open, consumed: bool) -> None:
        """Look up why a task failed. If the query itself caused the failure, a retry is useless and the query fails
        with that error.
        """
        self._look_up(self._explain(opening.attempt, consumed))

    def accept_ended(self, opening: Open) -> None:
        """Look up whether a task that has ended its stream has succeeded, and accept the stream if so."""
        self._look_up(self._accept(opening))

    def _look_up(self, work: Coroutine[Any, Any, None]) -> None:
        lookup = asyncio.get_running_loop().create_task(work)
        self._lookups.add(lookup)
        lookup.add_done_callback(self._lookups.discard)

    async def _accept(self, opening: Open) -> None:
        """Accept the stream when its task has succeeded. Otherwise the row counts of the job decide."""
        pause = _LOOK_SECONDS
        while not self._over.is_set() and self._is_running():
            status = await self._call(functools.partial(_status, self._runtime, opening.attempt))
            if status == "SUCCESS":
                self.receiver.accept(opening)
            if status in _TASK_ENDED:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), pause)
            pause = min(2 * pause, _LOOK_SECONDS_MAX)

    async def _explain(self, task: int, consumed: bool) -> None:
        cause = await self._call(functools.partial(_cause, self._runtime, task))
        if cause is not None:
            self.receiver.fail(cause)
        elif consumed:
            self.receiver.fail(partly_consumed())


def _status(runtime: SparkRuntime, task: int) -> str | None:
    with own_connection(), runtime.unless_ended():
        return status_of_task(runtime, task)
    return None


def _cause(runtime: SparkRuntime, task: int) -> SqlError | None:
    with own_connection(), runtime.unless_ended():
        return failure_of_task(runtime, task)
    return None

"""Leases of a session to another session that moves one of its cursors, while the session's own client is silent.

Only one task at a time uses a session's portals. That is the session's own task, except while it waits for its client
between two commands. Then one visitor may work, and a command that arrives meanwhile waits until the visitor has
finished. A visitor that arrives while the session works, or while another visitor is there, is refused (55006) rather
than kept waiting: two users of one cursor at the same time are a mistake in the application, and a queue would hide it.
Readers of a cursor's partitions are no such mistake, and wait (`free`).

Rejected: having the session's own task do the work. That task waits for its socket, and would have to be woken and put
back for every page; and an interrupt that is meant for the visitor would reach the session.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import Any, TypeVar

from engine.common.shielded import stop_task
from wire.errors import ObjectInUse, QueryCanceled, SqlError

T = TypeVar("T")


class CursorLeases:
    """See the module's docstring. All methods are called on the loop's thread.

    welcome: whether the session waits for its client between two commands; the session sets it.
    """

    def __init__(self) -> None:
        self._welcome = False
        self._task: asyncio.Task[Any] | None = None
        self._cause: SqlError | None = None
        self._closed: SqlError | None = None
        self._freed = asyncio.Event()
        #: The end of the last visit, by the loop's clock.
        self.last_visit = -math.inf

    @property
    def welcome(self) -> bool:
        return self._welcome

    @welcome.setter
    def welcome(self, welcome: bool) -> None:
        self._welcome = welcome
        self._tell_if_free()

    @property
    def is_free(self) -> bool:
        """Whether a visitor may come now."""
        return self._welcome and self._task is None

    @property
    def under_way(self) -> bool:
        return self._task is not None

    def _tell_if_free(self) -> None:
        if self.is_free or self._closed is not None:
            self._freed.set()

    async def free(self) -> None:
        """Wait until a visitor may come; another may be first after this returns. Raises the error with which the
        session has ended.
        """
        while not self.is_free and self._closed is None:
            self._freed.clear()
            await self._freed.wait()
        if self._closed is not None:
            raise self._closed

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` as the visitor. When this returns, `work` has cleaned up, even if the caller is cancelled.

        Raises ObjectInUse if the session is busy, and the error with which the session has ended the visit.
        """
        if not self.is_free:
            work.close()
            raise ObjectInUse("the session that has the cursor is using it", hint="Fetch again when it is idle.")
        self._cause = None
        task: asyncio.Task[T] = asyncio.get_running_loop().create_task(work)
        self._task = task
        task.add_done_callback(self._over)
        try:
            return await task
        except asyncio.CancelledError:
            if self._cause is not None:
                raise self._cause from None
            raise

    def _over(self, _task: asyncio.Task[Any]) -> None:
        self._task = None
        self.last_visit = asyncio.get_running_loop().time()
        self._tell_if_free()

    async def over(self) -> None:
        """Wait until the visitor has finished. An interrupt of the session during the wait interrupts the visitor."""
        task = self._task
        if task is None:
            return
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            await self.end(QueryCanceled("canceling statement because the session that has the cursor was interrupted"))
            raise

    async def end(self, cause: SqlError) -> None:
        """End a visit with the error `cause`. Returns when the visitor has cleaned up."""
        task = self._task
        if task is not None:
            self._cause = cause
            await stop_task(task)

    async def close(self, cause: SqlError) -> None:
        """End the visit and all waits for one, because the session ends. Returns when the visitor has cleaned up."""
        self._closed = cause
        self._tell_if_free()
        await self.end(cause)

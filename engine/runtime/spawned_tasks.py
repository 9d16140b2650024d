"""Background tasks that are awaited only when the member shuts down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

_log = logging.getLogger(__name__)


class SpawnedTasks:
    """See the module's docstring. Used on one loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine to its end in the background."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_end)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the end of a query was not in order", exc_info=error)

    async def wait_ended(self) -> None:
        """Wait until all tasks have ended, including those that are spawned meanwhile."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

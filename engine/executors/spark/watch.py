"""The background loop of a member's Spark: it starts the application that members share, and ends a superseded one."""

from __future__ import annotations

import asyncio
from typing import Final

from engine.common.shielded import stop_task
from engine.common.supervised import Supervised
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.start import SparkStart

#: Within this time after their start, members that start together know each other.
_MEETING_SECONDS: Final = 3.0
_PERIOD_SECONDS: Final = 0.5


class SparkWatch:
    """See the module's docstring. application: the member's Spark. supervised: the supervisor of the loop."""

    def __init__(self, config: SparkConfig, application: SparkStart, supervised: Supervised) -> None:
        self._is_eager = config.start == "eager"
        self._application = application
        self._supervised = supervised
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, if members share the application."""
        if self._application.sharing.is_shared:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="sluice-spark")

    async def close(self) -> None:
        if self._task is not None:
            await stop_task(self._task)

    async def _run(self) -> None:
        # The members have to meet before they know which of them is the host.
        await asyncio.sleep(_MEETING_SECONDS)
        while True:
            await self._supervised.attempt_async(self._follow_host)
            await asyncio.sleep(self._supervised.pause or _PERIOD_SECONDS)

    async def _follow_host(self) -> None:
        """Start the shared application if this member has become its host and Spark starts eagerly, and end it when
        another member's takes precedence and nothing runs on it.
        """
        sharing = self._application.sharing
        if sharing.running_elsewhere is not None:
            await self._application.release()
        elif self._is_eager and sharing.other_host is None:
            self._application.begin_first()

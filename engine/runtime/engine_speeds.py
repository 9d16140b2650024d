"""The engines of a member with the known speeds of each: the current model by which an engine is chosen for a
statement.

It measures the machine once, some seconds after the first start of a member, observes the statements that run, and
keeps its results in the member's folder (`engine.runtime.engine_times`).
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from engine.common.shielded import stop_task
from engine.contracts.batch_stream import BatchStream
from engine.contracts.executor import ExecutionContext
from engine.executors.engine_config import EngineConfig
from engine.executors.local.calibration import measure_speed
from engine.executors.local.executor import LocalExecutor
from engine.executors.spark.executor import SparkExecutor
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.planner.engine_model import EngineModel, Expected
from engine.runtime.engine_times import EngineTimes, Known, KnownFile, Machine

if TYPE_CHECKING:
    from typing import Any

#: The file of the known facts, in the member's own folder.
FILE: Final = "engine_times.json"
#: Seconds after the start, so that measuring does not delay it.
_MEASURED_SECONDS: Final = 5.0


class EngineSpeeds:
    """See the module's docstring. in_pool: runs a call that may block."""

    def __init__(
        self,
        config: EngineConfig,
        local: LocalExecutor,
        spark: SparkExecutor,
        in_pool: Callable[[Callable[[], Any]], Awaitable[Any]],
    ) -> None:
        self._config = config
        self._local = local
        self._spark = spark
        self._in_pool = in_pool
        self._file = KnownFile(config.private / FILE)
        machine = Machine(config.local_threads, config.local_memory_bytes, spark.is_embedded)
        self._times = EngineTimes(machine, self._file.load(), self._save)
        self._start_seconds: float | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._saving: set[asyncio.Future[Any]] = set()

    def start(self) -> None:
        """Schedule the measurement of the machine, if it has not been measured."""
        if not self._times.is_measured:
            self._measuring = asyncio.get_running_loop().create_task(self._measure())

    async def close(self) -> None:
        """Stop the measurement, before the pool is closed."""
        if self._measuring is not None:
            await stop_task(self._measuring)

    @property
    def model(self) -> EngineModel:
        """The currently known speeds of the engines. It is the same object until they change. Any thread may read it."""
        spark = self._spark
        # Another member's Spark cannot be observed from here: it starts with its member.
        is_elsewhere = (
            self._config.spark.member not in (None, self._config.member) or spark.sharing.running_elsewhere is not None
        )
        is_started = spark.start_seconds is not None or is_elsewhere
        busy = 0 if spark.is_embedded else self._local.pool_statistics["running"]
        return self._times.model(spark.cores, spark_started=is_started, busy=busy)

    async def open(
        self, fragment: CompiledFragment, context: ExecutionContext, expected: Expected | None
    ) -> BatchStream:
        """Start a fragment on its engine, and observe how long it takes. expected: the expected time. Raises SqlError."""
        self._note_start()
        is_local = fragment.engine == "local"
        if is_local and (found := self._local.find_rows(fragment, context)) is not None:
            return found
        is_started = is_local or self._spark.start_seconds is not None
        begun = self._times.clock()
        stream: BatchStream = await (self._local if is_local else self._spark).open(fragment, context)
        if context.analyze or not is_started:
            # EXPLAIN ANALYZE counts rows, which takes longer; a statement that waited for Spark's start measures that
            # start.
            return stream
        return self._times.watch(stream, fragment.engine, expected, begun)

    def _note_start(self) -> None:
        """Record how long Spark took to start, once it has."""
        seconds = self._spark.start_seconds
        if seconds is not None and seconds != self._start_seconds:
            self._start_seconds = seconds
            self._times.note_spark_start(seconds)

    async def _measure(self) -> None:
        await asyncio.sleep(_MEASURED_SECONDS)
        self._times.note_speed(await self._in_pool(measure_speed))

    def _save(self, known: Known) -> None:
        saving = asyncio.ensure_future(self._in_pool(functools.partial(self._file.save, known)))
        self._saving.add(saving)
        saving.add_done_callback(self._saving.discard)

"""Jobs whose tasks consume the rows themselves: they send them to receivers, or write them into files."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from engine.contracts.executor import ExecutionContext
from engine.contracts.query_id import EngineName
from engine.exchange.partition_streams import Sent
from engine.exchange.send import Edge
from engine.executors.spark.production import SparkProduction, send_frame
from engine.executors.spark.rows import SparkRows
from engine.executors.spark.start import SparkStart
from engine.executors.spark.views import Named, Views
from engine.executors.spark.worker import SendPartition
from engine.executors.spark.write_task import WritePartition, rules
from engine.executors.spark.writing import write_frame, write_parquet
from engine.plan_ir.logical import Mutate
from engine.writers.write_result import Written
from wire.types.text_settings import OutputSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


R = TypeVar("R")


class Productions:
    """Begins such jobs (`engine.runtime.run_services.TaskSenders`) and tracks the running ones: `sending` and
    `writing`. call: runs a short call to the JVM.
    """

    name: EngineName = "spark"

    def __init__(self, start: SparkStart, views: Views, call: Callable[[Callable[[], Any]], Awaitable[Any]]) -> None:
        self._start = start
        self._views = views
        self._call = call
        self.sending: set[SparkProduction[Sent]] = set()
        self.writing: set[SparkProduction[Any]] = set()

    async def produce(
        self,
        context: ExecutionContext,
        statement: str,
        tables: Mapping[str, Named],
        edges: tuple[Edge | None, ...],
        *,
        parting: str | None = None,
        base: int = 0,
    ) -> SparkProduction[Sent]:
        """Begin to run a statement whose rows go to receivers on any members; see
        `engine.executors.spark.worker.SendPartition`.

        tables: the tables that the statement reads, by their names in it.
        """
        send = SendPartition(edges, parting=parting, base=base)
        act = functools.partial(send_frame, send=send, analyze=context.analyze)
        return await self._begin(self.sending, context, statement, tables, act)

    async def write(
        self, rows: SparkRows, context: ExecutionContext, plan: Mutate, folder: Path, output: OutputSettings
    ) -> SparkProduction[Written]:
        """Begin to produce rows that tasks write below a folder, as a MUTATE specifies; see
        `engine.executors.spark.write_task`.
        """
        task = WritePartition(rules(plan), str(folder), rows.schema.serialize().to_pybytes(), output)
        act = functools.partial(write_frame, task=task)
        return await self._begin(self.writing, context, rows.statement, rows.tables, act)

    async def write_files(
        self, rows: SparkRows, context: ExecutionContext, names: Sequence[str], folder: Path
    ) -> SparkProduction[None]:
        """Begin to produce rows that Spark's own writer stores as Parquet files in a new folder, with columns of these
        names.
        """
        act = functools.partial(write_parquet, names=names, folder=folder)
        return await self._begin(self.writing, context, rows.statement, rows.tables, act)

    async def _begin(
        self,
        running: set[SparkProduction[R]],
        context: ExecutionContext,
        statement: str,
        tables: Mapping[str, Named],
        act: Callable[[DataFrame], R],
    ) -> SparkProduction[R]:
        """Begin a job, which is in `running` until it has ended."""
        context.underway.begin(context.query, (self.name,))
        runtime = await self._start.wait_runtime(context.notice)
        production = SparkProduction(runtime, context, statement, tables, act, self._views, self._call)
        running.add(production)
        production.ended.add_done_callback(lambda _ended: running.discard(production))
        return production

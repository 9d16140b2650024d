"""A fragment on Spark whose rows do not come to this process: a job whose tasks send them to other members, or write
them.

The tasks of a sending job are the senders of an edge. The member that runs the job has located the receivers
(`open_channel`) beforehand, and the tasks connect to them directly, so rows pass neither through the driver nor through
this member. The result of the job says which streams each receiver should have received. The tasks of a writing job
write a table's files (`engine.executors.spark.write_task`), and the result names the files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from engine.contracts.executor import ExecutionContext
from engine.exchange.partition_streams import Sent
from engine.executors.spark.connection import own_connection
from engine.executors.spark.jobs import SparkJob
from engine.executors.spark.profile import operators
from engine.executors.spark.views import Named, Views
from engine.executors.spark.worker import SUMMARY_SCHEMA, SendPartition, sent_by
from wire.errors import SqlError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from engine.executors.spark.session import SparkRuntime

R = TypeVar("R")


class SparkProduction(Generic[R]):
    """A job whose tasks send or write the rows; see the module's docstring. `ended`: the job's result or its SqlError.
    job: the job. notice: sends the client a notice. act: runs the statement's DataFrame, on the job's thread. call: runs
    a short call to the JVM.
    """

    def __init__(
        self,
        runtime: SparkRuntime,
        context: ExecutionContext,
        statement: str,
        tables: Mapping[str, Named],
        act: Callable[[DataFrame], R],
        views: Views,
        call: Callable[[Callable[[], Any]], Awaitable[Any]],
    ) -> None:
        self._statement = statement
        self.notice = context.notice
        self._tables = tables
        self._act = act
        self._views = views
        self._call = call
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[R] = self._loop.create_future()
        # A caller that closes without asking for the result does not need its error.
        self.ended.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        self.job = SparkJob(runtime, str(context.query), context.time_zone, self._work, self._done, context.trace)
        self.job.start()

    async def close(self) -> None:
        """Stop the job if it runs. Returns when it is gone."""
        if self.job.is_running:
            await self._call(self._stop)

    def _stop(self) -> None:
        with own_connection():
            self.job.cancel()
            self.job.wait_gone()

    def _work(self, session: SparkSession) -> R:
        with self._views.pin(session, self._tables):
            frame = session.sql(self._statement)
        return self._act(frame)

    def _done(self, result: Any, error: SqlError | None) -> None:
        self._loop.call_soon_threadsafe(self._settle, result, error)

    def _settle(self, result: R, error: SqlError | None) -> None:
        if error is not None:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(result)


def send_frame(frame: DataFrame, send: SendPartition, *, analyze: bool = False) -> Sent:
    """Run the job that sends a DataFrame's rows. Blocks until it has ended. analyze: whether the operators' row counts
    are wanted.
    """
    # This runs on the job's thread, for which Spark has been started, so PySpark can be imported.
    from pyspark.sql.udf import _create_udf
    from pyspark.util import PythonEvalType

    from engine.executors.spark.collect import collect_arrow

    frame = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    udf = _create_udf(send, SUMMARY_SCHEMA, PythonEvalType.SQL_MAP_ARROW_ITER_UDF, "send", deterministic=False)
    mapped = frame._jdf.mapInArrow(udf(*(frame[name] for name in frame.columns))._jc, False, None)
    sent = sent_by(collect_arrow(mapped))
    return replace(sent, operators=operators(mapped, sent=True)) if analyze else sent

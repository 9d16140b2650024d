"""A fragment under way on Spark: its job, and the receiver of the rows that its tasks send or its driver collects."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlglot import exp

from engine.common.shielded import closed_in_turn, shielded, wait_out
from engine.contracts.executor import ExecutionContext
from engine.contracts.output_cast import carry_to, match_dimensions
from engine.contracts.profile import Operator
from engine.exchange.edge_totals import EdgeTotals
from engine.exchange.partition_streams import Sent
from engine.exchange.receive import WINDOW_BATCHES, Receiver, partly_consumed
from engine.exchange.send import Edge
from engine.exchange.slots import SlotKeeper
from engine.exchange.spool import Spooler
from engine.executors.spark.connection import own_connection
from engine.executors.spark.fragment_rows import views_of
from engine.executors.spark.jobs import SparkJob, failure_of_task, status_of_task
from engine.executors.spark.production import send_frame
from engine.executors.spark.profile import operators
from engine.executors.spark.task_port import TaskPort
from engine.executors.spark.views import Views
from engine.executors.spark.worker import SendPartition
from engine.planner.codegen import to_sql
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.storage.infinities import with_infinities
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, SqlError
from wire.mesh.messages import Open

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from engine.executors.spark.session import SparkRuntime

#: Between two looks at how a task has ended: the first and the longest.
_LOOK_SECONDS: Final = 0.01
_LOOK_SECONDS_MAX: Final = 0.2
_TASK_ENDED: Final = ("SUCCESS", "FAILED", "KILLED")


@dataclass(frozen=True, slots=True)
class StreamServices:
    """Services of an executor for its streams. port: where tasks connect. call: runs a short call to the JVM. sent: what tasks have
    sent to this member. forget: told of a stream that has been closed."""

    port: TaskPort
    spooler: Spooler
    slots: SlotKeeper
    views: Views
    call: Callable[[Callable[[], Any]], Awaitable[Any]]
    sent: EdgeTotals
    forget: Callable[[SparkStream], None]


class SparkStream:
    """A fragment under way on Spark: its job, and the receiver of its rows (`engine.contracts.batch_stream.BatchStream`).

    job: what Spark does for it. operators: what the job counted, after its end, if that was wanted.
    """

    engine_name: Final = "spark"

    def __init__(
        self, services: StreamServices, runtime: SparkRuntime, fragment: CompiledFragment, context: ExecutionContext
    ) -> None:
        self._services = services
        self._runtime = runtime
        self._fragment = fragment
        self._batch_bytes = context.page_bytes
        self._analyze = context.analyze
        self.operators: Operator | None = None
        self._loop = asyncio.get_running_loop()
        self._schema = fragment.schema
        self._slots = services.slots
        self._channel = services.port.new_channel()
        self._receiver = Receiver(
            self._schema,
            ordered=fragment.ordered,
            window=WINDOW_BATCHES * context.page_bytes,
            spooler=services.spooler,
            on_lost=self._attempt_lost,
            on_ended=self._stream_ended,
            on_change=self._slots.on_receiver_change,
        )
        self._closing: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._lookups: set[asyncio.Task[None]] = set()
        statement, self._skip = _without_offset(fragment)
        work = functools.partial(self._collect if fragment.small else self._send, statement)
        self.job = SparkJob(runtime, str(context.query), context.time_zone, work, self._job_done, context.trace)

    def start(self) -> None:
        self._token = self._services.port.register(self._channel, self._receiver)
        self._slots.add(self._receiver)
        self.job.start()

    async def next_batch(self) -> pa.RecordBatch | None:
        while (batch := await self._receiver.next_batch()) is not None:
            skipped = min(self._skip, batch.num_rows)
            self._skip -= skipped
            if skipped < batch.num_rows:
                return batch.slice(skipped)
        return None

    async def close(self) -> None:
        if self._closing is None:
            self._over.set()
            self._closing = self._loop.create_task(self._close())
        await shielded(self._closing)

    @property
    def receiver(self) -> Receiver:
        return self._receiver

    def statistics(self) -> Mapping[str, int]:
        return self._receiver.statistics()

    async def _close(self) -> None:
        self._services.port.unregister(self._channel)
        # At once, and not when the receiver is closed.
        cancel = asyncio.ensure_future(self._services.call(self._cancel_job)) if self.job.is_running else None
        await closed_in_turn(
            self._receiver.close,
            lambda: cancel,
            lambda: self._slots.discard(self._receiver),
            lambda: wait_out(*self._lookups),
            lambda: self._services.forget(self),
        )

    def _cancel_job(self) -> None:
        with own_connection():
            self.job.cancel()
            self.job.wait_gone()

    # On the job's thread.

    def _frame(self, session: SparkSession, statement: exp.Expression) -> DataFrame:
        self._services.views.require(session, views_of(self._fragment))
        return session.sql(to_sql(statement, "spark"))

    def _collect(self, statement: exp.Expression, session: SparkSession) -> list[pa.RecordBatch]:
        from engine.executors.spark.collect import collect_arrow

        frame = self._frame(session, statement)
        schema = self._match_schema(frame)
        batches = [with_infinities(carry_to(batch, schema)) for batch in collect_arrow(frame._jdf)]
        if self._analyze:
            self.operators = operators(frame._jdf, sent=False)
        return batches

    def _match_schema(self, frame: DataFrame) -> pa.Schema:
        """The carriers of the frame's columns; Spark is asked only where it knows more than the fragment does."""
        if any(pa.types.is_list(typ) for typ in self._schema.types):
            from pyspark.sql.pandas.types import to_arrow_schema

            return match_dimensions(self._schema, to_arrow_schema(frame.schema))
        return self._schema

    def _send(self, statement: exp.Expression, session: SparkSession) -> Sent:
        frame = self._frame(session, statement)
        schema = self._match_schema(frame)
        self._loop.call_soon_threadsafe(self._receiver.expect, schema)
        host, port = self._services.port.address
        encoded, tls = schema.serialize().to_pybytes(), self._services.port.tls_peer
        edge = Edge(host, port, self._channel, self._token, 0, encoded, self._batch_bytes, tls)
        send = SendPartition((edge,), always=self._fragment.ordered)
        sent = send_frame(frame, send, analyze=self._analyze)
        self.operators = sent.operators
        return sent

    def _job_done(self, result: Any, error: SqlError | None) -> None:
        self._loop.call_soon_threadsafe(self._producer_ended, result, error)

    # On the loop's thread.

    def _producer_ended(self, result: Any, error: SqlError | None) -> None:
        if error is not None:
            self._receiver.fail(error)
        elif self._fragment.small:
            self._receiver.deliver(result)
            self._receiver.finish()
        else:
            self._services.sent.add(result.bytes, result.batches, result.stalls)
            self._receiver.confirm(result.rows.get(0, {}))

    def _attempt_lost(self, opening: Open, consumed: bool) -> None:
        """A task failed under way. If that is the query's own fault, trying again is of no use."""
        self._look_up(self._explain(opening.attempt, consumed))

    def _stream_ended(self, opening: Open) -> None:
        """A task has ended its stream. Whether it has succeeded, Spark knows."""
        self._look_up(self._accept(opening))

    def _look_up(self, work: Coroutine[Any, Any, None]) -> None:
        lookup = self._loop.create_task(work)
        self._lookups.add(lookup)
        lookup.add_done_callback(self._lookups.discard)

    async def _accept(self, opening: Open) -> None:
        """Accept the stream when its task has succeeded. Otherwise the job's counts decide."""
        pause = _LOOK_SECONDS
        while not self._over.is_set() and self.job.is_running:
            status = await self._services.call(functools.partial(_status, self._runtime, opening.attempt))
            if status == "SUCCESS":
                self._receiver.accept(opening)
            if status in _TASK_ENDED:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), pause)
            pause = min(2 * pause, _LOOK_SECONDS_MAX)

    async def _explain(self, task: int, consumed: bool) -> None:
        cause = await self._services.call(functools.partial(_cause, self._runtime, task))
        if cause is not None:
            self._receiver.fail(cause)
        elif consumed:
            self._receiver.fail(partly_consumed())


def _without_offset(fragment: CompiledFragment) -> tuple[exp.Expression, int]:
    """The statement to run, and how many of its first rows to pass over here.

    Spark gathers an OFFSET without LIMIT into one partition in whatever order the parts of its sort arrive there, so over
    an ordered stream it is the reader's.
    """
    statement = fragment.statement
    offset = statement.args.get("offset")
    if fragment.small or not fragment.ordered or offset is None or statement.args.get("limit") is not None:
        return statement, 0
    if not isinstance(offset.expression, exp.Literal):
        raise FeatureNotSupported("not supported: OFFSET that is not a constant in Spark")
    statement = statement.copy()
    statement.set("offset", None)
    return statement, int(offset.expression.name)


def _status(runtime: SparkRuntime, task: int) -> str | None:
    with own_connection(), runtime.unless_ended():
        return status_of_task(runtime, task)
    return None


def _cause(runtime: SparkRuntime, task: int) -> SqlError | None:
    with own_connection(), runtime.unless_ended():
        return failure_of_task(runtime, task)
    return None

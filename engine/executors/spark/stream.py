"""A running fragment on Spark: its job, and the receiver of the rows that its tasks send or its driver collects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from engine.common.shielded import closed_in_turn, shielded
from engine.contracts.executor import ExecutionContext
from engine.contracts.profile import Operator
from engine.exchange.edge_totals import EdgeTotals
from engine.exchange.partition_streams import Sent
from engine.exchange.receive import WINDOW_BATCHES, Receiver
from engine.exchange.send import Edge
from engine.exchange.slots import SlotKeeper
from engine.exchange.spool import Spooler
from engine.executors.spark.connection import own_connection
from engine.executors.spark.fragment_frame import FragmentFrame
from engine.executors.spark.jobs import SparkJob
from engine.executors.spark.production import send_frame
from engine.executors.spark.profile import operators
from engine.executors.spark.task_outcomes import TaskOutcomes
from engine.executors.spark.task_port import TaskPort
from engine.executors.spark.views import Views
from engine.executors.spark.worker import SendPartition
from engine.planner.codegen.compiled_fragment import CompiledFragment
from wire.dataclass import dataclass
from wire.errors import SqlError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.executors.spark.session import SparkRuntime


@dataclass(frozen=True, slots=True)
class StreamServices:
    """The services that an executor provides to its streams. port: the port to which tasks connect. call: runs a short
    call to the JVM. sent: totals of what tasks have sent to this member. forget: called with a stream that has been
    closed.
    """

    port: TaskPort
    spooler: Spooler
    slots: SlotKeeper
    views: Views
    call: Callable[[Callable[[], Any]], Awaitable[Any]]
    sent: EdgeTotals
    forget: Callable[[SparkStream], None]


class SparkStream:
    """A running fragment on Spark: its job, and the receiver of its rows
    (`engine.contracts.batch_stream.BatchStream`).

    job: Spark's job for it. notice: sends the client a notice. operators: the profile of the job after its end, if it
    was requested.
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
        self.notice = context.notice
        self.operators: Operator | None = None
        self._loop = asyncio.get_running_loop()
        self._schema = fragment.schema
        self._slots = services.slots
        self._channel = services.port.new_channel()
        self._outcomes = TaskOutcomes(runtime, services.call, lambda: self.job.is_running)
        self._receiver = Receiver(
            self._schema,
            ordered=fragment.ordered,
            window=WINDOW_BATCHES * context.page_bytes,
            spooler=services.spooler,
            on_lost=self._outcomes.explain_lost,
            on_ended=self._outcomes.accept_ended,
            on_change=self._slots.on_receiver_change,
        )
        self._outcomes.receiver = self._receiver
        self._closing: asyncio.Task[None] | None = None
        self._frame = FragmentFrame(fragment, services.views)
        self._skip = self._frame.skip
        work = self._collect if fragment.small else self._send
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
            self._outcomes.end()
            self._closing = self._loop.create_task(self._close())
        await shielded(self._closing)

    @property
    def receiver(self) -> Receiver:
        return self._receiver

    def statistics(self) -> Mapping[str, int]:
        return self._receiver.statistics()

    async def _close(self) -> None:
        self._services.port.unregister(self._channel)
        # Begun at once, without waiting for the close of the receiver.
        cancel = asyncio.ensure_future(self._services.call(self._cancel_job)) if self.job.is_running else None
        await closed_in_turn(
            self._receiver.close,
            lambda: cancel,
            lambda: self._slots.discard(self._receiver),
            self._outcomes.wait_ended,
            lambda: self._services.forget(self),
        )

    def _cancel_job(self) -> None:
        with own_connection():
            self.job.cancel()
            self.job.wait_gone()

    # On the job's thread.

    def _collect(self, session: SparkSession) -> list[pa.RecordBatch]:
        frame = self._frame.open(session)
        batches = self._frame.collect(frame)
        if self._analyze:
            self.operators = operators(frame._jdf, sent=False)
        return batches

    def _send(self, session: SparkSession) -> Sent:
        frame = self._frame.open(session)
        schema = self._frame.schema_of(frame)
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

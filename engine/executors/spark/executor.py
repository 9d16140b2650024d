"""The Spark executor: fragments run as Spark jobs, their rows streamed to this member by the tasks themselves.

There are two ways out of Spark. A fragment that is small by construction is collected as Arrow by the driver. Any
other is sent: each task of its last stage opens a data connection to the member (`engine.executors.spark.worker`,
`engine.exchange.listener`) and streams its partition under byte credits (`engine.exchange.receive`); the job's own result is
a row per partition. An ordered fragment ends in Spark's global sort, whose range partitions the receiver reads in turn.
What is to be written into a table, tasks write themselves (`engine.executors.spark.write_task`): nothing leaves Spark.

Threads: the start has one; each running action has one (`engine.executors.spark.jobs`); short calls to the JVM (cancel, causes of
failed tasks) share a small pool. Everything else is on the loop's thread. PySpark takes long to import, so only these threads do:
first the one that starts Spark.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
from sqlglot import exp

from engine.catalog.model.objects import Table
from engine.common.shielded import closed_in_turn, shielded, together, wait_out
from engine.contracts.activity import SparkJobReport
from engine.contracts.executor import ExecutionContext
from engine.contracts.output_cast import carry_to, match_dimensions
from engine.contracts.profile import Operator
from engine.contracts.query_id import EngineName, QueryId
from engine.exchange.edge_totals import EdgeTotals
from engine.exchange.listener import DataListener
from engine.exchange.mesh_tls import TlsPeer
from engine.exchange.partition_streams import Sent
from engine.exchange.receive import WINDOW_BATCHES, Receiver, partly_consumed
from engine.exchange.send import Edge
from engine.exchange.slots import SlotKeeper
from engine.exchange.spool import Spooler
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.connection import expected_cores, is_embedded, own_connection
from engine.executors.spark.errors import translate
from engine.executors.spark.figures import SparkFigures, figures_of
from engine.executors.spark.jobs import SparkJob, failure_of_task, status_of_task, tasks_of_groups
from engine.executors.spark.production import SparkProduction, send_frame
from engine.executors.spark.profile import operators
from engine.executors.spark.progress import report_jobs
from engine.executors.spark.rows import SparkRows
from engine.executors.spark.views import Named, Views
from engine.executors.spark.worker import SendPartition
from engine.executors.spark.write_task import WritePartition, rules
from engine.executors.spark.writing import write_frame, write_parquet
from engine.plan_ir.logical import Mutate
from engine.planner.codegen import to_sql
from engine.planner.codegen.compiled_fragment import CompiledFragment
from engine.sql.trees.storage_types import relation_name
from engine.storage.infinities import with_infinities
from engine.writers.write_result import Written
from wire.errors import AdminShutdown, FeatureNotSupported, SqlError
from wire.mesh.messages import Open
from wire.types.text_settings import OutputSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from engine.executors.spark.catalogs import SparkTable
    from engine.executors.spark.session import SparkRuntime

R = TypeVar("R")
_log = logging.getLogger(__name__)
_CALL_THREADS: Final = 4
#: How long a scrape waits for Spark's figures.
_OBSERVE_SECONDS: Final = 1.0
#: Whose progress is told at once.
_JOBS_MAX: Final = 100
#: Between two looks at how a task has ended: the first and the longest.
_LOOK_SECONDS: Final = 0.01
_LOOK_SECONDS_MAX: Final = 0.2
_TASK_ENDED: Final = ("SUCCESS", "FAILED", "KILLED")
_STARTING: Final = "waiting for Spark to start"
_STARTED: Final = "Spark has started"


class SparkExecutor:
    """See the module's docstring.

    directory: the member's own folder for Spark's files.
    listener: where tasks connect, which listens before Spark starts; None: one of its own on the loopback interface.
    spooler: the member's; None: one of its own in `directory`.
    """

    name: EngineName = "spark"

    def __init__(
        self,
        config: SparkConfig,
        directory: Path,
        *,
        listener: DataListener | None = None,
        spooler: Spooler | None = None,
    ) -> None:
        self._config = config
        self._directory = directory
        self._listener = listener or DataListener()
        self._owns_listener = listener is None
        self._spooler = spooler or Spooler(directory / "spool")
        self._owns_spooler = spooler is None
        self._views = Views()
        self._calls = ThreadPoolExecutor(_CALL_THREADS, thread_name_prefix="spark-call")
        self._channels = itertools.count(1)
        self._streams: set[SparkStream] = set()
        self._productions: set[SparkProduction[Sent]] = set()
        self._writings: set[SparkProduction[Any]] = set()
        self._starting: asyncio.Task[SparkRuntime] | None = None
        self._started = False
        self._closing = False
        #: Seconds that Spark took to start; None as long as it has not.
        self.start_seconds: float | None = None
        self.slots: SlotKeeper | None = None
        #: What tasks have sent to this member, of statements whose rows come from Spark alone.
        self.sent = EdgeTotals()
        self._figures = SparkFigures()

    async def start(self) -> None:
        """Begin to start Spark, unless it is to wait for its first query, and return; `open` waits for it."""
        if not self._started:
            self.slots = SlotKeeper(self._slot_count)
            self._started = True
            if self._config.start == "eager":
                self._begin()

    async def ready(self) -> None:
        """Wait until Spark has started. Raises SqlError if it could not."""
        await self._runtime(lambda _message: None)

    async def open(self, fragment: CompiledFragment, context: ExecutionContext) -> SparkStream:
        runtime = await self._runtime(context.notice)
        stream = SparkStream(self, runtime, fragment, context)
        self._streams.add(stream)
        stream.start()
        return stream

    async def tables_of(self, namespace: str, notice: Callable[[str], None]) -> Sequence[SparkTable]:
        """The tables of a namespace of Spark's catalogs. Raises SqlError."""
        runtime = await self._runtime(notice)

        def ask() -> Sequence[SparkTable]:
            from engine.executors.spark.catalogs import tables_of

            with own_connection():
                return tables_of(runtime.session("UTC"), namespace)

        try:
            return await asyncio.to_thread(ask)
        except Exception as error:
            raise translate(error) from error

    async def tasks_of(self, query: QueryId) -> tuple[int, int] | None:
        """Count the tasks of a query's jobs that run here: those that have succeeded, and all; None: it has no job with tasks."""
        groups = [job.group for job in self._jobs_of(str(query)) if job.is_running]
        runtime = self._running_now()
        if not groups or runtime is None:
            return None
        done, known = await self.call(functools.partial(_tasks, runtime, groups))
        return (done, known) if known else None

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
        """Begin to run a statement whose rows go to receivers on whichever members; see
        `engine.executors.spark.worker.SendPartition`.

        tables: by the names that the statement has for them.
        """
        send = SendPartition(edges, parting=parting, base=base)
        context.underway.begin(context.query, (self.name,))
        runtime = await self._runtime(context.notice)
        act = functools.partial(send_frame, send=send, analyze=context.analyze)
        production = SparkProduction(runtime, context, statement, tables, act, self._views, self.call)
        self._productions.add(production)
        production.ended.add_done_callback(lambda _ended: self._productions.discard(production))
        return production

    async def write(
        self, rows: SparkRows, context: ExecutionContext, plan: Mutate, folder: Path, output: OutputSettings
    ) -> SparkProduction[Written]:
        """Begin to make rows that tasks write below a folder as a MUTATE says; see `engine.executors.spark.write_task`."""
        task = WritePartition(rules(plan), str(folder), rows.schema.serialize().to_pybytes(), output)
        return await self._start_write(rows, context, functools.partial(write_frame, task=task))

    async def write_files(
        self, rows: SparkRows, context: ExecutionContext, names: Sequence[str], folder: Path
    ) -> SparkProduction[None]:
        """Begin to make rows that Spark itself writes as Parquet files into a new folder, as columns of these names."""
        return await self._start_write(rows, context, functools.partial(write_parquet, names=names, folder=folder))

    async def _start_write(
        self, rows: SparkRows, context: ExecutionContext, act: Callable[[DataFrame], R]
    ) -> SparkProduction[R]:
        context.underway.begin(context.query, (self.name,))
        runtime = await self._runtime(context.notice)
        writing = SparkProduction(runtime, context, rows.statement, rows.tables, act, self._views, self.call)
        self._writings.add(writing)
        writing.ended.add_done_callback(lambda _ended: self._writings.discard(writing))
        return writing

    @property
    def is_embedded(self) -> bool:
        """Whether its tasks run on this machine."""
        return is_embedded(self._config.master)

    @property
    def state(self) -> str:
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
    def cores(self) -> int:
        """Return how many tasks run at once: as the started Spark says, else as it should."""
        return expected_cores(self._config) if self.start_seconds is None else self._slot_count()

    @property
    def listen_address(self) -> tuple[str, int]:
        """Host and port that Spark's tasks are to connect to."""
        return self._listener.address_from_here if self.is_embedded else self._listener.address_from_afar

    @property
    def tls_peer(self) -> TlsPeer | None:
        """How Spark's tasks are to connect to this member; None: in the clear."""
        tls = self._listener.tls
        return tls.peer(tls.member) if tls is not None else None

    def sql(self, fragment: CompiledFragment) -> str:
        return fragment.printed.text if fragment.printed is not None else to_sql(fragment.statement, "spark")

    async def close(self) -> None:
        self._closing = True
        closing: list[SparkStream | SparkProduction[Any]] = [*self._streams, *self._productions, *self._writings]
        await closed_in_turn(
            lambda: together(*(running.close() for running in closing)),
            lambda: None if self._starting is None else self._stop(self._starting),
            lambda: self._listener.close() if self._owns_listener else None,
            lambda: None if self.slots is None else self.slots.close(),
            self._calls.shutdown,
            lambda: self._spooler.close() if self._owns_spooler else None,
        )

    async def call(self, work: Callable[[], Any]) -> Any:
        """Run a short call to the JVM on a thread of the pool."""
        return await asyncio.get_running_loop().run_in_executor(self._calls, work)

    def streams(self, query: str = "") -> list[tuple[str, Receiver]]:
        """The ids of the queries whose rows tasks send to this member, and what receives them. query: only this one's."""
        return [(s.job.query, s.receiver) for s in self._streams if not query or s.job.query == query]

    async def jobs(self, member: str, query: str = "") -> Sequence[SparkJobReport]:
        """Spark's jobs that run for queries here, those of the same action that have ended included. query: only this one's."""
        jobs, runtime = self._jobs_of(query)[:_JOBS_MAX], self._running_now()
        if not jobs or runtime is None:
            return ()
        told: Sequence[SparkJobReport] = await self.call(functools.partial(report_jobs, runtime, jobs, member))
        return told

    def _jobs_of(self, query: str) -> list[SparkJob]:
        """The actions that run here for a query, or, where it is empty, for all."""
        running: list[SparkStream | SparkProduction[Any]] = [*self._streams, *self._productions, *self._writings]
        return [one.job for one in running if not query or one.job.query == query]

    def _running_now(self) -> SparkRuntime | None:
        """Spark, if it has started and has not ended."""
        starting = self._starting
        if starting is None or not starting.done() or self._is_over(starting):
            return None
        return starting.result()

    def forget(self, stream: SparkStream) -> None:
        self._streams.discard(stream)

    @property
    def load(self) -> int:
        return len(self._streams) + len(self._writings)

    def statistics(self) -> Mapping[str, int]:
        return {
            "streams": self.load,
            "productions": len(self._productions),
            "connections": self._listener.connections,
            **asdict(self._figures),
        }

    async def observe(self) -> None:
        """Ask Spark for its tasks and executors, for `statistics`. One that does not answer soon has the figures of before; one
        that does not run has none."""
        runtime = self._running_now()
        if runtime is None:
            self._figures = SparkFigures()
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_OBSERVE_SECONDS):
                self._figures = await self.call(functools.partial(figures_of, runtime))

    def _begin(self) -> asyncio.Task[SparkRuntime]:
        """The start of Spark, which begins now if it has not yet; anew, if it failed or Spark has ended by itself."""
        former = self._starting
        if former is not None and not self._is_over(former):
            return former
        self.start_seconds = None
        starting = asyncio.get_running_loop().create_task(self._start(former))
        starting.add_done_callback(_log_failure)
        self._starting = starting
        return starting

    async def _start(self, former: asyncio.Task[SparkRuntime] | None) -> SparkRuntime:
        if former is not None:
            await self._stop(former)
        await self._listen()
        begun = time.monotonic()
        runtime = await asyncio.to_thread(self._start_runtime)
        self.start_seconds = time.monotonic() - begun
        return runtime

    async def _listen(self) -> None:
        """Have a port for tasks: the member's mesh port, or one for them alone where the member has none."""
        try:
            await self._listener.start()
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
            return SparkRuntime(self._config, self._directory, abandoned=lambda: self._closing)

    async def _runtime(self, notice: Callable[[str], None]) -> SparkRuntime:
        if not self._started or self._closing:
            raise AdminShutdown("terminating connection due to administrator command")
        starting = self._begin()
        if starting.done():
            return starting.result()
        notice(_STARTING)
        runtime = await asyncio.shield(starting)
        notice(_STARTED)
        return runtime

    async def _stop(self, starting: asyncio.Task[SparkRuntime]) -> None:
        try:
            runtime = await starting
        except SqlError:
            return
        await asyncio.to_thread(runtime.stop)

    def _slot_count(self) -> int:
        if self._starting is None or not self._starting.done() or self._starting.exception() is not None:
            return 1
        return self._starting.result().slots

    def _new_channel(self) -> str:
        return f"spark/{next(self._channels)}"


def _log_failure(starting: asyncio.Task[SparkRuntime]) -> None:
    error = None if starting.cancelled() else starting.exception()
    if error is not None and not isinstance(error, AdminShutdown):
        _log.error("Spark could not be started", exc_info=error)


class SparkStream:
    """A fragment under way on Spark: its job, and the receiver of its rows (`engine.contracts.batch_stream.BatchStream`).

    job: what Spark does for it. operators: what the job counted, after its end, if that was wanted.
    """

    engine_name: Final = "spark"

    def __init__(
        self, executor: SparkExecutor, runtime: SparkRuntime, fragment: CompiledFragment, context: ExecutionContext
    ) -> None:
        assert executor.slots is not None, "the executor has been started"
        self._executor = executor
        self._runtime = runtime
        self._fragment = fragment
        self._batch_bytes = context.page_bytes
        self._analyze = context.analyze
        self.operators: Operator | None = None
        self._loop = asyncio.get_running_loop()
        self._schema = fragment.schema
        self._slots = executor.slots
        self._channel = executor._new_channel()
        self._receiver = Receiver(
            self._schema,
            ordered=fragment.ordered,
            window=WINDOW_BATCHES * context.page_bytes,
            spooler=executor._spooler,
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
        self._token = self._executor._listener.register(self._channel, self._receiver)
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
        self._executor._listener.unregister(self._channel)
        # At once, and not when the receiver is closed.
        cancel = asyncio.ensure_future(self._executor.call(self._cancel_job)) if self.job.is_running else None
        await closed_in_turn(
            self._receiver.close,
            lambda: cancel,
            lambda: self._slots.discard(self._receiver),
            lambda: wait_out(*self._lookups),
            lambda: self._executor.forget(self),
        )

    def _cancel_job(self) -> None:
        with own_connection():
            self.job.cancel()
            self.job.wait_gone()

    # On the job's thread.

    def _frame(self, session: SparkSession, statement: exp.Expression) -> DataFrame:
        self._executor._views.require(session, views_of(self._fragment))
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
        host, port = self._executor.listen_address
        encoded, tls = schema.serialize().to_pybytes(), self._executor.tls_peer
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
            self._executor.sent.add(result.bytes, result.batches, result.stalls)
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
            status = await self._executor.call(functools.partial(_status, self._runtime, opening.attempt))
            if status == "SUCCESS":
                self._receiver.accept(opening)
            if status in _TASK_ENDED:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), pause)
            pause = min(2 * pause, _LOOK_SECONDS_MAX)

    async def _explain(self, task: int, consumed: bool) -> None:
        cause = await self._executor.call(functools.partial(_cause, self._runtime, task))
        if cause is not None:
            self._receiver.fail(cause)
        elif consumed:
            self._receiver.fail(partly_consumed())


def views_of(fragment: CompiledFragment) -> Mapping[str, Named]:
    """Return the tables and scans that a fragment reads and the functions that it calls, by their names in its statement."""
    named = {relation.name for relation in fragment.statement.find_all(exp.Table)}
    tables = {relation_name(table): table for table in fragment.tables if isinstance(table, Table)}
    return {**{name: table for name, table in tables.items() if name in named}, **fragment.scans, **fragment.functions}


def rows_of(fragment: CompiledFragment) -> SparkRows:
    """A fragment's rows, for a job that writes them."""
    return SparkRows(to_sql(fragment.statement, "spark"), views_of(fragment), fragment.schema)


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


def _tasks(runtime: SparkRuntime, groups: Sequence[str]) -> tuple[int, int]:
    with own_connection(), runtime.unless_ended():
        return tasks_of_groups(runtime, groups)
    return 0, 0


def _cause(runtime: SparkRuntime, task: int) -> SqlError | None:
    with own_connection(), runtime.unless_ended():
        return failure_of_task(runtime, task)
    return None

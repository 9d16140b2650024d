"""The Spark executor: fragments run as Spark jobs, whose tasks stream their rows to this member.

Rows leave Spark in one of two ways. The driver collects the rows of a fragment that is small by construction, as Arrow
batches. Every other fragment is sent: each task of its last stage opens a data connection to the member
(`engine.executors.spark.worker`, `engine.exchange.listener`) and streams its partition under byte credits
(`engine.exchange.receive`); the result of the job itself is one row per partition. An ordered fragment ends in Spark's
global sort, whose range partitions the receiver reads in order. Rows that are to be written into a table do not leave
Spark: the tasks write them (`engine.executors.spark.write_task`).

Threads: the start of Spark has one, and each running action has one (`engine.executors.spark.jobs`). Short calls to the
JVM (cancel, causes of failed tasks) share a small pool. Everything else runs on the event loop's thread. PySpark takes
long to import, so only these threads import it, the one that starts Spark first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.common.shielded import closed_in_turn, together
from engine.contracts.executor import ExecutionContext
from engine.contracts.mesh import Members
from engine.contracts.query_id import EngineName
from engine.exchange.edge_totals import EdgeTotals
from engine.exchange.listener import DataListener
from engine.exchange.receive import Receiver
from engine.exchange.slots import SlotKeeper
from engine.exchange.spool import Spooler
from engine.executors.engine_config import SparkConfig
from engine.executors.spark.connection import expected_cores, is_embedded, own_connection
from engine.executors.spark.errors import translate
from engine.executors.spark.job_reports import JobReports
from engine.executors.spark.production import SparkProduction
from engine.executors.spark.productions import Productions
from engine.executors.spark.start import SparkStart
from engine.executors.spark.stream import SparkStream, StreamServices
from engine.executors.spark.task_port import TaskPort
from engine.executors.spark.views import Views
from engine.planner.codegen import to_sql
from engine.planner.codegen.compiled_fragment import CompiledFragment

if TYPE_CHECKING:
    from engine.executors.spark.catalogs import SparkTable

_CALL_THREADS: Final = 4


class SparkExecutor:
    """The executor of a member's Spark; see the module's docstring.

    directory: the member's own folder for Spark's files.
    listener: the listener to which tasks connect, which listens before Spark starts; None: a listener of its own on the
        loopback interface.
    spooler: the member's; None: one of its own in `directory`.
    mesh: the members that may share one Spark; None: there are none.
    application: the member's Spark, whose background loop is `engine.executors.spark.watch`.
    """

    name: EngineName = "spark"

    def __init__(
        self,
        config: SparkConfig,
        directory: Path,
        *,
        listener: DataListener | None = None,
        spooler: Spooler | None = None,
        mesh: Members | None = None,
    ) -> None:
        self._config = config
        self._expected_cores = expected_cores(config)
        self._port = TaskPort(listener, config.master)
        self._spooler = spooler or Spooler(directory / "spool")
        self._owns_spooler = spooler is None
        self._views = Views(config.wait_timeout)
        self._calls = ThreadPoolExecutor(_CALL_THREADS, thread_name_prefix="spark-call")
        self._streams: set[SparkStream] = set()
        self.application = SparkStart(config, directory, self._port.start, mesh, lambda: not self.list_running())
        self.sharing = self.application.sharing
        self.productions = Productions(self.application, self._views, self.call)
        self._slots: SlotKeeper | None = None
        #: Totals of what tasks have sent to this member for statements whose rows come from Spark alone.
        self.sent = EdgeTotals()
        self.reports = JobReports(self.application, self.call, lambda: [running.job for running in self.list_running()])

    async def start(self) -> None:
        """Begin to start Spark, unless it is configured to wait for its first query, and return; `open` waits for it."""
        if self.application.start():
            self._slots = SlotKeeper(self.application.slot_count)

    async def ready(self) -> None:
        """Wait until Spark has started. Raises SqlError if it could not be started."""
        await self.application.wait_runtime(lambda _message: None)

    async def open(self, fragment: CompiledFragment, context: ExecutionContext) -> SparkStream:
        runtime = await self.application.wait_runtime(context.notice)
        assert self._slots is not None, "the executor has been started"
        services = StreamServices(
            self._port, self._spooler, self._slots, self._views, self.call, self.sent, self._streams.discard
        )
        stream = SparkStream(services, runtime, fragment, context)
        self._streams.add(stream)
        stream.start()
        return stream

    async def tables_of(self, namespace: str, notice: Callable[[str], None]) -> Sequence[SparkTable]:
        """Return the tables of a namespace of Spark's catalogs. Raises SqlError."""
        runtime = await self.application.wait_runtime(notice)

        def ask() -> Sequence[SparkTable]:
            from engine.executors.spark.catalogs import tables_of

            with own_connection():
                return tables_of(runtime.session("UTC"), namespace)

        try:
            with self.application.in_use():
                return await asyncio.to_thread(ask)
        except Exception as error:
            raise translate(error) from error

    @property
    def is_embedded(self) -> bool:
        """Whether Spark's tasks run on this machine."""
        return is_embedded(self._config.master)

    @property
    def state(self) -> str:
        host = self.sharing.running_elsewhere
        return self.application.state if host is None else f"on member {host}"

    @property
    def start_seconds(self) -> float | None:
        """The time that Spark took to start; None while it has not started."""
        return self.application.start_seconds

    @property
    def cores(self) -> int:
        """Return the number of tasks that run at once: as Spark reports it once started, before that the expected
        number.
        """
        return self._expected_cores if self.start_seconds is None else self.application.slot_count()

    def sql(self, fragment: CompiledFragment) -> str:
        return fragment.printed.text if fragment.printed is not None else to_sql(fragment.statement, "spark")

    async def close(self) -> None:
        self.application.end()
        closing = self.list_running()
        await closed_in_turn(
            lambda: together(*(running.close() for running in closing)),
            self.application.close,
            self._port.close,
            lambda: None if self._slots is None else self._slots.close(),
            self._calls.shutdown,
            lambda: self._spooler.close() if self._owns_spooler else None,
        )

    async def call(self, work: Callable[[], Any]) -> Any:
        """Run a short call to the JVM on a thread of the pool."""
        return await asyncio.get_running_loop().run_in_executor(self._calls, work)

    def streams(self, query: str = "") -> list[tuple[str, Receiver]]:
        """Return the receivers of rows that tasks send to this member, with the ids of their queries. query: only this
        query's.
        """
        return [(s.job.query, s.receiver) for s in self._streams if not query or s.job.query == query]

    def list_running(self) -> list[SparkStream | SparkProduction[Any]]:
        """Return the streams and productions that run here."""
        return [*self._streams, *self.productions.sending, *self.productions.writing]

    @property
    def load(self) -> int:
        return len(self._streams) + len(self.productions.writing)

    def statistics(self) -> Mapping[str, int]:
        return {
            "streams": self.load,
            "productions": len(self.productions.sending),
            "connections": self._port.connections,
            **asdict(self.reports.figures),
        }

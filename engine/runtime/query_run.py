"""One query's part on one member: it runs the instances of the query's fragments, each as a task, from set-up to the
last one's end.

A task pulls its fragment's batches and gives them to the edge's output. Everything that it waits for (input, credit, an
engine) is a future, so suspended queries hold no thread, however many there are. However a task ends, it closes its
engine's stream, then its output, and reports once (`Host.instance_ended`); it reports the first error that occurred in
it.

The root fragment is different: no task runs it, the portal pulls it (`QueryRun.root`).
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import cast

import pyarrow as pa

from engine.common.shielded import shielded, together
from engine.contracts.activity import InstanceState
from engine.contracts.profile import table_source
from engine.exchange.outbound import OutboundStream
from engine.exchange.receive import Receiver
from engine.exchange.send import Edge
from engine.plan_ir.spec import EdgeSpec, FragmentSpec, InstanceSpec, MemberSpec, SharedSpec
from engine.runtime.edge_output import EdgeOutput, Pieces, retry_while_denied
from engine.runtime.instance_sources import InstanceSources, operator_counters
from engine.runtime.peer_statements import PeerStatements
from engine.runtime.query_state import Cause
from engine.runtime.run_inputs import PARTITION_BITS, RunInputs
from engine.runtime.run_services import Host, Source
from engine.runtime.run_spans import RunSpans
from wire.errors import ConnectionFailure, SqlError
from wire.mesh.control_messages import ChannelOk

_log = logging.getLogger(__name__)


class QueryRun:
    """See the module's docstring. numbers: of the instances that run as tasks, as `Host.instance_ended` names them.

    statements: checks the statements of another member's query; None if this member has compiled the query.
    """

    def __init__(
        self, host: Host, query: str, shared: SharedSpec, spec: MemberSpec, *, statements: PeerStatements | None = None
    ) -> None:
        self.query = query
        self.shared = shared
        self.counters: Counter[str] = Counter()
        self._host = host
        self._edges = {edge.id: edge for edge in shared.edges}
        self._fragments = {fragment.id: fragment for fragment in shared.fragments}
        self._instances = spec.instances
        self.inputs = RunInputs(host.mailboxes, query, shared, spec)
        self._sources = InstanceSources(host, query, shared, spec, self.inputs, statements)
        self._spans = RunSpans(query, host.member, shared, spec.trace)
        self._tasks: dict[int, asyncio.Task[Cause | None]] = {}
        self._cause: Cause | None = None
        self._started = asyncio.get_running_loop().time()
        #: The outputs of the instances that run here and send by themselves, by fragment and instance.
        self.outputs: dict[tuple[int, int], EdgeOutput] = {}
        self.numbers = tuple(n for n, i in enumerate(spec.instances) if self._fragments[i.fragment].output is not None)

    def start(self) -> None:
        """Adopt the mailboxes of all inputs, then start the instances."""
        self.inputs.adopt()
        loop = asyncio.get_running_loop()
        for number in self.numbers:
            task = self._tasks[number] = loop.create_task(self._run(self._instances[number]))
            task.add_done_callback(functools.partial(self._on_instance_ended, number))

    def instance_states(self) -> Iterator[tuple[InstanceSpec, FragmentSpec, InstanceState, float]]:
        """Yield each instance that runs here with its state and the seconds that it has run so far."""
        so_far = asyncio.get_running_loop().time() - self._started
        for number, instance in enumerate(self._instances):
            ran = f"instance.{instance.fragment}.{instance.instance}"
            task, state = self._tasks.get(number), "running"
            if task is not None and task.done():
                state = "done" if not task.cancelled() and task.result() is None else "failed"
            elif (
                task is not None
                and not self.counters[f"{ran}.begun"]
                and (instance.fragment, instance.instance) in self.outputs
            ):
                state = "waiting"
            micros = self.counters[f"{ran}.micros"]
            seconds = micros / 1e6 if micros else so_far
            yield instance, self._fragments[instance.fragment], cast("InstanceState", state), seconds

    def edge(self, number: int) -> EdgeSpec | None:
        return self._edges.get(number)

    def root(self, schema: pa.Schema) -> Source:
        """Return the stream that the portal reads. schema: of its batches, in carriers."""
        fragment, instance = self._root_instance()
        return self._sources.read(fragment, instance, schema, None)

    def root_operators(self, source: Source) -> Mapping[str, int]:
        """Return the counters by operator of the root's engine, after its end (`engine.contracts.profile`)."""
        return self._sources.operators(source, self._root_instance()[1])

    @property
    def root_receiver(self) -> Receiver | None:
        """Return the receiver that the portal reads directly. None if the root fragment has a statement, which reads its inputs
        itself."""
        fragment, instance = self._root_instance()
        if instance.statement or fragment.statement:
            return None
        return self.inputs.receiver_of(fragment, instance)

    def trace_root(self, rows: int, error: SqlError | None) -> None:
        """Record the span of the root, which the portal has read."""
        self._spans.record_root(self._root_instance()[1], rows, error)

    def _root_instance(self) -> tuple[FragmentSpec, InstanceSpec]:
        """Return the fragment without an output, and its only instance, which is on the initiator."""
        instance = next(i for i in self._instances if self._fragments[i.fragment].output is None)
        return self._fragments[instance.fragment], instance

    def stop(self, cause: Cause) -> None:
        """End all instances now; each reports its end. Only the first call has an effect."""
        if self._cause is None:
            self._cause = cause
            for task in self._tasks.values():
                task.cancel()

    async def wait_ended(self) -> None:
        """Wait until all instances have ended."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    # -- an instance ---------------------------------------------------------------------------------------------

    async def _run(self, instance: InstanceSpec) -> Cause | None:
        """Run an instance to its end. Return the cause of its failure, or None."""
        begun = time.time()
        try:
            cause = await self._outcome(instance)
        except asyncio.CancelledError:
            self._spans.record_instance(instance, begun, self._cause, self.counters)
            raise
        self._spans.record_instance(instance, begun, cause, self.counters)
        return cause

    async def _outcome(self, instance: InstanceSpec) -> Cause | None:
        fragment = self._fragments[instance.fragment]
        on_spark = fragment.engine == "spark" and fragment.mutation is None
        try:
            await (self._produce_in_tasks(instance) if on_spark else self._produce(instance))
        except ConnectionFailure as error:
            return Cause("40001", f"could not complete the query: {error.message}", echo=True)
        except SqlError as error:
            return Cause.of_error(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this query and nothing else
            _log.error("query %s: a fragment failed", self.query, exc_info=error)
            return Cause("XX000", f"a fragment failed: {error}")
        return None

    def _on_instance_ended(self, number: int, task: asyncio.Task[Cause | None]) -> None:
        if self.shared.analyze and all(other.done() for other in self._tasks.values()):
            self._host.report_counters(self.query, self.counters)
        # A cancelled instance has no cause of its own: it was stopped for a cause that is known.
        self._host.instance_ended(self.query, number, None if task.cancelled() else task.result())

    async def _produce(self, instance: InstanceSpec) -> None:
        fragment = self._fragments[instance.fragment]
        assert fragment.output is not None, "the root is not run but read"
        edge = self._edges[fragment.output]
        started = asyncio.get_running_loop().time()
        output = EdgeOutput(edge, self._opener(edge, instance.instance), self._in_pool)
        self.outputs[instance.fragment, instance.instance] = output
        cause = Cause("57014", "the query is over")
        source: Source | None = None
        try:
            if edge.synchronizer == "sequential" and not fragment.inputs:
                # Its turn comes when the receiver takes the stream; until then nothing is read for it. (An instance
                # with inputs reads them anyway, because their senders also send to other instances.)
                await output.wait_opened()
            source = self._sources.open(fragment, instance, edge)
            self.counters[f"instance.{instance.fragment}.{instance.instance}.begun"] = 1
            while output.is_wanted and (batch := await source.next_batch()) is not None:
                await output.send(batch)
            self.counters.update(self._sources.operators(source, instance))
            if output.is_wanted:
                await output.finish()
        except SqlError as error:
            cause = Cause.of_error(error)
            raise
        finally:
            stalls = sum(stream.stalls.count for stream in output.streams)
            size = sum(stream.bytes for stream in output.streams)
            self._count(instance, edge, (output.rows, output.batches, size, stalls), started)
            self._host.totals.add(size, output.batches, stalls, sum(stream.stalls.seconds for stream in output.streams))
            await shielded(self._close(source, output, cause))

    async def _close(self, source: Source | None, output: EdgeOutput, cause: Cause) -> None:
        if self._cause is not None and self._cause.is_failure:
            cause = self._cause
        try:
            await output.abandon(cause.sqlstate, cause.message, cause.detail, cause.hint, cause.fields)
        finally:
            if source is not None:
                await source.close()

    async def _produce_in_tasks(self, instance: InstanceSpec) -> None:
        """Run an instance on Spark: its tasks are the senders, once the receivers' addresses are known."""
        fragment = self._fragments[instance.fragment]
        assert fragment.output is not None, "the root runs in this process"
        assert instance.statement is not None, "on Spark each instance has a statement of its own"
        edge, sender = self._edges[fragment.output], instance.instance
        tables = await self._host.local.in_pool(lambda: self._sources.tables(instance, edge.router.parting))
        channels = await together(
            *(retry_while_denied(self._finder(edge, sender), receiver) for receiver in range(len(edge.receivers)))
        )
        if all(channel is None for channel in channels):
            return
        send_to = tuple(
            self._edge_to(edge, member, channel) if channel else None
            for member, channel in zip(edge.receivers, channels, strict=True)
        )
        started = asyncio.get_running_loop().time()
        production = await self._host.spark.produce(
            self._sources.context(),
            instance.statement,
            tables,
            send_to,
            parting=edge.router.parting,
            base=sender << PARTITION_BITS,
        )
        try:
            sent = await asyncio.shield(production.ended)
            for receiver in range(len(edge.receivers)):
                self._host.channels.announce_streams(self.query, edge, sender, receiver, sent.rows.get(receiver, {}))
            rows = [sum(sent.rows.get(receiver, {}).values()) for receiver in range(len(edge.receivers))]
            once = max(rows) if edge.router.kind == "mirror" else sum(rows)
            self.counters[f"instance.{instance.fragment}.{instance.instance}.begun"] = 1
            files = ((table_source(table.oid), table.files) for table in tables.values())
            self.counters.update(operator_counters(sent.operators, instance, files))
            self._count(instance, edge, (once, sent.batches, sent.bytes, sent.stalls), started)
            self._host.totals.add(sent.bytes, sent.batches, sent.stalls)
        finally:
            await shielded(production.close())

    def _edge_to(self, edge: EdgeSpec, member: str, channel: ChannelOk) -> Edge:
        """Return the description of a receiver that Spark's tasks get."""
        where = channel.host, channel.port, channel.channel, channel.token
        return Edge(*where, edge.id, edge.schema, self.shared.page_bytes, self._host.channels.tls_peer(member))

    def _finder(self, edge: EdgeSpec, sender: int) -> Callable[[int], Awaitable[ChannelOk]]:
        return lambda receiver: self._host.channels.find_channel(self.query, edge, sender, receiver)

    def _opener(self, edge: EdgeSpec, sender: int) -> Callable[[int], Awaitable[OutboundStream]]:
        return lambda receiver: self._host.channels.open_stream(self.query, edge, sender, receiver)

    async def _in_pool(self, call: Callable[[], Pieces]) -> Pieces:
        pieces: Pieces = await self._host.local.in_pool(call)
        return pieces

    def _count(
        self, instance: InstanceSpec, edge: EdgeSpec, counted: tuple[int, int, int, int], started: float
    ) -> None:
        """Count an instance's output. counted: rows, each once, however many receivers got it; batches, bytes and
        stalls of all streams.
        """
        micros = int((asyncio.get_running_loop().time() - started) * 1e6)
        sent, ran = f"edge.{edge.id}", f"instance.{instance.fragment}.{instance.instance}"
        for name, count in zip(("rows", "batches", "bytes", "stalls"), counted, strict=True):
            self.counters[f"{sent}.{name}"] += count
        self.counters[f"{sent}.micros"] = max(micros, self.counters[f"{sent}.micros"])
        self.counters[f"{ran}.rows"], self.counters[f"{ran}.micros"] = counted[0], micros

"""One query's part on one member: the instances of its fragments, each a task, from set-up to the last one's end.

A task pulls its fragment's batches and gives them to the edge's output; everything it waits for (input, credit, an engine) is a
future, so any number of suspended queries hold no thread. However it ends, it closes its engine's stream, then its output,
and reports once (`Host.instance_ended`); what it reports is the first thing that went wrong in it.

The root fragment is different: nobody runs it, the portal pulls it (`QueryRun.root`).
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, cast

import pyarrow as pa

from engine.catalog.model.objects import Table
from engine.common import tracing
from engine.common.shielded import shielded, together
from engine.contracts.activity import InstanceState
from engine.contracts.executor import ExecutionContext
from engine.contracts.memory_share import MemoryShare
from engine.contracts.profile import Operator, by_files, counters, reader_source, table_source, with_sources
from engine.contracts.query_id import EngineName, QueryId
from engine.exchange.edge_totals import EdgeTotals
from engine.exchange.limit import LimitedRows
from engine.exchange.outbound import OutboundStream
from engine.exchange.partition_streams import Sent
from engine.exchange.receive import Receiver
from engine.exchange.schemas import stream_schema
from engine.exchange.send import Edge
from engine.executors.local.executor import LocalExecutor, LocalStream, LocalWork
from engine.executors.spark.rows import SparkRows
from engine.plan_ir.physical import relation_of
from engine.plan_ir.spec import (
    ChannelSpec,
    EdgeSpec,
    FragmentSpec,
    InstanceSpec,
    MemberSpec,
    MutationSpec,
    ReaderSpec,
    SharedSpec,
)
from engine.planner.codegen.files import plain_path
from engine.runtime.channels import Channels
from engine.runtime.edge_input import EdgeInput
from engine.runtime.edge_output import EdgeOutput, Pieces, retry_while_denied
from engine.runtime.mailboxes import Mailboxes
from engine.runtime.peer_statements import PART, PeerStatements
from engine.runtime.query_state import Cause
from engine.runtime.readable_files import ReadableFiles
from wire.errors import ConnectionFailure, SqlError
from wire.mesh.control_messages import ChannelOk
from wire.mesh.messages import Open

_log = logging.getLogger(__name__)
_BUCKET: Final = pa.field("bucket", pa.int32())
#: A stream's number is its producer's, then the partition's, where a producer opens one a partition.
PARTITION_BITS: Final = 20


class Host(Protocol):
    """The services that a run uses of its member."""

    @property
    def local(self) -> LocalExecutor: ...

    @property
    def spark(self) -> TaskSenders: ...

    @property
    def mailboxes(self) -> Mailboxes: ...

    @property
    def files(self) -> ReadableFiles: ...

    @property
    def writers(self) -> Writers: ...

    @property
    def member(self) -> str: ...

    @property
    def totals(self) -> EdgeTotals: ...

    @property
    def channels(self) -> Channels: ...

    def instance_ended(self, query: str, number: int, cause: Cause | None) -> None:
        """An instance holds nothing any more."""
        ...

    def report_counters(self, query: str, counters: Mapping[str, int]) -> None:
        """All instances have ended; what they counted (`engine.runtime.analysis`), if the query is analyzed."""
        ...


class Production(Protocol):
    """A job whose tasks send (`engine.executors.spark.production`). ended: what they have sent, or the job's error."""

    @property
    def ended(self) -> asyncio.Future[Sent]: ...

    async def close(self) -> None: ...


class TaskSenders(Protocol):
    """The engine whose tasks send by themselves: `engine.executors.spark.productions.Productions`. name: in whose SQL its
    statements are."""

    @property
    def name(self) -> EngineName: ...

    async def produce(
        self,
        context: ExecutionContext,
        statement: str,
        tables: Mapping[str, Table],
        edges: tuple[Edge | None, ...],
        *,
        parting: str | None = None,
        base: int = 0,
    ) -> Production: ...


class Source(Protocol):
    async def next_batch(self) -> pa.RecordBatch | None: ...

    async def close(self) -> None: ...


class Writers(Protocol):
    """The writer of a member's part of a MUTATE: `engine.statements.dml.participant.StagedWriters`.

    Its sources yield their result when all rows are in files, and raise SqlError for a folder that this member may not write.
    """

    def intents(self, rows: Source, spec: MutationSpec, memory: MemoryShare | None) -> Source:
        """Return a source that writes the rows of another one. Closing it closes that source, and removes files that were not
        reported. memory: as in `ExecutionContext`."""
        ...

    def intents_of_tasks(self, find: Callable[[], SparkRows], context: ExecutionContext, spec: MutationSpec) -> Source:
        """Return a source that has this member's Spark write the rows that it computes. find: may block."""
        ...


class QueryRun:
    """See the module's docstring. numbers: of the instances that run as tasks, as `Host.instance_ended` names them.

    statements: what another member may have this one run, where the query is another's; None: this member has compiled it.
    """

    def __init__(
        self, host: Host, query: str, shared: SharedSpec, spec: MemberSpec, *, statements: PeerStatements | None = None
    ) -> None:
        self.query = query
        self._statements = statements
        self.shared = shared
        self.counters: Counter[str] = Counter()
        self._host = host
        self._edges = {edge.id: edge for edge in shared.edges}
        self._fragments = {fragment.id: fragment for fragment in shared.fragments}
        self._instances = spec.instances
        self._told = {(channel.edge, channel.receiver): channel for channel in spec.channels}
        self._told_at = spec.host, spec.port
        self._trace = spec.trace
        self._begun = time.time()
        self._used: set[tuple[int, int, int]] = set()
        self._inflows: dict[tuple[int, int], EdgeInput] = {}
        self._reading: dict[tuple[int, int], Sequence[ReaderSpec]] = {}
        self._tasks: dict[int, asyncio.Task[Cause | None]] = {}
        self._cause: Cause | None = None
        self._started = asyncio.get_running_loop().time()
        #: By fragment and instance, of those that run here and send by themselves.
        self.outputs: dict[tuple[int, int], EdgeOutput] = {}
        self.numbers = tuple(n for n, i in enumerate(spec.instances) if self._fragments[i.fragment].output is not None)

    def start(self) -> None:
        """Adopt the mailboxes of all inputs, then begin to run."""
        for instance in self._instances:
            for edge in self._fragments[instance.fragment].inputs:
                receiver = self._host.mailboxes.adopt(
                    self.query, self._edges[edge], instance.instance, self.shared.page_bytes
                )
                self._inflows[edge, instance.instance] = EdgeInput(self._edges[edge], receiver)
        loop = asyncio.get_running_loop()
        for number in self.numbers:
            task = self._tasks[number] = loop.create_task(self._run(self._instances[number]))
            task.add_done_callback(functools.partial(self._on_instance_ended, number))

    def instance_states(self) -> Iterator[tuple[InstanceSpec, FragmentSpec, InstanceState, float]]:
        """Each instance that runs here: what has become of it, and the seconds that it has run so far."""
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
        """The stream that the portal reads. schema: of its batches, in carriers."""
        fragment, instance = self._root_instance()
        return self._source(fragment, instance, schema, None)

    def root_operators(self, source: Source) -> Mapping[str, int]:
        """The counters by operator of the root's engine, after the end (`engine.contracts.profile`)."""
        return self._operators(source, self._root_instance()[1])

    def _operators(self, source: Source, instance: InstanceSpec) -> Mapping[str, int]:
        reading = self._reading.get((instance.fragment, instance.instance), ())
        files = ((reader_source(reader.reader), map(plain_path, reader.files)) for reader in reading)
        return _counters(source.operators if isinstance(source, LocalStream) else None, instance, files)

    @property
    def root_receiver(self) -> Receiver | None:
        """Return the receiver that the portal reads directly. None if the root fragment has a statement, which reads its inputs
        itself."""
        fragment, instance = self._root_instance()
        if instance.statement or fragment.statement:
            return None
        return self._host.mailboxes.find_or_make((self.query, fragment.inputs[0], instance.instance)).receiver

    def own_channels(self) -> tuple[ChannelSpec, ...]:
        """This member's receiving ends, but those whose senders are let in one after another: they have to ask."""
        found = []
        for instance in self._instances:
            for edge in self._fragments[instance.fragment].inputs:
                mailbox = self._host.mailboxes.find_or_make((self.query, edge, instance.instance))
                if not mailbox.in_turn:
                    found.append(ChannelSpec(edge, instance.instance, mailbox.channel, mailbox.token))
        return tuple(found)

    def told_channel(self, edge: int, sender: int, receiver: int) -> ChannelOk | None:
        """Where a stream is to connect, if the start has told it. Only once: a stream that was refused there has to ask."""
        told, stream = self._told.get((edge, receiver)), (edge, sender, receiver)
        if told is None or stream in self._used:
            return None
        self._used.add(stream)
        return ChannelOk(0, told.channel, told.token, *self._told_at)

    def _root_instance(self) -> tuple[FragmentSpec, InstanceSpec]:
        """The fragment without an output; only the initiator has an instance of it."""
        instance = next(i for i in self._instances if self._fragments[i.fragment].output is None)
        return self._fragments[instance.fragment], instance

    def stop(self, cause: Cause) -> None:
        """End all instances now; each reports its end. Only the first call says anything new."""
        if self._cause is None:
            self._cause = cause
            for task in self._tasks.values():
                task.cancel()

    def fail(self, error: SqlError) -> None:
        """Whatever reads an input here hears of it."""
        for mailbox in self._host.mailboxes.of_query(self.query):
            mailbox.receiver.fail(error)

    @property
    def all_arrived(self) -> bool:
        """Whether every stream into this member has been received whole and read to its end."""
        return all(mailbox.receiver.at_end for mailbox in self._host.mailboxes.of_query(self.query))

    @property
    def is_whole(self) -> bool:
        """Whether every stream into this member is here whole, in memory or on disk, read or not."""
        return all(mailbox.receiver.is_whole for mailbox in self._host.mailboxes.of_query(self.query))

    def sender_of(self, opening: Open) -> str:
        """The member that sends a stream into this one; empty if the stream has a number that none of its edge has."""
        edge = self._edges.get(opening.edge)
        if edge is None:
            return ""
        number = opening.partition if edge.counted else opening.partition >> PARTITION_BITS
        return edge.senders[number] if number < len(edge.senders) else ""

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
            self._trace_instance(instance, begun, self._cause)
            raise
        self._trace_instance(instance, begun, cause)
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

    def _trace_instance(self, instance: InstanceSpec, begun: float, cause: Cause | None) -> None:
        """Record the span of an instance that has ended, and that of the edge that it has sent over."""
        if not self._trace:
            return
        error = None if cause is None or not cause.is_failure else f"{cause.sqlstate}: {cause.message}"
        rows = self.counters[f"instance.{instance.fragment}.{instance.instance}.rows"]
        parent = self._trace_fragment(instance, begun, rows, error)
        edge = f"edge.{self._fragments[instance.fragment].output}"
        sent = {f"sluice.{name}": self.counters[f"{edge}.{name}"] for name in ("bytes", "batches", "stalls")}
        about: dict[str, str | int] = {
            "sluice.edge": self._fragments[instance.fragment].output or 0,
            "sluice.sender": instance.instance,
        }
        tracing.record("edge", parent, begun, {**about, **sent}, error=error)

    def trace_root(self, rows: int, error: SqlError | None) -> None:
        """Record the span of the root, which the portal has read."""
        if self._trace:
            told = None if error is None else f"{error.sqlstate}: {error.message}"
            self._trace_fragment(self._root_instance()[1], self._begun, rows, told)

    def _trace_fragment(self, instance: InstanceSpec, begun: float, rows: int, error: str | None) -> str:
        fragment = self._fragments[instance.fragment]
        about: dict[str, str | int] = {
            "sluice.query": self.query, "sluice.member": self._host.member, "sluice.fragment": instance.fragment,
            "sluice.instance": instance.instance, "sluice.engine": fragment.engine, "sluice.rows": rows,
        }  # fmt: skip
        return tracing.record("fragment", self._trace, begun, about, error=error)

    def _on_instance_ended(self, number: int, task: asyncio.Task[Cause | None]) -> None:
        if self.shared.analyze and all(other.done() for other in self._tasks.values()):
            self._host.report_counters(self.query, self.counters)
        # One that was cancelled was stopped by somebody who knows why.
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
                # Its turn comes when the receiver takes the stream; until then nothing is read for it. (One with inputs takes
                # them all the same: who sends them sends to others too.)
                await output.wait_opened()
            source = self._source_of(fragment, instance, edge)
            self.counters[f"instance.{instance.fragment}.{instance.instance}.begun"] = 1
            while output.is_wanted and (batch := await source.next_batch()) is not None:
                await output.send(batch)
            self.counters.update(self._operators(source, instance))
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

    def _source_of(self, fragment: FragmentSpec, instance: InstanceSpec, edge: EdgeSpec) -> Source:
        """Return the source of the fragment's edge: its rows or, for a change, the report of what was written."""
        spec = fragment.mutation
        if spec is not None and fragment.engine == "spark":
            return self._host.writers.intents_of_tasks(
                functools.partial(self._spark_rows, instance, stream_schema(spec.input)), self._context(), spec
            )
        is_judged = instance.readers or self._statements is not None
        find = functools.partial(self._reader_parameters, fragment, instance) if is_judged else None
        source = self._source(fragment, instance, _rows_schema(fragment, edge), find)
        return source if spec is None else self._host.writers.intents(source, spec, self.shared.memory)

    def _spark_rows(self, instance: InstanceSpec, schema: pa.Schema) -> SparkRows:
        """May block."""
        assert instance.statement is not None, "on Spark each instance has a statement of its own"
        return SparkRows(instance.statement, self._tables(instance, None), schema)

    def _tables(self, instance: InstanceSpec, parting: str | None) -> Mapping[str, Table]:
        """The tables of an instance on Spark, by their names, when its statements may be run. parting: as in `RouterSpec`. May
        block. Raises SqlError."""
        tables = self._host.files.of(instance).tables
        if self._statements is not None:
            statement, names = instance.statement or "", frozenset(tables)
            self._host.files.require(self._statements.require(self.query, self._host.spark.name, statement, names))
            if parting is not None:
                self._host.files.require(self._statements.require(self.query, "local", parting, PART))
        return tables

    def _context(self) -> ExecutionContext:
        return ExecutionContext(
            QueryId.parse(self.query),
            self.shared.time_zone,
            self.shared.page_bytes,
            analyze=self.shared.analyze,
            trace=self._trace,
        )

    async def _close(self, source: Source | None, output: EdgeOutput, cause: Cause) -> None:
        if self._cause is not None and self._cause.is_failure:
            cause = self._cause
        try:
            await output.abandon(cause.sqlstate, cause.message, cause.detail, cause.hint, cause.fields)
        finally:
            if source is not None:
                await source.close()

    async def _produce_in_tasks(self, instance: InstanceSpec) -> None:
        """On Spark: its tasks are the senders, once it is known where the receivers are."""
        fragment = self._fragments[instance.fragment]
        assert fragment.output is not None, "the root runs in this process"
        assert instance.statement is not None, "on Spark each instance has a statement of its own"
        edge, sender = self._edges[fragment.output], instance.instance
        tables = await self._host.local.in_pool(lambda: self._tables(instance, edge.router.parting))
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
            self._context(),
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
            self.counters.update(_counters(sent.operators, instance, files))
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

    def _reader_parameters(self, fragment: FragmentSpec, instance: InstanceSpec) -> Mapping[str, Any]:
        """Return the parameters for the instance's readers: the files that this member has found and that it allows to be read.
        Checks the statement of the instance too. May block. Raises SqlError."""
        statement = instance.statement or fragment.statement
        if self._statements is not None and statement is not None:
            inputs = frozenset(map(relation_of, fragment.inputs))
            self._host.files.require(self._statements.require(self.query, "local", statement, inputs))
        readers = self._reading[instance.fragment, instance.instance] = self._host.files.of(instance).readers
        return _parameters(readers)

    def _source(
        self,
        fragment: FragmentSpec,
        instance: InstanceSpec,
        schema: pa.Schema,
        find: Callable[[], Mapping[str, Any]] | None,
    ) -> Source:
        """find: as in `LocalWork`; None: it reads what the instance says, as this member has told itself."""
        inflows = {relation_of(edge): self._inflows[edge, instance.instance] for edge in fragment.inputs}
        statement = instance.statement or fragment.statement
        if statement is None:
            [only] = inflows.values()
            return _Passed(LimitedRows(only, fragment.skip, fragment.count))
        return self._host.local.run(
            LocalWork(
                statement,
                schema,
                self.shared.page_bytes,
                self.shared.time_zone,
                parameters={} if find is not None else _parameters(instance.readers),
                inputs=inflows,
                find=find,
                analyze=self.shared.analyze,
                memory=self.shared.memory,
            )
        )

    def _opener(self, edge: EdgeSpec, sender: int) -> Callable[[int], Awaitable[OutboundStream]]:
        return lambda receiver: self._host.channels.open_stream(self.query, edge, sender, receiver)

    async def _in_pool(self, call: Callable[[], Pieces]) -> Pieces:
        pieces: Pieces = await self._host.local.in_pool(call)
        return pieces

    def _count(
        self, instance: InstanceSpec, edge: EdgeSpec, counted: tuple[int, int, int, int], started: float
    ) -> None:
        """counted: rows, each once, however many receivers got it; batches, bytes and stalls of all streams."""
        micros = int((asyncio.get_running_loop().time() - started) * 1e6)
        sent, ran = f"edge.{edge.id}", f"instance.{instance.fragment}.{instance.instance}"
        for name, count in zip(("rows", "batches", "bytes", "stalls"), counted, strict=True):
            self.counters[f"{sent}.{name}"] += count
        self.counters[f"{sent}.micros"] = max(micros, self.counters[f"{sent}.micros"])
        self.counters[f"{ran}.rows"], self.counters[f"{ran}.micros"] = counted[0], micros


def _counters(
    counted: Operator | None, instance: InstanceSpec, files: Iterable[tuple[str, Iterable[str]]]
) -> Mapping[str, int]:
    """Return the counters of an instance's engine, under the names of its sources."""
    if counted is None:
        return {}
    prefix = f"operator.{instance.fragment}.{instance.instance}"
    return counters(with_sources(counted, by_files(files)), prefix)


class _Passed:
    """A root that passes its input on."""

    def __init__(self, rows: LimitedRows) -> None:
        self._rows = rows

    async def next_batch(self) -> pa.RecordBatch | None:
        return await self._rows.next_batch()

    async def close(self) -> None:
        """Its input is the query's to close."""


def _rows_schema(fragment: FragmentSpec, edge: EdgeSpec) -> pa.Schema:
    """Return the schema of the rows that a fragment's statement gives to its router or to files."""
    if fragment.mutation is not None:
        return stream_schema(fragment.mutation.input)
    schema = stream_schema(edge.schema)
    return schema.append(_BUCKET) if edge.router.kind in ("hash", "range") else schema


def _parameters(readers: Sequence[ReaderSpec]) -> Mapping[str, Any]:
    """Values of the names by which the statement reads files (`engine.planner.distribute.dispatch`)."""
    values: dict[str, Any] = {}
    for reader in readers:
        values[f"r{reader.reader}"] = list(reader.files)
        if reader.rows is not None:
            values[f"r{reader.reader}_first"], values[f"r{reader.reader}_end"] = reader.rows
        if reader.keys is not None:
            values[f"r{reader.reader}_low"], values[f"r{reader.reader}_high"] = reader.keys
    return values

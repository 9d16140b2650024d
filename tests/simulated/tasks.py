"""Simulated Spark tasks: the rows of a fragment in partitions, each sent by a task that may die and be retried.

A task speaks as `engine.exchange.send` does, over the real state machine of the sender. It may die at any moment:
before it opens a stream, in the middle, or after the receiver has everything and before anybody knows; with a cancel
message or without one. Or its input ends too early, because its executor was lost, and it ends its streams as if they
were complete. Now and then two attempts of one partition run side by side, as in speculative execution.

`in_tasks` moves fragments from local engines to tasks: the receivers of the rows do not care which engine runs a
fragment, but they do care whether its streams come from tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa
import sqlglot
from sqlglot import exp

from engine.catalog.model.objects import Table
from engine.common.wake_signal import WakeSignal
from engine.contracts.executor import ExecutionContext
from engine.contracts.memory_share import MemoryShare
from engine.contracts.query_id import EngineName
from engine.exchange.partition_streams import Sent
from engine.exchange.routers import part_by_bucket
from engine.exchange.schemas import stream_fingerprint, stream_schema
from engine.exchange.send import Edge
from engine.executors.local.executor import LocalExecutor
from engine.executors.local.work import LocalWork
from engine.plan_ir.spec import EdgeSpec, FragmentSpec, InstanceSpec, MemberSpec, MutationSpec, SharedSpec
from engine.planner.codegen import to_sql
from engine.runtime.run_services import Production, Source
from engine.sql.trees.engine_dialects import DIALECTS
from engine.statements.shared.distribution import DistributedQuery
from wire.errors import QueryCanceled, SerializationFailure
from wire.mesh.channel import DataSender, State
from wire.mesh.framing import RemoteProtocolError
from wire.mesh.messages import VERSION, Cancel, Deny, Open

_ATTEMPTS: Final = 4
_PARTITIONS: Final = 3
#: How often a task dies where it may, or its input is cut off there, and how often two attempts run at once.
_DIES: Final = 0.08
_CUT: Final = 0.02
_SPECULATES: Final = 0.1
_RETRY_SECONDS: Final = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
_REWRITTEN: Final = 4096
_BUCKET: Final = "bucket"
#: The statement that says who receives a row: the fragment has computed it.
_PARTING: Final = "SELECT bucket FROM part"
#: over: nobody wants the rows. complete: the receiver has them from another attempt. failed: this attempt is of no more use.
_End = Literal["over", "complete", "failed"]


class NoWriters:
    """The `engine.runtime.run_services.Writers` of a cluster whose tables never change."""

    def intents(self, rows: Any, spec: MutationSpec, memory: MemoryShare | None) -> Source:
        raise AssertionError("nothing is written")

    def intents_of_tasks(self, find: Any, context: ExecutionContext, spec: MutationSpec) -> Source:
        raise AssertionError("nothing is written")


class SimulatedTasks:
    """The `engine.runtime.run_services.TaskSenders`, whose tasks run on DuckDB.

    running: the number of jobs.
    troubled: the queries of which a task died, had its input cut off, lost its connection, which its stream does not
        outlive, or ran twice at once.
    """

    name: EngineName = "local"

    def __init__(self, local: LocalExecutor, chance: Random) -> None:
        self._local = local
        self._chance = chance
        self.running = 0
        self.troubled: set[str] = set()

    async def produce(
        self,
        context: ExecutionContext,
        statement: str,
        tables: Mapping[str, Table],
        edges: tuple[Edge | None, ...],
        *,
        parting: str | None = None,
        base: int = 0,
    ) -> Production:
        schema = stream_schema(next(edge.schema for edge in edges if edge is not None))
        if parting is not None:
            schema = schema.append(pa.field(_BUCKET, pa.int32()))
        work = LocalWork(statement, schema, context.page_bytes, context.time_zone)
        query, parted = str(context.query), parting is not None
        return _Job(self, query, self._local.run(work), edges, base, self._chance, parted=parted)


class _Job:
    """An `engine.runtime.run_services.Production`."""

    def __init__(
        self,
        tasks: SimulatedTasks,
        query: str,
        rows: Any,
        edges: tuple[Edge | None, ...],
        base: int,
        chance: Random,
        *,
        parted: bool,
    ) -> None:
        self._tasks = tasks
        self._query = query
        self._rows = rows
        self._edges = {number: edge for number, edge in enumerate(edges) if edge is not None}
        self._base = base
        self._chance = chance
        self._parted = parted
        self._receivers = len(edges)
        tasks.running += 1
        self.ended: asyncio.Future[Sent] = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        self.ended.cancel()
        await asyncio.wait([self.ended])
        if not self.ended.cancelled():
            self.ended.exception()
        await self._rows.close()
        self._tasks.running -= 1

    async def _run(self) -> Sent:
        partitions: list[list[pa.RecordBatch]] = [[] for _ in range(self._chance.randint(1, _PARTITIONS))]
        while (batch := await self._rows.next_batch()) is not None:
            self._chance.choice(partitions).append(batch)
        work = [asyncio.ensure_future(self._partition(n, batches)) for n, batches in enumerate(partitions)]
        try:
            whole = await asyncio.gather(*work)
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
        rows: dict[int, dict[int, int]] = {}
        for number, counts in enumerate(whole):
            for receiver, count in counts.items():
                rows.setdefault(receiver, {})[self._base + number] = count
        return Sent(rows, 0, 0, 0)

    async def _partition(self, number: int, batches: Sequence[pa.RecordBatch]) -> dict[int, int]:
        """Send a partition. Returns its rows by receiver that has the complete stream. Raises SerializationFailure
        after too many attempts.
        """
        attempts = iter(range(_ATTEMPTS))
        first = asyncio.ensure_future(self._attempt(number, next(attempts), batches))
        running = [first]
        try:
            while running:
                if (
                    len(running) == 1
                    and self._chance.random() < _SPECULATES
                    and (n := next(attempts, None)) is not None
                ):
                    self._in_trouble()
                    await asyncio.sleep(self._chance.uniform(0, 0.01))
                    running.append(asyncio.ensure_future(self._attempt(number, n, batches)))
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for attempt in [attempt for attempt in running if attempt in done]:
                    running.remove(attempt)
                    if (sent := attempt.result()) is not None:
                        return sent
                if not running and (n := next(attempts, None)) is not None:
                    running.append(asyncio.ensure_future(self._attempt(number, n, batches)))
        finally:
            for attempt in running:
                attempt.cancel()
            if running:
                await asyncio.wait(running)
        raise SerializationFailure("a task of the query failed too often")

    async def _attempt(self, number: int, attempt: int, batches: Sequence[pa.RecordBatch]) -> dict[int, int] | None:
        """Make one attempt. Returns None if it has died, or was refused."""
        edges = dict(self._edges)
        streams: dict[int, _TaskStream] = {}
        rows = dict.fromkeys(edges, 0)
        mortal, cut, lost = attempt < _ATTEMPTS - 1, False, False
        try:
            for batch in batches:
                place = self._chance.random() if mortal else 1.0
                if cut := place < _CUT:
                    self._in_trouble()
                    break
                for receiver, part in self._parts(batch):
                    if receiver not in edges:
                        continue
                    if mortal and self._dies():
                        return None
                    if receiver not in streams:
                        streams[receiver] = _TaskStream(edges[receiver], self._base + number, attempt)
                        await streams[receiver].open()
                    await streams[receiver].send(part)
                    rows[receiver] += part.num_rows
                    if lost := streams[receiver].end == "failed":
                        if streams[receiver].is_broken:
                            self._in_trouble()
                        return None
                    if streams[receiver].end == "over":
                        del edges[receiver], streams[receiver]
            for stream in streams.values():
                await stream.finish()
                if stream.is_broken:
                    self._in_trouble()
                if (lost := stream.end == "failed") or (mortal and self._dies()):
                    return None
            if cut:
                return None
            return {receiver: rows[receiver] for receiver, stream in streams.items() if stream.end != "over"}
        finally:
            for stream in streams.values():
                stream.close(told=self._chance.random() < 0.5, lost=lost)

    def _dies(self) -> bool:
        dies = self._chance.random() < _DIES
        if dies:
            self._in_trouble()
        return dies

    def _in_trouble(self) -> None:
        self._tasks.troubled.add(self._query)

    def _parts(self, batch: pa.RecordBatch) -> Sequence[tuple[int, pa.RecordBatch]]:
        if self._parted:
            return part_by_bucket(batch, self._receivers)
        return [(receiver, batch) for receiver in range(self._receivers)]


class _TaskStream(asyncio.Protocol):
    """An `engine.exchange.send.StreamSender`, on an event loop. end: None while it is in progress. is_broken: whether
    its connection was reset, perhaps after it had sent everything.
    """

    def __init__(self, edge: Edge, partition: int, attempt: int) -> None:
        self.end: _End | None = None
        self.is_broken = False
        self._edge = edge
        schema = stream_fingerprint(edge.schema)
        self._opening = Open(VERSION, edge.channel, edge.token, edge.edge, partition, attempt, 0, schema)
        self._machine = DataSender(self._opening)
        self._transport: Any = None
        self._denied = ""
        self._gone = False
        self._bell = WakeSignal()

    async def open(self) -> None:
        for pause in _RETRY_SECONDS:
            self._machine, self._denied, self._gone = DataSender(self._opening), "", False
            try:
                await asyncio.get_running_loop().create_connection(lambda: self, self._edge.host, self._edge.port)
            except OSError:
                self.end = "failed"
                return
            self._transport.write(self._machine.opening_bytes())
            while self._machine.state is State.OPENING and not self._gone and self.end is None:
                await self._bell.next_ring()
            if self._denied != "unknown":
                return
            self._transport.abort()
            await asyncio.sleep(pause)
        self.end = "failed"

    async def send(self, batch: pa.RecordBatch) -> None:
        if self.end is None:
            body = memoryview(batch.serialize())
            self._transport.writelines(self._machine.offer(body, batch.num_rows))
            while self.end is None and self._machine.has_pending:
                await self._bell.next_ring()
                if self.end is None:
                    self._transport.writelines(self._machine.send_pending())

    async def finish(self) -> None:
        if self.end is None:
            self._transport.writelines(self._machine.offer(b"", 0, last=True))
            while self.end is None and not self._gone:
                await self._bell.next_ring()

    def close(self, *, told: bool, lost: bool) -> None:
        """End the stream, if it is not over. told: whether it sends a cancel; otherwise it ends as with a dead process.
        lost: whether another stream of the task has failed, rather than the task itself (`engine.exchange.send`).
        """
        if self._transport is None or self._gone:
            return
        if told and self.end is None and self._machine.state is not State.OPENING:
            cause = ("40001", "a task of the query could not send its rows") if lost else ("58030", "the task died")
            self._transport.write(self._machine.cancel(*cause))
            self._transport.close()
        else:
            self._transport.abort()

    # -- asyncio.Protocol ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._machine.receive_data(data):
                match event:
                    case Cancel():
                        self.end = "over" if event.sqlstate == QueryCanceled.default_sqlstate else "failed"
                    case Deny("unknown"):
                        self._denied = "unknown"
                    case Deny("complete"):
                        self.end = "complete"
                    case Deny(reason):
                        self.end = "over" if reason == "closed" else "failed"
        except RemoteProtocolError:
            self.end = "failed"
        self._bell.ring()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = True
        self.is_broken = exc is not None
        if self.end is None and self._denied == "" and self._machine.state is not State.DONE:
            self.end = "failed"
        self._bell.ring()


def in_tasks(query: DistributedQuery, wanted: Random) -> DistributedQuery:
    """Return the query with some of its leaves run by tasks."""
    shared = SharedSpec.decode(query.shared)
    edges = {edge.id: edge for edge in shared.edges}
    chosen = {f.id: edges[f.output] for f in shared.fragments if _may(f, edges) and wanted.random() < 0.6 and f.output}
    if not chosen:
        return query
    outputs = {edge.id for edge in chosen.values()}
    statements = {fragment.id: fragment.statement for fragment in shared.fragments}
    changed = msgspec.structs.replace(
        shared,
        edges=tuple(_sent_by_tasks(edge) if edge.id in outputs else edge for edge in shared.edges),
        fragments=tuple(
            msgspec.structs.replace(f, engine="spark", statement=None) if f.id in chosen else f
            for f in shared.fragments
        ),
    )
    encoded = msgspec.msgpack.encode(changed)
    members = {
        name: MemberSpec(
            msgspec.Raw(encoded),
            tuple(_with_files(i, statements[i.fragment]) if i.fragment in chosen else i for i in spec.instances),
        )
        for name, spec in query.members.items()
    }
    return replace(query, shared=encoded, members=members)


def _may(fragment: FragmentSpec, edges: Mapping[int, EdgeSpec]) -> bool:
    if fragment.output is None or fragment.inputs or fragment.mutation is not None or fragment.engine != "local":
        return False
    return edges[fragment.output].synchronizer == "unsynchronized"


def _sent_by_tasks(edge: EdgeSpec) -> EdgeSpec:
    router = edge.router
    if router.kind in ("hash", "range"):
        router = msgspec.structs.replace(router, parting=_PARTING)
    return msgspec.structs.replace(edge, counted=False, router=router)


@lru_cache(_REWRITTEN)
def _with_files(instance: InstanceSpec, statement: str | None) -> InstanceSpec:
    """Return the instance with a statement that names its files, because tasks receive no parameters."""
    values: dict[str, exp.Expression] = {}
    for reader in instance.readers:
        name = f"r{reader.reader}"
        values[name] = exp.Array(expressions=[exp.Literal.string(file) for file in reader.files])
        for key, value in zip(("first", "end"), reader.rows or (), strict=False):
            values[f"{name}_{key}"] = exp.Literal.number(value)
        for key, bound in zip(("low", "high"), reader.keys or (), strict=False):
            values[f"{name}_{key}"] = exp.Null() if bound is None else exp.Literal.string(bound)
    text = instance.statement or statement
    assert text is not None, "a fragment of the local engine has a statement"
    tree = sqlglot.parse_one(text, dialect=DIALECTS["local"])
    tree = tree.transform(lambda node: values[node.name].copy() if isinstance(node, exp.Placeholder) else node)
    return InstanceSpec(instance.fragment, instance.instance, statement=to_sql(tree, "local"))

"""The runtime of a member: connects queries, mailboxes, engines and the mesh.

    runtime = MeshRuntime(mesh, listener, local, spark, spooler, operations, files, writers)
    runtime.start()
    stream = runtime.open(query, shared, members, schema)       # as initiator: a BatchStream for the portal
    await runtime.close()

Messages go IO loop -> operation pool -> loop: an operation thread steps the pure machines (`engine.runtime.queries`) of
its partition of the queries, so that messages of one query are always processed in order, one at a time. The machines'
instructions are then performed on the loop, in their order. A step with no other step queued before it, and no long
plan to read, is taken on the loop itself: it ends before a thread would have woken. Fragments run on the fragment pool
(`engine.executors.local`) or on Spark.

Batches do not pass through the operation pool: a data connection carries one stream, so TCP keeps its order already,
and accepting a batch means putting it into a queue, which costs less than waking a thread would.

Sources: network-protocol seed 3, threading seed 2, channel seed ("Control Connections").
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec
import pyarrow as pa

from engine.common.shielded import closed_in_turn
from engine.contracts.mesh import Mesh
from engine.contracts.query_id import QueryId
from engine.exchange.edge_totals import EdgeTotals
from engine.exchange.listener import DataListener
from engine.exchange.spool import Spooler
from engine.executors.local.executor import LocalExecutor
from engine.plan_ir.spec import MemberSpec, SharedSpec
from engine.runtime.channels import Channels
from engine.runtime.distributed_stream import DistributedStream
from engine.runtime.drain import Drain
from engine.runtime.mailboxes import Mailboxes
from engine.runtime.operation_pool import Operations
from engine.runtime.peer_statements import PeerStatements
from engine.runtime.query_run import QueryRun
from engine.runtime.query_state import (
    Cause,
    DropEarly,
    Fail,
    Forget,
    Refused,
    Send,
    Stop,
    lost,
    transient_cause,
)
from engine.runtime.query_steps import Do, PreparedRun, QuerySteps
from engine.runtime.readable_files import ReadableFiles
from engine.runtime.run_figures import RunFigures
from engine.runtime.run_services import TaskSenders, Writers
from engine.runtime.spawned_tasks import SpawnedTasks
from wire.errors import AdminShutdown
from wire.mesh.control_messages import (
    ChannelDeny,
    ChannelOk,
    Check,
    CheckResponse,
    ControlMessage,
    Counted,
    OpenChannel,
    Produced,
    Start,
)
from wire.mesh.messages import Open

_log = logging.getLogger(__name__)


class MeshRuntime:
    """See the module's docstring. Used on one loop, from `start` on."""

    def __init__(
        self,
        mesh: Mesh,
        listener: DataListener,
        local: LocalExecutor,
        spark: TaskSenders,
        spooler: Spooler,
        operations: Operations,
        files: ReadableFiles,
        writers: Writers,
    ) -> None:
        self.local = local
        self.spark = spark
        self.files = files
        self.writers = writers
        self.mailboxes = Mailboxes(listener, spooler, self._stream_lost, self._stream_interrupted)
        self.totals = EdgeTotals()
        self.tasks = SpawnedTasks()
        self._mesh = mesh
        self._runs: dict[str, QueryRun] = {}
        self._steps = QuerySteps(mesh.member, operations, self._perform)
        self.channels = Channels(mesh, listener, self.mailboxes, self._steps, self._runs.get, self.tasks.spawn)
        self._peer_statements = PeerStatements()
        self._streams: dict[str, DistributedStream] = {}
        self.figures = RunFigures(self._runs, self.mailboxes, mesh.member)
        self._departure = Drain(mesh)
        self._closing = False

    def start(self) -> None:
        """Start to receive messages from the mesh, on the running loop."""
        self._mesh.listen(self._on_message, self._on_lost)
        self._steps.start()

    # -- as initiator --------------------------------------------------------------------------------------------

    def open(
        self,
        query: str,
        shared: bytes,
        members: Mapping[str, MemberSpec],
        schema: pa.Schema,
        notice: Callable[[str], None] = lambda _message: None,
        trace: str = "",
    ) -> DistributedStream:
        """Start a query on all its members at once. schema: of the root's batches, in carriers. notice, trace: as in
        `ExecutionContext`.

        The stream raises the query's errors. Raises AdminShutdown if the member shuts down.
        """
        if self._closing:
            raise AdminShutdown("terminating connection due to administrator command")
        participants = (self._mesh.member, *(m for m in members if m != self._mesh.member))
        self._steps.post(query, lambda queries, now: queries.begin(query, participants, now))
        if trace:
            members = {name: msgspec.structs.replace(spec, trace=trace) for name, spec in members.items()}
        run = QueryRun(self, query, SharedSpec.decode(shared), members[self._mesh.member])
        counting = {name for name, spec in members.items() if _runs_tasks(spec, run)}
        stream = self._streams[query] = DistributedStream(self, run, counting, notice)
        self._runs[query] = run
        run.start()
        stream.begin(schema)
        self._steps.post(query, lambda queries, now: queries.fragments_started(query, run.numbers, now))
        if len(participants) == 1:
            return stream
        channels, (host, port) = run.inputs.own_channels(), self.channels.address
        for member in participants[1:]:
            told = msgspec.structs.replace(members[member], channels=channels, host=host, port=port)
            body = msgspec.msgpack.encode(told)
            if not self._mesh.send(member, Start(query, participants), body):
                self.cancel(query, lost(member))
        return stream

    def cancel(self, query: str, cause: Cause) -> None:
        self._steps.post(query, lambda queries, now: queries.cancel(query, cause, now))

    def finish(self, query: str) -> None:
        self._steps.post(query, lambda queries, now: queries.finish(query, now))

    def forget_stream(self, query: str) -> None:
        self._streams.pop(query, None)

    def note_wait(self, host: str, waits_for: str) -> None:
        """Tell the clients of queries that run on another member's Spark what it waits for."""
        for stream in self._streams.values():
            stream.note_wait(host, f'the Spark of member "{host}" is waiting for {waits_for}')

    # -- as host of runs (`engine.runtime.run_services.Host`) ---------------------------------------------------------

    def instance_ended(self, query: str, number: int, cause: Cause | None) -> None:
        self._steps.post(query, lambda queries, now: queries.fragment_ended(query, number, cause, now))

    def report_counters(self, query: str, counters: Mapping[str, int]) -> None:
        initiator = QueryId.parse(query).initiator
        if initiator == self._mesh.member:
            self._note(query, initiator, counters)
        else:
            self._mesh.send(initiator, Counted(query, tuple(counters.items())))

    def _note(self, query: str, member: str, counters: Mapping[str, int]) -> None:
        stream = self._streams.get(query)
        if stream is not None:
            stream.note(member, counters)

    # -- what members say ----------------------------------------------------------------------------------------

    def _on_message(self, member: str, message: ControlMessage, body: bytes) -> None:
        match message:
            case OpenChannel() | Produced() | ChannelOk() | ChannelDeny():
                self.channels.on_message(member, message)
            case Counted(query, counters):
                self._note(query, member, dict(counters))
            case Check() | CheckResponse():
                if isinstance(message, CheckResponse):
                    self._departure.over(member, message.queries)
                for tokens in self._steps.by_partition(message.queries):
                    self._steps.on_message(member, tokens[0], type(message)(tokens), b"")
            case _:
                self._steps.on_message(member, message.query, message, body)  # type: ignore[attr-defined]

    def _on_lost(self, member: str) -> None:
        self.channels.on_lost(member)
        for query, stream in self._streams.items():
            if stream.is_whole:
                self._steps.post(query, lambda queries, now, query=query: queries.streams_arrived(query))  # type: ignore[misc]
        self._steps.post_all(lambda queries, now: queries.on_member_lost(member, now))

    def _stream_lost(self, query: str, opening: Open, fatal: bool) -> None:
        """Handle a stream into this member that broke before its end; its sender may report more. If it can be sent
        again, nothing is done.
        """
        if not fatal:
            return
        run = self._runs.get(query)
        sender = run.inputs.sender_of(opening) if run is not None else ""
        message = f"could not complete the query: a data connection from member {sender or 'unknown'} was lost"
        self.cancel(query, replace(transient_cause(message), echo=True))

    def _stream_interrupted(self, query: str, opening: Open) -> None:
        """Handle a stream into this member that outlives its lost connection: tell the client what its query waits for."""
        run, stream = self._runs.get(query), self._streams.get(query)
        if run is not None and stream is not None:
            sender = run.inputs.sender_of(opening)
            stream.notice(
                f"a data connection from member {sender} was lost; the query goes on when it is connected again"
            )

    # -- stepping the machines -----------------------------------------------------------------------------------

    def _perform(self, instructions: list[Do]) -> None:
        for instruction in instructions:
            match instruction:
                case Send(member, message):
                    self._mesh.send(member, message)
                case PreparedRun():
                    self._run(instruction)
                case Stop(query, cause):
                    self._stop(query, cause)
                case Fail(query, cause):
                    self._fail(query, cause)
                case DropEarly(query) | Forget(query):
                    self.tasks.spawn(self._forget(query))
                case Refused(sender, why):
                    _log.warning("refused from member %s: %s", sender, why)

    def _run(self, prepared: PreparedRun) -> None:
        query, spec = prepared.query, prepared.spec
        if spec is None or prepared.shared is None or self._closing:
            unread = Cause("08P01", "could not complete the query: the plan could not be read")
            cause = self._shutting_down() if self._closing else unread
            self._steps.post(query, lambda queries, now: queries.fragments_started(query, (), now))
            self.cancel(query, cause)
            return
        run = QueryRun(self, query, prepared.shared, spec, statements=self._peer_statements)
        self._runs[query] = run
        run.start()
        self._steps.post(query, lambda queries, now: queries.fragments_started(query, run.numbers, now))

    def _stop(self, query: str, cause: Cause) -> None:
        run = self._runs.get(query)
        if run is not None:
            self.figures.keep(query)
            run.stop(cause)
        # Senders learn at once that this query's streams are no longer accepted here.
        self.tasks.spawn(self.mailboxes.close_query(query))

    def _fail(self, query: str, cause: Cause) -> None:
        stream = self._streams.get(query)
        if stream is not None:
            stream.fail(cause.error())

    async def _forget(self, query: str) -> None:
        self.figures.keep(query)
        try:
            await self.mailboxes.close_query(query)
        finally:
            if self._runs.pop(query, None) is not None:
                self._departure.done(query)

    # -- the end -------------------------------------------------------------------------------------------------

    @property
    def load(self) -> int:
        """The number of queries that this member takes part in."""
        return len(self._runs)

    def statistics(self) -> Mapping[str, int]:
        return {"queries": len(self._runs), "requests": self.channels.pending_requests, **self.mailboxes.statistics()}

    @property
    def member(self) -> str:
        return self._mesh.member

    async def idle(self) -> None:
        """Wait until no query needs this member, neither its own queries nor those of others."""
        await self._departure.free(self._runs)

    def _shutting_down(self) -> Cause:
        member = self._mesh.member
        message = f"could not complete the query: member {member} is shutting down"
        return Cause("57P01", message, hint="The statement may be repeated.", member=member)

    async def close(self) -> None:
        """End all queries. Idempotent. The owner of the mesh and of the listener closes them afterwards."""
        self._closing = True
        self.channels.refuse()
        self._steps.end_ticks()
        cause = self._shutting_down()
        for query in list(self._runs):
            self.cancel(query, cause)
        for run in list(self._runs.values()):
            run.stop(cause)
        await closed_in_turn(
            *(run.wait_ended for run in list(self._runs.values())),
            self.tasks.wait_ended,
            self.mailboxes.close,
        )
        self._runs.clear()
        self._steps.close()


def _runs_tasks(spec: MemberSpec, run: QueryRun) -> bool:
    """Return whether a member runs anything except the root."""
    roots = {fragment.id for fragment in run.shared.fragments if fragment.output is None}
    return any(instance.fragment not in roots for instance in spec.instances)

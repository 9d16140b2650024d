"""The runtime of a member: what ties queries, mailboxes, engines and the mesh together.

    runtime = MeshRuntime(mesh, listener, local, spark, spooler, operations, files, writers)
    runtime.start()
    stream = runtime.open(query, shared, members, schema)       # as initiator: a BatchStream for the portal
    await runtime.close()

Messages go IO loop -> operation pool -> loop: an operation thread steps the pure machines (`engine.runtime.queries`) of its
partition of the queries, so that messages of one query are always taken in order, one at a time; what the machines want is
then done on the loop, in their order. A step that has none before it, and no long plan to read, is taken on the loop itself:
it is over before a thread would have woken. Fragments run on the fragment pool (`engine.executors.local`) or on Spark.

Batches do not pass through the operation pool: a data connection carries one stream, so its order is TCP's already, and to take
a batch is to put it into a queue, which costs less than waking a thread would.

Sources: network-protocol seed 3, threading seed 2, channel seed ("Control Connections").
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import threading
import zlib
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Set
from dataclasses import replace
from typing import Any, Final

import msgspec
import pyarrow as pa

from engine.common.shielded import closed_in_turn, shielded
from engine.contracts.activity import Observed
from engine.contracts.mesh import Mesh
from engine.contracts.query_id import QueryId
from engine.exchange.edge_totals import EdgeTotals
from engine.exchange.listener import DataListener
from engine.exchange.mesh_tls import TlsPeer
from engine.exchange.outbound import (
    ConnectionBroken,
    LastingStream,
    LoopbackStream,
    OutboundStream,
    RemoteStream,
    open_remote,
    refusal,
)
from engine.exchange.receive import Denied
from engine.exchange.schemas import stream_fingerprint
from engine.exchange.spool import Spooler
from engine.executors.local.executor import LocalExecutor
from engine.plan_ir.spec import EdgeSpec, MemberSpec, SharedSpec
from engine.runtime.analysis import merge_counters
from engine.runtime.drain import Drain
from engine.runtime.ended_figures import EndedFigures
from engine.runtime.mailboxes import Mailbox, Mailboxes
from engine.runtime.operation_pool import Operations
from engine.runtime.peer_statements import PeerStatements
from engine.runtime.queries import ChannelState, MemberQueries
from engine.runtime.query_run import QueryRun, Source, TaskSenders, Writers
from engine.runtime.query_state import (
    SUCCESS,
    Cause,
    DropEarly,
    Fail,
    Forget,
    Instruction,
    Refused,
    Run,
    Send,
    Stop,
    lost,
    transient_cause,
)
from engine.runtime.readable_files import ReadableFiles
from engine.runtime.requests import Requests
from engine.runtime.spool_while_idle import IdleSpool
from engine.runtime.stream_counts import edges_of, fragments_of
from wire.dataclass import dataclass
from wire.errors import AdminShutdown, ConnectionFailure, QueryCanceled, SqlError
from wire.mesh.backlog import Backlog
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
from wire.mesh.messages import VERSION, Open

_log = logging.getLogger(__name__)
_TICK_SECONDS: Final = 0.5
#: How long the initiator waits for counters once all rows are there.
_COUNTED_SECONDS: Final = 5.0
#: A body that the loop reads by itself; longer ones are left to a thread.
_SHORT_BODY: Final = 1 << 16
_CLOSED_EARLY: Final = Cause(SUCCESS, "the initiator wants no more rows")
_Ask = Callable[[MemberQueries, float], list[Instruction]]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A Run whose body has been read; None: it could not be."""

    query: str
    shared: SharedSpec | None
    spec: MemberSpec | None


#: What a step leaves for the loop to do.
_Do = Instruction | _Prepared


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
        self._listener = listener
        self.mailboxes = Mailboxes(listener, spooler, self._stream_lost, self._stream_interrupted)
        self.totals = EdgeTotals()
        self._mesh = mesh
        self._operations = operations
        self._shards = [MemberQueries(mesh.member) for _ in range(operations.threads)]
        self._loop: asyncio.AbstractEventLoop
        self._thread: int
        self._peer_statements = PeerStatements()
        self._runs: dict[str, QueryRun] = {}
        self._streams: dict[str, DistributedStream] = {}
        self._ended = EndedFigures()
        self._requests: Requests[ChannelOk] = Requests(_not_connected)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticking: asyncio.TimerHandle | None = None
        self._departure = Drain(mesh)
        self._closing = False
        self._closed = False

    def start(self) -> None:
        """Begin to hear the mesh, on the loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._mesh.listen(self._on_message, self._on_lost)
        self._tick()

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

        Its errors come from the stream. Raises AdminShutdown when the member is ending.
        """
        if self._closing:
            raise AdminShutdown("terminating connection due to administrator command")
        participants = (self._mesh.member, *(m for m in members if m != self._mesh.member))
        self._post(query, lambda queries, now: queries.begin(query, participants, now))
        if trace:
            members = {name: msgspec.structs.replace(spec, trace=trace) for name, spec in members.items()}
        run = QueryRun(self, query, SharedSpec.decode(shared), members[self._mesh.member])
        counting = {name for name, spec in members.items() if _runs_tasks(spec, run)}
        stream = self._streams[query] = DistributedStream(self, run, counting, notice)
        self._runs[query] = run
        run.start()
        stream.begin(schema)
        self._post(query, lambda queries, now: queries.fragments_started(query, run.numbers, now))
        if len(participants) == 1:
            return stream
        channels, (host, port) = run.own_channels(), self._listener.address_from_afar
        for member in participants[1:]:
            told = msgspec.structs.replace(members[member], channels=channels, host=host, port=port)
            body = msgspec.msgpack.encode(told)
            if not self._mesh.send(member, Start(query, participants), body):
                self.cancel(query, lost(member))
        return stream

    def cancel(self, query: str, cause: Cause) -> None:
        self._post(query, lambda queries, now: queries.cancel(query, cause, now))

    def finish(self, query: str) -> None:
        self._post(query, lambda queries, now: queries.finish(query, now))

    def forget_stream(self, query: str) -> None:
        self._streams.pop(query, None)

    # -- as host of runs (`engine.runtime.query_run.Host`) ---------------------------------------------------------

    def instance_ended(self, query: str, number: int, cause: Cause | None) -> None:
        self._post(query, lambda queries, now: queries.fragment_ended(query, number, cause, now))

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

    async def open_stream(self, query: str, edge: EdgeSpec, sender: int, receiver: int) -> OutboundStream:
        """The stream from instance `sender` to instance `receiver` of an edge. Raises as `edge_output.Opener` says."""
        if edge.receivers[receiver] == self._mesh.member:
            mailbox = await self._own_mailbox(query, edge, sender, receiver)
            try:
                return LoopbackStream(mailbox.receiver, _open_message(edge, sender, mailbox.channel, mailbox.token))
            except Denied as denied:
                raise refusal(denied.reason, str(denied)) from denied
        run = self._runs.get(query)
        if run is not None and run.shared.lasting:
            return await LastingStream.open(functools.partial(self._connect, query, edge, sender, receiver))
        return await self._connect(query, edge, sender, receiver)

    async def _connect(
        self, query: str, edge: EdgeSpec, sender: int, receiver: int, attempt: int = 0, backlog: Backlog | None = None
    ) -> RemoteStream:
        """A data connection for a stream; attempt, backlog: as in `outbound.Connector`."""
        run = self._runs.get(query)
        told = run.told_channel(edge.id, sender, receiver) if run is not None else None
        found = told or await self.find_channel(query, edge, sender, receiver)
        tls, member = self._listener.tls, edge.receivers[receiver]
        kept = None if backlog is None else backlog.first
        opening = _open_message(edge, sender, found.channel, found.token, attempt, kept)
        return await open_remote(found.host, found.port, opening, tls=tls, member=member, backlog=backlog)

    def tls_peer(self, member: str) -> TlsPeer | None:
        """How Spark tasks are to connect to a member; None: in the clear."""
        return self._listener.tls.peer(member) if self._listener.tls is not None else None

    async def find_channel(self, query: str, edge: EdgeSpec, sender: int, receiver: int) -> ChannelOk:
        """Where that stream is to connect. Raises as `edge_output.Opener` says."""
        member = edge.receivers[receiver]
        if member != self._mesh.member:
            return await self._ask_channel(member, query, edge.id, sender, receiver)
        mailbox = await self._own_mailbox(query, edge, sender, receiver)
        # That of a member without others listens from when tasks of its own need it.
        await self._listener.start()
        return ChannelOk(0, mailbox.channel, mailbox.token, *self._listener.address_from_afar)

    async def _own_mailbox(self, query: str, edge: EdgeSpec, sender: int, receiver: int) -> Mailbox:
        """The mailbox of an instance that runs here, when it is the sender's turn."""
        mailbox = self.mailboxes.find_or_make((query, edge.id, receiver))
        if mailbox.in_turn:
            await mailbox.receiver.turn(sender)
        return mailbox

    def announce_streams(self, query: str, edge: EdgeSpec, sender: int, receiver: int, rows: Mapping[int, int]) -> None:
        """Tell a receiver which streams of a producer it is to have had, and how many rows each."""
        member = edge.receivers[receiver]
        if member == self._mesh.member:
            self.mailboxes.find_or_make((query, edge.id, receiver)).receiver.confirm(rows)
        else:
            self._mesh.send(member, Produced(query, edge.id, sender, receiver, tuple(rows.items())))

    async def _ask_channel(self, member: str, query: str, edge: int, sender: int, receiver: int) -> ChannelOk:
        with self._requests.open(member) as request:
            if not self._mesh.send(member, OpenChannel(request.number, query, edge, sender, receiver)):
                raise _not_connected(member)
            return await request.answer

    # -- what members say ----------------------------------------------------------------------------------------

    def _on_message(self, member: str, message: ControlMessage, body: bytes) -> None:
        match message:
            case OpenChannel() | Produced():
                self._submit(message.query, functools.partial(self._judge_channel, member, message))
            case ChannelOk(request):
                self._requests.answer(member, request, message)
            case ChannelDeny(request, reason, words):
                self._requests.refuse(member, request, refusal(reason, words))
            case Counted(query, counters):
                self._note(query, member, dict(counters))
            case Check() | CheckResponse():
                if isinstance(message, CheckResponse):
                    self._departure.over(message.queries)
                for tokens in self._by_partition(message.queries):
                    self._hand_over(member, tokens[0], type(message)(tokens), b"")
            case _:
                self._hand_over(member, message.query, message, body)  # type: ignore[attr-defined]

    def _hand_over(self, member: str, query: str, message: ControlMessage, body: bytes) -> None:
        step = functools.partial(self._step, lambda queries, now: queries.on_message(member, message, body, now))
        self._submit(query, step, short=len(body) <= _SHORT_BODY)

    def _on_lost(self, member: str) -> None:
        self._requests.member_lost(member)
        for query, stream in self._streams.items():
            if stream.is_whole:
                self._post(query, lambda queries, now, query=query: queries.streams_arrived(query))  # type: ignore[misc]
        self._post_all(lambda queries, now: queries.on_member_lost(member, now))

    def _judge_channel(self, member: str, message: OpenChannel | Produced, shard: int) -> None:
        """In the query's turn: is what a sender speaks of wanted here?"""
        state = self._shards[shard].channel(message.query, self._loop.time())
        self._later(self._answer_channel, member, message, state)

    def _answer_channel(self, member: str, message: OpenChannel | Produced, state: ChannelState) -> None:
        answer: ControlMessage
        if state in ("running", "early") and not self._closing:
            mailbox = self.mailboxes.find_or_make((message.query, message.edge, message.receiver))
            if isinstance(message, Produced):
                mailbox.receiver.confirm(dict(message.rows))
            else:
                self.spawn(self._offer(member, message, mailbox))
            return
        if isinstance(message, Produced):
            return
        if state == "unknown":
            answer = ChannelDeny(message.request, "unknown", "too many queries have not started yet")
        else:
            answer = ChannelDeny(message.request, "closed", "the query is over")
        self._mesh.send(member, answer)

    async def _offer(self, member: str, message: OpenChannel, mailbox: Mailbox) -> None:
        """Say where to connect; where streams are read one after another, when its turn has come."""
        if mailbox.in_turn:
            await mailbox.receiver.turn(message.sender)
        where = self._listener.address_from_afar
        self._mesh.send(member, ChannelOk(message.request, mailbox.channel, mailbox.token, *where))

    def _stream_lost(self, query: str, opening: Open, fatal: bool) -> None:
        """A stream into this member broke before its end; whoever broke it may say more. If it may be sent again, all is well."""
        if not fatal:
            return
        run = self._runs.get(query)
        sender = run.sender_of(opening) if run is not None else ""
        message = f"could not complete the query: a data connection from member {sender or 'unknown'} was lost"
        self.cancel(query, replace(transient_cause(message), echo=True))

    def _stream_interrupted(self, query: str, opening: Open) -> None:
        """A stream into this member outlives the connection that it has lost; the client is told what its query waits for."""
        run, stream = self._runs.get(query), self._streams.get(query)
        if run is not None and stream is not None:
            sender = run.sender_of(opening)
            stream.notice(
                f"a data connection from member {sender} was lost; the query goes on when it is connected again"
            )

    # -- stepping the machines -----------------------------------------------------------------------------------

    def _post(self, query: str, ask: _Ask) -> None:
        self._submit(query, functools.partial(self._step, ask))

    def _post_all(self, ask: _Ask) -> None:
        if self._closed:
            return
        for shard in range(len(self._shards)):
            self._operations.post(shard, functools.partial(self._step, ask, shard))

    def _submit(self, query: str, call: Callable[[int], None], *, short: bool = True) -> None:
        if self._closed:
            return
        shard = self._partition(query)
        run = self._operations.run_or_post if short else self._operations.post
        run(shard, functools.partial(call, shard))

    def _partition(self, query: str) -> int:
        return zlib.crc32(query.encode()) % len(self._shards)

    def _by_partition(self, queries: tuple[str, ...]) -> list[tuple[str, ...]]:
        parts: defaultdict[int, list[str]] = defaultdict(list)
        for query in queries:
            parts[self._partition(query)].append(query)
        return [tuple(part) for part in parts.values()]

    def _step(self, ask: _Ask, shard: int) -> None:
        """In the shard's turn, on an operation thread or on the loop's."""
        instructions = ask(self._shards[shard], self._loop.time())
        prepared: list[_Do] = [_prepare_run(i) if isinstance(i, Run) else i for i in instructions]
        if prepared:
            self._later(self._perform, prepared)

    def _later(self, call: Callable[..., None], *args: Any) -> None:
        """Have the loop call it when it comes to it: never within another call, and in the order of the steps."""
        if threading.get_ident() == self._thread:
            self._loop.call_soon(call, *args)
        else:
            self._loop.call_soon_threadsafe(call, *args)

    def _perform(self, instructions: list[_Do]) -> None:
        for instruction in instructions:
            match instruction:
                case Send(member, message):
                    self._mesh.send(member, message)
                case _Prepared():
                    self._run(instruction)
                case Stop(query, cause):
                    self._stop(query, cause)
                case Fail(query, cause):
                    self._fail(query, cause)
                case DropEarly(query) | Forget(query):
                    self.spawn(self._forget(query))
                case Refused(sender, why):
                    _log.warning("refused from member %s: %s", sender, why)

    def _run(self, prepared: _Prepared) -> None:
        query, spec = prepared.query, prepared.spec
        if spec is None or prepared.shared is None or self._closing:
            unread = Cause("08P01", "could not complete the query: the plan could not be read")
            cause = self._shutting_down() if self._closing else unread
            self._post(query, lambda queries, now: queries.fragments_started(query, (), now))
            self.cancel(query, cause)
            return
        run = QueryRun(self, query, prepared.shared, spec, statements=self._peer_statements)
        self._runs[query] = run
        run.start()
        self._post(query, lambda queries, now: queries.fragments_started(query, run.numbers, now))

    def _stop(self, query: str, cause: Cause) -> None:
        run = self._runs.get(query)
        if run is not None:
            self.keep_figures(query)
            run.stop(cause)
        # Senders hear at once that nothing of this query is wanted here.
        self.spawn(self.mailboxes.close_query(query))

    def _fail(self, query: str, cause: Cause) -> None:
        stream = self._streams.get(query)
        if stream is not None:
            stream.fail(cause.error())

    async def _forget(self, query: str) -> None:
        self.keep_figures(query)
        try:
            await self.mailboxes.close_query(query)
        finally:
            if self._runs.pop(query, None) is not None:
                self._departure.done(query)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something to its end that nobody waits for, but `close`."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._spawned_over)

    def _spawned_over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the end of a query was not in order", exc_info=error)

    def _tick(self) -> None:
        # First: what goes wrong with one tick is no reason for there to be no other.
        self._ticking = self._loop.call_later(_TICK_SECONDS, self._tick)
        self._post_all(lambda queries, now: queries.tick(now))

    # -- the end -------------------------------------------------------------------------------------------------

    @property
    def load(self) -> int:
        """How many queries this member takes part in."""
        return len(self._runs)

    def statistics(self) -> Mapping[str, int]:
        return {"queries": len(self._runs), "requests": len(self._requests), **self.mailboxes.statistics()}

    @property
    def member(self) -> str:
        return self._mesh.member

    @property
    def streams_out(self) -> int:
        """How many streams of instances that run here are open."""
        return sum(len(output.streams) for run in self._runs.values() for output in run.outputs.values())

    def observe(self, query: str = "") -> Observed:
        """The fragments that run here and the streams that end or begin here. query: only this one's, whose last figures are there
        for some time after its end."""
        runs = list(self._runs.values()) if not query else [run for run in (self._runs.get(query),) if run is not None]
        member = self._mesh.member
        observed = (
            [fragment for run in runs for fragment in fragments_of(run, member)],
            [edge for run in runs for edge in edges_of(run, self.mailboxes, member)],
        )
        return self._ended.find(query, observed)

    def keep_figures(self, query: str) -> None:
        """Before its streams are let go of."""
        if query in self._runs:
            self._ended.keep(query, self.observe(query))

    async def idle(self) -> None:
        """Wait until no query needs this member, its own or another's."""
        await self._departure.free(self._runs)

    def _shutting_down(self) -> Cause:
        member = self._mesh.member
        message = f"could not complete the query: member {member} is shutting down"
        return Cause("57P01", message, hint="The statement may be repeated.", member=member)

    async def close(self) -> None:
        """End all queries; idempotent. The mesh and the listener are their owner's to close, afterwards."""
        self._closing = True
        if self._ticking is not None:
            self._ticking.cancel()
        cause = self._shutting_down()
        for query in list(self._runs):
            self.cancel(query, cause)
        for run in list(self._runs.values()):
            run.stop(cause)
        await closed_in_turn(
            *(run.wait_ended for run in list(self._runs.values())),
            self._spawned_ended,
            self.mailboxes.close,
        )
        self._runs.clear()
        self._closed = True

    async def _spawned_ended(self) -> None:
        while self._tasks:
            await asyncio.wait(list(self._tasks))


class DistributedStream:
    """The root of a distributed query, as the portal reads it (`engine.contracts.batch_stream.BatchStream`). notice: as in
    `ExecutionContext`."""

    engine_name: Final = "distributed"

    def __init__(self, runtime: MeshRuntime, run: QueryRun, counting: Set[str], notice: Callable[[str], None]) -> None:
        self.notice = notice
        self._runtime = runtime
        self._run = run
        self._counting = set(counting)
        self._counters: list[Mapping[str, int]] = []
        self._all_counted = asyncio.Event()
        self._root: Source | None = None
        self._ended = False
        self._error: SqlError | None = None
        self._failed = asyncio.get_running_loop().create_future()
        self._closed: asyncio.Task[None] | None = None
        self._absence: IdleSpool | None = None
        self._counts = {"rows": 0, "bytes": 0, "batches": 0}

    def begin(self, schema: pa.Schema) -> None:
        self._root = self._run.root(schema)

    async def next_batch(self) -> pa.RecordBatch | None:
        assert self._root is not None
        if self._absence is not None:
            self._absence.end()
        try:
            batch = await self._root.next_batch()
        except ConnectionFailure as error:
            # Somebody knows better what happened, or nobody does within a second.
            raise await self._told_cause(error) from error
        except SqlError as error:
            raise self._error or error from None
        if self._error is not None:
            raise self._error
        if batch is None:
            self._end()
            return None
        self._counts["rows"] += batch.num_rows
        self._counts["bytes"] += batch.nbytes
        self._counts["batches"] += 1
        if self._absence is not None:
            self._absence.begin()
        return batch

    def spool_while_away(self, bytes_max: int) -> None:
        """While nobody asks for rows, let producers go on into files, so many bytes in all. Before the first row is asked for."""
        receiver = self._run.root_receiver
        if receiver is not None:
            self._absence = IdleSpool(receiver, bytes_max)
            self._absence.begin()

    @property
    def is_whole(self) -> bool:
        """Whether all that other members give to the query is here."""
        return self._run.is_whole

    def fail(self, error: SqlError) -> None:
        """The query failed elsewhere: whoever waits for rows hears of it."""
        if self._error is not None or self._ended:
            return
        self._error = error
        if not self._failed.done():
            self._failed.set_result(None)
        self._run.fail(error)
        if self._root is not None:
            self._runtime.spawn(self._root.close())

    async def close(self) -> None:
        if self._closed is None:
            self._closed = asyncio.get_running_loop().create_task(self._close())
        await shielded(self._closed)

    def statistics(self) -> Mapping[str, int]:
        return dict(self._counts)

    def note(self, member: str, counters: Mapping[str, int]) -> None:
        """Add the counters of a member whose part of the query is over."""
        if member in self._counting:
            self._counting.discard(member)
            self._counters.append(counters)
        if not self._counting:
            self._all_counted.set()

    async def collect_counters(self) -> Mapping[str, int]:
        """Wait for the counters of all members and merge them. A member that does not send its counters in time is left out."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_COUNTED_SECONDS):
                await self._all_counted.wait()
        own = {} if self._root is None else self._run.root_operators(self._root)
        return merge_counters([*self._counters, own])

    def _end(self) -> None:
        """The root has given its last row. If it did not need all of its input, the others are to stop, now."""
        if not self._ended:
            self._ended = True
            self._counters.append(self._runtime.mailboxes.spooled_by_edge(self._run.query))
            if self._run.all_arrived:
                self._runtime.finish(self._run.query)
            else:
                self._runtime.cancel(self._run.query, _CLOSED_EARLY)

    async def _told_cause(self, error: ConnectionFailure) -> SqlError:
        cause = Cause("40001", f"could not complete the query: {error.message}", echo=True)
        self._runtime.cancel(self._run.query, cause)
        await self._failed
        return self._error or QueryCanceled("canceling statement due to user request")

    async def _close(self) -> None:
        self._runtime.keep_figures(self._run.query)
        if self._absence is not None:
            self._absence.end()
        if not self._ended:
            self._runtime.cancel(self._run.query, _CLOSED_EARLY)
        if not self._failed.done():
            # Nobody will say any more why a connection broke: whoever waits to hear it has closed the stream.
            self._failed.set_result(None)
        await closed_in_turn(
            lambda: None if self._root is None else self._root.close(),
            self._run.wait_ended,
            lambda: self._runtime.mailboxes.close_query(self._run.query),
            lambda: self._runtime.forget_stream(self._run.query),
        )
        self._run.trace_root(self._counts["rows"], self._error)


def _open_message(
    edge: EdgeSpec, sender: int, channel: str, token: bytes, attempt: int = 0, kept: int | None = None
) -> Open:
    return Open(VERSION, channel, token, edge.id, sender, attempt, 0, stream_fingerprint(edge.schema), kept)


def _not_connected(member: str) -> ConnectionBroken:
    return ConnectionBroken(f"the connection to member {member} was lost")


def _runs_tasks(spec: MemberSpec, run: QueryRun) -> bool:
    """Whether a member runs anything but the root."""
    roots = {fragment.id for fragment in run.shared.fragments if fragment.output is None}
    return any(instance.fragment not in roots for instance in spec.instances)


def _prepare_run(run: Run) -> _Prepared:
    try:
        spec = MemberSpec.decode(run.body)
        return _Prepared(run.query, SharedSpec.decode(spec.shared), spec)
    except msgspec.MsgspecError as error:
        _log.warning("the plan of query %s from member %s cannot be read: %s", run.query, run.sender, error)
        return _Prepared(run.query, None, None)

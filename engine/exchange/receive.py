"""RECEIVE: the streams of one edge, as a `BatchStream`.

A receiver collects the streams of an edge (one per partition of the sending fragment), each over its own data connection,
and hands their batches to one consumer:

- unordered: whichever batch comes first is delivered first;
- ordered: the partitions are inter-stream ordered (a range-partitioned sort), so partition 0 is read to its end, then 1, and
  so on. Later ones fill their windows and wait, or go to disk when `engine.exchange.slots` says that they hold up others.
  Whoever opens streams may ask for its `turn` first, and then not even begin before it is near;
- one at a time (`next_from`), for whoever merges streams that are each ordered (`engine.exchange.ordered_merge`).

A receiver may exist before anybody knows what it receives: a **mailbox** made for a sender that was quicker than the query's
`start` (RFC, "Mailboxes"). It keeps what arrives within its windows until `adopt` says what the edge is.

**Attempts.** A stream is (partition, attempt). A work unit that is tried again opens the stream anew with a higher attempt.
Of the failed one, batches that nobody has consumed are dropped and the new attempt takes its place; if one was consumed, no
second attempt can be told apart from it, so the query fails with 40001 (or with the cause, where `on_lost` can find it). A
stream that arrived whole stays, whatever is tried afterwards.

**Streams that outlive their connections** (`Open.kept`). When the connection of one breaks, nothing is dropped: what has arrived
stays and is consumed, and the stream is open. Its sender opens it again with a higher attempt and sends what is missing. So there
is no second version of any batch, and it does not matter what was consumed (`InboundStream.go_on`). How long that may take is not
decided here: the stream waits until its query ends.

**Confirmed counts.** That a task's stream has ended does not make its partition complete. When an executor's JVM dies between two
Arrow messages, its Python worker reads an end of input like any other and ends the stream properly, with part of the rows. So the
producer names the rows of each stream with its end (`confirm`): those that Spark's result of the successful attempt reports. An
attempt whose stream is here already from an earlier one counts its own input. Where what has arrived differs, the query fails
with 40001, before its consumer is told the end. An ordered reader must not even go on to the next partition, whose rows would
follow a part of this one: it waits until the attempt is known as successful (`on_ended`, `accept`), or all counts are there.
Rejected: to let the worker tell the two ends of input apart (PySpark hides them from a function, and an upstream failure closes
the same pipe), and a hash of the rows (batches of a retried task may come in another order; a part of the rows has fewer).

**The end.** An edge ends when each of its producers has said so (`finish`, naming the partitions that sent something) and those
streams have arrived whole; data connections and a producer's word travel apart. Where the streams are known beforehand, the
receiver's owner says it in the producers' place.

**Credits.** What is held in memory is bounded by a window per open stream. A batch's credit returns when it leaves: consumed,
dropped, or written to disk.

Everything here runs on the loop's thread. Considered and rejected: one queue for all streams (a failed attempt could not be
taken out of it, and ordered reading needs them apart).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

import pyarrow as pa

from engine.common.shielded import awaited_in_turn, shielded
from engine.common.wake_signal import WakeSignal
from engine.exchange.schemas import received_batch, stream_fingerprint, stream_schema
from engine.exchange.send import schema_fingerprint
from engine.exchange.spool import Place, Spooler, SpoolFile
from wire.errors import ConnectionFailure, QueryCanceled, SerializationFailure, SqlError
from wire.mesh.channel import BatchArrived
from wire.mesh.credits import ReceiveCredits
from wire.mesh.error_fields import error_from_fields
from wire.mesh.messages import Cancel, DenyReason, Open

_log = logging.getLogger(__name__)

#: A stream's window, in batches of the wanted size: one on its way while the consumer works on another.
WINDOW_BATCHES: Final = 2


class Denied(Exception):
    """The receiver does not take this stream; `reason` as in `wire.mesh.messages.Deny`."""

    def __init__(self, reason: DenyReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Link(Protocol):
    """The data connection of a stream, as its receiver uses it (`engine.exchange.listener`)."""

    @property
    def account(self) -> ReceiveCredits: ...

    def release(self, cost: int) -> None: ...

    def cancel(self, sqlstate: str, message: str) -> None:
        """Stop the sender and close; nothing of this connection is heard afterwards."""
        ...


class _Entry:
    """A batch on its way through a stream. `body` is None while it lies on disk only."""

    __slots__ = ("body", "cost", "held", "place", "rows")

    def __init__(self, body: bytearray, rows: int, cost: int) -> None:
        self.body: bytearray | None = body
        self.rows = rows
        self.cost = cost
        self.held = True
        self.place: Place | None = None


class InboundStream:
    """One attempt at one partition, or all attempts of a stream that outlives its connections. The link calls `arrive`, `lost`,
    `on_cancelled` and `broken`.

    batches, bytes: how many have arrived. spooled: bytes of them that were written to disk. carried: bytes that were in memory when
    the present connection took over.
    """

    def __init__(self, receiver: Receiver, opening: Open, link: Link) -> None:
        self.opening = opening
        self.complete = False
        self.dead = False
        self.consumed = False
        self.accepted = False
        self.rows = 0
        self.batches = 0
        self.bytes = 0
        self.spooled = 0
        self.carried = 0
        self.entries: deque[_Entry] = deque()
        self.arrived_at = receiver.now()
        self.cost_max = 0
        self._receiver = receiver
        self._link = link
        self._file: SpoolFile | None = None
        self._spooling: asyncio.Task[None] | None = None

    @property
    def open(self) -> bool:
        """Whether its sender still holds its place at work."""
        return not self.complete and not self.dead

    @property
    def held(self) -> int:
        """Bytes of it that are in memory."""
        return self._link.account.held

    @property
    def account(self) -> ReceiveCredits:
        """The credits of its present connection."""
        return self._link.account

    @property
    def is_out_of_credit(self) -> bool:
        """Whether its sender has no room for one more batch like those before it."""
        account = self._link.account
        return self.open and account.held > 0 and account.available < max(self.cost_max, 1)

    def is_blocked(self, since: float) -> bool:
        """Whether its sender has been out of credit since that time."""
        return self.is_out_of_credit and self.arrived_at <= since and self._spooling is None

    def arrive(self, batch: BatchArrived) -> None:
        if self.dead:
            self._link.release(batch.cost)
            return
        self.arrived_at = self._receiver.now()
        self.cost_max = max(self.cost_max, batch.cost)
        self.rows += batch.rows
        self.batches += 1
        self.bytes += batch.cost
        if batch.rows:
            self.entries.append(_Entry(batch.body, batch.rows, batch.cost))
        self.complete = self.complete or batch.last
        self._receiver.on_batch(self, batch)
        if self._receiver.spooling and self.open:
            self.spool()

    def lost(self, link: Link) -> None:
        """The connection ended before the stream did, unless another one has taken over."""
        if not self.open or link is not self._link:
            return
        if self.opening.kept is not None:
            self._receiver.on_interrupted(self)
            return
        self.dead = True
        self._receiver.attempt_failed(self)

    def goes_on(self, opening: Open) -> bool:
        """Whether a later attempt goes on with this stream: its sender has everything that has not arrived."""
        if not self.open or self.opening.kept is None or opening.kept is None:
            return False
        return opening.attempt > self.opening.attempt and opening.kept <= self.batches

    def go_on(self, opening: Open, link: Link) -> None:
        """Another connection takes over, perhaps before the end of the earlier one was noticed. Its account begins with what this
        one's holds."""
        earlier = self._link
        self.carried, self.opening, self._link = earlier.account.held, opening, link
        earlier.cancel("40001", "another connection has taken over")

    def on_cancelled(self, message: Cancel) -> None:
        """The sender gave the stream up, and says why. That it lost a connection is no more the cause here than it was there."""
        self.dead = True
        lost = message.sqlstate == ConnectionFailure.default_sqlstate
        error: SqlError = ConnectionFailure(message.message)
        if not lost:
            error = error_from_fields(message.sqlstate, message.message, message.detail, message.hint, message.fields)
        self._receiver.attempt_failed(self, error)

    def broken(self, message: str) -> None:
        """The peer does not keep to the protocol."""
        self.dead = True
        self._receiver.fail(ConnectionFailure(f"a data connection failed: {message}"))

    def take(self) -> _Entry:
        """The next batch, its credit returned. The caller sees that there is one."""
        entry = self.entries.popleft()
        self.consumed = True
        self._release(entry)
        return entry

    async def load(self, entry: _Entry) -> bytearray:
        if entry.body is not None:
            return entry.body
        assert self._file is not None, "a batch without a body lies on disk"
        assert entry.place is not None
        return await self._file.read(entry.place)

    def drop(self, sqlstate: str, message: str) -> None:
        """Forget what has arrived and stop the sender."""
        self.dead = True
        while self.entries:
            self._release(self.entries.popleft())
        self._link.cancel(sqlstate, message)

    def spool(self) -> None:
        """Write what is held to disk, until the receiver says that it is enough."""
        if self._spooling is None and self.open and self.entries:
            self._spooling = asyncio.get_running_loop().create_task(self._spool())

    async def close(self) -> None:
        """Wait for the disk and delete the file; after `drop`, or when everything has been taken."""
        try:
            if self._spooling is not None:
                await shielded(self._spooling)
        finally:
            file, self._file = self._file, None
            if file is not None:
                await shielded(file.close())

    def _release(self, entry: _Entry) -> None:
        if entry.held:
            entry.held = False
            self._link.release(entry.cost)

    async def _spool(self) -> None:
        try:
            while (entry := self._next_to_spool()) is not None:
                await self._write(entry)
        except SqlError as error:
            self._receiver.fail(error)
        finally:
            self._spooling = None

    def _next_to_spool(self) -> _Entry | None:
        if not self.open or not self._receiver.spooling:
            return None
        entry = next((e for e in self.entries if e.place is None), None)
        return entry if entry is not None and self._receiver.may_spool(entry.cost) else None

    async def _write(self, entry: _Entry) -> None:
        if self._file is None:
            self._file = self._receiver.spooler.create()
        assert entry.body is not None
        self._receiver.spooled_bytes += entry.cost
        self.spooled += entry.cost
        entry.place = await self._file.write(entry.body)
        if entry.held:
            entry.body = None
            self._release(entry)


class Receiver:
    """The streams of one edge.

    schema: of every batch, in carriers; None: not known yet (`adopt`).
    senders: how many producers will `finish`; None: not known yet either.
    window: bytes of credit of each stream.
    spooler: the member's.
    on_lost: told once of each attempt that failed: its opening and whether some of it was consumed. It may know the cause;
        whatever it learns, it says with `fail`. Without it, a consumed attempt fails the query as 40001.
    retried: whether a failed attempt may be followed by another. If not, `on_lost` is told of any stream that broke.
    on_ended: told of each stream that has ended, where the next one is read only after it: whether its attempt succeeded is asked
        elsewhere, and said with `accept`. Without it, a stream that has ended is taken for whole until counts are confirmed.
    on_interrupted: told of each connection that ended before a stream that outlives it.
    on_change: called when something happened that `engine.exchange.slots` may want to look at.
    """

    def __init__(
        self,
        schema: pa.Schema | None,
        *,
        ordered: bool,
        window: int,
        spooler: Spooler,
        senders: int | None = 1,
        on_lost: Callable[[Open, bool], None] | None = None,
        on_ended: Callable[[Open], None] | None = None,
        on_change: Callable[[], None] = lambda: None,
        on_interrupted: Callable[[Open], None] = lambda _opening: None,
        retried: bool = True,
    ) -> None:
        self.schema = schema
        self._fingerprint = None if schema is None else schema_fingerprint(schema.serialize())
        self.ordered = ordered
        self.window = window
        self.spooler = spooler
        self.spooling = False
        self.spool_bytes_max: int | None = None
        self.spooled_bytes = 0
        self.waiting_since: float | None = None
        self._loop = asyncio.get_running_loop()
        self._on_lost = on_lost
        self._on_ended = on_ended if ordered else None
        self._on_change = on_change
        self._on_interrupted = on_interrupted
        self.retried = retried
        self._streams: dict[int, InboundStream] = {}
        self._retired: list[InboundStream] = []
        self._ready: deque[InboundStream | pa.RecordBatch] = deque()
        self._current = 0
        self._promised: set[int] = set()
        self._confirmed: dict[int, int] = {}
        self._senders = senders
        self._senders_done = 0
        self._error: SqlError | None = None
        self._closed = False
        self._bell = WakeSignal()
        self._turns: list[asyncio.Future[None]] = []
        self._counters = {"rows": 0, "bytes": 0, "batches": 0, "streams": 0}

    def now(self) -> float:
        return self._loop.time()

    # What the producer's side calls.

    def expect(self, schema: pa.Schema) -> None:
        """Set the schema of the streams where it was not fully known before. Must be called before the first stream opens."""
        self.schema, self._fingerprint = schema, schema_fingerprint(schema.serialize())

    def adopt(self, schema: bytes, *, ordered: bool, senders: int, retried: bool) -> None:
        """Set the schema and the number of senders. Fails the query if a stream that has arrived already has another schema.

        schema: as an Arrow IPC message.
        """
        self.schema, self.ordered, self._senders, self.retried = stream_schema(schema), ordered, senders, retried
        self._fingerprint = fingerprint = stream_fingerprint(schema)
        if any(stream.opening.schema != fingerprint for stream in self._streams.values()):
            self.fail(ConnectionFailure("a data connection failed: the stream's schema is not the edge's"))
        self._ready.clear()
        if not ordered:
            self._ready.extend(stream for stream in self._streams.values() for _ in stream.entries)
        self._check_counts()
        self._bell.ring()

    def admit(self, opening: Open, link: Link) -> InboundStream:
        """A sender introduces itself (its token has been checked). Raises Denied."""
        if self._closed or self._error is not None:
            raise Denied("closed", "the query is over")
        if self._fingerprint is not None and opening.schema != self._fingerprint:
            raise Denied("schema", "the stream's schema is not the edge's")
        if self._is_missing(opening.partition):
            raise Denied("superseded", "the job has ended without this stream")
        previous = self._streams.get(opening.partition)
        if previous is not None and previous.goes_on(opening):
            previous.go_on(opening, link)
            self._on_change()
            return previous
        if opening.kept and not (previous is not None and previous.complete):
            raise Denied("superseded", "the sender no longer has batches that have not arrived here")
        if previous is not None:
            self._supersede(previous, opening)
        stream = InboundStream(self, opening, link)
        self._streams[opening.partition] = stream
        self._counters["streams"] += 1
        self._on_change()
        return stream

    def on_batch(self, stream: InboundStream, batch: BatchArrived) -> None:
        self._check_count(stream)
        if batch.last and self._on_ended is not None:
            self._on_ended(stream.opening)
        if batch.rows and not self.ordered:
            self._ready.append(stream)
        self._on_change()
        self._bell.ring()

    def attempt_failed(self, stream: InboundStream, cause: SqlError | None = None) -> None:
        """An attempt is over before its end."""
        stream.drop("40001", "the stream failed")
        self._on_change()
        o = stream.opening
        _log.warning("stream %s/%s of %s failed: %s", o.partition, o.attempt, o.channel, cause or "connection lost")
        if cause is not None and cause.sqlstate != SqlError.default_sqlstate:
            self.fail(cause)
        elif self.retried and stream.opening.partition in self._promised:
            self.fail(_lost_at_the_end())
        elif self._on_lost is not None:
            self._on_lost(stream.opening, stream.consumed)
        elif stream.consumed:
            self.fail(partly_consumed())

    def on_interrupted(self, stream: InboundStream) -> None:
        """A connection has ended and its stream goes on over another one, if there comes to be one."""
        o = stream.opening
        _log.warning(
            "stream %s/%s of %s was interrupted after %s batches", o.partition, o.attempt, o.channel, stream.batches
        )
        self._on_interrupted(o)
        self._on_change()

    def deliver(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Batches that were produced in this process."""
        self._ready.extend(batch for batch in batches if batch.num_rows)
        self._bell.ring()

    def finish(self, partitions: Iterable[int] = ()) -> None:
        """A producer is done; `partitions`: those whose streams are to arrive."""
        self._senders_done += 1
        self._promised.update(partitions)
        if self.retried and any((stream := self._streams.get(p)) is not None and stream.dead for p in self._promised):
            self.fail(_lost_at_the_end())
        self._check_counts()
        self._bell.ring()

    def confirm(self, rows: Mapping[int, int]) -> None:
        """A producer on Spark is done. rows: by partition: of each stream that is to arrive, as Spark's result of the task attempt
        reports them. Fails the query where other rows have arrived."""
        self._confirmed.update(rows)
        self.finish(rows)

    def accept(self, opening: Open) -> None:
        """The attempt has succeeded, for all that its engine knows: once its stream has been read, the next one's turn comes."""
        stream = self._streams.get(opening.partition)
        if stream is not None and stream.opening.attempt == opening.attempt:
            stream.accepted = True
            self._bell.ring()

    def fail(self, error: SqlError) -> None:
        """The query fails. The first error is the cause; later ones are echoes."""
        if self._error is None and not self._closed:
            self._error = error
            self._next_turn()
            self._bell.ring()

    @property
    def _expected_partitions(self) -> set[int] | None:
        """The partitions that are to arrive, once all producers have said so."""
        return None if self._senders is None or self._senders_done < self._senders else self._promised

    @property
    def at_end(self) -> bool:
        """Whether everything has arrived and been taken."""
        return self._is_finished()

    @property
    def is_whole(self) -> bool:
        """Whether everything has arrived, taken or not."""
        return self._error is None and self._arrived_whole()

    # What `engine.exchange.slots` reads.

    @property
    def streams(self) -> Mapping[int, InboundStream]:
        """The streams that have been opened and were not replaced, by partition."""
        return self._streams

    @property
    def streams_open(self) -> int:
        return sum(stream.open for stream in self._streams.values())

    def streams_blocked(self, since: float) -> list[InboundStream]:
        return [stream for stream in self._streams.values() if stream.is_blocked(since)]

    def is_starved(self, since: float) -> bool:
        """Whether the consumer has been waiting since then and no stream is on its way to it."""
        if self.waiting_since is None or self.waiting_since > since or self._expected_partitions is not None:
            return False
        return self.streams_open == len(self.streams_blocked(since))

    def may_spool(self, size: int) -> bool:
        """Whether there is room for so many bytes more."""
        within = self.spool_bytes_max is None or self.spooled_bytes + size <= self.spool_bytes_max
        return within and self.spooler.covers(size)

    def spool(self, on: bool) -> None:
        """Let the senders of this edge go on into files, or no more."""
        self.spooling = on
        if on:
            for stream in self._streams.values():
                stream.spool()

    # What the consumer calls (see `engine.contracts.batch_stream.BatchStream`).

    async def next_batch(self) -> pa.RecordBatch | None:
        while True:
            self._require_usable()
            batch = await self._next_nowait()
            if batch is not None:
                return self._count(batch)
            if self._is_finished():
                return None
            await self._wait_change()

    async def next_from(self, partition: int) -> pa.RecordBatch | None:
        """The next batch of one stream, or None at its end. Not to be mixed with `next_batch`."""
        while True:
            self._require_usable()
            stream = self._streams.get(partition)
            if stream is not None and stream.entries:
                return self._count(await self._load(stream))
            if stream.complete if stream is not None else self._is_missing(partition):
                return None
            await self._wait_change()

    async def turn(self, partition: int) -> None:
        """Wait until that partition is read, or is the next to be read, or nothing more will be."""
        while partition > self._current + 1 and not self._closed and self._error is None:
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._turns.append(waiter)
            await waiter

    async def close(self) -> None:
        """Stop the senders and delete the files."""
        self._closed = True
        self._next_turn()
        self._bell.ring()
        self._ready.clear()
        streams = [*self._streams.values(), *self._retired]
        for stream in streams:
            stream.drop("57014", "the query is over")
        try:
            await awaited_in_turn(*(stream.close for stream in streams))
        finally:
            self._streams.clear()
            self._retired.clear()
            self._on_change()

    def statistics(self) -> Mapping[str, int]:
        held = sum(stream.held for stream in self._streams.values())
        return {**self._counters, "spooled_bytes": self.spooled_bytes, "held_bytes": held}

    def _require_usable(self) -> None:
        if self._closed:
            raise QueryCanceled("canceling statement due to user request")
        if self._error is not None:
            raise self._error

    def _is_missing(self, partition: int) -> bool:
        """Whether it is known that no stream of that partition will come."""
        expected = self._expected_partitions
        return expected is not None and partition not in expected

    def _supersede(self, previous: InboundStream, opening: Open) -> None:
        if previous.complete:
            raise Denied("complete", "the stream has arrived whole")
        if previous.opening.attempt >= opening.attempt:
            raise Denied("superseded", "a later attempt has taken this stream's place")
        if not previous.dead:
            previous.dead = True
            self.attempt_failed(previous)
        if previous.consumed:
            # Not "closed": a task that hears it ends as if nothing had failed, and the client would hear of a lost connection.
            raise Denied("superseded", "rows of an earlier attempt have been consumed")
        self._retired.append(previous)

    def _check_counts(self) -> None:
        for stream in self._streams.values():
            self._check_count(stream)

    def _check_count(self, stream: InboundStream) -> None:
        """Fail the query if a stream is not what its producer has confirmed."""
        partition = stream.opening.partition
        if self._is_missing(partition):
            # An attempt that Spark did not take; its successful one had no rows for this receiver.
            if stream.consumed or (stream.rows and not stream.dead):
                self.fail(_count_differs(stream.rows, 0))
        elif stream.complete and stream.rows != (confirmed := self._confirmed.get(partition, stream.rows)):
            self.fail(_count_differs(stream.rows, confirmed))

    async def _next_nowait(self) -> pa.RecordBatch | None:
        """The next batch if one is here."""
        while self._ready or self._offer_current():
            source = self._ready.popleft()
            if not isinstance(source, InboundStream):
                return source
            if source.entries:
                return await self._load(source)
        return None

    async def _load(self, stream: InboundStream) -> pa.RecordBatch:
        entry = stream.take()
        body = await stream.load(entry)
        self._counters["bytes"] += entry.cost
        assert self.schema is not None, "a mailbox is read only once it is known what it receives"
        return received_batch(body, self.schema)

    def _offer_current(self) -> bool:
        """In order: make ready the stream whose turn it is, passing over those that are at their end."""
        while self.ordered and (
            (stream := self._streams.get(self._current)) is not None or self._is_absent(self._current)
        ):
            if stream is not None and stream.entries:
                self._ready.append(stream)
                return True
            if stream is not None and not self._may_pass(stream):
                return False
            self._current += 1
            self._next_turn()
        return False

    def _may_pass(self, stream: InboundStream) -> bool:
        """Whether a stream without further batches has been read to its true end."""
        known = self._on_ended is None or stream.accepted or self._expected_partitions is not None
        return stream.complete and known

    def _next_turn(self) -> None:
        waiters, self._turns = self._turns, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _is_absent(self, partition: int) -> bool:
        """Whether that partition is known to have no stream, and a later one may have."""
        return self._is_missing(partition) and partition <= max(self._promised, default=-1)

    def _is_finished(self) -> bool:
        expected = self._expected_partitions or ()
        return self._arrived_whole() and not self._ready and not any(self._streams[p].entries for p in expected)

    def _arrived_whole(self) -> bool:
        expected = self._expected_partitions
        return expected is not None and all(
            (stream := self._streams.get(partition)) is not None and stream.complete for partition in expected
        )

    def _count(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._counters["rows"] += batch.num_rows
        self._counters["batches"] += 1
        return batch

    async def _wait_change(self) -> None:
        self.waiting_since = self.now()
        news = self._bell.next_ring()
        self._on_change()
        try:
            await news
        finally:
            self.waiting_since = None


def _lost_at_the_end() -> SqlError:
    return ConnectionFailure("a data connection was lost after its stream had been sent")


def _count_differs(arrived: int, confirmed: int) -> SqlError:
    return SerializationFailure(
        f"a part of the query is incomplete: {arrived} rows of a partition have arrived, Spark reports {confirmed}",
        detail="An executor was lost while it sent them.",
        hint="The statement may be repeated.",
    )


def partly_consumed() -> SqlError:
    """The error of a query that cannot go on since part of a failed attempt has been consumed."""
    return SerializationFailure(
        "a part of the query failed after some of its rows had been read",
        hint="The statement may be repeated.",
    )

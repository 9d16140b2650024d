"""RECEIVE: the streams of one edge, as a `BatchStream`.

A receiver collects the streams of an edge (one per partition of the sending fragment), each over its own data
connection, and passes their batches to one consumer:

- unordered: batches are delivered in the order of their arrival;
- ordered: the partitions are inter-stream ordered (a range-partitioned sort), so partition 0 is read to its end, then 1, and
  so on. Later ones fill their windows and wait, or go to disk when `engine.exchange.slots` finds that they block others.
  Code that opens streams may wait for its `turn` first, and so not even begin before its partition is next;
- one at a time (`next_from`), for a consumer that merges streams that are each ordered (`engine.exchange.ordered_merge`).

A receiver may exist before it is known what it receives: a **mailbox** made for a sender that was faster than the
query's `start` (RFC, "Mailboxes"). It keeps what arrives, within its windows, until `adopt` defines the edge.

**Attempts.** A stream is (partition, attempt). A retried work unit opens the stream again with a higher attempt.
Batches of the failed attempt that have not been consumed are dropped, and the new attempt replaces it. If a batch was
consumed, it cannot be told apart from the second attempt's, so the query fails with 40001 (or with the cause, where
`on_lost` can find it). A stream that has arrived completely stays, whatever is retried afterwards.

**Streams that outlive their connections** (`Open.kept`). When the connection of such a stream breaks, nothing is
dropped: what has arrived stays and is consumed, and the stream remains open. Its sender opens it again with a higher
attempt and sends what is missing. So no batch has a second version, and it does not matter what was consumed
(`InboundStream.go_on`). The receiver sets no time limit: the stream waits until its query ends.

**Confirmed counts.** The end of a task's stream does not prove that its partition is complete. When an executor's JVM
dies between two Arrow messages, its Python worker sees an ordinary end of input and ends the stream properly, with only
a part of the rows. So the producer names the number of rows of each stream when it finishes (`confirm`): those that
Spark's result of the successful attempt reports. An attempt whose stream has already arrived from an earlier one counts
its own input. If the rows that arrived differ from that number, the query fails with 40001, before its consumer sees
the end. An ordered reader must not even continue with the next partition, whose rows would follow an incomplete
partition: it waits until the attempt is known to have succeeded (`on_ended`, `accept`), or until all counts are there.
Rejected: letting the worker distinguish the two ends of input (PySpark hides them from a function, and an upstream
failure closes the same pipe), and a hash of the rows (batches of a retried task may come in another order, and an
incomplete stream already shows in its row count).

**The end.** An edge ends when each of its producers has finished (`finish`, naming the partitions that sent something)
and those streams have arrived completely; data connections and a producer's announcements travel separately. Where the
streams are known in advance, the receiver's owner calls `finish` in the producers' place.

**Credits.** The memory held is bounded by one window per open stream. A batch's credit returns when the batch leaves
memory: consumed, dropped, or written to disk.

Everything here runs on the event loop's thread. Considered and rejected: one queue for all streams (a failed attempt
could not be removed from it, and ordered reading needs the streams separate).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import pyarrow as pa

from engine.common.wake_signal import WakeSignal
from engine.exchange.edge_streams import EdgeStreams
from engine.exchange.inbound_stream import Denied, InboundStream, Link
from engine.exchange.promised_streams import PromisedStreams
from engine.exchange.reading_order import ReadingOrder
from engine.exchange.schemas import received_batch, stream_fingerprint, stream_schema
from engine.exchange.send import schema_fingerprint
from engine.exchange.spool import Spooler
from engine.exchange.spool_share import SpoolShare
from wire.errors import ConnectionFailure, QueryCanceled, SerializationFailure, SqlError
from wire.mesh.channel import BatchArrived
from wire.mesh.messages import Open

_log = logging.getLogger(__name__)

#: A stream's window, in batches of the wanted size: one is in transit while the consumer processes another.
WINDOW_BATCHES: Final = 2


class Receiver:
    """The streams of one edge.

    schema: the schema of every batch, in carriers; None: not known yet (`adopt`).
    senders: the number of producers that will `finish`; None: not known yet either.
    window: the bytes of credit of each stream.
    spooler: the member's.
    on_lost: called once for each failed attempt, with its opening and whether some of it was consumed. It may find out
        the cause, and then calls `fail`. Without it, a consumed attempt fails the query with 40001.
    retried: whether a failed attempt may be followed by another. If not, `on_lost` is called for any stream that broke.
    on_ended: called for each stream that has ended, if the next one is read only after it. It finds out whether the
        attempt succeeded, and then calls `accept`. Without it, a stream that has ended counts as complete until counts
        are confirmed.
    on_interrupted: called for each connection that ended before a stream that outlives it.
    on_change: called when something happened that `engine.exchange.slots` may have to examine.
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
        self.window = window
        self.share = SpoolShare(spooler)
        self.waiting_since: float | None = None
        self._loop = asyncio.get_running_loop()
        self._on_lost = on_lost
        self._on_ended = on_ended if ordered else None
        self._on_change = on_change
        self._on_interrupted = on_interrupted
        self.retried = retried
        self.streams = EdgeStreams()
        self.promised = PromisedStreams(senders)
        self.order = ReadingOrder(
            self.streams.by_partition, self.promised, ordered=ordered, awaits_success=self._on_ended is not None
        )
        self._error: SqlError | None = None
        self._closed = False
        self._bell = WakeSignal()
        self._counters = {"rows": 0, "bytes": 0, "batches": 0, "streams": 0}

    def now(self) -> float:
        return self._loop.time()

    # Called by the producer's side.

    def expect(self, schema: pa.Schema) -> None:
        """Set the schema of the streams if it was not fully known before. Must be called before the first stream
        opens.
        """
        self.schema, self._fingerprint = schema, schema_fingerprint(schema.serialize())

    def adopt(self, schema: bytes, *, ordered: bool, senders: int, retried: bool) -> None:
        """Set the schema and the number of senders. Fails the query if a stream that has already arrived has another
        schema.

        schema: as an Arrow IPC message.
        """
        self.schema, self.promised.senders, self.retried = stream_schema(schema), senders, retried
        self._fingerprint = fingerprint = stream_fingerprint(schema)
        if any(stream.opening.schema != fingerprint for stream in self.streams.by_partition.values()):
            self.fail(ConnectionFailure("a data connection failed: the stream's schema is not the edge's"))
        self.order.adopt(ordered=ordered)
        self._check_counts()
        self._bell.ring()

    def admit(self, opening: Open, link: Link) -> InboundStream:
        """Admit a sender that introduces itself (its token has been checked). Raises Denied."""
        if self._closed or self._error is not None:
            raise Denied("closed", "the query is over")
        if self._fingerprint is not None and opening.schema != self._fingerprint:
            raise Denied("schema", "the stream's schema is not the edge's")
        if self.promised.is_missing(opening.partition):
            raise Denied("superseded", "the job has ended without this stream")
        previous = self.streams.by_partition.get(opening.partition)
        if previous is not None and previous.goes_on(opening):
            previous.go_on(opening, link)
            self._on_change()
            return previous
        if opening.kept and not (previous is not None and previous.complete):
            raise Denied("superseded", "the sender no longer has batches that have not arrived here")
        if previous is not None:
            previous.give_way(opening)
        stream = InboundStream(self, opening, link)
        self.streams.add(stream)
        self._counters["streams"] += 1
        self._on_change()
        return stream

    def on_batch(self, stream: InboundStream, batch: BatchArrived) -> None:
        if (wrong := self.promised.count_error(stream)) is not None:
            self.fail(wrong)
        if batch.last and self._on_ended is not None:
            self._on_ended(stream.opening)
        if batch.rows and not self.order.is_ordered:
            self.order.ready.append(stream)
        self._on_change()
        self._bell.ring()

    def attempt_failed(self, stream: InboundStream, cause: SqlError | None = None) -> None:
        """Handle an attempt that has failed before its end."""
        stream.drop("40001", "the stream failed")
        self._on_change()
        o = stream.opening
        _log.warning("stream %s/%s of %s failed: %s", o.partition, o.attempt, o.channel, cause or "connection lost")
        if cause is not None and cause.sqlstate != SqlError.default_sqlstate:
            self.fail(cause)
        elif self.retried and stream.opening.partition in self.promised.partitions:
            self.fail(_lost_at_the_end())
        elif self._on_lost is not None:
            self._on_lost(stream.opening, stream.consumed)
        elif stream.consumed:
            self.fail(partly_consumed())

    def on_interrupted(self, stream: InboundStream) -> None:
        """Handle the end of a connection whose stream may continue over another one."""
        o = stream.opening
        _log.warning(
            "stream %s/%s of %s was interrupted after %s batches", o.partition, o.attempt, o.channel, stream.batches
        )
        self._on_interrupted(o)
        self._on_change()

    def deliver(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Deliver batches that were produced in this process."""
        self.order.ready.extend(batch for batch in batches if batch.num_rows)
        self._bell.ring()

    def finish(self, partitions: Iterable[int] = ()) -> None:
        """Record that a producer has finished. `partitions`: those whose streams are to arrive."""
        self.promised.finish(partitions)
        streams = self.streams.by_partition
        if self.retried and any((s := streams.get(p)) is not None and s.dead for p in self.promised.partitions):
            self.fail(_lost_at_the_end())
        self._check_counts()
        self._bell.ring()

    def confirm(self, rows: Mapping[int, int]) -> None:
        """Record that a producer on Spark has finished. rows: the rows of each stream that is to arrive, by partition,
        as Spark's result of the task attempt reports them. Fails the query if a different number of rows has arrived.
        """
        self.promised.confirm(rows)
        self.finish(rows)

    def accept(self, opening: Open) -> None:
        """Record that an attempt has succeeded, as far as its engine knows. Once its stream has been read, the next
        partition follows.
        """
        stream = self.streams.by_partition.get(opening.partition)
        if stream is not None and stream.opening.attempt == opening.attempt:
            stream.accepted = True
            self._bell.ring()

    def fail(self, error: SqlError) -> None:
        """Fail the query. The first error is the cause; later ones are consequences and are ignored."""
        if self._error is None and not self._closed:
            self._error = error
            self.order.end()
            self._bell.ring()

    @property
    def at_end(self) -> bool:
        """Whether everything has arrived and been taken."""
        streams = self.streams.by_partition
        if not self.promised.have_arrived(streams) or self.order.ready:
            return False
        return not any(streams[partition].entries for partition in self.promised.partitions)

    @property
    def is_whole(self) -> bool:
        """Whether everything has arrived, taken or not."""
        return self._error is None and self.promised.have_arrived(self.streams.by_partition)

    def spool(self, on: bool) -> None:
        """Let the senders of this edge continue into files, or end this."""
        self.share.is_open = on
        if on:
            for stream in self.streams.by_partition.values():
                stream.spool()

    # Called by the consumer (see `engine.contracts.batch_stream.BatchStream`).

    async def next_batch(self) -> pa.RecordBatch | None:
        while True:
            self._require_usable()
            batch = await self._next_nowait()
            if batch is not None:
                return batch
            if self.at_end:
                return None
            await self._wait_change()

    async def next_from(self, partition: int) -> pa.RecordBatch | None:
        """Return the next batch of one stream, or None at its end. Must not be mixed with `next_batch`."""
        while True:
            self._require_usable()
            stream = self.streams.by_partition.get(partition)
            if stream is not None and stream.entries:
                return await self._take(stream)
            if stream.complete if stream is not None else self.promised.is_missing(partition):
                return None
            await self._wait_change()

    async def close(self) -> None:
        """Stop the senders and delete the files."""
        self._closed = True
        self.order.end()
        self._bell.ring()
        self.order.ready.clear()
        try:
            await self.streams.close()
        finally:
            self._on_change()

    def statistics(self) -> Mapping[str, int]:
        held = sum(stream.held for stream in self.streams.by_partition.values())
        return {**self._counters, "spooled_bytes": self.share.bytes_used, "held_bytes": held}

    def _require_usable(self) -> None:
        if self._closed:
            raise QueryCanceled("canceling statement due to user request")
        if self._error is not None:
            raise self._error

    def _check_counts(self) -> None:
        """Fail the query if a stream differs from what its producer has confirmed."""
        for stream in self.streams.by_partition.values():
            if (wrong := self.promised.count_error(stream)) is not None:
                self.fail(wrong)

    async def _next_nowait(self) -> pa.RecordBatch | None:
        """Return the next batch if one is available."""
        source = self.order.next_source()
        return None if source is None else await self._take(source)

    async def _take(self, source: InboundStream | pa.RecordBatch) -> pa.RecordBatch:
        """Take an available batch."""
        batch: pa.RecordBatch = source
        if isinstance(source, InboundStream):
            entry = source.take()
            body = await source.load(entry)
            self._counters["bytes"] += entry.cost
            assert self.schema is not None, "a mailbox is read only once it is known what it receives"
            batch = received_batch(body, self.schema)
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


def partly_consumed() -> SqlError:
    """Return the error of a query that cannot continue because part of a failed attempt has been consumed."""
    return SerializationFailure(
        "a part of the query failed after some of its rows had been read",
        hint="The statement may be repeated.",
    )

"""The order in which a consumer reads the streams of an edge: whichever has a batch, or one partition after another.

In partition order, a partition is skipped once it is known to have no stream, and left once its stream has been read to
its true end (`engine.exchange.receive`, "Confirmed counts"). Senders may also be admitted one after another (`turn`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping

import pyarrow as pa

from engine.exchange.inbound_stream import InboundStream
from engine.exchange.promised_streams import PromisedStreams


class ReadingOrder:
    """The order of one receiver.

    streams, promised: the receiver's, which this class only reads. ordered: whether partitions are read one after
    another. awaits_success: whether the next partition is read only once the current stream's attempt is known to have
    succeeded, or all streams are known. ready: the items that can be taken at once: batches of this process, and a
    stream once for each of its batches that has not been taken. Streams that were dropped meanwhile have none.
    """

    def __init__(
        self, streams: Mapping[int, InboundStream], promised: PromisedStreams, *, ordered: bool, awaits_success: bool
    ) -> None:
        self.is_ordered = ordered
        self.ready: deque[InboundStream | pa.RecordBatch] = deque()
        self._streams = streams
        self._promised = promised
        self._awaits_success = awaits_success
        self._current = 0
        self._is_over = False
        self._turns: list[asyncio.Future[None]] = []

    def adopt(self, *, ordered: bool) -> None:
        """Set the order, also for streams that have already arrived."""
        self.is_ordered = ordered
        self.ready.clear()
        if not ordered:
            self.ready.extend(stream for stream in self._streams.values() for _ in stream.entries)

    def next_source(self) -> InboundStream | pa.RecordBatch | None:
        """Return a batch, or a stream that has one; None if nothing that is next in order is available."""
        while self.ready or self._offer_current():
            source = self.ready.popleft()
            if not isinstance(source, InboundStream) or source.entries:
                return source
        return None

    async def turn(self, partition: int) -> None:
        """Wait until that partition is being read or is the next to be read, or nothing more will be read."""
        while partition > self._current + 1 and not self._is_over:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._turns.append(waiter)
            await waiter

    def end(self) -> None:
        """Record that nothing more will be read."""
        self._is_over = True
        self._next_turn()

    def _offer_current(self) -> bool:
        """Make the next stream in partition order ready. Streams that are at their end are skipped."""
        while self.is_ordered and (
            (stream := self._streams.get(self._current)) is not None or self._promised.is_passed_over(self._current)
        ):
            if stream is not None and stream.entries:
                self.ready.append(stream)
                return True
            if stream is not None and not self._may_pass(stream):
                return False
            self._current += 1
            self._next_turn()
        return False

    def _may_pass(self, stream: InboundStream) -> bool:
        """Return whether a stream without further batches has been read to its true end."""
        known = not self._awaits_success or stream.accepted or self._promised.all_partitions is not None
        return stream.complete and known

    def _next_turn(self) -> None:
        waiters, self._turns = self._turns, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

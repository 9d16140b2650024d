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

    streams, promised: the receiver's, read here. ordered: whether partitions are read one after another. awaits_success: whether
    a stream's attempt must be known as successful, or all streams be known, before the next partition is read.
    ready: what can be taken at once: batches of this process, and a stream for each of its batches that has not been taken;
    streams that were dropped meanwhile have none.
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
        """Set the order of what has arrived already."""
        self.is_ordered = ordered
        self.ready.clear()
        if not ordered:
            self.ready.extend(stream for stream in self._streams.values() for _ in stream.entries)

    def next_source(self) -> InboundStream | pa.RecordBatch | None:
        """A batch, or a stream that has one; None: nothing is here whose turn it is."""
        while self.ready or self._offer_current():
            source = self.ready.popleft()
            if not isinstance(source, InboundStream) or source.entries:
                return source
        return None

    async def turn(self, partition: int) -> None:
        """Wait until that partition is read, or is the next to be read, or nothing more will be."""
        while partition > self._current + 1 and not self._is_over:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._turns.append(waiter)
            await waiter

    def end(self) -> None:
        """Nothing more will be read."""
        self._is_over = True
        self._next_turn()

    def _offer_current(self) -> bool:
        """In order: make ready the stream whose turn it is, passing over those that are at their end."""
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
        """Whether a stream without further batches has been read to its true end."""
        known = not self._awaits_success or stream.accepted or self._promised.all_partitions is not None
        return stream.complete and known

    def _next_turn(self) -> None:
        waiters, self._turns = self._turns, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

"""The streams of one Spark task: one to each receiver of its edge, opened when there is something to send.

A receiver that is done with the query (its LIMIT is reached, its other input was empty) is left out from then on, and
the task continues with the others. A receiver that refuses this attempt because a later one has replaced it fails the
task. If such a task succeeded, Spark would take its result for the partition and stop the attempt to which the receiver
listens, and that attempt's rows would be missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import pyarrow as pa

from engine.contracts.profile import Operator
from engine.exchange.send import Edge, StreamRefused, StreamSender
from wire.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Sent:
    """Counts of what the tasks of a job have sent, as their successful attempts report them.

    rows: by receiver and partition, for each stream that the receiver should have received. bytes, batches, stalls:
    totals of all streams. operators: the operators' row counts, if they were requested.
    """

    rows: Mapping[int, Mapping[int, int]]
    bytes: int
    batches: int
    stalls: int
    operators: Operator | None = None


class PartitionStreams:
    """One partition's streams. edges: as in `engine.executors.spark.worker.SendPartition`. attempt, stage: Spark's ids
    of the task. held: closes what is open, whatever happens.

    Raises StreamRefused for an attempt that is not wanted, and the other errors of `StreamSender`.
    """

    def __init__(
        self, edges: tuple[Edge | None, ...], partition: int, attempt: int, stage: int, held: contextlib.ExitStack
    ) -> None:
        self._edges = {number: edge for number, edge in enumerate(edges) if edge is not None}
        self._partition = partition
        self._attempt = attempt
        self._stage = stage
        self._held = held
        self._senders: dict[int, StreamSender] = {}

    @property
    def is_wanted(self) -> bool:
        """Whether any receiver may still take rows."""
        return bool(self._edges)

    def open(self, receiver: int) -> None:
        """Open the stream to a receiver, even if no row follows."""
        if receiver in self._edges:
            with self._leaving_out(receiver):
                self._sender(receiver)

    def send(self, receiver: int, rows: pa.RecordBatch) -> None:
        if receiver in self._edges:
            with self._leaving_out(receiver):
                self._sender(receiver).send(rows)

    def finish(self) -> dict[int, StreamSender]:
        """End all streams. Returns those that their receivers have completely."""
        for receiver, sender in list(self._senders.items()):
            with self._leaving_out(receiver):
                sender.finish()
        return self._senders

    def _sender(self, receiver: int) -> StreamSender:
        if receiver not in self._senders:
            sender = StreamSender(
                self._edges[receiver], partition=self._partition, attempt=self._attempt, stage=self._stage
            )
            self._senders[receiver] = self._held.enter_context(sender)
        return self._senders[receiver]

    @contextlib.contextmanager
    def _leaving_out(self, receiver: int) -> Iterator[None]:
        try:
            yield
        except StreamRefused as refused:
            if not refused.over:
                raise
            del self._edges[receiver]
            self._senders.pop(receiver, None)

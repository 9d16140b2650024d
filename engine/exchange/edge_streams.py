"""The streams of one edge at its receiver, by partition, including those that a later attempt has replaced."""

from __future__ import annotations

from engine.common.shielded import awaited_in_turn
from engine.exchange.inbound_stream import InboundStream


class EdgeStreams:
    """The streams of an edge; see the module's docstring. by_partition: the streams that have been opened and were not
    replaced.
    """

    def __init__(self) -> None:
        self.by_partition: dict[int, InboundStream] = {}
        self.retired: list[InboundStream] = []

    def add(self, stream: InboundStream) -> None:
        """Add a stream, which replaces an earlier one of its partition. The replaced stream is still closed with the
        others.
        """
        partition = stream.opening.partition
        if (previous := self.by_partition.get(partition)) is not None:
            self.retired.append(previous)
        self.by_partition[partition] = stream

    @property
    def open_count(self) -> int:
        return sum(stream.open for stream in self.by_partition.values())

    def find_blocked(self, since: float) -> list[InboundStream]:
        """Return the streams whose senders have been out of credit since that time."""
        return [stream for stream in self.by_partition.values() if stream.is_blocked(since)]

    async def close(self) -> None:
        """Stop the senders and delete the files."""
        streams = [*self.by_partition.values(), *self.retired]
        for stream in streams:
            stream.drop("57014", "the query is over")
        try:
            await awaited_in_turn(*(stream.close for stream in streams))
        finally:
            self.by_partition.clear()
            self.retired.clear()

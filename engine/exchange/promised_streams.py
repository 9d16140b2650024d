"""The streams of an edge as their producers have announced them: which ones are to arrive, and with how many rows.

Data connections and a producer's announcements travel separately; `engine.exchange.receive` explains why the rows are
counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.exchange.inbound_stream import InboundStream
from wire.errors import SerializationFailure, SqlError


class PromisedStreams:
    """The streams that are to arrive. senders: the number of producers that will `finish`; None: not known yet.

    partitions: the partitions announced so far.
    """

    def __init__(self, senders: int | None) -> None:
        self.senders = senders
        self.partitions: set[int] = set()
        self._finished = 0
        self._confirmed: dict[int, int] = {}

    def finish(self, partitions: Iterable[int]) -> None:
        """Record that a producer has finished; its streams are those of `partitions`."""
        self._finished += 1
        self.partitions.update(partitions)

    def confirm(self, rows: Mapping[int, int]) -> None:
        """Record the number of rows that each stream must have, by partition."""
        self._confirmed.update(rows)

    @property
    def all_partitions(self) -> set[int] | None:
        """The partitions that are to arrive; None until all producers have finished."""
        return None if self.senders is None or self._finished < self.senders else self.partitions

    def is_missing(self, partition: int) -> bool:
        """Return whether it is known that no stream of that partition will come."""
        expected = self.all_partitions
        return expected is not None and partition not in expected

    def is_passed_over(self, partition: int) -> bool:
        """Return whether that partition is known to have no stream while a later one may have one."""
        return self.is_missing(partition) and partition <= max(self.partitions, default=-1)

    def have_arrived(self, streams: Mapping[int, InboundStream]) -> bool:
        """Return whether all streams are known and have arrived completely."""
        expected = self.all_partitions
        return expected is not None and all(
            (stream := streams.get(partition)) is not None and stream.complete for partition in expected
        )

    def count_error(self, stream: InboundStream) -> SqlError | None:
        """Return the query's error if a stream differs from what its producer has confirmed."""
        partition = stream.opening.partition
        if self.is_missing(partition):
            # An attempt whose result Spark did not take; the successful attempt had no rows for this receiver.
            if stream.consumed or (stream.rows and not stream.dead):
                return _count_differs(stream.rows, 0)
        elif stream.complete and stream.rows != (confirmed := self._confirmed.get(partition, stream.rows)):
            return _count_differs(stream.rows, confirmed)
        return None


def _count_differs(arrived: int, confirmed: int) -> SqlError:
    return SerializationFailure(
        f"a part of the query is incomplete: {arrived} rows of a partition have arrived, Spark reports {confirmed}",
        detail="An executor was lost while it sent them.",
        hint="The statement may be repeated.",
    )

"""Totals of what a member has sent over edges since its start, and the current metrics of its edges.

The totals grow when an instance of a sending fragment ends, so that a scrape visits only what is running. The current
metrics are sums over open streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from wire.dataclass import dataclass

if TYPE_CHECKING:
    from engine.exchange.receive import Receiver


@dataclass(slots=True)
class EdgeTotals:
    """The totals; see the module's docstring. stalls: how often a sender has waited for credit. stalled_seconds: the
    total time of these waits where a member sends; Spark's tasks do not report it.
    """

    bytes: int = 0
    batches: int = 0
    stalls: int = 0
    stalled_seconds: float = 0.0

    def add(self, size: int, batches: int, stalls: int, stalled_seconds: float = 0.0) -> None:
        """Add what an instance, or a job, has sent."""
        self.bytes += size
        self.batches += batches
        self.stalls += stalls
        self.stalled_seconds += stalled_seconds

    def with_other(self, other: EdgeTotals) -> EdgeTotals:
        return EdgeTotals(
            self.bytes + other.bytes,
            self.batches + other.batches,
            self.stalls + other.stalls,
            self.stalled_seconds + other.stalled_seconds,
        )


def edge_figures(receivers: Iterable[Receiver], sending: int, totals: EdgeTotals) -> Mapping[str, int]:
    """Return the metrics of a member's edges. receivers: the receivers of all edges that end here. sending: the number
    of streams that begin here.
    """
    streams = [stream for receiver in receivers for stream in receiver.streams.by_partition.values() if stream.open]
    return {
        "receiving": len(streams),
        "sending": sending,
        "waiting": sum(stream.is_out_of_credit for stream in streams),
        "credit_bytes": sum(stream.account.available for stream in streams),
        "window_bytes": sum(stream.account.window for stream in streams),
        "sent_bytes": totals.bytes,
        "sent_batches": totals.batches,
        "stalls": totals.stalls,
        "stalled_ms": int(totals.stalled_seconds * 1000),
    }

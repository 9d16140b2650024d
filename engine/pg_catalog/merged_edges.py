"""Merge of the counters from the two ends of a stream: each end has counters that the other lacks."""

from __future__ import annotations

from collections.abc import Iterable

from engine.contracts.activity import EdgeCounters


def merge_edges(edges: Iterable[EdgeCounters]) -> list[EdgeCounters]:
    """Merge the counters of both ends of each query's streams: waits are the sender's, all others the receiver's."""
    found: dict[tuple[str, int, int, int], EdgeCounters] = {}
    for one in edges:
        key = one.query, one.edge, one.sender, one.receiver
        other = found.get(key)
        found[key] = one if other is None else _both(one, other) if one.end == "receiver" else _both(other, one)
    return list(found.values())


def _both(receiver: EdgeCounters, sender: EdgeCounters) -> EdgeCounters:
    return EdgeCounters(
        receiver.query, receiver.edge, receiver.sender, receiver.receiver, "receiver", receiver.member,
        max(receiver.streams, sender.streams), receiver.rows, max(receiver.bytes, sender.bytes), receiver.credit,
        receiver.window, receiver.backlog_bytes, sender.stalls, sender.stalled_seconds, receiver.spooled_bytes, receiver.state,
    )  # fmt: skip

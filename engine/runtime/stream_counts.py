"""Counters of a query on a member that takes part in it: of its instances of fragments, and of both ends of its
streams.

They are read on demand. The receiving end counts rows, bytes and credit, because it has them whatever the sender is;
the sending end counts waits for credit. `engine.monitor.graph` combines the two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from engine.contracts.activity import EdgeCounters, FragmentCounters, StreamState
from engine.runtime.run_inputs import PARTITION_BITS

if TYPE_CHECKING:
    from engine.exchange.inbound_stream import InboundStream
    from engine.exchange.receive import Receiver
    from engine.runtime.mailboxes import Mailboxes
    from engine.runtime.query_run import QueryRun


def fragments_of(run: QueryRun, member: str) -> Iterator[FragmentCounters]:
    """Yield the counters of the instances that run here."""
    for instance, fragment, state, seconds in run.instance_states():
        key = instance.fragment, instance.instance
        output = run.outputs.get(key)
        rows = run.counters[f"instance.{key[0]}.{key[1]}.rows"] if output is None else output.rows
        yield FragmentCounters(run.query, *key, member, fragment.engine, state, rows, seconds)


def edges_of(run: QueryRun, mailboxes: Mailboxes, member: str) -> Iterator[EdgeCounters]:
    """Yield the counters of the streams that end or begin here."""
    for (_, number, instance), receiver in mailboxes.receivers_of(run.query):
        edge = run.edge(number)
        if edge is not None:
            by_sender: defaultdict[int, list[InboundStream]] = defaultdict(list)
            for partition, stream in receiver.streams.by_partition.items():
                by_sender[partition if edge.counted else partition >> PARTITION_BITS].append(stream)
            for sender in range(len(edge.senders)):
                yield receiver_counters(run.query, (number, sender, instance), member, receiver, by_sender[sender])
    yield from _sent(run, member)


def _sent(run: QueryRun, member: str) -> Iterator[EdgeCounters]:
    for (fragment, instance), output in run.outputs.items():
        spec = next(spec for spec in run.shared.fragments if spec.id == fragment)
        edge = run.edge(spec.output) if spec.output is not None else None
        for receiver in range(0 if edge is None else len(edge.receivers)):
            stream = output.stream_to(receiver)
            if edge is not None and stream is not None:
                waits = stream.stalls
                yield EdgeCounters(
                    run.query, edge.id, instance, receiver, "sender", member, 1, 0, stream.bytes,
                    stalls=waits.count, stalled_seconds=waits.seconds,
                )  # fmt: skip


def receiver_counters(
    query: str, key: tuple[int, int, int], member: str, receiver: Receiver, streams: Sequence[InboundStream]
) -> EdgeCounters:
    """Return the receiver's counters of the streams of one sender. key: edge, sender, receiver."""
    accounts = [stream.account for stream in streams if stream.open]
    return EdgeCounters(
        query, *key, "receiver", member, len(streams),
        sum(stream.rows for stream in streams),
        sum(stream.bytes for stream in streams),
        sum(account.available for account in accounts) if accounts else None,
        sum(account.window for account in accounts) if accounts else receiver.window,
        sum(stream.held for stream in streams),
        spooled_bytes=sum(stream.spooled for stream in streams),
        state=_state(streams),
    )  # fmt: skip


def _state(streams: Sequence[InboundStream]) -> StreamState:
    if any(stream.is_out_of_credit for stream in streams):
        return "waiting"
    return "done" if streams and not any(stream.open for stream in streams) else "open"

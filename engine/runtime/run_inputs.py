"""The streams into a member that belong to one query: where their senders connect, who reads them, and whether all have
arrived.
"""

from __future__ import annotations

from typing import Final

from engine.exchange.receive import Receiver
from engine.plan_ir.physical import relation_of
from engine.plan_ir.spec import (
    ChannelSpec,
    FragmentSpec,
    InstanceSpec,
    MemberSpec,
    SharedSpec,
)
from engine.runtime.edge_input import EdgeInput
from engine.runtime.mailboxes import Mailboxes
from wire.errors import SqlError
from wire.mesh.control_messages import ChannelOk
from wire.mesh.messages import Open

#: A stream has the number of its producer, followed by that of the partition if a producer opens one stream a
#: partition.
PARTITION_BITS: Final = 20


class RunInputs:
    """See the module's docstring. spec: the member's part, with the channels of other members that its start names."""

    def __init__(self, mailboxes: Mailboxes, query: str, shared: SharedSpec, spec: MemberSpec) -> None:
        self._mailboxes = mailboxes
        self._query = query
        self._shared = shared
        self._instances = spec.instances
        self._edges = {edge.id: edge for edge in shared.edges}
        self._fragments = {fragment.id: fragment for fragment in shared.fragments}
        self._told = {(channel.edge, channel.receiver): channel for channel in spec.channels}
        self._told_at = spec.host, spec.port
        self._used: set[tuple[int, int, int]] = set()
        self._inflows: dict[tuple[int, int], EdgeInput] = {}

    def adopt(self) -> None:
        """Adopt the mailboxes of all inputs."""
        for instance in self._instances:
            for edge in self._fragments[instance.fragment].inputs:
                receiver = self._mailboxes.adopt(
                    self._query, self._edges[edge], instance.instance, self._shared.page_bytes
                )
                self._inflows[edge, instance.instance] = EdgeInput(self._edges[edge], receiver)

    def relations_of(self, fragment: FragmentSpec, instance: InstanceSpec) -> dict[str, EdgeInput]:
        """Return the inputs of an instance, by their names in its statement."""
        return {relation_of(edge): self._inflows[edge, instance.instance] for edge in fragment.inputs}

    def receiver_of(self, fragment: FragmentSpec, instance: InstanceSpec) -> Receiver:
        """Return the receiver of an instance's first input."""
        return self._mailboxes.find_or_make((self._query, fragment.inputs[0], instance.instance)).receiver

    def own_channels(self) -> tuple[ChannelSpec, ...]:
        """Return this member's receiving ends, except those that let their senders in one after another, because these
        senders have to ask.
        """
        found = []
        for instance in self._instances:
            for edge in self._fragments[instance.fragment].inputs:
                mailbox = self._mailboxes.find_or_make((self._query, edge, instance.instance))
                if not mailbox.in_turn:
                    found.append(ChannelSpec(edge, instance.instance, mailbox.channel, mailbox.token))
        return tuple(found)

    def told_channel(self, edge: int, sender: int, receiver: int) -> ChannelOk | None:
        """Return the channel of a stream, if the start names it. Only once: a stream that was refused there has to ask."""
        told, stream = self._told.get((edge, receiver)), (edge, sender, receiver)
        if told is None or stream in self._used:
            return None
        self._used.add(stream)
        return ChannelOk(0, told.channel, told.token, *self._told_at)

    def fail(self, error: SqlError) -> None:
        """Fail the inputs: their readers receive the error."""
        for mailbox in self._mailboxes.of_query(self._query):
            mailbox.receiver.fail(error)

    @property
    def all_arrived(self) -> bool:
        """Whether every stream into this member has been received whole and read to its end."""
        return all(mailbox.receiver.at_end for mailbox in self._mailboxes.of_query(self._query))

    @property
    def is_whole(self) -> bool:
        """Whether every stream into this member is here whole, in memory or on disk, read or not."""
        return all(mailbox.receiver.is_whole for mailbox in self._mailboxes.of_query(self._query))

    def sender_of(self, opening: Open) -> str:
        """Return the member that sends a stream into this one; empty if no stream of its edge has that number."""
        edge = self._edges.get(opening.edge)
        if edge is None:
            return ""
        number = opening.partition if edge.counted else opening.partition >> PARTITION_BITS
        return edge.senders[number] if number < len(edge.senders) else ""

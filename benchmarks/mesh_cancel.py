"""Counts the messages of a cancel that all participants of a query request at the same time.

The members are real `engine.runtime.queries.MemberQueries` that communicate through queues. No message is delivered
before all of them have requested the cancel, so that as many messages cross as possible. Then the messages are
delivered in a random order that keeps the order of each pair.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground
from engine.runtime.queries import MemberQueries
from engine.runtime.query_state import Cause, Instruction, Run, Send, Stop
from wire.mesh.control_messages import Cancel, ControlMessage, Start

_MEMBERS: Final = (3, 10, 100)
_ORDERS: Final = 20
_QUERY: Final = "m0:1"


class _Room:
    """Members, the messages in flight between them, and the number of cancels among all messages."""

    def __init__(self, count: int, random: Random) -> None:
        self.names = tuple(f"m{number}" for number in range(count))
        self.members = {name: MemberQueries(name) for name in self.names}
        self.links: defaultdict[tuple[str, str], deque[ControlMessage]] = defaultdict(deque)
        self.cancels = 0
        self._random = random

    def begin(self) -> None:
        """Begin the query everywhere, with one fragment on each member."""
        self._perform(self.names[0], self.members[self.names[0]].begin(_QUERY, self.names, 0))
        for name in self.names[1:]:
            self.links[self.names[0], name].append(Start(_QUERY, self.names))
        self._started(self.names[0])
        self.deliver()

    def cancel_everywhere(self) -> None:
        for name in self.names:
            self._perform(name, self.members[name].cancel(_QUERY, Cause("57014", f"canceled at {name}"), 0))

    def deliver(self) -> None:
        while waiting := [link for link, messages in self.links.items() if messages]:
            sender, receiver = self._random.choice(waiting)
            message = self.links[sender, receiver].popleft()
            self._perform(receiver, self.members[receiver].on_message(sender, message, b"", 0))

    def held(self) -> int:
        """Return the number of queries that members have not forgotten."""
        return sum(len(member.active()) for member in self.members.values())

    def _started(self, member: str) -> None:
        self._perform(member, self.members[member].fragments_started(_QUERY, (1,), 0))

    def _perform(self, member: str, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case Send(receiver, message):
                    self.cancels += isinstance(message, Cancel)
                    self.links[member, receiver].append(message)
                case Run():
                    self._started(member)
                case Stop(query):
                    self._perform(member, self.members[member].fragment_ended(query, 1, None, 0))
                case _:
                    pass


def _run(ground: Ground) -> Iterator[Figure]:
    del ground
    for count in _MEMBERS:
        most = max(_messages(count, Random(seed)) for seed in range(_ORDERS))
        yield Figure(f"{count} members", most, "messages", 2 * count)


def _messages(count: int, random: Random) -> int:
    room = _Room(count, random)
    room.begin()
    room.cancel_everywhere()
    room.deliver()
    if room.held():
        raise RuntimeError(f"{room.held()} members hold the query after its end")
    return room.cancels


MEASURE: Final = Measure(
    "mesh_cancel",
    "Messages when all members cancel a query at once",
    "A query has a fragment on each of N members, and all N cancel it before any of them receives a message from "
    f"another. The number of messages until no member holds any state of the query, the maximum over {_ORDERS} random "
    "orders of delivery.",
    _run,
)

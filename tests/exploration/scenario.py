"""The configuration of a world and the mishaps that may happen in it: members, edges, the instances that send over
them, and a budget of mishaps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from parts import BATCH_BYTES, OVERSIZE_ROWS, SCHEMA_MESSAGE, body

from engine.plan_ir.spec import EdgeSpec, RouterSpec
from engine.runtime.run_inputs import PARTITION_BITS

QUERY: Final = "a:1"

#: crash: a member crashes. part: a control connection breaks. sever: a data connection breaks. cancel: a user cancels
#: the query, on any member. fail: an instance fails. close: the portal is closed before its end. unread: a member
#: cannot read its plan. twin: another attempt at a task begins while one still runs. cut: an attempt's executor is lost
#: at the end of a message: the attempt takes that for the end of its input, and the job never learns of it. tick: the
#: clock jumps, which it also does when nothing else can happen. unsent: b cannot be reached when the query begins, and
#: a moment later it can; this is not random.
Mishap = Literal["crash", "part", "sever", "cancel", "fail", "close", "unread", "twin", "cut", "tick", "unsent"]
MISHAPS: Final[tuple[Mishap, ...]] = (
    "crash", "part", "sever", "cancel", "fail", "close", "unread", "twin", "cut", "tick", "unsent",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a fragment that sends over an edge. member: where it runs. sender: its number among the edge's
    senders.

    reads: the edge whose rows it passes on; None if it has its own `batches`, each of `rows` rows.
    idle: whether it computes and never sends, so that it learns of an end only from its own member.
    attempts: None if it sends itself; otherwise it is a Spark job with one task, which has this many attempts.
    barren: the attempt that finds no rows and opens no stream, where others find some. Spark's result decides which
        attempt counts.
    lasting: whether its stream outlives its connections.
    """

    member: str
    edge: int
    sender: int = 0
    reads: int | None = None
    batches: int = 2
    rows: int = 1
    idle: bool = False
    attempts: int | None = None
    barren: int | None = None
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Sender:
    """An instance that sends, a job, or an attempt at a job's task.

    number: the instance's number.
    partition: the partition of its stream.
    job: the index of the job, for an attempt at its task; None for all others.
    """

    instance: Instance
    number: int
    partition: int
    attempt: int = 0
    job: int | None = None

    @property
    def is_job(self) -> bool:
        return self.instance.attempts is not None and self.job is None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario; see the module's docstring. Members are named a (the initiator, which has the portal), b, c.

    edges: (sending members, receiving member); the first is the portal's. For an edge over which a job sends, the
        number of streams is not known in advance: a separate message says what was sent (`Produced`).
    mishaps: how often each may happen.
    hostile: whether the machines are probed with the messages of a hostile peer.
    """

    name: str
    members: str
    edges: tuple[tuple[str, str], ...]
    instances: tuple[Instance, ...]
    mishaps: Mapping[Mishap, int] = field(default_factory=dict)
    hostile: bool = False

    @property
    def participants(self) -> tuple[str, ...]:
        return tuple(self.members)

    def edge_specs(self) -> tuple[EdgeSpec, ...]:
        router = RouterSpec("single")
        return tuple(
            EdgeSpec(
                number,
                SCHEMA_MESSAGE,
                router,
                "unsynchronized",
                tuple(senders),
                (receiver,),
                counted=not any(i.edge == number and i.attempts for i in self.instances),
            )
            for number, (senders, receiver) in enumerate(self.edges)
        )

    def senders(self) -> tuple[Sender, ...]:
        """Return every sender, also those that may never start."""
        found: list[Sender] = []
        for number, instance in enumerate(self.instances):
            partition = instance.sender << (PARTITION_BITS if instance.attempts else 0)
            job = len(found) if instance.attempts else None
            found.append(Sender(instance, number, partition))
            found += (Sender(instance, number, partition, n, job) for n in range(instance.attempts or 0))
        return tuple(found)

    def batch(self, instance: int, number: int) -> bytes:
        """Return the body of an instance's batch; its rows identify the instance and the batch's position."""
        first = row(instance, number)
        return body(*range(first, first + self.instances[instance].rows))


def row(instance: int, number: int) -> int:
    """Return the first row of a batch."""
    return (instance * 16 + number) * 4096


#: Half a window: one batch fits, two do not.
PAGE_BYTES: Final = BATCH_BYTES // 2 + 8
__all__ = ["MISHAPS", "OVERSIZE_ROWS", "PAGE_BYTES", "QUERY", "Instance", "Mishap", "Scenario", "row"]

"""The scenario of one run, derived from the seed: the cluster, the statements of its clients and how they run them, and
the faults with their times.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random
from typing import Final, Literal

from engine.plan_ir.topology import Link, Topology, TopologyNode
from engine.statements.shared.fault_policy import Policy
from engine.statements.shared.terms import Terms
from simulated.clients import Manner
from simulated.member import TIMING
from simulated.statements import Asked, ask
from wire.dataclass import dataclass

#: kill: SIGKILL; power: the whole host; leave: SIGTERM. The member of these may start again. pause: SIGSTOP for a
#: while. cut: all connections of two members are reset; cut one: a single one is. fragile: those that carry streams are
#: reset again and again, for a while. part: a partition, for a while. slow: a member's network, for a while. full: the
#: disk of its spool, for a while.
Kind = Literal["kill", "power", "leave", "pause", "cut", "cut one", "fragile", "part", "slow", "full"]
#: The factor by which everything to and from a member with a slow network takes longer; between two of them, its
#: square.
SLOWNESS: Final = 40.0

_SIZES: Final = (2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 5)
#: One cluster in this many is large.
_LARGE: Final = 500
#: The probability that a client reads a cursor from several members, and that these stand still now and then.
_ROAMS, _STALLS = 0.2, 0.5
_LATENCIES: Final = ((2e-5, 2e-4), (1e-4, 3e-3), (1e-3, 4e-2))
_HORIZONS: Final = (0.003, 0.03, 0.3, 1.5)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault. when: seconds after the first client's statement. member, other: numbers of members. lasts: seconds
    until it is undone; None if it is permanent.
    """

    kind: Kind
    when: float
    member: int
    other: int
    lasts: float | None = None

    def meets(self, later: Fault) -> bool:
        """Return whether this fault still lasts when a later one begins. Bytes that are then in flight keep their slow
        latency.
        """
        return self.lasts is None or later.when <= self.when + self.lasts


@dataclass(frozen=True, slots=True)
class Visit:
    """A client: its member, the time when it comes (seconds after the first), and the statements that it runs, one
    after another.
    """

    member: int
    when: float
    asks: tuple[tuple[Asked, Manner], ...]


@dataclass(frozen=True, slots=True)
class Scenario:
    """The scenario; see the module's docstring. starts: when each member starts, in seconds. early: whether clients do
    not wait for the cluster.
    """

    members: int
    latency: tuple[float, float]
    starts: tuple[float, ...]
    early: bool
    topology: Topology | None
    visits: tuple[Visit, ...]
    faults: tuple[Fault, ...]

    @property
    def is_disturbed(self) -> bool:
        """Whether anything happens for which a query may fail."""
        stalls = any(manner.stalls for visit in self.visits for _, manner in visit.asks)
        return stalls or self._silence >= TIMING.failure_after or any(fault.kind != "slow" for fault in self.faults)

    def disturbs(self, manner: Manner) -> bool:
        """Return whether anything happens for which a query that is run in this manner may fail. A query with the
        policy `wait` outlives its data connections.
        """
        if manner.policy != "wait":
            return self.is_disturbed
        return replace(self, faults=tuple(fault for fault in self.faults if fault.kind != "fragile")).is_disturbed

    @property
    def _silence(self) -> float:
        """The longest time, in seconds, for which a member may hear nothing from another live one: the slow network
        delays a heartbeat, and the one before arrived at once.
        """
        slow = [fault for fault in self.faults if fault.kind == "slow"]
        pairs = itertools.combinations(slow, 2)
        both = any(one.member != other.member and one.meets(other) for one, other in pairs)
        slowness = SLOWNESS ** (2 if both else min(len(slow), 1))
        return TIMING.heartbeat + self.latency[1] * slowness


def scenario(chance: Random, *, may_be_large: bool = True) -> Scenario:
    """Create a scenario from this source of randomness."""
    large = may_be_large and chance.randrange(_LARGE) == 0
    count = chance.randint(20, 50) if large else chance.choice(_SIZES)
    horizon = chance.choice(_HORIZONS)
    troubled = chance.random() < 0.6
    faults = [_fault(chance, count, horizon) for _ in range(chance.choice((1, 1, 2, 3)))] if troubled else []
    visits = tuple(_visit(chance, count, horizon) for _ in range(chance.choice((1, 1, 2, 3))))
    if any(manner.policy == "wait" for visit in visits for _, manner in visit.asks):
        # Who waits for a member waits for as long as it takes.
        faults = [replace(fault, lasts=fault.lasts or 1.0) for fault in faults]
    made = Scenario(
        count,
        chance.choice(_LATENCIES),
        tuple(chance.uniform(0, 0.02) for _ in range(count)),
        chance.random() < 0.1,
        _topology(chance, count) if chance.random() < 0.15 else None,
        visits,
        tuple(sorted(faults, key=lambda fault: fault.when)),
    )
    if chance.random() < 0.5 and any(manner.policy == "wait" for visit in visits for _, manner in visit.asks):
        # Not before all else, which is as it was before there was this fault.
        made = replace(made, faults=(Fault("fragile", 0.0, 0, 0, lasts=max(horizon, 0.5)), *made.faults))
    return _with_roaming(made, chance)


def _with_roaming(made: Scenario, chance: Random) -> Scenario:
    """Let some clients fetch from a cursor at one member after another, which may stand still."""
    visits = tuple(
        replace(visit, asks=tuple((asked, _roaming(manner, chance)) for asked, manner in visit.asks))
        for visit in made.visits
    )
    return replace(made, visits=visits)


def _roaming(manner: Manner, chance: Random) -> Manner:
    roams, seed, stalls = chance.random() < _ROAMS, chance.randrange(1 << 16), chance.random() < _STALLS
    stays = manner.leaves is not None or manner.cancels is not None
    return manner if stays or not roams else replace(manner, roams=seed, stalls=stalls)


def _fault(chance: Random, count: int, horizon: float) -> Fault:
    kind: Kind = chance.choice(("kill", "power", "leave", "pause", "cut", "cut one", "cut one", "part", "slow", "full"))
    member = chance.randrange(count)
    other = (member + chance.randrange(1, count)) % count
    lasts = chance.choice((0.05, 0.5, 3.0))
    if kind in ("kill", "power", "leave") and chance.random() < 0.5:
        return Fault(kind, chance.uniform(0, horizon), member, other)
    return Fault(kind, chance.uniform(0, horizon), member, other, lasts)


def _visit(chance: Random, count: int, horizon: float) -> Visit:
    asks = tuple((ask(chance), _manner(chance, horizon)) for _ in range(chance.choice((1, 1, 2))))
    return Visit(chance.randrange(count), chance.uniform(0, horizon / 2), asks)


def _manner(chance: Random, horizon: float) -> Manner:
    terms = Terms("local", "always", 1 << 30, chance.choice((256, 2048, 1 << 16)))
    policy: Policy = chance.choice(("fail", "fail", "fail", "retry", "local", "wait", "spool"))
    rests: tuple[float, ...] = ()
    if chance.random() < 0.3:
        rests = tuple(chance.choice((0.0, 0.0, horizon, 0.4)) for _ in range(6))
    leaves = chance.randint(1, 4) if chance.random() < 0.15 else None
    cancels = chance.uniform(0, horizon) if chance.random() < 0.25 else None
    tasks = chance.randrange(1 << 16) if chance.random() < 0.3 else None
    return Manner(terms, policy, tasks, rests, leaves, cancels)


def _topology(chance: Random, count: int) -> Topology:
    """Create a topology that links all members, some of them through others, and now and then limits what a member
    accepts.
    """
    names = [name_of(number) for number in range(count)]
    hub = chance.choice(names)
    nodes = []
    for name in names:
        others = [other for other in names if other != name and (hub in (name, other) or chance.random() < 0.4)]
        capacity = chance.choice((None, None, None, 2))
        nodes.append(TopologyNode(name, f"{name}:7432", tuple(Link(other) for other in others), (), capacity))
    return Topology(tuple(nodes))


def name_of(number: int) -> str:
    return f"m{number + 1}"

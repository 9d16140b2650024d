"""Placement: which operator runs on which member, when sources are pinned and data flows only along links.

The channel seed's bottom-up placement. Operators form a tree; its leaves are pinned to the members that hold their
files, its root to the member that answers the client (single sink). From the sources on:

- an operator with one input goes where its input is while that member has room, else to the first member with room on the
  way to the next pinned consumer (usually the sink);
- an operator with several inputs goes to their lowest common ancestor, in the tree that the links make towards that
  consumer (`Topology.next_hops` takes one of several paths), or, if that member is full, to the first one with room on the way.

Then `decompose` groups adjacent operators by member, and connects the parts with channels of one hop each. A member
that is only passed through gets a part without operators, which forwards rows and takes none of its capacity.

The caller decides what an operator is: a fragment's instance (`engine.planner.distribute.relocate`), or something
finer. The placement is pure: the same arguments give the same result, and it is random only with a generator of the
caller's.

Considered: searching all trees for one with room. The seed takes one tree and names the trade-off. The error says which
members are full, and the topology file can be changed; a predictable plan is worth more than the last slot of a
network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from engine.plan_ir.topology import Topology
from wire.dataclass import dataclass
from wire.errors import ConfigurationLimitExceeded, ObjectNotInPrerequisiteState


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator to place. inputs: names of the operators that it reads. pinned: the member where it must run; leaves
    and the root have one.
    """

    name: str
    inputs: tuple[str, ...] = ()
    pinned: str | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """A placed tree of operators.

    nodes: the member of each operator. routes: the members on the path of its output, from its own to its consumer's,
    both included (one where they are the same); the root has none.
    """

    nodes: Mapping[str, str]
    routes: Mapping[str, tuple[str, ...]]


def place(operators: Sequence[Operator], topology: Topology, chance: Random | None = None) -> Placement:
    """Place a tree of operators, producers before consumers, the root last.

    chance: chooses random paths instead of the first ones. Raises ConfigurationLimitExceeded where members are full,
    and ObjectNotInPrerequisiteState where the links lead nowhere; ValueError if the operators are not such a tree.
    """
    consumers = _consumers(operators)
    goals = _goals(operators, consumers)
    room = _Room(operators, topology)
    trees = {goal: topology.next_hops(goal, chance) for goal in dict.fromkeys(goals.values())}
    nodes: dict[str, str] = {}
    for operator in operators:
        if operator.pinned is not None:
            nodes[operator.name] = operator.pinned
        else:
            goal = goals[operator.name]
            ways = [_way(trees[goal], nodes[name], goal) for name in operator.inputs]
            nodes[operator.name] = room.take(operator.name, _common(ways))
    routes = {
        name: _until(_way(trees[goals[name]], nodes[name], goals[name]), nodes[consumer])
        for name, consumer in consumers.items()
    }
    return Placement(nodes, routes)


def _consumers(operators: Sequence[Operator]) -> Mapping[str, str]:
    """Return the consumer of each operator; check the tree's shape."""
    consumers: dict[str, str] = {}
    known: set[str] = set()
    for operator in operators:
        if operator.name in known or not known.issuperset(operator.inputs):
            raise ValueError(f"operator {operator.name} stands twice, or before its inputs")
        if operator.pinned is None and (not operator.inputs or operator is operators[-1]):
            raise ValueError(f"operator {operator.name} is a leaf or the root, and not pinned")
        known.add(operator.name)
        for name in operator.inputs:
            if name in consumers:
                raise ValueError(f"operator {name} is read twice")
            consumers[name] = operator.name
    if len(consumers) != len(operators) - 1:
        raise ValueError("not every operator but the last is read")
    return consumers


def _goals(operators: Sequence[Operator], consumers: Mapping[str, str]) -> Mapping[str, str]:
    """Return for each operator but the root the member of the next consumer that is pinned."""
    pinned = {operator.name: operator.pinned for operator in operators}
    goals: dict[str, str] = {}
    for operator in reversed(operators[:-1]):
        consumer = consumers[operator.name]
        goals[operator.name] = pinned[consumer] or goals[consumer]
    return goals


class _Room:
    """The number of operators that each member can still take. Pinned operators get their room first."""

    def __init__(self, operators: Sequence[Operator], topology: Topology) -> None:
        self._capacity = {node.name: node.capacity for node in topology.nodes}
        self._taken = Counter(operator.pinned for operator in operators if operator.pinned is not None)
        for member in self._taken:
            self._check_pinned(member, [o.name for o in operators if o.pinned == member])

    def take(self, operator: str, way: Sequence[str]) -> str:
        """Take room on the first member of the path that has some. Raises ConfigurationLimitExceeded."""
        for member in way:
            if self._has_room(member):
                self._taken[member] += 1
                return member
        full = ", ".join(f"{member} takes {self._capacity[member]}" for member in way)
        raise ConfigurationLimitExceeded(
            f'no member from "{way[0]}" to "{way[-1]}" has room for {operator}',
            detail=f"All are full: {full}.",
            hint="Raise the capacity of one of them in the topology file.",
        )

    def _has_room(self, member: str) -> bool:
        capacity = self._capacity[member]
        return capacity is None or self._taken[member] < capacity

    def _check_pinned(self, member: str, names: Sequence[str]) -> None:
        if member not in self._capacity:
            raise ObjectNotInPrerequisiteState(
                f'member "{member}" is not in the topology', detail=f"Bound to it: {', '.join(names)}."
            )
        capacity = self._capacity[member]
        if capacity is not None and len(names) > capacity:
            raise ConfigurationLimitExceeded(
                f'member "{member}" takes {capacity} fragments of a query, and {len(names)} are bound to it',
                detail=f"Bound to it: {', '.join(names)}.",
                hint="Raise its capacity in the topology file.",
            )


def _way(tree: Mapping[str, str], start: str, goal: str) -> tuple[str, ...]:
    """Return the members from one to another, both included."""
    way = [start]
    while way[-1] != goal:
        if way[-1] not in tree:
            raise ObjectNotInPrerequisiteState(
                f'no links lead from member "{start}" to member "{goal}"',
                hint="The topology file says where data may flow; another member may be able to run this query.",
            )
        way.append(tree[way[-1]])
    return tuple(way)


def _until(way: tuple[str, ...], member: str) -> tuple[str, ...]:
    return way[: way.index(member) + 1]


def _common(ways: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the common end of all paths: it begins at the lowest common ancestor and ends at the goal."""
    first, *others = ways
    at = next(i for i, member in enumerate(first) if all(member in other for other in others))
    return first[at:]


# -- decomposition ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """Adjacent operators on one member, producers first; a part without operators passes on what it receives."""

    id: int
    node: str
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Channel:
    """One hop along a link. source, target: parts."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A placed tree as parts, producers before consumers, the root last. Every part but the root is the source of one
    channel.
    """

    parts: tuple[Part, ...]
    channels: tuple[Channel, ...]


def decompose(operators: Sequence[Operator], placement: Placement) -> Decomposition:
    """Cut a placed tree at the borders between members."""
    consumers = _consumers(operators)
    parts: list[tuple[str, list[str]]] = []
    targets: list[int] = []
    part_of: dict[str, int] = {}
    for operator in reversed(operators):
        route = placement.routes.get(operator.name, (placement.nodes[operator.name],))
        if operator.name in consumers and len(route) == 1:
            part_of[operator.name] = part_of[consumers[operator.name]]
        else:
            at = part_of[consumers[operator.name]] if operator.name in consumers else -1
            for member in reversed(route if at < 0 else route[:-1]):
                parts.append((member, []))
                targets.append(at)
                at = len(parts) - 1
            part_of[operator.name] = at
        parts[part_of[operator.name]][1].append(operator.name)
    last = len(parts) - 1
    return Decomposition(
        tuple(Part(last - i, node, tuple(reversed(names))) for i, (node, names) in reversed(list(enumerate(parts)))),
        tuple(Channel(last - i, last - at) for i, at in reversed(list(enumerate(targets))) if at >= 0),
    )

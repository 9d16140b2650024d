"""Relocation of a physical plan on a network where not every member may send to every other, so that rows flow along
links only.

Plans are made for members that all reach one another. Where a topology forbids the streams of such a plan (or lacks
room for it), this pass makes another plan with the same answer:

- a fragment without inputs stays where its files are, instance by instance; so does one that has a single instance, since
  it has a reason to be there (the initiator's own tables, functions that give another value each time);
- any other fragment becomes one instance, placed bottom up (`engine.planner.distribute.placement`): at the lowest common
  ancestor of its inputs. Its hash and mirror routers become single ones, since one instance sees all groups. Files that it
  reads beside its inputs are read by fragments of their own, where they lie;
- a stream that passes members in between is forwarded there by a fragment that only receives and sends. An edge that
  arrives partly by way of others becomes several edges: their union, sorted again if the edge was merged in order. The
  union is a fragment of its own, so that a consumer that wants one ordered edge still gets one.

Rejected: hash buckets on several members of such a network. A member that hashes must reach every bucket; the members
between would need routers of their own, to partition again the rows that reach them. The seed's tree has one place
where flows meet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random

from engine.common import sql_type as st
from engine.plan_ir.expr import Column, Const, Node
from engine.plan_ir.logical import Evaluator, SetOperation, Sort, TableReader
from engine.plan_ir.physical import (
    Edge,
    Fragment,
    Instance,
    Ordered,
    PhysicalPlan,
    Receive,
    Sequential,
    SingleRouter,
    Synchronizer,
    Unsynchronized,
)
from engine.plan_ir.rewrite import rewrite_plan, walk_all
from engine.plan_ir.topology import Topology
from engine.planner.distribute.placement import Operator, place
from engine.planner.optimizer.ordering import ordering_of
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t


def relocate(plan: PhysicalPlan, topology: Topology, chance: Random | None = None) -> PhysicalPlan:
    """Return the plan unchanged if the topology allows it, else one with the same answer that the topology allows.

    Raises as `engine.planner.distribute.placement.place`, and FeatureNotSupported for streams that are read one after
    another, would have to be passed on, and have no order to merge them by.
    """
    if _has_room(plan, topology) and all(_is_allowed(plan, edge, topology) for edge in plan.edges):
        return plan
    return _Move(_readers_apart(plan), topology, chance).relocate()


def _is_allowed(plan: PhysicalPlan, edge: Edge, topology: Topology) -> bool:
    senders, receivers = plan.fragment(edge.source).instances, plan.fragment(edge.target).instances
    return all(
        s.member == r.member or topology.may_send(s.member, r.member) for s in senders for r in receivers
    )  # fmt: skip


def _has_room(plan: PhysicalPlan, topology: Topology) -> bool:
    taken = Counter(instance.member for fragment in plan.fragments for instance in fragment.instances)
    return all(node.capacity is None or taken[node.name] <= node.capacity for node in topology.nodes)


# -- files beside inputs ---------------------------------------------------------------------------------------------


def _readers_apart(plan: PhysicalPlan) -> PhysicalPlan:
    """Move the readers out of fragments that receive on several members: other fragments read these files and send the
    rows.
    """
    fresh = _Fresh(plan)
    fragments: list[Fragment] = []
    edges = list(plan.edges)
    for fragment in plan.fragments:
        if fragment.inputs and len(fragment.instances) > 1:
            apart = _Apart(fragment, fresh)
            whole = apart.without_readers()
            fragments += apart.readers
            edges += apart.edges
            fragments.append(whole)
        else:
            fragments.append(fragment)
    return replace(plan, fragments=tuple(fragments), edges=tuple(edges))


class _Fresh:
    """Numbers that the plan does not use."""

    def __init__(self, plan: PhysicalPlan) -> None:
        nodes = [node for fragment in plan.fragments for node in walk_all(fragment.root)]
        self._fragments = count(1 + max(fragment.id for fragment in plan.fragments))
        self._edges = count(1 + max((edge.id for edge in plan.edges), default=0))
        self._columns = count(1 + max((column.id for node in nodes for column in node.columns), default=0))

    def fragment(self) -> int:
        return next(self._fragments)

    def edge(self) -> int:
        return next(self._edges)

    def column(self) -> Column:
        return Column(next(self._columns), "row", st.of(t.INT4))


class _Apart:
    """One fragment, and the readers that were taken out of it."""

    def __init__(self, fragment: Fragment, fresh: _Fresh) -> None:
        self.readers: list[Fragment] = []
        self.edges: list[Edge] = []
        self._fragment = fragment
        self._fresh = fresh

    def without_readers(self) -> Fragment:
        root = rewrite_plan(self._fragment.root, self._receive_from_reader)
        instances = tuple(Instance(instance.member) for instance in self._fragment.instances)
        inputs = (*self._fragment.inputs, *(edge.id for edge in self.edges))
        return replace(self._fragment, root=root, instances=instances, inputs=inputs)

    def _receive_from_reader(self, node: Node) -> Node:
        if not isinstance(node, TableReader) or not node.reader:
            return node
        sent: Node = node if node.columns else Evaluator((self._fresh.column(),), node, (Const(st.of(t.INT4), 1),))
        edge = Edge(self._fresh.edge(), self._fresh.fragment(), self._fragment.id, sent.columns)
        at = tuple(
            Instance(instance.member, {node.reader: instance.splits[node.reader]}, instance.within)
            for instance in self._fragment.instances
            if node.reader in instance.splits
        )
        self.readers.append(Fragment(edge.source, sent, at, (), edge.id, reason="it reads its splits in place"))
        self.edges.append(edge)
        receive = Receive(sent.columns, edge.id)
        return receive if node.columns else Evaluator((), receive, ())


# -- the move --------------------------------------------------------------------------------------------------------

#: An operator's name, and the path that its rows still have to take.
_Arrival = tuple[str, tuple[str, ...]]


class _Move:
    """The new plan under construction, from its root down; producers are appended before their consumers."""

    def __init__(self, plan: PhysicalPlan, topology: Topology, chance: Random | None) -> None:
        self._plan = plan
        self._instances = {
            name: instance
            for fragment in plan.fragments
            for name, instance in zip(_names(fragment), fragment.instances, strict=False)
        }
        self._placed = place(tuple(_operators(plan)), topology, chance)
        self._fragments: list[Fragment] = []
        self._edges: dict[int, Edge] = {}
        self._numbers = count(1)

    def relocate(self) -> PhysicalPlan:
        self._append(self._plan.root, _names(self._plan.root), None)
        reason = f"{self._plan.reason}; placed along the topology's links"
        return PhysicalPlan(self._plan.initiator, tuple(self._fragments), tuple(self._edges.values()), reason)

    def _append(self, fragment: Fragment, names: Sequence[str], output: int | None) -> int:
        """Add a fragment, and before it those that it receives from. names: its operators that are added."""
        at = self._placed.nodes[names[0]]
        received: dict[int, Node] = {}
        inputs: list[int] = []
        for number in fragment.inputs:
            edge = self._plan.edge(number)
            senders = _names(self._plan.fragment(edge.source))
            ways = [(name, self._placed.routes[name]) for name in senders]
            received[number], arriving = self._deliver(edge, at, ways, self._choose_synchronizer(edge, ways))
            inputs += arriving
        instances = tuple(replace(self._instances[name], member=self._placed.nodes[name]) for name in names)
        root = _with_received(fragment.root, received)
        return self._add(replace(fragment, root=root, instances=instances, inputs=tuple(inputs), output=output))

    def _choose_synchronizer(self, edge: Edge, arrivals: Sequence[_Arrival]) -> Synchronizer:
        """Choose how the rows arrive. Streams that are read one after another are each in order; if some of them are
        passed on, all are merged by that order.
        """
        if not isinstance(edge.synchronizer, Sequential) or all(len(way) <= 2 for _, way in arrivals):
            return edge.synchronizer
        keys = ordering_of(self._plan.fragment(edge.source).root)
        if not keys:
            raise FeatureNotSupported("not supported: streams that are read one after another by way of other members")
        return Ordered(keys)

    def _add(self, fragment: Fragment) -> int:
        number = len(self._fragments) + 1
        self._fragments.append(replace(fragment, id=number))
        for edge in fragment.inputs:
            self._edges[edge] = replace(self._edges[edge], target=number)
        return number

    def _deliver(
        self, edge: Edge, member: str, arrivals: Sequence[_Arrival], wanted: Synchronizer
    ) -> tuple[Node, list[int]]:
        """Return the node in place of an edge's RECEIVE at `member`, where the arrivals end, and the edges that it reads."""
        direct = [name for name, way in arrivals if len(way) <= 2]
        between: dict[str, list[_Arrival]] = {}
        for name, way in arrivals:
            if len(way) > 2:
                between.setdefault(way[-2], []).append((name, way[:-1]))
        if isinstance(wanted, Ordered) and len(between) + bool(direct) > 1:
            number = self._edge(edge, wanted, partial(self._pass_on, edge, wanted, member, arrivals))
            return Receive(edge.columns, number), [number]
        source = self._plan.fragment(edge.source)
        edges = [self._edge(edge, wanted, partial(self._append, source, direct))] if direct else []
        edges += [self._edge(edge, wanted, partial(self._pass_on, edge, wanted, *at)) for at in between.items()]
        return _union_edges(edge, edges), edges

    def _edge(self, like: Edge, synchronizer: Synchronizer, produce: Callable[[int], int]) -> int:
        """Add an edge; `produce` appends the fragment that feeds it."""
        number = next(self._numbers)
        self._edges[number] = Edge(number, produce(number), 0, like.columns, SingleRouter(), synchronizer)
        return number

    def _pass_on(self, edge: Edge, wanted: Synchronizer, member: str, arrivals: Sequence[_Arrival], output: int) -> int:
        """Add a fragment that receives at `member` and sends one stream, sorted if the next edge wants an order."""
        if not isinstance(wanted, Ordered):
            root, inputs = self._deliver(edge, member, arrivals, wanted)
        else:
            wide = replace(edge, columns=_with_keys(edge.columns, wanted))
            node, inputs = self._deliver(wide, member, arrivals, Unsynchronized())
            root = Sort(node.columns, node, wanted.keys)
        return self._add(Fragment(0, root, (Instance(member),), tuple(inputs), output, reason="it passes on"))


def _names(fragment: Fragment) -> tuple[str, ...]:
    """Return the names of the operators as which a fragment is placed."""
    if fragment.inputs and len(fragment.instances) > 1:
        return (f"fragment {fragment.id}",)
    return tuple(f"fragment {fragment.id} on {instance.member}" for instance in fragment.instances)


def _operators(plan: PhysicalPlan) -> Iterator[Operator]:
    for fragment in plan.fragments:
        inputs = tuple(n for e in fragment.inputs for n in _names(plan.fragment(plan.edge(e).source)))
        names = _names(fragment)
        pinned = len(names) == len(fragment.instances)
        for name, instance in zip(names, fragment.instances, strict=False):
            yield Operator(name, inputs, instance.member if pinned else None)


def _with_received(root: Node, received: Mapping[int, Node]) -> Node:
    return rewrite_plan(root, lambda node: received[node.edge] if isinstance(node, Receive) else node)


def _union_edges(edge: Edge, numbers: Sequence[int]) -> Node:
    """Combine the rows of several edges with UNION ALL."""
    first, *others = (Receive(edge.columns, number) for number in numbers)
    node: Node = first
    for receive in others:
        node = SetOperation(edge.columns, "union", True, node, receive)
    return node


def _with_keys(columns: tuple[Column, ...], wanted: Ordered) -> tuple[Column, ...]:
    """Add the keys of an order to the columns: an ordered edge carries only the order of its keys, and a fragment that
    sorts again needs the keys.
    """
    return tuple(dict.fromkeys((*columns, *(key.column for key in wanted.keys))))

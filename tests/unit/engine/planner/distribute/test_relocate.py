"""Physical plans relocated onto networks that lack links that they need: no row is lost, and none flows where no link
is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.binding_ground import TestCatalog, bind

from engine.plan_ir.expr import Node
from engine.plan_ir.logical import Aggregator, Evaluator, Join, Root, SetOperation, Sort, TableReader
from engine.plan_ir.physical import (
    Edge,
    Fragment,
    HashRouter,
    Instance,
    MirrorRouter,
    Ordered,
    PhysicalPlan,
    Receive,
    Sequential,
    Split,
)
from engine.plan_ir.rewrite import rewrite_plan, walk_all
from engine.plan_ir.topology import Direction, Link, Topology, TopologyNode
from engine.planner.distribute.relocate import relocate
from engine.planner.planner import optimise
from wire.errors import ConfigurationLimitExceeded, FeatureNotSupported, ObjectNotInPrerequisiteState


def _topology(links: dict[str, str], capacity: dict[str, int] | None = None) -> Topology:
    return Topology(
        tuple(
            TopologyNode(name, f"{name}:1", tuple(Link(to, "up") for to in tos.split()), (), (capacity or {}).get(name))
            for name, tos in links.items()
        )
    )


def _planned(sql: str) -> Root:
    return optimise(bind(sql, TestCatalog()).plan)


def _reads(node: Node, number: int) -> Node:
    """A reader, or what stands on one, with its reader numbered."""
    if isinstance(node, TableReader):
        return replace(node, reader=number)
    assert isinstance(node, (Evaluator, Aggregator))
    return replace(node, input=_reads(node.input, number))


def _at(members: tuple[str, ...], readers: tuple[int, ...] = ()) -> tuple[Instance, ...]:
    return tuple(Instance(m, {r: (Split(f"{m}/{r}.parquet", 10),) for r in readers}) for m in members)


def _grouped(members: tuple[str, ...] = ("a", "b"), initiator: str = "gw") -> PhysicalPlan:
    """Sums by key: first stage and second stage on all members, sorted, merged at the initiator."""
    final = _planned("select n_regionkey, count(*) from nation group by 1 order by 1")
    sort = final.input
    assert isinstance(sort, Sort)
    aggregator = next(node for node in sort.walk() if isinstance(node, Aggregator))
    first = _reads(aggregator, 1)
    edges = (
        Edge(1, 1, 2, first.columns, HashRouter(first.columns[:1])),
        Edge(2, 2, 3, sort.columns, synchronizer=Ordered(sort.keys)),
    )
    again = replace(aggregator, input=Receive(first.columns, 1), group=first.columns[:1])
    second = rewrite_plan(sort, lambda node: again if isinstance(node, Aggregator) else node)
    return PhysicalPlan(
        initiator,
        (
            Fragment(1, first, _at(members, (1,)), output=1),
            Fragment(2, second, _at(members), (1,), 2),
            Fragment(3, replace(final, input=Receive(sort.columns, 2)), _at((initiator,)), (2,)),
        ),
        edges,
        "nation is pinned",
    )


def _mirrored() -> PhysicalPlan:
    """nation on a and b joined in place with region, which c sends to both."""
    final = _planned("select n_name, r_name from nation cross join region")
    join = next(node for node in final.walk() if isinstance(node, Join))
    region = _reads(join.right, 2)
    joined = replace(join, left=_reads(join.left, 1), right=Receive(region.columns, 1))
    return PhysicalPlan(
        "gw",
        (
            Fragment(1, region, _at(("c",), (2,)), output=1),
            Fragment(2, joined, _at(("a", "b"), (1,)), (1,), 2),
            Fragment(3, replace(final, input=Receive(joined.columns, 2)), _at(("gw",)), (2,)),
        ),
        (Edge(1, 1, 2, region.columns, MirrorRouter()), Edge(2, 2, 3, joined.columns)),
        "nation and region are pinned",
    )


def _check(before: PhysicalPlan, plan: PhysicalPlan, topology: Topology) -> None:
    """Check the invariants of every plan that can run on a topology and reads what `before` reads."""
    assert [f.id for f in plan.fragments] == sorted({f.id for f in plan.fragments})
    assert [i.member for i in plan.root.instances] == [before.initiator]
    assert _all_splits(plan) == _all_splits(before)
    for edge in plan.edges:
        source, target = plan.fragment(edge.source), plan.fragment(edge.target)
        assert (source.output, source.id < target.id) == (edge.id, True)
        keys = edge.synchronizer.keys if isinstance(edge.synchronizer, Ordered) else ()
        assert {*edge.columns, *(key.column for key in keys)} <= {*source.root.columns}
        for sender in source.instances:
            for receiver in target.instances:
                assert sender.member == receiver.member or topology.may_send(sender.member, receiver.member)
    for fragment in plan.fragments:
        received = Counter(node.edge for node in walk_all(fragment.root) if isinstance(node, Receive))
        assert received == Counter(fragment.inputs)
        assert all(plan.edge(number).target == fragment.id for number in fragment.inputs)


def _all_splits(plan: PhysicalPlan) -> Counter[tuple[str, int, Split]]:
    """(member, reader, split) of everything that is read."""
    return Counter(
        (instance.member, reader, split)
        for fragment in plan.fragments
        for instance in fragment.instances
        for reader, splits in instance.splits.items()
        for split in splits
    )


def _members(plan: PhysicalPlan) -> list[list[str]]:
    return [[instance.member for instance in fragment.instances] for fragment in plan.fragments]


def test_a_plan_that_the_topology_allows_stays_as_it_is() -> None:
    plan = _grouped()
    assert relocate(plan, _topology({"a": "b gw", "b": "a gw", "gw": ""})) is plan
    assert relocate(plan, _topology({"a": "", "b": "", "gw": ""})) is plan


def test_the_second_stage_moves_to_where_the_flows_meet() -> None:
    topology = _topology({"a": "r", "b": "r", "r": "gw", "gw": ""})
    plan = relocate(_grouped(), topology)
    _check(_grouped(), plan, topology)
    assert _members(plan) == [["a", "b"], ["r"], ["gw"]]
    assert plan.reason == "nation is pinned; placed along the topology's links"
    assert isinstance(plan.edges[1].synchronizer, Ordered)


def test_streams_pass_through_the_members_between_and_are_united_after() -> None:
    topology = _topology({"a": "r", "r": "gw", "b": "gw", "gw": ""}, {"r": 0})
    plan = relocate(_grouped(), topology)
    _check(_grouped(), plan, topology)
    assert _members(plan) == [["b"], ["a"], ["r"], ["gw"], ["gw"]]
    passing, second = plan.fragments[2], plan.fragments[3]
    assert (passing.root, passing.reason) == (
        Receive(plan.fragments[1].root.columns, passing.inputs[0]),
        "it passes on",
    )
    assert any(isinstance(node, SetOperation) and node.all for node in second.root.walk())


def test_an_order_survives_being_passed_on() -> None:
    links = {"a": "r", "b": "r", "r": "s", "s": "gw", "gw": ""}
    plan = relocate(_grouped(), _topology(links, {"s": 0}))
    assert _members(plan) == [["a", "b"], ["r"], ["s"], ["gw"]]
    passing = plan.fragments[2]
    assert isinstance(passing.root, Sort)
    assert isinstance(plan.edge(passing.output or 0).synchronizer, Ordered)


def test_an_order_is_made_again_where_streams_are_united() -> None:
    leaf = _grouped()
    sort = leaf.fragments[1].root
    assert isinstance(sort, Sort)
    sorted_leaf = replace(leaf.fragments[0], root=Sort(sort.columns, leaf.fragments[0].root, sort.keys), output=2)
    before = replace(
        leaf, fragments=(sorted_leaf, leaf.fragments[2]), edges=(replace(leaf.edges[1], source=1, target=3),)
    )
    topology = _topology({"a": "r", "r": "gw", "b": "gw", "gw": ""})
    plan = relocate(before, topology)
    _check(before, plan, topology)
    assert _members(plan) == [["b"], ["a"], ["r"], ["gw"], ["gw"]]
    united = plan.fragments[3].root
    assert isinstance(united, Sort)
    assert (united.keys, isinstance(united.input, SetOperation)) == (sort.keys, True)
    assert plan.root.root.inputs() == (Receive(sort.columns, plan.root.inputs[0]),)
    assert plan.edge(plan.root.inputs[0]).synchronizer == Ordered(sort.keys)


def test_a_key_that_an_edge_does_not_carry_is_carried_to_whoever_sorts_again() -> None:
    plan = _grouped()
    edge = plan.edges[1]
    assert isinstance(edge.synchronizer, Ordered)
    key = edge.synchronizer.keys[0].column
    shown = tuple(column for column in edge.columns if column != key)
    final = Root(shown, Receive(shown, 2), edge.synchronizer.keys)
    before = replace(
        plan,
        fragments=(*plan.fragments[:2], replace(plan.root, root=final)),
        edges=(plan.edges[0], replace(edge, columns=shown)),
    )
    topology = _topology({"a": "r", "b": "r", "r": "s", "s": "gw", "gw": ""}, {"s": 0})
    moved = relocate(before, topology)
    _check(before, moved, topology)
    assert moved.edge(moved.root.inputs[0]).columns == shown
    passing = next(fragment for fragment in moved.fragments if fragment.reason == "it passes on")
    assert key in moved.edge(passing.inputs[0]).columns


def test_a_mirrored_join_gives_its_readers_away() -> None:
    topology = _topology({"a": "r", "b": "r", "c": "r", "r": "gw", "gw": ""})
    plan = relocate(_mirrored(), topology)
    _check(_mirrored(), plan, topology)
    assert _members(plan) == [["c"], ["a", "b"], ["r"], ["gw"]]
    assert all(isinstance(edge.router, type(plan.edges[0].router)) for edge in plan.edges)


def test_rows_without_columns_are_sent_as_a_column() -> None:
    before = _mirrored()
    join = before.fragments[1].root
    assert isinstance(join, Join)
    left = next(node for node in join.left.walk() if isinstance(node, TableReader))
    bare = replace(join, left=replace(left, columns=(), names=()), columns=join.right.columns)
    final = Root(bare.columns, Receive(bare.columns, 2))
    before = replace(
        before,
        fragments=(before.fragments[0], replace(before.fragments[1], root=bare), replace(before.root, root=final)),
        edges=(before.edges[0], replace(before.edges[1], columns=bare.columns)),
    )
    topology = _topology({"a": "r", "b": "r", "c": "r", "r": "gw", "gw": ""})
    plan = relocate(before, topology)
    _check(before, plan, topology)
    sent = plan.fragments[1].root
    assert (isinstance(sent, Evaluator), [column.name for column in sent.columns]) == (True, ["row"])


def test_what_the_topology_lacks_is_told() -> None:
    with pytest.raises(ObjectNotInPrerequisiteState, match='from member "b" to member "gw"'):
        relocate(_grouped(), _topology({"a": "gw", "b": "", "gw": ""}))
    with pytest.raises(ConfigurationLimitExceeded, match="has room for fragment 2"):
        relocate(_grouped(), _topology({"a": "gw", "b": "gw", "gw": ""}, {"gw": 1}))


def test_streams_one_after_another_are_merged_where_they_are_passed_on() -> None:
    plan = _grouped()
    sort = plan.fragments[1].root
    assert isinstance(sort, Sort)
    first = replace(plan.fragments[0], root=replace(sort, input=plan.fragments[0].root), output=2)
    edge = replace(plan.edges[1], source=1, synchronizer=Sequential())
    before = replace(plan, fragments=(first, plan.root), edges=(edge,))
    links = {"a": "r", "r": "gw", "b": "gw", "gw": ""}
    moved = relocate(before, _topology(links))
    _check(before, moved, _topology(links))
    assert moved.edge(moved.root.inputs[0]).synchronizer == Ordered(sort.keys)


def test_streams_one_after_another_without_an_order_are_not_passed_on() -> None:
    plan = _grouped()
    whole = replace(plan.edges[0], synchronizer=Sequential())
    with pytest.raises(FeatureNotSupported, match="one after another"):
        relocate(
            replace(plan, edges=(whole, plan.edges[1])), _topology({"a": "r", "r": "gw", "b": "gw", "gw": ""}, {"r": 0})
        )


#: Every one has a link upwards to a later one, so that all reach gw; further links lead anywhere.
_NAMES = ("a", "b", "c", "r", "s", "gw")


@st.composite
def _topologies(draw: st.DrawFn) -> Topology:
    directions: tuple[Direction, ...] = ("up", "down", "both")
    up: list[tuple[str, str, Direction]]
    up = [(name, draw(st.sampled_from(_NAMES[i + 1 :])), "up") for i, name in enumerate(_NAMES[:-1])]
    link = st.tuples(st.sampled_from(_NAMES), st.sampled_from(_NAMES), st.sampled_from(directions))
    links = [*up, *draw(st.lists(link, max_size=4))]
    capacities = st.one_of(st.none(), st.none(), st.integers(0, 4))
    return Topology(
        tuple(
            TopologyNode(
                name, f"{name}:1", tuple(Link(to, d) for by, to, d in links if by == name), (), draw(capacities)
            )
            for name in _NAMES
        )
    )


@settings(deadline=None, max_examples=300)
@given(_topologies(), st.sampled_from([_grouped(), _grouped(("a", "b", "c")), _grouped(("gw", "a")), _mirrored()]))
def test_whatever_has_room_flows_along_links(topology: Topology, before: PhysicalPlan) -> None:
    try:
        plan = relocate(before, topology)
    except ConfigurationLimitExceeded:
        assert any(node.capacity is not None for node in topology.nodes)
        return
    _check(before, plan, topology)

"""Placement: the seed's examples, what is refused, and the invariants of every placement (random trees and topologies)."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.plan_ir.topology import Direction, Link, Topology, TopologyNode
from engine.planner.distribute.placement import Channel, Operator, Part, Placement, decompose, place
from wire.errors import ConfigurationLimitExceeded, ObjectNotInPrerequisiteState, SqlError

#: The seed's join: two sources, a filter on each, a join, a sink.
JOIN = (
    Operator("source1", pinned="n1"),
    Operator("source2", pinned="n2"),
    Operator("filter1", ("source1",)),
    Operator("filter2", ("source2",)),
    Operator("join", ("filter1", "filter2")),
    Operator("sink", ("join",), pinned="n3"),
)


def _topology(links: dict[str, str], capacity: dict[str, int] | None = None) -> Topology:
    """Nodes with links upwards: `{"n1": "n2 n3", ...}`."""
    return Topology(
        tuple(
            TopologyNode(name, f"{name}:1", tuple(Link(to, "up") for to in tos.split()), (), (capacity or {}).get(name))
            for name, tos in links.items()
        )
    )


SEED = {"n1": "n3", "n2": "n3", "n3": ""}


def test_the_seeds_example() -> None:
    placement = place(JOIN, _topology(SEED))
    assert placement.nodes == {
        "source1": "n1",
        "source2": "n2",
        "filter1": "n1",
        "filter2": "n2",
        "join": "n3",
        "sink": "n3",
    }
    decomposition = decompose(JOIN, placement)
    assert decomposition.parts == (
        Part(0, "n1", ("source1", "filter1")),
        Part(1, "n2", ("source2", "filter2")),
        Part(2, "n3", ("join", "sink")),
    )
    assert set(decomposition.channels) == {Channel(0, 2), Channel(1, 2)}


def test_without_room_a_filter_moves_on_along_its_way() -> None:
    placement = place(JOIN, _topology(SEED, {"n1": 1}))
    assert (placement.nodes["filter1"], placement.nodes["filter2"]) == ("n3", "n2")


def test_the_lowest_common_ancestor_is_below_the_sink_where_paths_meet_earlier() -> None:
    topology = _topology({"n1": "r", "n2": "r", "r": "n3", "n3": ""})
    placement = place(JOIN, topology)
    assert (placement.nodes["join"], placement.routes["join"]) == ("r", ("r", "n3"))
    full = place(JOIN, _topology({"n1": "r", "n2": "r", "r": "n3", "n3": ""}, {"r": 0}))
    assert (full.nodes["join"], full.routes["filter1"]) == ("n3", ("n1", "r", "n3"))


def test_who_is_passed_through_gets_a_part_that_passes_on() -> None:
    operators = (Operator("source", pinned="a"), Operator("sink", ("source",), pinned="d"))
    decomposition = decompose(operators, place(operators, _topology({"a": "b", "b": "c", "c": "d", "d": ""}, {"b": 0})))
    assert [(part.node, part.operators) for part in decomposition.parts] == [
        ("a", ("source",)),
        ("b", ()),
        ("c", ()),
        ("d", ("sink",)),
    ]
    assert set(decomposition.channels) == {Channel(0, 1), Channel(1, 2), Channel(2, 3)}


def test_operators_that_are_not_adjacent_are_parts_of_their_own() -> None:
    operators = (
        Operator("left", pinned="a"),
        Operator("right", pinned="a"),
        Operator("join", ("left", "right"), pinned="b"),
    )
    decomposition = decompose(operators, place(operators, _topology({"a": "b", "b": ""})))
    assert [set(part.operators) for part in decomposition.parts] == [{"left"}, {"right"}, {"join"}]
    assert len(decomposition.channels) == 2


def test_everything_on_one_member_is_one_part() -> None:
    operators = (Operator("source", pinned="a"), Operator("filter", ("source",)), Operator("sink", ("filter",), "a"))
    decomposition = decompose(operators, place(operators, _topology({"a": "", "b": ""})))
    assert (decomposition.parts, decomposition.channels) == ((Part(0, "a", ("source", "filter", "sink")),), ())


def test_a_random_path_is_one_of_those_there_are() -> None:
    operators = (Operator("source", pinned="a"), Operator("filter", ("source",)), Operator("sink", ("filter",), "d"))
    topology = _topology({"a": "b c", "b": "d", "c": "d", "d": ""}, {"a": 1})
    assert place(operators, topology).nodes["filter"] == "b"
    assert {place(operators, topology, Random(seed)).nodes["filter"] for seed in range(20)} == {"b", "c"}


def test_members_without_room_are_named() -> None:
    with pytest.raises(ConfigurationLimitExceeded, match='from "n3" to "n3" has room for join') as error:
        place(JOIN, _topology(SEED, {"n3": 1}))
    assert error.value.detail == "All are full: n3 takes 1."
    with pytest.raises(ConfigurationLimitExceeded, match='"n1" takes 0 fragments of a query, and 1 are bound to it'):
        place(JOIN, _topology(SEED, {"n1": 0}))


def test_links_that_lead_nowhere_are_named() -> None:
    with pytest.raises(ObjectNotInPrerequisiteState, match='no links lead from member "n2" to member "n3"'):
        place(JOIN, _topology({"n1": "n3", "n2": "", "n3": ""}))
    with pytest.raises(ObjectNotInPrerequisiteState, match='member "n2" is not in the topology'):
        place(JOIN, _topology({"n1": "n3", "n3": ""}))


@pytest.mark.parametrize(
    "operators",
    [
        (Operator("a"), Operator("b", ("a",), "n3")),
        (Operator("a", pinned="n1"), Operator("b", ("a",))),
        (Operator("b", ("a",), "n3"), Operator("a", pinned="n1")),
        (Operator("a", pinned="n1"), Operator("a", pinned="n1"), Operator("b", ("a",), "n3")),
        (Operator("a", pinned="n1"), Operator("b", ("a",)), Operator("c", ("a", "b"), "n3")),
        (Operator("a", pinned="n1"), Operator("b", pinned="n3")),
    ],
)
def test_what_is_no_tree_from_pinned_leaves_to_a_pinned_root_is_refused(operators: tuple[Operator, ...]) -> None:
    with pytest.raises(ValueError, match="operator"):
        place(operators, _topology(SEED))


# -- what holds for every placement ----------------------------------------------------------------------------------

_DIRECTIONS: tuple[Direction, ...] = ("up", "down", "both")


@st.composite
def _topologies(draw: st.DrawFn) -> Topology:
    names = [f"n{i}" for i in range(draw(st.integers(1, 7)))]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names), st.sampled_from(_DIRECTIONS))
    links = draw(st.lists(pairs, max_size=14))
    capacities = st.one_of(st.none(), st.integers(1, 4))
    return Topology(
        tuple(
            TopologyNode(
                name, f"{name}:1", tuple(Link(to, d) for by, to, d in links if by == name), (), draw(capacities)
            )
            for name in names
        )
    )


@st.composite
def _trees(draw: st.DrawFn, topology: Topology) -> tuple[Operator, ...]:
    """Leaves, then operators that read some of those that nobody reads yet, then the root that reads the rest."""
    members = st.sampled_from([node.name for node in topology.nodes])
    operators = [Operator(f"leaf{i}", (), draw(members)) for i in range(draw(st.integers(1, 4)))]
    unread = [operator.name for operator in operators]
    for number in range(draw(st.integers(0, 5))):
        taken = draw(st.lists(st.sampled_from(unread), min_size=1, max_size=3, unique=True))
        pinned = draw(st.one_of(st.none(), st.none(), st.none(), members))
        operators.append(Operator(f"op{number}", tuple(taken), pinned))
        unread = [name for name in unread if name not in taken] + [f"op{number}"]
    return (*operators, Operator("sink", tuple(unread), draw(members)))


@settings(deadline=None, max_examples=400)
@given(st.data(), st.one_of(st.none(), st.integers(0, 9)))
def test_every_placement_keeps_its_promises(data: st.DataObject, seed: int | None) -> None:
    topology = data.draw(_topologies())
    operators = data.draw(_trees(topology))
    try:
        placement = place(operators, topology, Random(seed) if seed is not None else None)
    except ObjectNotInPrerequisiteState:
        assert not _reaches_all(operators, topology)
        return
    except ConfigurationLimitExceeded:
        assert any(node.capacity is not None for node in topology.nodes)
        return
    _check_placement(operators, placement, topology)
    _check_decomposition(operators, placement, topology)


def _reaches_all(operators: tuple[Operator, ...], topology: Topology) -> bool:
    """Whether from every pinned operator links lead to the next pinned one."""
    consumers = {name: operator for operator in operators for name in operator.inputs}
    for operator in operators[:-1]:
        if operator.pinned is not None:
            consumer = consumers[operator.name]
            while consumer.pinned is None:
                consumer = consumers[consumer.name]
            if consumer.pinned not in topology.reached_from(operator.pinned):
                return False
    return True


def _check_placement(operators: tuple[Operator, ...], placement: Placement, topology: Topology) -> None:
    assert set(placement.nodes) == {operator.name for operator in operators}
    held = Counter(placement.nodes.values())
    assert all(node.capacity is None or held[node.name] <= node.capacity for node in topology.nodes)
    for operator in operators:
        assert operator.pinned in (None, placement.nodes[operator.name])
        for name in operator.inputs:
            route = placement.routes[name]
            assert (route[0], route[-1]) == (placement.nodes[name], placement.nodes[operator.name])
            assert all(topology.may_send(by, to) for by, to in pairwise(route))


def _check_decomposition(operators: tuple[Operator, ...], placement: Placement, topology: Topology) -> None:
    decomposition = decompose(operators, placement)
    parts = decomposition.parts
    assert [part.id for part in parts] == list(range(len(parts)))
    assert Counter(name for part in parts for name in part.operators) == Counter(o.name for o in operators)
    assert all(placement.nodes[name] == part.node for part in parts for name in part.operators)
    assert Counter(channel.source for channel in decomposition.channels) == Counter(range(len(parts) - 1))
    for channel in decomposition.channels:
        assert channel.source < channel.target
        assert topology.may_send(parts[channel.source].node, parts[channel.target].node)


def test_an_unlimited_network_without_links_takes_everything() -> None:
    topology = Topology(tuple(TopologyNode(f"n{i}", f"n{i}:1") for i in range(1, 4)))
    placement = place(JOIN, topology)
    assert placement.nodes["join"] == "n3"
    with pytest.raises(SqlError):
        place(JOIN, Topology(topology.nodes[:2]))

"""Queries on two and three members, in any order that links allow, with crashes and broken connections.

`tests/query_world.py` says what must hold after every step (nothing runs after its Stop; one Fail at most, and it is the first
cause that reached the initiator; at most 2N cancels) and at the end (everything was forgotten, everywhere).

For one query on few members, and a few things that may befall it, all orders are tried, not some.
"""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from query_world import Step, World

#: What a query does if nothing befalls it.
COURSE = frozenset({"deliver", "send_start", "set_up", "sent", "end", "ask", "finish", "wait"})
#: Which of the possible steps comes next, and whether something may befall the query: rarely, or nothing ever gets far.
CHOICES = st.lists(
    st.tuples(st.integers(0, 1 << 12), st.integers(0, 9).map(lambda die: die == 9)), min_size=20, max_size=90
)


def walk(world: World, choices: list[tuple[int, bool]]) -> None:
    for choice, mishap in choices:
        steps = world.steps() if mishap else world.steps(COURSE)
        world.step(steps[choice % len(steps)])
    world.settle()


@settings(max_examples=400, deadline=None)
@given(choices=CHOICES, members=st.sampled_from(["ab", "abc"]))
def test_a_query_ends_everywhere_whatever_happens(choices: list[tuple[int, bool]], members: str) -> None:
    world = World(tuple(members))
    world.begin("a:1")
    walk(world, choices)


@settings(max_examples=300, deadline=None)
@given(choices=CHOICES)
def test_queries_of_several_initiators_do_not_disturb_each_other(choices: list[tuple[int, bool]]) -> None:
    world = World(("a", "b", "c"))
    for query in ("a:1", "b:1", "a:2"):
        world.begin(query)
    walk(world, choices)


@settings(max_examples=200, deadline=None)
@given(choices=CHOICES, members=st.sampled_from(["ab", "abc", "abcd"]))
def test_a_query_that_nothing_befalls_succeeds_without_a_cancel(choices: list[tuple[int, bool]], members: str) -> None:
    world = World(tuple(members))
    world.begin("a:1")
    for choice, _ in choices:
        # In time, or a member would rightly give up the start that did not come.
        steps = [step for step in world.steps(COURSE) if step[0] != "wait"]
        if not steps:
            break
        world.step(steps[choice % len(steps)])
    world.settle()
    truth = world.truths["a:1"]
    assert truth.over
    assert (truth.cause, truth.cancels) == (None, 0)


#: The steps without which no query comes to its end.
ESSENTIAL = frozenset({"deliver", "send_start", "set_up", "finish"})


def explore(members: str, kinds: frozenset[str], limits: dict[str, int]) -> int:
    """Every order of steps of these kinds; `limits`: how often one of a kind may happen. Returns how many worlds were met."""
    first = World(tuple(members))
    first.begin("a:1")
    met: set[object] = set()
    ahead: list[tuple[World, dict[str, int]]] = [(first, limits)]
    while ahead:
        world, left = ahead.pop()
        mark = (world.fingerprint(), tuple(left.items()))
        if mark in met:
            continue
        met.add(mark)
        steps: list[Step] = [step for step in world.steps(kinds) if left.get(step[0], 1)]
        for step in steps:
            after = copy.deepcopy(world)
            after.step(step)
            ahead.append((after, {kind: count - (kind == step[0]) for kind, count in left.items()}))
        world.settle()
    return len(met)


@pytest.mark.parametrize(
    ("members", "limits", "worlds"),
    [
        ("ab", {"end": 1, "cancel": 2, "close": 1}, 500),
        ("ab", {"sent": 4, "fail": 1}, 100),
        ("ab", {"fail": 1, "set_up_failed": 1, "crash": 1}, 200),
        ("ab", {"part": 1, "break": 1, "wait": 1}, 1000),
        ("abc", {"ask": 1, "crash": 1}, 500),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_all_orders(members: str, limits: dict[str, int], worlds: int) -> None:
    assert explore(members, ESSENTIAL | set(limits), limits) > worlds

"""Queries on two and three members, in any order that links allow, with crashes and broken connections.

`tests/support/query_world.py` has the invariants after every step (nothing runs after its Stop; one Fail at most, and
it is the first cause that reached the initiator; at most 2N cancels) and at the end (every member has forgotten
everything).

Here orders are drawn at random, for several queries and up to four members; `tests/exploration` tries all orders for
one query and few members, with its streams.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.query_world import World

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

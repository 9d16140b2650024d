"""Tests that explore every interleaving of small worlds (`explorer`, `world`, `worlds`), and tests that the invariants
detect planted faults.
"""

from __future__ import annotations

import logging

import mutants
import pytest
from explorer import Found, explore
from handshake import Handshakes, HandshakeWorld
from meeting import Meeting, MeetingWorld
from scenario import Instance, Scenario
from support.campaigns import part
from support.planting import hunted
from world import World
from worlds import HANDSHAKES, HASTY, HASTY_MEETINGS, PATIENT, PATIENT_MEETINGS

#: The minimum number of states of each world of the long tests.
STATES = 3_000


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Suppress the log: failed streams are logged some hundred thousand times."""
    caplog.set_level(logging.CRITICAL)


@pytest.mark.table
@pytest.mark.parametrize("scenario", HASTY, ids=lambda scenario: scenario.name)
def test_every_interleaving(scenario: Scenario) -> None:
    explored = explore(World(scenario))
    print(explored)
    assert explored.states > 1


@pytest.mark.table
@pytest.mark.parametrize("meeting", HASTY_MEETINGS, ids=lambda meeting: meeting.name)
def test_every_way_to_meet(meeting: Meeting) -> None:
    explored = explore(MeetingWorld(meeting))
    print(explored)
    assert explored.states > 1


@pytest.mark.parametrize("handshakes", HANDSHAKES, ids=lambda handshakes: handshakes.name)
def test_every_handshake(handshakes: Handshakes) -> None:
    explored = explore(HandshakeWorld(handshakes))
    print(explored)
    assert explored.states > 1


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("meeting", part(PATIENT_MEETINGS), ids=lambda meeting: meeting.name)
def test_every_way_to_meet_again(meeting: Meeting) -> None:
    print(explore(MeetingWorld(meeting)))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scenario", part(PATIENT), ids=lambda scenario: scenario.name)
def test_every_interleaving_of_a_larger_world(scenario: Scenario) -> None:
    explored = explore(World(scenario))
    print(explored)
    assert explored.states > STATES


def test_a_violation_is_told_as_the_shortest_chart() -> None:
    """A portal waits for a sender that does not exist."""
    scenario = Scenario("nobody sends", "ab", (("bb", "a"),), (Instance("b", 0, batches=1),))
    with pytest.raises(Found) as found:
        explore(World(scenario))
    chart = str(found.value).splitlines()
    assert chart[0] == "nobody sends: member a still keeps the query"
    assert [line for line in chart if "Batch(1 rows, attempt 0)" in line]
    assert [line for line in chart if "[ the portal: read ]" in line]


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", part(range(len(mutants.MUTANTS))), ids=part([m.fault for m in mutants.MUTANTS]))
def test_a_planted_fault_is_found(number: int) -> None:
    assert hunted(mutants.__file__, number)

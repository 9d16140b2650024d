"""Failures that a scenario excuses: those in a network so slow that members do not receive each other's heartbeats in
time.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from simulated.scenario import Fault, Scenario, scenario

_FAST, _MIDDLING, _FAR = (2e-5, 2e-4), (1e-4, 3e-3), (1e-3, 4e-2)


def _with(latency: tuple[float, float], *faults: Fault) -> Scenario:
    return replace(scenario(Random(1)), latency=latency, faults=faults)


def _slow(member: int, when: float = 0.0) -> Fault:
    return Fault("slow", when, member, 0, lasts=0.5)


@pytest.mark.parametrize(
    ("made", "disturbed"),
    [
        (_with(_FAR), False),
        (_with(_MIDDLING, _slow(1)), False),
        (_with(_FAR, _slow(1)), True),
        (_with(_FAST, _slow(1), _slow(2)), False),
        (_with(_MIDDLING, _slow(1), _slow(2, 0.4)), True),
        (_with(_MIDDLING, _slow(1), _slow(2, 0.6)), False),
        (_with(_MIDDLING, _slow(1), _slow(1)), False),
        (_with(_FAST, Fault("cut", 0.0, 1, 0)), True),
    ],
)
def test_a_slow_network_excuses_failures_where_heartbeats_come_too_late(made: Scenario, disturbed: bool) -> None:
    assert made.is_disturbed == disturbed


def test_the_seed_in_which_two_slow_members_lose_each_other_is_disturbed() -> None:
    assert scenario(Random(1001247)).is_disturbed

"""Simulations of members that write on a disk that loses unsynced data, one for each seed: all invariants hold, and a
seed always gives the same run.
"""

from __future__ import annotations

import os
from typing import Final

import pytest
from simulated.campaign import campaign_of_writes, replay_writes
from support.campaigns import part

SEEDS: Final = min(1_000, int(os.environ.get("SEEDS", "1000")))


def test_all_holds() -> None:
    said: list[str] = []
    assert campaign_of_writes(range(20), said.append, workers=2), "\n".join(said)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_many_seeds() -> None:
    said: list[str] = []
    assert campaign_of_writes(part(range(100, 100 + SEEDS)), said.append), "\n".join(said)


def test_a_seed_is_a_run() -> None:
    said: list[str] = []
    assert replay_writes(5, said.append), "\n".join(said[-2:])
    assert any("the power fails" in line for line in said)

"""Simulations of clusters whose members write, one for each seed: cursors return the rows of their snapshots, no commit
is lost, and a seed always gives the same run.
"""

from __future__ import annotations

import os
from typing import Final

import pytest
from simulated.campaign import campaign_of_both, replay_both
from support.campaigns import part

SEEDS: Final = min(1_000, int(os.environ.get("SEEDS", "10000")) // 5)


def test_all_holds() -> None:
    said: list[str] = []
    assert campaign_of_both(range(12), said.append, workers=2), "\n".join(said)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_many_seeds() -> None:
    said: list[str] = []
    assert campaign_of_both(part(range(100, 100 + SEEDS)), said.append), "\n".join(said)


def test_a_seed_is_a_run() -> None:
    said: list[str] = []
    assert replay_both(4, said.append), "\n".join(said[-2:])
    assert any("asks" in line for line in said)
    assert any("has committed" in line for line in said)

"""Simulations of whole clusters, one for each seed: all invariants hold, and a seed always gives the same run.

`SEEDS=100000 pytest -s -m long tests/simulation/test_seeds.py` runs that many of them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Final

import pytest
from simulated.campaign import campaign

SEEDS: Final = int(os.environ.get("SEEDS", "10000"))


def _simulate(*arguments: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simulated", *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_all_holds() -> None:
    said: list[str] = []
    assert campaign(range(30), said.append, workers=2), "\n".join(said)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_many_seeds() -> None:
    said: list[str] = []
    assert campaign(range(120, 120 + SEEDS), said.append), "\n".join(said)


def test_a_seed_is_a_run_in_every_process() -> None:
    one, other = (_simulate("--seed", "40", hash_seed=seed) for seed in ("1", "2"))
    assert one.returncode == 0, one.stdout + one.stderr
    assert one.stdout == other.stdout
    assert re.search(r"digest [0-9a-f]{8}", one.stdout)
    assert "asks" in one.stdout

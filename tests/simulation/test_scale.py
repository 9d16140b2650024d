"""Clusters that are started only to count their connections, messages and costs."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from simulated.lake import Lake, make_files
from simulated.quiet import quiet
from simulated.scale import ScaleRun


@pytest.mark.parametrize("members", [2, 5])
def test_members_meet_rest_and_answer(members: int, tmp_path: Path) -> None:
    make_files(tmp_path)
    with contextlib.chdir(tmp_path), contextlib.closing(Lake(Path())) as lake, quiet():
        run = ScaleRun(members, 7, lake)
        outcome = run.outcome()
    assert outcome.failure is None
    assert outcome.states == ("whole",) * 7
    assert run.sockets == members * (members - 1)
    # A heartbeat from each to each, and now and then whom it is connected to.
    assert run.rested.pieces >= run.sockets * 19
    assert run.asked.pieces > run.rested.pieces / 20

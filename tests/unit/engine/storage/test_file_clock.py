"""Jumps of the wall clock, and the age of files (`engine.storage.file_clock`)."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.storage import claims
from engine.storage.file_clock import TOUCH_SECONDS, FileClock

_START = 1_700_000_000.0
_HOURS = 7200.0


class Clocks:
    def __init__(self) -> None:
        self.wall, self.monotonic = _START, 50.0
        self.files = FileClock(lambda: self.wall, lambda: self.monotonic)

    def pass_seconds(self, seconds: float) -> float:
        self.wall += seconds
        self.monotonic += seconds
        return self.files.now()


def test_time_that_passes_counts() -> None:
    clocks = Clocks()
    assert clocks.pass_seconds(_HOURS) == pytest.approx(_START + _HOURS)


def test_a_jump_forward_counts_once_all_members_have_touched_their_files() -> None:
    clocks = Clocks()
    clocks.wall += _HOURS
    assert clocks.pass_seconds(1) == pytest.approx(_START + 1)
    assert clocks.pass_seconds(TOUCH_SECONDS) == pytest.approx(_START + 1 + TOUCH_SECONDS)
    assert clocks.pass_seconds(2 * TOUCH_SECONDS) == pytest.approx(clocks.wall)


def test_each_jump_is_waited_for_anew() -> None:
    clocks = Clocks()
    for _ in range(5):
        clocks.wall += _HOURS
        clocks.pass_seconds(TOUCH_SECONDS)
    assert clocks.files.now() == pytest.approx(_START + 5 * TOUCH_SECONDS)


def test_a_jump_back_counts_at_once() -> None:
    clocks = Clocks()
    clocks.wall -= _HOURS
    assert clocks.pass_seconds(1) == pytest.approx(_START - _HOURS + 1)


def test_a_jump_that_is_taken_back_leaves_nothing() -> None:
    clocks = Clocks()
    clocks.wall += _HOURS
    clocks.pass_seconds(1)
    clocks.wall -= _HOURS
    assert clocks.pass_seconds(1) == pytest.approx(_START + 2)


def test_small_corrections_count() -> None:
    clocks = Clocks()
    for _ in range(100):
        clocks.wall += 5
        assert clocks.pass_seconds(TOUCH_SECONDS) == pytest.approx(clocks.wall)


@given(st.lists(st.tuples(st.floats(-10_000, 10_000), st.floats(0, 1000)), max_size=30))
def test_it_is_never_ahead_of_the_wall_clock(moves: list[tuple[float, float]]) -> None:
    clocks = Clocks()
    for jump, seconds in moves:
        clocks.wall += jump
        assert clocks.pass_seconds(seconds) <= clocks.wall + 1e-3


def test_a_claim_counts_after_a_jump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = Clocks()
    monkeypatch.setattr(claims, "FILE_CLOCK", clocks.files)
    (claim := tmp_path / "_staging-claim-1").mkdir()
    os.utime(claim, (_START, _START))
    clocks.wall += _HOURS
    assert claims.is_claimed(tmp_path)
    clocks.pass_seconds(1)
    clocks.pass_seconds(3 * TOUCH_SECONDS)
    assert not claims.is_claimed(tmp_path)


def test_threads_may_read_it() -> None:
    clocks = Clocks()
    threads = [threading.Thread(target=clocks.files.now) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clocks.files.now() == pytest.approx(_START)

"""The measure of a machine's speed gives a speed."""

from __future__ import annotations

from engine.executors.local.calibration import measure_speed


def test_a_machine_has_a_speed() -> None:
    assert 0 < measure_speed() < 1000

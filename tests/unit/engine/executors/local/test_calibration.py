"""The calibration returns a speed of the machine."""

from __future__ import annotations

from engine.executors.local.calibration import measure_speed


def test_a_machine_has_a_speed() -> None:
    assert 0 < measure_speed() < 1000

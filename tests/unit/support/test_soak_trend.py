"""The soak's decision whether a series grows."""

from __future__ import annotations

import math
import random

from soak.trend import trend

MINUTES = [60.0 * minute for minute in range(20)]


def test_what_grows_steadily_is_found_in_noise() -> None:
    chance = random.Random(1)
    found = trend([(at, 100 + at / 60 + chance.gauss(0, 1)) for at in MINUTES])
    assert found.grows(12)
    assert math.isclose(found.hourly, 60, rel_tol=0.2)


def test_warming_up_is_not_growing() -> None:
    assert not trend([(at, min(at, 300.0)) for at in MINUTES]).grows(0)


def test_one_sample_that_is_far_off_is_not_growing() -> None:
    assert not trend([(at, 1000.0 if at == MINUTES[-1] else 50.0) for at in MINUTES]).grows(0)


def test_fluctuating_is_not_growing() -> None:
    assert not trend([(at, 50.0 + 20 * (n % 2)) for n, at in enumerate(MINUTES)]).grows(0)

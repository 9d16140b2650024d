"""Trend estimation by the Theil-Sen slope: the median of the slopes of all pairs of samples.

One outlier (a garbage collection that had not run, a cache that was filled at once) does not move it, as it would move
a least-squares line. A series grows if more than nine in ten of the pairs grow by more than a tolerance an hour. A
fluctuating series does not, however steep its median is over a few minutes.

Source: P. K. Sen, "Estimates of the Regression Coefficient Based on Kendall's Tau" (1968).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

#: Of the samples at the beginning, how many are warming up: caches fill, threads are made for good, heaps find their size.
WARM_UP: Final = 0.3
_SURE: Final = 0.1
_HOUR_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Trend:
    """A series' trend. first, last: medians of the first and last third after the warm-up. hourly: the slope an hour.
    least: the slope that nine in ten pairs exceed.
    """

    first: float
    last: float
    hourly: float
    least: float

    def grows(self, tolerance: float) -> bool:
        """Return whether the series grows. tolerance: an hour."""
        return self.least > 0 and self.hourly > tolerance


def trend(series: Sequence[tuple[float, float]]) -> Trend:
    """Return the trend of a series. series: seconds and values, in order, the warm-up included; five samples at least."""
    kept = series[int(len(series) * WARM_UP) :]
    slopes = sorted((b[1] - a[1]) / (b[0] - a[0]) * _HOUR_SECONDS for a, b in combinations(kept, 2))
    third = max(1, len(kept) // 3)
    return Trend(
        statistics.median(value for _, value in kept[:third]),
        statistics.median(value for _, value in kept[-third:]),
        statistics.median(slopes),
        slopes[int(len(slopes) * _SURE)],
    )

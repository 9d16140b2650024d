"""Measures and their figures, some of which have a bar that they must reach."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.ground import Ground


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. bar: the value that it must not exceed, or (`at_least`) must reach; None: for information."""

    label: str
    value: float
    unit: str
    bar: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        if self.bar is None:
            return None
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    @property
    def value_text(self) -> str:
        return _with_unit(self.value, self.unit)

    @property
    def bar_text(self) -> str:
        if self.bar is None:
            return ""
        return f"{'≥' if self.at_least else '≤'} {_with_unit(self.bar, self.unit)}"

    @property
    def verdict(self) -> str:
        return {None: "", True: "met", False: "missed"}[self.met]


@dataclass(frozen=True, slots=True)
class Measure:
    """One benchmark. method: a description of the measurement, for the reader of its figures."""

    name: str
    title: str
    method: str
    run: Callable[[Ground], Iterable[Figure]]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that `percent` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, int(rank) - 1)]


def _with_unit(value: float, unit: str) -> str:
    if value >= 1000:
        number = f"{value:,.0f}"
    elif value >= 100 or value == int(value):
        number = f"{value:.0f}"
    else:
        number = f"{value:.3g}" if value < 10 else f"{value:.1f}"
    return f"{number} {unit}".strip()

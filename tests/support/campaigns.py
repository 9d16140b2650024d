"""Sizes of campaigns: tests that run as many seeds, rounds or questions as time allows.

Run by hand, they run in full. `CAMPAIGNS=5`, as `.ci/run` sets it, runs a fifth of each: the same fifth in every run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import pytest

#: A run includes one of this many parts of a campaign.
PARTS: Final = int(os.environ.get("CAMPAIGNS", "1"))

_Case = TypeVar("_Case")


def part(cases: Sequence[_Case]) -> Sequence[_Case]:
    """Return the cases of a campaign that this run includes; at least one."""
    return cases[::PARTS]


def long_seeds(seeds: Sequence[int]) -> list[Any]:
    """Return the seeds of a campaign that this run includes, at least one, as parameters marked as long tests."""
    return [pytest.param(seed, marks=pytest.mark.long) for seed in part(seeds)]

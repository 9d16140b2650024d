"""Sizes of campaigns: tests whose work is as many seeds, rounds or questions as there is time for.

By hand they are whole. `CAMPAIGNS=5`, as `.ci/run` sets it, runs a fifth of each: the same fifth in every run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import pytest

#: The part of a campaign that runs is one of so many.
PARTS: Final = int(os.environ.get("CAMPAIGNS", "1"))

_Case = TypeVar("_Case")


def part(cases: Sequence[_Case]) -> Sequence[_Case]:
    """Return the cases of a campaign that run. At least one."""
    return cases[::PARTS]


def long_seeds(seeds: Sequence[int]) -> list[Any]:
    """The seeds of a campaign that run, as parameters of long tests. At least one."""
    return [pytest.param(seed, marks=pytest.mark.long) for seed in part(seeds)]

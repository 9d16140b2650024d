"""Samples of a table of tests: together they are the whole table."""

from __future__ import annotations

import random

import pytest
from support.tables import sample


@pytest.mark.parametrize("cases", [1, 2, 3, 4, 17])
def test_successive_seeds_choose_all_and_each_something(cases: int) -> None:
    names = [f"test_same[{number}]" for number in range(cases)]
    chosen = [sample(random.sample(names, cases), 3, 4711 + seed) for seed in range(3)]
    assert set().union(*chosen) == set(names)
    assert all(chosen)
    assert sum(map(len, chosen)) == max(cases, 3)


def test_a_table_in_one_part_is_whole() -> None:
    assert sample(["a", "b"], 1, 5) == {"a", "b"}

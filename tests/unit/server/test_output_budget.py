"""The size of pages while other sessions hold encoded output for clients that do not read."""

from __future__ import annotations

from server.pgwire.output_budget import OutputBudget

MIB = 1 << 20


def test_a_page_has_the_wanted_size_while_little_is_held() -> None:
    budget = OutputBudget(64 * MIB)
    assert budget.page_bytes(MIB) == MIB
    budget.add(32 * MIB)
    assert budget.page_bytes(MIB) == MIB


def test_pages_become_smaller_with_each_that_is_held_and_never_less_than_the_least() -> None:
    budget = OutputBudget(64 * MIB)
    sizes = []
    for _ in range(500):
        sizes.append(budget.page_bytes(MIB))
        budget.add(sizes[-1])
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 64 << 10
    assert budget.held <= budget.bytes_max + 500 * sizes[-1]
    budget.release(budget.held)
    assert budget.page_bytes(MIB) == MIB

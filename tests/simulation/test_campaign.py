"""Campaigns of the simulation: the processes that run seeds."""

from __future__ import annotations

import os

from simulated import campaign


def _processors(_number: int) -> tuple[int, frozenset[int]]:
    return os.getpid(), frozenset(os.sched_getaffinity(0))


def _begin() -> None:
    """Have nothing to run on."""


def test_each_process_stays_on_one_processor() -> None:
    """A run hands over from thread to thread thousands of times; between processors that is a third of its cost."""
    allowed = os.sched_getaffinity(0)
    workers = min(2, len(allowed))
    with campaign._pool(workers, _begin) as pool:
        seen = dict(pool.map(_processors, range(8), 1))
    assert all(len(processors) == 1 and processors <= allowed for processors in seen.values())
    assert os.sched_getaffinity(0) == allowed
    if len(seen) == workers:
        assert len(frozenset().union(*seen.values())) == workers, "each has another"

"""Tests of the simulation's campaigns: the processes that run seeds."""

from __future__ import annotations

import os

from simulated import campaign


def _processors(_number: int) -> tuple[int, frozenset[int]]:
    return os.getpid(), frozenset(os.sched_getaffinity(0))


def _begin() -> None:
    """Do nothing, as a worker that needs no ground."""


def test_each_process_stays_on_one_processor() -> None:
    """A run switches between threads thousands of times; if they ran on several processors, switching would take a
    third of its time.
    """
    allowed = os.sched_getaffinity(0)
    workers = min(2, len(allowed))
    with campaign._pool(workers, _begin) as pool:
        seen = dict(pool.map(_processors, range(8), 1))
    assert all(len(processors) == 1 and processors <= allowed for processors in seen.values())
    assert os.sched_getaffinity(0) == allowed
    if len(seen) == workers:
        assert len(frozenset().union(*seen.values())) == workers, "each has another"

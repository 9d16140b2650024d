"""Compares the 22 queries of TPC-H on three members with the same queries on one of them, in one run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import prod
from typing import Any, Final

import psycopg

from benchmarks import cluster
from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground
from benchmarks.tpch_queries import queries

_MEMBERS: Final = 3
_SCALE: Final = 0.1
_ROUNDS: Final = 5


def _run(ground: Ground) -> Iterator[Figure]:
    data = ground.of_scale(_SCALE, _MEMBERS)
    with (
        cluster.running(ground, "mesh-tpch", _MEMBERS, data) as members,
        members.connect("off") as one,
        members.connect("always") as all_,
    ):
        pairs = {name: _both(one, all_, text.encode()) for name, text in queries().items()}
    ratios = [together / alone for alone, together in pairs.values()]
    yield Figure("geometric mean of the ratios", prod(ratios) ** (1 / len(ratios)), "")
    yield Figure("on one member, all 22", sum(alone for alone, _ in pairs.values()), "s")
    yield Figure(f"on {_MEMBERS} members, all 22", sum(together for _, together in pairs.values()), "s")
    for name, (alone, together) in pairs.items():
        yield Figure(f"{name}: {together * 1000:.0f} ms, on one member {alone * 1000:.0f} ms", together / alone, "")


def _both(one: psycopg.Connection[Any], all_: psycopg.Connection[Any], text: bytes) -> tuple[float, float]:
    """Return the seconds on one member and on all: the best of some rounds in which they take turns, after one round
    for warming up.
    """
    rounds = [(_taken(one, text), _taken(all_, text)) for _ in range(1 + _ROUNDS)][1:]
    alone, together = (min(times) for times in zip(*rounds, strict=True))
    return alone, together


def _taken(connection: psycopg.Connection[Any], text: bytes) -> float:
    started = time.perf_counter()
    connection.execute(text).fetchall()
    return time.perf_counter() - started


MEASURE: Final = Measure(
    "mesh_tpch",
    "The 22 queries of TPC-H on three members, relative to one member",
    f"The statements of `benchmarks/tpch` at scale {_SCALE:g}, with tables in {_MEMBERS} files, on the local engines "
    f"of {_MEMBERS} members on this machine. The time with `sluice.distribution = always` is divided by the time with "
    f"`off`; the two alternate, and the best of {_ROUNDS} rounds after one warm-up round counts. All members share "
    "this machine's cores, so distribution can save little time: a ratio above 1 shows the cost of transferring rows "
    "and of waiting for other members.",
    _run,
)

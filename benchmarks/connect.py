"""Measures the time of a connection up to its first answer: connect, `select 1`, disconnect; beside PostgreSQL in the
same run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from benchmarks import postgres, processor
from benchmarks.figures import Figure, Measure, percentile
from benchmarks.ground import Ground
from benchmarks.member import running

_WARM: Final = 50
_ROUNDS: Final = 400
_BAR: Final = 3.0


def _run(ground: Ground) -> Iterator[Figure]:
    with running(ground, "connect") as member, postgres.running(ground, "nation") as theirs:
        ours, other = _times(member.dsn, theirs)
        begun = processor.seconds(member.pid)
        for _ in range(_ROUNDS):
            _visit(member.dsn)
        used = (processor.seconds(member.pid) - begun) / _ROUNDS * 1000
    yield Figure("a member, p50", percentile(ours, 50), "ms")
    yield Figure("PostgreSQL 15, p50", percentile(other, 50), "ms")
    yield Figure("member relative to PostgreSQL, p50", percentile(ours, 50) / percentile(other, 50), "", _BAR)
    yield Figure("member relative to PostgreSQL, p90", percentile(ours, 90) / percentile(other, 90), "")
    yield Figure("processor time of the member per connection", used, "ms")


def _times(ours: str, theirs: str) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each visit to both servers. They take turns, so that other load on the machine
    affects both.
    """
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(_WARM + _ROUNDS):
        for dsn, times in zip((ours, theirs), taken, strict=True):
            times.append(_visit(dsn))
    return taken[0][_WARM:], taken[1][_WARM:]


def _visit(dsn: str) -> float:
    started = time.perf_counter()
    connection: psycopg.Connection[Any] = psycopg.connect(dsn, sslmode="disable", gssencmode="disable", autocommit=True)
    with connection:
        if connection.execute("select 1").fetchone() != (1,):
            raise RuntimeError("select 1 gave something else")
    return (time.perf_counter() - started) * 1000


MEASURE: Final = Measure(
    "connect",
    "A connection and its first statement",
    f"psycopg connects without TLS or password, runs `select 1`, and closes the connection: {_ROUNDS} times after "
    f"{_WARM} warm-up runs, alternating between a member and PostgreSQL 15, over TCP on the loopback interface. "
    "PostgreSQL starts a process for each connection.",
    _run,
)

"""Measures a short query as a dashboard sends it: prepared, warm, one after another on one connection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from benchmarks import processor
from benchmarks.figures import Figure, Measure, percentile
from benchmarks.ground import Ground
from benchmarks.member import running

_WARM: Final = 200
_RUNS: Final = 2_000
_GROUPS: Final = b"select n_regionkey, count(*) from nation group by 1"
_BELOW: Final = b"select n_regionkey, count(*) from nation where n_nationkey < %s group by 1"
_BAR_MS: Final = 3.0


def _run(ground: Ground) -> Iterator[Figure]:
    with running(ground, "short-query") as member, member.connect("auto") as connection:
        times = _times(connection, _GROUPS)
        yield Figure("p50", percentile(times, 50), "ms", _BAR_MS)
        yield Figure("p99", percentile(times, 99), "ms")
        times = _times(connection, _BELOW, parameter=True)
        yield Figure("with a parameter, p50", percentile(times, 50), "ms", _BAR_MS)
        yield Figure("with a parameter, p99", percentile(times, 99), "ms")
        for mode in ("force_custom_plan", "force_generic_plan"):
            connection.execute(f"set plan_cache_mode = {mode}".encode())
            before = processor.seconds(member.pid)
            taken = len(_times(connection, _BELOW, parameter=True)) + _WARM
            yield Figure(f"{mode}, processor time", (processor.seconds(member.pid) - before) * 1000 / taken, "ms")


def _times(connection: psycopg.Connection[Any], query: bytes, *, parameter: bool = False) -> list[float]:
    """Return the milliseconds of each run, from sending until the client has all rows."""
    taken = []
    for run in range(_WARM + _RUNS):
        started = time.perf_counter()
        rows = connection.execute(query, (10 + run % 10,) if parameter else None, prepare=True).fetchall()
        taken.append((time.perf_counter() - started) * 1000)
        if not rows:
            raise RuntimeError("a short query gave no rows")
    return taken[_WARM:]


MEASURE: Final = Measure(
    "short_query",
    "A short query, prepared and warm",
    f"`{_GROUPS.decode()}` through psycopg on one connection with `sluice.engine = auto`, prepared: {_RUNS:,} runs "
    f"after {_WARM} warm-up runs, each from sending the statement to reading its last row. With a parameter: the same "
    "with `where n_nationkey < $1`, whose value changes from run to run; then the same under both values of "
    "`plan_cache_mode`, with the member's processor time per run. Most of the time is DuckDB's work on the Parquet "
    "file: measured separately, 1.2 ms if the same query follows at once, and 2.5 ms if some milliseconds pass in "
    "between, as they do here.",
    _run,
)

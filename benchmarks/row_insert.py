"""Measures inserts of one row at a time, each committed: a client that does not batch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from benchmarks.figures import Figure, Measure, percentile
from benchmarks.ground import Ground
from benchmarks.member import running

_WARM: Final = 20
_RUNS: Final = 2_000
_PART: Final = 200
_BAR_MS: Final = 25.0


def _run(ground: Ground) -> Iterator[Figure]:
    with running(ground, "row-insert") as member, member.connect("auto") as connection:
        connection.execute("create table measured (id bigint not null, name text, at timestamptz default now())")
        taken = []
        for run in range(_WARM + _RUNS):
            started = time.perf_counter()
            connection.execute("insert into measured (id, name) values (%s, %s)", (run, f"row {run}"), prepare=True)
            taken.append((time.perf_counter() - started) * 1000)
        found = connection.execute("select count(*), count(distinct id) from measured").fetchone()
    if found != (_WARM + _RUNS, _WARM + _RUNS):
        raise RuntimeError(f"{_WARM + _RUNS} rows were inserted, {found} are there")
    taken = taken[_WARM:]
    yield Figure("p50", percentile(taken, 50), "ms", _BAR_MS)
    yield Figure("p99", percentile(taken, 99), "ms")
    yield Figure(f"p50 of the first {_PART}", percentile(taken[:_PART], 50), "ms")
    yield Figure(f"p50 of the last {_PART}", percentile(taken[-_PART:], 50), "ms", _BAR_MS)


MEASURE: Final = Measure(
    "row_insert",
    "Inserting and committing a row",
    f"`insert into measured (id, name) values ($1, $2)` through psycopg, prepared, in autocommit mode: {_RUNS:,} runs "
    f"after {_WARM} warm-up runs, each from sending the statement to receiving its command tag. At the end the rows "
    "are counted.",
    _run,
)

"""Measures the latency that running on three members adds to a short query: the same statement on three members and on
one, in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import psycopg

from benchmarks import cluster, mesh_floor
from benchmarks.figures import Figure, Measure, percentile
from benchmarks.ground import Ground

_MEMBERS: Final = 3
_SCALE: Final = 0.01
_WARM: Final = 100
_RUNS: Final = 500
_QUERY: Final = b"select l_returnflag, count(*), sum(l_quantity) from lineitem group by l_returnflag"
_BAR_MS: Final = 5.0


def _run(ground: Ground) -> Iterator[Figure]:
    data = ground.of_scale(_SCALE, _MEMBERS)
    with (
        cluster.running(ground, "latency", _MEMBERS, data) as members,
        members.connect("off") as one,
        members.connect("always") as all_,
        mesh_floor.floor(sorted((data / "lineitem").glob("*.parquet"))) as least,
    ):
        _require_distributed(all_)
        times = [
            (_taken(one), _taken(all_), _least(least, mesh_floor.WHOLE), _least(least, mesh_floor.SHARED))
            for _ in range(_WARM + _RUNS)
        ]
    alone, together, least_alone, least_together = zip(*times[_WARM:], strict=True)
    added = percentile(together, 50) - percentile(alone, 50)
    yield Figure("added, difference of p50", added, "ms", _BAR_MS)
    yield Figure("added, difference of the shortest runs", min(together) - min(alone), "ms")
    for name, taken in (("on one member", alone), (f"on {_MEMBERS} members", together)):
        yield Figure(f"{name}, p50", percentile(taken, 50), "ms")
        yield Figure(f"{name}, p99", percentile(taken, 99), "ms")
    least_added = percentile(least_together, 50) - percentile(least_alone, 50)
    yield Figure("added with bare DuckDB processes, difference of p50", least_added, "ms")
    yield Figure("one bare DuckDB process, p50", percentile(least_alone, 50), "ms")
    yield Figure("three bare DuckDB processes, p50", percentile(least_together, 50), "ms")


def _require_distributed(connection: psycopg.Connection[Any]) -> None:
    plan = "\n".join(line for (line,) in connection.execute(b"explain (distsql) " + _QUERY))
    if "m3" not in plan:
        raise RuntimeError(f"the query does not run on {_MEMBERS} members:\n{plan}")


def _taken(connection: psycopg.Connection[Any]) -> float:
    """Return the milliseconds from sending a query until the client has all rows."""
    started = time.perf_counter()
    rows = connection.execute(_QUERY, prepare=True).fetchall()
    taken = (time.perf_counter() - started) * 1000
    if len(rows) != 3:
        raise RuntimeError(f"a short query gave {len(rows)} rows")
    return taken


def _least(ask: Callable[[bytes], bytes], what: bytes) -> float:
    """Return the same for a process that does nothing else."""
    started = time.perf_counter()
    ask(what)
    return (time.perf_counter() - started) * 1000


MEASURE: Final = Measure(
    "mesh_latency",
    "A short query on three members, relative to one member",
    f"`{_QUERY.decode()}` over TPC-H of scale {_SCALE:g} with `lineitem` in {_MEMBERS} files, through psycopg, "
    f"prepared, on the local engines of a cluster of {_MEMBERS} processes. A connection with `sluice.distribution = "
    f"off` alternates with one with `always`: {_RUNS} runs of each after {_WARM} warm-up runs, each from sending the "
    'statement to reading its last row. "Added" is the difference of the medians, and the difference of the '
    "shortest runs, which depend less on other load on the machine. Alternating with these, for comparison: bare "
    "processes of DuckDB and a blocking socket, which hold the files as tables. Either one process computes the "
    "whole query, or each computes its file and the first one sums the partial results.",
    _run,
)

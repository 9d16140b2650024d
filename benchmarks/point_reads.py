"""Measures short statements of one client: prepared ones with a changing key, and texts that the member has never
seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import psycopg

from benchmarks import processor
from benchmarks.figures import Figure, Measure, percentile
from benchmarks.ground import Ground
from benchmarks.member import running

_WARM: Final = 100
_RUNS: Final = 1_000
#: Statements, each with its bar in milliseconds; `{}` is the key.
_STATEMENTS: Final = (
    ("select 1", "select 1", 0.20),
    ("nation aggregate", "select n_regionkey, count(*) from nation group by 1", 0.45),
    ("nation by key", "select n_name from nation where n_nationkey = {}", 0.6),
    ("customer by key", "select c_name from customer where c_custkey = {}", 1.5),
    ("orders by key", "select o_totalprice from orders where o_orderkey = {}", 2.0),
    (
        "three-way join by key",
        "select n_name, c_name, o_totalprice from orders join customer on c_custkey = o_custkey"
        " join nation on n_nationkey = c_nationkey where o_orderkey = {}",
        2.0,
    ),
)
_NEVER_SEEN: Final = (
    "nation by a new literal each time, simple protocol",
    "select n_name from nation where n_nationkey = {}",
    0.8,
)


def _run(ground: Ground) -> Iterator[Figure]:
    with running(ground, "point-reads") as member, member.connect("auto") as connection:
        # Spark's start, and the calibration of the engines' model, are over.
        connection.execute("set sluice.engine = spark").execute("select count(*) from nation")
        connection.execute("set sluice.engine = auto")
        time.sleep(8)
        for name, text, bar in _STATEMENTS:
            query = text.replace("{}", "%s").encode()
            keyed = "{}" in text

            def ask(run: int, query: bytes = query, *, keyed: bool = keyed) -> None:
                connection.execute(query, (run,) if keyed else None, prepare=True).fetchall()

            yield Figure(f"{name}, p50", percentile(_times(ask), 50), "ms", bar)
        name, text, bar = _NEVER_SEEN
        cursor: psycopg.ClientCursor[Any] = psycopg.ClientCursor(connection)
        before = processor.seconds(member.pid)
        times = _times(lambda run: cursor.execute(text.format(run).encode()).fetchall())
        spent = processor.seconds(member.pid) - before
        yield Figure(f"{name}, p50", percentile(times, 50), "ms", bar)
        yield Figure("the same, processor time of the member", spent * 1000 / (_WARM + _RUNS), "ms")


def _times(ask: Callable[[int], object]) -> list[float]:
    """Return the milliseconds of each run, from sending until the client has all rows."""
    taken = []
    for run in range(_WARM + _RUNS):
        started = time.perf_counter()
        ask(run)
        taken.append((time.perf_counter() - started) * 1000)
    return taken[_WARM:]


MEASURE: Final = Measure(
    "point_reads",
    "Short statements of one client",
    f"Through psycopg on one connection with `sluice.engine = auto`: {_RUNS:,} runs after {_WARM} warm-up runs, each "
    "from sending the statement to reading its last row, with a new key each time. The statements are prepared, "
    "except the last one, whose key is a literal in its text.",
    _run,
)

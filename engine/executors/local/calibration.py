"""The speed of this machine's cores for the local engine: a short aggregation in a DuckDB of its own, timed once.

The measure is the processor time of the calling thread, which does all the work because this DuckDB has one thread.
Other work on the machine therefore makes it little longer. The measurement takes about 0.1 s of one core, on a thread
that nobody waits for.
"""

from __future__ import annotations

import time
from typing import Final

import duckdb

#: A million generated rows, grouped, summed and hashed; no file is read.
_PROBE: Final = (
    "select count(*), sum(a), max(b) from "
    "(select i % 1009 as k, sum(i * 3 % 1000) as a, max(hash(i)) as b from range(1000000) t(i) group by 1)"
)
_RUNS: Final = 3
#: Seconds on the machine on which the constants of `engine.planner.engine_model` were measured.
_SECONDS_THERE: Final = 0.017
#: The coarsest resolution that a thread's clock may have.
_SECONDS_MIN: Final = 1e-3


def measure_speed() -> float:
    """Return the speed of a core, relative to the machine on which the constants were measured. Blocks for about 0.1 s."""
    with duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "64MB", "temp_directory": ""}) as connection:
        return _SECONDS_THERE / max(min(_time_run(connection) for _ in range(_RUNS)), _SECONDS_MIN)


def _time_run(connection: duckdb.DuckDBPyConnection) -> float:
    begun = time.thread_time()
    connection.execute(_PROBE).fetchall()
    return time.thread_time() - begun

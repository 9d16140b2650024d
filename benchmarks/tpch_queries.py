"""The 22 queries of TPC-H on Spark, through Sluice and without it, in one run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg

from benchmarks import member, raw_spark
from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground

_ROUNDS: Final = 3
_BAR: Final = 1.10


def queries() -> dict[str, str]:
    """The statements by name, in order."""
    folder = Path(__file__).with_name("tpch")
    return {path.stem: path.read_text() for path in sorted(folder.glob("q*.sql"))}


def _run(ground: Ground) -> Iterator[Figure]:
    with (
        member.running(ground, "tpch") as sluice,
        raw_spark.running(ground) as raw,
        sluice.connect("spark") as connection,
    ):
        times = {name: _both(connection, raw, name, text, ground) for name, text in queries().items()}
    ours, theirs = (sum(pair[side] for pair in times.values()) for side in (0, 1))
    yield Figure("sum of times over raw PySpark's", ours / theirs, "", _BAR)
    yield Figure("Sluice, all 22", ours, "s")
    yield Figure("raw PySpark, all 22", theirs, "s")
    for name, (mine, other) in times.items():
        yield Figure(f"{name}: {mine:.2f} s against {other:.2f} s", mine / other, "")


def _both(
    connection: psycopg.Connection[Any], raw: raw_spark.RawSpark, name: str, text: str, ground: Ground
) -> tuple[float, float]:
    """The best seconds of Sluice and of raw PySpark; they take turns, and the first round is to warm up."""
    ours, theirs = [], []
    for _ in range(1 + _ROUNDS):
        mine, rows = _ask(connection, text)
        other, expected = raw.run(text)
        if rows != expected:
            raise RuntimeError(f"{name}: {rows} rows, raw PySpark has {expected}")
        ours.append(mine)
        theirs.append(other)
    best = min(ours[1:]), min(theirs[1:])
    ground.say(f"{name}: {best[0]:.2f} s, raw {best[1]:.2f} s, ratio {best[0] / best[1]:.2f}, {rows} rows")
    return best


def _ask(connection: psycopg.Connection[Any], text: str) -> tuple[float, int]:
    started = time.perf_counter()
    rows = len(connection.execute(text.encode()).fetchall())
    return time.perf_counter() - started, rows


MEASURE: Final = Measure(
    "tpch",
    "The 22 queries of TPC-H on Spark, over raw PySpark",
    "The statements of `benchmarks/tpch` (validation parameters) through psycopg with `sluice.engine = spark`, from asking "
    "to all rows read, over `spark.sql(...).toArrow()` of the same text in a PySpark process with the same settings and the "
    f"same files as temporary views. The two take turns, query by query: one round to warm up, then the best of {_ROUNDS}.",
    _run,
)

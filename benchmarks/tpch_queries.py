"""Compares the 22 queries of TPC-H on Spark through Sluice with raw PySpark, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from benchmarks import member, processor, raw_spark
from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground

_ROUNDS: Final = 3
_BAR: Final = 1.10


def queries() -> dict[str, str]:
    """Return the statements by name, in order."""
    folder = Path(__file__).with_name("tpch")
    return {path.stem: path.read_text() for path in sorted(folder.glob("q*.sql"))}


class Taken(NamedTuple):
    """Seconds of the clock, and of processor time in the whole process family, for one statement."""

    clock: float
    processor: float


class Pair(NamedTuple):
    """The best of Sluice's runs and of raw PySpark's, in clock and in processor time."""

    ours: Taken
    theirs: Taken

    @property
    def ratio(self) -> float:
        return self.ours.clock / self.theirs.clock


def _run(ground: Ground) -> Iterator[Figure]:
    with (
        member.running(ground, "tpch") as sluice,
        raw_spark.running(ground) as raw,
        sluice.connect("spark") as connection,
    ):
        pairs = {name: _both(ground, sluice, connection, raw, name, text) for name, text in queries().items()}
    ours, theirs = (Taken(*map(sum, zip(*side, strict=True))) for side in zip(*pairs.values(), strict=True))
    yield Figure("total time relative to raw PySpark", ours.clock / theirs.clock, "", _BAR)
    yield Figure("total processor time relative to raw PySpark", ours.processor / theirs.processor, "")
    yield Figure("Sluice, all 22", ours.clock, "s")
    yield Figure("raw PySpark, all 22", theirs.clock, "s")
    for name, pair in pairs.items():
        yield Figure(f"{name}: {pair.ours.clock:.2f} s, raw PySpark {pair.theirs.clock:.2f} s", pair.ratio, "")


def _both(
    ground: Ground,
    sluice: member.Member,
    connection: psycopg.Connection[Any],
    raw: raw_spark.RawSpark,
    name: str,
    text: str,
) -> Pair:
    """Run Sluice and raw PySpark in turns; the first round is for warming up."""
    ours, theirs = [], []
    for _ in range(1 + _ROUNDS):
        mine, rows = _timed(sluice.pid, lambda: len(connection.execute(text.encode()).fetchall()))
        other, expected = _timed(raw.pid, lambda: raw.run(text))
        if rows != expected:
            raise RuntimeError(f"{name}: {rows} rows, raw PySpark has {expected}")
        ours.append(mine)
        theirs.append(other)
    pair = Pair(_best(ours[1:]), _best(theirs[1:]))
    ground.say(
        f"{name}: {pair.ours.clock:.2f} s, raw {pair.theirs.clock:.2f} s, ratio {pair.ratio:.2f}; processor "
        f"{pair.ours.processor:.2f} s, raw {pair.theirs.processor:.2f} s; {rows} rows"
    )
    return pair


def _timed(pid: int, work: Callable[[], int]) -> tuple[Taken, int]:
    used, started = processor.seconds(pid), time.perf_counter()
    rows = work()
    clock = time.perf_counter() - started
    return Taken(clock, processor.seconds(pid) - used), rows


def _best(runs: Sequence[Taken]) -> Taken:
    return Taken(min(run.clock for run in runs), min(run.processor for run in runs))


MEASURE: Final = Measure(
    "tpch",
    "The 22 queries of TPC-H on Spark, relative to raw PySpark",
    "The time of the statements of `benchmarks/tpch` (validation parameters) through psycopg with `sluice.engine = "
    "spark`, from sending a statement to reading its last row, divided by the time of `spark.sql(...).toArrow()` for "
    "the same text in a PySpark process with the same settings and the same files as temporary views. The two "
    f"alternate query by query: one warm-up round, then the best of {_ROUNDS}. Processor time is that of the member, "
    "or of the PySpark process, including its JVM; it depends less on other load on the machine.",
    _run,
)

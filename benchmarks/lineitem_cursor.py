"""Reads all of `lineitem` through a cursor: the rows never pass through the driver's heap, and flow at the client's
pace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Final

import psutil

from benchmarks.figures import Figure, Measure, median
from benchmarks.ground import Ground
from benchmarks.member import Member, running

_QUERY: Final = b"select * from lineitem"
_WARMING: Final = b"select ps_partkey, ps_suppkey from partsupp"
_PAGE: Final = 10_000
_FIRST_ROWS: Final = 7
_SAMPLE_SECONDS: Final = 0.02
_MIB: Final = 1 << 20


class ResidentPeak:
    """The largest resident size of a process within the block, in bytes, sampled."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.bytes = self.now()

    def now(self) -> int:
        return int(self._process.memory_info().rss)

    def __enter__(self) -> ResidentPeak:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            self.bytes = max(self.bytes, self.now())


def _run(ground: Ground) -> Iterator[Figure]:
    with running(ground, "lineitem-cursor") as member:
        idle = ResidentPeak(member.pid).now()
        yield Figure("first row, cold", _first_row(member), "s")
        after_whole = [_first_row(member, _WARMING) for _ in range(_FIRST_ROWS)]
        after_abandoned = [_first_row(member) for _ in range(_FIRST_ROWS)]
        for label, taken in (("", after_whole), ("after an abandoned one: ", after_abandoned)):
            ground.say(f"first rows, {label}" + ", ".join(f"{seconds:.2f}" for seconds in taken) + " s")
        yield Figure("first row, warm", median(after_whole), "s", 0.5)
        yield Figure("first row, after an abandoned query", median(after_abandoned), "s")
        with ResidentPeak(member.pid) as peak:
            rows, seconds = _all_rows(member)
        if rows != ground.rows("lineitem"):
            raise RuntimeError(f"{rows} rows came, not {ground.rows('lineitem')}")
        yield Figure("rows", rows, "rows")
        yield Figure("all rows", seconds, "s")
        yield Figure("rate", rows / seconds, "rows/s")
        yield Figure("growth of the member's Python process", (peak.bytes - idle) / _MIB, "MiB", 200)
        yield Figure("peak of the member's Python process", peak.bytes / _MIB, "MiB")


def _first_row(member: Member, before: bytes | None = None) -> float:
    """Return the seconds to the first row, after which no other is read; `before` is read to its end first."""
    with member.connect("spark", autocommit=False) as connection, connection.cursor("first") as cursor:
        if before is not None:
            connection.execute(before).fetchall()
        started = time.perf_counter()
        cursor.execute(_QUERY)
        row = cursor.fetchone()
        taken = time.perf_counter() - started
    assert row is not None
    return taken


def _all_rows(member: Member) -> tuple[int, float]:
    with member.connect("spark", autocommit=False) as connection, connection.cursor("all") as cursor:
        started = time.perf_counter()
        cursor.execute(_QUERY)
        rows = 0
        while page := cursor.fetchmany(_PAGE):
            rows += len(page)
        return rows, time.perf_counter() - started


MEASURE: Final = Measure(
    "lineitem_cursor",
    "Reading all of lineitem through a cursor, on Spark",
    f"`{_QUERY.decode()}` through a psycopg server-side cursor with `sluice.engine = spark`, in text format, with "
    f"{_PAGE:,} rows per fetch; every value is converted to its Python object. First row: from DECLARE to the first "
    f'row, on a new connection; "warm" is the median of {_FIRST_ROWS} runs, each after `{_WARMING.decode()}` was '
    "read to its end. Abandoning a query ends the Python workers of its tasks, so that the next query waits for new "
    "ones. Growth: the peak resident memory of the member's Python process minus its resident memory after Spark's "
    f"start and before the first query, sampled every {_SAMPLE_SECONDS * 1000:.0f} ms.",
    _run,
)

"""Measures how far the figures of an edge on the console's page lag behind the member's counters, on three members
while a cursor is read.

Chromium shows the page of another member than the initiator, and each change of the page's table of edges is recorded.
Meanwhile the counters of the same edge are queried over SQL. The age of a figure on the page is counted from the start
of the last SQL query whose answer did not exceed it. This is never less than the true lag, and exceeds it by at most
the interval between two queries.
"""

from __future__ import annotations

import bisect
import importlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
from playwright.sync_api import Page

from benchmarks import cluster
from benchmarks.figures import Figure, Measure, median, percentile
from benchmarks.ground import Ground

_TESTS: Final = Path(__file__).parents[1] / "tests"
_MEMBERS: Final = 3
_SECONDS: Final = 30.0
_FETCHES: Final = 1500
_ASK_SECONDS: Final = 0.05
_LOOK_SECONDS: Final = 0.02
_BAR: Final = 1.0
#: From the second member's instance to the first one's.
_EDGE: Final = (1, 1, 0)
_NOTE: Final = """
(edge) => {
  window.noted = [];
  setInterval(() => {
    for (const row of document.querySelectorAll("table.edges tbody tr")) {
      if (row.querySelector("[data-label=Edge]").textContent !== edge) continue;
      const rows = Number(row.querySelector("[data-label=Rows]").textContent.replace(/[^0-9]/g, ""));
      if (window.noted.at(-1)?.[1] !== rows) window.noted.push([Date.now() / 1000, rows]);
    }
  }, 10);
}
"""
_COUNTERS: Final = (
    "select rows from sluice.edges "
    "where query_id = %s and edge = %s and sender = %s and receiver = %s and member = 'm1'"
)
#: Times and rows, both growing.
Noted = list[tuple[float, int]]


def _run(ground: Ground) -> Iterator[Figure]:
    data = ground.of_scale(ground.rows("lineitem") / 6_000_000, 6)
    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    browser: Any = importlib.import_module("support.browser")
    with (
        cluster.running(ground, "edge-lag", _MEMBERS, data) as members,
        members.connect("always") as owner,
        members.connect("off") as watcher,
        browser.chromium() as chromium,
        browser.watched_page(chromium) as page,
    ):
        query = _declare(owner)
        page.goto(f"http://{members.consoles[1]}/#/statements/{query}")
        page.wait_for_selector("table.edges tbody tr")
        page.evaluate(_NOTE, ".".join(map(str, _EDGE)))
        over = threading.Event()
        reader = threading.Thread(target=_read, args=(owner, ground.rows("lineitem") // _FETCHES, over))
        reader.start()
        counted: Noted = []
        begun = time.time()
        while time.time() - begun < _SECONDS:
            counted.append(_counted(watcher, query))
            page.wait_for_timeout(1000 * _ASK_SECONDS)
        over.set()
        reader.join()
        noted = _noted(page)
    ages = list(_ages(noted, counted, begun))
    ground.say(f"{len(noted)} figures on the page, {len(counted)} questions")
    yield Figure("delay of a figure on the page, 95 %", percentile(ages, 95), "s", _BAR)
    yield Figure("delay of a figure on the page, median", median(ages), "s")
    yield Figure("delay of a figure on the page, longest", max(ages), "s")


def _declare(owner: psycopg.Connection[Any]) -> str:
    owner.execute("set cursor_buffer_size = '16kB'")
    owner.execute("begin")
    owner.execute("declare c no scroll cursor for select l_orderkey, l_comment from lineitem")
    own = "pid = pg_backend_pid() and cursor = 'c'"
    row = owner.execute(f"select query_id from sluice.queries where {own}").fetchone()
    assert row is not None, "the cursor has been declared"
    return str(row[0])


def _read(owner: psycopg.Connection[Any], rows: int, over: threading.Event) -> None:
    """Read the cursor at an even pace."""
    while not over.wait(_SECONDS / _FETCHES):
        owner.execute(f"fetch {rows} from c".encode()).fetchall()


def _counted(watcher: psycopg.Connection[Any], query: str) -> tuple[float, int]:
    """Return the time before the query, and the rows of the edge as its receiver counts them."""
    before = time.time()
    row = watcher.execute(_COUNTERS, (query, *_EDGE)).fetchone()
    return before, 0 if row is None else int(row[0])


def _noted(page: Page) -> Noted:
    noted: list[tuple[float, float]] = page.evaluate("window.noted")
    return [(at, int(rows)) for at, rows in noted]


def _ages(noted: Noted, counted: Noted, begun: float) -> Iterator[float]:
    """Yield the age of the figure on the page, at equal intervals."""
    if not noted or not counted or counted[-1][1] == counted[0][1]:
        raise RuntimeError("no rows have gone over the edge")
    rows, shown_at = [value for _, value in counted], [at for at, _ in noted]
    for look in range(int(_SECONDS / _LOOK_SECONDS)):
        at = begun + look * _LOOK_SECONDS
        shown = bisect.bisect_right(shown_at, at) - 1
        last = bisect.bisect_right(rows, noted[shown][1]) - 1
        if shown >= 0 and last >= 0:
            yield max(0.0, at - counted[last][0])


MEASURE: Final = Measure(
    "edge_lag",
    "Delay of an edge's figures on the console's page",
    f"{_MEMBERS} members. A cursor over lineitem at the first member is read at an even rate for {_SECONDS:g} s, and "
    "Chromium shows the statement on the second member's console. Every 20 ms, the delay is the time since the "
    "counter of the edge from the second member to the first had the value that the page shows. SQL queries read the "
    f"counter every {1000 * _ASK_SECONDS:g} ms; the interval between two of them is part of the delay.",
    _run,
)

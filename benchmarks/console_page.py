"""Measures the console's page in Chromium: the time to draw it, and whether its memory stays constant.

The page is the real one; its data is generated (`tests/support/generated_console.py`): 50 statements over 8 members,
and a plan with 64 edges between two stages of all members. The measured unit is a frame of the page: its own work with
the data that has arrived, and then the browser's style and layout, which is forced within the measured interval. Memory
is the JavaScript heap and the DOM after a full collection.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import CDPSession, Page

from benchmarks.figures import Figure, Measure, median, percentile
from benchmarks.ground import Ground

_TESTS: Final = Path(__file__).parents[1] / "tests"
_MEMBERS: Final = 8
_STATEMENTS: Final = 50
_FRAMES: Final = 100
_LOADS: Final = 5
#: An hour of overviews, which the server sends each second.
_HOUR_FRAMES: Final = 3600
_INTERVAL_SECONDS: Final = 0.05
_BAR_MS: Final = 100.0
#: The tolerance of the heap between two full collections, for a page that keeps nothing.
_FLAT_KB: Final = 512.0
_FLAT_NODES: Final = 100
_READINGS: Final = 9
#: Chromium's metrics of the main thread's time that a page spends before it has content.
_WORK: Final = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
_WATCH: Final = """
(() => {
  const frames = window.frames_ms = [];
  window.frames_drawn = 0;
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (draw) => ask((at) => {
    const begun = performance.now();
    draw(at);
    document.body.getBoundingClientRect();
    window.frames_drawn += 1;
    if (frames.length < 1000) frames.push(performance.now() - begun);
  });
})();
"""
_VIEWS: Final = (("overview", "", ".member"), ("a statement's page", "#/statements/m1.0", ".graph svg"))


def _run(_ground: Ground) -> Iterator[Figure]:
    console_page = _support("generated_console")
    browsing = _support("browser")
    world = console_page.World(members=_MEMBERS, statements=_STATEMENTS, sessions=200, finished=300)
    with (
        console_page.GeneratedConsole(world, interval=_INTERVAL_SECONDS) as console,
        browsing.chromium() as browser,
        browsing.watched_page(browser) as page,
    ):
        page.add_init_script(_WATCH)
        for name, view, ready in _VIEWS:
            yield from _times(page, name, console.address + view, ready)
        _open(page, console.address, ".member")
        yield from _memory(page)


def _support(name: str) -> Any:
    """Import a module that tests share; the tests are no package of the benchmarks."""
    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    return importlib.import_module(f"support.{name}")


def _open(page: Page, address: str, ready: str) -> None:
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector(ready)


def _times(page: Page, name: str, address: str, ready: str) -> Iterator[Figure]:
    loads = [_load(page, address, ready) for _ in range(_LOADS)]
    yield Figure(
        f"{name}: longest frame of the first three, median of {_LOADS} loads",
        median([w for w, _ in loads]),
        "ms",
        _BAR_MS,
    )
    yield Figure(
        f"{name}: script, styles and layout from load to content, processor time", median([c for _, c in loads]), "ms"
    )
    frames = _frames(page, _FRAMES)[3:]
    yield Figure(f"{name}: further frames, median", median(frames), "ms")
    yield Figure(f"{name}: further frames, 95 %", percentile(frames, 95), "ms", _BAR_MS)


def _load(page: Page, address: str, ready: str) -> tuple[float, float]:
    """Load the page. Returns the milliseconds of the longest of the first three frames, and of processor time of the
    page's own work until then.
    """
    page.goto("about:blank")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address)
    page.wait_for_selector(ready)
    wall = max(_frames(page, 3)[:3])
    held = _metrics(session)
    session.detach()
    return wall, 1000 * sum(held[name] for name in _WORK)


def _frames(page: Page, count: int) -> list[float]:
    """Return the durations of the first frames, in milliseconds."""
    _wait_for_frames(page, count)
    frames: list[float] = page.evaluate("window.frames_ms")
    return frames[:count]


def _wait_for_frames(page: Page, count: int) -> None:
    """Poll for the frames. Playwright's own waiting would request frames too, which would be counted."""
    while page.evaluate("window.frames_drawn") < count:
        time.sleep(0.05)


def _memory(page: Page) -> Iterator[Figure]:
    _wait_for_frames(page, _FRAMES)
    before = _least_held(page)
    _wait_for_frames(page, _FRAMES + _HOUR_FRAMES)
    after = _least_held(page)
    grown = (after["JSHeapUsedSize"] - before["JSHeapUsedSize"]) / 1024
    yield Figure(f"growth of the heap over {_HOUR_FRAMES:,} frames", grown, "KiB", _FLAT_KB)
    yield Figure("heap", after["JSHeapUsedSize"] / 1024, "KiB")
    yield Figure("growth of DOM nodes", after["Nodes"] - before["Nodes"], "nodes", _FLAT_NODES)
    yield Figure("growth of event listeners", after["JSEventListeners"] - before["JSEventListeners"], "listeners", 0)


def _least_held(page: Page) -> dict[str, float]:
    """Return the minimum of several readings, since one may see a message that has arrived and a frame that is half
    made.
    """
    readings: list[dict[str, float]] = []
    for _ in range(_READINGS):
        readings.append(_held(page))
        time.sleep(3 * _INTERVAL_SECONDS)
    return {name: min(reading[name] for reading in readings) for name in readings[0]}


def _held(page: Page) -> dict[str, float]:
    """Return Chromium's own figures of the page after a full collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.enable")
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    told = _metrics(session)
    session.detach()
    return told


def _metrics(session: CDPSession) -> dict[str, float]:
    told: Any = session.send("Performance.getMetrics")
    return {metric["name"]: metric["value"] for metric in told["metrics"]}


MEASURE: Final = Measure(
    "console_page",
    "Rendering the console's page",
    f"Chromium shows the console with generated data: {_STATEMENTS} statements over {_MEMBERS} members, 200 sessions, "
    f"a history of 300 statements, and a new overview every {_INTERVAL_SECONDS * 1000:g} ms instead of every second. "
    "A frame is the page's work and the forced layout after it. Growth of memory is the difference between two "
    f"minima of {_READINGS} readings each, after full garbage collections.",
    _run,
)

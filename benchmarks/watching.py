"""Measures the cost of observation: TPC-H on the local engine with the console open and scraped, compared with nobody
looking.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import Ping, Request, TextMessage

from benchmarks import processor
from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground
from benchmarks.member import Member, running
from benchmarks.tpch_queries import queries

_ROUNDS: Final = 7
_BAR: Final = 1.03


def _run(ground: Ground) -> Iterator[Figure]:
    with running(ground, "watching", spark=False) as member, member.connect("local") as connection:
        _round(member, connection)
        alone: list[tuple[float, float]] = []
        watched: list[tuple[float, float]] = []
        for number in range(_ROUNDS):
            # The order alternates, so that neither is always the first.
            for seen in (False, True) if number % 2 else (True, False):
                with _watched(member) if seen else contextlib.nullcontext():
                    (watched if seen else alone).append(_round(member, connection))
    clock = [_median([taken[0] for taken in side]) for side in (alone, watched)]
    used = [_median([taken[1] for taken in side]) for side in (alone, watched)]
    ground.say(f"clock {clock[0]:.2f} s alone, {clock[1]:.2f} s watched; processor {used[0]:.2f} s and {used[1]:.2f} s")
    yield Figure("processor time of the member, observed relative to unobserved", used[1] / used[0], "", _BAR)
    yield Figure("elapsed time, observed relative to unobserved", clock[1] / clock[0], "", _BAR)
    yield Figure("processor time of observation, per second", 1000 * (used[1] - used[0]) / clock[1], "ms")
    yield Figure("all 22, unobserved", clock[0], "s")


def _round(member: Member, connection: psycopg.Connection[Any]) -> tuple[float, float]:
    """Return the seconds of the clock, and of the member's processor time."""
    used, started = processor.seconds(member.pid), time.perf_counter()
    for text in queries().values():
        connection.execute(text.encode()).fetchall()
    clock = time.perf_counter() - started
    return clock, processor.seconds(member.pid) - used


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


@contextlib.contextmanager
def _watched(member: Member) -> Iterator[None]:
    """Within the block, keep a page open that follows the running statement, and scrape each second."""
    over = threading.Event()
    threads = [threading.Thread(target=work, args=(member, over)) for work in (_page, _scrapes)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _scrapes(member: Member, over: threading.Event) -> None:
    while not over.is_set():
        with urllib.request.urlopen(f"{member.console}metrics", timeout=30) as answer:
            answer.read()
        over.wait(1.0)


def _page(member: Member, over: threading.Event) -> None:
    """Act as an open page, which follows the statement that was last reported as running."""
    address = urlsplit(member.console)
    websocket = WSConnection(ConnectionType.CLIENT)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=30) as connection:
        connection.sendall(websocket.send(Request(host=address.netloc, target="/api/live")))
        text = ""
        while not over.is_set():
            websocket.receive_data(connection.recv(1 << 16) or None)
            for event in websocket.events():
                if isinstance(event, Ping):
                    connection.sendall(websocket.send(event.response()))
                elif isinstance(event, TextMessage):
                    text += event.data
                    if event.message_finished:
                        told, text = json.loads(text), ""
                        if told.get("overview", {}).get("running"):
                            newest = told["overview"]["running"][0]["id"]
                            connection.sendall(websocket.send(TextMessage(json.dumps({"follow": newest}))))
            if websocket.state is ConnectionState.CLOSED:
                raise RuntimeError("the console has closed the page's connection")


MEASURE: Final = Measure(
    "watching",
    "The 22 queries of TPC-H on the local engine, observed relative to unobserved",
    "All 22 statements of `benchmarks/tpch`, one after another, through psycopg with `sluice.engine = local`. "
    "Observed: the benchmark's process keeps the console's websocket open and follows the running statement, and "
    f"`/metrics` is scraped once a second. Unobserved: neither. Medians of {_ROUNDS} alternating rounds of each after "
    "one warm-up round. Processor time is the member's. Spark is not started.",
    _run,
)

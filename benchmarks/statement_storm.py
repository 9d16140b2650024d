"""Measures statements that take long to parse and to plan, and their effect on their clients, on other clients, and on
the member's memory.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from typing import Any, Final, NamedTuple

import psutil
import psycopg

from benchmarks import member
from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground

_TIMEOUT_SECONDS: Final = 1.0
_ENDED_SECONDS: Final = 1.5
_OTHERS_SECONDS: Final = 0.2
_LONG_TIMEOUT_SECONDS: Final = 20.0
_MEMORY_GB: Final = 4.0
_CLIENTS: Final = 6
_PROBE_SECONDS: Final = 0.01
_AFTER_SECONDS: Final = 1.0
_GIB: Final = 1 << 30


def _repeated(before: str, separator: str, item: Callable[[int], str], after: str = "") -> Callable[[int], str]:
    return lambda size: before + separator.join(map(item, range(size))) + after


#: The kinds of statements, each as a function of its size, with the size.
_STATEMENTS: Final[Mapping[str, tuple[Callable[[int], str], int]]] = {
    "OR": (_repeated("select count(*) from t where ", " or ", lambda i: f"a = {i}"), 20_000),
    "VALUES": (_repeated("select count(*) from (values ", ",", lambda i: f"({i}, 'a{i}', {i}.5)", ") v"), 50_000),
    "INSERT": (_repeated("insert into u values ", ",", lambda i: f"({i}, 'a{i}', {i}.5)"), 50_000),
    "IN": (_repeated("select count(*) from t where a in (", ",", str, ")"), 1_000_000),
    "columns": (_repeated("select ", ",", lambda i: f"a as c{i}", " from t limit 1"), 400_000),
    "sum": (_repeated("select ", "+", lambda _: "1"), 3_000),
    "joins": (_repeated("select 1 from ", ", ", lambda i: f"t r{i}"), 3_000),
    "aggregates": (_repeated("select ", ",", lambda i: f"sum(a + {i})", " from t"), 3_000),
    "GROUP BY": (_repeated("select count(*) from t group by ", ",", lambda i: f"a + {i}"), 3_000),
    "statements": (_repeated("", ";", lambda _: "select 1"), 200_000),
}


class _Seen(NamedTuple):
    """ended: seconds until the client of the statement had its answer. others: the longest `select 1` of another
    client, in seconds. busy: the most processor time that the member's process took during one of these, in seconds.
    memory: the largest memory of the member, in bytes.
    """

    ended: float
    others: float
    busy: float
    memory: int


def _run(ground: Ground) -> Iterator[Figure]:
    folder = ground.folder("statement-storm")
    with member.started(folder, 'start = "lazy"\n') as sluice:
        with psycopg.connect(sluice.dsn, autocommit=True) as connection:
            connection.execute("create table t (a int)")
            connection.execute("create table u (a int, b text, c numeric(12, 2))")
            connection.execute("insert into t select * from generate_series(1, 1000)")
        seen, longer = {}, {}
        for name, (text, size) in _STATEMENTS.items():
            seen[name] = _watched(sluice, [text(size).encode()])
            longer[name] = _watched(sluice, [text(size).encode()], _LONG_TIMEOUT_SECONDS)
            ground.say(
                f"{name}, {size}: ended after {seen[name].ended:.2f} s, others {seen[name].others:.2f} s, "
                f"{longer[name].others:.2f} s in {longer[name].ended:.1f} s"
            )
        texts = [text(size).encode() for text, size in _STATEMENTS.values()]
        storm = _watched(sluice, list(islice(cycle(texts), 2 * len(texts))))
    for name, one in seen.items():
        yield Figure(f"{name}: ended after", one.ended, "s", _ENDED_SECONDS)
        yield Figure(f"{name}: slowest select 1 of another client", one.others, "s", _OTHERS_SECONDS)
        worst = f"{name}: slowest select 1 of another client, timeout {_LONG_TIMEOUT_SECONDS:g} s"
        yield Figure(worst, longer[name].others, "s", _OTHERS_SECONDS)
        yield Figure(
            f"{name}: most processor time of the member during one select 1", longer[name].busy, "s", _OTHERS_SECONDS
        )
    yield Figure(f"{_CLIENTS} clients: peak memory of the member", storm.memory / _GIB, "GiB", _MEMORY_GB)
    yield Figure(f"{_CLIENTS} clients: slowest select 1 of another client", storm.others, "s")
    yield Figure(f"{_CLIENTS} clients: last statement ended after", storm.ended, "s")


def _watched(sluice: member.Member, statements: list[bytes], seconds: float = _TIMEOUT_SECONDS) -> _Seen:
    """Have several clients send the statements at once, while another client sends a short query again and again.
    seconds: the timeout of the statements.
    """
    over = threading.Event()
    with ThreadPoolExecutor(_CLIENTS + 1) as threads:
        probe = threads.submit(_probe, sluice, over)
        try:
            ended = max(threads.map(lambda statement: _ended(sluice, statement, seconds), statements))
            time.sleep(_AFTER_SECONDS)
        finally:
            over.set()
        others, busy, memory = probe.result()
    return _Seen(ended, others, busy, memory)


def _probe(sluice: member.Member, over: threading.Event) -> tuple[float, float, int]:
    process, worst, busiest, most = psutil.Process(sluice.pid), 0.0, 0.0, 0
    with psycopg.connect(sluice.dsn, autocommit=True) as connection:
        while not over.wait(_PROBE_SECONDS):
            began, worked = time.perf_counter(), sum(process.cpu_times()[:2])
            connection.execute("select 1")
            worst = max(worst, time.perf_counter() - began)
            busiest = max(busiest, sum(process.cpu_times()[:2]) - worked)
            most = max(most, process.memory_info().rss)
    return worst, busiest, most


def _ended(sluice: member.Member, statement: bytes, seconds: float) -> float:
    """Return the seconds until the statement has ended, with or without an error."""
    options = f"-c statement_timeout={seconds:g}s"
    connection: psycopg.Connection[Any]
    with psycopg.connect(sluice.dsn, autocommit=True, options=options) as connection:
        began = time.perf_counter()
        with contextlib.suppress(psycopg.Error):
            connection.execute(statement)
        return time.perf_counter() - began


MEASURE: Final = Measure(
    "statement-storm",
    "Statements that take long to plan",
    "Statements of each kind, as long as those that attackers and generators write, run under a statement_timeout of "
    f"{_TIMEOUT_SECONDS:g} s. Measured: the seconds until the client receives the error, and the longest time of a "
    f"`select 1` that another client sends every {_PROBE_SECONDS * 1000:g} ms during the statement and for "
    f"{_AFTER_SECONDS:g} s afterwards; the same under a timeout of {_LONG_TIMEOUT_SECONDS:g} s, with the most "
    "processor time that the member used during one `select 1`, which other load on the machine does not change. "
    f"Then {_CLIENTS} clients send all of the statements at once, twice, and the member's resident memory is sampled. "
    "Spark is not started.",
    _run,
)

"""Compares the 22 queries of TPC-H on the engine that the member chooses with the faster engine of each, in one run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg

from benchmarks import member
from benchmarks.figures import Figure, Measure
from benchmarks.ground import TABLES, Ground
from benchmarks.tpch_queries import queries

_SCALES: Final = (0.1, 1.0)
_ENGINES: Final = ("auto", "local", "spark")
_ROUNDS: Final = 2
_BAR: Final = 1.15
#: A run of Spark is cancelled, and not repeated, after this multiple of the local engine's time, and this many seconds at least.
_LOST: Final = 4
_LOST_SECONDS: Final = 5.0

Connections = dict[str, psycopg.Connection[Any]]


def _run(ground: Ground) -> Iterator[Figure]:
    with (
        member.running(ground, "engine-choice") as sluice,
        sluice.connect("auto") as auto,
        sluice.connect("local") as local,
        sluice.connect("spark") as spark,
    ):
        connections = dict(zip(_ENGINES, (auto, local, spark), strict=True))
        for scale in _SCALES:
            _use_scale(ground, connections, scale)
            yield from _at_scale(ground, connections, scale)


def _use_scale(ground: Ground, connections: Connections, scale: float) -> None:
    """Create the tables of a scale for the connections."""
    schema = f"scale_{scale:g}".replace(".", "_")
    connections["auto"].execute(f"create schema {schema}".encode())
    for connection in connections.values():
        connection.execute(f"set search_path = {schema}".encode())
    for table in TABLES:
        member.register(connections["auto"], table, ground.of_scale(scale, 1) / f"{table}.parquet")


def _at_scale(ground: Ground, connections: Connections, scale: float) -> Iterator[Figure]:
    times = {name: _best_times(ground, connections, name, text) for name, text in queries().items()}
    chosen = sum(taken["auto"] for taken in times.values())
    faster = sum(min(taken["local"], taken["spark"]) for taken in times.values())
    yield Figure(f"scale {scale:g}: total time relative to the faster engine of each query", chosen / faster, "", _BAR)
    for engine in _ENGINES:
        yield Figure(f"scale {scale:g}: {engine}, all 22", sum(taken[engine] for taken in times.values()), "s")
    for name, taken in times.items():
        told = f"{name}: {taken['auto']:.3f} s, local {taken['local']:.3f} s, spark {taken['spark']:.2f} s"
        yield Figure(f"scale {scale:g}, {told}", taken["auto"] / min(taken["local"], taken["spark"]), "")


def _best_times(ground: Ground, connections: Connections, name: str, text: str) -> dict[str, float]:
    """Return the best seconds of each engine. The engines take turns; the first round is for warming up."""
    taken: dict[str, list[float]] = {engine: [] for engine in connections}
    for _ in range(1 + _ROUNDS):
        for engine in ("auto", "local"):
            taken[engine].append(_seconds(connections[engine], text))
        most = max(_LOST * min(taken["local"]), _LOST_SECONDS)
        if not taken["spark"] or taken["spark"][-1] < most:
            taken["spark"].append(_seconds(connections["spark"], text, most))
    best = {engine: min(times[1:] or times) for engine, times in taken.items()}
    # The estimates now include what the member has learnt.
    lines = connections["auto"].execute(f"explain {text}".encode()).fetchall()
    why = next(line for (line,) in lines if line.startswith("Engine: "))
    ground.say(f"{name}: " + ", ".join(f"{engine} {seconds:.3f} s" for engine, seconds in best.items()) + f"; {why}")
    return best


def _seconds(connection: psycopg.Connection[Any], text: str, most: float = 0.0) -> float:
    """Return the seconds of a statement. most: the limit after which it is cancelled; 0: none."""
    connection.execute(f"set statement_timeout = {round(most * 1000)}".encode())
    started = time.perf_counter()
    try:
        connection.execute(text.encode()).fetchall()
    except psycopg.errors.QueryCanceled:
        return max(most, time.perf_counter() - started)
    return time.perf_counter() - started


MEASURE: Final = Measure(
    "engine_choice",
    "The 22 queries of TPC-H with the automatically chosen engine, relative to the faster engine",
    "The statements of `benchmarks/tpch` at both scales through psycopg on three connections to one member, with "
    "`sluice.engine` set to `auto`, `local` and `spark`, from sending a statement to reading its last row. The three "
    f"alternate query by query: one warm-up round, then the best of {_ROUNDS}. A query that takes {_LOST} times as "
    f"long on Spark as on the local engine, and at least {_LOST_SECONDS:g} s, is cancelled there, counts with that "
    "time, and is not run on Spark again. The total time of `auto` is divided by the sum, over the queries, of the "
    "shorter of the other two times.",
    _run,
)

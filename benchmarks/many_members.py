"""Measures memory, descriptors and processor time of members and of idle clients: the figures from which docs/scale.md
computes.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg

from benchmarks import cluster, postgres, processor
from benchmarks.cluster import Cluster
from benchmarks.figures import Figure, Measure, median
from benchmarks.ground import Ground
from engine.catalog.store.postgres import PostgresDatabase

_MEMBERS: Final = (1, 2, 4, 8)
_SESSIONS: Final = 500
_CURSORS: Final = 100
_IDLE_SECONDS: Final = 10.0
_SETTLE_SECONDS: Final = 3.0
_SCALE: Final = 0.05
_FILES: Final = 8
_CATALOGS: Final = 10
_VERSIONS: Final = 20_000
_WARM: Final = 10
_REPEATS: Final = 50
_MIB: Final = 1 << 20


def _run(ground: Ground) -> Iterator[Figure]:
    yield from _catalog(ground)
    data = ground.of_scale(_SCALE, _FILES)
    for members in _MEMBERS:
        with cluster.running(ground, f"members-{members}", members, data) as running:
            time.sleep(_SETTLE_SECONDS)
            yield from _idle(members, running)
            if members == _MEMBERS[-1]:
                yield from _clients(running)


def _catalog(ground: Ground) -> Iterator[Figure]:
    """Yield the connections of members to a catalog in PostgreSQL, and the cost of each statement there."""
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(postgres.running(ground, "nation"))
        members = [PostgresDatabase(url, ground.scratch) for _ in range(_CATALOGS)]
        for database in members:
            stack.callback(database.close)
            database.version()
        with psycopg.connect(url) as asking:
            [(folder,)] = asking.execute("show data_directory").fetchall()
            [(connections,)] = asking.execute("select count(*) from pg_stat_activity where application_name ~ 'sluice'")
        yield Figure("a member: connections to the catalog database", connections / _CATALOGS, "")
        server = int((Path(folder) / "postmaster.pid").read_text().split()[0])
        begun, own = processor.seconds(server), time.process_time()
        for asked in range(_VERSIONS):
            members[asked % _CATALOGS].version()
        used, mine = processor.seconds(server) - begun, time.process_time() - own
        yield Figure("check of the catalog version: processor time of PostgreSQL", used / _VERSIONS * 1e6, "us")
        yield Figure("check of the catalog version: processor time of the member", mine / _VERSIONS * 1e6, "us")


def _idle(members: int, running: Cluster) -> Iterator[Figure]:
    processes = [psutil.Process(pid) for pid in running.pids]
    before = [processor.seconds(pid) for pid in running.pids]
    time.sleep(_IDLE_SECONDS)
    used = [processor.seconds(pid) - begun for pid, begun in zip(running.pids, before, strict=True)]
    yield Figure(f"{members} members, idle: processor time per member", median(used) / _IDLE_SECONDS * 1000, "ms/s")
    yield Figure(
        f"{members} members, idle: memory per member (USS)", median([_memory(p) for p in processes]) / _MIB, "MiB"
    )
    yield Figure(f"{members} members, idle: descriptors per member", median([p.num_fds() for p in processes]), "")
    yield Figure(f"{members} members, idle: threads per member", median([p.num_threads() for p in processes]), "")


def _clients(running: Cluster) -> Iterator[Figure]:
    """Yield the costs of clients of the first member."""
    process = psutil.Process(running.pids[0])
    memory, descriptors = _memory(process), process.num_fds()
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(running.connect("off")) for _ in range(_SESSIONS)]
        yield Figure("a session: memory, connected", (_memory(process) - memory) / _SESSIONS / 1024, "KiB")
        yield Figure("a session: descriptors", (process.num_fds() - descriptors) / _SESSIONS, "")
        for connection in connections:
            connection.execute("select count(*) from nation where n_regionkey = 1").fetchall()
        yield Figure("a session: memory, after a statement", (_memory(process) - memory) / _SESSIONS / 1024, "KiB")
        used = processor.seconds(process.pid)
        time.sleep(_IDLE_SECONDS)
        spent = (processor.seconds(process.pid) - used) / _IDLE_SECONDS * 1000
        yield Figure(f"{_SESSIONS} idle sessions: processor time of the member", spent, "ms/s")
        memory, descriptors = _memory(process), process.num_fds()
        threads = process.num_threads()
        for connection in connections[:_CURSORS]:
            _suspend(connection)
        yield Figure("a suspended cursor: memory", (_memory(process) - memory) / _CURSORS / 1024, "KiB")
        yield Figure("a suspended cursor: descriptors", (process.num_fds() - descriptors) / _CURSORS, "")
        yield Figure(f"{_CURSORS} suspended cursors: threads", process.num_threads() - threads, "")
    with running.connect("off") as connection:
        yield Figure("`select 1`: processor time of the member", _each(process.pid, connection, "select 1"), "ms")
        short = "select n_regionkey, count(*) from nation group by 1"
        yield Figure("a short query: processor time of the member", _each(process.pid, connection, short), "ms")
        long = "select l_returnflag, count(*), sum(l_quantity) from lineitem group by 1"
        for name, distribution in (
            ("a query of 300,000 rows", "off"),
            (f"the same over {_MEMBERS[-1]} members", "always"),
        ):
            connection.execute(f"set sluice.distribution = {distribution}".encode())
            before = sum(processor.seconds(pid) for pid in running.pids)
            first = _each(process.pid, connection, long, repeats=_REPEATS)
            every = (sum(processor.seconds(pid) for pid in running.pids) - before) / (_REPEATS + _WARM) * 1000
            yield Figure(f"{name}: processor time of the first member", first, "ms")
            yield Figure(f"{name}: processor time of all members", every, "ms")


def _suspend(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Leave a cursor open over a large table, of which one row was read."""
    connection.execute("begin")
    connection.execute("declare c no scroll cursor for select * from lineitem")
    connection.execute("fetch 1 from c").fetchall()


def _each(pid: int, connection: psycopg.Connection[tuple[Any, ...]], query: str, *, repeats: int = 500) -> float:
    """Return the milliseconds of processor time per query, after some queries for warming up."""
    for _ in range(_WARM):
        connection.execute(query.encode(), prepare=True).fetchall()
    begun = processor.seconds(pid)
    for _ in range(repeats):
        connection.execute(query.encode(), prepare=True).fetchall()
    return (processor.seconds(pid) - begun) / repeats * 1000


def _memory(process: psutil.Process) -> float:
    """Return the memory that the process would release if it ended."""
    return float(process.memory_full_info().uss)


MEASURE: Final = Measure(
    "many_members",
    "Resources of members and clients",
    f"Clusters of {', '.join(map(str, _MEMBERS))} members on one machine, without Spark, idle for {_IDLE_SECONDS:g} "
    f"s; then, at the first member of the largest cluster, {_SESSIONS} sessions of psycopg, of which {_CURSORS} leave "
    "a cursor over lineitem suspended after one row. USS of the process, file descriptors, processor time; medians "
    "over the members.",
    _run,
)

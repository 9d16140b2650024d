"""Measures the cancellation of Spark queries: the time until the job is gone and the connection is idle again.

Two witnesses report that a job is gone: the member's own count of streams, and Spark's REST interface, which the
member's configuration enables for this measure (jobs running, tasks active).
"""

from __future__ import annotations

import contextlib
import json
import random
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import psycopg

from benchmarks import member
from benchmarks.figures import Figure, Measure, percentile
from benchmarks.ground import Ground
from benchmarks.thrift_server import free_port

_CANCELS: Final = 50
_BAR_SECONDS: Final = 1.0
_DELAY_SECONDS_MAX: Final = 0.8
_GONE_SECONDS_MAX: Final = 60.0
_POLL_SECONDS: Final = 0.005
_SEED: Final = 2

#: Statements that at scale 1 run long enough to be cancelled in the phase that their names say.
_QUERIES: Final = {
    "scan": b"select * from lineitem",
    "shuffle": b"""select l_partkey, l_suppkey, l_shipdate, count(*), sum(l_extendedprice), max(l_comment)
        from lineitem group by 1, 2, 3 order by 5 desc""",
    "sort": b"select * from lineitem order by l_comment, l_extendedprice",
    "join": b"""select count(*), sum(a.l_extendedprice * b.l_discount) from lineitem a
        join lineitem b on a.l_suppkey = b.l_suppkey and a.l_quantity < b.l_quantity""",
}


class Taken(NamedTuple):
    """Seconds from sending the cancel request: until the job is gone and the connection idle, and until no task is
    active.
    """

    job: float
    tasks: float


class SparkWitness:
    """Reads Spark's own count of running jobs and active tasks."""

    def __init__(self, port: int) -> None:
        self._root = f"http://127.0.0.1:{port}/api/v1/applications"
        self._root += "/" + self._get("")[0]["id"]

    def jobs_run(self) -> bool:
        return bool(self._get("/jobs?status=running"))

    def tasks_active(self) -> bool:
        return any(executor["activeTasks"] for executor in self._get("/executors"))

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self._root + path, timeout=30) as answer:
            return json.load(answer)


def _run(ground: Ground) -> Iterator[Figure]:
    port = free_port()
    conf = f'conf = {{ "spark.ui.enabled" = "true", "spark.ui.port" = "{port}" }}\n'
    chance = random.Random(_SEED)
    with (
        member.running(ground, "cancel", conf, SPARK_LOCAL_IP="127.0.0.1") as sluice,
        sluice.connect("auto") as connection,
        ThreadPoolExecutor(1) as thread,
    ):
        spark = SparkWitness(port)
        taken: dict[str, list[Taken]] = {name: [] for name in _QUERIES}
        names = list(_QUERIES)
        for number in range(_CANCELS):
            name = names[number % len(names)]
            delay = chance.uniform(0, _DELAY_SECONDS_MAX)
            taken[name].append(_cancel(thread, sluice, connection, spark, _QUERIES[name], delay))
            job, tasks = taken[name][-1]
            ground.say(f"{number + 1}: {name}, {delay:.2f} s after its first task: {job:.2f} s, tasks {tasks:.2f} s")
    yield from _figures(taken)


def _figures(taken: dict[str, list[Taken]]) -> Iterator[Figure]:
    jobs = [one.job for each in taken.values() for one in each]
    tasks = [one.tasks for each in taken.values() for one in each]
    yield Figure("cancels", len(jobs), "")
    yield Figure("p50", percentile(jobs, 50), "s")
    yield Figure("p99", percentile(jobs, 99), "s", _BAR_SECONDS)
    for name, each in taken.items():
        yield Figure(f"{name}, slowest of {len(each)}", max(one.job for one in each), "s")
    yield Figure("until no task is active, p50", percentile(tasks, 50), "s")
    yield Figure("until no task is active, p99", percentile(tasks, 99), "s")


def _cancel(
    thread: ThreadPoolExecutor,
    sluice: member.Member,
    connection: psycopg.Connection[Any],
    spark: SparkWitness,
    query: bytes,
    delay: float,
) -> Taken:
    ending = thread.submit(_ask, connection, query)
    _wait(lambda: spark.tasks_active() or ending.done())
    time.sleep(delay)
    started = time.perf_counter()
    connection.cancel_safe()
    _cancelled(ending)
    if connection.execute(b"select 1").fetchall() != [(1,)]:
        raise RuntimeError("the connection does not answer")
    _wait(lambda: not sluice.status()["counters"]["spark"]["streams"] and not spark.jobs_run())
    job = time.perf_counter() - started
    _wait(lambda: not spark.tasks_active())
    return Taken(job, time.perf_counter() - started)


def _ask(connection: psycopg.Connection[Any], query: bytes) -> None:
    with connection.transaction():
        connection.execute(b"set local sluice.engine = spark")
        connection.execute(query)


def _cancelled(ending: Future[None]) -> None:
    with contextlib.suppress(psycopg.errors.QueryCanceled):
        ending.result()
        raise RuntimeError("a query was over before it was cancelled")


def _wait(condition: Any) -> None:
    deadline = time.monotonic() + _GONE_SECONDS_MAX
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {_GONE_SECONDS_MAX:.0f} s")
        time.sleep(_POLL_SECONDS)


MEASURE: Final = Measure(
    "cancel",
    "Cancelling a Spark query",
    f"{_CANCELS} cancel requests through psycopg for queries on Spark with running tasks: a streaming scan, the "
    f"shuffle of an aggregation, a sort and a join in turn, each cancelled 0 to {_DELAY_SECONDS_MAX} s (seeded) after "
    "its first task began. The time runs from sending the request until the client has received the error, the same "
    "connection has answered `select 1`, the member counts no stream on Spark, and Spark's REST interface reports no "
    'running job. "Until no task is active" runs until that interface also reports no active task: a killed task '
    "that sorts in memory notices the cancellation later. The times include the polling intervals.",
    _run,
)

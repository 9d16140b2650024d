"""Processes of a standalone Spark cluster killed at different points of a query, or of changes that its tasks write: a
Python worker, an executor, a worker, the master, the driver. A query ends with all rows or with an error, a transaction
takes place once and completely or not at all, and each statement ends within twice `spark.wait_timeout`.

`KILLS=10 pytest -s -m long tests/cluster/test_killed_processes.py` kills that many in each test, at random moments that
`SEED` determines.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

import psutil
import psycopg
import pytest
from support import tpch
from support.campaigns import part
from support.child_processes import is_alive
from support.member_process import MemberProcess, wait_until
from support.member_state import wait_idle
from support.spark_changes import CHANGES, ChangedTables
from support.standalone_spark import StandaloneSpark
from support.swept_files import require_swept

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(7200)]

KILLS: Final = int(os.environ.get("KILLS", "1"))
SEED: Final = int(os.environ.get("SEED", "1"))
_PAGE: Final = 20_000
_TIMEOUT: Final = 60
_READ: Final = "select l_orderkey, l_linenumber, l_comment from lineitem"
_QUERIES: Final = {
    "scan": _READ,
    "shuffle": "select l_orderkey % 50000, count(*), sum(l_partkey)::bigint from lineitem group by 1",
    "sort": f"{_READ} order by l_comment, l_orderkey, l_linenumber",
    "suspended": _READ,
}
_VICTIMS: Final = ("python", "executor", "worker", "master", "driver")
#: The changes of transactions that run at the same time, each in its own session; several changes of a transaction are in
#: a block. No two of them have the same target.
Transactions = tuple[tuple[str, ...], ...]
_SINGLE: Final[list[Transactions]] = [((name,),) for name in CHANGES]
_SEVERAL: Final[list[Transactions]] = [
    (("insert", "keyed"),),
    (("insert",), ("keyed",)),
    (("parted", "update"),),
    (("parted",), ("update",)),
    (("delete", "create"),),
    (("keyed", "parted"), ("create", "merge")),
]
#: What a change may end with: it has not taken place, and may be repeated; or Spark was not there. A statement that takes
#: twice as long as it may wait for Spark is a failure of the test.
_REFUSALS: Final = ("40001", "57P01", "58000")
#: What a query may end with: its rows were not delivered; or Spark gave the job up.
_ALLOWED: Final = (*_REFUSALS, "XX000")


#: For each transaction the tags of its statements, or the SQLSTATE with which it was refused.
Ends = list[list[str | None] | str]


@dataclass
class Ground:
    """tables: those that changes change. totals: the number of rows of each query and the sum of its first column.
    undisturbed: the seconds that transactions take when nothing is killed, and the tags of their statements.
    """

    spark: StandaloneSpark
    member: MemberProcess
    tables: ChangedTables
    totals: dict[str, tuple[int, int]]
    undisturbed: dict[Transactions, tuple[float, Ends]] = field(default_factory=dict)

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return self.member.connect(options=f"-c sluice.engine=spark -c statement_timeout={2 * _TIMEOUT}s")

    def kill(self, victim: str, chance: random.Random) -> None:
        if victim == "master":
            self.spark.kill_master()
        elif victim == "worker":
            self.spark.kill_workers(1)
        else:
            found = self._processes(victim)
            if found:
                chance.choice(found).kill()

    def _processes(self, victim: str) -> list[psutil.Process]:
        if victim == "python":
            return self.spark.python_workers()
        if victim == "executor":
            return self.spark.executors()
        return [child for child in psutil.Process(self.member.pid).children() if child.name() == "java"]

    def restore(self, victim: str) -> None:
        """Start what was killed, and wait until statements are answered again."""
        if victim == "master":
            former = self.spark.executors()
            self.spark.start_master()
            # It does not know their application, and ends them when their workers register with it.
            wait_until(lambda: not any(map(is_alive, former)), 300)
        elif victim == "worker":
            self.spark.start_workers()
        wait_until(self.is_answering, 300)

    def is_answering(self) -> bool:
        try:
            with self.connect() as connection:
                connection.execute("select count(*) from lineitem")
        except psycopg.OperationalError:
            return False
        return len(self.spark.executors()) == 2


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("processes")
    tpch.generate(folder / "tpch", 0.1, "parquet", 8)
    with StandaloneSpark(folder / "spark") as spark:
        conf = {**spark.conf, "spark.sql.files.maxPartitionBytes": "6m"}
        settings = "\n".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in conf.items())
        (folder / "sluice.toml").write_text(
            f'catalog = "{folder}/member/catalog.sqlite"\n'
            f'[spark]\nmaster = "{spark.master}"\ndriver_memory = "600m"\nwait_timeout = {_TIMEOUT}\n'
            f"[spark.conf]\n{settings}\n"
        )
        with MemberProcess(
            folder / "member", "--config", str(folder / "sluice.toml"), log=folder / "member.log"
        ) as member:
            totals: dict[str, tuple[int, int]] = {}
            with member.connect(options="-c sluice.engine=local") as connection:
                path = folder / "tpch" / "lineitem"
                connection.execute(f"create foreign table lineitem options (path '{path}', format 'parquet')".encode())
                for point, query in _QUERIES.items():
                    [totals[point]] = connection.execute(
                        f"select count(*), sum(k)::bigint from ({query}) as q(k, a, b)".encode()
                    ).fetchall()
            tables = ChangedTables(member, folder / "member")
            yield Ground(spark, member, tables, totals)
            tables.drop()
            wait_idle(member)


@pytest.mark.parametrize(("victim", "point"), part(list(itertools.product(_VICTIMS, _QUERIES))))
def test_a_process_is_killed(ground: Ground, victim: str, point: str) -> None:
    chance = random.Random(f"{SEED} {victim} {point}")
    ends: Counter[str] = Counter()
    for _ in range(KILLS):
        wait_until(ground.is_answering, 300)
        ends[read_and_kill(ground, victim, point, chance)] += 1
        ground.restore(victim)
    print(f"\n{point}, {victim}: {dict(ends)}", flush=True)


def read_and_kill(ground: Ground, victim: str, point: str, chance: random.Random) -> str:
    """Read all rows through a cursor and kill a process meanwhile. Returns how the statement ended."""
    rows = keys = 0
    killed = threading.Event()

    def kill() -> None:
        killed.set()
        ground.kill(victim, chance)

    timer = threading.Timer(chance.uniform(0, 3), kill)
    with ground.connect() as connection, connection.transaction(force_rollback=True):
        connection.execute(f"declare c no scroll cursor for {_QUERIES[point]}".encode())
        if point != "suspended":
            timer.start()
        try:
            while page := connection.execute(f"fetch {_PAGE} from c".encode()).fetchall():
                rows += len(page)
                keys += sum(row[0] for row in page)
                if point == "suspended" and rows == len(page):
                    kill()
                    time.sleep(chance.uniform(0, 3))
        except psycopg.Error as error:
            if error.sqlstate not in _ALLOWED:
                raise
            return f"error {error.sqlstate}"
        else:
            end = "complete" if killed.is_set() else "complete before the kill"
        finally:
            if timer.is_alive():
                timer.join()
    assert (rows, keys) == ground.totals[point], f"{rows} of {ground.totals[point]} rows, and no error"
    return end


# CI runs a part of a part: all of them take 20 minutes.
@pytest.mark.parametrize(("victim", "transactions"), part(part(list(itertools.product(_VICTIMS, _SINGLE)))))
def test_a_process_is_killed_under_a_change(ground: Ground, victim: str, transactions: Transactions) -> None:
    kill_under_changes(ground, victim, transactions)


@pytest.mark.parametrize(("victim", "transactions"), part(part(list(itertools.product(_VICTIMS, _SEVERAL)))))
def test_a_process_is_killed_under_several_changes(ground: Ground, victim: str, transactions: Transactions) -> None:
    kill_under_changes(ground, victim, transactions)


def kill_under_changes(ground: Ground, victim: str, transactions: Transactions) -> None:
    chance = random.Random(f"{SEED} {victim} {transactions}")
    for _ in range(KILLS):
        wait_until(ground.is_answering, 300)
        print(f"\n{transactions}, {victim}: {change_and_kill(ground, victim, transactions, chance)}", flush=True)
        ground.restore(victim)


def change_and_kill(ground: Ground, victim: str, transactions: Transactions, chance: random.Random) -> str:
    """Run changes and kill a process at a random moment of the time that they take, in half of the cases not before tasks
    have begun to write files. Returns how the transactions ended, and when the process was killed.
    """
    tables, changes = ground.tables, [CHANGES[name] for names in transactions for name in names]
    tables.make()
    before = {change.target: tables.sign_target(change.target) for change in changes}
    after = {change.target: tables.sign(change.after) for change in changes}
    if transactions not in ground.undisturbed:
        begun = time.monotonic()
        tags = run(ground, transactions)
        ground.undisturbed[transactions] = (time.monotonic() - begun, tags)
        assert {target: tables.sign_target(target) for target in after} == after
        tables.make()
    seconds, tags = ground.undisturbed[transactions]
    moment, over = "after its end", threading.Event()
    until_files = all(change.by_tasks for change in changes) and chance.random() < 0.5
    begun = time.monotonic()

    def kill() -> None:
        nonlocal moment
        while until_files and not tables.staged() and not over.wait(0.01):
            pass
        if not over.is_set():
            moment = f"at {time.monotonic() - begun:.1f} s, with {len(tables.staged())} files"
        ground.kill(victim, chance)

    timer = threading.Timer(chance.uniform(0, seconds), kill)
    timer.start()
    try:
        ends = run(ground, transactions)
    finally:
        took, killed = time.monotonic() - begun, moment
        over.set()
        timer.join()
    if ends == tags:
        ground.undisturbed[transactions] = (min(seconds, took), tags)
    told = f"{ends} after {took:.1f} s (undisturbed {seconds:.1f} s), killed {killed}"
    for names, end, expected in zip(transactions, ends, tags, strict=True):
        assert end == expected or end in _REFUSALS, told
        for target in (CHANGES[name].target for name in names):
            assert tables.sign_target(target) == (after if end == expected else before)[target], f"{target}: {told}"
    with ground.connect() as session:
        require_swept(session, tables.folder)
    tables.require_nothing_copied()
    return told


def run(ground: Ground, transactions: Transactions) -> Ends:
    """Run transactions, all at the same time. Raises psycopg.Error for an error that none may have."""
    with ThreadPoolExecutor(len(transactions)) as sessions:
        return list(sessions.map(functools.partial(run_transaction, ground), transactions))


def run_transaction(ground: Ground, names: tuple[str, ...]) -> list[str | None] | str:
    """Run changes in a session, in a block if there are several. Returns what `Ends` has for them."""
    statements = [CHANGES[name].statement.format(folder=ground.tables.folder).encode() for name in names]
    with ground.connect() as session:
        try:
            with session.transaction() if len(names) > 1 else contextlib.nullcontext():
                return [session.execute(statement).statusmessage for statement in statements]
        except psycopg.Error as error:
            if error.sqlstate not in _REFUSALS:
                raise
            return error.sqlstate

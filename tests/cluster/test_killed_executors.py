"""Executors of a standalone Spark cluster killed while their tasks send rows, or write them: a statement ends with all
rows or with an error, never with a part of them.

`KILLS=100 pytest -s -m long tests/cluster/test_killed_executors.py` kills that many in each test, at random moments
that `SEED` determines.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from support import tpch
from support.member_process import MemberProcess, register_tpch, wait_until
from support.member_state import wait_idle
from support.standalone_spark import StandaloneSpark

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]

KILLS: Final = int(os.environ.get("KILLS", "3"))
SEED: Final = int(os.environ.get("SEED", "1"))
_SCALE: Final = 0.1
_PARTS: Final = 8
#: A task for each of them.
_CONF: Final = {"spark.sql.files.maxPartitionBytes": "6m"}
_PAGE: Final = 10_000
_WORKERS: Final = 2
_READ: Final = "select l_orderkey, l_partkey, l_suppkey, l_linenumber, l_comment from lineitem"
_READS: Final = {"unsorted": _READ, "sorted": f"{_READ} order by l_orderkey, l_linenumber"}
#: What a statement may end with: its rows were not delivered, and it may be repeated; or Spark gave the job up.
_ALLOWED: Final = ("40001", "57P01", "58000", "XX000")


@dataclass
class Ground:
    """rows, keys: how many rows lineitem has, and the sum of l_orderkey."""

    spark: StandaloneSpark
    member: MemberProcess
    rows: int
    keys: int

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return self.member.connect(options="-c sluice.engine=spark")

    def wait_executors(self) -> None:
        wait_until(lambda: len(self.spark.executors()) == _WORKERS, 120)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("executors")
    tpch.generate(folder / "tpch", _SCALE, "parquet", _PARTS)
    with StandaloneSpark(folder / "spark") as spark:
        conf = {**spark.conf, **_CONF}
        settings = "\n".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in conf.items())
        (folder / "sluice.toml").write_text(f'[spark]\ndriver_memory = "600m"\n[spark.conf]\n{settings}\n')
        flags = ("--config", str(folder / "sluice.toml"), "--spark-master", spark.master)
        with MemberProcess(folder / "member", *flags, log=folder / "member.log") as member:
            with member.connect() as connection:
                register(connection, folder / "tpch")
                connection.execute("create table copied (key bigint, note text, n int check (n < 1000))")
                [counted] = connection.execute("select count(*), sum(l_orderkey)::bigint from lineitem").fetchall()
            yield Ground(spark, member, *counted)
            with member.connect() as connection:
                connection.execute("drop table copied")
            wait_idle(member)


def register(connection: psycopg.Connection[Any], folder: Path) -> None:
    path = folder / "lineitem"
    if path.is_dir():
        connection.execute(f"create foreign table lineitem options (path '{path}', format 'parquet')".encode())
    else:
        register_tpch(connection, folder)


@pytest.mark.long
@pytest.mark.parametrize("order", list(_READS))
def test_a_cursor_whose_executor_is_killed(ground: Ground, order: str) -> None:
    chance = random.Random(f"{SEED} {order}")
    ends: Counter[str] = Counter()
    for _ in range(KILLS):
        ends[read_and_kill(ground, order, chance)] += 1
        print(f"\n{order}: {ends.total()} kills, {dict(ends)}", flush=True)


def read_and_kill(ground: Ground, order: str, chance: random.Random) -> str:
    """Read all rows through a cursor and kill an executor at some moment: how the statement ended. Fails for a part of the rows."""
    ground.wait_executors()
    fatal_at = chance.randrange(0, ground.rows * 6 // 10)
    rows = keys = 0
    last: tuple[int, int] = (0, 0)
    killed = False
    with ground.connect() as connection, connection.transaction(force_rollback=True):
        connection.execute(f"declare c no scroll cursor for {_READS[order]}".encode())
        try:
            while page := connection.execute(f"fetch {_PAGE} from c".encode()).fetchall():
                rows += len(page)
                keys += sum(row[0] for row in page)
                if order == "sorted":
                    places = [last, *((row[0], row[3]) for row in page)]
                    assert places == sorted(places)
                    last = places[-1]
                if rows >= fatal_at and not killed:
                    killed = True
                    victim = chance.choice(ground.spark.executors())
                    victim.kill()
                    victim.wait(30)
        except psycopg.Error as error:
            if not killed or error.sqlstate not in _ALLOWED:
                raise
            return f"error {error.sqlstate}, {_kind(error)}"
    assert (rows, keys) == (ground.rows, ground.keys), f"{rows} of {ground.rows} rows, and no error"
    return "complete"


def _kind(error: psycopg.Error) -> str:
    """Return the same name for errors that differ in numbers alone."""
    return re.sub(r"\d+", "N", error.diag.message_primary or "")


@pytest.mark.long
def test_an_insert_whose_executor_is_killed(ground: Ground) -> None:
    chance = random.Random(f"{SEED} insert")
    ends: Counter[str] = Counter()
    for _ in range(KILLS):
        ground.wait_executors()
        timer = threading.Timer(chance.uniform(0, 4), lambda: chance.choice(ground.spark.executors()).kill())
        with ground.connect() as connection:
            timer.start()
            try:
                tag = connection.execute(
                    "insert into copied select l_orderkey, repeat(l_comment, 5), l_linenumber from lineitem"
                ).statusmessage
                end, expected = "complete", (ground.rows, ground.keys)
                assert tag == f"INSERT 0 {ground.rows}"
            except psycopg.Error as error:
                if error.sqlstate not in _ALLOWED:
                    raise
                end, expected = f"error {error.sqlstate}, {_kind(error)}", (0, 0)
            timer.join()
            connection.execute("set sluice.engine = local")
            asked = connection.execute("select count(*), coalesce(sum(key), 0)::bigint from copied")
            assert asked.fetchall() == [expected]
            connection.execute("delete from copied")
        ends[end] += 1
        print(f"\ninsert: {ends.total()} kills, {dict(ends)}", flush=True)


@pytest.mark.long
@pytest.mark.parametrize("order", list(_READS))
def test_enough_rows_are_no_error(ground: Ground, order: str) -> None:
    """A cursor that is closed early, with its streams under way, ends without an error; so does a LIMIT."""
    ground.wait_executors()
    with ground.connect() as connection:
        with connection.transaction():
            connection.execute(f"declare c no scroll cursor for {_READS[order]}".encode())
            assert len(connection.execute("fetch 5000 from c").fetchall()) == 5000
            connection.execute("close c")
        assert len(connection.execute(f"{_READS[order]} limit 20000".encode()).fetchall()) == 20_000

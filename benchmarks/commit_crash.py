"""Kills a member at random moments of commits and restarts it: every acknowledged row is there, complete, and no other
row is.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg

from benchmarks.figures import Figure, Measure
from benchmarks.ground import Ground
from benchmarks.member import Member, started

_KILLS: Final = 200
_WRITERS: Final = 3
_LEAST_SECONDS: Final = 0.05
_MOST_SECONDS: Final = 0.6
#: More than `sluice.vacuum_retention`.
_OLD_SECONDS: Final = 7200.0
_LAZY: Final = 'start = "lazy"\n'


class _Writer(threading.Thread):
    """Inserts increasing numbers into two tables, each number into both in one transaction, until the member is gone.

    acknowledged: the numbers whose COMMIT was answered. asked: the last number whose transaction began.
    """

    def __init__(self, member: Member, first: int) -> None:
        super().__init__()
        self.acknowledged: list[int] = []
        self.asked = first
        self._connection = member.connect("auto", autocommit=False)

    def run(self) -> None:
        with contextlib.suppress(psycopg.OperationalError), self._connection as connection:
            while True:
                self.asked += 1
                connection.execute("insert into a values (%s)", (self.asked,))
                connection.execute("insert into b values (%s)", (self.asked,))
                connection.commit()
                self.acknowledged.append(self.asked)


def _run(ground: Ground) -> Iterator[Figure]:
    data, chance = ground.folder("commit-crash"), random.Random(1)
    acknowledged: set[int] = set()
    in_doubt: set[int] = set()
    with started(data, _LAZY) as member, member.connect("auto") as connection:
        connection.execute("create table a (n bigint)")
        connection.execute("create table b (n bigint)")
    for number in range(_KILLS):
        with started(data, _LAZY) as member:
            first = [(number * _WRITERS + writer) * 1_000_000 for writer in range(_WRITERS)]
            writers = [_Writer(member, start) for start in first]
            for writer in writers:
                writer.start()
            time.sleep(chance.uniform(_LEAST_SECONDS, _MOST_SECONDS))
            member.kill()
            for writer in writers:
                writer.join()
        acknowledged.update(n for writer in writers for n in writer.acknowledged)
        in_doubt.update(writer.asked for writer in writers)
        if number % 20 == 19:
            ground.say(f"{number + 1} kills, {len(acknowledged):,} transactions")
    with started(data, _LAZY) as member, member.connect("auto") as connection:
        there = [[int(row[0]) for row in connection.execute(f"select n from {table}".encode())] for table in "ab"]
        _age(data)
        connection.execute("vacuum")
        named = connection.execute("select sum(files) from sluice.tables").fetchone()
    one, both = set(there[0]), set(there[0]) & set(there[1])
    assert named is not None
    yield Figure("kills", _KILLS, "")
    yield Figure("acknowledged transactions", len(acknowledged), "")
    yield Figure("acknowledged transactions that are lost", len(acknowledged - both), "", 0)
    yield Figure("partially visible transactions", len(one ^ set(there[1])), "", 0)
    yield Figure(
        "duplicate rows, or rows of no attempted transaction",
        sum(map(len, there)) - 2 * len(both & (acknowledged | in_doubt)),
        "",
        0,
    )
    yield Figure("files left after VACUUM that no table refers to", _files(data) - int(named[0]), "", 0)


def _age(data: Path) -> None:
    """Make the files of tables old enough for VACUUM, which spares files that a running statement may be writing."""
    then = time.time() - _OLD_SECONDS
    for path in (data / "tables").rglob("*"):
        os.utime(path, (then, then))


def _files(data: Path) -> int:
    return sum(1 for path in (data / "tables").rglob("*.parquet") if "_delta_log" not in path.parts)


MEASURE: Final = Measure(
    "commit_crash",
    "A member killed at random moments during commits",
    f"{_WRITERS} sessions commit transactions that insert one row into each of two tables; the member is killed with "
    f"SIGKILL after {_LEAST_SECONDS} to {_MOST_SECONDS} s (seeded) and restarted, {_KILLS} times. At the end both "
    "tables are compared with the acknowledged transactions; a transaction that was in progress at a kill must be "
    "visible either completely or not at all. Then the files are made to look two hours old, VACUUM runs, and the "
    "remaining files are compared with those that the tables refer to.",
    _run,
)

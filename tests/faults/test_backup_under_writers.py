"""`sluice backup` and `sluice restore`, run as an operator runs them while members write, compact, vacuum and drop."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.member_process import MemberProcess, wait_until

ENVIRONMENT = {"SLUICE_SPARK__START": "lazy", "SLUICE_TABLES__COMPACT_AFTER": "8"}
WRITERS = 4


def sluice(*words: str) -> str:
    command = (sys.executable, "-m", "server.cli.main", *words)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Writer(threading.Thread):
    """A thread whose transactions each insert a number into `a` and `b` and delete the one before from `c`, until it is
    told to end.

    acknowledged: the numbers whose COMMIT was answered, in their order.
    """

    def __init__(self, connection: psycopg.Connection[Any], writer: int) -> None:
        super().__init__()
        self.acknowledged: list[int] = []
        self.ended = threading.Event()
        self._connection, self._writer = connection, writer

    def run(self) -> None:
        number = self._writer
        while not self.ended.is_set():
            try:
                with self._connection.transaction():
                    self._connection.execute("insert into a values (%s)", (number,))
                    self._connection.execute("insert into b values (%s)", (number,))
                    self._connection.execute("delete from c where writer = %s", (self._writer,))
                    self._connection.execute("insert into c values (%s, %s)", (self._writer, number))
            except psycopg.errors.SerializationFailure:
                continue
            self.acknowledged.append(number)
            number += WRITERS


@pytest.mark.long
def test_a_backup_has_every_transaction_up_to_a_moment(tmp_path: Path) -> None:
    """The backup contains every transaction that was acknowledged before it began, only complete transactions, and none
    that began after it ended.
    """
    data = tmp_path / "data"
    with MemberProcess(data, environment=ENVIRONMENT) as member, ExitStack() as stack:
        connections = [stack.enter_context(member.connect()) for _ in range(WRITERS + 1)]
        other = connections[WRITERS]
        other.execute("create table a (x int); create table b (x int); create table c (writer int, x int)")
        other.execute("insert into c select x, 0 from generate_series(0, 3) x")
        writers = [Writer(connections[number], number) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        try:
            for number in range(3):
                wait_until(lambda: all(len(writer.acknowledged) > 3 * (number + 1) for writer in writers), 120)  # noqa: B023
                other.execute(f"create table gone{number} as select x from generate_series(1, 10) x".encode())
                before = [list(writer.acknowledged) for writer in writers]
                told = sluice("backup", str(tmp_path / f"backup{number}"), "--data", str(data))
                assert told.startswith("backed up: ")
                after = [len(writer.acknowledged) for writer in writers]
                other.execute(f"drop table gone{number}".encode())
                other.execute("vacuum")
                if number < 2:
                    continue
                wait_until(lambda: all(len(w.acknowledged) > n + 2 for w, n in zip(writers, after, strict=True)), 120)  # noqa: B023
        finally:
            for writer in writers:
                writer.ended.set()
            for writer in writers:
                writer.join()
        whole = [list(writer.acknowledged) for writer in writers]
    new = tmp_path / "new"
    assert sluice("restore", str(tmp_path / "backup2"), "--data", str(new)).startswith("restored: 4 tables, ")
    with MemberProcess(new, environment=ENVIRONMENT) as member, member.connect() as client:
        there = [x for (x,) in client.execute("select x from a order by x")]
        assert [x for (x,) in client.execute("select x from b order by x")] == there
        for number, acknowledged in enumerate(whole):
            found = [x for x in there if x % WRITERS == number]
            assert found == acknowledged[: len(found)], "what is in it is what was committed first"
            assert len(before[number]) <= len(found) <= after[number] + 1
            last = client.execute("select x from c where writer = %s", (number,)).fetchall()
            assert last == [(found[-1],)]
        assert client.execute("select count(*) from gone2").fetchone() == (10,)
        # And it goes on.
        client.execute("insert into a values (-1)")
        client.execute("vacuum full")
        assert client.execute("select count(*) from a").fetchone() == (len(there) + 1,)

"""The output of a member at its end: its log, and no messages of libraries that find the interpreter partly torn down.

A member of `MemberProcess` is a forked process, which skips the interpreter's regular shutdown. The other members in
these tests are started as separate processes.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql
from support.member_process import MemberProcess, wait_until

Connection = psycopg.Connection[tuple[Any, ...]]

#: `sluice serve --data ...`, whose close fails at its end, or which leaves joins of many relations as they are, by the second
#: argument.
_PROGRAM = """
import sys
from engine.planner.codegen import join_equalities
from server import serving
from server.config.config import load

class Failing(serving.Member):
    async def close(self):
        await super().close()
        raise RuntimeError("a close that fails")

if sys.argv[2] == "fails":
    serving.Member = Failing
if sys.argv[2] == "plans":
    join_equalities._FEW_RELATIONS = 1000
flags = dict.fromkeys(("listen", "mesh", "console"), "127.0.0.1:0")
more = {"spark": {"start": "lazy"}, "log_level": "warning", "cluster": {"drain_seconds": 0.5}}
local = {"fragment_threads": 2, "memory": "10GB"}
sys.exit(serving.run(load(None, {**flags, **more, **local, "data": sys.argv[1]})))
"""
_LINE = re.compile(r"\d{4}-\d\d-\d\d \S+ UTC \[\d+\] (LOG|WARNING):  ")


def test_only_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with (
        MemberProcess(tmp_path, environment={"SLUICE_SPARK__START": "lazy"}, log=log) as member,
        member.connect() as client,
    ):
        assert client.execute("select count(*) from generate_series(1, 10)").fetchone() == (10,)
    said = log.read_text().splitlines()
    assert [line for line in said if not _LINE.match(line)] == []


@pytest.mark.parametrize("close", ["succeeds", "fails"])
def test_nothing_of_objects_that_are_left(tmp_path: Path, close: str) -> None:
    """DuckDB's binding counts its objects when the interpreter ends, and finds none."""
    command = (sys.executable, "-c", _PROGRAM, str(tmp_path), close)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as member:
        assert member.stdout is not None
        assert "sluice ready" in member.stdout.readline()
        member.send_signal(signal.SIGTERM)
        _, said = member.communicate(timeout=240)
    assert "leaked" not in said
    assert ("a close that fails" in said) == (close == "fails")
    assert member.returncode == (close == "fails")


#: DuckDB's optimizer orders these joins for minutes, in more than 2 GB of memory, and looks at no interrupt; as it does where they
#: are given to it as they are written.
_TABLES: Final = 120
_LONG: Final = sql.SQL("select count(*) from {} where {}").format(
    sql.SQL(", ").join(sql.SQL("t {}").format(sql.Identifier(f"t{number}")) for number in range(_TABLES)),
    sql.SQL(" and ").join(
        sql.SQL("{}.a = {}.b").format(sql.Identifier(f"t{number}"), sql.Identifier(f"t{other}"))
        for number in range(_TABLES)
        for other in range(max(number - 5, 0), number)
    ),
)


def test_statements_that_are_planned_for_minutes(tmp_path: Path) -> None:
    """A client that cancels one gets the error, and other clients continue, though as many threads plan as the pool
    has; and the member shuts down while they plan.
    """
    command = (sys.executable, "-c", _PROGRAM, str(tmp_path), "plans")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as member:
        try:
            assert member.stdout is not None
            ready = dict(word.split("=", 1) for word in member.stdout.readline().split() if "=" in word)
            host, _, port = ready["listen"].rpartition(":")
            dsn = f"host={host} port={port} user=tester dbname=sluice"
            with psycopg.connect(dsn, autocommit=True) as client, psycopg.connect(dsn, autocommit=True) as other:
                client.execute("create table t (a int, b int)")
                client.execute("insert into t values (1, 2)")
                for _ in range(2):
                    _cancel_while_planned(client, other)
                    assert client.execute("select count(*) from t").fetchone() == (1,)
            member.send_signal(signal.SIGTERM)
            told, said = member.communicate(timeout=240)
        finally:
            member.kill()
    assert member.returncode == 0
    assert "ended" in told
    abandoned = re.findall(
        r"abandoned query \S+, which DuckDB still plans or runs on thread (\S+) .*: SELECT COUNT", said
    )
    assert len(abandoned) == 2
    assert "leaked" not in said
    # All that is durable was closed: the next member finds it.
    with (
        MemberProcess(tmp_path, environment={"SLUICE_SPARK__START": "lazy"}) as again,
        again.connect() as client,
    ):
        assert client.execute("select * from t").fetchall() == [(1, 2)]


def _cancel_while_planned(client: Connection, other: Connection) -> None:
    """Run the statement, and cancel it when DuckDB has it."""
    pid = client.info.backend_pid
    running = f"select run_seconds > 0.5 from sluice.queries where pid = {pid} and state = 'running'"
    with ThreadPoolExecutor(1) as pool:
        statement = pool.submit(client.execute, _LONG)
        wait_until(lambda: other.execute(running.encode()).fetchall() == [(True,)], 120)
        client.cancel()
        with pytest.raises(psycopg.errors.QueryCanceled):
            statement.result()

"""Notices while a statement runs: Spark's start, and the statement's progress (`sluice.progress`)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from support.member_process import MemberProcess, register_tpch, wait_until
from support.packages import needs
from support.tpch import generate

pytestmark = pytest.mark.spark

ENDLESS = "select count(*) from lineitem a, lineitem b where a.l_comment < b.l_comment"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MemberProcess, list[str]]]:
    """A member that starts Spark when a statement needs it, and the notices of the statement that needed it."""
    folder = generate(tmp_path_factory.mktemp("tpch"), 0.1, "parquet")
    environment = {"SLUICE_SPARK__START": "lazy"}
    data = tmp_path_factory.mktemp("member")
    with MemberProcess(data, "--spark-master", "local[2]", environment=environment) as running:
        with running.connect() as connection:
            register_tpch(connection, folder)
            notices = told(connection)
            connection.execute("set sluice.engine = spark")
            connection.execute("set sluice.progress = 0.2")
            connection.execute("select count(*) from nation")
        yield running, notices


@pytest.fixture(scope="module")
def lazy(started: tuple[MemberProcess, list[str]]) -> MemberProcess:
    return started[0]


def told(connection: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    """The notices of a connection, as they come."""
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    return notices


def until_told(member: MemberProcess, query: str, pattern: str, **options: str) -> list[str]:
    """Run a query until a notice has this pattern, then cancel it."""
    with member.connect() as connection:
        notices = told(connection)
        for name, value in options.items():
            connection.execute(f"set sluice.{name} = {value}")

        def run() -> None:
            with pytest.raises(errors.QueryCanceled):
                connection.execute(query)

        running = threading.Thread(target=run)
        running.start()
        try:
            wait_until(lambda: any(re.fullmatch(pattern, notice) for notice in notices))
        finally:
            connection.cancel_safe()
            running.join()
    return notices


def test_spark_starts_and_has_started(started: tuple[MemberProcess, list[str]]) -> None:
    member, notices = started
    first, *steps, last = [notice for notice in notices if not notice.startswith("progress")]
    assert (first, last) == ("waiting for Spark to start", "Spark has started")
    # A start that takes some seconds says what it waits for.
    assert all(step.startswith("waiting for Spark's ") for step in steps)
    assert any(re.fullmatch(r"progress: waiting for Spark for \d+ s", notice) for notice in notices)
    with member.connect() as connection:
        further = told(connection)
        connection.execute("set sluice.engine = spark")
        connection.execute("select count(*) from nation")
        assert further == []


def test_tasks_of_spark(lazy: MemberProcess) -> None:
    pattern = r"progress: running on Spark for \d+ s, \d+ of \d+ tasks done"
    until_told(lazy, ENDLESS, pattern, engine="spark", progress="0.2")


def test_tasks_of_spark_that_write(lazy: MemberProcess) -> None:
    pattern = r"progress: running on Spark for \d+ s, \d+ of \d+ tasks done"
    until_told(lazy, f"create table counted as {ENDLESS}", pattern, engine="spark", progress="0.2")


def test_the_local_engine(lazy: MemberProcess) -> None:
    pattern = r"progress: running on the local engine for \d+ s"
    until_told(lazy, ENDLESS, pattern, engine="local", progress="0.2")


def test_rows_so_far(lazy: MemberProcess) -> None:
    with lazy.connect() as connection, connection.cursor() as cursor:
        notices = told(connection)
        connection.execute("set sluice.engine = local")
        connection.execute("set sluice.progress = 0.05")
        for _ in cursor.stream("select a.* from lineitem a, nation b"):
            if any("rows so far" in notice for notice in notices):
                break
        counted = [int(found[1]) for notice in notices if (found := re.search(r"(\d+) rows so far", notice))]
        assert counted[-1] > 0
        assert counted == sorted(counted)


def test_off_unless_asked_for(lazy: MemberProcess) -> None:
    with lazy.connect() as connection:
        assert connection.execute("show sluice.progress").fetchone() == ("0",)
        with pytest.raises(errors.InvalidParameterValue):
            connection.execute("set sluice.progress = -1")
        notices = told(connection)
        connection.execute("set sluice.progress = 0.05")
        connection.execute("set client_min_messages = warning")
        connection.execute("select count(*) from lineitem a, nation b where a.l_comment < b.n_comment")
        assert notices == []


@needs("psql")
def test_psql_shows_them(lazy: MemberProcess, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    with shown.open("w") as output:
        environment = {**os.environ, "PGOPTIONS": "-c sluice.progress=0.2 -c sluice.engine=local"}
        psql = subprocess.Popen(
            ["psql", "-X", lazy.dsn, "-c", ENDLESS], env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            wait_until(lambda: "NOTICE:  progress: running on the local engine for" in shown.read_text())
        finally:
            psql.send_signal(signal.SIGINT)
            psql.wait()

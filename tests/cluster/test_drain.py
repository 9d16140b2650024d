"""A member that is told to shut down while it runs queries, of its own clients and of other members."""

from __future__ import annotations

import select
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.fault_ground import (
    ENDLESS,
    ROWS,
    Ground,
    Running,
    connect,
    participants,
    states,
    suspended,
    wait_clean,
    wait_running,
)
from support.member_process import MemberProcess, wait_until


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(tmp_path, stack)


def refused(member: MemberProcess) -> None:
    """A new client of a member that drains is told so."""
    with pytest.raises(psycopg.OperationalError, match="the database system is shutting down"):
        member.connect()


def wait_told(idle: psycopg.Connection[Any]) -> None:
    """Until the server has said something to a client that asks nothing."""
    assert select.select([idle.fileno()], [], [], 60)[0]


def test_a_member_finishes_what_it_does_for_others(ground: Ground) -> None:
    m1, m2, m3 = ground.three(cluster={"drain_seconds": "60"})
    with connect(m1) as connection, connect(m1) as other:
        connection.execute("begin")
        assert len(list(suspended(connection))) == 10
        wait_running(m2, m3)
        m3.send(signal.SIGTERM)
        wait_until(lambda: states(m1)["m3"] == "draining")
        assert participants(other) == {"m1", "m2"}
        refused(m3)
        assert len(connection.execute("fetch all from c").fetchall()) == ROWS - 10
        connection.execute("commit")
        assert m3.wait() == (0, [])
        wait_until(lambda: states(m1)["m3"] == "left")
        wait_clean(m1, m2)


def test_a_member_finishes_what_its_clients_have_begun(ground: Ground) -> None:
    m1, m2, m3 = ground.three(cluster={"drain_seconds": "60"})
    idle = connect(m1)
    with connect(m1) as connection:
        connection.execute("begin")
        assert len(list(suspended(connection))) == 10
        m1.send(signal.SIGTERM)
        wait_until(lambda: states(m2)["m1"] == "draining")
        wait_told(idle)
        with pytest.raises(psycopg.errors.AdminShutdown):
            idle.execute("select 1")
        refused(m1)
        assert len(connection.execute("fetch all from c").fetchall()) == ROWS - 10
        assert connection.execute("select count(*) from t").fetchone() == (ROWS,)
        connection.execute("commit")
    assert m1.wait() == (0, [])
    wait_clean(m2, m3)


@pytest.mark.long
def test_what_takes_too_long_is_ended(ground: Ground) -> None:
    m1, m2, m3 = ground.three(cluster={"drain_seconds": "1"})
    with connect(m1) as connection:
        running = Running(connection, ENDLESS)
        wait_running(m1, m2, m3)
        m3.send(signal.SIGTERM)
        with pytest.raises(psycopg.Error, match="member m3 ") as caught:
            running.result()
        assert caught.value.sqlstate == "57P01"
        assert m3.wait() == (0, [])
        wait_clean(m1, m2)
        own = Running(connection, ENDLESS)
        wait_running(m1, m2)
        m1.send(signal.SIGTERM)
        with pytest.raises(psycopg.errors.AdminShutdown):
            own.result()
    assert m1.wait() == (0, [])
    wait_clean(m2)

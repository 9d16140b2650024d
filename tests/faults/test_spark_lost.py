"""Spark ends unexpectedly: its JVM is killed under a running query, as the OOM killer would do it.

The member continues. A statement that ran on Spark gets an error that says so, a statement that runs in process is not
affected, and the next query that needs Spark starts it again. (Python workers of executors that are killed:
`tests/spark/test_spark_streams.py`.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from support.fault_ground import Running
from support.member_process import MemberProcess, wait_until
from support.member_state import status, wait_idle
from support.recoveries import Recovery

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]
#: What keeps Spark busy for longer than the test.
ENDLESS = (
    "select count(*) from generate_series(1, 1000000) a(x) join generate_series(1, 1000000) b(y)"
    " on a.x % 10 = b.y % 10 where (a.x::bigint * b.y) % 7 = 3"
)
#: So many statements begin at once, that some are at each of their steps.
_BEGINNING = 16
ON_SPARK = {"options": "-c sluice.engine=spark"}


@pytest.fixture
def member(tmp_path: Path) -> Iterator[MemberProcess]:
    with MemberProcess(tmp_path, "--spark-master", "local[2]", environment={"SLUICE_SPARK__START": "lazy"}) as running:
        yield running
        wait_idle(running)


def jvms(member: MemberProcess) -> list[psutil.Process]:
    return [child for child in psutil.Process(member.pid).children() if child.name() == "java"]


def jvm(member: MemberProcess) -> psutil.Process:
    [found] = jvms(member)
    return found


def streams(member: MemberProcess) -> int:
    return int(status(member)["counters"]["spark"]["streams"])


def test_the_jvm_is_killed_and_comes_again(member: MemberProcess) -> None:
    count = "select count(*) from generate_series(1, 1000)"
    with member.connect(**ON_SPARK) as computing, member.connect(**ON_SPARK) as paging, member.connect() as other:
        paging.execute("begin")
        paging.execute("declare c cursor for select x from generate_series(1, 3000000) a(x)")
        assert len(paging.execute("fetch 10 from c").fetchall()) == 10
        running = Running(computing, ENDLESS)
        wait_until(lambda: streams(member) == 2)
        killed = jvm(member)
        family = [killed, *killed.children(recursive=True)]
        killed.kill()
        fault = Recovery("the JVM is killed")
        with pytest.raises(psycopg.errors.SerializationFailure, match="Spark has ended unexpectedly"):
            running.result()
        fault.reached("told")
        with pytest.raises(psycopg.errors.SerializationFailure):
            paging.execute("fetch all from c").fetchall()
        paging.execute("rollback")
        assert other.execute(count).fetchone() == (1000,)
        _, alive = psutil.wait_procs(family, 30)
        assert alive == []
        wait_until(lambda: status(member)["engines"]["spark"] == "ended")
        assert streams(member) == 0
        descriptors = psutil.Process(member.pid).num_fds()
        fault = Recovery("Spark has ended")
        assert paging.execute(count).fetchone() == computing.execute(count).fetchone() == (1000,)
        fault.reached("the next query answered by a new JVM")
        assert status(member)["engines"]["spark"] == "ready"
        assert psutil.Process(member.pid).num_fds() <= descriptors + 5


@pytest.mark.parametrize("check", ["", " check (n < 1000)"], ids=["Spark writes", "tasks write"])
def test_the_jvm_is_killed_while_it_writes(member: MemberProcess, tmp_path: Path, check: str) -> None:
    with member.connect(**ON_SPARK) as session:
        with member.connect() as local:
            local.execute(f"create table t (k bigint, note text, n int{check})".encode())
            local.execute("create table numbers as select x from generate_series(1::bigint, 1000000) a(x)")
            local.execute("insert into t values (1, 'kept', 1)")
        before = set(tmp_path.glob("tables/**/*.parquet"))
        insert = "insert into t select x, repeat(md5(x::text), 40), 1 from numbers where x <= {}"
        # Spark has started before the wait.
        assert session.execute(insert.format(0).encode()).statusmessage == "INSERT 0 0"
        running = Running(session, insert.format(1_000_000))
        wait_until(lambda: list(tmp_path.glob("tables/*/_staging-*/**/*.parquet")), 120)
        killed = jvm(member)
        family = [killed, *killed.children(recursive=True)]
        killed.kill()
        with pytest.raises(psycopg.errors.SerializationFailure, match="Spark has ended unexpectedly"):
            running.result()
        _, alive = psutil.wait_procs(family, 30)
        assert alive == []
        assert list(tmp_path.glob("tables/*/_staging-*")) == []
        assert set(tmp_path.glob("tables/**/*.parquet")) == before
        assert session.execute("select count(*) from t").fetchone() == (1,)
        assert session.execute(insert.format(1000).encode()).statusmessage == "INSERT 0 1000"
        assert session.execute("select count(*) from t").fetchone() == (1001,)
        session.execute("drop table t, numbers")


def test_the_jvm_is_suspended(tmp_path: Path) -> None:
    environment = {"SLUICE_SPARK__START": "lazy", "SLUICE_SPARK__WAIT_TIMEOUT": "60"}
    with MemberProcess(tmp_path, "--spark-master", "local[1]", environment=environment) as member:
        notices: list[str | None] = []
        with member.connect(**ON_SPARK) as session:
            session.add_notice_handler(lambda notice: notices.append(notice.message_primary))
            count = "select count(*) from generate_series(1, 1000)"
            assert session.execute(count).fetchone() == (1000,)
            running = Running(session, ENDLESS)
            wait_until(lambda: streams(member) == 1)
            suspended = jvm(member)
            suspended.suspend()
            with pytest.raises(psycopg.OperationalError, match="it has waited for Spark for 60 s") as caught:
                running.result(120)
            assert caught.value.sqlstate == "58000"
            assert "waiting for an answer of Spark's driver" in notices
            suspended.wait(30)
            assert session.execute(count).fetchone() == (1000,)
        wait_idle(member)


@pytest.mark.parametrize("step", ["Spark's driver to start", "Spark's master to accept the application"])
def test_the_jvm_is_suspended_while_it_starts(tmp_path: Path, step: str) -> None:
    environment = {"SLUICE_SPARK__START": "lazy", "SLUICE_SPARK__WAIT_TIMEOUT": "10"}
    with MemberProcess(tmp_path, "--spark-master", "local[1]", environment=environment) as member:
        with member.connect(**ON_SPARK) as session:
            suspended = suspend_start(member, session, step)
            suspended.wait(120)
            wait_until(lambda: is_answered(session), 300)
        wait_idle(member)


def test_a_member_stops_while_its_jvm_is_suspended_and_starts(tmp_path: Path) -> None:
    environment = {"SLUICE_SPARK__START": "lazy", "SLUICE_SPARK__WAIT_TIMEOUT": "10"}
    with MemberProcess(tmp_path, "--spark-master", "local[1]", environment=environment) as member:
        with member.connect(**ON_SPARK) as session:
            suspended = suspend_start(member, session, "Spark's driver to start")
        # The member's own loop has not ended it: that takes as long again.
        assert suspended.is_running()


def suspend_start(member: MemberProcess, session: psycopg.Connection[tuple[Any, ...]], step: str) -> psutil.Process:
    """Suspend the JVM in a step of its start. Returns the JVM, when a statement has failed because of it."""
    running = Running(session, "select sum(x) from generate_series(1, 1000) a(x)")

    def is_at_step() -> bool:
        with member.connect() as other:
            waits_for = other.execute("select waits_for from sluice.spark").fetchone()
        return waits_for == (step,) and jvms(member) != []

    wait_until(is_at_step, 120)
    [suspended] = jvms(member)
    suspended.suspend()
    with pytest.raises(psycopg.OperationalError, match="Spark has not started within 10 s") as caught:
        running.result(120)
    assert caught.value.sqlstate == "58000"
    return suspended


def is_answered(session: psycopg.Connection[tuple[Any, ...]]) -> bool:
    """Run a statement. Returns whether it was answered, and not refused because Spark has not started."""
    try:
        return session.execute("select sum(x) from generate_series(1, 1000) a(x)").fetchone() == (500500,)
    except psycopg.OperationalError as error:
        if error.sqlstate != "58000":
            raise
        return False


def test_statements_begin_as_the_jvm_is_killed(member: MemberProcess) -> None:
    """Wherever a statement is when its calls to the JVM are no longer answered, it returns the right answer or an error
    that Spark has ended.
    """
    sums = "select sum(x) from generate_series(1, 1000) a(x)"
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(member.connect(**ON_SPARK)) for _ in range(_BEGINNING)]
        assert connections[0].execute(sums).fetchone() == (500500,)
        beginning = []
        for number, connection in enumerate(connections):
            beginning.append(Running(connection, sums))
            if number == _BEGINNING // 2:
                jvm(member).kill()
        lost = 0
        for running in beginning:
            try:
                assert running.result() == [(500500,)]
            except psycopg.errors.SerializationFailure:
                lost += 1
        assert lost > 0

"""A standalone Spark whose master or workers are gone: statements are told what they wait for, fail with 58000 after
`spark.wait_timeout`, and are answered when the cluster is back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from support.fault_ground import Running
from support.member_process import MemberProcess, wait_until
from support.member_state import status, wait_idle
from support.standalone_spark import StandaloneSpark

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(1200)]

_TIMEOUT: Final = 8
_SUM: Final = b"select sum(x) from generate_series(1, 1000) a(x)"
_ANSWER: Final = (500500,)
#: What keeps Spark busy for longer than the test.
_ENDLESS: Final = (
    "select count(*) from generate_series(1, 1000000) a(x) join generate_series(1, 1000000) b(y)"
    " on a.x % 10 = b.y % 10 where (a.x::bigint * b.y) % 7 = 3"
)


@dataclass
class Session:
    """A session on Spark. notices: those that it has received."""

    connection: psycopg.Connection[tuple[Any, ...]]
    notices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.connection.add_notice_handler(lambda notice: self.notices.append(notice.message_primary or ""))

    def told(self, words: str) -> bool:
        return any(re.search(words, notice) for notice in self.notices)

    def answered(self) -> bool:
        """Run a statement. Returns whether it was answered, and not refused because Spark is not there."""
        try:
            return self.connection.execute(_SUM).fetchone() == _ANSWER
        except psycopg.OperationalError as error:
            if error.sqlstate not in ("58000", "40001"):
                raise
            return False


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneSpark]:
    with StandaloneSpark(tmp_path_factory.mktemp("spark")) as running:
        yield running


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory, spark: StandaloneSpark) -> Iterator[MemberProcess]:
    folder = tmp_path_factory.mktemp("member")
    conf = "\n".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in spark.conf.items())
    (folder / "sluice.toml").write_text(
        f'[spark]\nmaster = "{spark.master}"\ndriver_memory = "600m"\nstart = "lazy"\nwait_timeout = {_TIMEOUT}\n'
        f"[spark.conf]\n{conf}\n"
    )
    with MemberProcess(folder, "--config", str(folder / "sluice.toml"), log=folder / "log") as running:
        yield running
        wait_idle(running)


@pytest.fixture
def session(member: MemberProcess) -> Iterator[Session]:
    with member.connect(options="-c sluice.engine=spark -c statement_timeout=300s") as connection:
        yield Session(connection)


def described(member: MemberProcess) -> tuple[Any, ...]:
    with member.connect() as connection:
        [row] = connection.execute("select state, waits_for, wait_seconds, executors from sluice.spark").fetchall()
        return row


def _run_endlessly(member: MemberProcess, session: Session) -> Running:
    """Return a statement that computes on Spark."""
    wait_until(session.answered, 300)
    running = Running(session.connection, _ENDLESS)
    wait_until(lambda: status(member)["counters"]["spark"]["streams"] == 1)
    return running


def test_a_start_waits_for_a_master_that_is_down(
    spark: StandaloneSpark, member: MemberProcess, session: Session
) -> None:
    if described(member)[0] == "ready":
        spark.remove_applications()
        wait_until(lambda: described(member)[0] == "ended", 60)
    spark.kill_master()
    running = Running(session.connection, _SUM.decode())
    wait_until(lambda: described(member)[0] == "starting" and described(member)[1] is not None, 60)
    assert described(member)[1].startswith("Spark's ")
    with pytest.raises(psycopg.OperationalError, match=f"Spark has not started within {_TIMEOUT} s") as caught:
        running.result()
    assert caught.value.sqlstate == "58000"
    assert (caught.value.diag.message_detail or "").startswith("It is waiting for Spark's ")
    assert session.told("^waiting for Spark to start$")
    assert session.told("^waiting for Spark's (driver|master|first)")
    spark.start_master()
    wait_until(session.answered, 300)
    assert described(member) == ("ready", None, None, 2)


def test_statements_whose_executors_do_not_come_back(
    spark: StandaloneSpark, member: MemberProcess, session: Session
) -> None:
    running = _run_endlessly(member, session)
    spark.kill_workers()
    with pytest.raises(psycopg.OperationalError, match=f"it has waited for Spark for {_TIMEOUT} s") as caught:
        running.result()
    assert caught.value.sqlstate == "58000"
    assert session.told("^waiting for executors, of which Spark has none$")
    assert status(member)["engines"]["spark"] == "ended"
    # The next statement starts an application, for which there are no executors.
    with pytest.raises(psycopg.OperationalError) as caught:
        session.connection.execute(_SUM)
    assert caught.value.sqlstate == "58000"
    spark.start_workers()
    wait_until(session.answered, 300)


def test_an_application_that_is_removed_on_the_page_of_its_master(
    spark: StandaloneSpark, member: MemberProcess, session: Session
) -> None:
    running = _run_endlessly(member, session)
    spark.remove_applications()
    with pytest.raises(psycopg.errors.SerializationFailure, match="Spark's application was stopped"):
        running.result()
    wait_until(lambda: described(member)[0] == "ended", 60)
    wait_until(session.answered, 300)
    # And while nothing runs on it.
    spark.remove_applications()
    wait_until(lambda: described(member)[0] == "ended", 60)
    wait_until(session.answered, 300)
    assert described(member)[:2] == ("ready", None)
    assert member.log is not None
    assert "Spark's application was stopped, as when its master removes it" in Path(member.log).read_text()


def test_an_application_that_its_master_has_forgotten(
    spark: StandaloneSpark, member: MemberProcess, session: Session
) -> None:
    """A master that starts again ends the executors of applications that it does not know. Spark does not notice."""
    wait_until(session.answered, 300)
    spark.kill_master()
    # Executors work without a master.
    assert session.answered()
    spark.start_master()
    wait_until(lambda: described(member)[0] == "ended", 180)
    wait_until(session.answered, 300)
    assert described(member)[:2] == ("ready", None)

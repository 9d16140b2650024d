"""`sluice.fault_policy` as a client sees it, with members that are killed and started again."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from support.fault_ground import (
    ROWS,
    Ground,
    Running,
    connect,
    held,
    mesh_address,
    suspended,
    wait_clean,
    wait_running,
    wait_up,
)
from support.member_process import MemberProcess, wait_until
from support.recoveries import Recovery

QUERY = "select count(*), sum(x) from t"
ANSWER = [(ROWS, ROWS * (ROWS - 1) // 2)]


class Client:
    """A session under a policy, and the notices that it was given."""

    def __init__(self, member: MemberProcess, policy: str) -> None:
        self.notices: list[str] = []
        self.connection: psycopg.Connection[Any] = connect(member)
        self.connection.add_notice_handler(lambda told: self.notices.append(told.message_primary or ""))
        self.connection.execute(sql.SQL("set sluice.fault_policy = {}").format(sql.Literal(policy)))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()


def lose(third: MemberProcess, client: Client, initiator: MemberProcess) -> Running:
    """A query that the third member takes part in, and cannot: it stands still, which nobody notices, and is killed."""
    third.send(signal.SIGSTOP)
    running = Running(client.connection, QUERY)
    wait_running(initiator)
    third.kill()
    return running


@pytest.mark.long
def test_what_each_policy_does(tmp_path: Path) -> None:
    with ExitStack() as stack:
        ground = Ground(tmp_path, stack)
        m1, m2, m3 = ground.three()
        with Client(m1, "spool") as client:
            client.connection.execute("begin")
            assert len(list(suspended(client.connection))) == 10
            wait_until(lambda: not held(m2) and not held(m3))
            assert len(client.connection.execute("fetch all from c").fetchall()) == ROWS - 10
            client.connection.execute("commit")
        wait_clean(m1, m2, m3)
        with Client(m1, "retry") as client:
            running = lose(m3, client, m1)
            fault = Recovery("a participant is killed, sluice.fault_policy = retry")
            assert running.result() == ANSWER
            fault.reached("answered")
            assert client.notices == ["could not complete the query: member m3 was lost; it runs again on m1, m2"]
        wait_clean(m1, m2)
        m3 = ground.start("m3", mesh_address(m1))
        wait_up(m1, m2, m3)
        with Client(m1, "local") as client:
            running = lose(m3, client, m1)
            fault = Recovery("a participant is killed, sluice.fault_policy = local")
            assert running.result() == ANSWER
            fault.reached("answered")
            assert client.notices == [
                "could not complete the query: member m3 was lost; it runs again on member m1 alone"
            ]
        wait_clean(m1, m2)
        m3 = ground.start("m3", mesh_address(m1))
        wait_up(m1, m2, m3)
        with Client(m1, "wait") as client:
            running = lose(m3, client, m1)
            wait_until(lambda: bool(client.notices))
            assert client.notices == ["could not complete the query: member m3 was lost; it waits for m3"]
            fault = Recovery("the member that a query waits for is started")
            m3 = ground.start("m3", mesh_address(m1))
            assert running.result() == ANSWER
            fault.reached("answered")
            client.connection.execute("set statement_timeout = '10s'")
            with pytest.raises(psycopg.errors.QueryCanceled):
                lose(m3, client, m1).result()
        wait_clean(m1, m2)

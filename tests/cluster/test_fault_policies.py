"""`sluice.fault_policy` as a client sees it, with members that are killed and restarted, and connections that are cut."""

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
    ROWS_A_FILE,
    Ground,
    Running,
    Wire,
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


@pytest.mark.parametrize(
    ("order", "expected"),
    [("", range(ROWS)), ("order by x desc", range(ROWS - 1, -1, -1))],
    ids=["unsorted", "sorted"],
)
@pytest.mark.table
def test_wait_goes_on_after_its_data_connections_were_cut(tmp_path: Path, order: str, expected: range) -> None:
    """Rows had been fetched already; then connections are cut again and again, and each row comes once."""
    with ExitStack() as stack:
        ground, wire = Ground(tmp_path, stack), stack.enter_context(Wire())
        m1, m2, m3 = ground.three(wire)
        with Client(m1, "wait") as client:
            connection = client.connection
            connection.execute("begin")
            connection.execute(f"declare c cursor for select x, s from t {order}")
            rows = connection.execute("fetch 10 from c").fetchall()
            # The first rows may be the initiator's own, before the others have connected.
            wait_until(lambda: wire.cut(control=False) > 0)
            while block := connection.execute("fetch 50000 from c").fetchall():
                rows += block
                wire.cut(control=False)
            connection.execute("commit")
            found = [x for x, _ in rows] if order else sorted(x for x, _ in rows)
            assert found == list(expected)
            assert all(s == f"row {x % ROWS_A_FILE:032}" for x, s in rows)
            lost = "a data connection from member m"
            assert any(lost in notice and "goes on" in notice for notice in client.notices), client.notices
        wait_clean(m1, m2, m3)


@pytest.mark.long
def test_wait_ends_with_its_statement_while_data_connections_cannot_be_made(tmp_path: Path) -> None:
    with ExitStack() as stack:
        ground, wire = Ground(tmp_path, stack), stack.enter_context(Wire())
        m1, m2, m3 = ground.three(wire)
        with Client(m1, "wait") as client:
            client.connection.execute("begin")
            assert len(list(suspended(client.connection))) == 10
            # The rows may have been this member's own, read before the others were connected.
            wait_until(lambda: wire.carries_data)
            wire.target = ("127.0.0.1", 1)
            wire.cut(control=False)
            client.connection.execute("set local statement_timeout = '2s'")
            with pytest.raises(psycopg.errors.QueryCanceled):
                client.connection.execute("fetch all from c").fetchall()
            client.connection.execute("rollback")
            wire.target = m1.mesh
        wait_clean(m1, m2, m3)


@pytest.mark.long
def test_wait_says_why_it_cannot_go_on_when_a_member_was_started_again(tmp_path: Path) -> None:
    with ExitStack() as stack:
        ground = Ground(tmp_path, stack)
        m1, m2, m3 = ground.three()
        with Client(m1, "wait") as client:
            client.connection.execute("begin")
            assert len(list(suspended(client.connection))) == 10
            wait_running(m1, m2, m3)
            m3.kill()
            again = ground.start("m3", mesh_address(m1))
            wait_up(m1, m2, again)
            with pytest.raises(psycopg.errors.SerializationFailure) as caught:
                client.connection.execute("fetch all from c").fetchall()
            told = caught.value.diag
            assert told.message_primary == "could not complete the query: member m3 was lost"
            assert "does not run again (sluice.fault_policy is wait)" in (told.message_detail or "")
            assert "between running members" in (told.message_detail or "")
            assert told.message_hint == "The statement may be repeated."
            client.connection.execute("rollback")
            assert client.connection.execute(QUERY).fetchall() == ANSWER
        wait_clean(m1, m2, again)

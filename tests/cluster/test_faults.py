"""The errors that clients receive, and what is left, when a part of a cluster fails while queries run over all of it."""

from __future__ import annotations

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
    STRICT,
    Ground,
    Running,
    Wire,
    connect,
    mesh_address,
    participants,
    states,
    suspended,
    wait_clean,
    wait_running,
    wait_up,
)
from support.member_process import wait_until
from support.recoveries import Recovery

TRANSIENT = ("40001", "57P01")


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(tmp_path, stack)


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire() as relay:
        yield relay


def expect_transient(run: Any, *, names: str = "m3") -> str:
    """`run()` fails with one transient error that names the member; its message."""
    with pytest.raises(psycopg.Error) as caught:
        run()
    assert caught.value.sqlstate in TRANSIENT, caught.value
    assert names in str(caught.value), caught.value
    return str(caught.value)


def expect_usable(connection: psycopg.Connection[Any], *, among: set[str]) -> None:
    """The session goes on, on the members that are left."""
    assert participants(connection) == among
    assert connection.execute("select count(*), sum(x) from t").fetchone() == (ROWS, ROWS * (ROWS - 1) // 2)


def begin_suspended(connection: psycopg.Connection[Any], rows: int = 10) -> None:
    connection.execute("begin")
    assert len(list(suspended(connection, rows))) == rows


# -- a participant ----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_participant_is_killed_while_a_portal_is_suspended_and_takes_part_again(ground: Ground) -> None:
    m1, m2, m3 = ground.three()
    with connect(m1) as connection:
        assert participants(connection) == {"m1", "m2", "m3"}
        begin_suspended(connection)
        wait_running(m2, m3)
        m3.kill()
        fault = Recovery("a participant is killed, a portal suspended")
        expect_transient(lambda: connection.execute("fetch all from c").fetchall())
        fault.reached("told")
        connection.execute("rollback")
        wait_clean(m1, m2)
        expect_usable(connection, among={"m1", "m2"})
        fault.reached("another query answered, nothing left")
        fault = Recovery("it is started again")
        again = ground.start("m3", mesh_address(m2))
        wait_up(m1, m2, again)
        fault.reached("takes part")
        expect_usable(connection, among={"m1", "m2", "m3"})
        wait_clean(m1, m2, again)


def test_a_participant_is_killed_while_it_computes(ground: Ground) -> None:
    m1, m2, m3 = ground.three()
    with connect(m1) as connection:
        running = Running(connection, ENDLESS)
        wait_running(m1, m2, m3)
        m3.kill()
        fault = Recovery("a participant is killed while it computes")
        expect_transient(running.result)
        fault.reached("told")
        wait_clean(m1, m2)
        expect_usable(connection, among={"m1", "m2"})
        fault.reached("another query answered, nothing left")


@pytest.mark.long
def test_a_participant_is_killed_before_it_has_seen_the_start(ground: Ground) -> None:
    """It is stopped when the query begins: the others' streams to it are being opened, and never will be."""
    m1, m2, m3 = ground.three()
    with connect(m1) as connection:
        m3.send(signal.SIGSTOP)
        running = Running(connection, "select x % 1000, count(*) from t group by 1")
        wait_running(m1, m2)
        m3.kill()
        expect_transient(running.result)
        wait_clean(m1, m2)
        expect_usable(connection, among={"m1", "m2"})


@pytest.mark.long
def test_a_participant_is_killed_near_the_last_row(ground: Ground) -> None:
    """Every row or one error; nothing between."""
    m1, m2, m3 = ground.three()
    with connect(m1) as connection:
        begin_suspended(connection, ROWS - 1)
        m3.kill()
        try:
            assert len(connection.execute("fetch all from c").fetchall()) == 1
        except psycopg.Error as error:
            assert error.sqlstate in TRANSIENT  # noqa: PT017 - either end is right
        connection.execute("rollback")
        wait_clean(m1, m2)


@pytest.mark.long
def test_a_participant_is_killed_while_the_query_is_cancelled(ground: Ground) -> None:
    m1, m2, m3 = ground.three()
    with connect(m1) as connection:
        running = Running(connection, ENDLESS)
        wait_running(m1, m2, m3)
        connection.cancel_safe()
        m3.kill()
        with pytest.raises(psycopg.Error) as caught:
            running.result()
        assert caught.value.sqlstate in (*TRANSIENT, "57014")
        wait_clean(m1, m2)
        expect_usable(connection, among={"m1", "m2"})


@pytest.mark.long
def test_a_participant_stands_still_and_goes_on(ground: Ground) -> None:
    m1, m2, m3 = ground.three(cluster=STRICT)
    with connect(m1) as connection:
        begin_suspended(connection)
        wait_running(m2, m3)
        m3.send(signal.SIGSTOP)
        fault = Recovery("a participant stands still (failure_after 5 s)")
        expect_transient(lambda: connection.execute("fetch all from c").fetchall())
        fault.reached("told")
        connection.execute("rollback")
        wait_clean(m1, m2)
        expect_usable(connection, among={"m1", "m2"})
        fault.reached("another query answered, nothing left")
        m3.send(signal.SIGCONT)
        fault = Recovery("it goes on")
        wait_up(m1, m2, m3)
        fault.reached("takes part")
        wait_clean(m1, m2, m3)
        expect_usable(connection, among={"m1", "m2", "m3"})


# -- the initiator ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("computes", [pytest.param(False, marks=pytest.mark.long), True])
def test_the_initiator_is_killed(ground: Ground, computes: bool) -> None:
    m1, m2, m3 = ground.three()
    connection = connect(m1)
    if computes:
        running = Running(connection, ENDLESS)
    else:
        begin_suspended(connection)
    wait_running(m2, m3)
    m1.kill()
    fault = Recovery(f"the initiator is killed while {'all compute' if computes else 'its portal is suspended'}")
    with pytest.raises(psycopg.OperationalError):
        _ = running.result() if computes else connection.execute("fetch all from c")
    fault.reached("told")
    wait_clean(m2, m3)
    fault.reached("nothing left on the others")
    with connect(m2) as connection:
        expect_usable(connection, among={"m2", "m3"})
        again = ground.start("m1", mesh_address(m2))
        wait_up(again, m2, m3)
        expect_usable(connection, among={"m1", "m2", "m3"})


@pytest.mark.long
def test_the_initiator_stands_still_and_goes_on(ground: Ground) -> None:
    m1, m2, m3 = ground.three(cluster=STRICT)
    with connect(m1) as connection:
        begin_suspended(connection)
        wait_running(m2, m3)
        m1.send(signal.SIGSTOP)
        wait_until(lambda: states(m2)["m1"] == "lost" and states(m3)["m1"] == "lost")
        wait_clean(m2, m3)
        m1.send(signal.SIGCONT)
        expect_transient(lambda: connection.execute("fetch all from c").fetchall(), names="m")
        connection.execute("rollback")
        wait_up(m1, m2, m3)
        wait_clean(m1, m2, m3)


# -- connections ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("control", [False, pytest.param(True, marks=pytest.mark.long)])
def test_connections_of_the_initiator_break(ground: Ground, wire: Wire, control: bool) -> None:
    """The connections that carry its rows break, or all of them; the members live on."""
    m1, m2, m3 = ground.three(wire)
    with connect(m1) as connection:
        begin_suspended(connection)
        # The first rows may be the initiator's own, before the others have connected.
        wait_until(lambda: wire.cut(control=control) > 0)
        fault = Recovery(f"{'all' if control else 'data'} connections are reset")
        expect_transient(lambda: connection.execute("fetch all from c").fetchall(), names="member m")
        fault.reached("told")
        connection.execute("rollback")
        wait_up(m1, m2, m3)
        wait_clean(m1, m2, m3)
        expect_usable(connection, among={"m1", "m2", "m3"})
        fault.reached("another query answered by all, nothing left")


@pytest.mark.long
def test_data_connections_that_cannot_be_made(ground: Ground, wire: Wire) -> None:
    """The control connections live, so nobody is lost; the senders cannot reach the receiver."""
    m1, m2, m3 = ground.three(wire)
    wire.target = ("127.0.0.1", 1)
    with connect(m1) as connection:
        running = Running(connection, "select x % 1000, count(*) from t group by 1")
        fault = Recovery("data connections cannot be made")
        # Who could not connect says so, and whoever received from it and is told no more in time says what it lost.
        expect_transient(running.result, names="data connection")
        fault.reached("told")
        wire.target = m1.mesh
        fault = Recovery("data connections can be made again")
        wait_clean(m1, m2, m3)
        expect_usable(connection, among={"m1", "m2", "m3"})
        fault.reached("another query answered by all, nothing left")


# -- clients ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_clients_cancel_run_out_of_time_and_leave(ground: Ground) -> None:
    members = ground.three()
    m1 = members[0]
    with connect(m1) as connection:
        for end in ("cancel", "timeout"):
            if end == "timeout":
                # Long enough to see that all take part.
                connection.execute("set statement_timeout = '10s'")
            running = Running(connection, ENDLESS)
            wait_running(*members)
            if end == "cancel":
                connection.cancel_safe()
            with pytest.raises(psycopg.errors.QueryCanceled):
                running.result()
            wait_clean(*members)
        connection.execute("reset statement_timeout")
        expect_usable(connection, among={"m1", "m2", "m3"})
    gone = connect(m1)
    begin_suspended(gone)
    wait_running(*members)
    gone.close()
    wait_clean(*members)
    other = connect(m1)
    other.pgconn.send_query(ENDLESS.encode())
    wait_running(*members)
    other.close()
    wait_clean(*members)


@pytest.mark.long
def test_many_suspended_portals_hold_up_nobody(ground: Ground) -> None:
    members = ground.three()
    with connect(members[0]) as connection, connect(members[1]) as other:
        connection.execute("begin")
        for number in range(200):
            assert len(list(suspended(connection, name=f"c{number}"))) == 10
        expect_usable(other, among={"m1", "m2", "m3"})
        assert len(other.execute("select x, s from t").fetchall()) == ROWS
        for number in range(0, 200, 40):
            assert len(connection.execute(f"fetch all from c{number}").fetchall()) == ROWS - 10
        connection.execute("commit")
    wait_clean(*members)

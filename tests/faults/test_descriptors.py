"""Clients that use up all file descriptors: connected clients continue, new ones get an error, and the member does not
busy-loop.
"""

from __future__ import annotations

import resource
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import psycopg
import pytest
from support.member_process import MemberProcess, wait_until
from support.member_state import status
from support.recoveries import Recovery

CROWD = 300
STARTUP = struct.pack("!ii", 36, 0x30000) + b"user\0crowd\0database\0sluice\0\0"


@pytest.fixture
def member(tmp_path: Path) -> Iterator[MemberProcess]:
    environment = {"SLUICE_SPARK__START": "lazy"}
    with MemberProcess(tmp_path, environment=environment, log=tmp_path / "log") as running:
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (CROWD, CROWD))
        yield running


def closed(connection: socket.socket) -> bool:
    """Return whether the member has closed its end."""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
        return True
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def crowd_of(member: MemberProcess, opened: ExitStack, said: bytes) -> list[socket.socket]:
    """Open connections that send these bytes and no more."""
    crowd = [opened.enter_context(socket.create_connection((member.host, member.port))) for _ in range(CROWD)]
    for each in crowd:
        with suppress(ConnectionError):
            each.sendall(said)
    return crowd


def refusal(member: MemberProcess) -> str:
    """Return the error that a new client receives."""
    with pytest.raises(psycopg.OperationalError) as refused:
        member.connect()
    return str(refused.value)


def test_a_silent_crowd_gives_way(member: MemberProcess) -> None:
    """A client that identifies itself takes the place of a connection that has not."""
    with ExitStack() as opened:
        crowd = crowd_of(member, opened, b"")
        wait_until(lambda: sum(map(closed, crowd)) > 30)

        def is_let_in() -> bool:
            # While the console's own connection is not closed yet, there may be no descriptor to say anything with.
            with suppress(psycopg.OperationalError), member.connect() as newcomer:
                return newcomer.execute("select 1").fetchone() == (1,)
            return False

        wait_until(is_let_in)
    wait_until(lambda: status(member)["sockets"] == 0)


def test_clients_leave_descriptors_to_those_who_are_there(member: MemberProcess) -> None:
    process = psutil.Process(member.pid)
    with member.connect() as there, ExitStack() as open_:
        there.execute("create table t as select x from generate_series(1, 1000) x")
        crowd = crowd_of(member, open_, STARTUP)
        wait_until(lambda: sum(map(closed, crowd)) > 30)
        assert process.num_fds() < CROWD - 30
        for number in range(5):
            there.execute("insert into t values (%s)", (number,))
            assert there.execute("select count(*) from t").fetchone() == (1001 + number,)
        assert member.log is not None
        assert member.log.read_text().count("file descriptors run short") == 1
        # All that are there have logged in, so that nobody gives way. Another connection may have the last number that says why.
        wait_until(lambda: "too many clients already" in refusal(member))
    fault = Recovery("clients that took all descriptors leave")
    wait_until(lambda: status(member)["sockets"] == 0)
    with member.connect() as after:
        assert after.execute("select count(*) from t").fetchone() == (1005,)
    fault.reached("another one is let in")

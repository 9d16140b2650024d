"""Members as separate processes: what each knows of the others when one is killed, paused or restarted, or does not
belong to the cluster.
"""

from __future__ import annotations

import json
import signal
import socket
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.member_process import MemberProcess, wait_until

from wire.mesh.control_messages import Hello, Identity, decode, encode
from wire.mesh.framing import PREFACE, FrameReader
from wire.mesh.messages import VERSION

Start = Callable[..., MemberProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start(name, seed)`: a member without Spark, which ends with the test. more: keys of the cluster section."""
    with ExitStack() as stack:

        def begin(name: str, /, *seeds: MemberProcess, folder: str = "", **more: str) -> MemberProcess:
            cluster = {
                "seeds": ",".join(f"127.0.0.1:{seed.mesh[1]}" for seed in seeds),
                "secret": "for the tests only", "heartbeat": "0.1", "failure_after": "5", **more,
            }  # fmt: skip
            environment = {f"SLUICE_CLUSTER__{key.upper()}": value for key, value in cluster.items() if value}
            environment |= {"SLUICE_MEMBER": name, "SLUICE_SPARK__START": "lazy"}
            data = tmp_path / (folder or name)
            data.mkdir()
            return stack.enter_context(MemberProcess(data, environment=environment, log=data / "log"))

        yield begin


def members(member: MemberProcess) -> dict[str, tuple[Any, ...]]:
    """Return a member's view of the cluster: one row for each id."""
    with member.connect() as connection:
        rows = connection.execute("select * from sluice.members order by id").fetchall()
    return {row[0]: row for row in rows}


def states(member: MemberProcess) -> dict[str, str]:
    return {name: row[4] for name, row in members(member).items()}


def wait_states(member: MemberProcess, **expected: str) -> None:
    wait_until(lambda: states(member) == expected)


def wait_up(*together: MemberProcess) -> None:
    for member in together:
        wait_until(lambda m=member: list(states(m).values()) == ["up"] * len(together))


def mesh_sockets(member: MemberProcess) -> list[Any]:
    """The member's sockets to others, and to those who connected to its mesh port."""
    own = {int(member.ready[key].rpartition(":")[2]) for key in ("listen",)} | {
        int(member.ready["console"].rstrip("/").rpartition(":")[2])
    }
    return [
        c
        for c in psutil.Process(member.pid).net_connections("tcp")
        if c.status != psutil.CONN_LISTEN and c.laddr.port not in own
    ]


def log_of(member: MemberProcess) -> str:
    assert member.log is not None
    return member.log.read_text()


@pytest.mark.long
def test_three_members_of_which_one_is_killed_stopped_and_started_again(start: Start) -> None:
    m1 = start("m1")
    assert states(m1) == {"m1": "up"}
    m2 = start("m2", m1)
    m3 = start("m3", m1, role="lite", advertise_client="db.example:5432")
    wait_up(m1, m2, m3)
    row = members(m2)["m3"]
    assert row[1:4] == (f"127.0.0.1:{m3.mesh[1]}", "db.example:5432", "lite")
    assert row[8] is False
    assert members(m3)["m3"][8] is True
    with urllib.request.urlopen(m1.ready["console"] + "status", timeout=30) as answer:
        assert [m["id"] for m in json.load(answer)["members"]] == ["m1", "m2", "m3"]
    assert [len(mesh_sockets(m)) for m in (m1, m2, m3)] == [2, 2, 2]

    m3.send(signal.SIGSTOP)
    wait_states(m1, m1="up", m2="up", m3="lost")
    wait_states(m2, m1="up", m2="up", m3="lost")
    m3.send(signal.SIGCONT)
    wait_up(m1, m2, m3)
    assert members(m1)["m3"][7] == row[7]

    m3.kill()
    wait_states(m1, m1="up", m2="up", m3="lost")
    again = start("m3", m2, folder="m3-again")
    wait_up(m1, m2, again)
    assert members(m1)["m3"][7] != row[7]
    assert again.stop() == (0, [])
    wait_states(m1, m1="up", m2="up", m3="left")
    wait_until(lambda: [len(mesh_sockets(m)) for m in (m1, m2)] == [1, 1])


@pytest.mark.long
def test_lost_members_are_forgotten_and_draining_ones_leave(start: Start) -> None:
    m1 = start("m1", forget_after="1")
    m2 = start("m2", m1)
    m3 = start("m3", m1)
    wait_up(m1, m2, m3)
    m2.kill()
    wait_states(m1, m1="up", m3="up")
    # A transaction that is open keeps it a moment longer.
    with m3.connect(autocommit=False) as connection:
        connection.execute("select 1")
        m3.send(signal.SIGTERM)
        wait_until(lambda: states(m1).get("m3") in ("draining", "left", None))
    wait_states(m1, m1="up")
    # At the very end a second signal, which ends what is still there, would be no signal to leave.
    assert m3.wait() == (0, [])


@pytest.mark.long
def test_who_does_not_belong_is_refused_and_disturbs_nobody(start: Start) -> None:
    m1 = start("m1")
    m2 = start("m2", m1)
    wait_up(m1, m2)
    other = start("m3", m1, secret="a guess")
    elsewhere = start("m4", m1, name="another cluster")
    namesake = start("m2", m1, folder="m2-namesake")
    for member, told in (
        (other, "we are refused (secret)"),
        (elsewhere, "we are refused (cluster)"),
        (namesake, "we are refused (name)"),
    ):
        wait_until(lambda m=member, t=told: t in log_of(m))
        assert list(states(member).values()) == ["up"]
    wait_until(lambda: 'the name "m2"' in log_of(m1))
    assert "m3 does not know the secret of cluster sluice" in log_of(m1)
    assert "m4 belongs to cluster another cluster, this member to sluice" in log_of(m1)

    for said in (
        b"GET / HTTP/1.1\r\n\r\n",
        PREFACE + b"\xff" * 1000,
        PREFACE + b"\0\x40\xff\xff\0\0\0\0",
        b"\0" * 70_000,
    ):
        with socket.create_connection(m1.mesh, timeout=30) as stranger:
            stranger.sendall(said)
            assert _to_the_end(stranger) == b""
    with socket.create_connection(m1.mesh, timeout=30) as stranger:
        future = Identity("m9", "1", "127.0.0.1:1", "127.0.0.1:2", "data", "9")
        stranger.sendall(PREFACE + encode(Hello(VERSION + 1, "sluice", b"n" * 32, future)))
        [answer] = FrameReader(preface=False).feed(_to_the_end(stranger))
        goodbye = decode(answer.kind, answer.header)
        assert f"m9 speaks version {VERSION + 1} of the protocol, this member {VERSION}" in str(goodbye)
    assert "m9 speaks version" in log_of(m1)

    wait_up(m1, m2)
    assert " is lost" not in log_of(m1) + log_of(m2)


def _to_the_end(connection: socket.socket) -> bytes:
    said = b""
    try:
        while more := connection.recv(1 << 16):
            said += more
    except ConnectionResetError:
        pass
    return said


def test_the_schema_sluice_is_nobodys(start: Start) -> None:
    m1 = start("m1")
    with m1.connect() as connection:
        for statement, told in (
            ("create schema sluice", 'schema "sluice" already exists'),
            ("create view sluice.v as select 1", 'schema "sluice" does not exist'),
            ("select * from members", 'relation "members" does not exist'),
            ("select * from sluice.nothing", 'relation "sluice.nothing" does not exist'),
        ):
            with pytest.raises(Exception, match=told):
                connection.execute(statement)
        connection.execute("set search_path = sluice")
        assert connection.execute("select id, is_local from members").fetchall() == [("m1", True)]
        found = connection.execute(
            "select relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where nspname = 'sluice' order by 1"
        ).fetchall()
        assert {("members",), ("queries",), ("tables",)} <= set(found)
        assert connection.execute("select 'sluice.members'::regclass::oid").fetchall() == [(15_901,)]

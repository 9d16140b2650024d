"""Clients that begin and do not continue: a startup packet byte by byte, a TLS handshake that never ends, half a Bind,
hundreds of portals that nobody reads. Each costs the member one socket, for a limited time, and does not affect other
clients.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest
from support.certificates import Authority
from support.member_process import MemberProcess, wait_until
from support.member_state import in_use, status

#: A hundred times their text is 660 MB, which the member is not to hold.
ROWS = 60_000
SSL_REQUEST = struct.pack("!II", 8, 80877103)


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemberProcess]:
    """A member that gives clients five seconds to log in."""
    folder = tmp_path_factory.mktemp("slow")
    tls = Authority(folder / "authority").issue("m1", names="IP:127.0.0.1")
    environment = {
        "SLUICE_SPARK__START": "lazy", "SLUICE_AUTHENTICATION_TIMEOUT": "5",
        "SLUICE_CLIENT_INPUT_MB": "16",
        "SLUICE_TLS__CERTIFICATE": tls.certificate, "SLUICE_TLS__KEY": tls.key,
    }  # fmt: skip
    with MemberProcess(folder / "data", environment=environment) as running:
        with running.connect() as connection:
            connection.execute(
                f"create table t as select x, repeat('x', 100) s from generate_series(1, {ROWS}) x".encode()
            )
        yield running


@pytest.fixture(autouse=True)
def nothing_left(member: MemberProcess) -> Iterator[None]:
    yield
    wait_until(lambda: set(in_use(member)) == {"tables.stored"})


def plain(member: MemberProcess) -> socket.socket:
    return socket.create_connection((member.host, member.port), timeout=60)


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def startup() -> bytes:
    body = struct.pack("!I", 0x30000) + b"user\0tester\0database\0sluice\0\0"
    return struct.pack("!I", len(body) + 4) + body


def read_until(connection: socket.socket, end: bytes) -> bytes:
    told = b""
    while not told.endswith(end) and (part := connection.recv(65536)):
        told += part
    return told


def read_all(connection: socket.socket) -> bytes:
    """Return all bytes until the member closes the connection."""
    told = b""
    while part := connection.recv(65536):
        told += part
    return told


def assert_alive(member: MemberProcess) -> None:
    with member.connect() as neighbour:
        assert neighbour.execute("select count(*) from t").fetchone() == (ROWS,)


def test_startup_packets_and_tls_handshakes_that_never_end(member: MemberProcess) -> None:
    """All clients run at the same time, because each waits for its timeout."""
    with ExitStack() as open_:
        for number in range(50):
            connection = open_.enter_context(plain(member))
            connection.sendall(SSL_REQUEST)
            assert connection.recv(1) == b"S"
            if number % 2:
                incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                hello = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="m1")
                with pytest.raises(ssl.SSLWantReadError):
                    hello.do_handshake()
                connection.sendall(outgoing.read()[:-1])
        slow = [open_.enter_context(plain(member)) for _ in range(50)]
        for byte in startup()[:-1]:
            for connection in slow:
                connection.sendall(bytes([byte]))
        assert_alive(member)
        for connection in slow:
            assert b"57014" in read_all(connection)
        wait_until(lambda: status(member)["sockets"] == 0)


def test_half_a_bind(member: MemberProcess) -> None:
    """There is no time limit, as in PostgreSQL: the session can be terminated, and costs others nothing while it waits."""
    with plain(member) as connection:
        connection.sendall(startup())
        assert read_until(connection, b"Z\0\0\0\5I")
        bind = message(b"B", b"\0\0\0\0\0\1" + struct.pack("!I", 1 << 20) + bytes(1 << 20) + b"\0\0")
        connection.sendall(message(b"P", b"\0select $1::text\0\0\0") + bind[: len(bind) // 2])
        assert_alive(member)
        with member.connect() as neighbour:
            [(pid,)] = neighbour.execute(
                "select pid from pg_stat_activity where pid <> pg_backend_pid() and usename = 'tester'"
            ).fetchall()
            assert neighbour.execute("select pg_terminate_backend(%s::int4)", (pid,)).fetchone() == (True,)
        assert b"57P01" in read_all(connection)


def test_halves_of_long_messages_by_many(member: MemberProcess) -> None:
    """Together the messages hold no more than `client_input_mb`. Beyond it, a client whose message still grows gets an
    error, and its session continues.
    """
    size = 8 << 20
    query = message(b"Q", b"select length('" + b"x" * size + b"')\0")
    with ExitStack() as open_:
        halves = [open_.enter_context(plain(member)) for _ in range(12)]
        for connection in halves:
            connection.sendall(startup())
            assert read_until(connection, b"Z\0\0\0\5I")
        process = psutil.Process(member.pid)
        before = process.memory_info().rss
        for connection in halves:
            connection.sendall(query[: size - 100])
        assert_alive(member)
        assert process.memory_info().rss - before < 60 << 20, "of 96 MB"
        told = list[bytes]()
        for connection in halves:
            connection.sendall(query[size - 100 :])
            told.append(read_until(connection, b"Z\0\0\0\5I"))
        refused = [text for text in told if b"C53200\0" in text]
        assert 0 < len(refused) < len(halves)
        assert sum(str(size).encode() in text for text in told) == len(halves) - len(refused)
        for connection in halves:
            connection.sendall(message(b"Q", b"select 7\0"))
            assert b"7" in read_until(connection, b"Z\0\0\0\5I")


def test_a_hundred_portals_of_a_client_that_does_not_read(member: MemberProcess) -> None:
    """The client has requested all rows of all portals at once; the member holds a page of one, and continues when the
    client reads.
    """
    portals = 100
    with plain(member) as connection:
        connection.sendall(startup())
        assert read_until(connection, b"Z\0\0\0\5I")
        connection.sendall(message(b"Q", b"begin\0"))
        assert read_until(connection, b"Z\0\0\0\5T")
        names = [f"p{number}".encode() for number in range(portals)]
        opened = message(b"P", b"s\0select x, s from t\0\0\0")
        for name in names:
            opened += message(b"B", name + b"\0s\0\0\0\0\0\0\0") + message(b"E", name + b"\0" + struct.pack("!I", 1))
        connection.sendall(opened + message(b"S"))
        told = read_until(connection, b"Z\0\0\0\5T")
        assert told.count(b"s\0\0\0\4") == portals
        process = psutil.Process(member.pid)
        before = process.memory_info().rss
        rest = b"".join(message(b"E", name + b"\0\0\0\0\0") for name in names)
        connection.sendall(rest + message(b"S"))
        assert connection.recv(1000)
        for _ in range(10):
            assert_alive(member)
        assert process.memory_info().rss - before < 200 << 20
        ended, last = 0, b""
        while not last.endswith(b"Z\0\0\0\5T"):
            part = connection.recv(1 << 20)
            assert part
            ended += (last + part).count(b"SELECT %d\0" % (ROWS - 1)) - last.count(b"SELECT %d\0" % (ROWS - 1))
            last = (last + part)[-64:]
        assert ended == portals


def test_many_large_results_that_nobody_reads(member: MemberProcess) -> None:
    """Each result costs a page of rows and of encoded output, and the rows that DuckDB computes ahead; the pages of all
    results share a limit.
    """
    clients = 40
    query = message(b"Q", b"select g, repeat('x', 200) from generate_series(1, 2000000) g\0")
    with ExitStack() as open_:
        readers = [open_.enter_context(plain(member)) for _ in range(clients)]
        for connection in readers:
            connection.sendall(startup())
            assert read_until(connection, b"Z\0\0\0\5I")
        process = psutil.Process(member.pid)
        before = process.memory_info().rss
        for connection in readers:
            connection.sendall(query)
        for connection in readers:
            assert connection.recv(1000)
        # Every one of them has a page that waits for its client.
        wait_until(lambda: status(member)["counters"]["clients"]["output_bytes"] >= clients * (64 << 10))
        assert_alive(member)
        assert status(member)["counters"]["clients"]["output_bytes"] <= 80 << 20
        assert process.memory_info().rss - before < clients * 10 << 20

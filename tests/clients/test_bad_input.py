"""Invalid input, and clients that come in crowds, stay silent or vanish: the member continues, and holds nothing of
them.

`nothing_left` in conftest.py asserts after every test that nothing is held.
"""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil
import psycopg
import pytest
from support.member_process import MemberProcess, wait_until
from support.member_state import client_sockets, status

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
ENDLESS = "select count(*) from lineitem a, lineitem b where a.l_comment < b.l_comment"
READY = b"Z\0\0\0\5I"
ME = {"user": "tester", "database": "sluice"}


@contextmanager
def plain(member: MemberProcess) -> Iterator[socket.socket]:
    """A socket to the member that has said nothing yet."""
    with socket.create_connection((member.host, member.port), timeout=60) as connection:
        yield connection


@contextmanager
def started(member: MemberProcess, **options: str) -> Iterator[socket.socket]:
    """A socket whose session is ready."""
    with plain(member) as connection:
        connection.sendall(startup({**ME, **options}))
        assert read_until(connection, READY).endswith(READY)
        yield connection


def startup(options: dict[str, str], version: int = 0x30000) -> bytes:
    words = b"".join(f"{name}\0{value}\0".encode() for name, value in options.items())
    body = struct.pack("!I", version) + words + b"\0"
    return struct.pack("!I", len(body) + 4) + body


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def query(sql: str) -> bytes:
    return message(b"Q", sql.encode() + b"\0")


def parse(sql: str) -> bytes:
    return message(b"P", b"\0" + sql.encode() + b"\0\0\0")


BIND = message(b"B", b"\0\0\0\0\0\0\0\0")
SYNC = message(b"S")


def execute(rows: int = 0, portal: str = "") -> bytes:
    return message(b"E", portal.encode() + b"\0" + struct.pack("!I", rows))


def read_until(connection: socket.socket, end: bytes) -> bytes:
    """Everything until `end` came or the member closed the connection."""
    told = b""
    while not told.endswith(end):
        part = connection.recv(65536)
        if not part:
            break
        told += part
    return told


def last_words(connection: socket.socket) -> bytes:
    """Return the messages before the next ReadyForQuery; all others are read and dropped."""
    told = b""
    while not told.endswith(READY) and (part := connection.recv(1 << 20)):
        told = (told + part)[-100:]
    return told


def read_all(connection: socket.socket) -> bytes:
    """Everything until the member closes the connection."""
    told = b""
    try:
        while part := connection.recv(65536):
            told += part
    except ConnectionResetError:
        pass
    return told


def assert_alive(member: MemberProcess) -> None:
    with member.connect() as connection:
        assert connection.execute("select count(*) from nation").fetchone() == (25,)


# -- bytes that are no protocol --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_first(member: MemberProcess, seed: int) -> None:
    chance = random.Random(seed)
    with plain(member) as connection:
        connection.sendall(chance.randbytes(chance.choice((1, 4, 8, 100, 5000))))
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)
    assert_alive(member)


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_in_a_session(member: MemberProcess, seed: int) -> None:
    chance = random.Random(seed)
    with started(member) as connection:
        connection.sendall(chance.randbytes(chance.choice((5, 100, 5000))))
        connection.shutdown(socket.SHUT_WR)
        read_all(connection)
    assert_alive(member)


@pytest.mark.parametrize("seed", range(20))
def test_random_bodies_of_real_messages(member: MemberProcess, seed: int) -> None:
    chance = random.Random(seed)
    with started(member) as connection:
        for _ in range(20):
            kind = chance.choice([b"Q", b"P", b"B", b"D", b"E", b"C", b"H", b"S", b"d", b"c", b"f", b"F", b"p"])
            try:
                connection.sendall(message(kind, chance.randbytes(chance.choice((0, 1, 8, 60)))))
            except (BrokenPipeError, ConnectionResetError):
                break
        else:
            connection.shutdown(socket.SHUT_WR)
        read_all(connection)
    assert_alive(member)


@pytest.mark.parametrize("length", [0, 3, 0x7FFFFFFF, 0xFFFFFFFF, 0x40000000])
@pytest.mark.parametrize("kind", [b"", b"Q", b"B", b"d"], ids=["startup", "query", "bind", "copy data"])
def test_absurd_lengths(member: MemberProcess, kind: bytes, length: int) -> None:
    """Refused at once, without waiting for what the length promises and without keeping room for it."""
    before = psutil.Process(member.pid).memory_info().rss
    with started(member) if kind else plain(member) as connection:
        connection.sendall(kind + struct.pack("!I", length) + b"x" * 10)
        told = read_all(connection)
    assert not told or (told[:1] == b"E" and b"08P01" in told)
    assert psutil.Process(member.pid).memory_info().rss - before < 100 << 20
    assert_alive(member)


def test_messages_cut_anywhere(member: MemberProcess) -> None:
    whole = startup(ME) + parse("select 1") + BIND + execute() + SYNC
    for end in range(0, len(whole), 5):
        with plain(member) as connection:
            connection.sendall(whole[:end])
            connection.shutdown(socket.SHUT_WR)
            read_all(connection)
    assert_alive(member)


def test_a_session_byte_by_byte(member: MemberProcess) -> None:
    with plain(member) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in startup(ME) + query("select 'slowly'") + message(b"X"):
            connection.sendall(bytes([byte]))
        assert b"slowly" in read_all(connection)


def test_messages_out_of_order(member: MemberProcess) -> None:
    """A message without a statement or portal to act on is an error until Sync; the session continues."""
    with started(member) as connection:
        for sent, state in (
            (execute(), b"34000"),
            (message(b"B", b"\0none\0\0\0\0\0\0\0"), b"26000"),
            (message(b"D", b"Snone\0"), b"26000"),
            (message(b"D", b"Pnone\0"), b"34000"),
        ):
            connection.sendall(sent + parse("select 1") + BIND + execute() + SYNC)
            told = read_until(connection, READY)
            assert state in told
            assert b"SELECT" not in told
        connection.sendall(message(b"C", b"Snone\0") + message(b"C", b"Pnone\0") + SYNC)
        assert read_until(connection, READY) == b"3\0\0\0\4" * 2 + READY
        connection.sendall(query("select 1"))
        assert b"SELECT 1\0" in read_until(connection, READY)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"user": "tester", "database": "elsewhere"}, b'database "elsewhere" does not exist'),
        ({"database": "sluice"}, b"no PostgreSQL user name"),
        ({"user": "tester", "database": "sluice", "replication": "true"}, b"0A000"),
        ({"user": "tester", "database": "sluice", "client_encoding": "none"}, b"22023"),
        ({"user": "tester", "database": "sluice", "options": "-c"}, b"42601"),
    ],
)
def test_startups_that_are_refused(member: MemberProcess, options: dict[str, str], told: bytes) -> None:
    with plain(member) as connection:
        connection.sendall(startup(options))
        answer = read_all(connection)
    assert b"FATAL" in answer
    assert b"Z\0\0\0\5" not in answer
    assert told in answer


def test_old_protocols_are_refused(member: MemberProcess) -> None:
    with plain(member) as connection:
        connection.sendall(startup(ME, version=0x20000))
        assert b"0A000" in read_all(connection)


def test_a_cancel_with_a_wrong_key(member: MemberProcess) -> None:
    with started(member) as session:
        for body in (struct.pack("!II", 1, 1), b"", b"x" * 300):
            with plain(member) as connection:
                connection.sendall(struct.pack("!II", len(body) + 8, 80877102) + body)
                connection.shutdown(socket.SHUT_WR)
                told = read_all(connection)
            assert told == b"" or len(body) != 8
        session.sendall(query("select 1"))
        assert b"SELECT 1\0" in read_until(session, READY)


# -- crowds ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_thousands_of_statements_on_one_connection(member: MemberProcess) -> None:
    """In pipelines of five hundred; the member's memory does not follow their number."""
    process = psutil.Process(member.pid)
    with member.connect() as connection:
        sizes = []
        for batch in range(12):
            with connection.pipeline():
                cursors = [connection.execute("select %s::int4", (batch * 500 + n,)) for n in range(500)]
                assert [cursor.fetchone() for cursor in cursors] == [(batch * 500 + n,) for n in range(500)]
            sizes.append(process.memory_info().rss)
        assert sizes[-1] - sizes[4] < 50 << 20


def test_two_hundred_connections_at_once(member: MemberProcess) -> None:
    threads = psutil.Process(member.pid).num_threads()
    with ExitStack() as open_:
        connections = [open_.enter_context(member.connect()) for _ in range(200)]
        assert len(client_sockets(member)) == len(status(member)["connections"]) == 200
        for number, connection in enumerate(connections):
            assert connection.execute("select %s::int4", (number,)).fetchone() == (number,)
        assert psutil.Process(member.pid).num_threads() <= threads + 40
    wait_until(lambda: not client_sockets(member))


def test_connections_that_say_nothing(member: MemberProcess) -> None:
    with ExitStack() as open_:
        for _ in range(50):
            open_.enter_context(plain(member))
        assert_alive(member)


def test_connections_that_come_and_go(member: MemberProcess) -> None:
    for _ in range(200):
        with plain(member) as connection:
            connection.sendall(startup(ME) + query("select 1"))
    assert_alive(member)


# -- clients that vanish ---------------------------------------------------------------------------------------------


def vanish(connection: socket.socket) -> None:
    """End with a reset, as a machine that was switched off and on again does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def spark_streams(member: MemberProcess) -> int:
    return int(status(member)["counters"]["spark"]["streams"])


SPARK = {"sluice.engine": "spark"}


def test_gone_while_spark_computes(member: MemberProcess) -> None:
    with started(member, **SPARK) as connection:
        connection.sendall(query(ENDLESS))
        wait_until(lambda: spark_streams(member) == 1)
        vanish(connection)
        wait_until(lambda: spark_streams(member) == 0)


def test_gone_in_the_middle_of_rows(member: MemberProcess) -> None:
    with started(member, **SPARK) as connection:
        connection.sendall(query("select * from lineitem"))
        assert connection.recv(100_000)
        vanish(connection)
        wait_until(lambda: spark_streams(member) == 0)


def test_gone_with_suspended_portals(member: MemberProcess) -> None:
    with started(member, **SPARK) as connection:
        connection.sendall(query("begin"))
        read_until(connection, b"Z\0\0\0\5T")
        for number in range(3):
            portal = f"p{number}".encode()
            bind = message(b"B", portal + b"\0\0\0\0\0\0\0\0")
            connection.sendall(parse("select * from lineitem") + bind + execute(10, portal.decode()) + SYNC)
            assert b"s\0\0\0\4" in read_until(connection, b"Z\0\0\0\5T")
        assert spark_streams(member) == 3
        vanish(connection)
        wait_until(lambda: spark_streams(member) == 0)


def test_a_client_that_does_not_read(member: MemberProcess) -> None:
    """The member holds a window of the result, not the result, and serves the others meanwhile."""
    process = psutil.Process(member.pid)
    with started(member, **SPARK) as connection:
        before = process.memory_info().rss
        connection.sendall(query("select * from lineitem"))
        assert connection.recv(1000)
        for _ in range(10):
            assert_alive(member)
        assert process.memory_info().rss - before < 200 << 20
        assert b"SELECT 600572\0" in last_words(connection)


def test_several_suspended_portals_go_on(member: MemberProcess) -> None:
    """Each over a Spark query of its own, in one session, executed in turns to their ends."""
    with started(member, **SPARK) as connection:
        connection.sendall(query("begin"))
        read_until(connection, b"Z\0\0\0\5T")
        portals = [f"p{number}" for number in range(3)]
        for portal in portals:
            bind = message(b"B", portal.encode() + b"\0\0\0\0\0\0\0\0")
            connection.sendall(parse("select o_orderkey from orders") + bind + SYNC)
            read_until(connection, b"Z\0\0\0\5T")
        rows = dict.fromkeys(portals, 0)
        ended: set[str] = set()
        while len(ended) < len(portals):
            for portal in set(portals) - ended:
                connection.sendall(execute(20_000, portal) + SYNC)
                told = read_until(connection, b"Z\0\0\0\5T")
                rows[portal] += told.count(b"D\0\0\0")
                if b"SELECT " in told[-30:]:
                    ended.add(portal)
        assert spark_streams(member) == 0
        assert set(rows.values()) == {150_000}
        connection.sendall(query("commit"))
        read_until(connection, READY)


def test_a_broken_statement_among_good_sessions(member: MemberProcess) -> None:
    """An error of one session is nobody else's."""
    with member.connect() as good, started(member) as bad:
        bad.sendall(query("select 1/0") + query("select nothing") + message(b"Q", b"\xff\xfe\0"))
        bad.sendall(message(b"?", b"what"))
        assert b"08P01" in read_all(bad)
        assert good.execute("select 1").fetchone() == (1,)
        assert good.info.status is psycopg.pq.ConnStatus.OK

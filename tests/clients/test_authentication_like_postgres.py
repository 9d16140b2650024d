"""Authentication compared with PostgreSQL 15: who is admitted, and the errors for everybody else, with the same rules,
roles and certificates.

Messages are compared as libpq shows them, and as bytes where a client violates the protocol.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.certificates import Authority
from support.local_member import local_member
from support.postgres_server import PostgresServer

from engine.exchange.mesh_tls import TlsFiles
from server.auth.client_tls import ClientTls, ClientTlsFiles
from server.auth.gate import Access
from server.auth.hba import parse

pytestmark = pytest.mark.postgres

_RULES = """
# the one who makes the roles
host      all     postgres    127.0.0.1/32   trust
hostssl   all     carol       all            cert
hostssl   all     dave        all            scram-sha-256   clientcert=verify-full
hostssl   all     only_tls    all            scram-sha-256
hostnossl all     in_clear    all            password
hostssl   all     said        all            password
host      all     "refused"   all            reject
host      all     old         all            md5
host      all     +staff      samehost       trust
host      sluice  all         127.0.0.0 255.0.0.0   scram-sha-256
"""
_ROLES = (
    "create role staff",
    "create role ann login password 'right'",
    "create role nopass login",
    "create role expired login password 'right' valid until '2001-01-01'",
    "create role nologin password 'right'",
    "create role few login password 'right' connection limit 0",
    "create role bi login in role staff",
    "create role carol login",
    "create role dave login password 'right'",
    "create role only_tls login password 'right'",
    "create role in_clear login password 'right'",
    "create role said login password 'right'",
    "create role refused login password 'right'",
    "create role old login",
    "set password_encryption = 'md5'",
    "alter role old password 'right'",
    "reset password_encryption",
    "create role old2 login in role staff nosuperuser",
    'create role "MiXed" login password \'p" \u00e4\'',
)


@dataclass(frozen=True)
class Ground:
    """ours, theirs: ports. carol: a client's certificate; stranger: one that somebody else has signed."""

    ours: int
    theirs: int
    authority: str
    carol: TlsFiles
    stranger: TlsFiles


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory, postgres_packages: None) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("authentication")
    authority = Authority(folder / "authority")
    shown = authority.issue("localhost", names="DNS:localhost,IP:127.0.0.1")
    files = ClientTlsFiles(shown.certificate, shown.key, shown.authority)
    access = Access(rules=parse(_RULES, "rules"), tls=ClientTls.read(files))
    with ExitStack() as stack:
        member = stack.enter_context(local_member(folder / "data", access))
        server = stack.enter_context(PostgresServer())
        stack.enter_context(server.database("sluice"))
        _configure(server, shown)
        for port in (member.port, server.port):
            with psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=sluice", autocommit=True) as admin:
                for statement in _ROLES:
                    admin.execute(statement.encode())
        stranger = Authority(folder / "stranger").issue("carol")
        yield Ground(member.port, server.port, shown.authority, authority.issue("carol"), stranger)


def _configure(server: PostgresServer, shown: TlsFiles) -> None:
    for name, path in (("server.crt", shown.certificate), ("server.key", shown.key), ("root.crt", shown.authority)):
        server.give(name, Path(path).read_text())
    server.give("pg_hba.conf", _RULES)
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("alter system set ssl = on")
        admin.execute("alter system set ssl_ca_file = 'root.crt'")
        admin.execute("select pg_reload_conf()")
    # New connections are under the new rules once the postmaster has read them; it says so to whoever asks it.
    for _ in range(200):
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            if admin.pgconn.ssl_in_use:
                return
    raise AssertionError("PostgreSQL did not begin to offer TLS")


def _connect(port: int, **parameters: Any) -> str:
    """Return the result of a connection attempt: the user, or the error."""
    asked = {"host": "127.0.0.1", "port": port, "dbname": "sluice", "gssencmode": "disable", **parameters}
    try:
        with psycopg.connect(**asked) as connection:
            row = connection.execute("select session_user, current_user, 1").fetchone()
            return f"{row} tls={bool(connection.pgconn.ssl_in_use)}"
    except psycopg.OperationalError as error:
        return re.sub(r"port \d+", "port N", str(error))


def _certificate(files: TlsFiles) -> dict[str, str]:
    return {"sslcert": files.certificate, "sslkey": files.key, "sslmode": "require"}


_CLEAR = {"sslmode": "disable"}
_TLS = {"sslmode": "require"}
CASES: list[dict[str, Any]] = [
    {"user": "ann", "password": "right", **_CLEAR},
    {"user": "ann", "password": "wrong", **_CLEAR},
    {"user": "ann", **_CLEAR},
    {"user": "ann", "password": "right", **_TLS},
    {"user": "ann", "password": "wrong", **_TLS},
    {"user": "ann", "password": "right", **_TLS, "channel_binding": "require"},
    {"user": "ann", "password": "right", **_TLS, "channel_binding": "disable"},
    {"user": "ann", "password": "right", **_CLEAR, "channel_binding": "require"},
    {"user": "ann", "password": "right", "dbname": "other", **_CLEAR},
    {"user": "nobody", "password": "right", **_CLEAR},
    {"user": "nobody", "password": "right", **_TLS, "channel_binding": "require"},
    {"user": "nopass", "password": "right", **_CLEAR},
    {"user": "expired", "password": "right", **_CLEAR},
    {"user": "nologin", "password": "right", **_CLEAR},
    {"user": "nologin", "password": "wrong", **_CLEAR},
    {"user": "few", "password": "right", **_CLEAR},
    {"user": "few", "password": "wrong", **_CLEAR},
    {"user": "bi", **_CLEAR},
    {"user": "bi", "dbname": "nosuch", **_CLEAR},
    {"user": "refused", "password": "right", **_CLEAR},
    {"user": "refused", "password": "right", **_TLS},
    {"user": "only_tls", "password": "right", **_TLS},
    {"user": "in_clear", "password": "right", **_CLEAR},
    {"user": "in_clear", "password": "wrong", **_CLEAR},
    {"user": "said", "password": "right", **_TLS},
    {"user": "said", "password": "wrong", **_TLS},
    {"user": "said", "password": "", **_TLS},
    {"user": "old", "password": "right", **_CLEAR},
    {"user": "old", "password": "wrong", **_CLEAR},
    {"user": "old", "password": "right", **_TLS},
    {"user": "old", "password": "right", **_TLS, "channel_binding": "require"},
    {"user": "MiXed", "password": 'p" \u00e4', **_CLEAR},
    {"user": "mixed", "password": 'p" \u00e4', **_CLEAR},
    {"user": "carol", **_CLEAR},
    {"user": "carol", **_TLS},
    {"user": "dave", "password": "right", **_TLS},
    {"user": "postgres", "dbname": "nosuch", **_CLEAR},
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_same(ground: Ground, case: dict[str, Any]) -> None:
    assert _connect(ground.ours, **case) == _connect(ground.theirs, **case)


def test_certificates_of_clients(ground: Ground) -> None:
    for case in ({"user": "carol"}, {"user": "dave", "password": "right"}, {"user": "ann", "password": "right"}):
        shown = {**case, **_certificate(ground.carol)}
        assert _connect(ground.ours, **shown) == _connect(ground.theirs, **shown)
    # The handshake fails; whether its alert arrives before the end of the connection is the network's.
    for port in (ground.ours, ground.theirs):
        assert "connection to server" in _connect(port, user="carol", **_certificate(ground.stranger))


def test_the_certificate_is_verified_in_full(ground: Ground) -> None:
    whole = {"user": "ann", "password": "right", "sslmode": "verify-full", "sslrootcert": ground.authority}
    for port in (ground.ours, ground.theirs):
        assert _connect(port, **whole, hostaddr="127.0.0.1", **{"host": "localhost"}).endswith("tls=True")
        assert "does not match host name" in _connect(port, **{**whole, "host": "elsewhere"}, hostaddr="127.0.0.1")


# -- broken exchanges ------------------------------------------------------------------------------------------------


class _Raw:
    """A client that says what it likes."""

    def __init__(self, port: int, user: str = "ann") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 20)
        self._file = self._socket.makefile("rb")
        body = struct.pack("!i", 196608) + b"user\0" + user.encode() + b"\0database\0sluice\0\0"
        self._socket.sendall(struct.pack("!i", len(body) + 4) + body)

    def say(self, data: bytes, kind: bytes = b"p") -> None:
        self._socket.sendall(kind + struct.pack("!i", len(data) + 4) + data)

    def first(self, mechanism: bytes, data: bytes | None, length: int | None = None) -> None:
        size = -1 if data is None else len(data) if length is None else length
        self.say(mechanism + b"\0" + struct.pack("!i", size) + (data or b""))

    def hear(self) -> tuple[bytes, bytes]:
        kind = self._file.read(1)
        return kind, self._file.read(struct.unpack("!i", self._file.read(4))[0] - 4)

    def error(self) -> tuple[str, str, str]:
        """Severity, SQLSTATE and message of what ends the connection."""
        while True:
            kind, body = self.hear()
            if kind == b"E":
                fields = {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}
                assert self._file.read() == b"", "the connection is closed"
                return fields["V"], fields["C"], fields["M"]

    def __enter__(self) -> _Raw:
        return self

    def __exit__(self, *_what: object) -> None:
        self._file.close()
        self._socket.close()


_MECHANISM = b"SCRAM-SHA-256"
_GOOD = b"n,,n=,r=abcdefghijklmnop"
FIRST: list[tuple[bytes, bytes | None, int | None]] = [
    (b"SCRAM-SHA-1", _GOOD, None),
    (b"SCRAM-SHA-256-PLUS", _GOOD, None),
    (b"", _GOOD, None),
    (b"\xff\xfe", _GOOD, None),
    (_MECHANISM, b"", None),
    (_MECHANISM, b"n", None),
    (_MECHANISM, b"n,,", None),
    (_MECHANISM, b"x,,n=,r=abc", None),
    (_MECHANISM, b"n,a=other,n=,r=abc", None),
    (_MECHANISM, b"n,,m=1,n=,r=abc", None),
    (_MECHANISM, b"n,,r=abc,n=", None),
    (_MECHANISM, b"n,,n=,r=a\x01b", None),
    (_MECHANISM, b"n,,n=\0,r=abc", None),
    (_MECHANISM, b"p=tls-server-end-point,,n=,r=abc", None),
    (_MECHANISM, _GOOD, 5),
    (_MECHANISM, _GOOD, 5000),
    (_MECHANISM, _GOOD, -7),
]


@pytest.mark.parametrize(("mechanism", "data", "length"), FIRST)
def test_a_first_message_that_is_wrong(
    ground: Ground, mechanism: bytes, data: bytes | None, length: int | None
) -> None:
    said = []
    for port in (ground.ours, ground.theirs):
        with _Raw(port) as client:
            assert client.hear()[0] == b"R"
            client.first(mechanism, data, length)
            said.append(client.error())
    assert said[0] == said[1]


LAST = [
    b"",
    b"c=biws",
    b"c=biws,r={nonce}",
    b"c=biws,r={nonce},p=",
    b"c=biws,r={nonce},p=!!!",
    b"c=biws,r={nonce},p=AAAA",
    b"c=biws,r={nonce},p=" + b"A" * 43 + b"=",
    b"c=biws,r={nonce}x,p=" + b"A" * 43 + b"=",
    b"c=eSws,r={nonce},p=" + b"A" * 43 + b"=",
    b"c=biws,r={nonce},p=" + b"A" * 43 + b"=,x=1",
    b"c=biws\0,r={nonce}",
]


@pytest.mark.parametrize("last", LAST)
def test_a_last_message_that_is_wrong(ground: Ground, last: bytes) -> None:
    said = []
    for port in (ground.ours, ground.theirs):
        with _Raw(port) as client:
            client.hear()
            client.first(_MECHANISM, _GOOD)
            kind, body = client.hear()
            assert (kind, body[:4]) == (b"R", b"\0\0\0\x0b")
            nonce = body[4:].split(b",")[0].removeprefix(b"r=")
            client.say(last.replace(b"{nonce}", nonce))
            said.append(client.error())
    assert said[0] == said[1]


def test_messages_out_of_order(ground: Ground) -> None:
    for port in (ground.ours, ground.theirs):
        with _Raw(port) as client:
            client.hear()
            client.say(b"select 1\0", b"Q")
            assert client.error() == ("FATAL", "08P01", "expected SASL response, got message type 81")
        with _Raw(port) as client:
            client.hear()
            client.say(b"right\0")
            assert client.error()[1] == "08P01"
        with _Raw(port) as client:
            client.hear()
            client.first(_MECHANISM, None)
            assert client.hear() == (b"R", b"\0\0\0\x0b")
            client.say(_GOOD)
            assert client.hear()[1].startswith(b"\0\0\0\x0br=abcdefghijklmnop")
    assert _connect(ground.ours, user="ann", password="right").startswith("('ann', 'ann', 1)")


def test_a_stranger_sees_the_same_salt_each_time(ground: Ground) -> None:
    salts = set()
    for user in ("nobody", "nobody", "nobody2", "ann"):
        with _Raw(ground.ours, user) as client:
            client.hear()
            client.first(_MECHANISM, _GOOD)
            salts.add(client.hear()[1].split(b",")[1])
    assert len(salts) == 3

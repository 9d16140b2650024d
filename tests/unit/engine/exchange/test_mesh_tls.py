"""Mutual TLS on the mesh port: members and tasks that trust each other, and everybody else, who is refused with a reason."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pyarrow as pa
import pytest
import uvloop
from support.certificates import Authority, openssl
from support.mesh_ground import MeshMember, gathered, mesh, rows
from support.session_server import eventually

from engine.exchange.listener import DataListener
from engine.exchange.mesh_tls import HandshakeFailed, MeshTls, MeshTlsError, TlsFiles, TlsPeer
from engine.exchange.outbound import open_remote
from engine.exchange.receive import Receiver
from engine.exchange.send import Edge, StreamSender
from engine.exchange.spool import Spooler
from engine.exchange.tls_server import TlsServer
from wire.errors import ConnectionFailure
from wire.mesh.framing import PREFACE
from wire.mesh.messages import VERSION, Open

NUMBERS = pa.schema([("n", pa.int64())])


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "theirs")


def tls_of(authority: Authority, name: str) -> MeshTls:
    return MeshTls(authority.issue(name), name)


@pytest.fixture
async def members(authority: Authority, tmp_path: Path) -> AsyncIterator[list[MeshMember]]:
    async with mesh(tmp_path, 2, lambda name: tls_of(authority, name)) as found:
        yield found


async def logged(caplog: pytest.LogCaptureFixture, told: str) -> None:
    await eventually(lambda: told in caplog.text)


# -- members ----------------------------------------------------------------------------------------------------------


async def test_a_query_of_two_members(members: list[MeshMember]) -> None:
    shared, specs = gathered(members, "select range as n from range($number * 500000, ($number + 1) * 500000)", NUMBERS)
    found = await rows(members[0].runtime.open("m1:1", shared, specs, NUMBERS))
    assert {row[0] for row in found} == set(range(1_000_000))


async def test_a_receiver_that_has_enough_stops_its_sender(members: list[MeshMember]) -> None:
    shared, specs = gathered(members, "select range as n from range(1000000000)", NUMBERS, count=10)
    assert len(await rows(members[0].runtime.open("m1:1", shared, specs, NUMBERS))) == 10


async def test_members_that_do_not_belong_are_refused_and_nothing_else(
    members: list[MeshMember], stranger: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for tls, told in ((None, "does not speak TLS"), (tls_of(stranger, "m3"), "certificate is not accepted")):
        other = MeshMember("m3", tmp_path / told, [members[0].address], tls)
        await other.start()
        try:
            await logged(caplog, told)
            assert other.sees(1)
        finally:
            await other.close()
    assert members[0].sees(2)
    shared, specs = gathered(members, "select 7::bigint as n", NUMBERS)
    assert await rows(members[0].runtime.open("m1:1", shared, specs, NUMBERS)) == [(7,), (7,)]


async def test_a_member_under_a_name_that_its_certificate_does_not_carry(
    members: list[MeshMember], authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = MeshMember("m4", tmp_path, [members[0].address], tls_of(authority, "m3"))
    await other.start()
    try:
        await logged(caplog, "the certificate of member m4 names m3")
        await logged(caplog, "we are refused (name)")
        assert [member.id for member in members[0].link.members()] == ["m1", "m2"]
    finally:
        await other.close()


# -- whoever connects -------------------------------------------------------------------------------------------------


class Ground:
    """The receiving side of member m1, which speaks TLS, and senders."""

    def __init__(self, authority: Authority, folder: Path) -> None:
        self.files = authority.issue("m1")
        self.tls = MeshTls(self.files, "m1")
        self.listener = DataListener(tls=self.tls)
        self.spooler = Spooler(folder / "spool", 1 << 30)
        self.receiver = Receiver(NUMBERS, ordered=False, window=1 << 18, spooler=self.spooler)
        self.token = self.listener.register("channel", self.receiver)

    def edge(self, tls: TlsPeer | None) -> Edge:
        return Edge(*self.listener.address, "channel", self.token, 0, NUMBERS.serialize().to_pybytes(), 1 << 16, tls)

    async def refusal(self, tls: TlsPeer) -> str:
        """Why a worker cannot send."""
        with pytest.raises(HandshakeFailed) as failed:
            await asyncio.to_thread(StreamSender, self.edge(tls), partition=0, attempt=1, stage=0)
        return str(failed.value)

    async def close(self) -> None:
        await self.receiver.close()
        await self.listener.close()
        self.spooler.close()
        assert self.listener.connections == 0


@asynccontextmanager
async def receiving(authority: Authority, folder: Path) -> AsyncIterator[Ground]:
    ground = Ground(authority, folder)
    await ground.listener.start()
    yield ground
    await ground.close()


@pytest.fixture
async def ground(authority: Authority, tmp_path: Path) -> AsyncIterator[Ground]:
    async with receiving(authority, tmp_path) as found:
        yield found


def send_numbers(edge: Edge, batches: int) -> None:
    """Send numbers as a Spark task does."""
    with StreamSender(edge, partition=0, attempt=1, stage=0) as stream:
        for number in range(batches):
            stream.send(pa.record_batch([pa.array([number] * 8000, pa.int64())], schema=NUMBERS))
        stream.finish()


async def test_a_worker_sends_many_windows(ground: Ground, authority: Authority) -> None:
    edge = ground.edge(TlsPeer(authority.issue("executor"), "m1"))
    sending = asyncio.create_task(asyncio.to_thread(send_numbers, edge, 100))
    found = 0
    while found < 800_000:
        batch = await ground.receiver.next_batch()
        assert batch is not None
        found += batch.num_rows
    await sending
    ground.receiver.finish([0])
    assert await ground.receiver.next_batch() is None


async def test_a_sender_shows_its_token_to_the_right_member_only(ground: Ground, authority: Authority) -> None:
    told = "certificate of member m2 names m1"
    assert told in await ground.refusal(TlsPeer(ground.files, "m2"))
    opening = Open(VERSION, "channel", ground.token, 0, 0, 0, 0, b"")
    with pytest.raises(ConnectionFailure, match=told):
        await open_remote(*ground.listener.address, opening, tls=ground.tls, member="m2")
    await eventually(lambda: ground.listener.connections == 0)
    assert ground.listener.denied == 0


async def test_senders_of_a_strange_authority(
    ground: Ground, stranger: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    theirs = stranger.issue("m1")
    assert "certificate is not accepted" in await ground.refusal(TlsPeer(theirs, "m1"))
    trusting = dataclasses.replace(theirs, authority=ground.files.authority)
    # Its own certificate is refused only when the handshake is over for it.
    with pytest.raises((ConnectionError, ssl.SSLError)):
        await asyncio.to_thread(send_numbers, ground.edge(TlsPeer(trusting, "m1")), 1)
    await logged(caplog, "is refused: its certificate is not accepted")


async def test_a_worker_whose_machine_has_no_files(ground: Ground) -> None:
    nowhere = TlsFiles("/nonesuch/a.crt", "/nonesuch/a.key", "/nonesuch/authority.crt")
    told = await ground.refusal(TlsPeer(nowhere, "m1"))
    assert "cluster.tls.certificate: cannot read /nonesuch/a.crt: No such file or directory" in told
    assert told.startswith("SQLSTATE:08006:")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (PREFACE + b"\0\x40" + bytes(100), "it does not speak TLS"),
        (b"GET / HTTP/1.1\r\nHost: m1\r\n\r\n", "it does not speak TLS"),
        (b"", "it closed the connection during the TLS handshake"),
    ],
)
async def test_what_is_not_a_handshake(
    ground: Ground, said: bytes, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    reader, writer = await asyncio.open_connection(*ground.listener.address)
    if said:
        writer.write(said)
        assert await reader.read() == b""
    writer.close()
    await logged(caplog, told)


@pytest.mark.parametrize(
    ("version", "told"),
    [(ssl.TLSVersion.TLSv1_3, "it shows no certificate"), (ssl.TLSVersion.TLSv1_2, "it does not speak TLS 1.3")],
)
async def test_tls_without_a_certificate_or_of_old(
    ground: Ground, version: ssl.TLSVersion, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    context = ssl.create_default_context(cafile=ground.files.authority)
    context.check_hostname, context.maximum_version = False, version

    def say() -> None:
        with socket.create_connection(ground.listener.address) as plain, context.wrap_socket(plain) as connection:
            assert connection.recv(1) == b"", "whoever shows no certificate is not spoken to"

    with contextlib.suppress(OSError):
        await asyncio.to_thread(say)
    await logged(caplog, told)
    assert ground.listener.connections == 0


async def test_the_listener_closes_with_a_handshake_under_way(ground: Ground, authority: Authority) -> None:
    reader, writer = await asyncio.open_connection(*ground.listener.address)
    # Another one, which connected later, has been heard; so this one has been accepted.
    edge = ground.edge(TlsPeer(authority.issue("executor"), "m1"))
    await asyncio.to_thread(send_numbers, edge, 0)
    await ground.listener.close()
    with contextlib.suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()


# -- the loop that a member runs on -----------------------------------------------------------------------------------


@pytest.mark.parametrize("flow", [test_a_query_of_two_members, test_a_receiver_that_has_enough_stops_its_sender])
def test_members_on_uvloop(
    flow: Callable[[list[MeshMember]], Awaitable[None]], authority: Authority, tmp_path: Path
) -> None:
    async def run() -> None:
        async with mesh(tmp_path, 2, lambda name: tls_of(authority, name)) as members:
            await flow(members)

    uvloop.run(run())


@pytest.mark.parametrize(
    "flow",
    [
        test_a_worker_sends_many_windows,
        test_a_sender_shows_its_token_to_the_right_member_only,
        test_the_listener_closes_with_a_handshake_under_way,
    ],
)
def test_whoever_connects_on_uvloop(
    flow: Callable[[Ground, Authority], Awaitable[None]], authority: Authority, tmp_path: Path
) -> None:
    async def run() -> None:
        async with receiving(authority, tmp_path) as ground:
            await flow(ground, authority)

    uvloop.run(run())


# -- files that are not right -----------------------------------------------------------------------------------------


async def test_a_server_that_ends_as_somebody_connects_leaves_no_socket_open(authority: Authority) -> None:
    """The server ends at every stage of the handshake. Python warns of a socket that is collected while it is open."""
    tls = tls_of(authority, "m1")
    for turns in range(8):
        server = await TlsServer.listen(tls, asyncio.Protocol, "127.0.0.1", 0)
        with socket.create_connection(server.sockets[0].getsockname()):
            for _ in range(turns):
                await asyncio.sleep(0)
            server.close()
            await server.wait_closed()
    gc.collect()


@pytest.mark.parametrize(
    ("key", "broken", "told"),
    [
        ("certificate", "", "expected PEM with -----BEGIN CERTIFICATE-----"),
        ("key", "", "expected PEM with -----BEGIN PRIVATE KEY-----"),
        ("authority", "-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n", "cannot use"),
        ("certificate", "-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n", "cannot use"),
    ],
)
def test_files_that_hold_something_else(authority: Authority, tmp_path: Path, key: str, broken: str, told: str) -> None:
    (tmp_path / "broken").write_text(broken)
    files = dataclasses.replace(authority.issue("m1"), **{key: str(tmp_path / "broken")})
    with pytest.raises(MeshTlsError, match=f"^{key}: {told}"):
        MeshTls(files, "m1")


def test_a_key_that_does_not_belong_or_has_a_passphrase(authority: Authority, tmp_path: Path) -> None:
    files = authority.issue("m1")
    with pytest.raises(MeshTlsError, match=r"^key: .* does not belong to the certificate"):
        MeshTls(dataclasses.replace(files, key=authority.issue("m2").key), "m1")
    locked = tmp_path / "locked.key"
    openssl("pkcs8", "-topk8", "-in", files.key, "-passout", "pass:secret", "-out", locked)
    with pytest.raises(MeshTlsError, match=r"^key: expected a key without a passphrase"):
        MeshTls(dataclasses.replace(files, key=str(locked)), "m1")


def test_a_certificate_that_others_would_refuse(authority: Authority, stranger: Authority) -> None:
    """Found at start, rather than by the others."""
    for files, told in (
        (dataclasses.replace(authority.issue("m1"), authority=str(stranger.certificate)), "local issuer certificate"),
        (authority.issue("m1", days=-1), "certificate has expired"),
        (authority.issue("m1", purpose="serverAuth"), "purpose"),
        (authority.issue("m1", names="DNS:m2,DNS:m3"), "names m2, m3; expected .* DNS:m1"),
        (authority.issue("m1", names="IP:127.0.0.1"), "names nobody"),
        (authority.issue("m1", names="DNS:M1,DNS:*"), "names M1, "),
    ):
        with pytest.raises(MeshTlsError, match=f"^certificate: .*{told}"):
            MeshTls(files, "m1")
    MeshTls(authority.issue("m1", names="DNS:m1.example,DNS:m1", purpose="serverAuth,clientAuth"), "m1")


async def test_members_of_two_authorities_while_one_replaces_the_other(
    authority: Authority, stranger: Authority, tmp_path: Path
) -> None:
    both = tmp_path / "both.crt"
    both.write_bytes(authority.certificate.read_bytes() + stranger.certificate.read_bytes())
    issued = {"m1": authority.issue("m1"), "m2": stranger.issue("m2")}
    async with mesh(tmp_path, 2, lambda name: MeshTls(dataclasses.replace(issued[name], authority=str(both)), name)):
        pass

"""A lite member's forwarding: connections relayed to a data member byte by byte. Both are listeners of this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.certificates import Authority
from support.session_server import Server, eventually, raw_to, serve

from engine.catalog.model.roles import Role, Roles
from engine.contracts.mesh import AloneMesh, MemberInfo
from server.auth.client_tls import ClientTls, ClientTlsFiles
from server.auth.gate import Access, Gate
from server.auth.hba import parse
from server.pgwire import lite
from server.pgwire.listener import Listener, ListenerOptions, trust
from server.pgwire.lite import LiteDoor
from wire.verifiers import ScramVerifier


class _OtherMembers(AloneMesh):
    """The lite member's knowledge of the other members."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._others = [
            MemberInfo(f"m{n}", "1", address, address, "data", "up", n, "0") for n, address in enumerate(addresses)
        ]
        super().__init__(self._others[0])

    def members(self) -> Sequence[MemberInfo]:
        return self._others


@asynccontextmanager
async def door_to(*addresses: str, gate: Gate | None = None) -> AsyncIterator[Listener]:
    """A listener that forwards everybody to the first of these members that answers. gate: who is let in; everybody if not
    given."""
    door = LiteDoor(_OtherMembers(addresses), "forward")

    def refuse(**_more: object) -> object:
        raise AssertionError("a forwarded client must not get a session here")

    listener = Listener(refuse, ListenerOptions(door=door, gate=gate or trust()))  # type: ignore[arg-type]
    await listener.start("127.0.0.1", 0)
    try:
        yield listener
    finally:
        await listener.close()
    assert listener.connections == 0


def _address(server: Server) -> str:
    return f"{server.host}:{server.port}"


async def _connect(listener: Listener, **more: Any) -> psycopg.AsyncConnection[tuple[object, ...]]:
    host, port = listener.addresses[0]
    asked = {"sslmode": "disable", "gssencmode": "disable", **more}
    return await psycopg.AsyncConnection.connect(
        host=host, port=port, user="ann", dbname="sluice", autocommit=True, **asked
    )


async def test_a_client_is_carried_to_the_data_member() -> None:
    async with serve() as server, door_to(_address(server)) as listener:
        async with await _connect(listener) as connection:
            cursor = await connection.execute("select 1")
            assert await cursor.fetchone() == (1,)
            [session] = server.listener.registry
            assert connection.info.backend_pid == session.pid
        await eventually(lambda: len(server.listener.registry) == 0)
        await eventually(lambda: listener.connections == 0)


async def test_portals_stay_suspended_and_many_bytes_pass_at_the_clients_pace() -> None:
    async with serve() as server, door_to(_address(server)) as listener:
        async with raw_to(*listener.addresses[0]) as client:
            client.startup(0x30000, user="ann", database="sluice")
            await client.until("Z")
            client.parse("", "select i, repeat('x', 1000) from range(50000) t(i)").bind("p", "").execute("p", 2).flush()
            assert (await client.until("s"))[-3:] == ["D", "D", "s"]
            client.execute("p", 0).sync()
            # Nobody reads: what is on its way fills the windows and stops.
            await client.writer.drain()
            [session] = server.listener._sessions.values()
            await eventually(lambda: session._stream.is_congested)
            kinds = await client.until("Z")
            assert kinds.count("D") == 49_998
        await eventually(lambda: len(server.listener.registry) == 0)


async def test_a_data_member_that_does_not_answer_is_passed_over() -> None:
    async with (
        serve() as server,
        door_to("127.0.0.1:1", _address(server)) as listener,
        await _connect(listener) as connection,
    ):
        assert connection.info.server_version // 10_000 == 15


async def test_an_attempt_that_is_given_up_late_does_not_end_the_relay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first member's connection is made just as the attempt's time is over: its socket closes after the next member
    has been reached."""
    loop = asyncio.get_running_loop()
    connect = loop.create_connection
    async with serve() as slow, serve() as server:

        async def connect_late(protocol: Any, host: str, port: int) -> Any:
            made = await connect(protocol, host, port)
            if port == slow.port:
                made[0].close()
                raise TimeoutError
            return made

        monkeypatch.setattr(loop, "create_connection", connect_late)
        monkeypatch.setattr(lite, "_CLOSE_SECONDS", 0.0)
        async with door_to(_address(slow), _address(server)) as listener, await _connect(listener) as connection:
            cursor = await connection.execute("select 1")
            assert await cursor.fetchone() == (1,)
            assert len(server.listener.registry) == 1


async def test_without_a_data_member_the_client_is_told() -> None:
    async with door_to("127.0.0.1:1") as listener:
        with pytest.raises(psycopg.OperationalError, match="no data member can be reached"):
            await _connect(listener)


async def test_the_door_looks_at_the_client_first() -> None:
    async with serve() as server, door_to(_address(server), gate=Gate(Access(rules=()))) as listener:
        with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry for host"):
            await _connect(listener)
        assert not server.sessions


async def test_the_door_has_the_client_prove_who_it_is_and_ends_its_encryption(tmp_path: Path) -> None:
    files = Authority(tmp_path / "authority").issue("door")
    tls = ClientTls.read(ClientTlsFiles(files.certificate, files.key))

    async def roles() -> Roles:
        return Roles({"ann": Role(16_384, "ann", login=True, password=str(ScramVerifier.of("right")))})

    gate = Gate(Access(rules=parse("hostssl all all all scram-sha-256", "rules"), tls=tls), roles)
    async with serve() as server, door_to(_address(server), gate=gate) as listener:
        with pytest.raises(psycopg.OperationalError, match='password authentication failed for user "ann"'):
            await _connect(listener, sslmode="require", password="wrong")
        with pytest.raises(psycopg.OperationalError, match=r"no pg_hba\.conf entry for host"):
            await _connect(listener, password="right")
        assert not server.sessions
        bound = await _connect(listener, sslmode="require", password="right", channel_binding="require")
        async with bound as connection:
            assert connection.pgconn.ssl_in_use
            cursor = await connection.execute("select i, repeat('x', 1000) from range(20000) t(i)")
            assert len(await cursor.fetchall()) == 20_000
            task = asyncio.create_task(
                connection.execute("select count(*) from range(1000000000000) where range % 7 = 8")
            )
            await eventually(lambda: any(a.state == "active" for a in server.listener.registry.activity()))
            server.listener.registry.cancel(connection.info.backend_pid)
            with pytest.raises(psycopg.errors.QueryCanceled):
                await task
        await eventually(lambda: len(server.listener.registry) == 0)


async def test_when_the_data_member_ends_the_client_hears_it() -> None:
    async with serve() as server, door_to(_address(server)) as listener:
        async with raw_to(*listener.addresses[0]) as client:
            client.startup(0x30000, user="ann", database="sluice")
            await client.until("Z")
            server.listener.registry.terminate(client.pid)
            assert await client.until_closed() == ["E"]
            assert client.error["C"] == "57P01"
        await eventually(lambda: listener.connections == 0)


async def test_when_the_client_goes_its_statement_ends() -> None:
    async with serve() as server, door_to(_address(server)) as listener:
        async with raw_to(*listener.addresses[0]) as client:
            client.startup(0x30000, user="ann", database="sluice")
            await client.until("Z")
            client.query("select sum(a.i * b.i) from range(10000000) a(i), range(10000000) b(i)")
            await client.writer.drain()
            await eventually(lambda: any(a.state == "active" for a in server.listener.registry.activity()))
        await eventually(lambda: len(server.listener.registry) == 0)


async def test_a_door_that_closes_leaves_nothing() -> None:
    async with serve() as server:
        async with door_to(_address(server)) as listener:
            connection = await _connect(listener)
            await connection.execute("select 1")
        with pytest.raises(psycopg.OperationalError):
            await connection.execute("select 1")
        await connection.close()
        await eventually(lambda: len(server.listener.registry) == 0)


async def test_routing_is_asked_for_in_the_startup_packet() -> None:
    door = LiteDoor(_OtherMembers(["127.0.0.1:1"]), "refuse")
    assert not door.forwards({})
    assert door.forwards({"sluice.lite_routing": "forward"})
    assert door.forwards({"Sluice.Lite_Routing": "FORWARD"})

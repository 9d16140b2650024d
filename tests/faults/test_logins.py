"""Attacks on logins: costly verifiers, guessed passwords, connections that send nothing."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import local_member
from support.session_server import RawClient, Server, eventually, raw, serve, translate_at_once

from engine.catalog.model.roles import Role, Roles
from server.auth.gate import Access, Gate
from server.auth.hba import parse
from server.auth.login_attempts import FailureLimits
from server.config.address import Address
from server.http.door import Door
from server.http.session import Bounds
from server.pgwire.host import UNADMITTED_MAX
from server.pgwire.listener import ListenerOptions
from wire import verifiers
from wire.verifiers import ITERATIONS_MAX, ScramVerifier

_RIGHT = str(ScramVerifier.of("right"))
_COSTLY = str(ScramVerifier(bytes(16), ITERATIONS_MAX * 10, bytes(32), bytes(32)))
_NAMES = ("ann", "bob", "root")


@asynccontextmanager
async def _served(
    method: str = "password", failures: FailureLimits | None = None, password: str = _RIGHT, **options: Any
) -> AsyncIterator[Server]:
    """Run a server whose roles authenticate by this method; `trusted` need not."""
    roles = Roles(
        {
            name: Role(n, name, login=True, password=password, superuser=name == "root")
            for n, name in enumerate(_NAMES, 20)
        }
    )

    async def known() -> Roles:
        return roles

    rules = parse(f"host all trusted all trust\nhostnossl all all all {method}", "test")
    gate = Gate(Access(trusted=rules, failures=failures or FailureLimits()), known)
    async with serve(ListenerOptions(gate=gate, **options)) as server:
        try:
            yield server
        finally:
            gate.close()


async def _told(server: Server, user: str, password: str) -> str:
    """Return "in", or the SQLSTATE and message of the login's error."""
    try:
        connection = await psycopg.AsyncConnection.connect(
            host=server.host, port=server.port, user=user, password=password, dbname="sluice", sslmode="disable"
        )
    except psycopg.OperationalError as error:
        (said,) = (line for line in str(error).splitlines() if "FATAL:  " in line)
        return said.partition("FATAL:  ")[2]
    await connection.close()
    return "in"


# -- what a password costs ------------------------------------------------------------------------------------------------


async def test_others_go_on_while_a_password_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end, compare = threading.Event(), verifiers.proves

    def slowly(*arguments: str) -> bool:
        assert may_end.wait(60)
        return compare(*arguments)

    monkeypatch.setattr(verifiers, "proves", slowly)
    async with _served() as server, raw(server, user="trusted") as other:
        wrong = asyncio.create_task(_told(server, "ann", "wrong"))
        await eventually(lambda: server.listener.connections == 2)
        for _ in range(10):
            await other.query("select 1").until("Z")
        assert not wrong.done()
        may_end.set()
        assert await wrong == 'password authentication failed for user "ann"'


async def test_a_login_that_is_given_up_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = threading.Event()
    monkeypatch.setattr(verifiers, "proves", lambda *_arguments: may_end.wait(60))
    async with _served(authentication_timeout=0.2) as server:
        assert await _told(server, "ann", "right") == "canceling authentication due to timeout"
        await eventually(lambda: server.listener.connections == 0)
        may_end.set()


@pytest.mark.parametrize("method", ["password", "scram-sha-256"])
async def test_a_costly_verifier_lets_nobody_in(
    method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An earlier release has stored the verifier: no password is hashed with it."""
    asked: list[int] = []
    of = ScramVerifier.of

    def noted(password: str, salt: bytes | None = None, iterations: int = 4096) -> ScramVerifier:
        asked.append(iterations)
        return of(password, salt, iterations)

    monkeypatch.setattr(ScramVerifier, "of", noted)
    with caplog.at_level(logging.WARNING):
        async with _served(method, password=_COSTLY) as server:
            assert await _told(server, "ann", "right") == 'password authentication failed for user "ann"'
    assert "role 'ann' cannot log in: its SCRAM verifier is too costly" in caplog.text
    assert max(asked, default=4096) == 4096


def test_a_role_sets_no_costly_verifier(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect(user="first") as connection:
        connection.execute("create role ann login")
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="SCRAM verifier is too costly") as refused:
            connection.execute(f"alter role ann password '{_COSTLY}'".encode())
        assert refused.value.diag.message_detail == "Expected 600000 iterations and 1024 bytes of salt at most."


# -- guesses --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["password", "scram-sha-256", "md5"])
async def test_guesses_are_refused_after_a_while(method: str, caplog: pytest.LogCaptureFixture) -> None:
    """The right password is refused too, so that the attacker does not learn that it is right."""
    with caplog.at_level(logging.WARNING):
        async with _served(method, FailureLimits(address=3)) as server:
            for user in ("ann", "nobody", "bob"):
                assert await _told(server, user, "wrong") == f'password authentication failed for user "{user}"'
            assert await _told(server, "ann", "right") == "too many failed logins from 127.0.0.1"
            assert await _told(server, "trusted", "") == "in"
    told = [record.message for record in caplog.records]
    assert [line for line in told if line.startswith("logins from")] == [
        "logins from 127.0.0.1 are refused: 3 have failed within 60 s"
    ]
    assert [line for line in told if "FATAL:  password" in line] == [
        f'FATAL:  password authentication failed for user "{user}"' for user in ("ann", "nobody", "bob")
    ]
    assert not any("too many failed logins" in line for line in told), "whoever guesses on does not fill the log"


async def test_who_was_in_before_is_let_in_while_others_guess() -> None:
    async with _served("scram-sha-256", FailureLimits(address=3, role=3)) as server:
        assert await _told(server, "ann", "right") == "in"
        for _ in range(3):
            await _told(server, "bob", "wrong")
        assert await _told(server, "bob", "right") == "too many failed logins from 127.0.0.1"
        assert await _told(server, "ann", "right") == "in"


async def test_guesses_at_once_are_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """All clients have received the password request before the first password is compared; no more of the waiting ones
    are compared than may fail.
    """
    compared: list[str] = []

    def is_wrong(_verifier: str, _role: str, password: str) -> bool:
        compared.append(password)
        return False

    monkeypatch.setattr(verifiers, "proves", is_wrong)
    async with _served(failures=FailureLimits(address=3)) as server, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(raw(server, start=False)) for _ in range(40)]
        for client in clients:
            await client.startup(user="ann", database="sluice").until("R")
        for client in clients:
            client.message("p", b"guess\0")
        told = [await client.until_closed() for client in clients]
    assert told == [["E"]] * 40
    # Two threads compare at a time.
    assert len(compared) <= 3 + 1


async def test_guesses_over_http_count_as_well() -> None:
    async with _served(failures=FailureLimits(address=2)) as server:
        door = Door(server.listener.host, Bounds(), translate_at_once)
        await door.start(Address("127.0.0.1", 0))
        assert door.address is not None
        try:
            answers = [await _http(door.address.port) for _ in range(3)]
        finally:
            await door.close()
        assert await _told(server, "ann", "right") == "too many failed logins from 127.0.0.1"
    assert [b"password authentication failed" in answer for answer in answers] == [True, True, False]


async def _http(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = "POST /v1/statement HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 8\r\n"
    head += "Authorization: Basic YW5uOndyb25n\r\n\r\n"
    writer.write(head.encode() + b"select 1")
    try:
        return await reader.read()
    finally:
        writer.close()


# -- silence --------------------------------------------------------------------------------------------------------------


async def _silent(server: Server, stack: AsyncExitStack, count: int, address: str) -> list[RawClient]:
    """Open connections from an address of this machine that send nothing."""
    clients = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection(server.host, server.port, local_addr=(address, 0))
        stack.callback(writer.close)
        clients.append(RawClient(reader, writer))
    return clients


async def test_silent_connections_keep_no_superuser_out() -> None:
    async with _served("scram-sha-256", max_connections=2, superuser_reserved_connections=1) as server:
        async with AsyncExitStack() as stack:
            silent = await _silent(server, stack, 2 + UNADMITTED_MAX, "127.0.0.2")
            await eventually(lambda: server.listener.connections == 2 + UNADMITTED_MAX)
            assert await _told(server, "ann", "right") == "in"
            assert await _told(server, "root", "right") == "in"
            # Those that were there longest are told why they go.
            assert [await client.until_closed() for client in silent[:2]] == [["E"], ["E"]]
            assert {client.error["C"] for client in silent[:2]} == {"53300"}
            # The slots of ordinary roles are taken, superusers keep theirs.
            await stack.enter_async_context(raw(server, user="trusted"))
            assert await _told(server, "ann", "right") == (
                "remaining connection slots are reserved for non-replication superuser connections"
            )
            assert await _told(server, "root", "right") == "in"
        await eventually(lambda: server.listener.connections == 0)


async def test_a_flood_from_one_address_ends_its_own() -> None:
    """A client that answers slowly stays connected, though it connected first."""
    async with _served("scram-sha-256", max_connections=1) as server, AsyncExitStack() as stack:
        slow = await stack.enter_async_context(raw(server, start=False))
        await slow.startup(user="ann", database="sluice").until("R")
        flood = await _silent(server, stack, 3 * UNADMITTED_MAX, "127.0.0.2")
        await eventually(lambda: server.listener.connections <= 1 + UNADMITTED_MAX)
        assert await flood[0].until_closed() == ["E"]
        assert slow.reader.at_eof() is False
        assert any(session.host == "127.0.0.1" for session in server.listener._sessions.values())


async def test_connections_that_were_let_in_stay() -> None:
    """Authenticated sessions are not ended in favour of newcomers, who are refused."""
    async with (
        _served(max_connections=2) as server,
        raw(server, user="trusted") as one,
        raw(server, user="trusted") as two,
    ):
        assert await _told(server, "trusted", "") == "sorry, too many clients already"
        for client in (one, two):
            assert await client.query("select 1").until("Z")

"""Logins of the console: their number is limited, and two timeouts end them; which requests are meant for the server
and come from its own page.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import HTTPConnection

from server.auth.gate import Access, Gate
from server.auth.hba import parse
from server.auth.login_attempts import FailureLimits
from server.http import console_login
from server.http.addressed import is_for_us, is_from_us
from server.http.console_login import IDLE_SECONDS, LIFE_SECONDS, SESSIONS_MAX, ConsoleLogins, cookie_name
from server.pgwire.host import Host
from server.session.cancel import SessionRegistry


def request(client: str = "192.0.2.7", cookie: str = "", **headers: str) -> HTTPConnection:
    scope: dict[str, Any] = {"type": "http", "client": (client, 1000), "server": ("192.0.2.1", 8432)}
    told = {**headers, **({"cookie": cookie} if cookie else {})}
    scope["headers"] = [(name.replace("_", "-").encode(), value.encode()) for name, value in told.items()]
    return HTTPConnection(scope)


def logins(clock: list[float], rules: str = "host all all all trust") -> ConsoleLogins:
    gate = Gate(Access(parse(rules, "rules")))
    return ConsoleLogins(Host(SessionRegistry(), _no_session, gate), lambda: clock[0])


def _no_session(**_arguments: Any) -> Any:
    raise AssertionError("a login is no session")


async def test_a_login_ends_when_it_is_idle_and_when_it_is_old() -> None:
    clock = [0.0]
    kept = logins(clock)
    token = await kept.log_in(request(), "ann", "")
    mine = request(cookie=f"{cookie_name(request())}={token}")
    for _ in range(int(LIFE_SECONDS // IDLE_SECONDS)):
        clock[0] += IDLE_SECONDS - 1
        viewer = await kept.viewer(mine)
        assert viewer is not None
        assert viewer.user == "ann"
    clock[0] = LIFE_SECONDS + 1
    assert await kept.viewer(mine) is None
    assert len(kept) == 0

    token = await kept.log_in(request(), "ann", "")
    clock[0] += IDLE_SECONDS + 1
    assert await kept.viewer(request(cookie=f"{cookie_name(request())}={token}")) is None


async def test_there_are_only_so_many() -> None:
    kept = logins([0.0])
    first = await kept.log_in(request(), "ann", "")
    second = await kept.log_in(request(), "ann", "")
    name = cookie_name(request())
    assert await kept.viewer(request(cookie=f"{name}={first}")) is not None
    for _ in range(SESSIONS_MAX - 1):
        await kept.log_in(request(), "ann", "")
    assert len(kept) == SESSIONS_MAX
    assert await kept.viewer(request(cookie=f"{name}={first}")) is not None
    assert await kept.viewer(request(cookie=f"{name}={second}")) is None


async def test_only_this_machine_is_believed_without_a_login() -> None:
    kept = logins([0.0])
    assert await kept.viewer(request("192.0.2.7")) is None
    for proxied in ("forwarded", "x_forwarded_for", "via"):
        assert await kept.viewer(request("127.0.0.1", **{proxied: "192.0.2.7"})) is None
    for here in ("127.0.0.1", "::1"):
        viewer = await kept.viewer(request(here))
        assert viewer is not None
        assert viewer.user == console_login.CONSOLE_USER
    for rules in ("host all ann all trust", "host all all all scram-sha-256", "host all all all reject"):
        assert await logins([0.0], rules).viewer(request("127.0.0.1")) is None


async def test_attempts_at_once_are_bounded_as_at_the_other_doors() -> None:
    gate = Gate(Access(parse("hostnossl all all all password", "rules"), failures=FailureLimits(5, 5)))
    kept = ConsoleLogins(Host(SessionRegistry(), _no_session, gate))
    outcomes = await asyncio.gather(*(kept.log_in(request(), "ann", "x") for _ in range(40)), return_exceptions=True)
    assert all(isinstance(outcome, Exception) for outcome in outcomes)
    assert gate.attempts.refused_count > 0
    gate.close()


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8432", "localhost", "localhost:1", "[::1]:8432", "10.0.0.7", "a.localhost:80", "ours.example"]
)
def test_hosts_that_are_ours(host: str) -> None:
    assert is_for_us({"host": host}, ("ours.example",))


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8432", "127.0.0.1.evil.example", "", "localhost.evil.example", "1x2"]
)
def test_hosts_that_are_not(host: str) -> None:
    assert not is_for_us({"host": host}, ("ours.example",))


def test_origins() -> None:
    assert is_from_us({"host": "localhost:8432"}, "http")
    assert is_from_us({"host": "localhost:8432", "origin": "http://localhost:8432"}, "http")
    for origin in ("https://localhost:8432", "http://localhost:8433", "http://evil.example", "null", ""):
        assert not is_from_us({"host": "localhost:8432", "origin": origin}, "http")

"""Viewers of the console: the same users, rules and passwords as over the PostgreSQL protocol.

A login is a POST with a name and a password, which `server.auth.gate` authenticates as at the other doors. The browser
then has a cookie of 256 random bits. The member stores its digest with the user and two expiry times: each request
extends one, nothing extends the other. The number of logins is limited; beyond it the least recently used one is
evicted.

A request without a cookie is accepted only if it comes from this machine and the rules trust the user `CONSOLE_USER`
from there, as they would trust a SQL client that gives that name. A request that a proxy forwards does not count as one
from this machine.

Each request checks anew whether the role still exists and may log in.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass as mutable_dataclass
from typing import Final

from starlette.requests import HTTPConnection

from engine.catalog.model.objects import DATABASE
from engine.catalog.model.roles import Role, Roles
from server.auth.gate import Visitor
from server.http import login
from server.pgwire.host import Host
from wire.dataclass import dataclass
from wire.errors import InvalidAuthorizationSpecification

#: The user of requests without a login from this machine, if the rules trust it.
CONSOLE_USER: Final = "sluice"
SESSIONS_MAX: Final = 256
#: A login expires after IDLE_SECONDS without a request, and after LIFE_SECONDS in any case.
IDLE_SECONDS: Final = 3600.0
LIFE_SECONDS: Final = 12 * 3600.0
_TOKEN_BYTES: Final = 32
_PROXIED: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


@dataclass(frozen=True, slots=True)
class Viewer:
    """A user who looks at the console, with the current roles, which decide what the user may see."""

    user: str
    roles: Roles

    @property
    def role(self) -> Role:
        return self.roles.of(self.user)

    def may_see(self, user: str) -> bool:
        return self.roles.may_see(self.role, self.roles.of(user))

    @property
    def may_read_all(self) -> bool:
        return self.roles.may_see_all(self.role)

    def may_signal(self, user: str) -> bool:
        return self.roles.may_signal(self.role, self.roles.of(user))


@mutable_dataclass(slots=True)
class _Login:
    user: str
    begun: float
    used: float


class ConsoleLogins:
    """See the module's docstring. now: seconds of a monotonic clock."""

    def __init__(self, host: Host, now: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._now = now
        self._logins: OrderedDict[bytes, _Login] = OrderedDict()

    def __len__(self) -> int:
        return len(self._logins)

    async def log_in(self, request: HTTPConnection, user: str, password: str) -> str:
        """Authenticate a user and return the cookie's value. Raises FatalError."""
        await login.admit(self._host, self._visitor(request, user), password or None)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        now = self._now()
        self._expire(now)
        while len(self._logins) >= SESSIONS_MAX:
            self._logins.popitem(last=False)
        self._logins[_digest(token)] = _Login(user, now, now)
        return token

    def log_out(self, token: str) -> None:
        self._logins.pop(_digest(token), None)

    async def viewer(self, request: HTTPConnection) -> Viewer | None:
        """Return the viewer; None for one who has to log in."""
        found = self._find(request.cookies.get(cookie_name(request), ""))
        if found is None and not await self._is_trusted(request):
            return None
        user = CONSOLE_USER if found is None else found
        try:
            await self._host.gate.admit(self._visitor(request, user), lambda _user: 0)
        except InvalidAuthorizationSpecification:
            return None
        return Viewer(user, await self._host.gate.roles())

    def _find(self, token: str) -> str | None:
        """Return the user of a login, and restart its idle timeout."""
        now, key = self._now(), _digest(token)
        found = self._logins.get(key) if token else None
        if found is None:
            return None
        if _is_over(found, now):
            del self._logins[key]
            return None
        found.used = now
        self._logins.move_to_end(key)
        return found.user

    def _expire(self, now: float) -> None:
        for key in [key for key, found in self._logins.items() if _is_over(found, now)]:
            del self._logins[key]

    async def _is_trusted(self, request: HTTPConnection) -> bool:
        if request.client is None or not ipaddress.ip_address(request.client.host).is_loopback:
            return False
        if any(header in request.headers for header in _PROXIED):
            return False
        return await self._host.gate.trusts(self._visitor(request, CONSOLE_USER))

    def _visitor(self, request: HTTPConnection, user: str) -> Visitor:
        # The console may be unencrypted although the member has a certificate.
        tls = self._host.gate.access.tls if request.scope.get("scheme") in ("https", "wss") else None
        return login.visitor(user, DATABASE, tls, request.client, request.scope.get("server"))


def cookie_name(request: HTTPConnection) -> str:
    """Return the name of the cookie, which contains the port: a browser does not separate the cookies of members on
    one machine by port.
    """
    server = request.scope.get("server")
    return f"sluice_{server[1] if server else 0}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _is_over(found: _Login, now: float) -> bool:
    return now - found.used > IDLE_SECONDS or now - found.begun > LIFE_SECONDS

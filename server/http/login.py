"""Logins over HTTP. The second door takes them from a request's headers, the name from X-Trino-User and the password
from Authorization (Basic); the console takes them from its login (`server.http.console_login`).

The rules of `server.auth.gate` decide as for every client. HTTP sends a password in cleartext, so it is accepted only
under TLS, unless a rule for unencrypted connections says `password`. A name without a password is accepted if the rules
trust it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping

from server.auth.beginning import Beginning
from server.auth.client_tls import ClientTls
from server.auth.gate import Visitor
from server.pgwire.host import Host
from wire.dataclass import dataclass
from wire.errors import InvalidAuthorizationSpecification, InvalidPassword


@dataclass(frozen=True, slots=True)
class Credentials:
    """password: None if none was sent."""

    user: str
    password: str | None = None


def credentials(headers: Mapping[str, str], user: str | None) -> Credentials:
    """Read a request's credentials. user: the user that the request names. Raises InvalidAuthorizationSpecification."""
    given = _basic(headers.get("authorization"))
    if given is None:
        if not user:
            raise InvalidAuthorizationSpecification("no user name: expected the header X-Trino-User")
        return Credentials(user)
    if user and user != given.user:
        raise InvalidAuthorizationSpecification(f'user "{given.user}" cannot act as "{user}"')
    return given


def _basic(header: str | None) -> Credentials | None:
    if header is None:
        return None
    scheme, _, encoded = header.partition(" ")
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        text = ""
    user, colon, password = text.partition(":")
    if scheme.lower() != "basic" or not colon or not user or "\0" in text:
        raise InvalidAuthorizationSpecification("invalid Authorization header: expected Basic")
    return Credentials(user, password)


async def admit(host: Host, guest: Visitor, password: str | None) -> bool:
    """Authenticate a client and check that it may have a session. Returns whether it is a superuser. Raises
    FatalError, after a delay for failed authentication, so that guessing takes long.
    """
    try:
        await host.gate.check(guest, password)
    except (InvalidPassword, InvalidAuthorizationSpecification):
        await asyncio.sleep(host.gate.access.delay)
        raise
    return await host.gate.admit(guest, host.registry.connections_of)


def visitor(
    user: str, database: str, tls: ClientTls | None, client: tuple[str, int] | None, here: tuple[str, int] | None
) -> Visitor:
    """Build the visitor with which the rules are matched."""
    return Visitor(Beginning((3, 0), user, database), client[0] if client else "", here[0] if here else "", tls)

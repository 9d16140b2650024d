"""Authentication: matches a connection with the rules, runs the method of the rule, and checks the role.

The order is PostgreSQL's: the first rule that matches the connection gives the authentication method; the client
authenticates; then its name must be that of a role that may log in and whose connection limit is not reached. A client
that fails learns nothing about roles: for a name that is no role the exchange is the same, with a stand-in verifier
that no password satisfies, and the error is sent after `delay` seconds. After too many failures an attempt is refused
before its password is checked (`server.auth.login_attempts`). A cleartext password is compared with a verifier on a
thread of the gate, because that is expensive and other clients must not wait for it.

While no role exists, a client that a rule trusts is admitted under any name. Without an hba file this also holds later:
the trusted networks are this machine's, unless the configuration names others, and a client that may use any name may
use a superuser's.

A reload replaces the content of the files (rules, certificates) as a whole; open connections are not affected.

Source: PostgreSQL 15, 21 "Client Authentication"; auth.c (ClientAuthentication), miscinit.c (InitializeSessionUserId).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NoReturn, TypeVar

from engine.catalog.model.roles import FOREVER, Role, Roles
from server.auth.beginning import Beginning
from server.auth.client_tls import ClientTls
from server.auth.hba import Connection, Rule, default_rules, find
from server.auth.login_attempts import FailureLimits, LoginAttempts
from wire import verifiers
from wire.dataclass import dataclass
from wire.errors import InvalidAuthorizationSpecification, InvalidPassword, TooManyConnections
from wire.pg import messages as m
from wire.pg.auth import Authentication, CleartextPassword, Md5Password, Scram, Step, Trust, password_failed
from wire.verifiers import ScramVerifier

log: Final = logging.getLogger(__name__)
T = TypeVar("T")

_NONCE_BYTES: Final = 18
_MD5_SALT_BYTES: Final = 4
#: The number of threads that compare passwords.
_PASSWORD_THREADS: Final = 2


@dataclass(frozen=True, slots=True)
class Visitor:
    """A client before it is admitted. host, here: addresses of the client's and of this member's end; empty if there
    are none. tls: the context of the connection; None without encryption. common_name: of the certificate that the
    client has presented; None if it presented none.
    """

    beginning: Beginning
    host: str
    here: str
    tls: ClientTls | None = None
    common_name: str | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of access that files define. rules: None without an hba file. trusted: the rules that apply without an
    hba file. delay: seconds from a failed attempt to its answer. failures: limits on failed attempts.
    """

    rules: Sequence[Rule] | None = None
    trusted: Sequence[Rule] = default_rules(())
    tls: ClientTls | None = None
    delay: float = 0.0
    failures: FailureLimits = FailureLimits()


async def _no_roles() -> Roles:
    return Roles()


class Gate:
    """See the module's docstring. access: replaced by a reload. roles: returns the current roles."""

    def __init__(self, access: Access, roles: Callable[[], Awaitable[Roles]] = _no_roles) -> None:
        self.access = access
        self.attempts = LoginAttempts(time.monotonic)
        self._roles = roles
        #: The first password comparison starts the threads.
        self._threads = ThreadPoolExecutor(_PASSWORD_THREADS, "password")
        self._turns = asyncio.Semaphore(_PASSWORD_THREADS)

    def close(self) -> None:
        """Release the gate's threads; each ends after the comparison that it is making."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def meet(self, visitor: Visitor) -> Authentication:
        """Return the authentication exchange that a client must pass. Raises InvalidAuthorizationSpecification if the
        client is refused at once.
        """
        rule, roles = await self._rule(visitor)
        if rule.method in ("trust", "cert"):
            return Trust()
        self._require_attempt(visitor)
        if rule.method == "password" and visitor.tls is None and rule.kind == "host":
            raise _password_in_the_clear("Connect with sslmode=require, or have the rule say hostnossl.")
        return _password_exchange(rule, visitor, roles.find_role(visitor.beginning.user), roles)

    async def advance(self, visitor: Visitor, machine: Authentication, answer: m.PasswordMessage) -> Step:
        """Return the next step of a client's authentication. Raises InvalidPassword,
        InvalidAuthorizationSpecification, ProtocolViolation.
        """
        # Checked again, because many attempts may have begun before the first of them failed.
        self._require_attempt(visitor)
        try:
            if machine.is_costly:
                step = await self._beside(visitor, machine.receive, answer)
            else:
                step = machine.receive(answer)
        except InvalidPassword:
            self._note_failure(visitor)
            raise
        if isinstance(step[-1], m.AuthenticationOk):
            self.attempts.record_success(visitor.host, visitor.beginning.user)
        return step

    async def _beside(self, visitor: Visitor, call: Callable[..., T], *arguments: Any) -> T:
        """Run a call on a thread of the gate. Check the limit of failed attempts again when a thread is free."""
        async with self._turns:
            self._require_attempt(visitor)
            return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    def _require_attempt(self, visitor: Visitor) -> None:
        """Raise InvalidAuthorizationSpecification if too many attempts have failed."""
        self.attempts.require(visitor.host, visitor.beginning.user, self.access.failures)

    def _note_failure(self, visitor: Visitor) -> None:
        self.attempts.record_failure(visitor.host, visitor.beginning.user, self.access.failures)

    async def check(self, visitor: Visitor, password: str | None) -> None:
        """Authenticate a client that can only send its password, or nothing: a client over HTTP.

        Raises InvalidPassword, InvalidAuthorizationSpecification.
        """
        rule, roles = await self._rule(visitor)
        if rule.method in ("trust", "cert"):
            return
        user = visitor.beginning.user
        if visitor.tls is None and (rule.method != "password" or rule.kind == "host"):
            raise _password_in_the_clear("Connect with https, or have the rule say hostnossl and password.")
        if not password:
            raise password_failed(user)
        self._require_attempt(visitor)
        kept = _stored_or_stand_in(roles.find_role(user), user, roles)
        if not await self._beside(visitor, verifiers.proves, kept, user, password):
            self._note_failure(visitor)
            raise password_failed(user)
        self.attempts.record_success(visitor.host, user)

    async def trusts(self, visitor: Visitor) -> bool:
        """Return whether the rules trust a client without authentication."""
        try:
            rule, _ = await self._rule(visitor)
        except InvalidAuthorizationSpecification:
            return False
        return rule.method == "trust"

    async def roles(self) -> Roles:
        """Return the current roles."""
        return await self._roles()

    async def _rule(self, visitor: Visitor) -> tuple[Rule, Roles]:
        """Return the rule that matches the client and does not reject it, and the roles with which it was found."""
        access, roles = self.access, await self._roles()
        rule = find(access.trusted if access.rules is None else access.rules, _connection(visitor, roles))
        if rule is None:
            _refuse("no pg_hba.conf entry for", visitor)
        if rule.method == "reject":
            _refuse("pg_hba.conf rejects connection for", visitor)
        if rule.clientcert:
            _check_certificate(rule, visitor)
        return rule, roles

    async def admit(self, visitor: Visitor, connections: Callable[[str], int]) -> bool:
        """Check that an authenticated client may log in. Returns whether it is a superuser. connections: returns a
        user's current number of connections. Raises InvalidAuthorizationSpecification, TooManyConnections.
        """
        roles, user = await self._roles(), visitor.beginning.user
        role = roles.find_role(user)
        if role is None:
            if roles and self.access.rules is not None:
                raise InvalidAuthorizationSpecification(f'role "{user}" does not exist')
            return True
        if not role.login:
            raise InvalidAuthorizationSpecification(f'role "{user}" is not permitted to log in')
        if 0 <= role.connection_limit <= connections(user) and not role.superuser:
            raise TooManyConnections(f'too many connections for role "{user}"')
        return role.superuser


def _connection(visitor: Visitor, roles: Roles) -> Connection:
    user, database = visitor.beginning.user, visitor.beginning.database
    encrypted = visitor.tls is not None
    return Connection(user, database, visitor.host, visitor.here, encrypted, lambda role: roles.belongs(user, role))


def _refuse(why: str, visitor: Visitor) -> NoReturn:
    user, database = visitor.beginning.user, visitor.beginning.database
    encryption = "SSL encryption" if visitor.tls is not None else "no encryption"
    raise InvalidAuthorizationSpecification(
        f'{why} host "{visitor.host}", user "{user}", database "{database}", {encryption}'
    )


def _password_in_the_clear(hint: str) -> InvalidAuthorizationSpecification:
    return InvalidAuthorizationSpecification("password in the clear is refused without encryption", hint=hint)


def _check_certificate(rule: Rule, visitor: Visitor) -> None:
    if visitor.common_name is None:
        raise InvalidAuthorizationSpecification("connection requires a valid client certificate")
    user = visitor.beginning.user
    if rule.clientcert == "verify-full" and visitor.common_name != user:
        if rule.method == "cert":
            raise InvalidAuthorizationSpecification(f'certificate authentication failed for user "{user}"')
        if rule.method == "trust":
            raise InvalidAuthorizationSpecification(f'"trust" authentication failed for user "{user}"')
        raise password_failed(user)


def _password_exchange(rule: Rule, visitor: Visitor, role: Role | None, roles: Roles) -> Authentication:
    """Return the machine of a method that asks for a password."""
    user = visitor.beginning.user
    kept = _stored_password(role)
    if rule.method == "password":
        return CleartextPassword(user, _stored_or_stand_in(role, user, roles))
    if rule.method == "md5" and kept is not None and verifiers.is_md5(kept):
        return Md5Password(user, kept, secrets.token_bytes(_MD5_SALT_BYTES))
    scram = ScramVerifier.read(kept) if kept is not None else None
    return Scram(
        user,
        scram or verifiers.stand_in(user, roles.secret),
        certificate=visitor.tls.certificate if visitor.tls is not None else None,
        nonce=secrets.token_urlsafe(_NONCE_BYTES),
        doomed=scram is None,
    )


def _stored_or_stand_in(role: Role | None, user: str, roles: Roles) -> str:
    """Return the stored password with which a cleartext password is compared. For a name without one, return a
    stand-in, so that the comparison takes as long as for other names.
    """
    return _stored_password(role) or str(verifiers.stand_in(user, roles.secret))


def _stored_password(role: Role | None) -> str | None:
    """Return the stored password of a role. Return None if there is none, if it has expired, or if its SCRAM verifier is too
    costly to check."""
    if role is None or role.password is None:
        return None
    scram = ScramVerifier.read(role.password)
    if scram is not None and verifiers.is_too_costly(scram):
        log.warning(
            "role %r cannot log in: its SCRAM verifier is too costly (ALTER ROLE ... PASSWORD makes another)", role.name
        )
        return None
    until = FOREVER if role.valid_until is None else role.valid_until
    return role.password if time.time_ns() // 1000 < until else None

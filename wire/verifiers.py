r"""Password verifiers of roles: SCRAM-SHA-256 verifiers, and md5 digests for clients that support nothing newer.

A verifier lets the server check a password without storing it: `SCRAM-SHA-256$4096:<salt>$<stored key>:<server key>`,
as PostgreSQL writes it. Verifiers can therefore be copied between PostgreSQL and Sluice, and `psql`'s \password, which
makes one itself, works. The arithmetic is scramp's (RFC 5802, RFC 7677).

A role that does not exist, or has no such verifier, has a `stand_in`. It is made from the role's name and a secret, so
it shows the same salt at each attempt, on every member, and an attacker does not learn which roles exist.

Source: PostgreSQL 15, 21.5 "Password Authentication"; crypt.c (get_password_type, encrypt_password), auth-scram.c
(mock_scram_secret).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from typing import Final, Literal

from wire.dataclass import dataclass
from wire.errors import InvalidParameterValue

Encryption = Literal["scram-sha-256", "md5"]
_ITERATIONS: Final = 4096
_SALT_BYTES: Final = 16
#: The maximum number of iterations. With more, anyone who sends a password to be checked against the verifier would
#: keep a processor busy for a second or longer. The number is OWASP's recommendation for PBKDF2 with SHA-256.
ITERATIONS_MAX: Final = 600_000
#: The minimum that scramp accepts, and the maximum that is sent during a login.
_SALT_BYTES_MIN, _SALT_BYTES_MAX = 12, 1024
_KEY_BYTES: Final = 32
_SCRAM: Final = re.compile(r"SCRAM-SHA-256\$([1-9]\d{0,8}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+):([A-Za-z0-9+/=]+)")
_MD5: Final = re.compile(r"md5[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class ScramVerifier:
    """A SCRAM-SHA-256 verifier. salt, stored_key, server_key: as in RFC 5802."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    def __str__(self) -> str:
        salt, stored, server = (base64.b64encode(b).decode() for b in (self.salt, self.stored_key, self.server_key))
        return f"SCRAM-SHA-256${self.iterations}:{salt}${stored}:{server}"

    @classmethod
    def read(cls, text: str) -> ScramVerifier | None:
        """Parse a verifier; None for any other text."""
        match = _SCRAM.fullmatch(text)
        if match is None:
            return None
        try:
            salt, stored, server = (base64.b64decode(part, validate=True) for part in match.groups()[1:])
        except binascii.Error:
            return None
        if len(stored) != _KEY_BYTES or len(server) != _KEY_BYTES:
            return None
        return cls(salt, int(match[1]), stored, server)

    @classmethod
    def of(cls, password: str, salt: bytes | None = None, iterations: int = _ITERATIONS) -> ScramVerifier:
        """Make the verifier of a password. salt: random if not given. Raises InvalidParameterValue for a password that
        SASLprep forbids.
        """
        # Imported late: scramp imports a reader of certificates, which a member whose clients are trusted does not
        # need.
        from scramp import ScramException, ScramMechanism

        try:
            made = ScramMechanism("SCRAM-SHA-256").make_auth_info(
                password, iterations, salt or secrets.token_bytes(_SALT_BYTES)
            )
        except ScramException as error:
            raise InvalidParameterValue(
                "password cannot be used", detail=f"SASLprep (RFC 4013) refuses it: {error.args[0]}."
            ) from None
        used, stored, server, count = made
        return cls(used, count, stored, server)


def make_verifier(password: str, role: str, encryption: Encryption) -> str:
    """Return the verifier to store for a password, which may be a verifier already. Raises InvalidParameterValue."""
    scram = ScramVerifier.read(password)
    if scram is not None and (scram.iterations < _ITERATIONS or len(scram.salt) < _SALT_BYTES_MIN):
        raise InvalidParameterValue(
            "SCRAM verifier is too weak",
            detail=f"Expected {_ITERATIONS} iterations and {_SALT_BYTES_MIN} bytes of salt at least.",
        )
    if scram is not None and is_too_costly(scram):
        raise InvalidParameterValue(
            "SCRAM verifier is too costly",
            detail=f"Expected {ITERATIONS_MAX} iterations and {_SALT_BYTES_MAX} bytes of salt at most.",
        )
    if scram is not None or is_md5(password):
        return password
    return md5_digest(password, role) if encryption == "md5" else str(ScramVerifier.of(password))


def md5_digest(password: str, role: str) -> str:
    return "md5" + _md5(password.encode() + role.encode())


def md5_answer(digest: str, salt: bytes) -> str:
    """Return the answer of a client that knows the password from which `digest` was made."""
    return "md5" + _md5(digest.removeprefix("md5").encode() + salt)


def is_too_costly(verifier: ScramVerifier) -> bool:
    """Return whether a verifier is too costly to check a password against: the role chooses the cost, and this member
    pays for it.
    """
    return verifier.iterations > ITERATIONS_MAX or len(verifier.salt) > _SALT_BYTES_MAX


def is_md5(verifier: str) -> bool:
    return _MD5.fullmatch(verifier) is not None


def proves(verifier: str, role: str, password: str) -> bool:
    """Return whether a verifier was made from this password. Takes up to a second, without the interpreter lock."""
    if is_md5(verifier):
        return hmac.compare_digest(md5_digest(password, role), verifier)
    scram = ScramVerifier.read(verifier)
    if scram is None or is_too_costly(scram):
        return False
    try:
        return hmac.compare_digest(
            ScramVerifier.of(password, scram.salt, scram.iterations).server_key, scram.server_key
        )
    except InvalidParameterValue:
        return False


def stand_in(role: str, secret: bytes) -> ScramVerifier:
    """Return a verifier for a role that has none. No password matches it, and a client cannot distinguish it from a
    real one.
    """
    salt = hmac.digest(secret, role.encode(), "sha256")[:_SALT_BYTES]
    return ScramVerifier(salt, _ITERATIONS, bytes(_KEY_BYTES), bytes(_KEY_BYTES))


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()

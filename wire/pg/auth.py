"""Authentication methods as small state machines: they take the client's messages and return the messages to send,
until access is granted or refused.

A session drives one machine between Startup and AuthenticationOk. The server decides which machine a connection gets
(`server.auth.gate`). The machines use no clock, no socket and no random numbers of their own: nonces and salts are
arguments.

| machine | asks for | the client proves |
|---|---|---|
| Trust | nothing | nothing |
| CleartextPassword | 3 | that it has the password, by saying it |
| Md5Password | 5, four bytes of salt | that it has the digest that the role keeps |
| Scram | 10, mechanisms; 11; 12 | that it has the password, and we that we have its verifier |

The scramp library parses the messages of SCRAM and compares its proofs, with one exception. PostgreSQL takes the user's
name from the startup packet and ignores the name in the first SCRAM message; libpq sends an empty one there, which
scramp refuses. So scramp is given a substitute name, and the original message for the data that both ends sign.

A `doomed` attempt looks like any other and fails at its end. A client that breaks the protocol gets a
ProtocolViolation, which ends its connection and nothing else.

Source: PostgreSQL 15, 55.2.1 "Start-up", 55.3 "SASL Authentication"; auth.c, auth-sasl.c, auth-scram.c. RFC 5802, 5929,
7677.
"""

from __future__ import annotations

import hmac
import re
from typing import TYPE_CHECKING, Final, Protocol

from wire import verifiers
from wire.errors import InvalidAuthorizationSpecification, InvalidPassword, ProtocolViolation
from wire.pg import messages as m
from wire.pg.body import Body
from wire.verifiers import ScramVerifier

if TYPE_CHECKING:
    from scramp import ScramException

#: The messages to send next, in order; if the last one is AuthenticationOk, the client is authenticated.
Step = tuple[m.AuthenticationRequest | m.AuthenticationOk, ...]
PLAIN: Final = "SCRAM-SHA-256"
PLUS: Final = "SCRAM-SHA-256-PLUS"
_GRANTED: Final[Step] = (m.AuthenticationOk(),)
_CLEARTEXT, _MD5, _SASL_CONTINUE, _SASL_FINAL = 3, 5, 11, 12
_MALFORMED: Final = "malformed SCRAM message"
#: The parts of client-first-message: the channel binding flag, and the user's name.
_FIRST: Final = re.compile(r"(?P<flag>[^,]*),(?P<identity>[^,]*),n=(?P<name>[^,]*),(?P<rest>.*)", re.DOTALL)
_EXTENDED: Final = re.compile(r"[^,]*,[^,]*,m=")
_LAST: Final = re.compile(r"c=[^,]+,r=(?P<nonce>[^,]+),(?:.*,)?p=[^,]+", re.DOTALL)
_ANY_NAME: Final = "-"


class Authentication(Protocol):
    """One authentication attempt of one client. No method is called after AuthenticationOk.

    is_costly: whether `receive` computes for long, so that it must run on a thread where it delays nobody else.
    """

    is_costly: bool

    def begin(self) -> Step:
        """Return the first step, once the startup packet is known."""
        ...

    def receive(self, message: m.PasswordMessage) -> Step:
        """Return the next step. Raises InvalidPassword, InvalidAuthorizationSpecification or ProtocolViolation."""
        ...


def password_failed(user: str) -> InvalidPassword:
    """Return the error for a wrong password, for a role without one, and for a role that does not exist."""
    return InvalidPassword(f'password authentication failed for user "{user}"')


class Trust:
    """The method that accepts every client as the role that it names, either without a proof or because it has proved
    its identity already.
    """

    is_costly = False

    def begin(self) -> Step:
        return _GRANTED

    def receive(self, message: m.PasswordMessage) -> Step:
        raise AssertionError(f"a trusted client was not asked for {type(message).__name__}")


class CleartextPassword:
    """The password in clear text. verifier: the role's, or a stand-in's."""

    is_costly = True

    def __init__(self, user: str, verifier: str) -> None:
        self._user = user
        self._verifier = verifier

    def begin(self) -> Step:
        return (m.AuthenticationRequest(_CLEARTEXT),)

    def receive(self, message: m.PasswordMessage) -> Step:
        password = _password(message)
        if not verifiers.proves(self._verifier, self._user, password):
            raise password_failed(self._user)
        return _GRANTED


class Md5Password:
    """PostgreSQL's md5 method. digest: the one that the role keeps. salt: four random bytes."""

    is_costly = False

    def __init__(self, user: str, digest: str, salt: bytes, *, doomed: bool = False) -> None:
        self._user = user
        self._salt = salt
        self._expected = verifiers.md5_answer(digest, salt)
        self._doomed = doomed

    def begin(self) -> Step:
        return (m.AuthenticationRequest(_MD5, self._salt),)

    def receive(self, message: m.PasswordMessage) -> Step:
        if not hmac.compare_digest(_password(message).encode(), self._expected.encode()) or self._doomed:
            raise password_failed(self._user)
        return _GRANTED


class Scram:
    """SCRAM-SHA-256. verifier: the role's, or the stand-in's of a doomed attempt. certificate: the server certificate
    of the TLS handshake, as PEM; None if there is no channel to bind. nonce: random printable characters.
    """

    is_costly = False

    def __init__(
        self, user: str, verifier: ScramVerifier, *, certificate: str | None, nonce: str, doomed: bool = False
    ) -> None:
        self._user = user
        self._verifier = verifier
        self._binding = ("tls-server-end-point", certificate) if certificate is not None else None
        self._nonce = nonce
        self._doomed = doomed
        self._exchange: _Exchange | None = None

    def begin(self) -> Step:
        names = (PLUS, PLAIN) if self._binding is not None else (PLAIN,)
        return (m.AuthenticationRequest(m.SASL, b"".join(name.encode() + b"\0" for name in names) + b"\0"),)

    def receive(self, message: m.PasswordMessage) -> Step:
        if self._exchange is None:
            mechanism, first = _initial_response(message)
            self._exchange = _Exchange(self._verifier, mechanism, self._binding, self._nonce)
            if first is None:
                # A client may choose a mechanism before it sends a message of it.
                return (m.AuthenticationRequest(_SASL_CONTINUE),)
            return self._begin(first)
        if not self._exchange.begun:
            return self._begin(message.data)
        return self._end(message.data)

    def _begin(self, first: bytes) -> Step:
        assert self._exchange is not None
        return (m.AuthenticationRequest(_SASL_CONTINUE, self._exchange.first(_text(first))),)

    def _end(self, last: bytes) -> Step:
        assert self._exchange is not None
        signature = self._exchange.last(_text(last))
        if signature is None or self._doomed:
            raise password_failed(self._user)
        return m.AuthenticationRequest(_SASL_FINAL, signature), m.AuthenticationOk()


class _Exchange:
    """The messages of one SCRAM exchange, which scramp parses and makes."""

    def __init__(self, verifier: ScramVerifier, mechanism: str, binding: tuple[str, str] | None, nonce: str) -> None:
        # Imported late: scramp imports a reader of certificates, which a member whose clients are trusted does not
        # need.
        from scramp import ScramMechanism

        if mechanism not in (PLAIN, *((PLUS,) if binding is not None else ())):
            raise ProtocolViolation("client selected an invalid SASL authentication mechanism")
        known = (verifier.salt, verifier.stored_key, verifier.server_key, verifier.iterations)
        self.begun = False
        self._bound = mechanism == PLUS
        self._offered = binding is not None
        self._server = ScramMechanism(mechanism).make_server(
            lambda _name: known, channel_binding=binding, s_nonce=nonce
        )

    def first(self, text: str) -> bytes:
        """Return the server-first-message. Raises ProtocolViolation, InvalidAuthorizationSpecification."""
        from scramp import ScramException

        match = _FIRST.fullmatch(text)
        if match is None:
            raise _unlike_a_first(text)
        self._check_flag(match["flag"])
        if match["identity"]:
            raise ProtocolViolation("client uses authorization identity, but it is not supported", sqlstate="0A000")
        try:
            self._server.set_client_first(f"{match['flag']},,n={_ANY_NAME},{match['rest']}")
            self._server.client_first_bare = f"n={match['name']},{match['rest']}"
            self.begun = True
            return str(self._server.get_server_first()).encode()
        except ScramException as error:
            if "invalid characters" in error.args[0]:
                raise ProtocolViolation("non-printable characters in SCRAM nonce") from None
            raise _malformed_error(error) from None

    def _check_flag(self, flag: str) -> None:
        """Check the gs2-cbind-flag against the mechanism (auth-scram.c, read_client_first_message)."""
        if flag == "n" and self._bound:
            raise ProtocolViolation(
                _MALFORMED,
                detail=f"The client selected {PLUS}, but the SCRAM message does not include channel binding data.",
            )
        if flag == "y" and self._offered:
            raise InvalidAuthorizationSpecification(
                "SCRAM channel binding negotiation error",
                detail="The client supports SCRAM channel binding but thinks the server does not.  However, this server "
                "does support channel binding.",
            )
        if flag.startswith("p=") and not self._bound:
            raise ProtocolViolation(
                _MALFORMED,
                detail=f"The client selected {PLAIN} without channel binding, but the SCRAM message includes channel "
                "binding data.",
            )
        if flag.startswith("p=") and flag != "p=tls-server-end-point":
            raise ProtocolViolation(f'unsupported SCRAM channel-binding type "{flag[2:]}"')

    def last(self, text: str) -> bytes | None:
        """Return the server-final-message; None if the client's proof is wrong. Raises as `first`."""
        from scramp import ScramException
        from scramp.utils import ServerError

        match = _LAST.fullmatch(text)
        if match is not None and match["nonce"] != str(self._server.nonce):
            raise ProtocolViolation("invalid SCRAM response", detail="Nonce does not match.")
        try:
            self._server.set_client_final(text)
            return str(self._server.get_server_final()).encode()
        except ScramException as error:
            # A proof whose length differs from a key's raises an error with a cause.
            if error.server_error is ServerError.INVALID_PROOF and error.__cause__ is None:
                return None
            if error.server_error is ServerError.CHANNEL_BINDINGS_DONT_MATCH:
                raise _channel_binding_error(self._bound) from None
            raise _malformed_error(error) from None


def _malformed_error(error: ScramException) -> ProtocolViolation:
    return ProtocolViolation(_MALFORMED, detail=f"{error.args[0].removesuffix('.')}.")


def _unlike_a_first(text: str) -> ProtocolViolation:
    if not text:
        return ProtocolViolation(_MALFORMED, detail="The message is empty.")
    if _EXTENDED.match(text):
        return ProtocolViolation("client requires an unsupported SCRAM extension", sqlstate="0A000")
    return ProtocolViolation(
        _MALFORMED, detail="It does not begin with a channel binding flag, an identity and a user's name."
    )


def _channel_binding_error(bound: bool) -> InvalidAuthorizationSpecification | ProtocolViolation:
    """Return the error for a c= attribute that does not match. bound: whether the client selected the mechanism with
    channel binding.
    """
    if bound:
        return InvalidAuthorizationSpecification("SCRAM channel binding check failed")
    return ProtocolViolation("unexpected SCRAM channel-binding attribute in client-final-message")


def _initial_response(message: m.PasswordMessage) -> tuple[str, bytes | None]:
    """Parse a SASLInitialResponse. Returns the mechanism and the initial client response, if there is one."""
    body = Body(message.data, "UTF8")
    mechanism, length = body.string_bytes().decode("ascii", "replace"), body.int32()
    first = body.rest()
    if length == -1 and not first:
        return mechanism, None
    if length < 0 or length > len(first):
        raise ProtocolViolation("insufficient data left in message")
    if length < len(first):
        raise ProtocolViolation("invalid message format")
    return mechanism, first


def _text(data: bytes) -> str:
    if b"\0" in data:
        raise ProtocolViolation(_MALFORMED, detail="Message length does not match input length.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolViolation(_MALFORMED, detail="The message is not UTF-8.") from None


def _password(message: m.PasswordMessage) -> str:
    """Return the password of the message. Raises ProtocolViolation, and InvalidPassword for an empty one (auth.c,
    recv_password_packet).
    """
    data = message.data
    if not data.endswith(b"\0") or b"\0" in data[:-1]:
        raise ProtocolViolation("invalid password packet size")
    if data == b"\0":
        raise InvalidPassword("empty password returned by client")
    # A password that is not UTF-8 never matches.
    return data[:-1].decode("utf-8", "replace")

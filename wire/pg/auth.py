"""Authentication as small machines: what a client sends in, what to send back out, until it is granted or refused.

A session drives one between Startup and AuthenticationOk. `Trust` asks for nothing. A mechanism with challenges (SCRAM)
is another class with the same two methods; which one a connection gets is the server's decision.

Source: PostgreSQL 15, 55.2.1 "Start-up".
"""

from __future__ import annotations

from typing import Protocol

from wire.pg import messages as m

Step = m.AuthenticationRequest | m.AuthenticationOk


class Authentication(Protocol):
    """One attempt of one client. After AuthenticationOk nothing more is called."""

    def begin(self) -> Step:
        """The first step, once the startup packet is known."""
        ...

    def receive(self, message: m.PasswordMessage) -> Step:
        """The next step. Raises InvalidPassword, InvalidAuthorizationSpecification or ProtocolViolation."""
        ...


class Trust:
    """Whoever comes is who they say."""

    def begin(self) -> Step:
        return m.AuthenticationOk()

    def receive(self, message: m.PasswordMessage) -> Step:
        raise AssertionError(f"a trusted client was not asked for {type(message).__name__}")

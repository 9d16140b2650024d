"""Authentication machines with arbitrary bytes: they grant nothing, and fail with an error that ends the connection."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import FatalError
from wire.pg import messages as m
from wire.pg.auth import Authentication, CleartextPassword, Md5Password, Scram
from wire.verifiers import ScramVerifier, md5_digest, stand_in

_VERIFIER = ScramVerifier.of("right", b"0123456789abcdef")
_FIRST = b"SCRAM-SHA-256\0" + struct.pack("!i", 11) + b"n,,n=,r=abc"

#: Pieces that messages are made of, in any sequence.
_PIECES = st.lists(
    st.sampled_from([b"n,,", b"y,,", b"p=tls-server-end-point,,", b"n=", b"r=abc", b"r=abcnonce", b",", b"c=biws", b"p=AAAA",
                     b"m=x", b"a=", b"\0", b"\xff", b"SCRAM-SHA-256", b"\0\0\0\x0b", b"\xff\xff\xff\xff", b"="]),
    max_size=8,
).map(b"".join)  # fmt: skip
_BYTES = st.one_of(_PIECES, st.binary(max_size=64))


def _feed(machine: Authentication, messages: list[bytes]) -> None:
    machine.begin()
    for data in messages:
        step = machine.receive(m.PasswordMessage(data))
        assert not any(isinstance(message, m.AuthenticationOk) for message in step)


@given(st.lists(_BYTES, max_size=3), st.booleans(), st.booleans())
def test_scram(messages: list[bytes], begun: bool, doomed: bool) -> None:
    machine = Scram("ann", _VERIFIER, certificate=None, nonce="nonce", doomed=doomed)
    with suppress(FatalError):
        _feed(machine, [*([_FIRST] if begun else []), *messages])


@given(_BYTES)
def test_passwords(data: bytes) -> None:
    digest = md5_digest("right", "ann")
    for machine in (
        CleartextPassword("ann", digest),
        Md5Password("ann", digest, b"salt"),
        CleartextPassword("ann", str(stand_in("ann", b"secret"))),
    ):
        with pytest.raises(FatalError):
            _feed(machine, [data])


@given(st.text(max_size=12), st.binary(min_size=1, max_size=16))
def test_a_stand_in_is_the_same_each_time_and_nobodys(name: str, secret: bytes) -> None:
    made = stand_in(name, secret)
    assert made == stand_in(name, secret)
    assert ScramVerifier.read(str(made)) == made

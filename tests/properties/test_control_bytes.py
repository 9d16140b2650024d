"""Arbitrary bytes from a peer on a control connection give events, a request for more bytes, or a refusal; never
anything else.
"""

from __future__ import annotations

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as some

from wire.mesh.control_channel import ControlChannel, Introduced, State
from wire.mesh.control_messages import Goodbye, Heartbeat, Hello, Identity, Proof, Start, Welcome, encode
from wire.mesh.framing import PREFACE, RemoteProtocolError, frame
from wire.mesh.messages import VERSION

ANN = Identity("ann", "a1", "127.0.0.1:1", "127.0.0.1:2", "data", "0.1")
BOB = Identity("bob", "b1", "127.0.0.1:3", "127.0.0.1:4", "data", "0.1")

MESSAGES = [
    encode(Hello(VERSION, "sluice", b"A" * 32, ANN)),
    encode(Welcome(VERSION, "sluice", b"A" * 32, ANN)),
    encode(Proof(b"x" * 32)),
    encode(Heartbeat(1, False)),
    encode(Goodbye("leave", "")),
    encode(Start("q", ("a", "b")), 4) + b"plan",
]
frames = some.builds(
    lambda kind, header, body: frame(kind, header, len(body)) + body,
    some.integers(60, 80),
    some.binary(max_size=40),
    some.binary(max_size=10),
)
streams = some.lists(some.sampled_from(MESSAGES) | frames | some.binary(max_size=20), max_size=8).map(b"".join)


def conversation(dialled: bool, opened: bool) -> ControlChannel:
    """One end, before or after the handshake."""
    one = ControlChannel(ANN, "sluice", b"s", b"A" * 32, dialled=True)
    other = ControlChannel(BOB, "sluice", b"s", b"B" * 32, dialled=False)
    if opened:
        said, here, there = one.opening_bytes(), one, other
        while said:
            answer = b""
            for event in there.receive_data(said):
                answer += there.proceed() if isinstance(event, Introduced) else b""
            said, here, there = answer + there.answers(), there, here
    return one if dialled else other


@settings(max_examples=400, deadline=None)
@given(streams, some.booleans(), some.booleans(), some.lists(some.integers(1, 50), max_size=20))
def test_any_bytes(stream: bytes, dialled: bool, opened: bool, cuts: list[int]) -> None:
    channel = conversation(dialled, opened)
    if not dialled and not opened:
        stream = PREFACE + stream
    with suppress(RemoteProtocolError):
        while stream:
            size = cuts.pop() if cuts else len(stream)
            for event in channel.receive_data(stream[:size]):
                if isinstance(event, Introduced):
                    channel.goodbye("name", "whoever you are")
            channel.answers()
            stream = stream[size:]
    assert opened or channel.state is not State.OPEN


@settings(max_examples=200, deadline=None)
@given(some.data())
def test_a_handshake_with_any_byte_changed_does_not_open(data: some.DataObject) -> None:
    """Unless nobody looks at the byte: the lengths and the encoding leave no such byte in what is proved."""
    one = ControlChannel(ANN, "sluice", b"s", b"A" * 32, dialled=True)
    other = ControlChannel(BOB, "sluice", b"s", b"B" * 32, dialled=False)
    step = data.draw(some.integers(0, 3))
    said, ends = one.opening_bytes(), (other, one)
    with suppress(RemoteProtocolError):
        for number in range(4):
            if number == step:
                at = data.draw(some.integers(0, len(said) - 1))
                said = said[:at] + bytes([said[at] ^ data.draw(some.integers(1, 255))]) + said[at + 1 :]
            there, answer = ends[number % 2], b""
            for event in there.receive_data(said):
                answer += there.proceed() if isinstance(event, Introduced) else b""
            said = answer + there.answers()
    assert one.state is not State.OPEN

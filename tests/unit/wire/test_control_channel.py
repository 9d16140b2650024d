"""The control connection's state machine: the handshake authenticates both ends, and everything else is refused with a
reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import pytest

from wire.mesh import control_channel
from wire.mesh.control_channel import ControlChannel, ControlEvent, Established, Introduced, Received, Refused, State
from wire.mesh.control_messages import (
    Cancel,
    Check,
    ControlMessage,
    Goodbye,
    Heartbeat,
    Hello,
    Identity,
    Members,
    Proof,
    Start,
    Welcome,
    encode,
)
from wire.mesh.framing import PREFACE, LocalProtocolError, RemoteProtocolError, frame
from wire.mesh.messages import VERSION

SECRET = b"correct horse"
ANN = Identity("ann", "a1", "127.0.0.1:1", "127.0.0.1:2", "data", "0.1")
BOB = Identity("bob", "b1", "127.0.0.1:3", "127.0.0.1:4", "lite", "0.1")


def dialler(secret: bytes = SECRET, cluster: str = "sluice", identity: Identity = ANN) -> ControlChannel:
    return ControlChannel(identity, cluster, secret, b"A" * 32, dialled=True)


def acceptor(secret: bytes = SECRET, cluster: str = "sluice", identity: Identity = BOB) -> ControlChannel:
    return ControlChannel(identity, cluster, secret, b"B" * 32, dialled=False)


@dataclass
class End:
    """A channel with an owner that takes whoever comes."""

    channel: ControlChannel
    events: list[ControlEvent] = field(default_factory=list)

    def hear(self, data: bytes) -> bytes:
        said = b""
        for event in self.channel.receive_data(data):
            self.events.append(event)
            if isinstance(event, Introduced):
                said += self.channel.proceed()
        return said + self.channel.answers()


def met(one: ControlChannel, other: ControlChannel) -> tuple[End, End]:
    """The handshake, byte by byte."""
    ends = (End(one), End(other))
    said, turn = one.opening_bytes(), 1
    while said:
        said = b"".join(ends[turn].hear(said[i : i + 1]) for i in range(len(said)))
        turn = 1 - turn
    return ends


def test_both_ends_prove_themselves() -> None:
    one, other = met(dialler(), acceptor())
    assert one.events == [Introduced(BOB), Established()]
    assert other.events == [Introduced(ANN)]
    assert (one.channel.state, other.channel.state) == (State.OPEN, State.OPEN)


@pytest.mark.parametrize("end", [dialler, acceptor])
def test_there_is_no_connection_without_a_secret(end: Callable[[bytes], ControlChannel]) -> None:
    with pytest.raises(AssertionError, match="without one there is no connection"):
        end(b"")


def test_messages_pass_both_ways() -> None:
    one, other = met(dialler(), acceptor())
    body = b"plan" * 100_000
    said: list[tuple[ControlMessage, bytes]] = [
        (Start("ann:1", ("ann", "bob")), body), (Cancel("ann:1", "ann", "57014", "canceled"), b""), (Heartbeat(3, True), b""),
        (Members((ANN, BOB)), b""), (Check(("ann:1",)), b""),
    ]  # fmt: skip
    for here, there in ((one, other), (other, one)):
        there.events.clear()
        there.hear(b"".join(part for message, more in said for part in here.channel.send(message, more)))
        assert there.events == [Received(message, bytearray(more)) for message, more in said]


def test_a_start_names_a_thousand_members_of_the_longest_names() -> None:
    one, other = met(dialler(), acceptor())
    names = tuple(f"{number:04}{'x' * 59}" for number in range(1000))
    start = Start(f"{names[0]}:{1 << 62}", names)
    other.hear(b"".join(one.channel.send(start, b"plan")))
    assert other.events[-1] == Received(start, bytearray(b"plan"))


def test_goodbye_is_the_end() -> None:
    one, other = met(dialler(), acceptor())
    other.hear(one.channel.goodbye("leave", "done") + b"whatever comes then")
    assert other.events[-1] == Received(Goodbye("leave", "done"), bytearray())
    assert other.channel.state is one.channel.state is State.CLOSED
    assert one.channel.goodbye("leave", "again") == b""
    with pytest.raises(LocalProtocolError, match="closed"):
        one.channel.send(Heartbeat(0, False))


@pytest.mark.parametrize(
    ("one", "other", "reason", "told"),
    [
        (dialler(b"guess"), acceptor(), "secret", "ann does not know the secret of cluster sluice"),
        (dialler(b"\1"), acceptor(), "secret", "ann does not know"),
        (dialler(cluster="prod"), acceptor(), "cluster", "ann belongs to cluster prod"),
    ],
)
def test_who_does_not_belong_is_refused(one: ControlChannel, other: ControlChannel, reason: str, told: str) -> None:
    with pytest.raises(Refused, match=told) as refused:
        met(one, other)
    assert refused.value.reason == reason
    assert State.OPEN not in (one.state, other.state)
    answer = End(one)
    answer.hear(other.goodbye(refused.value.reason, str(refused.value)))
    assert isinstance(answer.events[-1], Received)
    assert one.state is State.CLOSED


def test_another_version_is_refused() -> None:
    hello = Hello(VERSION + 1, "sluice", b"A" * 32, ANN)
    with pytest.raises(Refused, match=f"ann speaks version {VERSION + 1} of the protocol") as refused:
        End(acceptor()).hear(PREFACE + encode(hello))
    assert refused.value.reason == "version"


def test_a_false_acceptor_is_refused() -> None:
    """It answers without knowing the secret; all it learns is one proof over its own nonce."""
    one, false = dialler(), acceptor(b"guess")
    welcome = End(false).hear(one.opening_bytes())
    End(one).hear(welcome)
    assert one.state is State.PROVING
    with pytest.raises(Refused, match="bob does not know the secret"):
        End(one).hear(encode(Proof(b"x" * 32)))


def test_a_proof_is_of_no_use_elsewhere() -> None:
    """Neither sent back to its maker, nor in another conversation, nor for another address."""
    one, other = dialler(), acceptor()
    proof = End(one).hear(End(other).hear(one.opening_bytes()))
    with pytest.raises(Refused):
        End(one).hear(proof)
    fresh = ControlChannel(BOB, "sluice", SECRET, b"C" * 32, dialled=False)
    End(fresh).hear(dialler().opening_bytes())
    with pytest.raises(Refused):
        End(fresh).hear(proof)
    moved = acceptor()
    End(moved).hear(dialler(identity=msgspec.structs.replace(ANN, mesh="10.0.0.1:1")).opening_bytes())
    with pytest.raises(Refused):
        End(moved).hear(proof)


HELLO = encode(Hello(VERSION, "sluice", b"A" * 32, ANN))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "does not speak the member protocol"),
        (PREFACE + HELLO + HELLO, "Hello while answered"),
        (PREFACE + encode(Proof(b"")), "Proof while called"),
        (PREFACE + encode(Heartbeat(0, False)), "Heartbeat while called"),
        (PREFACE + HELLO + encode(Start("q", ("a",))), "Start while answered"),
        (PREFACE + encode(Welcome(VERSION, "sluice", b"A" * 32, ANN)), "Welcome while called"),
        (PREFACE + frame(64, b"\x01"), "malformed message 64"),
        (PREFACE + frame(99, b""), "unknown message 99"),
        (PREFACE + frame(64, b"\0" * 4097), "a header of 4097 bytes where 4096 are allowed"),
        (PREFACE + frame(70, b"", 1 << 20), "a body of 1048576 bytes where 0 are allowed"),
        (PREFACE + encode(Hello(VERSION, "sluice", b"short", ANN)), "malformed message 64"),
        (PREFACE + encode(Hello(VERSION, "sl\nuice", b"A" * 32, ANN)), "malformed message 64"),
    ],
)  # fmt: skip
def test_what_a_stranger_says_is_refused(said: bytes, told: str) -> None:
    with pytest.raises(RemoteProtocolError, match=told):
        End(acceptor()).hear(said)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (HELLO, "Hello while open"),
        (frame(71, b""), "malformed message 71"),
        (frame(50, b""), "unknown message 50"),
        (frame(1, b""), "unknown message 1"),
        (frame(70, b"", (64 << 20) + 1), "a body of 67108865 bytes"),
        (encode(Heartbeat(1, False), 3) + b"abc", "Heartbeat with a body"),
    ],
)
def test_what_a_member_must_not_say(said: bytes, told: str) -> None:
    _, other = met(dialler(), acceptor())
    with pytest.raises(RemoteProtocolError, match=told):
        other.hear(said)


def test_what_we_must_not_do() -> None:
    one, _ = met(dialler(), acceptor())
    with pytest.raises(LocalProtocolError, match="proceeded while open"):
        one.channel.proceed()
    with pytest.raises(LocalProtocolError, match="with a body of"):
        one.channel.send(Heartbeat(0, False), b"x")
    with pytest.raises(LocalProtocolError, match="with a body of"):
        one.channel.send(Start("q", ()), bytes(control_channel.BODY_BYTES_MAX + 1))
    with pytest.raises(LocalProtocolError, match="65535 are allowed"):
        one.channel.send(Cancel("q", "ann", "XX000", "x" * 70_000))
    with pytest.raises(LocalProtocolError, match="while calling"):
        dialler().send(Heartbeat(0, False))

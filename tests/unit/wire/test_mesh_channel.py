"""A data connection's state machines and framing: what is allowed, and what is refused before it costs anything."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from wire.errors import About
from wire.mesh.backlog import Backlog
from wire.mesh.channel import BatchArrived, DataReceiver, DataSender, State, VersionMismatch
from wire.mesh.error_fields import ErrorFields
from wire.mesh.framing import PREFACE, Frame, FrameReader, LocalProtocolError, RemoteProtocolError, frame
from wire.mesh.messages import VERSION, Batch, Cancel, Deny, FlowControl, Message, Ok, Open, Oversize, decode, encode

OPENING = Open(VERSION, "channel", b"token", 0, 2, 3, 4, b"schema")
LASTING = Open(VERSION, "channel", b"token", 0, 2, 3, 4, b"schema", 0)
MESSAGES: list[Message] = [
    OPENING,
    LASTING,
    Ok(10, 10),
    Ok(10, 10, 3, 5),
    Deny("unknown", "no such channel"),
    Batch(0, 2, 3, 5, True, 7),
    Oversize(99),
    FlowControl(1 << 40),
    FlowControl(1 << 40, 7),
    Cancel("22012", "division by zero"),
    Cancel(
        "23505", "duplicate key", "Key (a)=(1) already exists.", "", ErrorFields(3, "COPY t, line 3", About("s", "t"))
    ),
]


def opened(window: int = 100) -> tuple[DataSender, DataReceiver]:
    sender, receiver = DataSender(OPENING), DataReceiver()
    list(receiver.receive_data(sender.opening_bytes()))
    sender.receive_data(receiver.accept(window))
    return sender, receiver


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: type(m).__name__)
def test_messages_survive_the_wire(message: Message) -> None:
    [item] = FrameReader(preface=False).feed(encode(message))
    assert decode(item.kind, item.header) == message


def test_a_member_that_knows_no_fields_of_errors_is_understood() -> None:
    [item] = FrameReader(preface=False).feed(encode(Cancel("22012", "division by zero")))
    older = msgspec.msgpack.encode(("22012", "division by zero", "", ""))
    assert decode(item.kind, older) == Cancel("22012", "division by zero")


def test_a_member_that_does_not_count_batches_is_understood() -> None:
    [item] = FrameReader(preface=False).feed(encode(Ok(10, 10)))
    backlog = Backlog(keeps=True)
    sender = DataSender(LASTING, backlog)
    older = msgspec.msgpack.encode((10, 10))
    assert sender.receive_data(frame(item.kind, older)) == [Ok(10, 10)]
    assert sender.offer(b"x", 1)
    assert not backlog.keeps
    assert (backlog.first, backlog.offered_count) == (1, 1)


def test_frames_are_found_however_the_bytes_are_cut() -> None:
    stream = PREFACE + frame(1, b"head", 5) + b"body!" + frame(2, b"")
    for step in range(1, len(stream) + 1):
        reader = FrameReader(preface=True, body_limit=5)
        found = [f for at in range(0, len(stream), step) for f in reader.feed(stream[at : at + step])]
        assert [(f.kind, bytes(f.header), bytes(f.body)) for f in found] == [(1, b"head", b"body!"), (2, b"", b"")]
        assert not reader.amid_frame


def test_bodies_are_received_in_place() -> None:
    reader = FrameReader(preface=False, body_limit=1000)
    stream = frame(1, b"h", 300) + b"x" * 300
    found: list[Frame] = []
    while stream:
        buffer = reader.buffer()[:20]
        count = min(len(buffer), len(stream))
        buffer[:count], stream = stream[:count], stream[count:]
        found += reader.buffer_updated(count)
    assert [bytes(f.body) for f in found] == [b"x" * 300]


def test_another_protocol_is_refused_at_its_first_bytes() -> None:
    with pytest.raises(RemoteProtocolError, match="does not speak"):
        list(DataReceiver().receive_data(b"GET / HTTP/1.1\r\n"))


def test_a_body_is_refused_before_it_is_allocated() -> None:
    _, receiver = opened(window=100)
    with pytest.raises(RemoteProtocolError, match="4000000000 bytes where 100"):
        list(receiver.receive_data(encode(Batch(0, 2, 3, 1, False, 0), 4_000_000_000)))


@settings(deadline=None)
@given(some.binary(max_size=200))
def test_no_bytes_do_harm(data: bytes) -> None:
    receiver = DataReceiver()
    try:
        events = list(receiver.receive_data(PREFACE + data))
    except RemoteProtocolError:
        return
    assert all(isinstance(event, Open | Cancel) for event in events)


def test_another_version_is_told_so() -> None:
    sender = DataSender(msgspec.structs.replace(OPENING, version=VERSION + 1))
    receiver = DataReceiver()
    with pytest.raises(VersionMismatch):
        list(receiver.receive_data(sender.opening_bytes()))
    [event] = sender.receive_data(receiver.deny("version", "1 is spoken"))
    assert event == Deny("version", "1 is spoken")
    assert sender.state is State.CLOSED


def test_exactly_one_batch_is_pending() -> None:
    sender, receiver = opened(window=10)
    list(receiver.receive_data(b"".join(sender.offer(b"x" * 10, 1))))
    assert sender.offer(b"y" * 10, 1) == ()
    assert sender.has_pending
    with pytest.raises(LocalProtocolError):
        sender.offer(b"z", 1)
    sender.receive_data(receiver.release(10))
    assert b"".join(sender.send_pending()).endswith(b"y" * 10)


def test_a_batch_larger_than_the_window_passes_alone() -> None:
    sender, receiver = opened(window=10)
    list(receiver.receive_data(b"".join(sender.offer(b"x" * 10, 1))))
    announced = b"".join(sender.offer(b"y" * 1000, 1))
    list(receiver.receive_data(announced))
    assert receiver.answers() == b"", "not while another is held"
    sender.receive_data(receiver.release(10))
    [event] = receiver.receive_data(b"".join(sender.send_pending()))
    assert event == BatchArrived(bytearray(b"y" * 1000), 1, False, 1000)


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (encode(Batch(0, 2, 9, 1, False, 0), 1) + b"x", "another stream"),
        (encode(Batch(0, 2, 3, 0, False, 0)), "do not fit"),
        (encode(Batch(0, 2, 3, 5, True, 0)), "do not fit"),
        (encode(Batch(0, 2, 3, 1, False, 1000), 1) + b"x", "more credit"),
        (encode(Oversize(5)), "fits the window"),
        (encode(Oversize(500), 1) + b"x", "with a body"),
        (encode(OPENING), "while open"),
        (encode(FlowControl(5)), "while open"),
        (frame(9, b"\x90"), "unknown message"),
        (frame(4, b"\x90"), "malformed message"),
        (frame(4, b"\xff\xff"), "malformed message"),
    ],
)
def test_a_sender_that_breaks_the_rules_is_refused(bad: bytes, what: str) -> None:
    _, receiver = opened()
    with pytest.raises(RemoteProtocolError, match=what):
        list(receiver.receive_data(bad))


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (FlowControl(1), "went back"),
        (Ok(5, 5), "while open"),
        (Deny("closed", ""), "while open"),
        (OPENING, "while open"),
    ],
)
def test_a_receiver_that_breaks_the_rules_is_refused(bad: Message, what: str) -> None:
    sender, _ = opened()
    with pytest.raises(RemoteProtocolError, match=what):
        sender.receive_data(encode(bad))


def test_nothing_follows_the_last_batch() -> None:
    sender, receiver = opened()
    [event] = receiver.receive_data(b"".join(sender.offer(b"x", 1, last=True)))
    assert isinstance(event, BatchArrived)
    assert event.last
    with pytest.raises(LocalProtocolError):
        sender.offer(b"y", 1)
    with pytest.raises(RemoteProtocolError, match="while done"):
        list(receiver.receive_data(encode(Batch(0, 2, 3, 1, False, 0), 1) + b"y"))


def test_a_stream_goes_on_over_another_connection() -> None:
    backlog = Backlog(keeps=True)
    sender, receiver = DataSender(LASTING, backlog), DataReceiver()
    list(receiver.receive_data(sender.opening_bytes()))
    sender.receive_data(receiver.accept(10))
    list(receiver.receive_data(b"".join(sender.offer(b"1" * 4, 1))))
    sender.offer(b"2" * 4, 1)  # lost with its connection
    assert sender.offer(b"3" * 4, 1) == ()
    sender, receiver = DataSender(LASTING, backlog), DataReceiver()
    list(receiver.receive_data(sender.opening_bytes()))
    sender.receive_data(receiver.accept(10, batches=1, held=4))
    [second] = receiver.receive_data(b"".join(sender.send_pending()))
    assert isinstance(second, BatchArrived)
    assert second.body == b"2" * 4
    assert sender.has_pending, "what the first connection has brought counts"
    sender.receive_data(receiver.release(4) + receiver.release(4))
    assert backlog.first == 2, "grants confirm"
    [third] = receiver.receive_data(b"".join(sender.send_pending()))
    assert isinstance(third, BatchArrived)
    assert third.body == b"3" * 4
    list(receiver.receive_data(b"".join(sender.offer(b"", 0, last=True))))
    assert not sender.is_confirmed
    sender.receive_data(receiver.confirmation())
    assert sender.is_confirmed


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (Ok(10, 10, 1), "1 batches confirmed, 0 sent"),
        (Ok(10, 10, -1), "batch -1 asked for, 0 confirmed"),
        (Ok(10, 10, 0, 11), "11 bytes held of 10 granted"),
        (Ok(10, 10, 0, -1), "-1 bytes held"),
    ],
)
def test_a_receiver_that_counts_wrongly_is_refused(bad: Message, what: str) -> None:
    sender = DataSender(LASTING, Backlog(keeps=True))
    with pytest.raises(RemoteProtocolError, match=what):
        sender.receive_data(encode(bad))


def test_the_senders_own_failure_is_told() -> None:
    sender, receiver = opened()
    [event] = receiver.receive_data(sender.cancel("22003", "value overflows numeric format"))
    assert event == Cancel("22003", "value overflows numeric format")
    assert receiver.state is sender.state is State.CLOSED

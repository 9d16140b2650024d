"""For any bytes from a peer, the connection returns messages, asks for more, or reports a protocol violation."""

from __future__ import annotations

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from wire.errors import CharacterNotInRepertoire, ProtocolViolation
from wire.pg import messages as m
from wire.pg.connection import NEED_DATA, PAUSED, Connection, Limits, Nothing, State

KINDS = b"QPBDECHSXFdcfp"


def idle() -> Connection:
    connection = Connection(Limits(message_bytes_max=1 << 16))
    connection.receive_data(b"\0\0\0\x12\0\3\0\0user\0ann\0\0")
    assert isinstance(connection.next_event(), m.Startup)
    connection.send(m.AuthenticationOk())
    connection.send(m.ReadyForQuery("I"))
    return connection


def answer(connection: Connection) -> None:
    """Send the last message that a session would send, so that the next message may come."""
    if connection.state in (State.SIMPLE, State.SYNCING):
        connection.send(m.ReadyForQuery("I"))


def consume(connection: Connection) -> list[object]:
    """All events until there are none; the last entry says why."""
    events: list[object] = []
    while True:
        try:
            event = connection.next_event()
        except CharacterNotInRepertoire as error:
            events.append(type(error))
            connection.send(m.ErrorResponse.of(error))
            answer(connection)
            continue
        except ProtocolViolation as violation:
            connection.send(m.ErrorResponse.of(violation))
            assert connection.state is State.CLOSED
            return [*events, "broken"]
        if isinstance(event, Nothing):
            return [*events, event]
        events.append(event)
        if isinstance(event, m.SslRequest | m.GssEncRequest):
            connection.send(m.EncryptionAnswer(accepted=False))
        answer(connection)


def framed(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + struct.pack("!i", len(body) + 4) + body


frames = st.builds(framed, st.sampled_from(KINDS), st.binary(max_size=60))


@given(st.binary(max_size=300))
@settings(max_examples=400)
def test_any_bytes_as_a_first_message(data: bytes) -> None:
    connection = Connection()
    connection.receive_data(data)
    last = consume(connection)[-1]
    assert last in (NEED_DATA, PAUSED, "broken")


@given(st.binary(max_size=300))
@settings(max_examples=400)
def test_any_bytes_on_an_idle_connection(data: bytes) -> None:
    connection = idle()
    connection.receive_data(data)
    assert consume(connection)[-1] in (NEED_DATA, PAUSED, "broken")


@given(st.lists(frames, max_size=12))
@settings(max_examples=400)
def test_frames_with_any_body(data: list[bytes]) -> None:
    connection = idle()
    connection.receive_data(b"".join(data))
    assert consume(connection)[-1] in (NEED_DATA, PAUSED, "broken")


@given(st.lists(frames, max_size=8), st.lists(st.integers(1, 40), max_size=40))
@settings(max_examples=300)
def test_how_the_bytes_are_cut_makes_no_difference(data: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(data)
    whole, pieces = idle(), idle()
    whole.receive_data(stream)
    expected = consume(whole)
    events: list[object] = [NEED_DATA]
    at = 0
    for size in [*cuts, len(stream)]:
        pieces.receive_data(stream[at : at + size])
        at += size
        if events[-1] != "broken" and pieces.state is not State.CLOSED:
            events = events[:-1] + consume(pieces)
    assert events == expected


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@given(names, names, st.lists(st.one_of(st.none(), st.binary(max_size=30)), max_size=5), st.sampled_from([0, 1]))
def test_bind_arrives_as_it_was_sent(portal: str, statement: str, values: list[bytes | None], form: int) -> None:
    body = portal.encode() + b"\0" + statement.encode() + b"\0" + struct.pack("!hhh", 1, form, len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    body += struct.pack("!hh", 1, 1 - form)
    connection = idle()
    connection.receive_data(framed(ord("B"), body))
    assert connection.next_event() == m.Bind(portal, statement, (form,), tuple(values), (1 - form,))

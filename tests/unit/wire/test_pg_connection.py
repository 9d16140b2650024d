"""The PostgreSQL connection as a value: bytes in, events out, and the two tables of transitions."""

from __future__ import annotations

import struct

import pytest

from wire.errors import (
    CharacterNotInRepertoire,
    FatalError,
    Notice,
    OutOfMemory,
    ProtocolViolation,
    SqlError,
    UntranslatableCharacter,
)
from wire.pg import messages as m
from wire.pg.connection import (
    NEED_DATA,
    PAUSED,
    RECEIVES,
    SENDS,
    Connection,
    Limits,
    LocalProtocolError,
    State,
    negotiate,
)
from wire.pg.input_budget import InputBudget


def startup(protocol: int = 0x30000, **parameters: str) -> bytes:
    body = struct.pack("!i", protocol)
    for name, value in parameters.items():
        body += name.encode() + b"\0" + value.encode() + b"\0"
    return struct.pack("!i", len(body) + 5) + body + b"\0"


def request(code: int, rest: bytes = b"") -> bytes:
    return struct.pack("!ii", 8 + len(rest), code) + rest


def frame(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def idle(limits: Limits | None = None, budget: InputBudget | None = None) -> Connection:
    connection = Connection(limits, budget)
    connection.receive_data(startup(user="ann", database="sluice"))
    connection.next_event()
    connection.send(m.AuthenticationOk())
    connection.send(m.ReadyForQuery("I"))
    return connection


def test_startup_packet() -> None:
    connection = Connection()
    connection.receive_data(startup(user="ann", database="sluice", TimeZone="UTC"))
    event = connection.next_event()
    assert event == m.Startup((3, 0), {"user": "ann", "database": "sluice", "TimeZone": "UTC"})
    assert connection.state is State.AUTHENTICATING


def test_startup_byte_by_byte() -> None:
    connection = Connection()
    data = startup(user="ann")
    for at in range(len(data) - 1):
        connection.receive_data(data[at : at + 1])
        assert connection.next_event() is NEED_DATA
    connection.receive_data(data[-1:])
    assert isinstance(connection.next_event(), m.Startup)


def test_encryption_is_asked_for_in_sequence() -> None:
    connection = Connection()
    connection.receive_data(request(m.GSSENC_REQUEST_CODE))
    assert connection.next_event() == m.GssEncRequest()
    assert connection.next_event() is PAUSED
    assert connection.send(m.EncryptionAnswer(accepted=False)) == b"N"
    connection.receive_data(request(m.SSL_REQUEST_CODE))
    assert connection.next_event() == m.SslRequest()
    connection.send(m.EncryptionAnswer(accepted=False))
    connection.receive_data(startup(user="ann"))
    assert isinstance(connection.next_event(), m.Startup)


def test_encryption_asked_for_twice_is_taken_for_a_protocol_version() -> None:
    connection = Connection()
    for _ in range(2):
        connection.receive_data(request(m.SSL_REQUEST_CODE))
    connection.next_event()
    connection.send(m.EncryptionAnswer(accepted=False))
    event = connection.next_event()
    assert isinstance(event, m.Startup)
    with pytest.raises(FatalError) as raised:
        negotiate(event)
    assert raised.value.sqlstate == "0A000"
    assert raised.value.message == "unsupported frontend protocol 1234.5679: server supports 3.0 to 3.2"


def test_data_in_the_clear_before_tls_is_refused() -> None:
    connection = Connection()
    connection.receive_data(request(m.SSL_REQUEST_CODE) + startup(user="mallory"))
    connection.next_event()
    with pytest.raises(ProtocolViolation, match="received unencrypted data after SSL request"):
        connection.send(m.EncryptionAnswer(accepted=True))


@pytest.mark.parametrize("key", [b"abcd", bytes(32), bytes(256)])
def test_cancel_request(key: bytes) -> None:
    connection = Connection()
    connection.receive_data(request(m.CANCEL_REQUEST_CODE, struct.pack("!I", 4_000_000_000) + key))
    assert connection.next_event() == m.CancelRequest(4_000_000_000, key)
    assert connection.state is State.CLOSED


@pytest.mark.parametrize("key", [b"", b"abc", bytes(257)])
def test_cancel_request_with_an_absurd_key(key: bytes) -> None:
    connection = Connection()
    connection.receive_data(request(m.CANCEL_REQUEST_CODE, struct.pack("!i", 1) + key))
    with pytest.raises(ProtocolViolation):
        connection.next_event()


@pytest.mark.parametrize(
    ("asked", "agreed", "told"),
    [((3, 0), (3, 0), False), ((3, 1), (3, 0), True), ((3, 2), (3, 2), False), ((3, 9999), (3, 2), True)],
)
def test_protocol_negotiation(asked: tuple[int, int], agreed: tuple[int, int], told: bool) -> None:
    protocol, answer = negotiate(m.Startup(asked, {"user": "ann"}))
    assert protocol == agreed
    assert (answer is not None) is told
    if answer is not None:
        assert answer.encode("UTF8") == frame(b"v", struct.pack("!ii", agreed[0] << 16 | agreed[1], 0))


def test_unknown_protocol_options_are_named() -> None:
    protocol, answer = negotiate(m.Startup((3, 0), {"user": "ann", "_pq_.command_progress": "on"}))
    assert protocol == (3, 0)
    assert answer is not None
    assert answer.encode("UTF8") == frame(b"v", struct.pack("!ii", 3 << 16, 1) + b"_pq_.command_progress\0")


@pytest.mark.parametrize("protocol", [(2, 0), (1, 0), (4, 0), (0, 0)])
def test_other_major_versions(protocol: tuple[int, int]) -> None:
    with pytest.raises(FatalError) as raised:
        negotiate(m.Startup(protocol, {}))
    assert raised.value.sqlstate == "0A000"


@pytest.mark.parametrize("length", [0, 7, 10_001, -1, 2**31 - 1])
def test_startup_packets_of_absurd_length(length: int) -> None:
    connection = Connection()
    connection.receive_data(struct.pack("!i", length))
    with pytest.raises(ProtocolViolation, match="invalid length of startup packet"):
        connection.next_event()


def test_startup_packet_without_its_end() -> None:
    connection = Connection()
    connection.receive_data(request(0x30000, b"user\0ann\0database\0sluice"))
    with pytest.raises(ProtocolViolation, match="invalid startup packet layout"):
        connection.next_event()


MESSAGES = [
    (frame(b"Q", b"select 1\0"), m.Query("select 1")),
    (frame(b"P", b"s\0select $1\0\0\2\0\0\0\x17\0\0\0\0"), m.Parse("s", "select $1", (23, 0))),
    (
        frame(b"B", b"p\0s\0\0\1\0\1\0\2\0\0\0\3abc\xff\xff\xff\xff\0\1\0\1"),
        m.Bind("p", "s", (1,), (b"abc", None), (1,)),
    ),
    (frame(b"D", b"Ss\0"), m.Describe("S", "s")),
    (frame(b"D", b"P\0"), m.Describe("P", "")),
    (frame(b"E", b"p\0\0\0\0\x64"), m.Execute("p", 100)),
    (frame(b"C", b"Pp\0"), m.Close("P", "p")),
    (frame(b"H"), m.Flush()),
    (frame(b"S"), m.Sync()),
    (frame(b"X"), m.Terminate()),
    (
        frame(b"F", b"\0\0\0\7\0\1\0\1\0\2\xff\xff\xff\xff\0\0\0\2ab\0\1"),
        m.FunctionCall(7, (1,), (None, b"ab"), 1),
    ),
    (frame(b"d", b"1\t2\n"), m.CopyData(b"1\t2\n")),
    (frame(b"c"), m.CopyDone()),
    (frame(b"f", b"why \xff\0"), m.CopyFail(b"why \xff")),
]


@pytest.mark.parametrize(("data", "message"), MESSAGES)
def test_messages(data: bytes, message: m.FrontendMessage) -> None:
    connection = idle()
    connection.receive_data(data[:-1])
    assert connection.next_event() is NEED_DATA
    connection.receive_data(data[-1:])
    assert connection.next_event() == message
    assert connection.buffered_bytes == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (frame(b"B", b"p\0s\0\0\0\0\1\0\0\0\x09abc\0\0"), "insufficient data left in message"),
        (frame(b"B", b"p\0s\0\0\0\0\1\xff\xff\xff\xfeabc\0\0"), "insufficient data left in message"),
        (frame(b"Q", b"select 1"), "invalid string in message"),
        (frame(b"Q", b"select 1\0more"), "invalid message format"),
        (frame(b"S", b"x"), "invalid message format"),
        (frame(b"E", b"p\0\0\0"), "insufficient data left in message"),
        (frame(b"P", b"s\0select 1\0\xff\xff"), "insufficient data left in message"),
        (frame(b"D", b"Zs\0"), "invalid DESCRIBE message subtype 90"),
        (frame(b"C", b"\0s\0"), "invalid CLOSE message subtype 0"),
        (b"Q\0\0\0\3", "invalid message length"),
        (b"Q\xff\xff\xff\xff", "invalid message length"),
        (b"Q\x7f\xff\xff\xff", "invalid message length"),
        (b"E" + struct.pack("!i", 10_001), "invalid message length"),
        (b"p\0\0\0\5\0", "invalid frontend message type 112"),
        (b"GET / HTTP/1.1", "invalid frontend message type 71"),
        (b"\0", "invalid frontend message type 0"),
    ],
)
def test_what_is_malformed_breaks_the_connection_and_stays_so(data: bytes, words: str) -> None:
    connection = idle()
    connection.receive_data(data)
    for _ in range(2):
        with pytest.raises(ProtocolViolation, match=words):
            connection.next_event()
    answer = bytes(connection.send(m.ErrorResponse("FATAL", "08P01", words)))
    assert answer.startswith(b"E")
    assert connection.state is State.CLOSED


def test_the_limit_of_long_messages_is_configured() -> None:
    connection = idle(Limits(message_bytes_max=100))
    connection.receive_data(b"Q" + struct.pack("!i", 101))
    with pytest.raises(ProtocolViolation, match="invalid message length"):
        connection.next_event()


def test_nothing_but_a_password_before_the_client_is_let_in() -> None:
    connection = Connection()
    connection.receive_data(startup(user="ann") + frame(b"Q", b"select 1\0"))
    connection.next_event()
    with pytest.raises(ProtocolViolation, match="expected password response, got message type 81"):
        connection.next_event()


def test_simple_query_holds_what_follows_until_it_is_answered() -> None:
    connection = idle()
    connection.receive_data(frame(b"Q", b"select 1\0") * 2)
    assert isinstance(connection.next_event(), m.Query)
    assert connection.next_event() is PAUSED
    connection.send(m.CommandComplete("SELECT 1"))
    connection.send(m.ReadyForQuery("I"))
    assert isinstance(connection.next_event(), m.Query)


def test_after_an_error_in_a_pipeline_everything_to_sync_is_skipped() -> None:
    connection = idle()
    pipeline = frame(b"P", b"\0nonsense\0\0\0") + frame(b"B", b"broken") + frame(b"Q", b"x\0") + frame(b"d", b"x")
    connection.receive_data(pipeline + frame(b"S") + frame(b"H"))
    assert isinstance(connection.next_event(), m.Parse)
    connection.send(m.ErrorResponse("ERROR", "42601", "syntax error"))
    assert connection.state is State.SKIPPING
    assert connection.next_event() == m.Sync()
    assert connection.next_event() is PAUSED
    connection.send(m.ReadyForQuery("I"))
    assert connection.next_event() == m.Flush()


def test_terminate_is_heard_while_skipping() -> None:
    connection = idle()
    connection.receive_data(frame(b"S")[:0] + frame(b"E", b"x\0\0\0\0\0") + frame(b"X"))
    connection.next_event()
    connection.send(m.ErrorResponse("ERROR", "34000", "portal does not exist"))
    assert connection.next_event() == m.Terminate()
    assert connection.state is State.CLOSED


def test_a_simple_query_within_a_pipeline() -> None:
    connection = idle()
    connection.receive_data(frame(b"P", b"\0select 1\0\0\0") + frame(b"Q", b"select 2\0"))
    connection.next_event()
    connection.send(m.ParseComplete())
    assert connection.next_event() == m.Query("select 2")
    connection.send(m.ErrorResponse("ERROR", "42601", "an error does not skip here"))
    assert connection.state is State.SIMPLE
    connection.send(m.ReadyForQuery("I"))


def test_text_follows_the_client_encoding() -> None:
    connection = idle()
    connection.set_client_encoding("LATIN1")
    connection.receive_data(frame(b"Q", b"select '\xe9'\0"))
    assert connection.next_event() == m.Query("select 'é'")
    assert connection.send(m.CommandComplete("é")) == frame(b"C", b"\xe9\0")
    with pytest.raises(UntranslatableCharacter):
        connection.send(m.CommandComplete("€"))
    assert b"\\u20ac" in bytes(connection.send(m.ErrorResponse("ERROR", "XX000", "€")))


def test_the_same_bytes_are_read_anew_in_another_encoding() -> None:
    """Short messages that repeat are decoded once for each encoding, and an error is raised each time."""
    connection = idle()
    describe = frame(b"D", b"P\xc3\xa9\0")
    for encoding, name in (("UTF8", "é"), ("LATIN1", "Ã©"), ("UTF8", "é")):
        connection.set_client_encoding(encoding)
        connection.receive_data(describe)
        assert connection.next_event() == m.Describe("P", name)
    for _ in range(2):
        connection.receive_data(frame(b"D", b"P\xff\0"))
        with pytest.raises(CharacterNotInRepertoire):
            connection.next_event()


def test_text_that_is_not_in_the_encoding_fails_the_command_only() -> None:
    connection = idle()
    connection.receive_data(frame(b"Q", b"select '\xff'\0"))
    with pytest.raises(CharacterNotInRepertoire, match='invalid byte sequence for encoding "UTF8": 0xff'):
        connection.next_event()
    assert connection.state is State.SIMPLE
    connection.send(m.ErrorResponse("ERROR", "22021", "no"))
    connection.send(m.ReadyForQuery("I"))


def test_backend_messages() -> None:
    error = SqlError("went wrong", detail="Really.", hint="Do not.", position=7, sqlstate="42601")
    assert m.ErrorResponse.of(error).encode("UTF8") == frame(
        b"E", b"SERROR\0VERROR\0C42601\0Mwent wrong\0DReally.\0HDo not.\0P7\0\0"
    )
    notice = m.NoticeResponse(Notice("look", "WARNING", "01000"))
    assert notice.encode("UTF8") == frame(b"N", b"SWARNING\0VWARNING\0C01000\0Mlook\0\0")
    field = m.Field("n", 16384, 3, 1043, -1, 14, 1)
    assert m.RowDescription((field,)).encode("UTF8") == frame(
        b"T", b"\0\1n\0" + struct.pack("!IhIhih", 16384, 3, 1043, -1, 14, 1)
    )
    assert m.ParameterDescription((23, 25)).encode("UTF8") == frame(b"t", struct.pack("!HII", 2, 23, 25))
    assert m.BackendKeyData(3_000_000_000, b"1234").encode("UTF8") == frame(b"K", b"\xb2\xd0\x5e\x001234")
    assert m.ReadyForQuery("T").encode("UTF8") == b"Z\0\0\0\5T"
    assert m.AuthenticationOk().encode("UTF8") == b"R\0\0\0\x08\0\0\0\0"


def test_what_may_not_be_said_is_our_own_error() -> None:
    connection = idle()
    with pytest.raises(LocalProtocolError):
        connection.send(m.CommandComplete("SELECT 1"))
    with pytest.raises(LocalProtocolError):
        connection.send(m.ReadyForQuery("I"))
    connection.send(m.ErrorResponse("FATAL", "57P01", "terminating connection due to administrator command"))
    with pytest.raises(LocalProtocolError):
        connection.send(m.ErrorResponse("FATAL", "57P01", "again"))


def test_the_tables_have_no_gaps() -> None:
    ours = {
        State.ENCRYPTING, State.STARTING, State.SIMPLE, State.SYNCING, State.CLOSED, State.SIMPLE_COPY_OUT,
        State.EXTENDED_COPY_OUT,
    }  # fmt: skip
    assert set(RECEIVES) == set(State) - ours
    assert set(SENDS) == set(State)
    reached = {state for row in (*RECEIVES.values(), *SENDS.values()) for state in row.values()}
    assert reached == set(State)
    whole = set(RECEIVES[State.IDLE])
    assert set(RECEIVES[State.EXTENDED]) == whole
    assert set(RECEIVES[State.SKIPPING]) == whole


def test_a_long_run_does_not_grow_the_buffer() -> None:
    connection = idle()
    query = frame(b"Q", b"select 1\0")
    for _ in range(10_000):
        connection.receive_data(query + query[:3])
        assert isinstance(connection.next_event(), m.Query)
        connection.send(m.ReadyForQuery("I"))
        connection.receive_data(query[3:])
        assert isinstance(connection.next_event(), m.Query)
        connection.send(m.ReadyForQuery("I"))
    assert connection.buffered_bytes == 0


def test_a_message_that_grows_while_all_hold_too_much_is_refused_and_thrown_away() -> None:
    budget = InputBudget(300_000)
    still, growing = idle(budget=budget), idle(budget=budget)
    query = frame(b"Q", b"select '" + b"x" * 400_000 + b"'\0")
    still.receive_data(query[:250_000])
    assert still.next_event() is NEED_DATA
    growing.receive_data(query[:100_000])
    with pytest.raises(OutOfMemory):
        growing.next_event()
    assert growing.buffered_bytes == 0
    assert budget.held == 250_000
    # As after any failed command: it is answered, and what follows the message is the next one.
    growing.send(m.ErrorResponse("ERROR", "53200", "out of memory"))
    growing.send(m.ReadyForQuery("I"))
    for start in range(100_000, len(query), 65_536):
        growing.receive_data(query[start : start + 65_536])
        assert growing.next_event() is NEED_DATA
        assert budget.held == 250_000
    growing.receive_data(frame(b"Q", b"select 1\0"))
    assert growing.next_event() == m.Query("select 1")
    # Who has stood still may finish once there is room.
    still.receive_data(query[250_000:])
    assert isinstance(still.next_event(), m.Query)
    assert budget.held == 0


def test_a_refused_message_of_a_pipeline_fails_the_pipeline_and_is_skipped_whole() -> None:
    budget = InputBudget(100_000)
    connection = idle(budget=budget)
    bind = frame(b"B", b"\0\0\0\0\0\1" + struct.pack("!I", 400_000) + bytes(400_000) + b"\0\0")
    connection.receive_data(bind[:200_000])
    with pytest.raises(OutOfMemory):
        connection.next_event()
    connection.send(m.ErrorResponse("ERROR", "53200", "out of memory"))
    assert connection.state is State.SKIPPING
    connection.receive_data(bind[200_000:] + bind[:150_000])
    assert connection.next_event() is NEED_DATA, "a message that is skipped anyway is no second error"
    assert budget.held == 0
    connection.receive_data(bind[150_000:] + frame(b"S"))
    assert connection.next_event() == m.Sync()


def test_short_messages_are_not_refused_and_a_closed_connection_holds_nothing() -> None:
    budget = InputBudget(10)
    connection = idle(budget=budget)
    query = frame(b"Q", b"select '" + b"x" * 60_000 + b"'\0")
    connection.receive_data(query[:50_000])
    assert connection.next_event() is NEED_DATA
    assert budget.is_exceeded
    connection.close()
    assert budget.held == 0
    connection.receive_data(query)
    assert budget.held == 0

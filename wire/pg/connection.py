"""The server's side of one PostgreSQL connection, as a value: bytes in, events out; messages in, bytes out.

The connection has no socket and no clock. Its owner passes received bytes to `receive_data`, takes messages from
`next_event`, and writes the bytes that `send` returns. Two tables, `RECEIVES` and `SENDS`, list the messages that are
allowed in each state; together they are the whole machine.

    STARTUP -> (ENCRYPTING -> STARTUP)* -> AUTHENTICATING -> STARTING -> IDLE
    IDLE -> SIMPLE -> IDLE                       Query ... ReadyForQuery
    IDLE -> EXTENDED -> SYNCING -> IDLE          Parse, Bind ... Sync, ReadyForQuery
            EXTENDED -> SKIPPING -> SYNCING      an error: everything up to Sync is thrown away
    SIMPLE, EXTENDED -> COPY_IN, COPY_OUT -> SIMPLE, EXTENDED     of a COPY, until its rows have gone over

While a client sends rows of a COPY, Flush and Sync are ignored: a client of the extended protocol may have sent its
Sync before it knew that a COPY would begin. After an error the remaining rows are discarded, whichever state they
arrive in.

In a state without a row in RECEIVES it is the server's turn: `next_event` returns PAUSED, and messages that the client
sends ahead stay in the buffer undecoded. A message is decoded only when it is taken, so a change of `client_encoding`
applies to the very next message.

Rejected: a machine that also knows portals and transactions. The session owns these; two machines that mirror each
other would have to be kept in agreement forever.

Source: PostgreSQL 15, 55.2 "Message Flow", and postgres.c (SocketBackend, PostgresMain) for the errors of broken input.
"""

from __future__ import annotations

import enum
import struct
import sys
from typing import TYPE_CHECKING, Final

from wire.dataclass import dataclass
from wire.errors import CharacterNotInRepertoire, FatalError, ProtocolViolation
from wire.pg import messages as m
from wire.pg.input_budget import InputBudget

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: The supported protocol versions: 3.0, and 3.2 for its longer cancel keys (3.1 never existed).
PROTOCOL_NEWEST: Final = (3, 2)
#: PostgreSQL's limits: MAX_STARTUP_PACKET_LENGTH, PG_MAX_AUTH_TOKEN_LENGTH, PQ_SMALL_MESSAGE_LIMIT.
STARTUP_BYTES_MAX: Final = 10_000
AUTHENTICATION_BYTES_MAX: Final = 65_535
SMALL_MESSAGE_BYTES_MAX: Final = 10_000
#: The consumed prefix of the buffer is cut off when it reaches this size.
_COMPACT_BYTES: Final = 1 << 16
#: Messages up to this length are never refused because of the input that other connections buffer.
LONG_MESSAGE_BYTES: Final = 1 << 16
_LENGTH: Final = struct.Struct("!i")
#: Bind, Describe and Execute.
_EXECUTING: Final = b"BDE"
#: The length of a message's type and length fields.
_HEAD_BYTES: Final = 5
_LARGE: Final = frozenset((m.Query, m.Parse, m.Bind, m.FunctionCall, m.CopyData))


class State(enum.Enum):
    #: Each member is one object. Enum's own hash is a call of Python's, made several times a message.
    __hash__ = object.__hash__

    STARTUP = "no startup packet yet"
    ENCRYPTING = "encryption was asked for; our answer is due"
    AUTHENTICATING = "startup packet received; not yet granted"
    STARTING = "granted; parameters and key are being told"
    IDLE = "waiting for a command"
    SIMPLE = "a simple query runs"
    EXTENDED = "within a pipeline of the extended protocol"
    SIMPLE_COPY_IN = "a simple query takes rows from the client"
    EXTENDED_COPY_IN = "a portal takes rows from the client"
    SIMPLE_COPY_OUT = "a simple query copies rows to the client"
    EXTENDED_COPY_OUT = "a portal copies rows to the client"
    SYNCING = "Sync received; ReadyForQuery is due"
    SKIPPING = "an error was sent within a pipeline: skipping until Sync"
    CLOSED = "nothing more will be read or sent"


class Nothing(enum.Enum):
    """The reason why `next_event` has no message: more bytes are needed, or the server has to answer first."""

    NEED_DATA = "need data"
    PAUSED = "paused"


NEED_DATA: Final = Nothing.NEED_DATA
PAUSED: Final = Nothing.PAUSED

_COMMANDS: Final[dict[type, State]] = {
    m.Query: State.SIMPLE,
    m.FunctionCall: State.SIMPLE,
    m.Parse: State.EXTENDED,
    m.Bind: State.EXTENDED,
    m.Describe: State.EXTENDED,
    m.Execute: State.EXTENDED,
    m.Close: State.EXTENDED,
    m.Flush: State.EXTENDED,
    m.Sync: State.SYNCING,
    m.Terminate: State.CLOSED,
}


def _copy_ignored(state: State) -> dict[type, State]:
    """Return the messages that a frontend may still send after a COPY failed: accepted and without effect (55.2.6)."""
    return dict.fromkeys((m.CopyData, m.CopyDone, m.CopyFail), state)


def _copy_transitions(state: State, after: State) -> dict[type, State]:
    """Return the messages that a frontend may send during COPY."""
    return {m.CopyData: state, m.Flush: state, m.Sync: state, m.CopyDone: after, m.CopyFail: after}


#: state -> message received -> next state. A message without an entry is a protocol violation.
RECEIVES: Final[dict[State, dict[type, State]]] = {
    State.STARTUP: {
        m.SslRequest: State.ENCRYPTING,
        m.GssEncRequest: State.ENCRYPTING,
        m.CancelRequest: State.CLOSED,
        m.Startup: State.AUTHENTICATING,
    },
    State.AUTHENTICATING: {m.PasswordMessage: State.AUTHENTICATING},
    State.IDLE: {**_COMMANDS, **_copy_ignored(State.IDLE)},
    State.EXTENDED: {**_COMMANDS, **_copy_ignored(State.EXTENDED)},
    State.SIMPLE_COPY_IN: _copy_transitions(State.SIMPLE_COPY_IN, State.SIMPLE),
    State.EXTENDED_COPY_IN: _copy_transitions(State.EXTENDED_COPY_IN, State.EXTENDED),
    State.SKIPPING: {
        **dict.fromkeys(_COMMANDS, State.SKIPPING),
        **_copy_ignored(State.SKIPPING),
        m.Sync: State.SYNCING,
        m.Terminate: State.CLOSED,
    },
}

_RESULTS: Final = (m.RowDescription, m.Rows, m.CommandComplete, m.EmptyQueryResponse)
_EXTENDED_ANSWERS: Final = (
    m.ParseComplete, m.BindComplete, m.CloseComplete, m.ParameterDescription, m.NoData, m.PortalSuspended,
)  # fmt: skip


def _any_time(state: State) -> dict[type, State]:
    """Return the messages that the server may send at any time (55.2.7)."""
    return {m.NoticeResponse: state, m.ParameterStatus: state}


#: state -> message sent -> next state. A fatal ErrorResponse may be sent in any state but CLOSED, and leads there.
SENDS: Final[dict[State, dict[type, State]]] = {
    State.STARTUP: {},
    State.ENCRYPTING: {m.EncryptionAnswer: State.STARTUP},
    State.AUTHENTICATING: {
        m.NegotiateProtocolVersion: State.AUTHENTICATING,
        m.AuthenticationRequest: State.AUTHENTICATING,
        m.AuthenticationOk: State.STARTING,
    },
    State.STARTING: {
        **_any_time(State.STARTING),
        m.BackendKeyData: State.STARTING,
        m.ReadyForQuery: State.IDLE,
    },
    State.IDLE: {**_any_time(State.IDLE), m.NotificationResponse: State.IDLE},
    State.SIMPLE: {
        **_any_time(State.SIMPLE),
        **dict.fromkeys((*_RESULTS, m.ErrorResponse), State.SIMPLE),
        m.CopyInResponse: State.SIMPLE_COPY_IN,
        m.CopyOutResponse: State.SIMPLE_COPY_OUT,
        m.FunctionCallResponse: State.SIMPLE,
        m.NotificationResponse: State.SIMPLE,
        m.ReadyForQuery: State.IDLE,
    },
    State.SIMPLE_COPY_IN: {**_any_time(State.SIMPLE_COPY_IN), m.ErrorResponse: State.SIMPLE},
    State.EXTENDED_COPY_IN: {**_any_time(State.EXTENDED_COPY_IN), m.ErrorResponse: State.SKIPPING},
    State.SIMPLE_COPY_OUT: {
        **_any_time(State.SIMPLE_COPY_OUT),
        m.CopiedRows: State.SIMPLE_COPY_OUT,
        m.CopiedAll: State.SIMPLE,
        m.ErrorResponse: State.SIMPLE,
    },
    State.EXTENDED_COPY_OUT: {
        **_any_time(State.EXTENDED_COPY_OUT),
        m.CopiedRows: State.EXTENDED_COPY_OUT,
        m.CopiedAll: State.EXTENDED,
        m.ErrorResponse: State.SKIPPING,
    },
    State.EXTENDED: {
        **_any_time(State.EXTENDED),
        **dict.fromkeys((*_RESULTS, *_EXTENDED_ANSWERS), State.EXTENDED),
        m.CopyInResponse: State.EXTENDED_COPY_IN,
        m.CopyOutResponse: State.EXTENDED_COPY_OUT,
        m.ErrorResponse: State.SKIPPING,
    },
    State.SYNCING: {
        **_any_time(State.SYNCING),
        m.ErrorResponse: State.SYNCING,
        m.NotificationResponse: State.SYNCING,
        m.ReadyForQuery: State.IDLE,
    },
    State.SKIPPING: _any_time(State.SKIPPING),
    State.CLOSED: {},
}


class LocalProtocolError(Exception):
    """The server tried to send a message that the protocol does not allow here. This is a bug of the server, never the
    client's fault.
    """


@dataclass(frozen=True, slots=True)
class Limits:
    """message_bytes_max: the maximum length, without the type byte, of a message that may be long (Query, Parse, Bind,
    FunctionCall, CopyData).
    """

    message_bytes_max: int = 256 << 20


def negotiate(startup: m.Startup) -> tuple[tuple[int, int], m.NegotiateProtocolVersion | None]:
    """Return the protocol version to use, and the message that tells the client if this is not what it asked for.

    Raises FatalError (0A000) for another major version.
    """
    major, minor = startup.protocol
    if major != PROTOCOL_NEWEST[0]:
        raise FatalError(
            f"unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.{PROTOCOL_NEWEST[1]}",
            sqlstate="0A000",
        )
    agreed = (3, 0) if minor < PROTOCOL_NEWEST[1] else PROTOCOL_NEWEST
    if agreed == startup.protocol and not startup.unrecognised_options:
        return agreed, None
    return agreed, m.NegotiateProtocolVersion(agreed, startup.unrecognised_options)


class Connection:
    """The connection's state machine (see the module's docstring). One task uses it at a time; `receive_data` may be
    called between any two calls.
    """

    def __init__(self, limits: Limits | None = None, budget: InputBudget | None = None) -> None:
        self.state = State.STARTUP
        self._limits = limits or Limits()
        self._budget = budget or InputBudget(sys.maxsize)
        #: Bytes of a refused message that have not arrived yet, and are discarded when they do.
        self._refused = 0
        self._encoding = "UTF8"
        self._buffer = bytearray()
        self._at = 0
        self._encryption_asked: set[type] = set()
        self._violation: ProtocolViolation | None = None
        self._expected = "password"

    @property
    def buffered_bytes(self) -> int:
        """The number of bytes received and not yet taken as messages."""
        return len(self._buffer) - self._at

    @property
    def is_executing_on(self) -> bool:
        """Whether a complete Bind, Describe or Execute is next in the buffer. If so, `next_event` returns it, or
        raises, without more data, and the messages before it can still be answered afterwards.
        """
        if self.buffered_bytes < _HEAD_BYTES or self._buffer[self._at] not in _EXECUTING:
            return False
        (length,) = _LENGTH.unpack_from(self._buffer, self._at + 1)
        return bool(self.buffered_bytes > length)

    def set_client_encoding(self, encoding: str) -> None:
        """Apply a (valid) value of `client_encoding` to all later messages."""
        self._encoding = encoding

    @property
    def is_crowded(self) -> bool:
        """Whether all connections together buffer more input than the limit."""
        return self._budget.is_exceeded

    def receive_data(self, data: Buffer) -> None:
        if self.state is State.CLOSED:
            return
        view = memoryview(data).cast("B")
        thrown_away = min(self._refused, len(view))
        self._refused -= thrown_away
        self._buffer += view[thrown_away:]
        self._budget.add(len(view) - thrown_away)

    def next_event(self) -> m.FrontendMessage | Nothing:
        """Return the next message, NEED_DATA, or PAUSED if the server has to answer the client first.

        Raises ProtocolViolation if the client broke the protocol: the caller sends a fatal ErrorResponse and closes;
        further calls raise the same error. Raises CharacterNotInRepertoire for a message whose text is not in the
        client's encoding: the machine has moved as if the message had been returned, so the caller answers with an
        ErrorResponse as for any failed command. Raises OutOfMemory in the same way for a long message that has not
        arrived completely while all connections together exceed their limit.
        """
        if self._violation:
            raise self._violation
        try:
            return self._startup_event() if self.state is State.STARTUP else self._event()
        except ProtocolViolation as violation:
            self._violation = violation
            raise

    def _event(self) -> m.FrontendMessage | Nothing:
        while True:
            row = RECEIVES.get(self.state)
            if row is None:
                return PAUSED
            frame = self._take_frame(row)
            if frame is None:
                return NEED_DATA
            kind, body, successor = frame
            if self.state is State.SKIPPING and successor is State.SKIPPING:
                continue
            try:
                message = m.decode(kind, body, self._encoding)
            except CharacterNotInRepertoire:
                self.state = successor
                raise
            self.state = successor
            return message

    def _take_frame(self, row: dict[type, State]) -> tuple[bytes, bytes, State] | None:
        """Return the next complete frame (type, body, next state), or None if it has not arrived. The frame's head is
        checked as soon as it has arrived.
        """
        buffer, at = self._buffer, self._at
        held = len(buffer) - at
        if held < 1:
            return None
        kind = bytes(buffer[at : at + 1])
        cls = m.request_class(kind)
        successor = row.get(cls)
        if successor is None:
            raise self._out_of_order(kind)
        if held < _HEAD_BYTES:
            return None
        (length,) = _LENGTH.unpack_from(buffer, at + 1)
        if not 4 <= length <= self._length_max(cls):
            raise ProtocolViolation("invalid message length")
        if held <= length:
            if length > LONG_MESSAGE_BYTES and self.is_crowded:
                self._refuse(length, successor)
            return None
        return kind, self._consume(_HEAD_BYTES, length - 4), successor

    def _refuse(self, length: int, successor: State) -> None:
        """Discard the received part of the message, and the rest when it arrives. Raises OutOfMemory, unless the
        message would be skipped anyway.
        """
        error = self._budget.refusal(length)
        self._refused = length + 1 - self.buffered_bytes
        self._clear()
        skipped = self.state is State.SKIPPING and successor is State.SKIPPING
        self.state = successor
        if not skipped:
            raise error

    def _clear(self) -> None:
        self._budget.release(self.buffered_bytes)
        self._buffer.clear()
        self._at = 0

    def _out_of_order(self, kind: bytes) -> ProtocolViolation:
        if self.state is State.AUTHENTICATING:
            return ProtocolViolation(f"expected {self._expected} response, got message type {kind[0]}")
        if self.state in (State.SIMPLE_COPY_IN, State.EXTENDED_COPY_IN):
            return ProtocolViolation(f"unexpected message type 0x{kind[0]:02X} during COPY from stdin")
        return ProtocolViolation(f"invalid frontend message type {kind[0]}")

    def _length_max(self, cls: type) -> int:
        if cls is m.PasswordMessage:
            return AUTHENTICATION_BYTES_MAX
        if cls in _LARGE:
            return self._limits.message_bytes_max
        return SMALL_MESSAGE_BYTES_MAX

    def _consume(self, head: int, size: int) -> bytes:
        start = self._at + head
        end = start + size
        body = bytes(memoryview(self._buffer)[start:end])
        self._budget.release(head + size)
        self._at = end
        if end == len(self._buffer):
            self._buffer.clear()
            self._at = 0
        elif end >= _COMPACT_BYTES:
            del self._buffer[:end]
            self._at = 0
        return body

    def _startup_event(self) -> m.FrontendMessage | Nothing:
        if self.buffered_bytes < 4:
            return NEED_DATA
        (length,) = _LENGTH.unpack_from(self._buffer, self._at)
        if not 8 <= length <= STARTUP_BYTES_MAX:
            raise ProtocolViolation("invalid length of startup packet")
        if self.buffered_bytes < length:
            return NEED_DATA
        message = m.decode_startup(self._consume(4, length - 4))
        if isinstance(message, m.SslRequest | m.GssEncRequest):
            message = self._once(message)
        self.state = RECEIVES[State.STARTUP][type(message)]
        return message

    def _once(self, message: m.SslRequest | m.GssEncRequest) -> m.StartupRequest:
        """Accept each kind of encryption request once. As in PostgreSQL, a second request's code is read as a protocol
        version.
        """
        if type(message) in self._encryption_asked:
            code = m.SSL_REQUEST_CODE if isinstance(message, m.SslRequest) else m.GSSENC_REQUEST_CODE
            return m.Startup((code >> 16, code & 0xFFFF), {})
        self._encryption_asked.add(type(message))
        return message

    def allows(self, message: type) -> bool:
        """Return whether a message of this class may be sent now (for ErrorResponse: whether one that is not fatal
        may).
        """
        return message in SENDS[self.state]

    def send(self, message: m.BackendMessage) -> Buffer:
        """Return the bytes of a message, and move the machine to the state that the message leads to.

        Raises LocalProtocolError if the message may not be sent now; UntranslatableCharacter (without effect) if the
        client's encoding lacks one of its characters; ProtocolViolation if TLS would begin after bytes sent in the
        clear.
        """
        if isinstance(message, m.ErrorResponse) and message.fatal and self.state is not State.CLOSED:
            successor = State.CLOSED
        else:
            try:
                successor = SENDS[self.state][type(message)]
            except KeyError:
                raise LocalProtocolError(f"{type(message).__name__} may not be sent: {self.state.value}") from None
        if isinstance(message, m.EncryptionAnswer) and message.accepted and self.buffered_bytes:
            raise ProtocolViolation(
                "received unencrypted data after SSL request",
                detail="This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.",
            )
        data = message.encode(self._encoding)
        self.state = successor
        if isinstance(message, m.AuthenticationRequest):
            self._expected = "SASL" if message.code >= m.SASL else "password"
        return data

    def release(self) -> bytes:
        """Hand the transport over to another protocol. Returns the bytes that were received and not taken, and closes
        the machine.
        """
        rest = bytes(memoryview(self._buffer)[self._at :])
        self.close()
        return rest

    def close(self) -> None:
        """Note that the transport is closed: nothing more is read or sent."""
        self.state = State.CLOSED
        self._clear()

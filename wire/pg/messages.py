"""The messages of PostgreSQL's protocol 3 as values: those that a frontend sends, and those that a backend answers
with.

This module defines only the shape of messages; `wire.pg.connection` decides which of them may come when. `decode` makes
a frontend message from the body of a frame; `encode` returns the whole frame of a backend message. DataRow has no
class: `wire.pg.datarow` encodes rows a batch at a time, and they travel as bytes.

Source: PostgreSQL 15, 55.7 "Message Formats"; the variable-length cancel key of protocol 3.2 from PostgreSQL 18.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from wire.dataclass import dataclass
from wire.errors import About, Notice, ProtocolViolation, SqlError
from wire.pg.body import Body
from wire.types.client_encodings import codec, to_client

if TYPE_CHECKING:
    from typing_extensions import Buffer

# --- what a frontend says -------------------------------------------------------------------------------------------

SSL_REQUEST_CODE: Final = 80877103
GSSENC_REQUEST_CODE: Final = 80877104
CANCEL_REQUEST_CODE: Final = 80877102
#: PostgreSQL 18: MAX_CANCEL_KEY_LENGTH.
CANCEL_KEY_LENGTH_MAX: Final = 256


@dataclass(frozen=True, slots=True)
class SslRequest:
    pass


@dataclass(frozen=True, slots=True)
class GssEncRequest:
    pass


@dataclass(frozen=True, slots=True)
class CancelRequest:
    pid: int
    key: bytes


@dataclass(frozen=True, slots=True)
class Startup:
    """The startup packet. protocol: the requested (major, minor). parameters: names and values as sent, in order."""

    protocol: tuple[int, int]
    parameters: Mapping[str, str]

    @property
    def unrecognised_options(self) -> tuple[str, ...]:
        """The protocol extensions that the client requests (`_pq_.*`). The server supports none."""
        return tuple(name for name in self.parameters if name.startswith("_pq_."))


@dataclass(frozen=True, slots=True)
class PasswordMessage:
    """Type 'p': a password, or a SASL or GSS response; the authentication machine knows which."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Query:
    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    name: str
    text: str
    parameter_types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """formats: none (all text), one (for all columns) or one for each; 0 is text, 1 binary."""

    portal: str
    statement: str
    parameter_formats: tuple[int, ...]
    parameters: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Describe:
    kind: Literal["S", "P"]
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """max_rows: 0 or less means all rows."""

    portal: str
    max_rows: int


@dataclass(frozen=True, slots=True)
class Close:
    kind: Literal["S", "P"]
    name: str


@dataclass(frozen=True, slots=True)
class Flush:
    pass


@dataclass(frozen=True, slots=True)
class Sync:
    pass


@dataclass(frozen=True, slots=True)
class Terminate:
    pass


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """oid: the function's. formats: none (all text), one (for all arguments) or one for each, as in `Bind`."""

    oid: int
    formats: tuple[int, ...]
    arguments: tuple[bytes | None, ...]
    result_format: int


@dataclass(frozen=True, slots=True)
class CopyData:
    data: bytes


@dataclass(frozen=True, slots=True)
class CopyDone:
    pass


@dataclass(frozen=True, slots=True)
class CopyFail:
    """message: undecoded, since outside of a COPY it is ignored."""

    message: bytes


Request = (
    Query | Parse | Bind | Describe | Execute | Close | Flush | Sync | Terminate | FunctionCall
    | CopyData | CopyDone | CopyFail | PasswordMessage
)  # fmt: skip
StartupRequest = SslRequest | GssEncRequest | CancelRequest | Startup
FrontendMessage = Request | StartupRequest


def _parse(body: Body) -> Parse:
    return Parse(body.string(), body.string(), body.oids())


def _bind(body: Body) -> Bind:
    portal, statement, formats = body.string(), body.string(), body.int16s()
    count = body.count()
    values = tuple(body.value() for _ in range(count))
    return Bind(portal, statement, formats, values, body.int16s())


def _kind(body: Body, what: str) -> Literal["S", "P"]:
    kind = body.byte()
    if kind == b"S":
        return "S"
    if kind == b"P":
        return "P"
    raise ProtocolViolation(f"invalid {what} message subtype {kind[0]}")


def _function_call(body: Body) -> FunctionCall:
    oid, formats, count = body.int32() & 0xFFFFFFFF, body.int16s(), body.count()
    arguments = tuple(body.value() for _ in range(count))
    return FunctionCall(oid, formats, arguments, body.int16())


_DECODERS: Final[dict[bytes, Callable[[Body], Request]]] = {
    b"Q": lambda body: Query(body.string()),
    b"P": _parse,
    b"B": _bind,
    b"D": lambda body: Describe(_kind(body, "DESCRIBE"), body.string()),
    b"E": lambda body: Execute(body.string(), body.int32()),
    b"C": lambda body: Close(_kind(body, "CLOSE"), body.string()),
    b"H": lambda _body: Flush(),
    b"S": lambda _body: Sync(),
    b"X": lambda _body: Terminate(),
    b"F": _function_call,
    b"d": lambda body: CopyData(body.rest()),
    b"c": lambda _body: CopyDone(),
    b"f": lambda body: CopyFail(body.string_bytes()),
    b"p": lambda body: PasswordMessage(body.rest()),
}

_CLASSES: Final[dict[bytes, type[Request]]] = {
    b"Q": Query, b"P": Parse, b"B": Bind, b"D": Describe, b"E": Execute, b"C": Close, b"H": Flush, b"S": Sync,
    b"X": Terminate, b"F": FunctionCall, b"d": CopyData, b"c": CopyDone, b"f": CopyFail, b"p": PasswordMessage,
}  # fmt: skip


def request_class(kind: bytes) -> type[Request]:
    """Return the class of a message by its type byte. Raises ProtocolViolation for a byte that no frontend sends."""
    try:
        return _CLASSES[kind]
    except KeyError:
        raise ProtocolViolation(f"invalid frontend message type {kind[0]}") from None


#: The bytes of a body, and the number of bodies, that are decoded once however often they arrive.
_REPEATED_BYTES: Final = 64
_REPEATED: Final = 512
#: Drivers send the same Bind, Describe, Execute, Close and Sync again and again.
_REPEATING: Final = frozenset((b"B", b"D", b"E", b"C", b"S", b"H"))


def decode(kind: bytes, data: bytes, encoding: str) -> Request:
    """Decode the body of a message of type `kind`.

    Raises ProtocolViolation, and CharacterNotInRepertoire for text that is not in the client's encoding.
    """
    if len(data) <= _REPEATED_BYTES and kind in _REPEATING:
        return _decode_once(kind, data, encoding)
    return _decode(kind, data, encoding)


def _decode(kind: bytes, data: bytes, encoding: str) -> Request:
    body = Body(data, encoding)
    message = _DECODERS[kind](body)
    body.end()
    return message


_decode_once: Final = lru_cache(_REPEATED)(_decode)


def decode_startup(data: bytes) -> StartupRequest:
    """Decode the first message of a connection, which has no type byte. data: the message without its length.

    The strings are UTF-8, since no encoding has been agreed yet. Raises ProtocolViolation.
    """
    body = Body(data, "UTF8")
    code = body.int32() & 0xFFFFFFFF
    if code == SSL_REQUEST_CODE:
        body.end()
        return SslRequest()
    if code == GSSENC_REQUEST_CODE:
        body.end()
        return GssEncRequest()
    if code == CANCEL_REQUEST_CODE:
        return _cancel_request(body)
    return Startup((code >> 16, code & 0xFFFF), _startup_parameters(body) if code >> 16 == 3 else {})


def _cancel_request(body: Body) -> CancelRequest:
    pid, key = body.int32() & 0xFFFFFFFF, body.rest()
    if not 4 <= len(key) <= CANCEL_KEY_LENGTH_MAX:
        raise ProtocolViolation("invalid length of cancel request packet")
    return CancelRequest(pid, key)


def _startup_parameters(body: Body) -> dict[str, str]:
    parameters: dict[str, str] = {}
    try:
        while name := body.string():
            parameters[name] = body.string()
        body.end()
    except SqlError:
        raise ProtocolViolation("invalid startup packet layout: expected terminator as last byte") from None
    return parameters


# --- what we answer -------------------------------------------------------------------------------------------------


def _frame(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _cstring(text: str, encoding: str) -> bytes:
    return to_client(text, encoding) + b"\0"


@dataclass(frozen=True, slots=True)
class EncryptionAnswer:
    """One byte without a frame: TLS begins now (`S`), or the connection continues in the clear (`N`)."""

    accepted: bool

    def encode(self, _encoding: str) -> bytes:
        return b"S" if self.accepted else b"N"


#: The first of SASL's codes.
SASL: Final = 10


@dataclass(frozen=True, slots=True)
class AuthenticationRequest:
    """A step of authentication. code: 3 clear text password, 5 md5, 10 SASL, 11 SASL continue, 12 SASL final, which
    expects no answer. data: the mechanism's.
    """

    code: int
    data: bytes = b""

    def encode(self, _encoding: str) -> bytes:
        return _frame(b"R", struct.pack("!i", self.code) + self.data)


@dataclass(frozen=True, slots=True)
class AuthenticationOk:
    def encode(self, _encoding: str) -> bytes:
        return b"R\0\0\0\x08\0\0\0\0"


@dataclass(frozen=True, slots=True)
class NegotiateProtocolVersion:
    """newest: the protocol version that the server uses instead, in full (major and minor), as PostgreSQL sends it."""

    newest: tuple[int, int]
    unrecognised: tuple[str, ...]

    def encode(self, encoding: str) -> bytes:
        options = b"".join(_cstring(name, encoding) for name in self.unrecognised)
        version = self.newest[0] << 16 | self.newest[1]
        return _frame(b"v", struct.pack("!ii", version, len(self.unrecognised)) + options)


@dataclass(frozen=True, slots=True)
class ParameterStatus:
    name: str
    value: str

    def encode(self, encoding: str) -> bytes:
        return _frame(b"S", _cstring(self.name, encoding) + _cstring(self.value, encoding))


@dataclass(frozen=True, slots=True)
class BackendKeyData:
    pid: int
    key: bytes

    def encode(self, _encoding: str) -> bytes:
        return _frame(b"K", struct.pack("!I", self.pid) + self.key)


@dataclass(frozen=True, slots=True)
class NotificationResponse:
    """A notification that another session, or this one, sent with NOTIFY. pid: of the session that sent it."""

    pid: int
    channel: str
    payload: str

    def encode(self, encoding: str) -> bytes:
        body = struct.pack("!I", self.pid) + _cstring(self.channel, encoding) + _cstring(self.payload, encoding)
        return _frame(b"A", body)


@dataclass(frozen=True, slots=True)
class ReadyForQuery:
    """status: I idle, T in a transaction block, E in a failed one."""

    status: Literal["I", "T", "E"]

    def encode(self, _encoding: str) -> bytes:
        return b"Z\0\0\0\5" + self.status.encode()


@dataclass(frozen=True, slots=True)
class Field:
    """One column of RowDescription."""

    name: str
    table_oid: int
    attribute: int
    type_oid: int
    type_length: int
    type_modifier: int
    format: int


@dataclass(frozen=True, slots=True)
class RowDescription:
    fields: tuple[Field, ...]

    def encode(self, encoding: str) -> bytes:
        parts = [struct.pack("!H", len(self.fields))]
        for f in self.fields:
            parts.append(_cstring(f.name, encoding))
            parts.append(
                struct.pack("!IhIhih", f.table_oid, f.attribute, f.type_oid, f.type_length, f.type_modifier, f.format)
            )
        return _frame(b"T", b"".join(parts))


@dataclass(frozen=True, slots=True)
class Rows:
    """Any number of DataRow frames that are encoded already."""

    data: Buffer

    def encode(self, _encoding: str) -> Buffer:
        return self.data


@dataclass(frozen=True, slots=True)
class CopyInResponse:
    """The server's request that the client send rows. form: 0 text (CSV too), 1 binary; the same for all columns."""

    form: int
    columns: int

    def encode(self, _encoding: str) -> bytes:
        return _copy_response(b"G", self.form, self.columns)


@dataclass(frozen=True, slots=True)
class CopyOutResponse:
    """The announcement of rows for the client. form, columns: as in `CopyInResponse`."""

    form: int
    columns: int

    def encode(self, _encoding: str) -> bytes:
        return _copy_response(b"H", self.form, self.columns)


def _copy_response(kind: bytes, form: int, columns: int) -> bytes:
    return _frame(kind, struct.pack(f"!bH{columns}H", form, columns, *(form,) * columns))


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """Any number of CopyData frames that are encoded already, one for each row."""

    data: Buffer

    def encode(self, _encoding: str) -> Buffer:
        return self.data


@dataclass(frozen=True, slots=True)
class CopiedAll:
    """The server's CopyDone."""

    def encode(self, _encoding: str) -> bytes:
        return b"c\0\0\0\4"


@dataclass(frozen=True, slots=True)
class ParameterDescription:
    types: tuple[int, ...]

    def encode(self, _encoding: str) -> bytes:
        count = len(self.types)
        return _frame(b"t", struct.pack(f"!H{count}I", count, *self.types))


@dataclass(frozen=True, slots=True)
class FunctionCallResponse:
    """The result of a FunctionCall; None is NULL."""

    value: bytes | None

    def encode(self, _encoding: str) -> bytes:
        value = struct.pack("!i", -1) if self.value is None else struct.pack("!i", len(self.value)) + self.value
        return _frame(b"V", value)


@dataclass(frozen=True, slots=True)
class CommandComplete:
    tag: str

    def encode(self, encoding: str) -> bytes:
        return _frame(b"C", _cstring(self.tag, encoding))


@dataclass(frozen=True, slots=True)
class ParseComplete:
    def encode(self, _encoding: str) -> bytes:
        return b"1\0\0\0\4"


@dataclass(frozen=True, slots=True)
class BindComplete:
    def encode(self, _encoding: str) -> bytes:
        return b"2\0\0\0\4"


@dataclass(frozen=True, slots=True)
class CloseComplete:
    def encode(self, _encoding: str) -> bytes:
        return b"3\0\0\0\4"


@dataclass(frozen=True, slots=True)
class NoData:
    def encode(self, _encoding: str) -> bytes:
        return b"n\0\0\0\4"


@dataclass(frozen=True, slots=True)
class PortalSuspended:
    def encode(self, _encoding: str) -> bytes:
        return b"s\0\0\0\4"


@dataclass(frozen=True, slots=True)
class EmptyQueryResponse:
    def encode(self, _encoding: str) -> bytes:
        return b"I\0\0\0\4"


def _report(kind: bytes, fields: tuple[tuple[str, str | None], ...], encoding: str) -> bytes:
    # An error report must always arrive: characters that the client's encoding lacks are escaped instead of refused.
    body = b"".join(
        code.encode() + text.replace("\0", "").encode(codec(encoding), "backslashreplace") + b"\0"
        for code, text in fields
        if text is not None
    )
    return _frame(kind, body + b"\0")


def _position(position: int | None) -> str | None:
    return None if position is None else str(position)


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    severity: str
    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None
    position: int | None = None
    context: str | None = None
    about: About | None = None
    routine: str | None = None

    @classmethod
    def of(cls, error: SqlError) -> ErrorResponse:
        return cls(
            error.severity, error.sqlstate, error.message, error.detail, error.hint, error.position, error.context,
            error.about, error.routine,
        )  # fmt: skip

    @property
    def fatal(self) -> bool:
        return self.severity != "ERROR"

    def encode(self, encoding: str) -> bytes:
        about = self.about or About()
        fields = (
            ("S", self.severity), ("V", self.severity), ("C", self.sqlstate), ("M", self.message),
            ("D", self.detail), ("H", self.hint), ("P", _position(self.position)), ("W", self.context),
            ("s", about.schema), ("t", about.table), ("c", about.column), ("d", about.data_type),
            ("n", about.constraint), ("R", self.routine),
        )  # fmt: skip
        return _report(b"E", fields, encoding)


@dataclass(frozen=True, slots=True)
class NoticeResponse:
    notice: Notice

    def encode(self, encoding: str) -> bytes:
        n = self.notice
        fields = (
            ("S", n.severity), ("V", n.severity), ("C", n.sqlstate), ("M", n.message),
            ("D", n.detail), ("H", n.hint), ("P", _position(n.position)),
        )  # fmt: skip
        return _report(b"N", fields, encoding)


BackendMessage = (
    EncryptionAnswer | AuthenticationRequest | AuthenticationOk | NegotiateProtocolVersion | ParameterStatus | BackendKeyData
    | ReadyForQuery | RowDescription | Rows | ParameterDescription | CommandComplete | ParseComplete | BindComplete
    | CloseComplete | NoData | PortalSuspended | EmptyQueryResponse | ErrorResponse | NoticeResponse
    | CopyInResponse | CopyOutResponse | CopiedRows | CopiedAll | NotificationResponse
    | FunctionCallResponse
)  # fmt: skip

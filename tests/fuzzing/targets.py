"""The fuzz targets: every decoder that reads bytes from another party, as a function of any bytes.

A target returns, or raises only what its contract names; `Target.run` accepts these exceptions. A decoded value that
can be encoded must give the same value again. Our own encoders make the seeds here, so that there is no corpus to keep.

To add one: a function of bytes below, and a row in `TARGETS`.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from support.datarow_reader import encoded_rows

from engine.common import sql_type as st
from engine.exchange.schemas import received_batch
from engine.plan_ir.spec import MemberSpec, SharedSpec
from engine.sql.parser.parse import parse
from engine.statements.copy import casts
from server.auth import hba
from server.config import config, topology
from server.config.errors import ConfigurationError
from server.cursors.cursor_pages import page_rows
from wire.copy.binary import SIGNATURE, BinaryReader
from wire.copy.options import Layout
from wire.copy.reader import RowReader
from wire.errors import FatalError, SqlError
from wire.mesh import control_messages as control
from wire.mesh import messages as mesh
from wire.mesh.channel import DataReceiver, DataSender
from wire.mesh.control_channel import ControlChannel, Introduced
from wire.mesh.cursor_columns import ColumnType, CursorColumn, decode_columns, encode_columns
from wire.mesh.framing import PREFACE, FrameReader, RemoteProtocolError, frame
from wire.pg import messages as pg
from wire.pg.auth import CleartextPassword, Md5Password, Scram
from wire.pg.connection import Connection, Limits, Nothing, State
from wire.pg.datarow import EncodedColumn, OutputSettings, RowEncoder
from wire.pg.values import decode_parameter
from wire.pg.values.binary_input import receive_column
from wire.types import pg_types as t
from wire.types.carriers import carrier
from wire.types.input import InputSettings
from wire.types.user_types import Definition, Told
from wire.verifiers import ScramVerifier, md5_digest

#: Read with this, values and COPY data alike.
_INPUT: Final = InputSettings()
_DIGITS: Final = (20, 4)


@dataclass(frozen=True)
class Target:
    """A fuzz target. refusals: the exceptions that `read` may raise; of SqlErrors none of class XX, which would be a
    defect of ours.
    weight: the cost of one run, as a multiple of another target's.
    """

    name: str
    read: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    refusals: tuple[type[Exception], ...] = (SqlError,)
    weight: int = 1

    def run(self, data: bytes) -> bool:
        """Return whether the bytes were read, and not refused. Raises any exception that violates the contract."""
        try:
            self.read(data)
        except self.refusals as error:
            if isinstance(error, SqlError) and error.sqlstate.startswith("XX"):
                raise AssertionError(f"{self.name}: {error.sqlstate} {error.message}") from error
            return False
        return True


# --- the protocol of PostgreSQL's clients -----------------------------------------------------------------------------


def _framed(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _text(*parts: str) -> bytes:
    return b"".join(part.encode() + b"\0" for part in parts)


_STARTUP: Final = b"\0\0\0\x12\0\3\0\0user\0ann\0\0"
_CONVERSATION: Final = (
    _framed(b"Q", _text("select 1")),
    _framed(b"P", _text("s", "select $1") + struct.pack("!hi", 1, 23)),
    _framed(b"B", _text("p", "s") + struct.pack("!hhhi2shh", 1, 0, 1, 2, b"42", 1, 1)),
    _framed(b"D", b"S" + _text("s")),
    _framed(b"E", _text("p") + struct.pack("!i", 10)),
    _framed(b"C", b"P" + _text("p")),
    _framed(b"H", b""),
    _framed(b"S", b""),
    _framed(b"F", struct.pack("!ihhhi1sh", 1598, 1, 1, 1, 1, b"1", 0)),
    _framed(b"d", b"1\t2\n"),
    _framed(b"c", b""),
    _framed(b"f", _text("no")),
    _framed(b"p", _text("secret")),
    _framed(b"X", b""),
)


def _consume(connection: Connection) -> Iterator[object]:
    """Yield all events, with the session's reply after each, and at the end the reason why there are no more."""
    while connection.state is not State.CLOSED:
        event: object
        try:
            event = connection.next_event()
        except SqlError as error:
            connection.send(pg.ErrorResponse.of(error))
            yield error.sqlstate
            event = error
        if isinstance(event, Nothing):
            return
        if not isinstance(event, SqlError):
            yield event
        if isinstance(event, pg.SslRequest | pg.GssEncRequest):
            connection.send(pg.EncryptionAnswer(accepted=False))
        if connection.state in (State.SIMPLE, State.SYNCING):
            connection.send(pg.ReadyForQuery("I"))


def _startup(data: bytes) -> None:
    connection = Connection()
    connection.receive_data(data)
    list(_consume(connection))


def _conversation(data: bytes) -> None:
    """The first byte gives the size of the pieces into which the stream is cut; the events must not depend on it."""
    size, stream = (data[0] % 32) + 1 if data else 1, data[1:]
    told = []
    for step in (size, len(stream) or 1):
        connection = Connection(Limits(message_bytes_max=1 << 16))
        connection.receive_data(_STARTUP)
        list(_consume(connection))
        connection.send(pg.AuthenticationOk())
        connection.send(pg.ReadyForQuery("I"))
        events = []
        for at in range(0, len(stream), step):
            if connection.state is State.CLOSED:
                break
            connection.receive_data(stream[at : at + step])
            events += list(_consume(connection))
        told.append(events)
    assert told[0] == told[1], f"cut into {size} bytes: {told[0]}, whole: {told[1]}"


def _message(data: bytes) -> None:
    if data[:1] and data[:1] in b"QPBDECHSFdcfpX":
        pg.decode(data[:1], data[1:], "UTF8")


def _authentication(data: bytes) -> None:
    """The bytes, cut in two, are sent to each authentication method; none may let the client in."""
    verifier = _verifier()
    digest = md5_digest("right", "ann")
    for machine in (
        Scram("ann", verifier, certificate=None, nonce="nonce", doomed=False),
        CleartextPassword("ann", digest),
        Md5Password("ann", digest, b"salt"),
    ):
        machine.begin()
        half = data[0] % (len(data)) if data else 0
        try:
            for part in (data[:half], data[half:]):
                said = machine.receive(pg.PasswordMessage(part))
                assert not any(isinstance(message, pg.AuthenticationOk) for message in said)
        except FatalError:
            continue


@cache
def _verifier() -> ScramVerifier:
    return ScramVerifier.of("right", b"0123456789abcdef")


# --- values -----------------------------------------------------------------------------------------------------------

_READABLE: Final = sorted((x for x in t.BY_OID.values() if x.category != "P" and x is not t.VOID), key=lambda x: x.oid)
#: Types of which any value that was read can be written by their carrier alone.
_ECHOED: Final = (
    t.BOOL,
    t.INT2,
    t.INT4,
    t.INT8,
    t.OID,
    t.FLOAT4,
    t.FLOAT8,
    t.TEXT,
    t.BYTEA,
    t.UUID,
    t.DATE,
    t.TIME,
    t.TIMETZ,
    t.TIMESTAMP,
    t.TIMESTAMPTZ,
    t.INTERVAL,
    t.JSONB,
    t.BY_NAME["_int4"],
    t.BY_NAME["_text"],
)


def _parameter(data: bytes) -> None:
    """The first byte gives the type, the second the format. A decoded value must give the same value again after
    encoding.
    """
    if len(data) < 2:
        return
    typ, form = _READABLE[data[0] % len(_READABLE)], data[1] & 1
    value = decode_parameter(typ, form, data[2:], _INPUT)
    if typ not in _ECHOED or value is None:
        return
    for way in (0, 1):
        written = _written(typ, way, value)
        again = decode_parameter(typ, way, written, _INPUT)
        assert again == value or again != again, f"{typ.name}: {value!r} is written as {written!r}, which is {again!r}"


def _written(typ: t.PgType, form: int, value: Any) -> bytes:
    encoder = RowEncoder([EncodedColumn(typ)], (form,), OutputSettings())
    [[written]] = encoded_rows(encoder, pa.record_batch([_array(value, typ)], names=["v"]))
    assert written is not None
    return written


def _array(value: Any, typ: t.PgType) -> pa.Array:
    nested = typ.is_array and any(isinstance(item, list) for item in value)
    shape = carrier(typ)
    depth = value
    while nested and isinstance(depth, list) and depth and isinstance(depth[0], list):
        shape, depth = pa.list_(shape), depth[0]
    return pa.array([value], shape)


#: A text that is read, by type; of the others some are read from a 1.
_TEXTS: Final = {
    "bool": "true",
    "int4": "-12",
    "int8": "9000000000",
    "numeric": "-1.50",
    "float8": "1e-3",
    "text": "a",
    "bytea": r"\x01ff",
    "date": "2024-02-29",
    "timestamp": "1999-12-31 23:59:59.5 BC",
    "timestamptz": "2024-01-01 10:00+05:30",
    "time": "24:00",
    "timetz": "10:00-03",
    "interval": "1 year -2 days 03:04:05.6",
    "uuid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "json": '{"a": [1, null, "x"]}',
    "jsonb": '{"b": {"c": 1e2}}',
    "_int4": "{1,NULL}",
    "_text": '{{a,"b\\"c"},{NULL,d}}',
    "int4range": "[1,5)",
    "numrange": "(,1.5]",
    "tsrange": "[2024-01-01,)",
    "inet": "10.0.0.1/8",
    "macaddr": "08:00:2b:01:02:03",
    "bit": "101",
    "varbit": "11",
    "money": "$1,234.50",
    "point": "(1,2)",
    "polygon": "((0,0),(1,1))",
    "xml": "<a/>",
    "pg_lsn": "0/1",
}


def _parameters() -> Iterator[bytes]:
    for number, typ in enumerate(_READABLE):
        text = _TEXTS.get(typ.name, "{}" if typ.name.startswith("_") else "1").encode()
        yield bytes([number, 0]) + text
        if typ in _ECHOED:
            yield bytes([number, 1]) + _written(typ, 1, decode_parameter(typ, 0, text, _INPUT))
    array = struct.pack("!iiiiiii", 1, 1, 23, 1, 1, 4, 7)
    yield bytes([_READABLE.index(t.BY_NAME["_int4"])]) + b"\1" + array
    yield bytes([_READABLE.index(t.NUMERIC)]) + b"\1" + struct.pack("!hhHhhh", 2, 0, 0x4000, 2, 1, 5000)


# --- COPY -------------------------------------------------------------------------------------------------------------

_COPIED: Final = (
    t.INT4,
    t.INT8,
    t.FLOAT8,
    t.NUMERIC,
    t.TEXT,
    t.BOOL,
    t.DATE,
    t.TIMESTAMP,
    t.TIMESTAMPTZ,
    t.TIME,
    t.INTERVAL,
    t.UUID,
    t.BYTEA,
    t.JSONB,
    t.BY_NAME["_int4"],
    t.BY_NAME["_text"],
)
_CSV: Final = Layout(csv=True, delimiter=b",", null=b"")
_LAYOUTS: Final = (
    Layout(),
    _CSV,
    replace(_CSV, escape=b"\\", quote=b"'"),
    replace(_CSV, header="present"),
    Layout(null=b"", delimiter=b"|"),
    replace(_CSV, force_null=frozenset((0,)), null=b"N"),
)


def _of(typ: t.PgType) -> st.SqlType:
    return st.numeric(*_DIGITS) if typ is t.NUMERIC else st.of(typ)


def _copied_text(data: bytes) -> None:
    """The first bytes give the format of the rows, the cuts of the stream, and the type of both columns."""
    if len(data) < 3:
        return
    reader = RowReader(_LAYOUTS[data[0] % len(_LAYOUTS)], "t", ("a", "b"), "UTF8")
    typ = _of(_COPIED[data[2] % len(_COPIED)])
    size, rest = data[1] + 1, data[3:]
    blocks = [block for at in range(0, len(rest), size) for block in reader.feed(rest[at : at + size])]
    for block in (*blocks, *reader.finish()):
        for column in block.columns:
            casts.exact(column, typ, _INPUT)
        if block.error is not None:
            raise block.error


def _copied_binary(data: bytes) -> None:
    reader = BinaryReader("t", ("a", "b"))
    if len(data) < 1:
        return
    typ = _COPIED[data[0] % len(_COPIED)]
    for block in (*reader.feed(data[1:]), *reader.finish()):
        for column in block.columns:
            receive_column(column, typ, -1, _DIGITS, _INPUT)
        if block.error is not None:
            raise block.error


def _copies() -> Iterator[bytes]:
    for number, layout in enumerate(_LAYOUTS):
        delimiter, null = layout.delimiter.decode(), layout.null.decode()
        for typ, copied in enumerate(_COPIED):
            text = _field(_TEXTS.get(copied.name, "1"), layout)
            yield bytes([number, 40, typ]) + f"{text}{delimiter}{text}\n{text}{delimiter}{null}\n\\.\n".encode()


def _field(text: str, layout: Layout) -> str:
    if layout.csv:
        quote, escape = layout.quote.decode(), layout.escape.decode()
        return quote + text.translate({ord(quote): escape + quote, ord(escape): escape * 2}) + quote
    return text.replace("\\", "\\\\").replace(layout.delimiter.decode(), "\\" + layout.delimiter.decode())


def _binary_copies() -> Iterator[bytes]:
    head, end = SIGNATURE + struct.pack("!Ii", 0, 0), struct.pack("!h", -1)
    for number in range(len(_COPIED)):
        for value in (b"\0\0\0\7", b"\0\0\0\0\0\0\0\1", b"text"):
            field = struct.pack("!i", len(value)) + value
            yield bytes([number]) + head + struct.pack("!h", 2) + field + struct.pack("!i", -1) + end


# --- members ----------------------------------------------------------------------------------------------------------

_SCHEMA: Final = pa.schema(
    [("a", pa.int32()), ("s", pa.string()), ("l", pa.list_(pa.int64())), ("d", pa.decimal128(20, 2))]
)
_ANN: Final = control.Identity("ann", "a1", "127.0.0.1:1", "127.0.0.1:2", "data", "0.1")
_BOB: Final = control.Identity("bob", "b1", "127.0.0.1:3", "127.0.0.1:4", "lite", "0.1")
#: What is said once both ends have proved who they are.
_CONTROL: Final = (
    control.encode(control.Heartbeat(1, False)),
    control.encode(control.Start("q", ("a", "b")), 4) + b"plan",
    control.encode(control.Goodbye("leave", "")),
)
_OPEN: Final = mesh.Open(mesh.VERSION, "c", b"t", 1, 0, 0, 0, b"f")
_DATA: Final = (
    mesh.encode(_OPEN),
    mesh.encode(mesh.Ok(100, 100)),
    mesh.encode(mesh.Deny("unknown", "")),
    mesh.encode(mesh.Batch(1, 0, 0, 1, False, 0), 3) + b"abc",
    mesh.encode(mesh.Batch(1, 0, 0, 0, True, 0)),
    mesh.encode(mesh.Oversize(1 << 20)),
    mesh.encode(mesh.FlowControl(300)),
    mesh.encode(mesh.Cancel("57014", "stop")),
)


def _frames(data: bytes) -> None:
    """The frames must not depend on how the stream is cut."""
    size, stream = (data[0] % 32) + 1 if data else 1, data[1:]
    told = []
    for step in (size, len(stream) or 1):
        reader, frames = FrameReader(preface=True, body_limit=1 << 12), []
        try:
            for at in range(0, len(stream), step):
                for found in reader.feed(stream[at : at + step]):
                    frames.append((found.kind, bytes(found.header), bytes(found.body)))
        except RemoteProtocolError as error:
            frames.append((-1, str(error).encode(), b""))
        told.append(frames)
    assert told[0] == told[1]


def _data_channel(data: bytes) -> None:
    """Feed the bytes to a receiver after the sender's opening, or to a sender."""
    if data[:1] < b"\x80":
        receiver = DataReceiver()
        list(receiver.receive_data(PREFACE + mesh.encode(_OPEN)))
        receiver.accept(1 << 12)
        list(receiver.receive_data(data[1:]))
    else:
        sender = DataSender(_OPEN)
        sender.receive_data(data[1:])


def _streams() -> Iterator[bytes]:
    _, ok, deny, batch, last, oversize, flow, cancel = _DATA
    yield b"\0" + oversize + batch + last
    yield b"\0" + batch + cancel
    yield b"\x80" + ok + flow + cancel
    yield b"\x80" + deny


def _control_channel(data: bytes) -> None:
    """Feed the bytes to the end that dialled, which has introduced itself, or to the end that accepted."""
    dialled = data[:1] < b"\x80"
    _heard(_end(dialled), PREFACE * (not dialled) + data[1:])


def _end(dialled: bool) -> ControlChannel:
    identity, nonce = (_ANN, b"A" * 32) if dialled else (_BOB, b"B" * 32)
    return ControlChannel(identity, "sluice", b"s", nonce, dialled=dialled)


def _heard(channel: ControlChannel, data: bytes) -> bytes:
    """Return the bytes that the channel sends in reply, whoever the peer is."""
    said = b""
    for event in channel.receive_data(data):
        if isinstance(event, Introduced):
            said += channel.proceed()
    return said + channel.answers()


def _meetings() -> Iterator[bytes]:
    """Yield the bytes of a complete connection, as each end receives them."""
    ann, bob = _end(True), _end(False)
    hello = ann.opening_bytes()
    welcome = _heard(bob, hello)
    proof = _heard(ann, welcome)
    counterproof = _heard(bob, proof)
    yield b"\0" + welcome + counterproof + b"".join(_CONTROL)
    yield b"\x80" + hello[len(PREFACE) :] + proof + b"".join(_CONTROL)


def _control_message(data: bytes) -> None:
    """The first byte is the message's number. A decoded message must give the same message again after encoding."""
    if data:
        message = control.decode(data[0], data[1:])
        [again] = FrameReader(preface=False).feed(control.encode(message))
        assert control.decode(again.kind, again.header) == message


def _control_messages() -> Iterator[bytes]:
    said = _end(True).opening_bytes()[len(PREFACE) :] + b"".join(_CONTROL)
    for found in FrameReader(preface=False, body_limit=1 << 12).feed(said):
        yield bytes([found.kind]) + bytes(found.header)


def _plan(data: bytes) -> None:
    try:
        member = MemberSpec.decode(data)
        SharedSpec.decode(member.shared)
    except msgspec.MsgspecError:
        return


def _plans() -> Iterator[bytes]:
    shared = SharedSpec((), (), "UTC", 1 << 20)
    yield msgspec.msgpack.encode(MemberSpec(msgspec.Raw(msgspec.msgpack.encode(shared)), ()))


def _batch(data: bytes) -> None:
    """A batch that is accepted can be read completely: it contains nothing that lies outside of its bytes."""
    batch = received_batch(data, _SCHEMA)
    assert batch.num_columns == len(_SCHEMA)


def _batches() -> Iterator[bytes]:
    columns = ([1, None, 3], ["abc", None, "defgh"], [[1], None, [2, 3]], [None, 1, 2])
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
    yield bytes(pa.record_batch(arrays, schema=_SCHEMA).serialize())


def _page(data: bytes) -> None:
    page_rows(data)


def _pages() -> Iterator[bytes]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("a", pa.int32())])) as writer:
        writer.write_batch(pa.record_batch([pa.array([1, None], pa.int32())], names=["a"]))
    yield bytes(sink.getvalue())


def _columns(data: bytes) -> None:
    decode_columns(data)


def _described() -> Iterator[bytes]:
    mood = Told(Definition(16400, 16399, "mood", "mood", ((1, "sad"),)))
    for typ in (23, mood):
        yield encode_columns([CursorColumn("a", ColumnType(typ, -1, 0, 0, "fixed", 0), 0, 0)])


# --- files and statements ---------------------------------------------------------------------------------------------


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="sluice-fuzz-")


def _in_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    def reader(data: bytes) -> None:
        path = Path(_folder().name, name)
        path.write_bytes(data)
        read(path)

    return reader


_TOML: Final = b"""listen = "127.0.0.1:5432"
data = "/x"
[spark]
master = "local[2]"
[local]
memory = "1GB"
[cluster]
name = "c"
"""
_YAML: Final = b"""logical:
  - name: rides
    columns: {id: bigint, fare: "numeric(15,2)"}
nodes:
  - name: a
    address: a:1
    links: [{to: b, direction: up}]
    physical: [{logical: rides, type: csv, path: a.csv, options: {header: true}}]
  - {name: b, address: b:1, capacity: 4, links: [a]}
"""
_HBA: Final = b"""local all all trust
host sales,"all" ann, bob 10.0.0.0 255.0.0.0 reject # x
hostssl all +staff ::1/128 scram-sha-256
"""


def _rules(data: bytes) -> None:
    hba.parse(data.decode(errors="replace"), "hba")


def _statement(data: bytes) -> None:
    parse(data.decode(errors="replace"))


def _statements() -> Iterator[bytes]:
    folder = Path(__file__).parents[1] / "differential"
    for file in ("grammar", "queries", "found"):
        path = folder / "statements" / f"{file}.sql"
        yield from (line.encode() for line in path.read_text().splitlines()[::7] if line.strip())


TARGETS: Final = {
    target.name: target
    for target in (
        Target(
            "startup",
            _startup,
            lambda: [_STARTUP, b"\0\0\0\x08\x04\xd2\x16\x2f", b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\1abcd"],
        ),
        Target(
            "conversation",
            _conversation,
            lambda: [b"\3" + b"".join(_CONVERSATION), *(b"\7" + m for m in _CONVERSATION)],
        ),
        Target("message", _message, lambda: [m[:1] + m[5:] for m in _CONVERSATION]),
        Target("authentication", _authentication, lambda: [b"SCRAM-SHA-256\0\0\0\0\x0bn,,n=,r=abc", _text("wrong")]),
        Target("parameter", _parameter, _parameters),
        Target("copied_text", _copied_text, _copies, weight=5),
        Target("copied_binary", _copied_binary, _binary_copies),
        Target(
            "frames", _frames, lambda: [b"\5" + PREFACE + b"".join(_DATA), b"\1" + PREFACE + frame(4, b"", 2) + b"ab"]
        ),
        Target(
            "data_channel",
            _data_channel,
            _streams,
            (RemoteProtocolError,),
        ),
        Target(
            "control_channel",
            _control_channel,
            _meetings,
            (RemoteProtocolError,),
        ),
        Target("control_message", _control_message, _control_messages, (RemoteProtocolError,)),
        Target("plan", _plan, _plans),
        Target("batch", _batch, _batches),
        Target("page", _page, _pages),
        Target(
            "columns",
            _columns,
            _described,
            (RemoteProtocolError,),
        ),
        Target("topology", _in_file("t.yaml", topology.load_topology), lambda: [_YAML], (ConfigurationError,), 5),
        Target(
            "configuration",
            _in_file("c.toml", lambda path: config.load(path, {}, {})),
            lambda: [_TOML],
            (ConfigurationError,),
            5,
        ),
        Target(
            "configuration_yaml",
            _in_file("c.yaml", lambda path: config.load(path, {}, {})),
            lambda: [b"spark:\n  master: local\n"],
            (ConfigurationError,),
            5,
        ),
        Target("hba", _rules, lambda: [_HBA], (hba.HbaError,)),
        Target("statement", _statement, _statements),
    )
}

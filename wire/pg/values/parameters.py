"""Bind's parameters: bytes in the text or binary format in, canonical values out (`engine.plan_ir.expr` defines
canonical values).

The text format is read by the type's input function, the binary format by its receive function. Lengths and ranges are
checked; an invalid value raises 22P03, as in PostgreSQL.

Source: PostgreSQL's receive functions, as real drivers send their input; tests compare with psycopg and a real server.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, Final

from wire.errors import (
    DatatypeMismatch,
    DatetimeFieldOverflow,
    FeatureNotSupported,
    InvalidBinaryRepresentation,
    InvalidParameterValue,
    InvalidTimeZoneDisplacement,
    ProtocolViolation,
)
from wire.pg.values.wide_numerics import SPECIAL_VALUES
from wire.types import pg_types as t
from wire.types.array_numbers import receive_numbers
from wire.types.carriers import PG_EPOCH_DAYS, PG_EPOCH_MICROS
from wire.types.civil_calendar import DAY_MICROS
from wire.types.client_encodings import from_client
from wire.types.datetime_input import (
    DATE_END,
    DATE_FIRST,
    DATE_INFINITY,
    DATE_MINUS_INFINITY,
    TIMESTAMP_END,
    TIMESTAMP_FIRST,
    TIMESTAMP_INFINITY,
    TIMESTAMP_MINUS_INFINITY,
    check_carried,
)
from wire.types.enums import read_enum
from wire.types.input import InputSettings, parse_text
from wire.types.interval_input import interval_value
from wire.types.json_input import read_json, read_jsonb
from wire.types.multiranges import RANGES, receive_multirange
from wire.types.range_bounds import bound_text
from wire.types.ranges import receive_range
from wire.types.strings_input import read_string
from wire.types.value_codecs import CODECS, WORDS

_Reader = Callable[[bytes, InputSettings], Any]

_ARRAY_DIMENSIONS_MAX: Final = 6
_TIMETZ_ZONE_MAX: Final = 16 * 3600
#: The sign words of a binary numeric.
_POSITIVE, _NEGATIVE = 0x0000, 0x4000
_EXACT: Final = Context(prec=200_000)


def decode_parameter(typ: t.PgType, form: int, data: bytes, settings: InputSettings) -> Any:
    """Return the canonical value of a parameter that is not NULL.

    form: 0 text, 1 binary. data: the value's bytes, text in the client's encoding.
    Raises SqlError: the errors of the type's input function, 22P03 for invalid binary data, 0A000 for a value that no
    carrier holds, ProtocolViolation for an unknown format.
    """
    typ = t.base_of(typ)
    if form == 0:
        return parse_text(typ, from_client(data, settings.client_encoding), settings=settings)
    if form != 1:
        raise ProtocolViolation(f"unsupported format code: {form}")
    return _receive(typ, bytes(data), settings)


def _receive(typ: t.PgType, data: bytes, settings: InputSettings) -> Any:
    if typ.category == "A":
        return _array(typ, data, settings)
    if typ.category == "E":
        return read_enum(typ, from_client(data, settings.client_encoding))
    if typ.category == "C":
        return _composite(typ, data, settings)
    if typ.category == "R":
        receive_ranges = receive_multirange if typ in RANGES else receive_range
        return receive_ranges(typ, data, lambda sub, bound: _receive(sub, bound, settings), bound_text)
    if typ in (t.XML, t.REFCURSOR):
        return parse_text(typ, from_client(data, settings.client_encoding), settings=settings)
    if typ in WORDS and settings.client_encoding not in ("UTF8", "SQL_ASCII"):
        raise FeatureNotSupported(f"not supported: binary {typ.sql_name} in {settings.client_encoding}")
    if (codec := CODECS.get(typ)) is not None:
        return codec.receive(data)
    reader = _READERS.get(typ)
    if reader is None:
        raise FeatureNotSupported(f"not supported: binary input of type {typ.sql_name}")
    return reader(data, settings)


def _unpack(layout: str, data: bytes) -> tuple[Any, ...]:
    if len(data) < struct.calcsize(layout):
        raise ProtocolViolation("insufficient data left in message")
    if len(data) > struct.calcsize(layout):
        raise InvalidBinaryRepresentation("incorrect binary data format")
    return struct.unpack(layout, data)


def _plain(layout: str) -> _Reader:
    return lambda data, _settings: _unpack(layout, data)[0]


def _text(typ: t.PgType) -> _Reader:
    return lambda data, settings: read_string(typ, from_client(data, settings.client_encoding))


def _bool(data: bytes, _settings: InputSettings) -> bool:
    return bool(_unpack("!B", data)[0])


def _jsonb(data: bytes, settings: InputSettings) -> str:
    if data[:1] != b"\x01":
        raise InvalidBinaryRepresentation(f"unsupported jsonb version number {data[0] if data else 0}")
    return read_jsonb(from_client(data[1:], settings.client_encoding))


def _uuid(data: bytes, _settings: InputSettings) -> str:
    digits = _unpack("!16s", data)[0].hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _date(data: bytes, _settings: InputSettings) -> int:
    days = int(_unpack("!i", data)[0])
    if days in (DATE_INFINITY, DATE_MINUS_INFINITY):
        return days
    if not DATE_FIRST <= days + PG_EPOCH_DAYS < DATE_END:
        raise DatetimeFieldOverflow("date out of range")
    return days + PG_EPOCH_DAYS


def _timestamp(data: bytes, _settings: InputSettings) -> int:
    micros = int(_unpack("!q", data)[0])
    if micros in (TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY):
        return micros
    if not TIMESTAMP_FIRST <= micros + PG_EPOCH_MICROS < TIMESTAMP_END:
        raise DatetimeFieldOverflow("timestamp out of range")
    return check_carried(micros + PG_EPOCH_MICROS)


def _checked_time(micros: int) -> int:
    if not 0 <= micros <= DAY_MICROS:
        raise DatetimeFieldOverflow("time out of range")
    return micros


def _time(data: bytes, _settings: InputSettings) -> int:
    return _checked_time(_unpack("!q", data)[0])


def _timetz(data: bytes, _settings: InputSettings) -> dict[str, int]:
    micros, west = _unpack("!qi", data)
    if not -_TIMETZ_ZONE_MAX < west < _TIMETZ_ZONE_MAX:
        raise InvalidTimeZoneDisplacement("time zone displacement out of range")
    return {"micros": _checked_time(micros), "zone": west}


def _interval(data: bytes, _settings: InputSettings) -> Any:
    micros, days, months = _unpack("!qii", data)
    return interval_value(months, days, micros)


def _numeric(data: bytes, _settings: InputSettings) -> Decimal:
    """Read a header of digit count, weight, sign and display scale, then base-10000 digits."""
    if len(data) < 8:
        raise ProtocolViolation("insufficient data left in message")
    count, weight, sign, scale = struct.unpack_from("!HhHH", data)
    if sign in SPECIAL_VALUES:
        return SPECIAL_VALUES[sign]
    if sign not in (_POSITIVE, _NEGATIVE):
        raise InvalidBinaryRepresentation('invalid sign in external "numeric" value')
    if scale > 0x3FFF:
        raise InvalidBinaryRepresentation('invalid scale in external "numeric" value')
    digits = _unpack(f"!{count}h", data[8:])
    if any(not 0 <= digit < 10_000 for digit in digits):
        raise InvalidBinaryRepresentation('invalid digit in external "numeric" value')
    unscaled = Decimal("".join(f"{digit:04d}" for digit in digits) or "0")
    value = unscaled.scaleb((weight - count + 1) * 4, _EXACT) if unscaled else Decimal(0)
    # Digits beyond the display scale are cut, not rounded.
    shown = value.quantize(Decimal((0, (1,), -scale)), "ROUND_DOWN", _EXACT)
    return shown.copy_negate() if sign == _NEGATIVE and not shown.is_zero() else shown


def _array(typ: t.PgType, data: bytes, settings: InputSettings) -> list[Any]:
    if len(data) < 12:
        raise ProtocolViolation("insufficient data left in message")
    dimensions, flags, element_oid = struct.unpack_from("!iiI", data)
    if not 0 <= dimensions <= _ARRAY_DIMENSIONS_MAX:
        raise InvalidBinaryRepresentation(f"invalid number of dimensions: {dimensions}")
    if flags not in (0, 1):
        raise InvalidBinaryRepresentation("invalid array flags")
    element = t.element_of(typ)
    if element_oid != element.oid:
        raise DatatypeMismatch(
            f"binary data has array element type {element_oid} ({_type_name(element_oid)}) "
            f"instead of expected {element.oid} ({element.sql_name})"
        )
    lengths = _dimensions(typ, data, dimensions)
    items = _items(element, data, 12 + 8 * dimensions, lengths, settings)
    for length in reversed(lengths[1:]):
        items = [items[at : at + length] for at in range(0, len(items), length)]
    return items


def _composite(typ: t.PgType, data: bytes, settings: InputSettings) -> dict[str, Any]:
    """Read a composite value (record_recv): the number of fields, then the type, the length and the value of each."""
    if len(data) < 4:
        raise ProtocolViolation("insufficient data left in message")
    (count,) = struct.unpack_from("!i", data)
    if count != len(typ.attributes):
        raise DatatypeMismatch(f"wrong number of columns: {count}, expected {len(typ.attributes)}")
    value, at = dict[str, Any](), 4
    for index, item in enumerate(typ.attributes):
        if at + 8 > len(data):
            raise ProtocolViolation("insufficient data left in message")
        oid, size = struct.unpack_from("!Ii", data, at)
        at += 8
        if oid != item.type.oid:
            raise DatatypeMismatch(
                f"binary data has type {oid} ({_type_name(oid)}) instead of expected {item.type.oid} ({item.type.sql_name})"
                f" in record column {index + 1}"
            )
        if size < -1 or at + max(size, 0) > len(data):
            raise InvalidBinaryRepresentation("insufficient data left in message")
        value[item.field] = None if size == -1 else _attribute(item, data[at : at + size], settings)
        at += max(size, 0)
    if at != len(data):
        raise InvalidBinaryRepresentation("improper binary format in record")
    return value


def _attribute(item: t.Attribute, data: bytes, settings: InputSettings) -> Any:
    typ, typmod = t.attribute_type(item)
    if typmod >= 0 and typ not in MODIFIED:
        raise FeatureNotSupported(f"not supported: {t.format_type(typ, typmod)} within a binary value")
    return with_modifier(typ, typmod, _receive(typ, data, settings), settings)


def with_modifier(typ: t.PgType, typmod: int, value: Any, settings: InputSettings) -> Any:
    """Apply the type modifier of its place to a value that came in the binary format. Raises as the type's input
    function does.
    """
    if typmod >= 0 and typ in MODIFIED:
        return parse_text(typ, str(value), typmod=typmod, settings=settings)
    return value


def _type_name(oid: int) -> str:
    known = t.BY_OID.get(oid)
    return known.sql_name if known else str(oid)


def _dimensions(typ: t.PgType, data: bytes, count: int) -> list[int]:
    if len(data) < 12 + 8 * count:
        raise ProtocolViolation("insufficient data left in message")
    pairs = [struct.unpack_from("!ii", data, 12 + 8 * index) for index in range(count)]
    if any(length < 0 for length, _ in pairs):
        raise InvalidParameterValue("array size exceeds the maximum allowed")
    lengths = [length for length, _ in pairs]
    if not all(lengths):
        return []
    lowest = 0 if typ.oid in (22, 30) else 1
    if any(lower != lowest for _, lower in pairs):
        raise FeatureNotSupported("not supported: array lower bounds other than 1")
    return lengths


def _items(element: t.PgType, data: bytes, at: int, lengths: list[int], settings: InputSettings) -> list[Any]:
    count = 1 if lengths else 0
    for length in lengths:
        count *= length
    # Each item has at least a length word, so the message bounds the number of items.
    if count * 4 > len(data) - at:
        raise ProtocolViolation("insufficient data left in message")
    if (numbers := receive_numbers(element, data, at, count)) is not None:
        return numbers
    items: list[Any] = []
    for _ in range(count):
        if at + 4 > len(data):
            raise ProtocolViolation("insufficient data left in message")
        (size,) = struct.unpack_from("!i", data, at)
        at += 4
        if size < -1 or at + max(size, 0) > len(data):
            raise InvalidBinaryRepresentation("insufficient data left in message")
        items.append(None if size == -1 else _receive(element, data[at : at + size], settings))
        at += max(size, 0)
    if at != len(data):
        raise InvalidBinaryRepresentation("incorrect binary data format")
    return items


#: Types whose modifier truncates, rounds or refuses values.
MODIFIED: Final = frozenset((t.VARCHAR, t.BPCHAR, t.BIT, t.VARBIT, t.NUMERIC))

_READERS: Final[dict[t.PgType, _Reader]] = {
    t.BOOL: _bool,
    t.INT2: _plain("!h"),
    t.INT4: _plain("!i"),
    t.INT8: _plain("!q"),
    t.FLOAT4: _plain("!f"),
    t.FLOAT8: _plain("!d"),
    t.NUMERIC: _numeric,
    t.BYTEA: lambda data, _settings: data,
    t.JSON: lambda data, settings: read_json(from_client(data, settings.client_encoding)),
    t.JSONB: _jsonb,
    t.UUID: _uuid,
    t.DATE: _date,
    t.TIME: _time,
    t.TIMETZ: _timetz,
    t.TIMESTAMP: _timestamp,
    t.TIMESTAMPTZ: _timestamp,
    t.INTERVAL: _interval,
    t.VOID: lambda _data, _settings: None,
    t.CHAR: lambda data, settings: read_string(
        t.CHAR, from_client(_unpack("!1s", data)[0].strip(b"\0"), settings.client_encoding)
    ),
    **dict.fromkeys(t.UNSIGNED, _plain("!I")),
    **{typ: _text(typ) for typ in (t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.UNKNOWN)},
}

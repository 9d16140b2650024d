"""Bind's parameters in the binary format: what real drivers send, and what must be refused."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from wire.errors import SqlError
from wire.pg.values import decode_parameter
from wire.types import pg_types as t
from wire.types.client_encodings import encoding_named
from wire.types.input import InputSettings

INT4_ARRAY = t.BY_NAME["_int4"]


def decode(typ: t.PgType, data: bytes, form: int = 1, **settings: Any) -> Any:
    return decode_parameter(typ, form, data, InputSettings(**settings))


@pytest.mark.parametrize(
    ("typ", "data", "value"),
    [
        (t.BOOL, b"\x01", True),
        (t.INT2, b"\xff\xff", -1),
        (t.OID, b"\xff\xff\xff\xff", 4294967295),
        (t.NUMERIC, struct.pack("!HhHHhh", 2, 0, 0x4000, 2, 1, 5000), Decimal("-1.50")),
        (t.NUMERIC, struct.pack("!HhHH", 0, 0, 0, 3), Decimal("0.000")),
        (t.NUMERIC, struct.pack("!HhHHh", 1, 2, 0, 0, 7), Decimal(700_000_000)),
        (t.NUMERIC, struct.pack("!HhHHhh", 2, 0, 0, 1, 1, 5999), Decimal("1.5")),
        (t.NUMERIC, struct.pack("!HhHHh", 1, 2000, 0, 0, 7), Decimal("7e8000")),
        (t.NUMERIC, struct.pack("!HhHH2000h", 2000, 1999, 0, 0, *[9999] * 2000), Decimal("9" * 8000)),
        (t.CHAR, b"a", "a"),
        (t.CHAR, b"\0", ""),
        (t.JSONB, b'\x01{"b":1, "a":2}', '{"a": 2, "b": 1}'),
        (t.DATE, struct.pack("!i", 0), 10957),
        (t.DATE, struct.pack("!i", (1 << 31) - 1), (1 << 31) - 1),
        (t.TIMESTAMP, struct.pack("!q", 0), 946_684_800_000_000),
        (t.TIMETZ, struct.pack("!qi", 5, -3600), {"micros": 5, "zone": -3600}),
        (t.INTERVAL, struct.pack("!qii", 3, 2, 1), pa.MonthDayNano([1, 2, 3000])),
        (INT4_ARRAY, struct.pack("!iiiiiiiii", 1, 1, 23, 2, 1, 4, 7, -1, 0)[:-4], [7, None]),
        (INT4_ARRAY, struct.pack("!iii", 0, 0, 23), []),
        (
            INT4_ARRAY,
            struct.pack("!iiiiiii", 2, 0, 23, 2, 1, 1, 1) + struct.pack("!ii", 4, 1) + struct.pack("!ii", 4, 2),
            [[1], [2]],
        ),
        (t.TEXT, "é".encode(), "é"),
        (t.UNKNOWN, b"x", "x"),
        (t.VOID, b"", None),
    ],
)
def test_values(typ: t.PgType, data: bytes, value: Any) -> None:
    assert decode(typ, data) == value


@pytest.mark.parametrize(
    ("typ", "data", "sqlstate"),
    [
        (t.INT4, b"\0\0\0", "08P01"),
        (t.INT4, b"\0\0\0\0\0", "22P03"),
        (t.FLOAT8, b"", "08P01"),
        (t.NUMERIC, b"\0", "08P01"),
        (t.NUMERIC, struct.pack("!HhHHh", 1, 0, 0x1234, 0, 1), "22P03"),
        (t.NUMERIC, struct.pack("!HhHHh", 1, 0, 0, 0, 10_000), "22P03"),
        (t.NUMERIC, struct.pack("!HhHH", 3, 0, 0, 0), "08P01"),
        (t.JSONB, b"\x02{}", "22P03"),
        (t.JSONB, b"\x01{", "22P02"),
        (t.JSON, b"{", "22P02"),
        (t.UUID, b"\0" * 15, "08P01"),
        (t.DATE, struct.pack("!i", -(1 << 31) + 5), "22008"),
        (t.TIME, struct.pack("!q", -1), "22008"),
        (t.TIMESTAMP, struct.pack("!q", -(1 << 63) + 5), "22008"),
        (t.TIMESTAMP, struct.pack("!q", 9_223_371_331_199_999_999), "0A000"),
        (t.TIMETZ, struct.pack("!qi", 0, 60_000), "22009"),
        (t.INTERVAL, struct.pack("!qii", 1 << 62, 0, 0), "0A000"),
        (t.TEXT, b"\xff", "22021"),
        (t.TEXT, b"a\0b", "22021"),
        (INT4_ARRAY, struct.pack("!iii", 7, 0, 23), "22P03"),
        (INT4_ARRAY, struct.pack("!iii", 0, 2, 23), "22P03"),
        (INT4_ARRAY, struct.pack("!iii", 0, 0, 25), "42804"),
        (INT4_ARRAY, struct.pack("!iiiii", 1, 0, 23, 1 << 30, 1), "08P01"),
        (INT4_ARRAY, struct.pack("!iiiiiii", 1, 0, 23, 1, 5, 4, 1), "0A000"),
        (INT4_ARRAY, struct.pack("!iiiiii", 1, 0, 23, 1, 1, 9), "22P03"),
        (INT4_ARRAY, struct.pack("!iiiiiiii", 1, 0, 23, 1, 1, 4, 1, 0), "22P03"),
        (t.RECORD, b"", "0A000"),
    ],
)
def test_refusals(typ: t.PgType, data: bytes, sqlstate: str) -> None:
    with pytest.raises(SqlError) as caught:
        decode(typ, data)
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"3.4028235e38", 3.4028234663852886e38),
        (b"-3.4028235e+38", -3.4028234663852886e38),
        (b"1e-45", 1.401298464324817e-45),
    ],
)
def test_ends_of_float4(text: bytes, value: float) -> None:
    assert decode(t.FLOAT4, text, form=0) == value


def test_encodings_by_their_other_names() -> None:
    assert encoding_named("utf-8") == encoding_named("Unicode") == "UTF8"
    assert encoding_named("iso-8859-15") == "LATIN9"
    assert encoding_named("windows1252") == "WIN1252"
    with pytest.raises(KeyError):
        encoding_named("klingon")


def test_text_is_read_in_the_clients_encoding() -> None:
    assert decode(t.TEXT, b"\xe9", 0, client_encoding="LATIN1") == "é"
    assert decode(t.TEXT, b"\xe9", 1, client_encoding="LATIN1") == "é"
    assert decode(t.INT4, b" 42 ", 0) == 42


def test_an_unknown_format() -> None:
    with pytest.raises(SqlError, match="unsupported format code: 2"):
        decode(t.INT4, b"", 2)

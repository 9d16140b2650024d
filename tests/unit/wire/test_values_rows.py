"""The shape of DataRow streams: nulls, slices, empty batches, formats, halves, encodings, and what is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from support.datarow_reader import encoded_rows, read_rows

from wire.errors import ArraySubscriptError, FeatureNotSupported, ProtocolViolation, UntranslatableCharacter
from wire.pg import datarow
from wire.pg.datarow import EncodedColumn, OutputSettings, RowEncoder
from wire.types import pg_types as t
from wire.types.carriers import NumericScale
from wire.types.output import format_value


def encode(
    batch: pa.RecordBatch, *types: t.PgType, formats: tuple[int, ...] = (), settings: OutputSettings | None = None
) -> list[list[bytes | None]]:
    columns = [EncodedColumn(typ) for typ in types]
    return encoded_rows(RowEncoder(columns, formats, settings or OutputSettings()), batch)


def test_the_bytes_of_a_message() -> None:
    batch = pa.record_batch([pa.array([7], pa.int32()), pa.array([None], pa.string())], names=["a", "b"])
    stream = RowEncoder([EncodedColumn(t.INT4), EncodedColumn(t.TEXT)], (), OutputSettings()).encode(batch)
    assert bytes(stream) == b"D\x00\x00\x00\x0f\x00\x02\x00\x00\x00\x017\xff\xff\xff\xff"


def test_no_rows_and_no_columns() -> None:
    empty = pa.record_batch([pa.array([], pa.int32()), pa.array([], pa.string())], names=["a", "b"])
    assert encode(empty, t.INT4, t.TEXT) == []
    assert encode(empty, t.INT4, t.TEXT, formats=(1,)) == []
    columnless = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert encode(columnless) == [[], []]


@pytest.mark.parametrize("form", [0, 1])
def test_nulls_and_empty_strings_differ(form: int) -> None:
    batch = pa.record_batch([pa.array(["", None, "x"])], names=["a"])
    assert encode(batch, t.TEXT, formats=(form,)) == [[b""], [None], [b"x"]]


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize(
    ("typ", "array"),
    [
        (t.BOOL, pa.array([True, None, False])),
        (t.INT4, pa.array([1, None, 3], pa.int32())),
        (t.FLOAT8, pa.array([1.5, None, 1e300])),
        (t.NUMERIC, pa.array([Decimal("1.50"), None, Decimal("-0.05")], pa.decimal128(38, 2))),
        (t.NUMERIC, pa.array([None, None, None], pa.decimal128(38, 20))),
        (t.DATE, pa.array([datetime.date(2020, 1, 1), None, datetime.date(1, 1, 1)])),
        (t.TIMESTAMP, pa.array([0, None, 5], pa.timestamp("us"))),
        (t.INTERVAL, pa.array([pa.MonthDayNano([1, 2, 3000]), None, pa.MonthDayNano([0, 0, 0])])),
        (t.BYTEA, pa.array([b"\x00", None, b""])),
        (t.UUID, pa.array(["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None, "0" * 8 + "-0000-0000-0000-" + "0" * 12])),
        (t.BY_OID[1007], pa.array([[1, None], None, []], pa.list_(pa.int32()))),
        (t.BY_OID[1231], pa.array([[Decimal("0.5")], None, []], pa.list_(pa.decimal128(38, 1)))),
    ],
)
def test_slices_are_as_their_rows(typ: t.PgType, array: pa.Array, form: int) -> None:
    whole = encode(pa.record_batch([array], names=["a"]), typ, formats=(form,))
    assert whole[1] == [None] or array.null_count == 3
    for start in range(4):
        for stop in range(start, 4):
            part = pa.record_batch([array], names=["a"]).slice(start, stop - start)
            assert encode(part, typ, formats=(form,)) == whole[start:stop]


def test_void_is_a_value_of_no_bytes() -> None:
    batch = pa.record_batch([pa.nulls(2)], names=["a"])
    assert encode(batch, t.VOID) == encode(batch, t.VOID, formats=(1,)) == [[b""], [b""]]


def test_formats_follow_bind() -> None:
    batch = pa.record_batch([pa.array([1], pa.int32()), pa.array([2], pa.int32())], names=["a", "b"])
    both = (t.INT4, t.INT4)
    assert encode(batch, *both, formats=(0, 1)) == [[b"1", b"\0\0\0\2"]]
    assert encode(batch, *both, formats=(1,)) == [[b"\0\0\0\1", b"\0\0\0\2"]]
    with pytest.raises(ProtocolViolation, match="3 result formats but query has 2 columns"):
        encode(batch, *both, formats=(0, 1, 0))
    with pytest.raises(ProtocolViolation, match="invalid format code: 2"):
        encode(batch, *both, formats=(2,))


def test_a_batch_in_halves_is_the_same_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pa.record_batch([pa.array(range(1000)), pa.array([f"value {n}" for n in range(1000)])], names=["a", "b"])
    encoder = RowEncoder([EncodedColumn(t.INT8), EncodedColumn(t.TEXT)], (), OutputSettings())
    whole = bytes(encoder.encode(batch))
    monkeypatch.setattr(datarow, "_BYTES_MAX", 3000)
    assert bytes(encoder.encode(batch)) == whole
    monkeypatch.setattr(datarow, "_BATCH_BYTES_MAX", 3000)
    assert bytes(encoder.encode(batch)) == whole


def test_client_encodings() -> None:
    batch = pa.record_batch([pa.array(["é", None, "ab", "", "ñandú"]), pa.array([["ö", None]] * 5)], names=["a", "b"])
    latin = OutputSettings(client_encoding="LATIN1")
    array = t.BY_NAME["_text"]
    rows = encode(batch, t.TEXT, array, settings=latin)
    assert [row[0] for row in rows] == [b"\xe9", None, b"ab", b"", b"\xf1and\xfa"]
    assert rows[0][1] == b"{\xf6,NULL}"
    assert [row[0] for row in encode(batch, t.TEXT, array, settings=latin, formats=(1,))] == [row[0] for row in rows]
    assert encode(batch.slice(4), t.TEXT, array, settings=latin)[0][0] == b"\xf1and\xfa"
    assert encode(batch, t.TEXT, array, settings=OutputSettings(client_encoding="SQL_ASCII"))[0][0] == "é".encode()


def test_a_character_that_the_client_lacks() -> None:
    batch = pa.record_batch([pa.array(["é", "€"])], names=["a"])
    with pytest.raises(UntranslatableCharacter) as caught:
        encode(batch, t.TEXT, settings=OutputSettings(client_encoding="LATIN1"))
    assert caught.value.sqlstate == "22P05"
    assert caught.value.message == (
        'character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no equivalent in encoding "LATIN1"'
    )
    with pytest.raises(FeatureNotSupported, match="client encoding SJIS"):
        encode(batch, t.TEXT, settings=OutputSettings(client_encoding="SJIS"))


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("value", [[[1, 2], [3]], [[1], None]])
def test_arrays_must_be_rectangular(value: list[list[int] | None], form: int) -> None:
    batch = pa.record_batch([pa.array([value], pa.list_(pa.list_(pa.int32())))], names=["a"])
    with pytest.raises(ArraySubscriptError):
        encode(batch, t.BY_OID[1007], formats=(form,))


def test_nested_arrays_without_elements_are_the_empty_array() -> None:
    batch = pa.record_batch([pa.array([[[], []], [], [[1]]], pa.list_(pa.list_(pa.int32())))], names=["a"])
    assert encode(batch, t.BY_OID[1007]) == [[b"{}"], [b"{}"], [b"{{1}}"]]
    assert encode(batch, t.BY_OID[1007], formats=(1,))[0] == [b"\0\0\0\0" + b"\0\0\0\0" + b"\0\0\0\x17"]


def test_quotients_keep_at_least_their_operands_decimals() -> None:
    batch = pa.record_batch([pa.array([Decimal("123456789.5")], pa.decimal128(38, 20))], names=["a"])
    column = EncodedColumn(t.NUMERIC, display=NumericScale.QUOTIENT, minimum=10)
    assert read_rows(RowEncoder([column], (), OutputSettings()).encode(batch)) == [[b"123456789.5000000000"]]


def test_names_of_objects_come_as_text() -> None:
    batch = pa.record_batch([pa.array(["pg_class"])], names=["a"])
    assert encode(batch, t.REGCLASS) == [[b"pg_class"]]
    with pytest.raises(FeatureNotSupported):
        encode(batch, t.REGCLASS, formats=(1,))


@pytest.mark.parametrize(
    ("typ", "value", "text"),
    [
        (t.INT4, 5, "5"),
        (t.NUMERIC, Decimal("1.50"), "1.50"),
        (t.NUMERIC, Decimal("1E-7"), "0.0000001"),
        (t.BOOL, True, "t"),
        (t.FLOAT8, 1e20, "1e+20"),
        (t.DATE, 0, "1970-01-01"),
        (t.TIMESTAMPTZ, 0, "1970-01-01 00:00:00+00"),
        (t.TIMETZ, {"micros": 0, "zone": -3600}, "00:00:00+01"),
        (t.INTERVAL, pa.MonthDayNano([14, 3, 1000]), "1 year 2 mons 3 days 00:00:00.000001"),
        (t.BY_NAME["_text"], ["a b", None], '{"a b",NULL}'),
        (t.BY_NAME["_int4"], [[1], [2]], "{{1},{2}}"),
        (t.BY_NAME["_int4"], [], "{}"),
        (t.BY_NAME["_numeric"], [Decimal("1.50"), None, Decimal(2)], "{1.50,NULL,2}"),
        (t.BYTEA, b"\x01", "\\x01"),
    ],
)
def test_one_value(typ: t.PgType, value: object, text: str) -> None:
    assert format_value(typ, value) == text

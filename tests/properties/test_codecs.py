"""Codecs for any value: encoded values decode to the same, here and in psycopg; and any bytes are decoded or refused.

psycopg is the independent half: its loaders read our rows, and our receive functions read what its dumpers send.
"""

from __future__ import annotations

import datetime
import math
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import Format
from support.datarow_reader import encoded_rows

from wire.errors import SqlError
from wire.pg.datarow import EncodedColumn, OutputSettings, RowEncoder
from wire.pg.values import decode_parameter
from wire.types import pg_types as t
from wire.types.carriers import carrier
from wire.types.input import InputSettings, parse_text

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
DAY_MICROS = 86_400_000_000
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)

#: Canonical values of each type, whatever a carrier may hold.
VALUES: dict[t.PgType, st.SearchStrategy[Any]] = {
    t.BOOL: st.booleans(),
    t.INT2: st.integers(-(1 << 15), (1 << 15) - 1),
    t.INT4: st.integers(-(1 << 31), (1 << 31) - 1),
    t.INT8: INT64,
    t.OID: st.integers(0, (1 << 32) - 1),
    t.FLOAT4: st.floats(width=32),
    t.FLOAT8: st.floats(),
    t.TEXT: TEXT,
    t.BYTEA: st.binary(max_size=20),
    t.UUID: st.uuids().map(str),
    t.DATE: st.integers(-2_440_588, 2_145_042_905) | st.sampled_from([(1 << 31) - 1, -(1 << 31)]),
    t.TIME: st.integers(0, DAY_MICROS),
    t.TIMETZ: st.fixed_dictionaries({"micros": st.integers(0, DAY_MICROS), "zone": st.integers(-57_599, 57_599)}),
    t.TIMESTAMP: st.integers(-2_440_588 * DAY_MICROS, (1 << 63) - 2) | st.sampled_from([(1 << 63) - 1, -(1 << 63)]),
    t.TIMESTAMPTZ: st.integers(-2_440_588 * DAY_MICROS, (1 << 63) - 2) | st.sampled_from([(1 << 63) - 1, -(1 << 63)]),
    t.INTERVAL: st.builds(
        lambda months, days, micros: pa.MonthDayNano([months, days, micros * 1000]),
        # The least 32-bit number has no counterpart, without which `ago` cannot be read.
        st.integers(-(1 << 31) + 1, (1 << 31) - 1),
        st.integers(-(1 << 31) + 1, (1 << 31) - 1),
        st.integers(-((1 << 63) // 1000), (1 << 63) // 1000),
    ),
}
SETTINGS = st.builds(
    OutputSettings,
    date_format=st.sampled_from(["ISO", "SQL", "Postgres", "German"]),
    date_order=st.sampled_from(["MDY", "DMY", "YMD"]),
    time_zone=st.sampled_from(["UTC", "America/New_York", "Asia/Kolkata", "<+03>-03", "Europe/Dublin"]),
    interval_style=st.sampled_from(["postgres", "postgres_verbose", "iso_8601"]),
    bytea_output=st.sampled_from(["hex", "escape"]),
)


def encode(
    typ: t.PgType, values: list[Any], form: int, settings: OutputSettings, arrow: pa.DataType
) -> list[bytes | None]:
    batch = pa.record_batch([pa.array(values, arrow)], names=["v"])
    return [row[0] for row in encoded_rows(RowEncoder([EncodedColumn(typ)], (form,), settings), batch)]


def same(left: Any, right: Any) -> bool:
    if isinstance(left, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    return bool(left == right)


@pytest.mark.table
@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("typ", VALUES, ids=lambda typ: typ.name)
@given(data=st.data(), settings=SETTINGS)
def test_what_is_encoded_reads_back(typ: t.PgType, form: int, data: st.DataObject, settings: OutputSettings) -> None:
    values = data.draw(st.lists(st.none() | VALUES[typ], max_size=8))
    if form == 0 and typ is t.TIMESTAMPTZ and settings.date_format != "ISO":
        settings = OutputSettings(time_zone=settings.time_zone)
    read_with = InputSettings(date_order=order_read(settings), time_zone=settings.time_zone)
    encoded = encode(typ, values, form, settings, carrier(typ))
    decoded = [None if item is None else decode_parameter(typ, form, item, read_with) for item in encoded]
    assert same(decoded, values)


def order_read(settings: OutputSettings) -> Any:
    """German style is read as it is written under any order but year first."""
    if settings.date_format == "German":
        return "DMY"
    return "MDY" if settings.date_format != "ISO" and settings.date_order == "YMD" else settings.date_order


@given(
    unscaled=st.lists(st.none() | st.integers(-(10**38) + 1, 10**38 - 1), max_size=8),
    scale=st.integers(0, 38),
    form=st.sampled_from([0, 1]),
)
def test_numerics_read_back(unscaled: list[int | None], scale: int, form: int) -> None:
    values = [None if n is None else Decimal((n < 0, tuple(map(int, str(abs(n)))), -scale)) for n in unscaled]
    encoded = encode(t.NUMERIC, values, form, OutputSettings(), pa.decimal128(38, scale))
    decoded = [None if item is None else decode_parameter(t.NUMERIC, form, item, InputSettings()) for item in encoded]
    assert decoded == values
    assert all(item is None or -item.as_tuple().exponent == scale for item in decoded)


@pytest.mark.table
@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("element", [t.INT4, t.TEXT, t.FLOAT8, t.BYTEA, t.TIMESTAMP, t.BOOL], ids=lambda typ: typ.name)
@given(data=st.data())
def test_arrays_read_back(element: t.PgType, form: int, data: st.DataObject) -> None:
    items = st.none() | VALUES[element]
    typ = t.array_of(element)
    flat = data.draw(st.lists(st.none() | st.lists(items, max_size=5), max_size=5))
    encoded = encode(typ, flat, form, OutputSettings(), carrier(typ))
    assert same([None if x is None else decode_parameter(typ, form, x, InputSettings()) for x in encoded], flat)
    rows, columns = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    row = st.lists(items, min_size=columns, max_size=columns)
    nested = data.draw(st.lists(st.none() | st.lists(row, min_size=rows, max_size=rows), max_size=4))
    encoded = encode(typ, nested, form, OutputSettings(), pa.list_(carrier(typ)))
    assert same([None if x is None else decode_parameter(typ, form, x, InputSettings()) for x in encoded], nested)


PYTHON: dict[t.PgType, st.SearchStrategy[Any]] = {
    t.BOOL: VALUES[t.BOOL],
    t.INT2: VALUES[t.INT2],
    t.INT4: VALUES[t.INT4],
    t.INT8: VALUES[t.INT8],
    t.FLOAT8: VALUES[t.FLOAT8],
    t.TEXT: VALUES[t.TEXT],
    t.BYTEA: VALUES[t.BYTEA],
    t.UUID: st.uuids(),
    t.DATE: st.dates(),
    t.TIME: st.times(),
    t.TIMESTAMP: st.datetimes(),
    t.TIMESTAMPTZ: st.datetimes(timezones=st.just(datetime.UTC)),
    t.INTERVAL: st.timedeltas(datetime.timedelta(-99_999), datetime.timedelta(99_999)),
    t.BY_NAME["_int4"]: st.lists(st.none() | VALUES[t.INT4], max_size=5),
    t.BY_NAME["_text"]: st.lists(st.none() | TEXT, max_size=5),
}


def arrow_value(value: Any) -> Any:
    return str(value) if isinstance(value, uuid.UUID) else value


@pytest.mark.table
@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("typ", PYTHON, ids=lambda typ: typ.name)
@given(data=st.data())
def test_psycopg_reads_our_rows(typ: t.PgType, form: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(PYTHON[typ], min_size=1, max_size=5))
    arrow = pa.array([arrow_value(value) for value in values], None if typ is t.INTERVAL else carrier(typ))
    if typ is t.INTERVAL:
        arrow = pa.array([pa.MonthDayNano([0, v.days, (v.seconds * 10**6 + v.microseconds) * 1000]) for v in values])
    batch = pa.record_batch([arrow], names=["v"])
    encoded = [row[0] for row in encoded_rows(RowEncoder([EncodedColumn(typ)], (form,), OutputSettings()), batch)]
    loader = Transformer().get_loader(typ.oid, Format(form))
    loaded = [loader.load(item) for item in encoded if item is not None]
    assert same(loaded, values)


@given(value=st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20))
def test_psycopg_and_we_agree_on_numerics(value: Decimal) -> None:
    transformer = Transformer()
    for form in (Format.TEXT, Format.BINARY):
        dumper = transformer.get_dumper(value, PyFormat.from_pq(form))
        sent = dumper.dump(value)
        assert sent is not None
        assert decode_parameter(t.NUMERIC, int(form), bytes(sent), InputSettings()) == value
        [ours] = encode(t.NUMERIC, [value], int(form), OutputSettings(), pa.decimal128(38, 6))
        assert ours is not None
        assert transformer.get_loader(t.NUMERIC.oid, form).load(ours) == value


@pytest.mark.parametrize("form", [Format.TEXT, Format.BINARY])
@pytest.mark.parametrize("typ", PYTHON, ids=lambda typ: typ.name)
@given(data=st.data())
def test_we_read_what_psycopg_sends(typ: t.PgType, form: Format, data: st.DataObject) -> None:
    value = data.draw(PYTHON[typ])
    transformer = Transformer()
    dumper = transformer.get_dumper(value, PyFormat.from_pq(form))
    sent = dumper.dump(value)
    # psycopg's text bytea is escaped for use in a statement, which a parameter is not.
    if sent is None or dumper.oid not in (typ.oid, 0) or (typ is t.BYTEA and form is Format.TEXT):
        return
    decoded = decode_parameter(typ, int(dumper.format), bytes(sent), InputSettings())
    [echoed] = encode(typ, [decoded], int(form), OutputSettings(), carrier(typ))
    assert echoed is not None
    assert same(transformer.get_loader(typ.oid, form).load(echoed), value)


READABLE = [typ for typ in t.BY_OID.values() if typ.category != "P" and typ is not t.VOID]


@given(typ=st.sampled_from(READABLE), text=TEXT | st.from_regex(r"[-+ .:/0-9a-zA-Z{},\"\\]{0,30}", fullmatch=True))
def test_any_text_is_a_value_or_an_error(typ: t.PgType, text: str) -> None:
    try:
        parse_text(typ, text, settings=InputSettings())
    except SqlError:
        # Refused is fine; any other exception fails the test.
        return


@given(typ=st.sampled_from(READABLE), data=st.binary(max_size=60), form=st.sampled_from([0, 1]))
def test_any_bytes_are_a_value_or_an_error(typ: t.PgType, data: bytes, form: int) -> None:
    try:
        decode_parameter(typ, form, data, InputSettings())
    except SqlError:
        return


@pytest.mark.parametrize("encoding", ["UTF8", "SQL_ASCII", "LATIN1"])
@given(
    rows=st.lists(
        st.tuples(
            *(st.none() | VALUES[typ] for typ in (t.INT2, t.INT4, t.INT8, t.FLOAT8)), st.none() | st.text("aé'\\ ")
        ),
        max_size=6,
    ),
    start=st.integers(0, 3),
)
def test_a_few_rows_are_encoded_as_many_are(encoding: str, rows: list[tuple[Any, ...]], start: int) -> None:
    types = (t.INT2, t.INT4, t.INT8, t.FLOAT8, t.TEXT)
    arrays = [pa.array([row[i] for row in rows], carrier(typ)) for i, typ in enumerate(types)]
    batch = pa.record_batch(arrays, names=list("abcde")).slice(start)
    settings = OutputSettings(client_encoding=encoding)
    encoder = RowEncoder([EncodedColumn(typ) for typ in types], (), settings)
    repeated = pa.concat_batches([batch] * 20)
    assert bytes(encoder.encode(batch)) * 20 == bytes(encoder.encode(repeated))
    assert batch.num_rows == 0 or repeated.num_rows > 16

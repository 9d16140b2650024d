"""Result columns in both formats equal a real PostgreSQL 15's, byte for byte, under every setting.

The values are sent to the server once, as text in its default settings, and converted to our carriers by our own text
input. Then both sides print them under each setting.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest
from psycopg import sql
from support.datarow_reader import read_rows
from support.postgres_server import PostgresServer

from wire.errors import FeatureNotSupported
from wire.pg.datarow import EncodedColumn, OutputSettings, RowEncoder
from wire.types import pg_types as t
from wire.types.carriers import NumericScale, carrier
from wire.types.input import InputSettings, parse_text

pytestmark = pytest.mark.postgres

Texts = Sequence[str | None]


@pytest.fixture(scope="module")
def oracle(postgres: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres.dsn, autocommit=True, prepare_threshold=None) as connection:
        yield connection


def batch_of(typ: t.PgType, texts: Texts, scale: int = 0) -> pa.RecordBatch:
    """The values as a slice in the middle of a larger column, so that every buffer has an offset."""
    values = [None if text is None else parse_text(typ, text, settings=InputSettings()) for text in texts]
    column = pa.array(values[-1:] + values + values[:1], nested_carrier(typ, values, scale))
    return pa.record_batch([column], names=["v"]).slice(1, len(values))


def nested_carrier(typ: t.PgType, values: list[Any], scale: int) -> pa.DataType:
    """The carrier, with a list for every further dimension that the values have."""
    arrow = carrier(typ, scale)
    probe = next((value for value in values if value), None)
    while isinstance(probe, list) and probe and isinstance(probe[0], list):
        arrow, probe = pa.list_(arrow), probe[0]
    return arrow


def check(
    connection: psycopg.Connection[Any],
    typ: t.PgType,
    texts: Texts,
    settings: Sequence[OutputSettings] = (OutputSettings(),),
    scale: int = 0,
    display: NumericScale = NumericScale.FIXED,
) -> None:
    name = sql.Identifier(typ.name)
    with connection.transaction(force_rollback=True):
        connection.execute(sql.SQL("create temp table probe (i int, v {})").format(name))
        connection.execute(
            sql.SQL("insert into probe select i, v::{} from unnest(%s::text[]) with ordinality q(v, i)").format(name),
            (list(texts),),
        )
        batch = batch_of(typ, texts, scale)
        for chosen in settings:
            _apply(connection, chosen)
            for form in (0, 1):
                encoder = RowEncoder([EncodedColumn(typ, display=display)], (form,), chosen)
                ours = [row[0] for row in read_rows(encoder.encode(batch))]
                theirs = _printed(connection, binary=form == 1)
                wrong = [item for item in zip(texts, theirs, ours, strict=True) if item[1] != item[2]]
                assert not wrong, (chosen, form, wrong[:5])


def _apply(connection: psycopg.Connection[Any], settings: OutputSettings) -> None:
    for name, value in (
        ("datestyle", f"{settings.date_format}, {settings.date_order}"),
        ("timezone", settings.time_zone),
        ("intervalstyle", settings.interval_style),
        ("extra_float_digits", str(settings.extra_float_digits)),
        ("bytea_output", settings.bytea_output),
    ):
        connection.execute("select set_config(%s, %s, true)", (name, value))


def _printed(connection: psycopg.Connection[Any], *, binary: bool) -> list[bytes | None]:
    cursor = connection.cursor(binary=binary)
    cursor.execute("select v from probe order by i")
    result = cursor.pgresult
    assert result is not None
    return [result.get_value(row, 0) for row in range(result.ntuples)]


def integers(bits: int) -> list[str | None]:
    chance = random.Random(bits)
    top = 1 << (bits - 1)
    some = [chance.randrange(-(1 << chance.randrange(1, bits)), 1 << chance.randrange(1, bits)) for _ in range(200)]
    return [*(str(max(-top, min(n, top - 1))) for n in [*some, -top, top - 1, 0, -1]), None]


PLAIN: dict[str, list[str | None]] = {
    "bool": ["t", "f", None],
    "int2": integers(16),
    "int4": integers(32),
    "int8": integers(64),
    "oid": ["0", "1", "4294967295", None],
    "text": ["", "a", "é€😀", None, "x" * 300],
    "varchar": ["", "é", None],
    "bpchar": ["", "a  ", None],
    "name": ["abc", None],
    "char": ["a", "", None],
    "uuid": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None, "00000000-0000-0000-0000-000000000000", "f" * 32],
    "json": ['{"b":1,  "a":[1,2]}', None],
    "jsonb": ['{"b":1,"a":[1,2.50]}', None, '"é\\n"', "[]"],
    "time": ["00:00", "24:00:00", "04:05:06.7", "23:59:59.999999", None],
    "timetz": ["00:00+00", "24:00:00-08", "04:05:06.7+05:30", "23:59:59.999999+15:59:59", "00:00-00:00:01", None],
    "_bool": ["{t,f,NULL}", "{}", None],
    "_int4": ["{1,NULL,3}", "{}", None],
    "_int8": ["{{1,2},{3,4}}", "{{5,NULL},{7,8}}", None],
    "_int2": ["{{{1},{2}},{{3},{4}}}"],
    "_text": ['{a,"b c",NULL,"","NULL","x\\"y","a\\\\b","{","é,"}', "{}", None, "{NULL}", '{" ","\t",null1}'],
    "_float8": ["{1.5,NULL,1e20,nan}"],
    "_date": ['{2020-01-01,NULL,"0001-01-01 BC"}'],
    "_timestamp": ['{"2020-01-01 00:00:00",NULL,infinity}'],
    "_timestamptz": ['{"2020-01-01 00:00:00+00",NULL}'],
    "_time": ["{10:00,NULL}"],
    "_timetz": ["{10:00+02,NULL}"],
    "_interval": ['{"1 day","01:00:00",NULL}'],
    "_bytea": ['{"\\\\x00ff",NULL,""}'],
    "_uuid": ["{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}"],
    "_json": ['{"{\\"a\\": 1}",NULL,1}'],
    "_jsonb": ['{"{\\"a\\": 1}",NULL,1}'],
    "_bpchar": ['{"a ",b}'],
    "int2vector": ["1 2 3", "", "-1", None],
    "oidvector": ["1 2 3", "", None],
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain(oracle: psycopg.Connection[Any], name: str) -> None:
    check(oracle, t.BY_NAME[name], PLAIN[name])


def test_bytea(oracle: psycopg.Connection[Any]) -> None:
    texts = ["\\x", "\\x00ff5c2041", "\\x7f807e1f20", None, "\\x" + bytes(range(256)).hex()]
    check(oracle, t.BYTEA, texts, [OutputSettings(bytea_output="hex"), OutputSettings(bytea_output="escape")])


def floats8() -> list[str | None]:
    chance = random.Random(8)
    bits = [struct.unpack("d", struct.pack("Q", chance.getrandbits(64)))[0] for _ in range(2000)]
    sizes = [chance.choice([1, -1]) * chance.random() * 10 ** chance.randint(-8, 20) for _ in range(2000)]
    midpoints = [
        float(f"{chance.randint(1, 10 ** chance.randint(1, 17))}e{chance.randint(-30, 30)}") for _ in range(4000)
    ]
    powers = [2.0**power for power in range(-1074, 1024)]
    edges = [0.0, -0.0, 1e15, 1e14, 999999999999999.9, 99999999999999.99, 1e-4, 9.9999e-5, 1e5, 1e23, 5.4e22, 5e-324]
    return [*(repr(value) for value in [*bits, *sizes, *midpoints, *powers, *edges]), "nan", "inf", "-inf", None]


def floats4() -> list[str | None]:
    chance = random.Random(4)
    bits = [struct.unpack("f", struct.pack("I", chance.getrandbits(32)))[0] for _ in range(4000)]
    short = [f"{chance.randint(1, 10 ** chance.randint(1, 9))}e{chance.randint(-5, 11)}" for _ in range(4000)]
    values = [*bits, *(2.0**power for power in range(-149, 128)), 1e6, 999999.9, 1e5, 1e-4, 2.0**24, *map(float, short)]
    return [*(repr(float(np.float32(value))) for value in values), "0", "-0", "nan", "inf", "-inf", None]


@pytest.mark.parametrize("digits", [3, 1, 0, -3, -15])
def test_floats(oracle: psycopg.Connection[Any], digits: int) -> None:
    step = 1 if digits > 0 else 7
    check(oracle, t.FLOAT8, floats8()[::step], [OutputSettings(extra_float_digits=digits)])
    check(oracle, t.FLOAT4, floats4()[::step], [OutputSettings(extra_float_digits=digits)])


def test_floats_without_any_out_of_the_ordinary(oracle: psycopg.Connection[Any]) -> None:
    check(oracle, t.FLOAT8, ["1", "0.5", "123456.789", "-0.001"])


def dates() -> list[str | None]:
    chance = random.Random(1)
    some: list[str | None] = []
    for _ in range(300):
        year = chance.choice([chance.randint(1, 9999), chance.randint(1900, 2100), chance.randint(10000, 5_000_000)])
        era = " BC" if year < 4700 and chance.random() < 0.2 else ""
        some.append(f"{year:04d}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}{era}")
    return [*some, "infinity", "-infinity", "5874897-12-31", "4714-11-24 BC", "0001-01-01", "0001-12-31 BC", None]


def timestamps(zone: str = "") -> list[str | None]:
    chance = random.Random(2)
    some: list[str | None] = []
    for _ in range(400):
        year = chance.choice([chance.randint(1, 9999), chance.randint(1850, 2100), chance.randint(10000, 294_000)])
        era = " BC" if year < 4700 and chance.random() < 0.2 else ""
        day = f"{year:04d}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}"
        clock = f"{chance.randint(0, 23):02d}:{chance.randint(0, 59):02d}:{chance.randint(0, 59):02d}"
        some.append(f"{day} {clock}{chance.choice(['', '.5', '.123456', '.000001', '.120'])}{zone}{era}")
    return [
        *some,
        "infinity",
        "-infinity",
        None,
        f"4713-01-01 00:00:00{zone} BC",
        f"294246-12-31 23:59:59.999999{zone}",
    ]


STYLES = [
    OutputSettings(date_format=form, date_order=order)
    for form in ("ISO", "SQL", "Postgres", "German")
    for order in ("MDY", "DMY", "YMD")
]
ZONES = [
    "UTC", "America/New_York", "Europe/Paris", "Asia/Kolkata", "Australia/Lord_Howe", "<+03>-03", "EST5EDT", "FOO5BAR",
    "Africa/Monrovia", "Pacific/Apia", "America/St_Johns", "Etc/GMT+5", "foo-5:30", "Europe/Dublin", "Asia/Tehran",
    "FOO5BAR4:30,J60/3,J300", "Africa/Casablanca",
]  # fmt: skip


def test_dates(oracle: psycopg.Connection[Any]) -> None:
    check(oracle, t.DATE, dates(), STYLES)


def test_dates_close_together(oracle: psycopg.Connection[Any]) -> None:
    close: Texts = [f"2020-{month:02d}-{day:02d}" for month in range(1, 13) for day in range(1, 29)]
    check(oracle, t.DATE, [*close, *close, None], STYLES)


def test_timestamps(oracle: psycopg.Connection[Any]) -> None:
    check(oracle, t.TIMESTAMP, timestamps(), STYLES)
    check(oracle, t.TIMESTAMP, ["2020-01-01 00:00:00", "2020-12-31 23:59:59"], STYLES)


@pytest.mark.parametrize("form", ["ISO", "SQL", "Postgres", "German"])
def test_timestamps_with_time_zone(oracle: psycopg.Connection[Any], form: Any) -> None:
    check(
        oracle, t.TIMESTAMPTZ, timestamps("+00"), [OutputSettings(date_format=form, time_zone=zone) for zone in ZONES]
    )


def test_intervals(oracle: psycopg.Connection[Any]) -> None:
    chance = random.Random(3)
    some: list[str | None] = []
    for _ in range(1500):
        parts = [
            f"{chance.choice([-1, 1, 1]) * chance.randint(0, most)} {unit}"
            for unit, most in (("year", 9), ("mon", 11), ("day", 50), ("hour", 60), ("min", 59), ("sec", 59))
            if chance.random() < 0.5
        ]
        if chance.random() < 0.3:
            parts.append(f"{chance.choice([-1, 1]) * chance.randint(1, 999_999)} us")
        some.append(" ".join(parts) or "0")
    edges = [
        "1 sec", "-1 sec", "1.5 sec", "-0.5 sec", "1 year", "-1 year", "1 mon", "1 day", "-1 day", "1 min", "-1 min", None,
        "178956970 years 7 mons", "-178956970 years -8 mons", "2147483647 days", "-2147483648 days", "2562047 hours",
        "-2562047 hours",
    ]  # fmt: skip
    styles = ("postgres", "postgres_verbose", "sql_standard", "iso_8601")
    check(oracle, t.INTERVAL, [*some, *edges], [OutputSettings(interval_style=style) for style in styles])  # type: ignore[arg-type]


def printed(unscaled: int, scale: int) -> str:
    return f"{Decimal(unscaled).scaleb(-scale, Context(prec=60)):f}" if unscaled else f"{Decimal((0, (0,), -scale)):f}"


@pytest.mark.parametrize("scale", [0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 18, 19, 20, 30, 37])
def test_numerics(oracle: psycopg.Connection[Any], scale: int) -> None:
    chance = random.Random(scale)
    wide = [chance.randrange(10 ** chance.randint(1, 38)) * chance.choice([1, -1]) for _ in range(150)]
    narrow = [chance.randrange(-(10 ** chance.randint(1, 18)), 10 ** chance.randint(1, 18)) for _ in range(150)]
    edges = [0, -1, 1, 5, -5, 10, 100, 10_000, 10**17]
    for group in ([*wide, *edges, 10**37, -(10**38) + 1], [*narrow, *edges], [0], [-1]):
        texts: Texts = [*(printed(number, scale) for number in group), None]
        check(oracle, t.NUMERIC, texts, scale=scale)
        trimmed = [text.rstrip("0").rstrip(".") if text and "." in text else text for text in texts]
        check(oracle, t.NUMERIC, trimmed, scale=scale, display=NumericScale.TRIMMED)


def test_arrays_of_numerics(oracle: psycopg.Connection[Any]) -> None:
    check(oracle, t.BY_NAME["_numeric"], ["{1.50,NULL,-2.25}", "{}", None], scale=2)


def test_quotients(oracle: psycopg.Connection[Any]) -> None:
    """Divisions whose digits the value alone decides; see `value_scales` for those where it cannot."""
    pairs = [
        (2, 3),
        (10, 3),
        (1, 3),
        (100000, 7),
        (12345678, 7),
        (10**12, 7),
        (1, 30000),
        (5, 5),
        (70000, 70000),
        (-2, 3),
        (9, 2),
        (12345, 10001),
    ]
    divisions = ", ".join(f"({left}::numeric / {right})::text" for left, right in pairs)
    rows = oracle.execute(f"select unnest(array[{divisions}])").fetchall()
    expected = [row[0] for row in rows]
    scale = 24
    # The quotients as an engine computes them: rounded to PostgreSQL's digit, in a type with room for more.
    values = [Decimal(text) for text in expected]
    batch = pa.record_batch([pa.array(values, pa.decimal128(38, scale))], names=["q"])
    column = EncodedColumn(t.NUMERIC, display=NumericScale.QUOTIENT)
    assert [row[0] for row in read_rows(RowEncoder([column], (), OutputSettings()).encode(batch))] == [
        text.encode() for text in expected
    ]


def test_records(oracle: psycopg.Connection[Any]) -> None:
    cursor = oracle.execute(
        """select row(1, 'a b', null::int, ''), row(2, 'x"y\\z', 3, '(,)')
           union all select row(1, 'é', 4, 'q'), row(5, null, 6, 'plain')"""
    )
    assert cursor.pgresult is not None
    fields = tuple(EncodedColumn(typ) for typ in (t.INT4, t.TEXT, t.INT4, t.TEXT))
    struct_type = pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", pa.int32()), ("d", pa.string())])
    names = ("a", "b", "c", "d")
    left = [dict(zip(names, row, strict=True)) for row in ((1, "a b", None, ""), (1, "é", 4, "q"))]
    right = [dict(zip(names, row, strict=True)) for row in ((2, 'x"y\\z', 3, "(,)"), (5, None, 6, "plain"))]
    batch = pa.record_batch([pa.array(left, struct_type), pa.array(right, struct_type)], names=["l", "r"])
    columns = [EncodedColumn(t.RECORD, fields=fields)] * 2
    for form in (0, 1):
        binary = oracle.cursor(binary=form == 1)
        binary.execute(
            """select row(1::int4, 'a b'::text, null::int4, ''::text), row(2::int4, 'x"y\\z'::text, 3::int4, '(,)'::text)
               union all
               select row(1::int4, 'é'::text, 4::int4, 'q'::text), row(5::int4, null::text, 6::int4, 'plain'::text)"""
        )
        result = binary.pgresult
        assert result is not None
        theirs = [[result.get_value(row, column) for column in range(2)] for row in range(2)]
        assert read_rows(RowEncoder(columns, (form,), OutputSettings()).encode(batch)) == theirs


def test_types_that_the_planner_has_named(oracle: psycopg.Connection[Any]) -> None:
    numbers = sorted(t.BY_OID)
    cursor = oracle.cursor(binary=True)
    cursor.execute("select n::regtype::text, n::regtype from unnest(%s::oid[]) n", ([0, *numbers],))
    result = cursor.pgresult
    assert result is not None
    names, theirs = ([result.get_value(row, column) for row in range(result.ntuples)] for column in range(2))
    batch = pa.record_batch([pa.array([None, *(name.decode() for name in names if name is not None)])], names=["v"])
    encoder = RowEncoder([EncodedColumn(t.REGTYPE)], (1,), OutputSettings())
    assert [row[0] for row in read_rows(encoder.encode(batch))] == [None, *theirs]
    with pytest.raises(FeatureNotSupported, match="binary output of regtype from a name"):
        encoder.encode(pa.record_batch([pa.array(["integer", "a_type_of_users"])], names=["v"]))

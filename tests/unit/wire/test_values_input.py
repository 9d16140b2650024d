"""Text input of every type equals a real PostgreSQL 15's: the same value, or the same error.

The server sends its value in the binary format, and our own receive functions decode it; the other tests of values
check these against independent decoders.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from support.answers import value
from support.postgres_server import PostgresServer
from support.value_corpora import DATES_AND_TIMES, INTERVALS, LITERALS

from wire.errors import FeatureNotSupported, SqlError
from wire.pg.values import decode_parameter
from wire.types import pg_types as t
from wire.types.input import InputSettings, parse_text
from wire.types.interval_modifiers import interval_typmod

pytestmark = pytest.mark.postgres

#: What our carriers cannot hold, by type: refused, naming it.
REFUSED = {
    "numeric": {"NaN", "inf"},
    "_int4": {"[0:1]={1,2}"},
    "interval": {"9223372036854775807 us", "2562047788 hours"},
    "timestamp": {"294276-12-31", "294247-01-10 04:00:55", "294276-12-31 23:59:59.999999", "y2001 m02 d04"},
    "timestamptz": {
        "294276-12-31",
        "294277-01-01",
        "294247-01-10 04:00:54",
        "294247-01-10 04:00:55",
        "294276-12-31 23:59:59.999999",
        "y2001 m02 d04",
    },
    "date": {"y2001 m02 d04"},
    "time": {"y2001 m02 d04"},
    "timetz": {"y2001 m02 d04"},
}


@pytest.fixture(scope="module")
def oracle(postgres: PostgresServer) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres.dsn, autocommit=True, prepare_threshold=None) as connection:
        yield connection


def server(connection: psycopg.Connection[Any], typ: t.PgType, text: str, name: str) -> tuple[Any, ...]:
    cursor = connection.cursor(binary=True)
    try:
        cursor.execute(psycopg.sql.SQL("select {}::" + name).format(psycopg.sql.Literal(text)))
    except psycopg.Error as error:
        diagnosis = error.diag
        return (
            "error",
            diagnosis.sqlstate,
            diagnosis.message_primary,
            diagnosis.message_detail,
            diagnosis.message_hint,
        )
    assert cursor.pgresult is not None
    data = cursor.pgresult.get_value(0, 0)
    assert data is not None
    try:
        return ("value", repr(decode_parameter(typ, 1, data, InputSettings())))
    except FeatureNotSupported:
        return ("refused",)


def ours(typ: t.PgType, text: str, settings: InputSettings, typmod: int = -1) -> tuple[Any, ...]:
    try:
        return ("value", repr(parse_text(typ, text, typmod=typmod, settings=settings)))
    except FeatureNotSupported:
        return ("refused",)
    except SqlError as error:
        return ("error", error.sqlstate, error.message, error.detail, error.hint)


def differences(
    connection: psycopg.Connection[Any],
    typ: t.PgType,
    texts: list[str],
    settings: InputSettings,
    name: str = "",
    typmod: int = -1,
) -> list[tuple[str, Any, Any]]:
    found = []
    for text in texts:
        mine = ours(typ, text, settings, typmod)
        if mine == ("refused",):
            assert text in REFUSED[typ.name], text
            continue
        theirs = server(connection, typ, text, name or typ.sql_name)
        if mine != theirs:
            found.append((text, theirs, mine))
    return found


@pytest.mark.parametrize("name", LITERALS)
def test_literals(oracle: psycopg.Connection[Any], name: str) -> None:
    assert differences(oracle, t.BY_NAME[name], LITERALS[name], InputSettings()) == []


@pytest.mark.parametrize(("order", "zone"), [("MDY", "UTC"), ("DMY", "America/New_York"), ("YMD", "Asia/Kolkata")])
@pytest.mark.parametrize("name", ["date", "time", "timetz", "timestamp", "timestamptz"])
def test_dates_and_times(oracle: psycopg.Connection[Any], name: str, order: Any, zone: str) -> None:
    with oracle.transaction():
        oracle.execute(
            "select set_config('datestyle', %s, true), set_config('timezone', %s, true)", (f"ISO,{order}", zone)
        )
        now = value(oracle, "select (extract(epoch from now()) * 1000000)::int8")
        settings = InputSettings(date_order=order, time_zone=zone, now=now)
        found = []
        for text in DATES_AND_TIMES:
            with oracle.transaction(force_rollback=True):
                found += differences(oracle, t.BY_NAME[name], [text], settings)
        assert found == []


FIELDS = ("year", "month", "day", "hour", "minute", "second")
QUALIFIERS = [
    ("interval", -1),
    *[(f"interval {field}", interval_typmod(field)) for field in FIELDS],
    ("interval year to month", interval_typmod("year to month")),
    *[
        (f"interval {FIELDS[a]} to {FIELDS[b]}", interval_typmod(f"{FIELDS[a]} to {FIELDS[b]}"))
        for a in range(2, 5)
        for b in range(a + 1, 6)
    ],
    ("interval second(2)", interval_typmod("second", 2)),
    ("interval(3)", interval_typmod("", 3)),
    ("interval day to second(1)", interval_typmod("day to second", 1)),
]


@pytest.mark.parametrize("style", ["postgres", "sql_standard"])
@pytest.mark.parametrize(("name", "typmod"), QUALIFIERS, ids=[name for name, _ in QUALIFIERS])
def test_intervals(oracle: psycopg.Connection[Any], name: str, typmod: int, style: Any) -> None:
    oracle.execute("select set_config('intervalstyle', %s, false)", (style,))
    settings = dataclasses.replace(InputSettings(), interval_style=style)
    assert differences(oracle, t.INTERVAL, INTERVALS, settings, name, typmod) == []


@pytest.mark.parametrize(
    ("name", "typ", "typmod", "texts"),
    [
        ("numeric(5,2)", t.NUMERIC, t.numeric_typmod(5, 2), ["1", "1.005", "-1.005", "999.994", "999.995", "1e3", "x"]),
        ("numeric(3,-2)", t.NUMERIC, t.numeric_typmod(3, -2), ["12345", "12350", "99949", "99950", "49", "50"]),
        ("numeric(2,2)", t.NUMERIC, t.numeric_typmod(2, 2), ["0.99", "0.995", "1"]),
        (
            "timestamp(3)",
            t.TIMESTAMP,
            3,
            ["1999-01-08 04:05:06.78951", "1999-01-08 04:05:06.7885", "2001-01-08 04:05:06.7885"],
        ),
        ("timestamp(0)", t.TIMESTAMP, 0, ["1999-01-08 04:05:06.5", "1999-01-08 23:59:59.5", "2001-01-08 04:05:06.5"]),
        ("time(2)", t.TIME, 2, ["04:05:06.785", "23:59:59.999"]),
        ("timetz(0)", t.TIMETZ, 0, ["04:05:06.5+02"]),
    ],
)
def test_type_modifiers(
    oracle: psycopg.Connection[Any], name: str, typ: t.PgType, typmod: int, texts: list[str]
) -> None:
    assert differences(oracle, typ, texts, InputSettings(), name, typmod) == []


def test_strings_that_are_too_long_for_their_column(oracle: psycopg.Connection[Any]) -> None:
    """An input function's modifier is what an insert applies; an explicit cast would cut."""
    oracle.execute("create temp table too_long (v varchar(3), c char(3))")
    for column, typ in (("v", t.VARCHAR), ("c", t.BPCHAR)):
        for text in ("ab", "abc", "abc  ", "abcd", "éèêë"):
            mine = ours(typ, text, InputSettings(), 3 + 4)
            try:
                kept = value(oracle, f"insert into too_long({column}) values (%s) returning {column}", text)
                theirs: tuple[Any, ...] = ("value", repr(kept))
            except psycopg.Error as error:
                theirs = ("error", error.diag.sqlstate, error.diag.message_primary, None, None)
            assert mine == theirs, text

"""to_char, to_number, to_date and to_timestamp with random templates, against PostgreSQL: one value at a time as the
local engine's functions compute it, and common templates over a table, which are compiled.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member, say
from support.postgres_server import PostgresServer

from engine.sql.text_templates import moments as moment_templates
from engine.sql.text_templates import numbers, reading
from wire.errors import SqlError

pytestmark = pytest.mark.postgres

Connection = psycopg.Connection[tuple[Any, ...]]

_TOKENS = (
    *["9"] * 12, *["0"] * 6, "999", "099", "9.9", ".99", "V9", ",", "G", ".", "D", "FM", "fm", "S", "MI", "PL", "SG", "PR", "Pr",
    "L", "TH", "th", "V", "RN", "rn", "B", "C", "SP", "EEEE", "E", "-", "$", " ", "x", '"ab"', "é", '"\\"q"', '\\"',
)  # fmt: skip
_NUMBERS = (
    "0", "1", "-1", "0.5", "-0.5", "0.004", "-0.004", "12.345", "-12.345", "99.995", "999.5", "-999.5", "1234567.891", "100",
    "10.10", "-0.1", "11", "0.05",
)  # fmt: skip
_ODD_FLOATS = ("NaN", "Infinity", "-Infinity", "1e20", "-1.5e-7", "-0")


@pytest.fixture
def oracle(postgres: PostgresServer) -> Iterator[Connection]:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        yield connection


def _asked(connection: Connection, query: str, *given: Any) -> Any:
    try:
        row = connection.execute(query, given).fetchone()
    except psycopg.Error as error:
        return error.diag.sqlstate, error.diag.message_primary, error.diag.message_detail, error.diag.message_hint
    return row[0] if row is not None else None


def _computed(compute: Callable[..., Any], *given: Any) -> Any:
    try:
        return compute(*given)
    except SqlError as error:
        return error.sqlstate, error.message, error.detail, error.hint


def _template(chance: random.Random) -> str:
    return "".join(chance.choice(_TOKENS) for _ in range(chance.randint(1, 8)))


def _number(chance: random.Random) -> str:
    whole = "".join(chance.choice("0123456789") for _ in range(chance.randint(1, 7)))
    decimals = "".join(chance.choice("0123456789000") for _ in range(chance.randint(0, 5)))
    return chance.choice(["-", ""]) + whole + ("." + decimals if decimals else "")


def _said(chance: random.Random) -> str:
    """What to_number is given: often a number in disguise, sometimes anything."""
    if chance.random() < 0.4:
        return "".join(chance.choice("0123456789.,+-<> é$xth") for _ in range(chance.randint(0, 8)))
    number = _number(chance)
    if chance.random() < 0.3:
        number = number.lstrip("-") + chance.choice(["-", "+", " -", "th", "TH", ">"])
    if chance.random() < 0.2:
        number = chance.choice([" ", "<", "+", "$", "é", "  "]) + number
    return number


def _whole(chance: random.Random) -> str:
    return _number(chance).partition(".")[0]


def _float(chance: random.Random) -> str:
    return chance.choice([_number(chance), _number(chance), *_ODD_FLOATS])


_FUNCTIONS: dict[str, tuple[Callable[[random.Random], str], Callable[..., Any]]] = {
    "to_number(%s, %s)::text": (_said, numbers.read_number),
    "to_char(%s::numeric, %s)": (_number, numbers.numeric_text),
    "to_char(%s::int4, %s)": (_whole, lambda value, template: numbers.int4_text(int(value), template)),
    "to_char(%s::int8, %s)": (_whole, lambda value, template: numbers.int8_text(int(value), template)),
    "to_char(%s::float8, %s)": (
        _float,
        lambda value, template: numbers.float_text(float(value), template, size=8),
    ),
}


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_numbers(function: str, oracle: Connection) -> None:
    chance = random.Random(function)
    make, compute = _FUNCTIONS[function]
    for _ in range(500):
        value, template = make(chance), _template(chance)
        expected = _asked(oracle, f"select {function}", value, template)
        assert _computed(compute, value, template) == expected, (value, template)


_MODIFIERS = ("", "", "", "", "FM", "fm", "TM", "FMTM", "FX")
_SUFFIXES = ("", "", "", "", "TH", "th", "SP", "THth")
_BETWEEN = ("-", "/", ":", " ", ".", ",", "", "", "T", '"ab"', '"é"', "é", '\\"', "x1", "5", "SP", "th", "  ")
_KEYWORDS = (
    *moment_templates.NAMES, "HH24", "HH12", "HH", "MI", "SSSSS", "SSSS", "SS", "MS", "US", "FF1", "FF3", "FF5", "TZM", "Y,YYY",
    "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I", "MM", "DDD", "IDDD", "DD", "ID", "D", "WW", "IW", "W", "CC", "J", "Q",
    "TZH", "OF", "FX", "hh24", "yyyy", "mi", "iw",
)  # fmt: skip
_READ_NAMES = {
    "Mon": ("Jan", "feb", "DEC"), "Month": ("June", "march", "May "), "AM": ("am",), "PM": ("PM",), "Day": ("Monday",),
    "Dy": ("tue",), "BC": ("BC",), "AD": ("ad",), "RM": ("iv", "XII", "i"), "TZH": ("+02", "-5", "03"), "TZM": ("30",),
    "Y,YYY": ("2,005",), "J": ("2451545",), "IYYY": ("2005",), "YYYY": ("1999", "2024", "44"), "CC": ("20", "21", "-2"),
}  # fmt: skip
_READ_NUMBERS = (
    "MM", "DD", "HH24", "MI", "SS", "MS", "US", "DDD", "IW", "ID", "Q", "YY", "Y", "HH12", "WW", "W", "FF3", "SSSS", "YYY", "D",
)  # fmt: skip
_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")


def _moment_template(chance: random.Random) -> str:
    return "".join(
        chance.choice(part)
        for _ in range(chance.randint(1, 5))
        for part in (_MODIFIERS, _KEYWORDS, _SUFFIXES, _BETWEEN)
    )


def _reading(chance: random.Random) -> tuple[str, str]:
    """A text and a template that reads it, more or less."""
    said = template = ""
    for _ in range(chance.randint(1, 6)):
        keyword = chance.choice([*_READ_NAMES, *_READ_NUMBERS])
        number = str(chance.randint(0, chance.choice([9, 13, 30, 60, 400]))).zfill(chance.choice([1, 1, 2]))
        separator = chance.choice(["-", "/", ":", " ", " ", "", "T", "é"])
        template += chance.choice(["", "", "", *_MODIFIERS]) + keyword
        template += chance.choice(["", "", "", *_SUFFIXES]) + separator
        said += chance.choice(_READ_NAMES.get(keyword, (number,)))
        said += separator if chance.random() < 0.85 else chance.choice(["", "-", "  ", "+", "x", "th"])
    return said, template


def _instant(chance: random.Random) -> int:
    return chance.randint(-6 * 10**10, 6 * 10**10) * 10**6 + chance.randint(0, 999) * 1000


_AT = "timestamp 'epoch' + (%s || ' us')::interval"


@pytest.mark.parametrize("zone", _ZONES)
def test_moments(zone: str, oracle: Connection) -> None:
    chance = random.Random(zone)
    oracle.execute(f"set timezone = '{zone}'".encode())
    for _ in range(150):
        micros, template = _instant(chance), _moment_template(chance)
        span = (chance.randint(-480, 480), chance.randint(-40, 40), chance.randint(-(10**12), 10**12))
        said, reads = _reading(chance)
        zoned = f"to_char(({_AT}) at time zone 'UTC', %s)"
        spanned = "to_char(make_interval(months => %s, days => %s) + (%s || ' us')::interval, %s)"
        micros_read = "(extract(epoch from to_timestamp(%s, %s)) * 1000000)::bigint"
        for function, compute, given in (
            (f"to_char({_AT}, %s)", moment_templates.timestamp_text, (micros, template)),
            (zoned, partial(moment_templates.timestamptz_text, zone_name=zone), (micros, template)),
            (spanned, moment_templates.interval_text, (*span, template)),
            ("to_date(%s, %s) - date '1970-01-01'", reading.read_date, (said, reads)),
            (micros_read, partial(reading.read_timestamp, zone_name=zone), (said, reads)),
        ):
            assert _computed(compute, *given) == _asked(oracle, f"select {function}", *given), (function, given)


def _layout(chance: random.Random) -> str:
    def some(most: int, letters: str) -> str:
        return "".join(chance.choice(letters) for _ in range(chance.randint(0, most)))

    lead = chance.choice(["", "", "", "S", "MI", "SG"])
    tail = "" if lead else chance.choice(["", "", "", "S", "MI", "PR", "SG"])
    decimals = chance.choice(".D") + some(4, "990") if chance.random() < 0.6 else ""
    before, after = chance.choice(["", "", "$", "( "]), chance.choice(["", "", " %", ")"])
    return "".join([chance.choice(["", "FM"]), before, lead, some(6, "9990,G"), decimals, tail, after])


@pytest.fixture
def member(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


def _run(statements: Sequence[str], *connections: Connection) -> None:
    for statement in statements:
        for connection in connections:
            connection.execute(statement.encode())


def test_compiled_templates(member: LocalMember, oracle: Connection) -> None:
    chance = random.Random(1)
    rows = ", ".join(f"({n}, {v}, round({v})::int, round({v})::bigint, {v}, {v})" for n, v in enumerate(_NUMBERS))
    odd = "(100, null, null, null, 'NaN', '-Infinity'), (101, null, null, null, null, null)"
    setup = (
        "create temporary table numbers (id int, n numeric(12, 4), i int, l bigint, f float8, r float4)",
        f"insert into numbers values {rows}, {odd}",
    )
    with member.connect() as ours:
        _run(setup, ours, oracle)
        for _ in range(60):
            shown = ", ".join(f"to_char({column}, '{_layout(chance)}')" for column in "nilfr")
            query = f"select id, {shown} from numbers order by id"
            assert say(ours, query) == say(oracle, query), query


_MOMENTS = (
    "2024-01-05 10:00:00.123456", "1999-12-31 23:59:59.999", "0044-03-15 12:00 BC", "0001-01-01 00:00", "2008-12-29 01:02:03",
    "12024-06-30 12:34:56", "2000-02-29 13:00", "0101-01-01", "4713-01-01 BC", "infinity", "-infinity",
)  # fmt: skip
_SPANS = (
    "1 day", "-3 mons 5 days -04:05:06.789", "100 years 3 mons", "0", "13 mons -40 days 100:00:00.5", "-00:00:00.05", "-12:30:01",
)  # fmt: skip


def test_compiled_moments(member: LocalMember, oracle: Connection) -> None:
    chance = random.Random(2)
    moments = ", ".join(f"({n}, '{v}', '{v}', null)" for n, v in enumerate(_MOMENTS))
    spans = ", ".join(f"({n + 50}, null, null, '{v}')" for n, v in enumerate(_SPANS))
    setup = (
        "set timezone = 'Europe/Berlin'",
        "create temporary table moments (id int, a timestamp, z timestamptz, i interval)",
        f"insert into moments values {moments}, {spans}",
    )
    with member.connect() as ours:
        _run(setup, ours, oracle)
        for _ in range(30):
            template = _moment_template(chance)
            said, reads = _reading(chance)
            for query in (
                f"select id, to_char(a, '{template}'), to_char(z, '{template}') from moments order by id",
                f"select id, to_char(i, '{template}') from moments order by id",
                f"select to_timestamp(x, '{reads}')::text from (values ('{said}')) v (x)",
                f"select to_date('{said}', '{reads}')::text",
            ):
                assert say(ours, query) == say(oracle, query), query


#: Templates of 4,096 characters.
_LONG = ("YYYY-MM " * 512, '"ab"HH24' * 512, "9" * 4096, "9,0" * 1365 + "9")


@pytest.mark.parametrize("template", _LONG)
def test_long_templates(member: LocalMember, oracle: Connection, template: str) -> None:
    value = "1234.5" if "9" in template else "timestamp '2024-01-05 10:00'"
    with member.connect() as ours:
        for written in (f"'{template}'", f"repeat('{template}', x)"):
            query = f"select to_char({value}, {written}) from (values (1)) v (x)"
            assert say(ours, query) == say(oracle, query), query
            longer = say(ours, query.replace(template, f"{template} "))
            assert longer.error is not None
            assert longer.error[:2] == ("0A000", "not supported: a template of more than 4096 characters")

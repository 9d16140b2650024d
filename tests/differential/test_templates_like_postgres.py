"""to_char and to_number by random templates, as by PostgreSQL: one value at a time as the local engine's functions compute it, and
templates of the usual make over a table, which are compiled.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from local_member import LocalMember, local_member, say
from postgres_server import PostgresServer

from engine import number_templates
from wire.errors import SqlError

pytestmark = pytest.mark.postgres

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
def oracle(postgres: PostgresServer) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        yield connection


def _asked(connection: psycopg.Connection[tuple[Any, ...]], query: str, *given: str) -> Any:
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
    "to_number(%s, %s)::text": (_said, number_templates.read_number),
    "to_char(%s::numeric, %s)": (_number, number_templates.numeric_text),
    "to_char(%s::int4, %s)": (_whole, lambda value, template: number_templates.int4_text(int(value), template)),
    "to_char(%s::int8, %s)": (_whole, lambda value, template: number_templates.int8_text(int(value), template)),
    "to_char(%s::float8, %s)": (
        _float,
        lambda value, template: number_templates.float_text(float(value), template, size=8),
    ),
}


@pytest.mark.parametrize("function", _FUNCTIONS)
def test_numbers(function: str, oracle: psycopg.Connection[tuple[Any, ...]]) -> None:
    chance = random.Random(function)
    make, compute = _FUNCTIONS[function]
    for _ in range(500):
        value, template = make(chance), _template(chance)
        expected = _asked(oracle, f"select {function}", value, template)
        assert _computed(compute, value, template) == expected, (value, template)


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


def test_compiled_templates(member: LocalMember, oracle: psycopg.Connection[tuple[Any, ...]]) -> None:
    chance = random.Random(1)
    rows = ", ".join(f"({n}, {v}, round({v})::int, round({v})::bigint, {v}, {v})" for n, v in enumerate(_NUMBERS))
    odd = "(100, null, null, null, 'NaN', '-Infinity'), (101, null, null, null, null, null)"
    setup = (
        "create temporary table numbers (id int, n numeric(12, 4), i int, l bigint, f float8, r float4)",
        f"insert into numbers values {rows}, {odd}",
    )
    with member.connect() as ours:
        for statement in setup:
            ours.execute(statement.encode())
            oracle.execute(statement.encode())
        for _ in range(60):
            shown = ", ".join(f"to_char({column}, '{_layout(chance)}')" for column in "nilfr")
            query = f"select id, {shown} from numbers order by id"
            assert say(ours, query) == say(oracle, query), query

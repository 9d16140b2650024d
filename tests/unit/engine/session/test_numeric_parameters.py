"""Numerics that clients send with more digits than an engine holds, as asyncpg does for a float: where they are stored
with fewer digits, they are rounded once, from the number that was sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest
from psycopg import errors
from support.local_member import LocalMember, local_member

SENT = [15.7563, 2.9, -8.55147159999, 0.00005, 9999.1, 123.1, 1e-30]


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def connection(member: LocalMember) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with member.connect() as connected:
        yield connected


@pytest.mark.parametrize("value", SENT)
def test_it_is_rounded_to_what_it_is_cast_to(connection: psycopg.Connection[tuple[object, ...]], value: float) -> None:
    said = connection.execute("select %s::numeric(8, 4)", [Decimal(value)]).fetchone()
    assert said == (Decimal(value).quantize(Decimal("0.0001"), "ROUND_HALF_UP"),)


def test_it_is_rounded_to_the_column_that_it_is_for(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("create table prices (price numeric(8, 4))")
    connection.cursor().executemany(
        "insert into prices values (%s)", [(Decimal.from_float(15.7563),), (Decimal("15.7563"),), (None,)]
    )
    said = connection.execute("select price, count(*) from prices group by price order by price").fetchall()
    assert said == [(Decimal("15.7563"), 2), (None, 1)]


def test_it_is_rounded_in_each_of_several_rows(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute("create table measured (price numeric(8, 4), size float8)")
    connection.execute(
        "insert into measured values (%s, %s::numeric(8, 4)), (%s, %s::numeric(8, 4)), (%s, 0)",
        [Decimal.from_float(value) for value in (15.7563, 2.9, -8.55147159999, 0.00005, 123.1)],
    )
    said = connection.execute("select * from measured order by price").fetchall()
    assert said == [(Decimal("-8.5515"), 0.0001), (Decimal("15.7563"), 2.9), (Decimal("123.1000"), 0)]


def test_what_has_too_many_digits_before_its_point_is_refused(
    connection: psycopg.Connection[tuple[object, ...]],
) -> None:
    with pytest.raises(errors.NumericValueOutOfRange):
        connection.execute("select %s::numeric(8, 4)", [Decimal.from_float(99999.99995)])
    connection.execute("create table narrow (price numeric(8, 4))")
    with pytest.raises(errors.NumericValueOutOfRange) as caught:
        connection.execute("insert into narrow values (%s), (%s)", [Decimal(1), Decimal("1e8")])
    detail = "A field with precision 8, scale 4 must round to an absolute value less than 10^4."
    assert caught.value.diag.message_detail == detail


def test_halves_are_rounded_away_from_zero(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    half = Decimal("0.5" + "0" * 50)
    assert connection.execute("select %s::numeric(3, 0), %s::numeric(3, 0)", [half, -half]).fetchone() == (1, -1)


def test_where_all_digits_would_be_needed_it_is_shown_and_not_stored(
    connection: psycopg.Connection[tuple[object, ...]],
) -> None:
    sent = Decimal.from_float(15.7563)
    assert connection.execute("select %s::numeric", [sent]).fetchone() == (sent,)
    connection.execute("create table exact (price numeric)")
    with pytest.raises(errors.NumericValueOutOfRange):
        connection.execute("insert into exact values (%s)", [sent])

"""Literals: what DuckDB makes of them is the canonical value again, whatever the session's time zone."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.carry import carrier_of, carry_array
from engine.plan.compile import to_sql
from engine.plan.compile.literals import literal
from engine.plan.compile.unsupported import Unsupported
from engine.sql.types import SqlType, numeric, of
from wire import types as t
from wire.errors import NumericValueOutOfRange


@pytest.fixture(scope="module")
def local() -> Any:
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'America/St_Johns'")
        yield connection


def _evaluate(connection: Any, value: Any, typ: SqlType) -> pa.Scalar:
    sql = f"SELECT {to_sql(literal(value, typ, 'local'), 'local')} AS x"
    table = connection.sql(sql).to_arrow_table()
    return carry_array(table.column(0).combine_chunks(), carrier_of(typ))[0]


def _same(connection: Any, value: Any, typ: SqlType) -> None:
    got = _evaluate(connection, value, typ)
    assert got.type == carrier_of(typ)
    assert got == pa.scalar(value, carrier_of(typ)) or (isinstance(value, float) and math.isnan(value))


def _days(year: int, month: int, day: int) -> int:
    return date(year, month, day).toordinal() - 719_163


def _micros(*parts: int) -> int:
    delta = datetime(*parts, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)  # type: ignore[arg-type,misc]
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


@pytest.mark.parametrize(
    ("typ", "value"),
    [
        (t.BOOL, True),
        (t.INT2, -(2**15)),
        (t.INT4, -(2**31)),
        (t.INT4, 2**31 - 1),
        (t.INT8, -(2**63)),
        (t.INT8, 2**63 - 1),
        (t.OID, 2**32 - 1),
        (t.FLOAT4, 3.4028234663852886e38),
        (t.FLOAT8, 5e-324),
        (t.FLOAT8, 1.7976931348623157e308),
        (t.FLOAT8, math.inf),
        (t.FLOAT8, -math.inf),
        (t.TEXT, 'it\'s a \\ "test" -- /* $1 \n\t é 🙂'),
        (t.BYTEA, bytes(range(256))),
        (t.BYTEA, b""),
        (t.DATE, _days(1994, 1, 1)),
        (t.DATE, _days(1, 1, 1)),
        (t.DATE, _days(9999, 12, 31)),
        (t.DATE, _days(9999, 12, 31) + 1),
        (t.DATE, -2_451_545),
        (t.TIME, 0),
        (t.TIME, 86_399_999_999),
        (t.TIME, 86_400_000_000),
        (t.TIMESTAMP, _micros(2000, 2, 29, 12, 0, 0, 1)),
        (t.TIMESTAMP, _micros(9999, 12, 31, 23, 59, 59, 999_999) + 1),
        (t.TIMESTAMP, -(2**62)),
        (t.TIMESTAMPTZ, _micros(2020, 7, 1)),
        (t.TIMESTAMPTZ, _micros(1, 1, 1) - 1),
        (t.TIMETZ, {"micros": 3_600_000_000, "zone": -7200}),
        (t.UUID, "00112233-4455-6677-8899-aabbccddeeff"),
        (t.INTERVAL, pa.MonthDayNano([-14, 3, -5_000])),
        (t.INTERVAL, pa.MonthDayNano([0, 0, 0])),
        (t.array_of(t.INT4), [1, None, 3]),
        (t.array_of(t.INT4), []),
        (t.array_of(t.TEXT), ["a", "b'"]),
        (t.VOID, None),
        (t.TEXT, None),
        (t.array_of(t.INT8), None),
    ],
)
def test_values(typ: t.PgType, value: Any, local: Any) -> None:
    _same(local, value, of(typ))


def test_nan(local: Any) -> None:
    assert math.isnan(_evaluate(local, math.nan, of(t.FLOAT8)).as_py())


def test_arrays_of_two_dimensions(local: Any) -> None:
    sql = to_sql(literal([[1, 2], [3, 4]], of(t.array_of(t.INT4)), "local"), "local")
    assert local.sql(f"SELECT {sql}").fetchall() == [([[1, 2], [3, 4]],)]


@pytest.mark.parametrize(
    ("typ", "value", "expected"),
    [(t.DATE, 2**31 - 1, 2**31 - 1), (t.TIMESTAMP, 2**63 - 1, 2**63 - 1), (t.TIMESTAMPTZ, 2**63 - 1, 2**63 - 1)],
)
def test_infinity_is_the_greatest(typ: t.PgType, value: int, expected: int, local: Any) -> None:
    assert _evaluate(local, value, of(typ)).value == expected


@given(value=st.integers(-(2**63), 2**63 - 1))
def test_every_bigint(value: int, local: Any) -> None:
    _same(local, value, of(t.INT8))


@given(value=st.floats(allow_nan=False))
def test_every_float(value: float, local: Any) -> None:
    _same(local, value, of(t.FLOAT8))


@given(value=st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_every_text(value: str, local: Any) -> None:
    _same(local, value, of(t.TEXT))


@given(digits=st.integers(-(10**38) + 1, 10**38 - 1), scale=st.integers(0, 38))
def test_every_numeric(digits: int, scale: int, local: Any) -> None:
    value = Decimal(digits).scaleb(-scale)
    if len(str(abs(digits))) <= 28:
        _same(local, value, numeric(38, scale))


def test_numeric_that_does_not_fit() -> None:
    with pytest.raises(NumericValueOutOfRange):
        literal(Decimal("1.005"), numeric(4, 2), "local")
    with pytest.raises(NumericValueOutOfRange):
        literal(Decimal(100), numeric(4, 2), "local")
    with pytest.raises(Unsupported):
        literal(Decimal("NaN"), numeric(4, 2), "local")

"""Literals: DuckDB evaluates them to the canonical value again, whatever the session's time zone."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.literal_values import LITERALS

from engine.common.sql_type import SqlType, numeric, of
from engine.contracts.output_cast import carrier_of, carry_array
from engine.planner.codegen import to_sql
from engine.sql.trees.literals import literal
from engine.sql.trees.unsupported import Unsupported
from wire.errors import NumericValueOutOfRange
from wire.types import pg_types as t


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


@pytest.mark.parametrize(("typ", "value"), LITERALS)
def test_values(typ: t.PgType, value: Any, local: Any) -> None:
    _same(local, value, of(typ))


def test_nan(local: Any) -> None:
    assert math.isnan(_evaluate(local, math.nan, of(t.FLOAT8)).as_py())


def test_arrays_of_two_dimensions(local: Any) -> None:
    sql = to_sql(literal([[1, 2], [3, 4]], of(t.array_of(t.INT4)), "local"), "local")
    assert local.sql(f"SELECT {sql}").fetchall() == [([[1, 2], [3, 4]],)]


@pytest.mark.parametrize(
    ("element", "value"),
    [
        (t.INT2, [*range(-2000, 2000), None, -(2**15), 2**15 - 1]),
        (t.INT4, [[-(2**31), 2**31 - 1], *([x, None] for x in range(2000))]),
        (t.INT8, [None, *range(2000), -(2**63), 2**63 - 1]),
        (t.FLOAT4, [x / 8 for x in range(2000)]),
        (t.FLOAT8, [None, 1e300, 5e-324, -0.0, math.inf, -math.inf, 0.1, *map(float, range(2000))]),
    ],
)
def test_a_long_array_of_numbers_is_one_text(element: t.PgType, value: list[Any], local: Any) -> None:
    tree = literal(value, of(t.array_of(element)), "local")
    assert len(list(tree.walk())) < 10
    assert repr(local.sql(f"SELECT {to_sql(tree, 'local')}").fetchall()) == repr([(value,)])


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
    value = Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -scale))
    _same(local, value, numeric(38, scale))


def test_numeric_that_does_not_fit() -> None:
    with pytest.raises(NumericValueOutOfRange):
        literal(Decimal("1.005"), numeric(4, 2), "local")
    with pytest.raises(NumericValueOutOfRange):
        literal(Decimal(100), numeric(4, 2), "local")
    with pytest.raises(Unsupported):
        literal(Decimal("NaN"), numeric(4, 2), "local")


def test_spark_substitutes_nothing_in_a_string() -> None:
    """Spark would put environment variables and settings in the place of `${env:HOME}`."""
    assert "${" not in to_sql(literal("${env:HOME} $ {x}", of(t.TEXT), "spark"), "spark")

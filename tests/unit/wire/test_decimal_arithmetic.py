"""Division and rounding of Arrow's decimals against Python's, above all where Arrow's own division is wrong."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.types.decimal_arithmetic import divide_decimals, round_decimals, truncate_decimals

#: Numbers of which a digit in base 2**32 is the largest one, beside others.
_LARGEST = st.builds(
    lambda high, middle, low: (high << 64) | (middle << 32) | low,
    st.integers(0, 2**20),
    st.sampled_from((2**32 - 1, 2**32 - 2, 0, 7)),
    st.sampled_from((2**32 - 1, 0, 2**31, 99)),
)
_SIGN = st.sampled_from((1, -1))


def _quantized(value: Decimal, digits: int, rounding: str) -> Decimal:
    with localcontext(prec=200):
        return value.quantize(Decimal(1).scaleb(-digits), rounding)


@settings(deadline=None)
@given(_LARGEST, _SIGN, st.integers(0, 20), st.integers(-1, 1), st.sampled_from((128, 256)))
def test_digits_are_dropped(number: int, sign: int, dropped: int, beside: int, width: int) -> None:
    unscaled = sign * number * 10**dropped + beside
    kept = 3
    typ = pa.decimal128(38, dropped + kept) if width == 128 else pa.decimal256(70, dropped + kept)
    if len(str(abs(unscaled))) >= typ.precision:
        return
    value = Decimal(unscaled).scaleb(-typ.scale)
    array = pa.array([value, None], typ)
    assert truncate_decimals(array, kept).to_pylist() == [_quantized(value, kept, ROUND_DOWN), None]
    assert round_decimals(array, kept).to_pylist() == [_quantized(value, kept, ROUND_HALF_UP), None]


@settings(deadline=None)
@given(_LARGEST, st.integers(1, 10**19), _SIGN, st.integers(-2, 2))
def test_quotients(quotient: int, divisor: int, sign: int, beside: int) -> None:
    dividend = sign * (quotient * divisor + beside)
    if len(str(abs(dividend))) > 50:
        return
    dividends = pa.array([Decimal(dividend), None], pa.decimal256(50, 0))
    divisors = pa.array([Decimal(divisor), Decimal(1)], pa.decimal256(20, 0))
    found = divide_decimals(dividends, divisors)
    with localcontext(prec=200):
        exact = _quantized(Decimal(dividend) / Decimal(divisor), found.type.scale, ROUND_DOWN)
    assert found.to_pylist() == [exact, None]


@pytest.mark.parametrize("make", [pa.array, lambda values, typ: pa.chunked_array([pa.array(values, typ)])])
def test_where_arrow_is_wrong(make: Any) -> None:
    largest = Decimal(2**64 - 1)
    assert truncate_decimals(make([largest], pa.decimal128(38, 14)), 0).to_pylist() == [largest]
    assert round_decimals(make([largest], pa.decimal128(38, 14)), 0).to_pylist() == [largest]
    below = Decimal("4194303.999999999999999999999999")
    assert round_decimals(make([below], pa.decimal128(38, 24)), 10).to_pylist() == [Decimal(4194304)]
    dividend, divisor = Decimal("50400802303434682475079081236889598"), Decimal(2761401365064978381)
    found = divide_decimals(make([dividend], pa.decimal256(38, 0)), make([divisor], pa.decimal256(20, 0)))
    assert found.to_pylist() == [Decimal("18251893021081599.999999999999999999275")]


def test_a_carry_that_does_not_fit() -> None:
    with pytest.raises(pa.ArrowInvalid):
        round_decimals(pa.array([Decimal("9." + "9" * 37)], pa.decimal128(38, 37)), 2)

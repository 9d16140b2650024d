"""`sluice_divide` and `sluice_root` against integers of any length: every digit, and how many there are."""

from __future__ import annotations

from decimal import Decimal
from math import isqrt

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.executors.local.division import divide
from engine.executors.local.roots import root
from wire.errors import DivisionByZero, InvalidArgumentForPower, NumericValueOutOfRange


def group(unscaled: int, scale: int) -> tuple[int, int]:
    """The exponent of the first base-10000 group of a decimal, and the group; zeros of zero."""
    if unscaled == 0:
        return 0, 0
    digits = str(abs(unscaled))
    place = len(digits) - 1 - scale
    return place // 4, int(digits.ljust(4, "0")[: place % 4 + 1])


def half_away(numerator: int, denominator: int, digits: int) -> Decimal:
    size, rest = divmod(abs(numerator) * 10**digits, abs(denominator))
    size += 2 * rest >= abs(denominator)
    negative = (numerator < 0) != (denominator < 0)
    return Decimal((int(negative), tuple(map(int, str(size))), -digits))


def quotient(a: int, scale_a: int, b: int, scale_b: int, minimum: int) -> Decimal:
    """PostgreSQL's, by select_div_scale."""
    (weight_a, first_a), (weight_b, first_b) = group(a, scale_a), group(b, scale_b)
    digits = max(16 - 4 * (weight_a - weight_b - (first_a <= first_b)), minimum, 0)
    return half_away(a * 10**scale_b, b * 10**scale_a, digits)


def texts(unscaled: int, scale: int) -> pa.Array:
    return pa.array(
        [format(Decimal(unscaled).scaleb(-scale), "f") if unscaled else format(Decimal((0, (0,), -scale)), "f")]
    )


def constants(*values: int) -> list[pa.Array]:
    return [pa.array([value]) for value in values]


@settings(deadline=None)
@given(
    st.integers(-(10**15), 10**15),
    st.sampled_from((0, 2, 4)),
    st.integers(1, 10**12),
    st.sampled_from((0, 2, 6)),
)
def test_quotients(a: int, scale_a: int, b: int, scale_b: int) -> None:
    minimum = max(scale_a, scale_b)
    (got,) = divide(texts(a, scale_a), texts(b, scale_b), *constants(scale_a, scale_b, 36, minimum, 0)).to_pylist()
    assert Decimal(got) == quotient(a, scale_a, b, scale_b, minimum)


@settings(deadline=None)
@given(st.integers(0, 10**18), st.sampled_from((0, 2, 8)))
def test_roots(value: int, scale: int) -> None:
    weight, _ = group(value, scale)
    digits = max(15 - 2 * weight, scale)
    (got,) = root(texts(value, scale), *constants(scale, 26, scale, 0)).to_pylist()
    # The root to one digit more, cut off, rounds as the root does: it is never a tie.
    cut = isqrt(value * 10 ** (2 * (digits + 1) - scale))
    assert Decimal(got) == half_away(cut, 10 ** (digits + 1), digits)


def test_refusals() -> None:
    one = texts(100, 2)
    with pytest.raises(DivisionByZero):
        divide(one, texts(0, 2), *constants(2, 2, 24, 2, 0))
    with pytest.raises(NumericValueOutOfRange):
        divide(one, texts(3 * 10**14, 2), *constants(2, 2, 24, 2, 0))
    with pytest.raises(InvalidArgumentForPower):
        root(texts(-1, 2), *constants(2, 20, 2, 0))


def test_exact_though_short() -> None:
    """A quotient that would have more digits, all of them zero, is what it is."""
    (got,) = divide(texts(100, 2), texts(10**14, 2), *constants(2, 2, 24, 2, 0)).to_pylist()
    assert Decimal(got) == Decimal("1E-12")

"""`sluice_spread`, `sluice_joined`: the numerator of the quotient that is the variance of exact numbers, for the local
engine.

n * sum(x^2) - sum(x)^2 has up to four times the digits of a value. No type of the engine holds that many, but Python's
integers do, and the computation runs once per group.

`engine.sql.functions.aggregates` builds the call. Source: PostgreSQL 15, numeric.c (numeric_stddev_internal).
"""

from __future__ import annotations

from engine.executors.local.distinct_calls import register


def _numerator(wholes: str, mixed: str, fractions: str, total: str, count: int, scale: int) -> str:
    """Return the difference, with twice as many fractional digits as the values. wholes, mixed, fractions: sums of the
    products of whole parts and fractions, as integers. total: the sum of the values, with `scale` fractional digits.
    """
    unit = 10**scale
    squares = int(wholes) * unit * unit + 2 * int(mixed) * unit + int(fractions)
    difference = count * squares - int(total.replace(".", "")) ** 2
    if scale == 0:
        return str(difference)
    digits = str(difference).rjust(2 * scale + 1, "0")
    return f"{digits[: -2 * scale]}.{digits[-2 * scale :]}"


def _join(high: str, low: str, digits: int) -> str:
    """Join an integer's high part and its low part of so many digits; both may be sums of many values."""
    return str(int(high) * 10**digits + int(low))


register("sluice_joined", ["VARCHAR", "VARCHAR", "INTEGER"], "VARCHAR", _join)
register("sluice_spread", ["VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "BIGINT", "INTEGER"], "VARCHAR", _numerator)

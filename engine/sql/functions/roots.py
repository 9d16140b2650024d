"""Square roots of numerics to PostgreSQL's digits, also of variances.

The local engine has a vectorised function (`engine.executors.local.roots`). In Spark, a double's root, cut to half the
digits, squares exactly in a decimal; the remainder of the value gives the rest of the root to a double's precision.
Values below 10^-8 have too few digits for that, and Spark refuses them.

Source: PostgreSQL 15, numeric.c (numeric_sqrt, numeric_stddev_internal).
"""

from __future__ import annotations

from typing import Final, Literal

from sqlglot import exp

from engine.common.sql_type import SqlType, numeric
from engine.contracts.query_id import EngineName
from engine.sql.functions.building import let, parse, place
from engine.sql.functions.decimals import from_unscaled, power, to_unscaled
from wire.types.carriers import NumericScale

#: Whether a root has sixteen significant digits of its own, or as many fractional digits as the variance under it.
RootOf = Literal["value", "variance"]
_FINE: Final = 28


def root_type(value: SqlType) -> SqlType:
    """Return the type of sqrt: digits for the smallest possible value; the number of printed digits depends on the
    value.
    """
    scale = min(max(value.scale, 15 + 2 * -(-value.scale // 4)), _FINE)
    return numeric(38, scale, NumericScale.ROOT, minimum=min(_least(value), scale))


def _least(value: SqlType) -> int:
    return value.scale if value.display is NumericScale.FIXED else value.minimum


def square_root(
    engine: EngineName, tree: exp.Expression, value: SqlType, result: SqlType, of: RootOf
) -> exp.Expression:
    """Return the tree of the root of `tree`, both in their storage types; 2201F for a negative value."""
    text = _local(value, result, of) if engine == "local" else _spark(value, result, of)
    return place(parse(engine, text), [tree])


def _local(value: SqlType, result: SqlType, of: RootOf) -> str:
    kind = int(of == "variance")
    root = f"sluice_root(CAST($1 AS VARCHAR), {value.scale}, {result.scale}, {result.minimum}, {kind})"
    return f"CAST({root} AS DECIMAL(38, {result.scale}))"


def _spark(value: SqlType, result: SqlType, of: RootOf) -> str:
    inner = max(value.scale + value.scale % 2, (38 - value.precision + value.scale) // 2 * 2)
    body = let(
        "spark",
        "v__",
        {"v": f"CAST(x__.v AS DECIMAL(38, {inner}))", "d": f"CAST({_digits(value, result, of)} AS INT)"},
        _refine(inner, result),
    )
    return let(
        "spark",
        "x__",
        {"v": "$1", "s": "CAST(CAST(replace(CAST(abs($1) AS STRING), '.', '') AS DECIMAL(38, 0)) AS STRING)"},
        "CASE WHEN x__.v < 0 THEN RAISE('2201F', 'cannot take square root of a negative number') "
        f"WHEN x__.v = 0 THEN CAST(0 AS DECIMAL(38, {result.scale})) WHEN x__.v < {power('spark', -8)} THEN "
        f"RAISE('0A000', 'not supported: the square root of a numeric below 0.00000001') ELSE {body} END",
    )


def _digits(value: SqlType, result: SqlType, of: RootOf) -> str:
    """Return the required number of fractional digits, from the first base-10000 group's exponent; `x__.s` are the
    value's digits.
    """
    weight = f"CAST(floor((length(x__.s) - {value.scale + 1}) / 4.0) AS INT)"
    if of == "value":
        return f"greatest(15 - 2 * {weight}, {result.minimum})"
    given = f"length(rtrim('0', x__.s)) - length(x__.s) + {value.scale}"
    least = f"16 - 4 * {weight}"
    return f"greatest({least} + CASE WHEN {given} > {least} THEN 4 ELSE 0 END, {result.minimum})"


def _refine(scale: int, result: SqlType) -> str:
    guess = f"CAST(sqrt(CAST(v__.v AS DOUBLE)) AS DECIMAL(38, {scale // 2}))"
    correction = "CAST(v__.v - e__.c * e__.c AS DOUBLE) / (2 * CAST(e__.c AS DOUBLE))"
    second = f"CAST(f__.d - f__.d * f__.d / (2 * CAST(e__.c AS DOUBLE)) AS DECIMAL(38, {_FINE}))"
    root = to_unscaled(
        "spark", f"CAST(CAST(e__.c AS DECIMAL(38, {_FINE})) + {second} AS DECIMAL(38, {_FINE}))", 38, _FINE
    )
    unit = f"CAST(rpad('1', greatest({_FINE} - least(v__.d, {result.scale}), 0) + 1, '0') AS DECIMAL(38, 0))"
    rounded = "g__.n - g__.n % g__.u + CASE WHEN 2 * (g__.n % g__.u) >= g__.u THEN g__.u ELSE 0 END"
    picked = f"CAST({from_unscaled('spark', rounded, _FINE)} AS DECIMAL(38, {result.scale}))"
    last = let("spark", "g__", {"n": root, "u": unit}, picked)
    return let("spark", "e__", {"c": guess}, let("spark", "f__", {"d": correction}, last))

"""Decimals and the integers inside them: SQL snippets for both engines.

Exact arithmetic works on a decimal's unscaled integer (its digits without the point): HUGEINT in DuckDB, DECIMAL(38, 0)
in Spark. Neighbours: `division`, `roots`, `aggregates` and `math` compute with them.
"""

from __future__ import annotations

from typing import Final

from engine.contracts.query_id import EngineName

WIDE: Final[dict[EngineName, str]] = {"local": "HUGEINT", "spark": "DECIMAL(38, 0)"}
STRING: Final[dict[EngineName, str]] = {"local": "VARCHAR", "spark": "STRING"}


def power(engine: EngineName, exponent: int) -> str:
    """Return 10^exponent as an exact literal: a wide integer, or a decimal if the exponent is negative."""
    if exponent < 0:
        digits = -exponent
        return f"CAST('0.{'1'.rjust(digits, '0')}' AS DECIMAL({digits}, {digits}))"
    return f"CAST('1{'0' * exponent}' AS {WIDE[engine]})"


def times(engine: EngineName, text: str, exponent: int) -> str:
    """Return a wide integer times 10^exponent."""
    return f"{text} * {power(engine, exponent)}" if exponent else text


def to_unscaled(engine: EngineName, text: str, precision: int, scale: int) -> str:
    """Return the digits of a decimal(precision, scale) as a wide integer: the value times 10^scale."""
    if scale == 0:
        return f"CAST({text} AS {WIDE[engine]})"
    if precision + scale < 37:
        factor = f"CAST('1{'0' * scale}' AS DECIMAL({scale + 1}, 0))"
        if engine == "local":
            # DuckDB stores the product of two decimals of at most 18 digits in 18 digits.
            text = f"CAST({text} AS DECIMAL(38, {scale}))"
        return f"CAST({text} * {factor} AS {WIDE[engine]})"
    return f"CAST(replace(CAST({text} AS {STRING[engine]}), '.', '') AS {WIDE[engine]})"


def from_unscaled(engine: EngineName, text: str, scale: int) -> str:
    """Return the DECIMAL(38, scale) that a wide integer stands for: the integer times 10^-scale."""
    whole = f"CAST({text} AS DECIMAL(38, 0))"
    return f"CAST({whole} * {power(engine, -scale)} AS DECIMAL(38, {scale}))" if scale else whole

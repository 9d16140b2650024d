"""Division of numerics to PostgreSQL's digits.

PostgreSQL's quotient has at least sixteen significant digits, counted in base-10000 groups: how many fractional digits
that is (select_div_scale) follows from the weights and the leading groups of the operands, value by value. Neither engine
divides so: DuckDB gives a double, Spark a scale by type. So the quotient is computed with more digits than are wanted and
rounded to the digit that PostgreSQL rounds to, half away from zero:

- *local*: a vectorised Arrow function, `engine.local.division`, which divides 256-bit decimals;
- *Spark*: its own decimal division, operands cast so that the result keeps `scale` digits, then ROUND by CASE.

Operands' weights are taken from doubles; a value whose first group depends on its seventeenth digit would be misjudged by
one group, which costs or adds four digits at the end.

Source: PostgreSQL 15, numeric.c (select_div_scale, div_var).
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.executor import EngineName
from engine.sql.functions.building import let, parse, place
from engine.sql.types import SqlType
from wire.carriers import NumericScale

#: PostgreSQL: NUMERIC_MIN_SIG_DIGITS, and the digits of a group.
SIGNIFICANT: Final = 16
GROUP: Final = 4


def divide(
    engine: EngineName, a: exp.Expression, b: exp.Expression, types: tuple[SqlType, SqlType], result: SqlType
) -> exp.Expression:
    """The tree of a / b, operands and result in their storage types; 22012 for a zero divisor."""
    text = _local(types, result) if engine == "local" else _spark(types, result)
    return place(parse(engine, text), [a, b])


def _is_quotient(typ: SqlType) -> bool:
    return typ.display is NumericScale.QUOTIENT


def _local(types: tuple[SqlType, SqlType], result: SqlType) -> str:
    flags = sum(bit for bit, typ in zip((1, 2), types, strict=True) if _is_quotient(typ))
    digits = f"{types[0].scale}, {types[1].scale}, {result.scale}, {result.minimum}, {flags}"
    quotient = f"sluice_divide(CAST($1 AS VARCHAR), CAST($2 AS VARCHAR), {digits})"
    return f"CAST({quotient} AS DECIMAL({result.precision}, {result.scale}))"


def _spark(types: tuple[SqlType, SqlType], result: SqlType) -> str:
    """Operands, weights and quotient are bound one after the other: repeated in place, they would outgrow what a method of
    Spark's generated code may hold."""
    a, b = types
    quotient = f"x__.a / CAST(x__.b AS DECIMAL(38, {b.scale}))"
    chosen = let(
        "spark",
        "z__",
        {
            "q": f"CAST({quotient} AS DECIMAL(38, {result.scale}))",
            "d": f"CAST({_digits(types, result)} AS INT)",
        },
        _rounded(result),
    )
    weighed = let("spark", "y__", {"a": _weight("x__.a"), "b": _weight("x__.b")}, chosen)
    body = f"CASE WHEN x__.b = 0 AND x__.a IS NOT NULL THEN RAISE('22012', 'division by zero') ELSE {weighed} END"
    return let("spark", "x__", {"a": f"CAST($1 AS DECIMAL({_numerator(a, b, result)}, {a.scale}))", "b": "$2"}, body)


def _digits(types: tuple[SqlType, SqlType], result: SqlType) -> str:
    """select_div_scale over the bound operands `x__` and their weights `y__`."""
    lower = f"CASE WHEN {_leading('a')} <= {_leading('b')} THEN 1 ELSE 0 END"
    wanted = [f"{SIGNIFICANT} - {GROUP} * (y__.a - y__.b - {lower})", str(result.minimum)]
    wanted += [f"{SIGNIFICANT} - {GROUP} * y__.{n}" for n, typ in zip("ab", types, strict=True) if _is_quotient(typ)]
    return f"greatest({', '.join(wanted)})"


def _rounded(result: SqlType) -> str:
    """`z__.q` rounded to `z__.d` digits, of which there is one for each group, and the least."""
    kept = [result.minimum, *(d for d in range(0, result.scale, GROUP) if d > result.minimum)]
    whens = " ".join(
        f"WHEN {d} THEN CAST(round(z__.q, {d}) AS DECIMAL(38, {result.scale}))" for d in kept if d < result.scale
    )
    return f"CASE z__.d {whens} ELSE z__.q END"


def _numerator(a: SqlType, b: SqlType, result: SqlType) -> int:
    """The dividend's precision that gives Spark's quotient the result's scale.

    Without precision loss, and with a divisor of 38 digits, the quotient has 38 fractional digits less half of the integer
    ones, less one; so the integer ones are chosen. A dividend that does not fit them is 22003.
    """
    integers = 2 * (38 - 1 - result.scale)
    return max(a.scale + 1, min(38, integers + a.scale - b.scale))


def _weight(operand: str) -> str:
    """The exponent of the leading base-10000 group; 0 of zero, whose logarithm is null in Spark."""
    return f"CAST(coalesce(floor(log10(abs(CAST({operand} AS DOUBLE))) / {GROUP}), 0) AS INT)"


def _leading(name: str) -> str:
    return f"floor(abs(CAST(x__.{name} AS DOUBLE)) / power(10000D, y__.{name}) * (1D + 1E-15D))"

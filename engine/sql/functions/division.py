"""Division of numerics to PostgreSQL's digits.

PostgreSQL's quotient has at least sixteen significant digits, counted in base-10000 groups: the number of fractional
digits (select_div_scale) follows from the weights and the leading groups of the operands, value by value. Neither
engine divides like this: DuckDB returns a double, Spark a scale by type. The quotient is therefore computed with more
digits than are needed and rounded to the digit that PostgreSQL rounds to, half away from zero:

- *local*: a vectorised Arrow function, `engine.executors.local.division`, which divides 256-bit decimals;
- *Spark*: its own decimal division, with operands cast so that the result keeps `scale` digits, rounded by CASE. That
  rounds twice, which is wrong where the first rounding made a tie: the remainder then shows on which side of the tie
  the quotient lies;
- *Spark, operands with many digits* (`_long`): for each digit that the divisor might have behind the point, its division
  drops a digit of the dividend, until an average divided by another may not be 10. Such quotients are computed by long
  division, `_STEP` digits at a time, over integers: the operands without their trailing zeros, of which quotients have many.

A quotient that needs more digits than there are and is not exact is 22003.

Rejected: long division in SQL, over bound values. DuckDB binds the body of a lambda again for every lambda around it,
and six of them took it 30 milliseconds.

Source: PostgreSQL 15, numeric.c (select_div_scale, div_var).
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.common.sql_type import SqlType
from engine.contracts.query_id import EngineName
from engine.sql.functions.building import let, parse, place
from engine.sql.functions.decimals import power, times
from wire.types.carriers import NumericScale

#: PostgreSQL's NUMERIC_MIN_SIG_DIGITS, and the number of digits in a group.
SIGNIFICANT: Final = 16
GROUP: Final = 4
#: The digits that one step of a long division computes: the divisor may have 38 minus that many.
_STEP: Final = 6
#: The integer digits of a dividend that Spark's own division must keep.
_ENOUGH: Final = 18
_TOO_LONG: Final = "RAISE('22003', 'value out of range: a quotient with more digits than numeric can hold here')"


def divide(
    engine: EngineName, a: exp.Expression, b: exp.Expression, types: tuple[SqlType, SqlType], result: SqlType
) -> exp.Expression:
    """Return the tree of a / b, with operands and result in their storage types; 22012 for a zero divisor."""
    if engine == "local":
        text = _local(types, result)
    else:
        text = _spark(types, result) if _has_room(*types, result) else _long(types, result)
    return place(parse(engine, text), [a, b])


def _is_quotient(typ: SqlType) -> bool:
    return typ.display is NumericScale.QUOTIENT


def _local(types: tuple[SqlType, SqlType], result: SqlType) -> str:
    flags = sum(bit for bit, typ in zip((1, 2), types, strict=True) if _is_quotient(typ))
    digits = f"{types[0].scale}, {types[1].scale}, {result.scale}, {result.minimum}, {flags}"
    quotient = f"sluice_divide(CAST($1 AS VARCHAR), CAST($2 AS VARCHAR), {digits})"
    return f"CAST({quotient} AS DECIMAL({result.precision}, {result.scale}))"


def _spark(types: tuple[SqlType, SqlType], result: SqlType) -> str:
    """Build Spark's division. Operands, their digits and the quotient are bound one after the other: repeated in
    place, they would exceed the size of a method of Spark's generated code.
    """
    a, b = types
    quotient = f"CAST(x__.a / CAST(x__.b AS DECIMAL(38, {b.scale})) AS DECIMAL(38, {result.scale}))"
    rounded = let("spark", "v__", {"q": _settle_tie(types, result)}, _round_digits(result))
    chosen = let("spark", "z__", {"q": quotient, "d": f"CAST({_digits(types, result)} AS INT)"}, rounded)
    return _over({"a": f"CAST($1 AS DECIMAL({_numerator(a, b, result)}, {a.scale}))", "b": "$2"}, chosen)


def _long(types: tuple[SqlType, SqlType], result: SqlType) -> str:
    """Build a long division: `n__` are the operands as whole numbers of the same scale, `f__.s.q` is the truncated
    quotient as a text, and `f__.s.r` the remainder. The quotient is rounded only once, because all digits but the last
    are exact.
    """
    a, b = types
    kept = f"CAST(f__.s.q AS DECIMAL(38, {result.scale}))"
    quotient = (
        f"CASE WHEN z__.d > {result.scale} AND f__.s.r <> 0 THEN {_TOO_LONG} "
        f"WHEN z__.d = {result.scale} AND 2 * f__.s.r >= n__.b "
        f"THEN CAST({kept} + {power('spark', -result.scale)} AS DECIMAL(38, {result.scale})) ELSE {kept} END"
    )
    rounded = _round_digits(result)
    signed = f"CASE WHEN (x__.a < 0) <> (x__.b < 0) THEN - ({rounded}) ELSE {rounded} END"
    divided = let("spark", "f__", {"s": _steps(result.scale)}, let("spark", "v__", {"q": quotient}, signed))
    zeros = [f"(length(y__.{name}) - length(z__.{name}) - {typ.scale})" for name, typ in zip("ab", types, strict=True)]
    aligned = {
        name: f"CAST(concat('0', z__.{name}, repeat('0', {own} - {other})) AS DECIMAL(38, 0))"
        for name, own, other in zip("ab", zeros, reversed(zeros), strict=True)
    }
    trimmed = {name: f"regexp_replace(y__.{name}, '0+$', '')" for name in "ab"}
    known = trimmed | {"d": f"CAST({_digits(types, result)} AS INT)"}
    counted = let("spark", "z__", known, let("spark", "n__", aligned, divided))
    operands = {"a": f"CAST($1 AS DECIMAL(38, {a.scale}))", "b": f"CAST($2 AS DECIMAL(38, {b.scale}))"}
    return _over(operands, counted)


def _steps(scale: int) -> str:
    whole, rest = divmod(scale, _STEP)
    steps = ", ".join(map(str, [_STEP] * whole + [rest] * (rest > 0)))
    shifted = f"(s__.r * CAST(rpad('1', k__ + 1, '0') AS DECIMAL({_STEP + 1}, 0)))"
    found = f"concat(s__.q, lpad(CAST({shifted} DIV n__.b AS STRING), k__, '0'))"
    return (
        f"aggregate(array({steps}), named_struct('q', concat(CAST(n__.a DIV n__.b AS STRING), '.'), 'r', n__.a % n__.b),"
        f" (s__, k__) -> named_struct('q', {found}, 'r', {shifted} % n__.b))"
    )


def _over(operands: dict[str, str], body: str) -> str:
    """Return `body` with the operands as `x__` and their digits as `y__`, with an error for a zero divisor."""
    counted = let("spark", "y__", {"a": _magnitude("x__.a"), "b": _magnitude("x__.b")}, body)
    checked = f"CASE WHEN x__.b = 0 AND x__.a IS NOT NULL THEN RAISE('22012', 'division by zero') ELSE {counted} END"
    return let("spark", "x__", operands, checked)


def _magnitude(operand: str) -> str:
    """Return a decimal's digits without sign, point and leading zeros, as a text."""
    return f"CAST(CAST(replace(CAST(abs({operand}) AS STRING), '.', '') AS DECIMAL(38, 0)) AS STRING)"


def _place(name: str, scale: int) -> str:
    """Return the power of ten of the first digit of the operand whose digits are `y__.name`."""
    return f"(length(y__.{name}) - {scale + 1})"


def _weight(name: str, scale: int) -> str:
    """Return the exponent of the leading base-10000 group; 0 for zero."""
    return f"(CASE WHEN y__.{name} = '0' THEN 0 ELSE CAST(floor({_place(name, scale)} / {GROUP}.0) AS INT) END)"


def _leading_group(name: str, scale: int) -> str:
    return f"CAST(left(rpad(y__.{name}, {GROUP}, '0'), pmod({_place(name, scale)}, {GROUP}) + 1) AS INT)"


def _digits(types: tuple[SqlType, SqlType], result: SqlType) -> str:
    """Return select_div_scale over the digits `y__` of the operands."""
    a, b = (typ.scale for typ in types)
    lower = f"CASE WHEN {_leading_group('a', a)} <= {_leading_group('b', b)} THEN 1 ELSE 0 END"
    wanted = [f"{SIGNIFICANT} - {GROUP} * ({_weight('a', a)} - {_weight('b', b)} - {lower})", str(result.minimum)]
    wanted += [
        f"{SIGNIFICANT} - {GROUP} * {_weight(name, typ.scale)}"
        for name, typ in zip("ab", types, strict=True)
        if _is_quotient(typ)
    ]
    return f"greatest({', '.join(wanted)})"


def _division(types: tuple[SqlType, SqlType], result: SqlType) -> tuple[str, str]:
    """Return the dividend of the last step of a long division to the result's scale, and the divisor: wide integers."""
    a, b = types
    common = max(a.scale, b.scale)
    first, second = result.scale // 2, result.scale - result.scale // 2
    dividend, divisor = (
        times("spark", f"CAST(y__.{name} AS DECIMAL(38, 0))", common - typ.scale)
        for name, typ in zip("ab", types, strict=True)
    )
    divisor = f"({divisor})"
    fraction = times("spark", f"(({dividend}) % {divisor})", first)
    return f"({times('spark', f'({fraction} % {divisor})', second)})", divisor


def _settle_tie(types: tuple[SqlType, SqlType], result: SqlType) -> str:
    """Return `z__.q`, minus one unit if rounding it up made it a tie; an error if digits are missing."""
    dividend, divisor = _division(types, result)
    text = "CAST(abs(z__.q) AS STRING)"
    tail = f"{result.scale} - z__.d"
    tie = f"z__.d < {result.scale} AND right({text}, {tail}) = rpad('5', {tail}, '0')"
    up = f"right(CAST({dividend} DIV {divisor} AS STRING), 1) <> right({text}, 1)"
    unit = power("spark", -result.scale)
    return (
        f"CASE WHEN z__.d > {result.scale} AND {dividend} % {divisor} <> 0 THEN {_TOO_LONG} "
        f"WHEN {tie} AND {up} THEN CAST(z__.q - sign(z__.q) * {unit} AS DECIMAL(38, {result.scale})) ELSE z__.q END"
    )


def _round_digits(result: SqlType) -> str:
    """Return `v__.q` rounded to `z__.d` digits, which is a multiple of a group's digits or the minimum."""
    kept = [result.minimum, *(d for d in range(0, result.scale, GROUP) if d > result.minimum)]
    whens = " ".join(
        f"WHEN {d} THEN CAST(round(v__.q, {d}) AS DECIMAL(38, {result.scale}))" for d in kept if d < result.scale
    )
    return f"CASE z__.d {whens} ELSE v__.q END" if whens else "v__.q"


def _has_room(a: SqlType, b: SqlType, result: SqlType) -> bool:
    """Return whether Spark's own division has room for the dividend."""
    return _numerator(a, b, result) - a.scale >= min(a.precision - a.scale, _ENOUGH)


def _numerator(a: SqlType, b: SqlType, result: SqlType) -> int:
    """Return the dividend's precision that gives Spark's quotient the result's scale.

    Without precision loss, and with a divisor of 38 digits, the quotient has 38 fractional digits minus half of the
    integer digits, minus one; the integer digits are chosen accordingly. A dividend that does not fit them is 22003.
    """
    integers = 2 * (38 - 1 - result.scale)
    return max(a.scale + 1, min(38, integers + a.scale - b.scale))

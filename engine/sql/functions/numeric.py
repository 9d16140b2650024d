"""Arithmetic: + - * / % ^ and the bit operators, for integers, floats and numeric.

The operators exist for the pairs of types that PostgreSQL's pg_operator has; the binder's implicit casts do the rest.
Integer overflow is the engines' own error (both check), which the executors translate. Floats are checked here, since
neither engine raises an error for an infinity. The rules of `digits` give the digits of numerics; `division` divides
them.

`/` and `%` of numerics, and everything that scales a decimal, relies on Spark's
`spark.sql.decimalOperations.allowPrecisionLoss = false`: with it sums and products keep their scale or fail.

Source: PostgreSQL 15, section 9.3 and pg_operator; float.c for the float checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Function
from engine.sql.functions import digits
from engine.sql.functions.building import fn, op, parse, place
from engine.sql.functions.division import divide
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_NAMES: Final = {t.INT2: "SMALLINT", t.INT4: "INTEGER", t.INT8: "BIGINT"}
#: The digits of decimals that DuckDB stores in 64 bits.
_NARROW: Final = 18
_INFINITY: Final = "CAST('Infinity' AS DOUBLE)"
_INTS: Final = (t.INT2, t.INT4, t.INT8)
#: The integers' operators under names that DuckDB's optimizer does not match. It rewrites `x + 1 > 7` to `x > 6`, and
#: `sum(x + 1)` to `sum(x) + count(x)`, which do not overflow where PostgreSQL's addition does.
_CHECKED: Final = {"+": "add", "-": "subtract", "*": "multiply"}


def infinite(text: str) -> str:
    return f"abs({text}) = {_INFINITY}"


def _overflow(result: str, *operands: str) -> str:
    finite = " AND ".join(f"{abs_} <> {_INFINITY}" for abs_ in (f"abs({o})" for o in operands))
    return f"WHEN {infinite(result)} AND {finite} THEN RAISE('22003', 'value out of range: overflow')"


def _underflow(result: str, condition: str) -> str:
    return f"WHEN {result} = 0 AND {condition} THEN RAISE('22003', 'value out of range: underflow')"


def _pairs() -> Iterator[tuple[t.PgType, t.PgType, t.PgType]]:
    """Yield (left, right, result) of the integers' operators: the result is the wider type."""
    for left in _INTS:
        for right in _INTS:
            yield left, right, _INTS[max(_INTS.index(left), _INTS.index(right))]


def _widen(left: t.PgType, right: t.PgType, result: t.PgType) -> tuple[str, str]:
    """Return operands cast to the result's type, so that the engine computes in it."""
    name = _NAMES[result]
    return (
        "$1" if left is result else f"CAST($1 AS {name})",
        "$2" if right is result else f"CAST($2 AS {name})",
    )


def _integer_rows() -> Iterator[Function]:
    for left, right, result in _pairs():
        a, b = _widen(left, right, result)
        for symbol, name in _CHECKED.items():
            # Spark computes SMALLINT * SMALLINT in SMALLINT, as DuckDB does: both overflow where PostgreSQL does.
            yield op(symbol, (left, right), result, local=f"{name}({a}, {b})", spark=f"{a} {symbol} {b}")
        yield op("/", (left, right), result, local=f"{a} // {b}", spark=_spark_division(a, b, result))
    for kind in _INTS:
        # INT_MIN % -1 is 0; DuckDB reports the overflow of the division as one of the remainder.
        local = "$1 % (CASE WHEN $2 = -1 THEN 1 ELSE $2 END)"
        yield op("%", (kind, kind), kind, local=local, spark="$1 % $2")
        yield fn("mod", (kind, kind), kind, local=local, spark="$1 % $2")


def _spark_division(a: str, b: str, result: t.PgType) -> str:
    return f"{a} DIV {b}" if result is t.INT8 else f"CAST({a} DIV {b} AS {_NAMES[result]})"


def _bit_rows() -> Iterator[Function]:
    for kind in _INTS:
        name = _NAMES[kind]
        width, shift = (64, 63) if kind is t.INT8 else (32, 31)
        if kind is t.INT2:
            width = 16
        yield op("&", (kind, kind), kind, "$1 & $2")
        yield op("|", (kind, kind), kind, "$1 | $2")
        yield op("#", (kind, kind), kind, local="xor($1, $2)", spark="$1 ^ $2")
        yield op("~", (kind,), kind, "~$1")
        half, mask = 2 ** (width - 1), 2**width - 1
        wide = f"CAST($1 AS HUGEINT) * (CAST(1 AS HUGEINT) << ($2 & {shift}))"
        wrapped = f"CAST((({wide}) + {half} & CAST({mask} AS HUGEINT)) - {half} AS {name})"
        short = "CAST(((shiftleft(CAST($1 AS BIGINT), $2 & 31) + 32768L) & 65535L) - 32768L AS SMALLINT)"
        spark_left = short if kind is t.INT2 else "shiftleft($1, $2)"
        yield op("<<", (kind, t.INT4), kind, local=wrapped, spark=spark_left)
        spark_right = "CAST(shiftright(CAST($1 AS INT), $2) AS SMALLINT)" if kind is t.INT2 else "shiftright($1, $2)"
        local_right = f"CAST(CAST($1 AS BIGINT) >> ($2 & {shift}) AS {name})"
        yield op(">>", (kind, t.INT4), kind, local=local_right, spark=spark_right)


def _float_rows() -> Iterator[Function]:
    for left, right in ((t.FLOAT4, t.FLOAT4), (t.FLOAT4, t.FLOAT8), (t.FLOAT8, t.FLOAT4), (t.FLOAT8, t.FLOAT8)):
        single = left is right is t.FLOAT4
        result = t.FLOAT4 if single else t.FLOAT8
        a = "$1" if single or left is t.FLOAT8 else "CAST($1 AS DOUBLE)"
        b = "$2" if single or right is t.FLOAT8 else "CAST($2 AS DOUBLE)"
        types = (left, right)
        for symbol in "+-":
            value = f"{a} {symbol} {b}"
            yield op(symbol, types, result, f"CASE {_overflow(value, a, b)} ELSE {value} END")
        value = f"{a} * {b}"
        yield op(
            "*",
            types,
            result,
            f"CASE {_overflow(value, a, b)} {_underflow(value, f'{a} <> 0 AND {b} <> 0')} ELSE {value} END",
        )
        zero = f"WHEN {b} = 0 AND {a} = {a} AND NOT isnan({a}) THEN RAISE('22012', 'division by zero')"
        local, spark = f"{a} / {b}", f"CAST({a} / {b} AS FLOAT)" if single else f"{a} / {b}"
        condition = f"{a} <> 0 AND abs({b}) <> {_INFINITY}"
        # Spark's own division by zero is an error too, but also for NaN / 0, which is NaN; dividing floats returns a
        # double.
        yield op(
            "/",
            types,
            result,
            local=f"CASE {zero} {_overflow(local, a)} {_underflow(local, condition)} ELSE {local} END",
            spark=f"CASE WHEN isnan({a}) THEN {a} {zero} {_overflow(spark, a)} {_underflow(spark, condition)} "
            f"ELSE {spark} END",
        )


def _division(engine: EngineName) -> Builder:
    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        types = (digits.as_numeric(call.args[0].type), digits.as_numeric(call.args[1].type))
        return divide(engine, args[0], args[1], types, call.type)

    return build


def _local_product(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build a product in DuckDB, which multiplies with 64 bits if both operands have up to 18 digits, although the
    product may have more.
    """
    wide = call.type.precision > _NARROW and all(arg.type.precision <= _NARROW for arg in call.args)
    first = f"CAST($1 AS DECIMAL({_NARROW + 1}, {call.args[0].type.scale}))" if wide else "$1"
    return place(parse("local", f"{first} * $2"), args)


def _local_remainder(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build a remainder in DuckDB with operands of one type; for decimals of two types DuckDB may compute with
    doubles.
    """
    kind = f"DECIMAL(38, {max(arg.type.scale for arg in call.args)})"
    return place(parse("local", f"CAST($1 AS {kind}) % CAST($2 AS {kind})"), args)


def _numeric_rows() -> Iterator[Function]:
    two = (t.NUMERIC, t.NUMERIC)
    for symbol in "+-":
        yield op(symbol, two, t.NUMERIC, f"$1 {symbol} $2", rule=digits.sum_of_two)
    yield op("*", two, t.NUMERIC, local=_local_product, spark="$1 * $2", rule=digits.product)
    yield op("/", two, t.NUMERIC, local=_division("local"), spark=_division("spark"), rule=digits.quotient)
    for row, name in ((op, "%"), (fn, "mod")):
        yield row(name, two, t.NUMERIC, local=_local_remainder, spark="$1 % $2", rule=digits.remainder)


def _sign_rows() -> Iterator[Function]:
    for kind in _INTS:
        yield op("-", (kind,), kind, local=f"subtract(CAST(0 AS {_NAMES[kind]}), $1)", spark="-$1")
        yield op("+", (kind,), kind, "$1")
    for kind in (t.FLOAT4, t.FLOAT8):
        yield op("-", (kind,), kind, "-$1")
        yield op("+", (kind,), kind, "$1")
    yield op("-", (t.NUMERIC,), t.NUMERIC, "-$1", rule=digits.same)
    yield op("+", (t.NUMERIC,), t.NUMERIC, "$1", rule=digits.same)


ROWS: Final[tuple[Function, ...]] = (
    *_integer_rows(),
    *_bit_rows(),
    *_float_rows(),
    *_numeric_rows(),
    *_sign_rows(),
)

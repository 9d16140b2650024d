"""Mathematical functions: chapter 9.3, without those that need more digits than the engines compute with.

The floats' functions are the C library's in PostgreSQL, and DuckDB's and Java's here: they agree to the last digit or
two. The errors that PostgreSQL raises (a logarithm of zero, a result that overflows or underflows) are checked here,
since the engines return an infinity, NaN or null. float8 rounds half to even, numeric half away from zero.

exp, ln, log, power and `^` of numerics are exactly rounded in PostgreSQL: `engine.sql.functions.exact_powers` computes
them for the local engine; in Spark they are not supported. `degrees` has the trigonometric functions in degrees.

Source: PostgreSQL 15, tables 9.5 to 9.7; float.c and numeric.c for errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import SqlType, numeric
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Call, Const, Expr, Function, TypeRule, ValueRule
from engine.sql.functions import digits
from engine.sql.functions.building import fn, op, parse, place
from engine.sql.functions.decimals import STRING, times, to_unscaled
from engine.sql.functions.exact_powers import Exact, exponential, logarithm, natural, power, round_value
from engine.sql.functions.roots import root_type, square_root
from engine.sql.functions.trees import both, constant_int, is_null
from wire.errors import FeatureNotSupported, SqlError
from wire.types import pg_types as t
from wire.types.carriers import NumericScale

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall

_INTS: Final = {t.INT2: "SMALLINT", t.INT4: "INTEGER", t.INT8: "BIGINT"}
_INFINITY: Final = "CAST('Infinity' AS DOUBLE)"
_OVERFLOW: Final = "RAISE('22003', 'value out of range: overflow')"
_UNDERFLOW: Final = "RAISE('22003', 'value out of range: underflow')"
_OUTSIDE: Final = "RAISE('22003', 'input is out of range')"
#: Doubles of this magnitude and above have no fraction.
_WHOLE: Final = "9007199254740992e0"


def _piece(engine: EngineName, text: str, *args: exp.Expression) -> exp.Expression:
    return place(parse(engine, text), args)


def _infinite(text: str) -> str:
    return f"abs({text}) = {_INFINITY}"


# --- rounding -----------------------------------------------------------------------------------------------------------


def _spark_rounded(function: str, zero: str) -> str:
    """Return ceil or floor of a double in Spark, whose own functions return integers. zero: a WHEN branch that returns
    a negative zero, or nothing.
    """
    whole = f"CAST({function}($1) AS DOUBLE)"
    return f"CASE WHEN abs($1) >= {_WHOLE} OR $1 = 0 THEN $1 {zero} ELSE {whole} END"


def _roundings() -> Iterator[Function]:
    minus_zero = "THEN CAST('-0' AS DOUBLE)"
    up = _spark_rounded("ceil", f"WHEN $1 < 0 AND $1 > -1 {minus_zero}")
    down = _spark_rounded("floor", "")
    for name in ("ceil", "ceiling"):
        yield fn(name, (t.FLOAT8,), t.FLOAT8, local="ceil($1)", spark=up)
        yield fn(name, (t.NUMERIC,), t.NUMERIC, "ceil($1)", rule=digits.whole)
    yield fn("floor", (t.FLOAT8,), t.FLOAT8, local="floor($1)", spark=down)
    yield fn("floor", (t.NUMERIC,), t.NUMERIC, "floor($1)", rule=digits.whole)
    yield fn("round", (t.FLOAT8,), t.FLOAT8, local="round_even($1, 0)", spark="rint($1)")
    yield fn("round", (t.NUMERIC,), t.NUMERIC, "round($1, 0)", rule=digits.whole)
    toward_zero = (
        f"CASE WHEN abs($1) >= {_WHOLE} OR $1 = 0 THEN $1 WHEN $1 < 0 AND $1 > -1 {minus_zero} "
        "WHEN $1 < 0 THEN CAST(ceil($1) AS DOUBLE) ELSE CAST(floor($1) AS DOUBLE) END"
    )
    yield fn("trunc", (t.FLOAT8,), t.FLOAT8, local="trunc($1)", spark=toward_zero)
    cut = "CASE WHEN $1 < 0 THEN ceil($1) ELSE floor($1) END"
    yield fn("trunc", (t.NUMERIC,), t.NUMERIC, local="trunc($1)", spark=cut, rule=digits.whole)
    for name, spark in (
        ("round", "round($1, $2)"),
        ("trunc", "CASE WHEN $1 < 0 THEN ceil($1, $2) ELSE floor($1, $2) END"),
    ):
        yield fn(
            name,
            (t.NUMERIC, t.INT4),
            t.NUMERIC,
            local=_to_digits("local", f"{name}($1, $2)"),
            spark=_to_digits("spark", spark),
            by_value=_digits_kept,
        )


def _digits_kept(args: Sequence[Expr]) -> SqlType:
    """Return the type of round(n, d) and trunc(n, d), which print d fractional digits."""
    a, wanted = args[0].type, args[1]
    integers = digits.integer_digits(a) + 1
    if isinstance(wanted, Const) and wanted.value is not None:
        scale = max(0, min(wanted.value, 38 - min(integers, 30)))
        return numeric(integers + scale, scale)
    return numeric(integers + a.scale, a.scale, NumericScale.TRIMMED)


def _to_digits(engine: EngineName, text: str) -> Builder:
    """Return a template of round or trunc to a number of digits. Both engines require a constant: in process, a
    computed number has a branch for each that makes a difference.
    """

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        wanted, given = constant_int(args[1]), call.args[0].type
        if is_null(args[1]):
            return exp.Null()
        if wanted is not None:
            kept = max(-38, min(wanted, given.scale))
            return place(parse(engine, text.replace("$2", str(kept))), args[:1])
        if engine == "spark":
            raise FeatureNotSupported(
                f"not supported: {call.function.name} to a number of digits that is not a constant"
            )
        least = -digits.integer_digits(given) - 1
        numbers = range(given.scale - 1, least, -1)
        stored = f"DECIMAL({call.type.precision}, {call.type.scale})"
        branches = " ".join(f"WHEN {n} THEN CAST({text.replace('$2', f'({n})')} AS {stored})" for n in numbers)
        rest = f"CASE WHEN $2 <= {least} THEN 0 ELSE $1 END"
        return place(parse(engine, f"CASE WHEN $2 IS NOT NULL THEN CASE $2 {branches} ELSE {rest} END END"), args)

    return build


# --- signs, roots, powers -------------------------------------------------------------------------------------------------


def _signs() -> Iterator[Function]:
    for kind in (*_INTS, t.FLOAT4, t.FLOAT8):
        yield fn("abs", (kind,), kind, "abs($1)")
        yield op("@", (kind,), kind, "abs($1)")
    yield fn("abs", (t.NUMERIC,), t.NUMERIC, "abs($1)", rule=digits.same)
    yield op("@", (t.NUMERIC,), t.NUMERIC, "abs($1)", rule=digits.same)
    sign = "CASE WHEN $1 > 0 AND NOT isnan($1) THEN 1e0 WHEN $1 < 0 THEN -1e0 WHEN $1 IS NOT NULL THEN 0e0 END"
    yield fn("sign", (t.FLOAT8,), t.FLOAT8, sign)
    yield fn("sign", (t.NUMERIC,), t.NUMERIC, "sign($1)", rule=lambda _args: numeric(1, 0))


def _numeric_root(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    return square_root(engine, args[0], call.args[0].type, call.type, "value")


def _roots() -> Iterator[Function]:
    root = "CASE WHEN $1 < 0 THEN RAISE('2201F', 'cannot take square root of a negative number') ELSE sqrt($1) END"
    # DuckDB computes cbrt as a power: one step of Newton's method makes the roots of cubes exact.
    step = "(cbrt($1) - (cbrt($1) * cbrt($1) * cbrt($1) - $1) / (3 * cbrt($1) * cbrt($1)))"
    extreme = f"$1 = 0 OR isnan($1) OR {_infinite('$1')}"
    cube = f"CASE WHEN {extreme} THEN $1 WHEN abs($1) < 1e-300 OR abs($1) > 1e300 THEN cbrt($1) ELSE {step} END"
    for row, name in ((fn, "sqrt"), (op, "|/")):
        yield row(name, (t.FLOAT8,), t.FLOAT8, root)
    yield fn("sqrt", (t.NUMERIC,), t.NUMERIC, rule=lambda args: root_type(args[0]), **both(_numeric_root))
    for row, name in ((fn, "cbrt"), (op, "||/")):
        yield row(name, (t.FLOAT8,), t.FLOAT8, local=cube, spark="cbrt($1)")


def _powers() -> Iterator[Function]:
    pair = (t.FLOAT8, t.FLOAT8)
    zero = "RAISE('2201F', 'zero raised to a negative power is undefined')"
    complex_ = "RAISE('2201F', 'a negative number raised to a non-integer power yields a complex result')"
    value = "power($1, $2)"
    text = (
        "CASE WHEN $1 IS NULL OR $2 IS NULL THEN NULL "
        "WHEN $2 = 0 OR $1 = 1 THEN 1e0 WHEN isnan($1) THEN $1 WHEN isnan($2) THEN $2 "
        f"WHEN $1 = 0 AND $2 < 0 THEN {zero} "
        f"WHEN $1 < 0 AND abs($2) <> {_INFINITY} AND floor($2) <> $2 THEN {complex_} "
        f"WHEN $1 = -1 AND {_infinite('$2')} THEN 1e0 "
        f"WHEN {_infinite(value)} AND abs($1) <> {_INFINITY} AND abs($2) <> {_INFINITY} THEN {_OVERFLOW} "
        f"WHEN {value} = 0 AND $1 <> 0 AND abs($1) <> {_INFINITY} AND abs($2) <> {_INFINITY} THEN {_UNDERFLOW} "
        f"ELSE {value} END"
    )
    for name in ("power", "pow"):
        yield fn(name, pair, t.FLOAT8, text)
    yield op("^", pair, t.FLOAT8, text)


def _logarithms() -> Iterator[Function]:
    exponential = (
        f"CASE WHEN {_infinite('exp($1)')} AND abs($1) <> {_INFINITY} THEN {_OVERFLOW} "
        f"WHEN exp($1) = 0 AND abs($1) <> {_INFINITY} THEN {_UNDERFLOW} ELSE exp($1) END"
    )
    yield fn("exp", (t.FLOAT8,), t.FLOAT8, exponential)
    for name, computed in (("ln", "ln"), ("log", "log10"), ("log10", "log10")):
        text = (
            "CASE WHEN $1 = 0 THEN RAISE('2201E', 'cannot take logarithm of zero') "
            "WHEN $1 < 0 THEN RAISE('2201E', 'cannot take logarithm of a negative number') "
            f"ELSE {computed}($1) END"
        )
        yield fn(name, (t.FLOAT8,), t.FLOAT8, text)


def _least(call: Call | AggregateCall) -> int:
    """Return the number of fractional digits that the arguments show, as far as types determine it."""
    return max(arg.type.scale if arg.type.display is NumericScale.FIXED else arg.type.minimum for arg in call.args)


def _quotients(call: Call | AggregateCall) -> int:
    """Return bits for the arguments whose shown digits depend on their values: 1 and 2 for the first and the second if
    it is a quotient or the like, 4 and 8 if it shows the digits that it has.
    """
    bits = 0
    for place_, arg in enumerate(call.args):
        if arg.type.display is not NumericScale.FIXED:
            bits |= (4 if arg.type.display is NumericScale.TRIMMED else 1) << place_
    return bits


def _exactly(function: str) -> Builder:
    """Return a template of a function of numerics that the local engine computes with exact decimals: see
    `engine.executors.local.powers`.
    """

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        given = ", ".join(f"CAST(${n} AS VARCHAR)" for n in range(1, len(args) + 1))
        text = f"{function}({given}, {_least(call)}, {_quotients(call)}, {call.type.scale})"
        return _piece("local", f"CAST({text} AS DECIMAL(38, {call.type.scale}))", *args)

    return build


def _by_value(scale: int) -> TypeRule:
    """Return the type rule of a result with at least that many fractional digits, more if the arguments show more; the
    number of printed digits depends on the value.
    """

    def rule(args: Sequence[SqlType]) -> SqlType:
        shown = max(a.scale if a.display is NumericScale.FIXED else a.minimum for a in args)
        return numeric(38, max(scale, min(shown, 30)), NumericScale.POWER, minimum=min(shown, 30))

    return rule


def _power_type(args: Sequence[SqlType]) -> SqlType:
    """Return the type of a power: an integer exponent gives sixteen fractional digits, or as many as the arguments
    show.
    """
    base, exponent = args
    if exponent.display is NumericScale.FIXED and exponent.scale == 0:
        return numeric(38, max(16, min(digits.shown_digits(base), 30)))
    return _by_value(24)(args)


def _constant_number(expr: Expr) -> Decimal | None:
    """Return the value of a literal, of its cast to numeric, or of its negation; None for other expressions."""
    if isinstance(expr, Const):
        exact = isinstance(expr.value, Decimal | int) and not isinstance(expr.value, bool)
        return Decimal(expr.value) if exact else None
    if isinstance(expr, Call) and len(expr.args) == 1 and expr.type.typmod == -1:
        value = _constant_number(expr.args[0])
        negates = expr.function.name == "-"
        return None if value is None or not (negates or expr.function.kind == "cast") else -value if negates else value
    return None


def _of_constants(compute: Callable[..., Exact], rule: TypeRule) -> ValueRule:
    """Return a rule by which a call with constants has the digits of its value, as far as 38 suffice: trailing zeros
    may be left out. `rule` determines those of other calls.
    """

    def by_value(args: Sequence[Expr]) -> SqlType:
        types = [arg.type for arg in args]
        values = [_constant_number(arg) for arg in args]
        if any(
            value is None or typ.display is not NumericScale.FIXED for value, typ in zip(values, types, strict=True)
        ):
            return rule(types)
        try:
            value, shown = compute(*values, max(typ.scale for typ in types))
            scale = max(0, min(shown, 38 - max(value.adjusted() + 1, 1))) if value else min(shown, 37)
            round_value(value, shown, scale)
        except SqlError:  # an error of the value, which is raised when it is computed
            return rule(types)
        return numeric(38, scale)

    return by_value


def _exact_functions() -> Iterator[Function]:
    one, two = (t.NUMERIC,), (t.NUMERIC, t.NUMERIC)
    rows: tuple[tuple[str, Sequence[t.PgType], Builder, Callable[..., Exact], TypeRule], ...] = (
        ("exp", one, _exactly("sluice_exp"), exponential, _by_value(24)),
        ("ln", one, _exactly("sluice_ln"), natural, _by_value(30)),
        ("log", two, _exactly("sluice_log"), logarithm, _by_value(30)),
        ("log", one, _common_logarithm, partial(logarithm, Decimal(10)), _by_value(30)),
        ("log10", one, _common_logarithm, partial(logarithm, Decimal(10)), _by_value(30)),
        ("power", two, _exactly("sluice_power"), power, _power_type),
        ("pow", two, _exactly("sluice_power"), power, _power_type),
    )
    for name, types, local, compute, rule in rows:
        yield fn(name, types, t.NUMERIC, local=local, by_value=_of_constants(compute, rule))
    by_value = _of_constants(power, _power_type)
    yield op("^", two, t.NUMERIC, local=_exactly("sluice_power"), by_value=by_value)


def _common_logarithm(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    text = f"sluice_log('10', CAST($1 AS VARCHAR), {_least(call)}, {_quotients(call) << 1}, {call.type.scale})"
    return _piece("local", f"CAST({text} AS DECIMAL(38, {call.type.scale}))", *args)


# --- trigonometry ---------------------------------------------------------------------------------------------------------


def _trigonometry() -> Iterator[Function]:
    yield fn("pi", (), t.FLOAT8, "pi()")
    # Computed as in float.c, by a division and a multiplication.
    yield fn("degrees", (t.FLOAT8,), t.FLOAT8, _finite("($1 / 0.017453292519943295e0)"))
    yield fn("radians", (t.FLOAT8,), t.FLOAT8, "$1 * 0.017453292519943295e0")
    for name in ("sin", "cos", "tan", "cot"):
        # cot(0) is an infinity in PostgreSQL, too.
        text = f"CASE WHEN {_infinite('$1')} THEN {_OUTSIDE} ELSE {name}($1) END"
        yield fn(name, (t.FLOAT8,), t.FLOAT8, text)
    for name in ("asin", "acos"):
        text = f"CASE WHEN abs($1) > 1 AND NOT isnan($1) THEN {_OUTSIDE} ELSE {name}($1) END"
        yield fn(name, (t.FLOAT8,), t.FLOAT8, text)
    for name in ("atan", "sinh", "cosh", "tanh"):
        yield fn(name, (t.FLOAT8,), t.FLOAT8, f"{name}($1)")
    # Spark's own function loses digits of negative numbers.
    odd = "CASE WHEN $1 < 0 THEN -asinh(-$1) ELSE asinh($1) END"
    yield fn("asinh", (t.FLOAT8,), t.FLOAT8, local="asinh($1)", spark=odd)
    yield fn("atan2", (t.FLOAT8, t.FLOAT8), t.FLOAT8, "atan2($1, $2)")
    yield fn("acosh", (t.FLOAT8,), t.FLOAT8, f"CASE WHEN $1 < 1 THEN {_OUTSIDE} ELSE acosh($1) END")
    bounded = f"CASE WHEN abs($1) > 1 AND NOT isnan($1) THEN {_OUTSIDE} WHEN abs($1) = 1 THEN $1 * {_INFINITY} ELSE atanh($1) END"
    yield fn("atanh", (t.FLOAT8,), t.FLOAT8, bounded)


def _finite(value: str) -> str:
    return f"CASE WHEN {_infinite(value)} AND abs($1) <> {_INFINITY} THEN {_OVERFLOW} ELSE {value} END"


# --- whole numbers --------------------------------------------------------------------------------------------------------

_EUCLID: Final = (
    "aggregate(sequence(1, 93), named_struct('a', CAST($1 AS DECIMAL(20, 0)), 'b', CAST($2 AS DECIMAL(20, 0))), "
    "(s__, i__) -> CASE WHEN s__.b = 0 THEN s__ ELSE named_struct('a', s__.b, 'b', CAST(s__.a % s__.b AS DECIMAL(20, 0))) END, "
    "s__ -> abs(s__.a))"
)


def _of_numerics(text: str) -> Builder:
    """Return a template of gcd or lcm of numerics: computed on whole numbers, both in units of the last digit of the
    finer one.
    """

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        scale = max(arg.type.scale for arg in call.args)
        whole = f"CAST(replace(CAST(CAST($1 AS DECIMAL(38, {scale})) AS VARCHAR), '.', '') AS HUGEINT)"
        answer = place(parse("local", text), [place(parse("local", whole), [arg]) for arg in args])
        unit = f"CAST('1e-{scale}' AS DECIMAL({scale + 1}, {scale}))"
        return place(parse("local", f"CAST($1 AS DECIMAL(38, 0)) * {unit}"), [answer])

    return build


def _divisors() -> Iterator[Function]:
    for kind, name in ((t.INT4, "INTEGER"), (t.INT8, "BIGINT")):
        pair = (kind, kind)
        either = "CASE WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN"
        yield fn(
            "gcd", pair, kind, local=f"CAST(gcd($1, $2) AS {name})", spark=f"{either} CAST({_EUCLID} AS {name}) END"
        )
        spark = (
            f"{either} CASE WHEN $1 = 0 OR $2 = 0 THEN CAST(0 AS {name}) "
            f"ELSE CAST(abs(CAST($1 AS DECIMAL(20, 0)) / {_EUCLID} * $2) AS {name}) END END"
        )
        yield fn("lcm", pair, kind, local=f"CAST(lcm($1, $2) AS {name})", spark=spark)
    two = (t.NUMERIC, t.NUMERIC)
    yield fn("gcd", two, t.NUMERIC, local=_of_numerics("gcd($1, $2)"), rule=digits.divisor)
    yield fn("lcm", two, t.NUMERIC, local=_of_numerics("lcm($1, $2)"), rule=digits.multiple)
    product = (
        "CASE WHEN $1 < 0 THEN RAISE('22003', 'factorial of a negative number is undefined') "
        "WHEN $1 > 33 THEN RAISE('22003', 'value overflows numeric format') "
    )
    yield fn(
        "factorial",
        (t.INT8,),
        t.NUMERIC,
        local=f"{product} ELSE factorial(CAST($1 AS INTEGER)) END",
        spark=f"{product} WHEN $1 IS NOT NULL THEN aggregate(sequence(CAST(1 AS BIGINT), greatest($1, 1)), "
        "CAST(1 AS DECIMAL(38, 0)), (p__, i__) -> CAST(p__ * i__ AS DECIMAL(38, 0))) END",
        rule=lambda _args: numeric(38, 0),
    )
    yield fn("div", (t.NUMERIC, t.NUMERIC), t.NUMERIC, rule=lambda _args: numeric(38, 0), **both(_whole_quotient))


def _align(engine: EngineName, types: Sequence[SqlType]) -> list[str]:
    """Return the texts of `$1`, `$2` ... as integers of one unit."""
    scale = max(typ.scale for typ in types)
    return [
        times(engine, to_unscaled(engine, f"${n}", typ.precision, typ.scale), scale - typ.scale)
        for n, typ in enumerate(types, 1)
    ]


def _whole_quotient(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    if engine == "spark":
        # Spark's integer division returns a BIGINT, so a multiple is divided as a decimal, whose quotient is exact.
        return _piece(engine, "CAST(($1 - $1 % $2) / $2 AS DECIMAL(38, 0))", *args)
    a, b = _align(engine, [arg.type for arg in call.args])
    return _piece(engine, f"({a}) // ({b})", *args)


# --- buckets --------------------------------------------------------------------------------------------------------------


def _bucket_checks(low: str, high: str, count: str) -> str:
    return (
        f"WHEN {count} <= 0 THEN RAISE('2201G', 'count must be greater than zero') "
        f"WHEN {low} = {high} THEN RAISE('2201G', 'lower bound cannot equal upper bound') "
    )


_OUTER: Final = (
    "WHEN $2 < $3 AND $1 < $2 THEN 0 WHEN $2 < $3 AND $1 >= $3 THEN $4 + 1 "
    "WHEN $2 > $3 AND $1 > $2 THEN 0 WHEN $2 > $3 AND $1 <= $3 THEN $4 + 1 "
)
_ANY_NULL: Final = "WHEN $1 IS NULL OR $2 IS NULL OR $3 IS NULL OR $4 IS NULL THEN NULL "


def _numeric_bucket(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    x, low, high = _align(engine, [arg.type for arg in call.args[:3]])
    sign = "//" if engine == "local" else "DIV"
    inside = f"CAST((({x}) - ({low})) * $4 {sign} (({high}) - ({low})) AS INTEGER) + 1"
    return _piece(engine, f"CASE {_ANY_NULL} {_bucket_checks('$2', '$3', '$4')} {_OUTER} ELSE {inside} END", *args)


def _buckets() -> Iterator[Function]:
    finite = (
        "WHEN isnan($1) OR isnan($2) OR isnan($3) THEN "
        "RAISE('2201G', 'operand, lower bound, and upper bound cannot be NaN') "
        f"WHEN {_infinite('$2')} OR {_infinite('$3')} THEN RAISE('2201G', 'lower and upper bounds must be finite') "
    )
    inside = "CAST(floor($4 * (($1 - $2) / ($3 - $2))) AS INTEGER) + 1"
    yield fn(
        "width_bucket",
        (t.FLOAT8, t.FLOAT8, t.FLOAT8, t.INT4),
        t.INT4,
        f"CASE {_ANY_NULL} WHEN $4 <= 0 THEN RAISE('2201G', 'count must be greater than zero') {finite} "
        f"{_bucket_checks('$2', '$3', '$4')} {_OUTER} ELSE {inside} END",
    )
    yield fn("width_bucket", (t.NUMERIC, t.NUMERIC, t.NUMERIC, t.INT4), t.INT4, **both(_numeric_bucket))


# --- greatest and least ---------------------------------------------------------------------------------------------------


def _sorts_in_arrays(element: t.PgType) -> bool:
    """Return whether DuckDB orders arrays of these as PostgreSQL does."""
    return element.category in "NSDB" and element.carried is None and element not in (t.BPCHAR, t.TIMETZ)


def _extreme(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build GREATEST and LEAST, which ignore nulls. Types that an engine orders differently are refused."""
    kind = call.args[0].type.pg
    if (
        kind in (t.TIMETZ, t.JSONB, t.TSVECTOR, t.TSQUERY)
        or kind.category == "R"
        or (kind.is_array and (engine == "spark" or not _sorts_in_arrays(t.element_of(kind))))
        or (engine == "spark" and kind is t.INTERVAL)
    ):
        raise FeatureNotSupported(f"not supported: {call.function.name} of {call.args[0].type}")
    if len(args) == 1:
        return args[0]
    if kind is t.INTERVAL:
        # DuckDB's own functions compare months before days, and days before hours: to them, 25 hours are less than a
        # day.
        sign = ">=" if call.function.name == "greatest" else "<="
        listed = ", ".join(f"${number}" for number in range(1, len(args) + 1))
        better = f"lambda x__, y__: CASE WHEN x__ {sign} y__ OR y__ IS NULL THEN x__ ELSE y__ END"
        return place(parse(engine, f"list_reduce([{listed}], {better})"), args)
    return exp.Anonymous(this=call.function.name, expressions=[arg.copy() for arg in args])


def _extremes() -> Iterator[Function]:
    for name in ("greatest", "least"):
        yield fn(
            name,
            (t.ANYCOMPATIBLE,),
            t.ANYCOMPATIBLE,
            local=_plain("local"),
            spark=_plain("spark"),
            variadic=True,
            strict=False,
            rule=digits.common,
        )


def _plain(engine: EngineName) -> Builder:
    return lambda args, call: _extreme(engine, args, call)


# --- a numeric's own digits, chance ---------------------------------------------------------------------------------------


def _scale(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    typ = call.args[0].type
    if typ.display is not NumericScale.FIXED:
        raise FeatureNotSupported("not supported: scale of a numeric whose digits depend on its value")
    return _piece(engine, f"CASE WHEN $1 IS NOT NULL THEN {typ.scale} END", *args)


def _least_scale(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    if call.args[0].type.scale == 0:
        return _piece(engine, "CASE WHEN $1 IS NOT NULL THEN 0 END", *args)
    text = f"CAST($1 AS {STRING[engine]})"
    find = "strpos" if engine == "local" else "instr"
    kept = f"length(regexp_replace({text}, '[.]?0*$', ''))"
    found = f"CAST(greatest({kept} - {find}({text}, '.'), 0) AS INTEGER)"
    return _piece(engine, f"CASE WHEN $1 IS NOT NULL THEN {found} END", *args)


def _digits_of_values() -> Iterator[Function]:
    yield fn("scale", (t.NUMERIC,), t.INT4, **both(_scale))
    yield fn("min_scale", (t.NUMERIC,), t.INT4, **both(_least_scale))
    yield fn(
        "trim_scale",
        (t.NUMERIC,),
        t.NUMERIC,
        "$1",
        rule=lambda args: numeric(args[0].precision, args[0].scale, NumericScale.TRIMMED),
    )


def _chance() -> Iterator[Function]:
    yield fn("random", (), t.FLOAT8, local="random()", spark="rand()", volatility="volatile")


ROWS: Final[tuple[Function, ...]] = (
    *_roundings(),
    *_signs(),
    *_roots(),
    *_powers(),
    *_logarithms(),
    *_exact_functions(),
    *_trigonometry(),
    *_divisors(),
    *_buckets(),
    *_extremes(),
    *_digits_of_values(),
    *_chance(),
)

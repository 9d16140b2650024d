"""Aggregate functions: chapter 9.21, without JSON's.

Where an engine's sum has another type than PostgreSQL's, the argument or the sum is cast. Averages and variances of
integers and numerics are exact sums, divided as PostgreSQL divides (`division`). An aggregate call may stand anywhere
in a template: the compiler puts DISTINCT, FILTER and OVER on it.

Source: PostgreSQL 15, tables 9.59 to 9.61; numeric.c (numeric_stddev_internal) for the variances' digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import SqlType, numeric, of
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import AggregateCall, Builder, Const, Function, ParamRef
from engine.sql.functions import digits, intervals
from engine.sql.functions.building import Templates, agg, ordered_set, parse, place
from engine.sql.functions.byte_strings import byte_text, text_bytes
from engine.sql.functions.comparison_keys import sorts_as_stored
from engine.sql.functions.decimals import WIDE, from_unscaled, to_unscaled
from engine.sql.functions.deviations import REGRESSIONS, float_regression, float_variance, plain_regression
from engine.sql.functions.dimensions import accumulate_arrays
from engine.sql.functions.division import divide
from engine.sql.functions.moments import fields, in_carrier, interval
from engine.sql.functions.roots import square_root
from engine.sql.functions.trees import EngineBuilder, bound, is_null, pack, sql
from engine.sql.trees.literals import literal
from wire.errors import FeatureNotSupported, NumericValueOutOfRange
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import Call

_INTS: Final = (t.INT2, t.INT4, t.INT8)
_EXACT: Final = (*_INTS, t.NUMERIC)
COUNT_TYPE: Final = numeric(19, 0)


def _piece(engine: EngineName, text: str, *args: exp.Expression) -> exp.Expression:
    return place(parse(engine, text), args)


def both(build: EngineBuilder) -> Templates:
    """Return the templates of a row that one builder serves. An aggregate's argument is not bound with `let`, however
    often it occurs: it has one value per row and cannot be computed outside the aggregate call.
    """
    return {
        "local": lambda args, call: build("local", args, call),
        "spark": lambda args, call: build("spark", args, call),
    }


# --- count, sum, avg --------------------------------------------------------------------------------------------------


def _counts() -> Iterator[Function]:
    yield agg("count", (), t.INT8, "count(*)")
    yield agg("count", (t.ANY,), t.INT8, "count($1)")


def _interval_sum(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    if _is_distinct(call):
        raise FeatureNotSupported(f"not supported: {call.function.name} of distinct intervals")
    parts = fields(engine, args[0])
    sums = (sql(engine, "sum($1)", part) for part in (parts.months, parts.days, parts.micros))
    made = in_carrier(engine, interval(engine, *sums))
    return sql(engine, "CASE WHEN count($2) > 0 THEN $1 END", made, args[0])


def _interval_average(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    division = next(row for row in intervals.ROWS if row.name == "/" and row.args == (t.INTERVAL, t.FLOAT8))
    template = division.local if engine == "local" else division.spark
    assert callable(template)
    count = sql(engine, "CAST(nullif(count($1), 0) AS DOUBLE)", args[0])
    return template([_interval_sum(engine, args, call), count], call)


def in_range(total: str) -> Templates:
    """Return the templates of a total of floats that raises an overflow if the total is infinite and no value is
    (float.c, float8_accum).
    """
    infinity = "CAST('Infinity' AS DOUBLE)"
    overflow = f"abs({total}) = {infinity} AND max(abs(CAST($1 AS DOUBLE))) < {infinity}"
    text = f"CASE WHEN {overflow} THEN RAISE('22003', 'value out of range: overflow') ELSE {total} END"
    return both(lambda engine, args, _call: _piece(engine, text, args[0]))


def _sums() -> Iterator[Function]:
    for kind in (t.INT2, t.INT4):
        yield agg("sum", (kind,), t.INT8, local="CAST(sum($1) AS BIGINT)", spark="sum($1)")
    yield agg("sum", (t.INT8,), t.NUMERIC, local="sum($1)", spark="sum(CAST($1 AS DECIMAL(20, 0)))", rule=digits.total)
    yield agg("sum", (t.NUMERIC,), t.NUMERIC, "sum($1)", rule=digits.total)
    yield agg("sum", (t.FLOAT4,), t.FLOAT4, **in_range("CAST(sum($1) AS FLOAT)"))
    yield agg("sum", (t.FLOAT8,), t.FLOAT8, **in_range("sum($1)"))
    yield agg("sum", (t.INTERVAL,), t.INTERVAL, **both(_interval_sum))


def exact_sum(engine: EngineName, arg: exp.Expression, typ: SqlType) -> tuple[exp.Expression, SqlType]:
    """Return the sum of an integer or numeric argument, as a decimal of 38 digits, and its type."""
    if typ.pg is t.NUMERIC:
        return _piece(engine, "sum($1)", arg), numeric(38, typ.scale, typ.display, minimum=typ.minimum)
    if engine == "local":
        return _piece(engine, "CAST(sum($1) AS DECIMAL(38, 0))", arg), numeric(38, 0)
    text = "sum(CAST($1 AS DECIMAL(20, 0)))" if typ.pg is t.INT8 else "CAST(sum($1) AS DECIMAL(20, 0))"
    return _piece(engine, text, arg), numeric(38, 0)


def _average(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    total, typ = exact_sum(engine, args[0], call.args[0].type)
    return divide(engine, total, _piece(engine, "count($1)", args[0]), (typ, COUNT_TYPE), call.type)


def _averages() -> Iterator[Function]:
    for kind in _EXACT:
        yield agg("avg", (kind,), t.NUMERIC, rule=digits.average, **both(_average))
    for kind in (t.FLOAT4, t.FLOAT8):
        yield agg("avg", (kind,), t.FLOAT8, **in_range("avg(CAST($1 AS DOUBLE))"))
    yield agg("avg", (t.INTERVAL,), t.INTERVAL, **both(_interval_average))


# --- min, max ---------------------------------------------------------------------------------------------------------

_ORDERED: Final = (
    *_EXACT, t.FLOAT4, t.FLOAT8, t.TEXT, t.BPCHAR, t.DATE, t.TIME, t.TIMESTAMP, t.TIMESTAMPTZ, t.OID,
)  # fmt: skip
_INSTANT: Final = "$1.micros + CAST($1.zone AS BIGINT) * 1000000, $1.zone"
_SPAN: Final = "(CAST($1.months AS DECIMAL(38, 0)) * 30 + $1.days) * 86400000000 + $1.micros"


def _extremes() -> Iterator[Function]:
    for name in ("min", "max"):
        for kind in _ORDERED:
            yield agg(name, (kind,), kind, f"{name}($1)", rule=digits.same)
        by = f"{name}_by"
        # The key is null if the value is, because a struct of nulls would count as a value.
        instant = f"{by}($1, CASE WHEN $1 IS NOT NULL THEN {{}}({_INSTANT}) END)"
        local, spark = (_fields_of(instant.format(maker)) for maker in ("row", "struct"))
        yield agg(name, (t.TIMETZ,), t.TIMETZ, local=local, spark=spark)
        yield agg(name, (t.INTERVAL,), t.INTERVAL, local=f"{name}($1)", spark=_fields_of(f"{by}($1, {_SPAN})"))
        # Spark orders null elements first, PostgreSQL and DuckDB last.
        yield agg(name, (t.ANYARRAY,), t.ANYARRAY, local=_extreme_array(name), rule=digits.same)


def _extreme_array(name: str) -> Builder:
    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        _check_sorts("local", name, call.args[0].type)
        return _piece("local", f"{name}($1)", *args)

    return build


def _fields_of(text: str) -> str:
    """Write `$1.field` as a field of the argument rather than a column of a table."""
    return text.replace("$1.", "($1).")


# --- booleans, bits, lists ----------------------------------------------------------------------------------------------


def _folds() -> Iterator[Function]:
    for name, engine_name in (("bool_and", "bool_and"), ("bool_or", "bool_or"), ("every", "bool_and")):
        yield agg(name, (t.BOOL,), t.BOOL, f"{engine_name}($1)")
    for name in ("bit_and", "bit_or", "bit_xor"):
        for kind in _INTS:
            yield agg(name, (kind,), kind, f"{name}($1)")


_LIST: Final[dict[EngineName, str]] = {"local": "array_agg", "spark": "collect_list"}
_SORT: Final[dict[EngineName, str]] = {"local": "list_sort", "spark": "array_sort"}


def _sorts(call: Call | AggregateCall) -> bool:
    """Return whether PostgreSQL sorts the values without an ORDER BY, because it finds distinct values by sorting."""
    return isinstance(call, AggregateCall) and call.distinct and not call.order_by


def _string_agg(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build string_agg. Both engines take one delimiter per call, PostgreSQL one per row."""
    if not isinstance(call.args[1], Const | ParamRef):
        raise FeatureNotSupported("not supported: string_agg with a delimiter that is not a constant")
    if engine == "local" and not _is_distinct(call):
        return _piece(engine, "string_agg($1, coalesce($2, ''))", *args)
    listed = f"{_SORT[engine]}({_LIST[engine]}($1))" if _sorts(call) else f"{_LIST[engine]}($1)"
    join = "array_to_string" if engine == "local" else "array_join"
    return _piece(engine, f"CASE WHEN count($1) > 0 THEN {join}({listed}, coalesce($2, '')) END", *args)


def _joined_bytes(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build string_agg of byte strings by way of texts with one character per byte."""
    return text_bytes(engine, _string_agg(engine, [byte_text(engine, arg) for arg in args], call))


def _lists() -> Iterator[Function]:
    yield agg("string_agg", (t.TEXT, t.TEXT), t.TEXT, **both(_string_agg))
    yield agg("string_agg", (t.BYTEA, t.BYTEA), t.BYTEA, **both(_joined_bytes))
    yield agg("array_agg", (t.ANYNONARRAY,), t.ANYARRAY, rule=_array_of, **both(array_agg))
    yield agg("array_agg", (t.ANYARRAY,), t.ANYARRAY, rule=_array_of, **both(_listed_arrays))


def array_agg(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build array_agg. Spark's lists leave nulls out, unless they are inside a struct."""
    if engine == "local":
        text = "list_sort(array_agg($1), 'ASC', 'NULLS LAST')" if _sorts(call) else "array_agg($1)"
        return _piece(engine, text, *args)
    values = "transform(collect_list(named_struct('v', $1)), s__ -> s__.v)"
    values = f"array_sort({values})" if _sorts(call) else values
    return _piece(engine, f"CASE WHEN count(1) > 0 THEN {values} END", *args)


def _listed_arrays(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build array_agg of arrays, whose result has one more dimension."""
    return accumulate_arrays(engine, array_agg(engine, args, call), call.type.dimensions)


def _array_of(args: Sequence[SqlType]) -> SqlType:
    element = args[0]
    return SqlType(
        t.array_of(element.pg), -1, element.precision, element.scale, element.display, element.minimum, element.fields
    )


def _array_of_last(args: Sequence[SqlType]) -> SqlType:
    return _array_of(args[-1:])


# --- statistics ---------------------------------------------------------------------------------------------------------

#: By name: the engines' own function for floats, and whether it is that of a sample.
VARIANCES: Final = {
    "var_pop": ("var_pop", False),
    "var_samp": ("var_samp", True),
    "variance": ("var_samp", True),
    "stddev_pop": ("stddev_pop", False),
    "stddev_samp": ("stddev_samp", True),
    "stddev": ("stddev_samp", True),
}


def _variance(*, sample: bool, root: bool) -> EngineBuilder:
    """Return the builder of a variance, or of its root, of exact numbers."""

    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        given = call.args[0].type
        total, _ = exact_sum(engine, args[0], given)
        count = _piece(engine, "count($1)", args[0])
        if engine == "spark":
            return _spread_in_spark(args[0], total, count, call, sample=sample, root=root)
        products = [_sum_of(engine, product, args[0], call) for product in products_of_squares(engine, given)]
        return variance_from_sums((*products, total, count), (given, call.type), sample=sample, root=root)

    return build


def products_of_squares(engine: EngineName, given: SqlType) -> tuple[str, ...]:
    """Return the terms of `$1`'s square, each a whole number: the square of the nearest whole number, the product of
    that number and the fraction, and the square of the fraction. A square has twice the digits, and the sum of such
    squares would not fit 38 digits even for small numbers of a numeric without a scale. For a type without a fraction,
    the first term is the only one.
    """
    scale = digits.as_numeric(given).scale
    if scale == 0:
        return (_square("$1", given),)
    whole = "CAST($1 AS DECIMAL(38, 0))"
    rest = f"CAST($1 - {whole} AS DECIMAL({scale + 1}, {scale}))"
    whole, fraction = f"CAST({whole} AS {WIDE[engine]})", to_unscaled(engine, rest, scale + 1, scale)
    return f"{whole} * {whole}", f"{whole} * {fraction}", f"{fraction} * {fraction}"


def _sum_of(engine: EngineName, text: str, arg: exp.Expression, call: Call | AggregateCall) -> exp.Expression:
    """Return the sum of an expression of `$1`. With DISTINCT, values are made distinct and not results: 2 and -2 have
    the same square.
    """
    if not _is_distinct(call):
        return _piece(engine, f"sum({text})", arg)
    each = text.replace("$1", "v__")
    return _piece(engine, f"list_sum(list_transform(array_agg($1), lambda v__: {each}))", arg)


def _square(value: str, given: SqlType) -> str:
    typ = digits.as_numeric(given)
    return f"CAST({value} AS DECIMAL(38, {typ.scale})) * CAST({value} AS DECIMAL({typ.precision}, {typ.scale}))"


def _is_distinct(call: Call | AggregateCall) -> bool:
    return isinstance(call, AggregateCall) and call.distinct


def variance_from_sums(
    parts: Sequence[exp.Expression], types: tuple[SqlType, SqlType], *, sample: bool, root: bool
) -> exp.Expression:
    """Build (n * sum(x^2) - sum(x)^2) / (n * (n - 1) or n * n), or its root, in the local engine.

    parts: the sums of `products_of_squares`, the sum, and the number of values. types: the argument's and the result's.
    """
    *products, total, count = parts
    given, result = types
    scale = digits.as_numeric(given).scale
    products += [_piece("local", "0")] * (3 - len(products))
    texts = ", ".join(f"CAST(${n} AS VARCHAR)" for n in range(1, 5))
    numerator = _piece("local", f"sluice_spread({texts}, CAST($5 AS BIGINT), {scale})", *products, total, count)
    squared = digits.variance((given,))
    denominator = _denominator("local", count, sample=sample)
    quotient = divide("local", numerator, denominator, (numeric(38, 2 * scale), numeric(38, 0)), squared)
    return square_root("local", quotient, squared, result, "variance") if root else quotient


#: A product is summed as a high and a low part: its 38 digits leave no room for the sum of many.
_HALF_DIGITS: Final = 19


def sums_for_variance(arg: exp.Expression, given: SqlType) -> list[tuple[exp.Expression, SqlType]]:
    """Return the parts that `variance_from_halves` takes, as Spark's aggregates with their types: two sums for each
    term of the square, the sum of the values, and their number.
    """
    scale = digits.as_numeric(given).scale
    whole = f"CAST({'floor($1)' if scale else '$1'} AS {WIDE['spark']})"
    products = [f"{whole} * {whole}"]
    if scale:
        rest = f"CAST(pmod($1, CAST(1 AS DECIMAL(1, 0))) AS DECIMAL({scale + 1}, {scale}))"
        fraction = to_unscaled("spark", rest, scale + 1, scale)
        products += [f"{whole} * {fraction}", f"{fraction} * {fraction}"]
    half = f"CAST('1{'0' * _HALF_DIGITS}' AS DECIMAL({_HALF_DIGITS + 1}, 0))"
    parts = []
    for product in products:
        low = f"({product}) % {half}"
        parts += [f"CAST(({product} - {low}) / {half} AS DECIMAL({_HALF_DIGITS}, 0))", low]
    sums = [_piece("spark", f"CAST(sum({part}) AS DECIMAL(38, 0))", arg) for part in parts]
    total, typ = exact_sum("spark", arg, given)
    total = _piece("spark", f"CAST($1 AS DECIMAL(38, {typ.scale}))", total)
    count = _piece("spark", "count($1)", arg)
    return [*((part, numeric(38, 0)) for part in sums), (total, numeric(38, typ.scale)), (count, of(t.INT8))]


def variance_from_halves(
    parts: Sequence[exp.Expression], types: tuple[SqlType, SqlType], *, sample: bool, root: bool
) -> exp.Expression:
    """Build `variance_from_sums` from the parts of `sums_for_variance`."""
    *halves, total, count = parts
    pairs = zip(halves[::2], halves[1::2], strict=True)
    joined = f"sluice_joined(CAST($1 AS VARCHAR), CAST($2 AS VARCHAR), {_HALF_DIGITS})"
    products = [_piece("local", joined, high, low) for high, low in pairs]
    return variance_from_sums((*products, total, count), types, sample=sample, root=root)


def _denominator(engine: EngineName, count: exp.Expression, *, sample: bool) -> exp.Expression:
    """Build the denominator, which is null where the variance is null: for no rows, or for one row of a sample."""
    n = f"CAST($1 AS {WIDE[engine]})"
    return _piece(engine, f"nullif({n} * {f'({n} - 1)' if sample else n}, 0)", count)


def _spread_in_spark(
    arg: exp.Expression,
    total: exp.Expression,
    count: exp.Expression,
    call: Call | AggregateCall,
    *,
    sample: bool,
    root: bool,
) -> exp.Expression:
    """Build `variance_from_sums` in the 38 digits that Spark has for the sums and their products."""
    if _is_distinct(call):
        raise FeatureNotSupported("not supported: a variance of distinct values")
    given = call.args[0].type
    scale = digits.as_numeric(given).scale
    sum_of_squares = _piece("spark", f"sum({_square('$1', given)})", arg)
    squares = to_unscaled("spark", "$1", 38, 2 * scale)
    wide_total = to_unscaled("spark", "$2", 38, scale)
    difference = f"greatest(CAST($3 AS {WIDE['spark']}) * {squares} - {wide_total} * {wide_total}, 0)"
    numerator = _piece("spark", from_unscaled("spark", difference, 2 * scale), sum_of_squares, total, count)
    squared = digits.variance((given,))
    denominator = _denominator("spark", count, sample=sample)
    quotient = divide("spark", numerator, denominator, (numeric(38, 2 * scale), numeric(38, 0)), squared)
    return square_root("spark", quotient, squared, call.type, "variance") if root else quotient


def _variances() -> Iterator[Function]:
    for name, (engine_name, sample) in VARIANCES.items():
        root = name.startswith("stddev")
        rule = digits.deviation if root else digits.variance
        for kind in _EXACT:
            yield agg(name, (kind,), t.NUMERIC, rule=rule, **both(_variance(sample=sample, root=root)))
        for kind in (t.FLOAT4, t.FLOAT8):
            yield agg(name, (kind,), t.FLOAT8, **both(float_variance(engine_name, sample=sample, root=root)))


def _regressions() -> Iterator[Function]:
    pair = (t.FLOAT8, t.FLOAT8)
    yield agg("regr_count", pair, t.INT8, local="CAST(regr_count($1, $2) AS BIGINT)", spark="regr_count($1, $2)")
    for name in ("regr_avgx", "regr_avgy"):
        yield agg(name, pair, t.FLOAT8, **both(plain_regression(name)))
    for name in REGRESSIONS:
        yield agg(name, pair, t.FLOAT8, **both(float_regression(name)))


def _check_fraction(call: Call | AggregateCall) -> None:
    """Raises NumericValueOutOfRange for a fraction outside 0 to 1, FeatureNotSupported for one that is not constant."""
    fraction = call.args[0]
    if not isinstance(fraction, Const):
        raise FeatureNotSupported(f"not supported: {call.function.name} of a fraction that is not a constant")
    given = fraction.value if isinstance(fraction.value, list) else [fraction.value]
    if any(isinstance(value, list) for value in given):
        raise FeatureNotSupported(f"not supported: {call.function.name} of fractions in several dimensions")
    for value in given:
        if value is not None and not 0 <= value <= 1:
            raise NumericValueOutOfRange(f"percentile value {value:g} is not between 0 and 1")


def _several(single: EngineBuilder) -> EngineBuilder:
    """Return the builder of a percentile for each of several fractions, as an array; null without rows."""

    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        _check_fraction(call)
        fractions = call.args[0]
        assert isinstance(call, AggregateCall)
        assert isinstance(fractions, Const)
        if fractions.value is None:
            return _piece(engine, "CASE WHEN count($1) < 0 THEN $2 END", args[1], literal(None, call.type, engine))
        each = [_of_one(engine, single, value, args[1], call) for value in fractions.value]
        listed = ", ".join(f"${n}" for n in range(2, len(each) + 2))
        made = f"[{listed}]" if engine == "local" else f"array({listed})"
        return _piece(engine, f"CASE WHEN count($1) > 0 THEN {made} END", args[1], *each)

    return build


def _of_one(
    engine: EngineName, single: EngineBuilder, fraction: float | None, value: exp.Expression, call: AggregateCall
) -> exp.Expression:
    typ = SqlType(t.FLOAT8)
    tree = literal(fraction, typ, engine)
    return single(engine, [tree, value], replace(call, args=(Const(typ, fraction),)))


def _null_fraction(engine: EngineName, value: exp.Expression) -> exp.Expression:
    return _piece(engine, "CASE WHEN count($1) < 0 THEN max($1) END", value)


def _sorted_values(
    engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall
) -> dict[str, exp.Expression]:
    """Build the parts of a percentile that no aggregate of the engine computes: the sorted values (`listed`), the number
    of those that are not null (`counted`), and the fraction, which is the same for all rows of a group.
    """
    assert isinstance(call, AggregateCall)
    direction = "DESC" if call.order_by[0].descending else "ASC"
    wrong = "RAISE('22003', 'percentile value ' || CAST($1 AS VARCHAR) || ' is not between 0 and 1')"
    return {
        "listed": _piece(engine, f"list_sort(array_agg($1), '{direction}', 'NULLS LAST')", args[1]),
        "counted": _piece(engine, "count($1)", args[1]),
        # The test of $2 gives the aggregate a column of its own query where the fraction is an outer column.
        "fraction": _piece(
            engine, f"max(CASE WHEN $1 < 0 OR $1 > 1 THEN {wrong} WHEN $2 IS NULL THEN $1 ELSE $1 END)", *args
        ),
    }


def _is_computed(engine: EngineName, call: Call | AggregateCall) -> bool:
    """Return whether the local engine computes the fraction: its own percentiles take constants only."""
    return engine == "local" and not isinstance(call.args[0], Const)


def _continuous(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    if _is_computed(engine, call):
        at = "(($1).fraction * (($1).counted - 1))"
        low, high = (f"list_extract(($1).listed, CAST({end}({at}) AS BIGINT) + 1)" for end in ("floor", "ceil"))
        share = f"({at} - floor({at}))"
        text = f"CASE WHEN {share} = 0 THEN {low} ELSE {low} + {share} * ({high} - {low}) END"
        values = pack(engine, _sorted_values(engine, args, call))
        return bound(engine, "values__", values, lambda found: sql(engine, text, found))
    _check_fraction(call)
    if is_null(args[0]):
        return _null_fraction(engine, args[1])
    return _piece(engine, "percentile_cont($1) WITHIN GROUP (ORDER BY $2)", *args)


def _continuous_interval(
    engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall
) -> exp.Expression:
    """Build percentile_cont of intervals from a sorted list, because DuckDB's own computes in microseconds."""
    _check_fraction(call)
    assert isinstance(call, AggregateCall)
    if engine == "spark":
        raise FeatureNotSupported("not supported: percentile_cont of interval")
    if is_null(args[0]):
        return _null_fraction(engine, args[1])
    direction = "DESC" if call.order_by[0].descending else "ASC"
    found = {
        "listed": sql(engine, f"list_sort(array_agg($1), '{direction}', 'NULLS LAST')", args[1]),
        "at": sql(engine, "(CAST($1 AS DOUBLE) * (count($2) - 1))", *args),
    }

    def interpolate(places: exp.Expression) -> exp.Expression:
        low, high = (
            sql(engine, f"list_extract(($1).listed, CAST({end}(($1).at) AS BIGINT) + 1)", places)
            for end in ("floor", "ceil")
        )
        share = sql(engine, "(($1).at - floor(($1).at))", places)
        return bound(
            engine,
            "ends__",
            pack(engine, {"low": low, "high": high, "share": share}),
            lambda ends: _between(engine, ends),
        )

    return bound(engine, "places__", pack(engine, found), interpolate)


def _between(engine: EngineName, ends: exp.Expression) -> exp.Expression:
    low, high, share = (sql(engine, f"($1).{name}", ends) for name in ("low", "high", "share"))
    return sql(engine, "CASE WHEN $2 = 0 THEN $1 ELSE $3 END", low, share, intervals.between(engine, low, high, share))


def _discrete(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build percentile_disc. Spark's own takes only numbers and returns doubles, so a sorted list is used there."""
    assert isinstance(call, AggregateCall)
    (item,) = call.order_by
    _check_sorts(engine, "percentile_disc", item.expr.type)
    if _is_computed(engine, call):
        text = "list_extract(($1).listed, CAST(greatest(ceil(($1).fraction * ($1).counted), 1) AS BIGINT))"
        values = pack(engine, _sorted_values(engine, args, call))
        return bound(
            engine,
            "values__",
            values,
            lambda found: sql(engine, f"CASE WHEN ($1).fraction IS NOT NULL THEN {text} END", found),
        )
    _check_fraction(call)
    if is_null(args[0]):
        return _null_fraction(engine, args[1])
    if engine == "local":
        return _piece(engine, "percentile_disc($1) WITHIN GROUP (ORDER BY $2)", *args)
    place_of = f"{'-' if item.descending else ''}CAST(greatest(ceil($1 * count($2)), 1) AS INT)"
    text = f"CASE WHEN count($2) > 0 THEN element_at(array_sort(collect_list($2)), {place_of}) END"
    return _piece(engine, text, *args)


def _check_sorts(engine: EngineName, name: str, typ: SqlType) -> None:
    """Refuse a type that an engine's aggregate would sort in another order than PostgreSQL's."""
    if not sorts_as_stored(typ, engine):
        raise FeatureNotSupported(f"not supported: {name} of {typ}")


def _mode(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build mode. The engines distinguish values by their bytes; of equally frequent values, the mode is the first in
    their order.
    """
    assert isinstance(call, AggregateCall)
    typ = call.order_by[0].expr.type
    _check_sorts(engine, "mode", typ)
    # Of a positive and a negative zero, the positive one is returned.
    zero = {t.FLOAT4: "$1 + CAST(0 AS FLOAT)", t.FLOAT8: "$1 + CAST(0 AS DOUBLE)"}.get(typ.pg, "$1")
    return _piece(engine, f"mode() WITHIN GROUP (ORDER BY {zero})", *args)


def _ordered_sets() -> Iterator[Function]:
    yield ordered_set("percentile_cont", (t.FLOAT8, t.FLOAT8), t.FLOAT8, **both(_continuous))
    yield ordered_set("percentile_disc", (t.FLOAT8, t.ANYELEMENT), t.ANYELEMENT, rule=digits.last, **both(_discrete))
    yield ordered_set("percentile_cont", (t.FLOAT8, t.INTERVAL), t.INTERVAL, **both(_continuous_interval))
    floats = t.array_of(t.FLOAT8)
    yield ordered_set("percentile_cont", (floats, t.FLOAT8), floats, **both(_several(_continuous)))
    spans = t.array_of(t.INTERVAL)
    yield ordered_set("percentile_cont", (floats, t.INTERVAL), spans, **both(_several(_continuous_interval)))
    yield ordered_set(
        "percentile_disc", (floats, t.ANYELEMENT), t.ANYARRAY, rule=_array_of_last, **both(_several(_discrete))
    )
    yield ordered_set("mode", (t.ANYELEMENT,), t.ANYELEMENT, rule=digits.same, **both(_mode))


ROWS: Final[tuple[Function, ...]] = (
    *_counts(),
    *_sums(),
    *_averages(),
    *_extremes(),
    *_folds(),
    *_lists(),
    *_variances(),
    *_regressions(),
    *_ordered_sets(),
)

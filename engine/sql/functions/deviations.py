"""Sums of squared deviations of floats: variances, covariances and regressions, with the results of float.c's
Youngs-Cramer algorithm.

The engines update a mean row by row (Welford). The mean is rounded, so the variance of 100000003, 100000004, 100000006
and 100000007 becomes 2.50000000558794. float.c updates sums, which are exact as long as they are whole and below 2^53,
and returns 2.5. In most columns the values are whole sixteenths of less than 2^42: amounts, counts, epochs in seconds
or milliseconds. The sums and the sums of products of such values are whole numbers that both engines add exactly, and
the deviations are as exact as a double. For all other values, and for DISTINCT (2 and -2 have the same square), the
engine's own function is used, whose relative error grows with the distance from zero as that of float.c does.

Rejected: a list of the values and two passes over it. It is exact for all, and holds every value of a group in memory.

Source: PostgreSQL 15, float.c (float8_accum, float8_regr_accum and the functions over their states).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import AggregateCall
from engine.sql.functions.building import let, parse, place
from engine.sql.functions.trees import EngineBuilder
from wire.errors import FeatureNotSupported

if TYPE_CHECKING:
    from engine.plan_ir.expr import Call

_PARTS: Final = "16e0"
_LIMIT: Final = f"{2**42}e0"
_INFINITY: Final = "CAST('Infinity' AS DOUBLE)"
_OVERFLOW: Final = "RAISE('22003', 'value out of range: overflow')"
#: The types of whole numbers of up to 14 digits, and their division in each engine.
_WHOLE: Final[Mapping[EngineName, str]] = {"local": "HUGEINT", "spark": "DECIMAL(14, 0)"}
_ROUNDED: Final[Mapping[EngineName, str]] = {"local": "trunc({})", "spark": "rint({})"}
_QUOTIENT: Final[Mapping[EngineName, str]] = {
    "local": "{0} // nullif({1}, 0)",
    "spark": "CAST({0} DIV nullif({1}, 0) AS DECIMAL(14, 0))",
}
#: float.c's final functions over a state: n, the averages, and the sums of deviations' products.
_REGRESSIONS: Final[Mapping[str, str]] = {
    "covar_pop": "r__.sxy / nullif(r__.n, 0)",
    "covar_samp": "r__.sxy / nullif(r__.n - 1, 0)",
    "regr_sxx": "r__.sxx",
    "regr_syy": "r__.syy",
    "regr_sxy": "r__.sxy",
    "corr": "CASE WHEN r__.sxx = 0 OR r__.syy = 0 THEN NULL "
    f"WHEN r__.sxx * r__.syy = 0 THEN r__.sxy * {_INFINITY} ELSE r__.sxy / sqrt(r__.sxx * r__.syy) END",
    "regr_slope": "CASE WHEN r__.sxx = 0 THEN NULL ELSE r__.sxy / r__.sxx END",
    "regr_intercept": "CASE WHEN r__.sxx = 0 THEN NULL ELSE r__.y - r__.x * (r__.sxy / r__.sxx) END",
    "regr_r2": "CASE WHEN r__.sxx = 0 THEN NULL WHEN r__.syy = 0 THEN CAST(1 AS DOUBLE) "
    "ELSE (r__.sxy * r__.sxy) / (r__.sxx * r__.syy) END",
}
REGRESSIONS: Final = tuple(_REGRESSIONS)
#: The sums that each function uses.
_USED: Final[Mapping[str, tuple[str, ...]]] = {
    "covar_pop": ("sxy",),
    "covar_samp": ("sxy",),
    "regr_sxx": ("sxx",),
    "regr_syy": ("syy",),
    "regr_sxy": ("sxy",),
    "regr_slope": ("sxx", "sxy"),
    "regr_intercept": ("sxx", "sxy"),
    "corr": ("sxx", "syy", "sxy"),
    "regr_r2": ("sxx", "syy", "sxy"),
}


def float_variance(engine_name: str, *, sample: bool, root: bool) -> EngineBuilder:
    """Return the builder of a variance, or of its root, of floats. engine_name: the name of the engines' own function."""

    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        value = "CAST($1 AS DOUBLE)"
        plain = _own_variance(engine, engine_name, value, sample=sample)
        if isinstance(call, AggregateCall) and call.distinct:
            return place(parse(engine, plain), args)
        exact = f"{_deviation(engine, 'x', 'x')} / nullif(s__.n{' - 1' if sample else ''}, 0)"
        body = f"CASE WHEN s__.whole THEN {f'sqrt({exact})' if root else exact} ELSE s__.plain END"
        sums = {"whole": _are_whole(engine, value), **_sums(engine, {"x": value}, ("xx",)), "plain": plain}
        return place(parse(engine, let(engine, "s__", sums, body)), args)

    return build


def float_regression(name: str) -> EngineBuilder:
    """Return the builder of a function of pairs (y, x)."""

    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        used = _USED[name]
        own = {sums: _check_overflow(f"regr_{sums}($1, $2)", ("$1", "$2")) for sums in used}
        averages = {"x": "regr_avgx($1, $2)", "y": "regr_avgy($1, $2)"} if name == "regr_intercept" else {}
        if isinstance(call, AggregateCall) and call.distinct:
            if averages or {"sxx", "syy"} & set(used):
                _refuse_distinct(engine, name)
            state = {"n": "regr_count($1, $2)", **averages, **own}
            return place(parse(engine, let(engine, "r__", state, _REGRESSIONS[name])), args)
        pairs = {
            side: f"CASE WHEN {other} IS NOT NULL THEN {value} END"
            for side, value, other in (("x", "$2", "$1"), ("y", "$1", "$2"))
            if any(side in sums[1:] for sums in used)
        }
        sums = _sums(engine, pairs, tuple(pair[1:] for pair in used))
        sums["whole"] = " AND ".join(_are_whole(engine, value) for value in pairs.values())
        sums |= {f"own_{name}": text for name, text in (averages | own).items()}
        state = {"n": "s__.n"} | {side: f"s__.own_{side}" for side in averages}
        for pair in used:
            exact = _deviation(engine, pair[1], pair[2])
            state[pair] = f"CASE WHEN s__.whole THEN {exact} ELSE s__.own_{pair} END"
        body = let(engine, "r__", state, _REGRESSIONS[name])
        return place(parse(engine, let(engine, "s__", sums, body)), args)

    return build


def plain_regression(name: str) -> EngineBuilder:
    """Return the builder of a function of pairs (y, x) that uses the engine's own function."""

    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        if isinstance(call, AggregateCall) and call.distinct:
            _refuse_distinct(engine, name)
        return place(parse(engine, f"{name}($1, $2)"), args)

    return build


def _refuse_distinct(engine: EngineName, name: str) -> None:
    """Refuse DISTINCT in Spark, which replaces a function that reads one of two arguments by an aggregate of that
    argument, and then takes the argument's distinct values.
    """
    if engine == "spark":
        raise FeatureNotSupported(f"not supported: {name} of distinct pairs")


def _own_variance(engine: EngineName, engine_name: str, value: str, *, sample: bool) -> str:
    """Return the engine's variance with an overflow error if it is infinite and no value is. For an infinite value it
    is NaN.
    """
    plain = f"{engine_name}({value})"
    checked = _check_overflow(plain, (value,))
    if engine == "spark" or sample:
        return checked
    # For a single value, DuckDB returns 0 even if it is infinite or NaN; PostgreSQL returns the value minus itself.
    return f"CASE WHEN count($1) = 1 THEN sum({value}) - sum({value}) ELSE {checked} END"


def _check_overflow(result: str, values: Sequence[str]) -> str:
    """Return the result, or an overflow error if it is not finite although all values are."""
    finite = " AND ".join(f"max(abs({value})) < {_INFINITY}" for value in values)
    return f"CASE WHEN NOT (abs({result}) < {_INFINITY}) AND {finite} THEN {_OVERFLOW} ELSE {result} END"


def _are_whole(engine: EngineName, value: str) -> str:
    parts = f"({value}) * {_PARTS}"
    return f"bool_and(abs({value}) < {_LIMIT} AND {parts} = {_ROUNDED[engine].format(parts)})"


def _sums(engine: EngineName, values: Mapping[str, str], products: Sequence[str]) -> dict[str, str]:
    """Return the number of values, the sum for each name, and the sums of products."""
    whole = {
        name: f"CAST(CASE WHEN abs({value}) < {_LIMIT} THEN ({value}) * {_PARTS} END AS {_WHOLE[engine]})"
        for name, value in values.items()
    }
    sums = {"n": f"count({next(iter(values.values()))})"}
    sums |= {f"t{name}": f"sum({value})" for name, value in whole.items()}
    return sums | {f"q{pair}": f"sum({whole[pair[0]]} * {whole[pair[1]]})" for pair in products}


def _deviation(engine: EngineName, one: str, other: str) -> str:
    """Return the sum of the deviations' products from whole sums: the products of deviations from the averages' whole
    parts, minus the correction for the averages' fractions.
    """
    means = {name: f"({_QUOTIENT[engine].format(f's__.t{name}', 's__.n')})" for name in (one, other)}
    left, right = (f"(s__.t{name} - {means[name]} * s__.n)" for name in (one, other))
    product = f"s__.q{one}{other} - {means[one]} * s__.t{other} - {means[other]} * {left}"
    rest = f"CAST({left} AS DOUBLE) * CAST({right} AS DOUBLE) / s__.n"
    return f"((CAST({product} AS DOUBLE) - {rest}) / 256e0)"

"""Aggregates in two stages: the partial results of each instance, their combination, and the final value.

The first stage uses rows of the function table, so that either engine can run it. The second always runs in process;
its functions are this file's own. Sums are carried in the widest type that they may need (a numeric of 38 digits, a
double), so that an average or a variance is divided once, at the end, to PostgreSQL's digits.

Variances and regressions of floats are combined from counts, means and squared deviations, pair by pair (Chan, Golub,
LeVeque: "Updating formulae and a pairwise algorithm for computing sample variances"). The sums of squares would be
simpler, but they lose all digits of values that lie far from zero and close together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from engine.common import sql_type as st
from engine.common.sql_type import SqlType, numeric
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import AggregateCall, Builder, Call, Column, ColumnRef, Expr, Function, Template
from engine.sql.functions.aggregates import (
    COUNT_TYPE,
    VARIANCES,
    exact_sum,
    in_range,
    products_of_squares,
    variance_from_sums,
)
from engine.sql.functions.building import parse, place, snippet
from engine.sql.functions.division import divide
from engine.sql.functions.registry import registry
from wire.dataclass import dataclass
from wire.types import pg_types as t

_INT8: Final = st.of(t.INT8)
_FLOAT8: Final = st.of(t.FLOAT8)
_EXACT: Final = (t.INT2, t.INT4, t.INT8, t.NUMERIC)
_FLOATS: Final = (t.FLOAT4, t.FLOAT8)


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of one aggregate call.

    first: the calls of the first stage. second: makes the second stage's calls from the first's columns. final: makes
    the aggregate's value from the second's columns.
    """

    first: tuple[AggregateCall, ...]
    second: Callable[[Sequence[Column]], tuple[AggregateCall, ...]]
    final: Callable[[Sequence[Column]], Expr]


def stages(call: AggregateCall) -> Stages | None:
    """Return the stages of a call; None if its rows must be seen together (or its order matters)."""
    if call.function.kind != "aggregate":
        return None
    kind = call.args[0].type.pg if call.args else None
    maker = _BY_NAME.get(call.function.name)
    return None if maker is None else maker(call, kind)


# -- calls -----------------------------------------------------------------------------------------------------------


def _row(name: str, *args: t.PgType) -> Function:
    return next(row for row in registry().functions(name) if row.args == args)


def _first(call: AggregateCall, function: Function, typ: SqlType, args: Sequence[Expr] | None = None) -> AggregateCall:
    """Return a call of the first stage, over the same rows as the aggregate."""
    given = call.args if args is None else tuple(args)
    return AggregateCall(typ, function, given, distinct=call.distinct, filter=call.filter)


def _internal_aggregate(name: str, args: tuple[t.PgType, ...], returns: t.PgType, local: Template) -> Function:
    return Function(name, "aggregate", args, returns, local, strict=False)


def _over(function: Function, column: Column, typ: SqlType) -> AggregateCall:
    return AggregateCall(typ, function, (_ref(column),))


def _ref(column: Column) -> ColumnRef:
    return ColumnRef(column.type, column)


def _itself(columns: Sequence[Column]) -> Expr:
    return _ref(columns[0])


_TOTAL_COUNT: Final = _internal_aggregate("sum", (t.INT8,), t.INT8, "CAST(coalesce(sum($1), 0) AS BIGINT)")
_TOTAL_INT8: Final = _internal_aggregate("sum", (t.INT8,), t.INT8, "CAST(sum($1) AS BIGINT)")
_TOTAL_FLOAT4: Final = _internal_aggregate("sum", (t.FLOAT8,), t.FLOAT4, in_range("CAST(sum($1) AS FLOAT)")["local"])


# -- counts, sums, averages ------------------------------------------------------------------------------------------


def _count(call: AggregateCall, _kind: t.PgType | None) -> Stages:
    return Stages(
        (_first(call, call.function, _INT8),), lambda columns: (_over(_TOTAL_COUNT, columns[0], _INT8),), _itself
    )


def _same_again(call: AggregateCall, _kind: t.PgType | None) -> Stages:
    """Use the same aggregate in both stages, such as min over minima: the second stage aggregates the results of the
    first.
    """
    again = replace(call, distinct=False, filter=None, order_by=())
    return Stages((replace(call, order_by=()),), lambda columns: (replace(again, args=(_ref(columns[0]),)),), _itself)


def _sum(call: AggregateCall, kind: t.PgType | None) -> Stages | None:
    if kind in (t.INT2, t.INT4):
        first = _first(call, call.function, _INT8)
        return Stages((first,), lambda columns: (_over(_TOTAL_INT8, columns[0], _INT8),), _itself)
    if kind is t.FLOAT4:
        first = _first(call, _row("sum", t.FLOAT8), _FLOAT8, [_as_float8(call.args[0])])
        return Stages((first,), lambda columns: (_over(_TOTAL_FLOAT4, columns[0], call.type),), _itself)
    again = _row("sum", t.NUMERIC) if kind in _EXACT else call.function
    first = _first(call, call.function, call.type)
    return Stages((first,), lambda columns: (_over(again, columns[0], call.type),), _itself)


def _as_float8(arg: Expr) -> Expr:
    if arg.type.pg is t.FLOAT8:
        return arg
    cast = registry().find_cast(arg.type.pg, t.FLOAT8)
    assert cast is not None
    return Call(_FLOAT8, cast, (arg,))


def _exact_total(call: AggregateCall) -> AggregateCall:
    """Return the sum of an exact argument with all its digits."""
    given = call.args[0].type
    typ = numeric(38, given.scale, given.display, minimum=given.minimum) if given.pg is t.NUMERIC else numeric(38, 0)
    return _first(call, _exact("sum", lambda engine, arg: exact_sum(engine, arg, given)[0]), typ)


def _exact(name: str, build: Callable[..., exp.Expression]) -> Function:
    def local(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return build("local", args[0])

    def spark(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return build("spark", args[0])

    return Function(name, "aggregate", (t.ANY,), t.NUMERIC, local, spark, strict=False)


def _count_rows(call: AggregateCall) -> AggregateCall:
    return _first(call, _row("count", t.ANY), _INT8)


def _of_parts(typ: SqlType, local: Builder, columns: Sequence[Column]) -> Expr:
    """Compute a scalar from the second stage's results."""
    function = Function("combine", "function", tuple(c.type.pg for c in columns), typ.pg, local, strict=False)
    return Call(typ, function, tuple(_ref(column) for column in columns))


def _average(call: AggregateCall, kind: t.PgType | None) -> Stages | None:
    if kind in _FLOATS:
        return _float_average(call)
    if kind is t.INTERVAL:
        return _interval_average(call)
    total = _exact_total(call)

    def second(columns: Sequence[Column]) -> tuple[AggregateCall, ...]:
        return _over(_row("sum", t.NUMERIC), columns[0], total.type), _over(_TOTAL_COUNT, columns[1], _INT8)

    def quotient(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return divide("local", args[0], args[1], (total.type, COUNT_TYPE), call.type)

    return Stages((total, _count_rows(call)), second, lambda columns: _of_parts(call.type, quotient, columns))


def _float_average(call: AggregateCall) -> Stages:
    total = _row("sum", t.FLOAT8)
    first = (_first(call, total, _FLOAT8, [_as_float8(call.args[0])]), _count_rows(call))

    def second(columns: Sequence[Column]) -> tuple[AggregateCall, ...]:
        return _over(total, columns[0], _FLOAT8), _over(_TOTAL_COUNT, columns[1], _INT8)

    return Stages(first, second, lambda columns: _of_parts(_FLOAT8, _text("$1 / nullif($2, 0)"), columns))


def _interval_average(call: AggregateCall) -> Stages:
    total = _row("sum", t.INTERVAL)
    division = next(r for r in registry().operators("/", 2) if r.args == (t.INTERVAL, t.FLOAT8))
    first = (_first(call, total, call.type), _count_rows(call))

    def second(columns: Sequence[Column]) -> tuple[AggregateCall, ...]:
        return _over(total, columns[0], call.type), _over(_TOTAL_COUNT, columns[1], _INT8)

    def final(columns: Sequence[Column]) -> Expr:
        count = _of_parts(_FLOAT8, _text("CAST(nullif($1, 0) AS DOUBLE)"), columns[1:])
        return Call(call.type, division, (_ref(columns[0]), count))

    return Stages(first, second, final)


def _text(text: str) -> Builder:
    return snippet("local", text)


# -- variances and regressions ---------------------------------------------------------------------------------------


def _variance(call: AggregateCall, kind: t.PgType | None) -> Stages | None:
    engine_name, sample = VARIANCES[call.function.name]
    root = engine_name.startswith("stddev")
    if kind in _FLOATS:
        return _float_variance(call, sample=sample, root=root)
    given = call.args[0].type
    total = _exact_total(call)
    whole = numeric(38, 0)
    products = [
        _first(call, _exact("sum", _sum_of(n, given)), whole) for n in range(len(products_of_squares("local", given)))
    ]

    def second(columns: Sequence[Column]) -> tuple[AggregateCall, ...]:
        again = _row("sum", t.NUMERIC)
        *of_products, of_values, of_counts = columns
        sums = (_over(again, column, whole) for column in of_products)
        return *sums, _over(again, of_values, total.type), _over(_TOTAL_COUNT, of_counts, _INT8)

    def value(args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return variance_from_sums(args, (given, call.type), sample=sample, root=root)

    first = (*products, total, _count_rows(call))
    return Stages(first, second, lambda columns: _of_parts(call.type, value, columns))


def _sum_of(number: int, given: SqlType) -> Callable[[EngineName, exp.Expression], exp.Expression]:
    return lambda engine, arg: place(parse(engine, f"sum({products_of_squares(engine, given)[number]})"), [arg])


#: Moments of pairs (y, x), and how two of them make one: n rows each, means, sums of squared deviations and of products.
_MOMENTS: Final = ("n", "x", "y", "sxx", "syy", "sxy")
_BOTH: Final = "a.n * b.n / (a.n + b.n)"
_COMBINED: Final[Mapping[str, str]] = {
    "n": "a.n + b.n",
    "x": "(a.x * a.n + b.x * b.n) / (a.n + b.n)",
    "y": "(a.y * a.n + b.y * b.n) / (a.n + b.n)",
    "sxx": f"a.sxx + b.sxx + (b.x - a.x) * (b.x - a.x) * {_BOTH}",
    "syy": f"a.syy + b.syy + (b.y - a.y) * (b.y - a.y) * {_BOTH}",
    "sxy": f"a.sxy + b.sxy + (b.x - a.x) * (b.y - a.y) * {_BOTH}",
}


def _combination(moments: Sequence[str]) -> str:
    """Return the SQL that combines the moments of all partial results, as a struct `m`; null for no rows."""
    given = ", ".join(f"{name} := ${i}" for i, name in enumerate(moments, 1))
    made = ", ".join(f"{name} := {_COMBINED[name]}" for name in moments)
    listed = f"array_agg(struct_pack({given})) FILTER (WHERE $1 > 0)"
    return f"list_reduce({listed}, lambda a, b: struct_pack({made}))"


def _by_moments(call: AggregateCall, first: Sequence[AggregateCall], moments: Sequence[str], value: str) -> Stages:
    """Return the stages of an aggregate over moments. value: the result, in terms of the moments' names."""
    text = f"list_transform([{_combination(moments)}], lambda m: {value})[1]"
    function = _internal_aggregate(call.function.name, tuple(c.type.pg for c in first), call.type.pg, _text(text))

    def second(columns: Sequence[Column]) -> tuple[AggregateCall, ...]:
        return (AggregateCall(call.type, function, tuple(_ref(column) for column in columns)),)

    return Stages(tuple(first), second, _itself)


def _float_variance(call: AggregateCall, *, sample: bool, root: bool) -> Stages:
    arg = [_as_float8(call.args[0])]
    twice = [*arg, *arg]
    first = (
        _count_rows(call),
        _first(call, _row("avg", t.FLOAT8), _FLOAT8, arg),
        _first(call, _row("regr_sxx", t.FLOAT8, t.FLOAT8), _FLOAT8, twice),
    )
    variance = "m.sxx / nullif(m.n - 1, 0)" if sample else "m.sxx / m.n"
    return _by_moments(call, first, ("n", "x", "sxx"), f"sqrt({variance})" if root else variance)


_REGRESSIONS: Final[Mapping[str, str]] = {
    "covar_pop": "m.sxy / m.n",
    "covar_samp": "m.sxy / nullif(m.n - 1, 0)",
    "regr_avgx": "m.x",
    "regr_avgy": "m.y",
    "regr_sxx": "m.sxx",
    "regr_syy": "m.syy",
    "regr_sxy": "m.sxy",
    "corr": "CASE WHEN m.sxx = 0 OR m.syy = 0 THEN NULL ELSE m.sxy / sqrt(m.sxx * m.syy) END",
    "regr_slope": "CASE WHEN m.sxx = 0 THEN NULL ELSE m.sxy / m.sxx END",
    "regr_intercept": "CASE WHEN m.sxx = 0 THEN NULL ELSE m.y - m.x * m.sxy / m.sxx END",
    "regr_r2": "CASE WHEN m.sxx = 0 THEN NULL WHEN m.syy = 0 THEN CAST(1 AS DOUBLE) "
    "ELSE (m.sxy * m.sxy) / (m.sxx * m.syy) END",
}


def _regression(call: AggregateCall, _kind: t.PgType | None) -> Stages:
    first = [_first(call, _row("regr_count", t.FLOAT8, t.FLOAT8), _INT8)]
    first += [
        _first(call, _row(name, t.FLOAT8, t.FLOAT8), _FLOAT8)
        for name in ("regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy")
    ]
    return _by_moments(call, first, _MOMENTS, _REGRESSIONS[call.function.name])


def _makers() -> Iterator[tuple[str, Callable[[AggregateCall, t.PgType | None], Stages | None]]]:
    yield from (("count", _count), ("regr_count", _count), ("sum", _sum), ("avg", _average))
    for name in ("min", "max", "bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor"):
        yield name, _same_again
    for name in VARIANCES:
        yield name, _variance
    for name in _REGRESSIONS:
        yield name, _regression


_BY_NAME: Final = dict(_makers())

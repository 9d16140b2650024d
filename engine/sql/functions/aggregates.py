"""Aggregates, plain and ordered-set (chapter 9.21).

Sums of integers grow as PostgreSQL's do (int4 into int8, int8 into numeric); averages of integers and numerics are PostgreSQL's
quotient of the sum and the count, since neither engine averages decimals exactly; a sum or average over no rows is null.
The variance family of integers and numerics is computed in doubles and refused as numeric: PostgreSQL's digits would
need exact squares. Engines keep or skip nulls differently in array_agg: here they are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.executor import EngineName
from engine.sql.functions import Builder, Function, digits
from engine.sql.functions.building import NOTHING, agg, ordered_set, parse, place
from engine.sql.functions.quotients import divide
from engine.sql.types import numeric
from wire import types as t

if TYPE_CHECKING:
    from engine.sql.expr import AggregateCall, Call

_INTS: Final = (t.INT2, t.INT4, t.INT8)
_FLOATS: Final = (t.FLOAT4, t.FLOAT8)
_ORDERED: Final = (
    *_INTS, *_FLOATS, t.NUMERIC, t.TEXT, t.OID, t.DATE, t.TIME, t.TIMESTAMP, t.TIMESTAMPTZ,
)  # fmt: skip
_COUNT: Final = numeric(19, 0)


def _average(engine: EngineName) -> Builder:
    """sum / count, divided as numerics are; null for no rows, before anything is divided."""

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        source = digits.as_numeric(call.args[0].type)
        total = digits.total([source])
        added = f"CAST(sum(CAST($1 AS DECIMAL({source.precision}, {source.scale}))) AS DECIMAL(38, {source.scale}))"
        top = place(parse(engine, added), args)
        bottom = place(parse(engine, "CAST(nullif(count($1), 0) AS DECIMAL(19, 0))"), args)
        return divide(engine, top, bottom, (total, _COUNT), call.type)

    return build


def _counts() -> Iterator[Function]:
    yield agg("count", (), t.INT8, "count(*)")
    yield agg("count", (t.ANY,), t.INT8, "count($1)")


def _sums() -> Iterator[Function]:
    for kind in (t.INT2, t.INT4):
        # DuckDB sums in HUGEINT; Spark in BIGINT.
        yield agg("sum", (kind,), t.INT8, "CAST(sum($1) AS BIGINT)")
    yield agg("sum", (t.INT8,), t.NUMERIC, local="sum($1)", spark="sum(CAST($1 AS DECIMAL(19, 0)))", rule=digits.total)
    yield agg("sum", (t.NUMERIC,), t.NUMERIC, local="sum($1)", spark="sum($1)", rule=digits.total)
    yield agg("sum", (t.FLOAT4,), t.FLOAT4, "CAST(sum($1) AS FLOAT)")
    yield agg("sum", (t.FLOAT8,), t.FLOAT8, "sum($1)")
    yield agg("sum", (t.INTERVAL,), t.INTERVAL, local=_INTERVAL_LOCAL["sum"], spark=_INTERVAL_SPARK)
    for kind in (*_INTS, t.NUMERIC):
        yield agg("avg", (kind,), t.NUMERIC, local=_average("local"), spark=_average("spark"), rule=digits.average)
    for kind in _FLOATS:
        yield agg("avg", (kind,), t.FLOAT8, "avg(CAST($1 AS DOUBLE))")
    yield agg("avg", (t.INTERVAL,), t.INTERVAL)


_INTERVAL_LOCAL: Final = {
    "sum": "to_months(CAST(sum(datepart('year', $1) * 12 + datepart('month', $1)) AS INTEGER))"
    " + to_days(CAST(sum(datepart('day', $1)) AS INTEGER))"
    " + to_microseconds(CAST(sum(datepart('hour', $1) * 3600000000 + datepart('minute', $1) * 60000000"
    " + datepart('microsecond', $1)) AS BIGINT))",
}
_INTERVAL_SPARK: Final = (
    "CASE WHEN count($1) > 0 THEN named_struct('months', CAST(sum($1.months) AS INT), 'days', CAST(sum($1.days) AS INT),"
    " 'micros', CAST(sum($1.micros) AS BIGINT)) END"
)


def _extremes() -> Iterator[Function]:
    for name in ("min", "max"):
        for kind in _ORDERED:
            yield agg(name, (kind,), kind, f"{name}($1)", rule=digits.same)
        # The greatest of values that compare equal but for their blanks may be any of them, in PostgreSQL too.
        yield agg(name, (t.BPCHAR,), t.BPCHAR, f"{name}($1)")
        yield agg(name, (t.INTERVAL,), t.INTERVAL, local=f"{name}($1)")
        yield agg(name, (t.ANYARRAY,), t.ANYARRAY, local=f"{name}($1)")


def _booleans() -> Iterator[Function]:
    for name, computed in (("bool_and", "bool_and"), ("every", "bool_and"), ("bool_or", "bool_or")):
        yield agg(name, (t.BOOL,), t.BOOL, f"{computed}($1)")
    for kind, stored in ((t.INT2, "SMALLINT"), (t.INT4, "INTEGER"), (t.INT8, "BIGINT")):
        for name in ("bit_and", "bit_or", "bit_xor"):
            yield agg(name, (kind,), kind, f"CAST({name}($1) AS {stored})")


def _collections() -> Iterator[Function]:
    # Spark's collect_list skips nulls: a struct around each value keeps it.
    kept = "CASE WHEN count(*) > 0 THEN transform(collect_list(struct($1 AS v)), x -> x.v) END"
    yield agg("array_agg", (t.ANYNONARRAY,), t.ANYARRAY, local="array_agg($1)", spark=kept)
    yield agg("array_agg", (t.ANYARRAY,), t.ANYARRAY)
    joined = "CASE WHEN count($1) > 0 THEN array_join(collect_list($1), $2) END"
    yield agg("string_agg", (t.TEXT, t.TEXT), t.TEXT, local="string_agg($1, $2)", spark=joined)


def _statistics() -> Iterator[Function]:
    for name, computed in (
        ("stddev", "stddev_samp"), ("stddev_samp", "stddev_samp"), ("stddev_pop", "stddev_pop"),
        ("variance", "var_samp"), ("var_samp", "var_samp"), ("var_pop", "var_pop"),
    ):  # fmt: skip
        for kind in _FLOATS:
            yield agg(name, (kind,), t.FLOAT8, f"{computed}(CAST($1 AS DOUBLE))")
    for name in ("corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope",
                 "regr_sxx", "regr_sxy", "regr_syy"):  # fmt: skip
        yield agg(name, (t.FLOAT8, t.FLOAT8), t.FLOAT8, f"{name}($1, $2)")
    yield agg("regr_count", (t.FLOAT8, t.FLOAT8), t.INT8, "CAST(regr_count($1, $2) AS BIGINT)")


def _ordered_sets() -> Iterator[Function]:
    within = "{}($1) WITHIN GROUP (ORDER BY $2)"
    yield ordered_set("percentile_cont", (t.FLOAT8, t.FLOAT8), t.FLOAT8, within.format("percentile_cont"))
    yield ordered_set("percentile_disc", (t.FLOAT8, t.ANYELEMENT), t.ANYELEMENT, local=within.format("percentile_disc"))
    yield ordered_set("mode", (t.ANYELEMENT,), t.ANYELEMENT, local="mode() WITHIN GROUP (ORDER BY $1)", spark=NOTHING)


ROWS: Final[tuple[Function, ...]] = (
    *_counts(),
    *_sums(),
    *_extremes(),
    *_booleans(),
    *_collections(),
    *_statistics(),
    *_ordered_sets(),
)

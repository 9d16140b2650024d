"""generate_series: PostgreSQL 15, section 9.25. Each row's template returns the whole series as an array.

A series of moments adds its step repeatedly, as PostgreSQL does, so that a month's end that was clipped stays clipped
(31 January, 29 February, 29 March). Where the step has no months (for instants: no days either), repeated addition is
the same as multiplication.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import SqlType, numeric
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn
from engine.sql.functions.moments import DAY, FINITE_ON_SPARK, Fields, fields, micros_of, moment, shift_moment
from engine.sql.functions.trees import EngineBuilder, both, bound, integer, raises, sql
from engine.sql.trees.storage_types import storage_type
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

ZERO_STEP: Final = "step size cannot equal zero"


def _guard_step(
    engine: EngineName, start: exp.Expression, stop: exp.Expression, sign: exp.Expression, series: exp.Expression
) -> exp.Expression:
    """Return `series`; no rows for a step away from `stop` or a null; an error for a step of zero. sign: the sign of
    the step, a number.
    """
    ahead = "($3 > 0 AND $1 <= $2) OR ($3 < 0 AND $1 >= $2)"
    cases = f"CASE WHEN $3 = 0 AND $1 IS NOT NULL AND $2 IS NOT NULL THEN $4 WHEN {ahead} THEN $5 END"
    return sql(engine, cases, start, stop, sign, raises(engine, "22023", ZERO_STEP), series)


def _integers(typ: t.PgType) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        start, stop = args[:2]
        step = args[2] if len(args) == 3 else integer(1)
        name = {t.INT4: "INTEGER", t.INT8: "BIGINT"}[typ]
        if engine == "local":
            series = sql("local", f"CAST(generate_series($1, $2, $3) AS {name}[])", start, stop, step)
            return _guard_step("local", start, stop, step, series)
        series = sql("spark", "sequence($1, $2, $3)", start, stop, step)
        return _guard_step("spark", start, stop, step, series)

    return build


# --- numerics ---------------------------------------------------------------------------------------------------------


def _digits(args: Sequence[SqlType]) -> SqlType:
    """Return the type shared by the bounds and the step: every value stays below stop."""
    scale = max(arg.scale for arg in args)
    whole = max(arg.precision - arg.scale for arg in args)
    return numeric(whole + scale, scale, args[0].display)


def _numerics(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    start, stop = args[:2]
    step = args[2] if len(args) == 3 else integer(1)
    typ = exp.DataType(this=exp.DataType.Type.ARRAY, expressions=[storage_type(call.type, engine)], nested=True)
    # Scaled by the fractional digits of the finest argument, the bounds are whole numbers.
    unit = 10**call.type.scale
    scaled = [sql(engine, f"CAST(($1 * {unit}) AS BIGINT)", arg) for arg in (start, stop, step)]
    one = "CAST(n__ AS DECIMAL(19, 0)) * $4"
    each = f"list_transform(generate_series($1, $2, $3), lambda n__: {one})"
    if engine == "spark":
        each = f"transform(sequence($1, $2, $3), n__ -> {one})"
    series = exp.Cast(this=sql(engine, each, *scaled, _last_digit(engine, call.type.scale)), to=typ)
    return _guard_step(engine, start, stop, step, series)


def _last_digit(engine: EngineName, scale: int) -> exp.Expression:
    """Return one in the last of `scale` fractional digits."""
    value = f"0.{'0' * (scale - 1)}1" if scale else "1"
    return sql(engine, f"CAST({value} AS DECIMAL({scale + 1}, {scale}))")


# --- moments ----------------------------------------------------------------------------------------------------------


def _moments(typ: t.PgType) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        start, stop, step = args
        parts = fields(engine, step)
        # interval_cmp_value: a month counts as 30 days, a day as 24 hours.
        span = sql(
            engine,
            f"(CAST($1 AS BIGINT) * {30 * DAY} + CAST($2 AS BIGINT) * {DAY} + CAST($3 AS BIGINT))",
            parts.months,
            parts.days,
            parts.micros,
        )

        def over(length: exp.Expression) -> exp.Expression:
            series = _series(engine, typ, start, stop, parts, length)
            finite = [
                sql(engine, "isfinite($1)" if engine == "local" else FINITE_ON_SPARK[typ], side)
                for side in (start, stop)
            ]
            endless = raises(engine, "22008", "timestamp out of range")
            ending = sql(engine, "CASE WHEN $1 AND $2 THEN $3 ELSE $4 END", *finite, series, endless)
            return _guard_step(engine, start, stop, length, ending)

        return bound(engine, "span__", span, over)

    return build


def _series(
    engine: EngineName, typ: t.PgType, start: exp.Expression, stop: exp.Expression, step: Fields, span: exp.Expression
) -> exp.Expression:
    first, last = (micros_of(engine, side, typ) for side in (start, stop))
    transformed = "list_transform(generate_series($1, $2, $3), lambda n__: $4)"
    if engine == "spark":
        transformed = "transform(sequence($1, $2, $3), n__ -> $4)"
    multiplied = sql(engine, transformed, first, last, span, moment(engine, exp.column("n__"), typ))
    clock_only = "$1 = 0" if typ is t.TIMESTAMP else "$1 = 0 AND $2 = 0"
    added = _series_by_addition(engine, typ, start, stop, step, span)
    return sql(engine, f"CASE WHEN {clock_only} THEN $3 ELSE $4 END", step.months, step.days, multiplied, added)


def _series_by_addition(
    engine: EngineName, typ: t.PgType, start: exp.Expression, stop: exp.Expression, step: Fields, span: exp.Expression
) -> exp.Expression:
    """Build the series by addition: as many steps as could fit, each from the one before; values beyond `stop` are
    dropped.
    """
    first, last = (micros_of(engine, side, typ) for side in (start, stop))
    # A month has at least 28 of the 30 days that are counted for it; a day on which clocks change has 23 of 24 hours.
    most = sql(engine, "CAST(abs(($1 - $2) / ($3 * 0.9)) AS BIGINT) + 2", last, first, span)
    if engine == "spark":
        following = shift_moment("spark", sql("spark", "element_at(so_far__, -1)"), step, typ)
        appended = "aggregate(sequence(1, $1), array($2), (so_far__, n__) -> concat(so_far__, array($3)))"
        grown = sql("spark", appended, most, start, following)
        return sql("spark", "filter($1, m__ -> CASE WHEN $2 > 0 THEN m__ <= $3 ELSE m__ >= $3 END)", grown, span, stop)
    following = shift_moment("local", sql("local", "list_extract(so_far__, -1)"), step, typ)
    seeds = sql("local", "list_prepend([$2], list_transform(generate_series(1, $1), lambda n__: [$2]))", most, start)
    grown = sql("local", "list_reduce($1, lambda so_far__, one__: list_append(so_far__, $2))", seeds, following)
    return sql(
        "local", "list_filter($1, lambda m__: CASE WHEN $2 > 0 THEN m__ <= $3 ELSE m__ >= $3 END)", grown, span, stop
    )


ROWS: tuple[Function, ...] = (
    *(
        fn("generate_series", (typ,) * arity, typ, **both(_integers(typ)), returns_set=True)
        for typ in (t.INT4, t.INT8)
        for arity in (2, 3)
    ),
    *(
        fn("generate_series", (t.NUMERIC,) * arity, t.NUMERIC, **both(_numerics), rule=_digits, returns_set=True)
        for arity in (2, 3)
    ),
    *(
        fn("generate_series", (typ, typ, t.INTERVAL), typ, **both(_moments(typ)), returns_set=True)
        for typ in (t.TIMESTAMP, t.TIMESTAMPTZ)
    ),
)

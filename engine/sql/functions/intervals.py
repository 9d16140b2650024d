"""Intervals' own arithmetic: PostgreSQL 15, section 9.9, operators and justify_*.

Months, days and microseconds stay separate. A product or quotient cascades downwards only: a fraction of a month
becomes days of a 30-day month, and a fraction of a day becomes time, each rounded to a microsecond as interval_mul and
interval_div do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn, op
from engine.sql.functions.moments import (
    DAY,
    HOUR,
    HOURS_MAX,
    MINUTE,
    SECOND,
    TOO_MANY_HOURS,
    fields,
    in_carrier,
    interval,
    quotient,
    rint,
    unless_null,
)
from engine.sql.functions.trees import EngineBuilder, bound, integer, on, pack, raises, sql
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

OUT_OF_RANGE = "interval out of range"


def _field_by_field(sign: str) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        if engine == "local":
            return in_carrier("local", sql("local", f"$1 {sign} $2", *args))
        a, b = (fields("spark", arg) for arg in args)
        sums = (
            sql("spark", f"$1 {sign} $2", x, y)
            for x, y in ((a.months, b.months), (a.days, b.days), (a.micros, b.micros))
        )
        either = sql("spark", "CASE WHEN $1 IS NOT NULL THEN $2 END", *args)
        return unless_null("spark", either, in_carrier("spark", interval("spark", *sums)))

    return build


def _negate(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    if engine == "local":
        return sql("local", "- $1", args[0])
    a = fields("spark", args[0])
    made = interval("spark", *(sql("spark", "(- $1)", field) for field in (a.months, a.days, a.micros)))
    return unless_null("spark", args[0], made)


# --- products and quotients -------------------------------------------------------------------------------------------


def _whole(engine: EngineName, value: exp.Expression) -> exp.Expression:
    """Return a float8 without its fraction, still as a float8."""
    if engine == "local":
        return sql("local", "trunc($1)", value)
    return sql("spark", "(CASE WHEN $1 < 0 THEN ceil($1) ELSE floor($1) END)", value)


def _to_micros(engine: EngineName, value: exp.Expression) -> exp.Expression:
    """Return a float8 rounded to six digits (TSROUND)."""
    return sql(engine, f"($1 / {SECOND}.0)", rint(engine, sql(engine, f"($1 * {SECOND}.0)", value)))


def _double(engine: EngineName, value: exp.Expression) -> exp.Expression:
    return sql(engine, "CAST($1 AS DOUBLE)", value)


def _scale(engine: EngineName, span: exp.Expression, factor: exp.Expression, operator: str) -> exp.Expression:
    """Build interval * or / float8."""
    parts = fields(engine, span)
    months, days, micros = (
        sql(engine, f"($1 {operator} $2)", _double(engine, part), factor)
        for part in (parts.months, parts.days, parts.micros)
    )

    def cascade(raw: exp.Expression) -> exp.Expression:
        month, day = (sql(engine, f"($1).{name}", raw) for name in ("months", "days"))
        whole_month, whole_day = _whole(engine, month), _whole(engine, day)
        rest_days = _to_micros(engine, sql(engine, "(($1 - $2) * 30.0)", month, whole_month))

        def with_rest(rest: exp.Expression) -> exp.Expression:
            whole_rest = _whole(engine, rest)
            seconds = _to_micros(
                engine, sql(engine, "(($1 - $2 + $3 - $4) * 86400.0)", day, whole_day, rest, whole_rest)
            )

            def settle(seconds: exp.Expression) -> exp.Expression:
                extra = sql(
                    engine,
                    "(CASE WHEN abs($1) >= 86400.0 THEN $2 ELSE 0.0 END)",
                    seconds,
                    _whole(engine, sql(engine, "($1 / 86400.0)", seconds)),
                )
                all_days = sql(engine, "($1 + $2 + $3)", whole_day, whole_rest, extra)
                left = sql(engine, f"($1 - CAST($2 AS DOUBLE) * 86400.0) * {SECOND}.0", seconds, extra)
                time = rint(engine, sql(engine, "(($1).micros + $2)", raw, left))
                made = interval(engine, whole_month, all_days, time)
                outside = (
                    "CASE WHEN isnan($1) OR abs($1) > 2147483647 OR isnan($2) OR abs($2) > 2147483647 "
                    f"OR abs($3) >= 9223372036854775000.0 THEN $4 WHEN abs($3) >= {HOURS_MAX * HOUR}.0 THEN $6 ELSE $5 END"
                )
                wrong, beyond = raises(engine, "22008", OUT_OF_RANGE), raises(engine, "0A000", TOO_MANY_HOURS)
                return sql(engine, outside, whole_month, all_days, time, wrong, made, beyond)

            return bound(engine, "seconds__", seconds, settle)

        return bound(engine, "rest__", rest_days, with_rest)

    made = bound(engine, "scaled__", pack(engine, {"months": months, "days": days, "micros": micros}), cascade)
    either = sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", span, factor)
    return unless_null(engine, either, made)


def _times(span: int) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        return _scale(engine, args[span], args[1 - span], "*")

    return build


def _divide(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    quotient = _scale(engine, args[0], args[1], "/")
    zero = raises(engine, "22012", "division by zero")
    return sql(engine, "CASE WHEN $2 = 0 AND $1 IS NOT NULL THEN $3 ELSE $4 END", args[0], args[1], zero, quotient)


def between(engine: EngineName, low: exp.Expression, high: exp.Expression, share: exp.Expression) -> exp.Expression:
    """Interpolate between `low` and `high` by `share`, which is from 0 to 1 (interval_lerp)."""
    span = fields(engine, low), fields(engine, high)
    distance = (
        sql(engine, "($1 - $2)", b, a)
        for a, b in zip(
            (span[0].months, span[0].days, span[0].micros), (span[1].months, span[1].days, span[1].micros), strict=True
        )
    )
    part = bound(engine, "distance__", interval(engine, *distance), lambda whole: _scale(engine, whole, share, "*"))

    def add_part(part: exp.Expression) -> exp.Expression:
        a, b = fields(engine, low), fields(engine, part)
        sums = ((a.months, b.months), (a.days, b.days), (a.micros, b.micros))
        return in_carrier(engine, interval(engine, *(sql(engine, "($1 + $2)", x, y) for x, y in sums)))

    return bound(engine, "part__", part, add_part)


# --- justify ----------------------------------------------------------------------------------------------------------


def _carry(engine: EngineName, large: exp.Expression, small: exp.Expression, unit: int) -> dict[str, exp.Expression]:
    """Move whole units of the smaller field into the larger one, then bring both to one sign."""
    carried = sql(engine, "($1 + $2)", large, quotient(engine, small, unit))
    rest = sql(engine, f"($1 % {unit})", small)
    up = sql(engine, "(CASE WHEN $1 > 0 AND $2 < 0 THEN 1 WHEN $1 < 0 AND $2 > 0 THEN -1 ELSE 0 END)", carried, rest)
    return {
        "large": sql(engine, "($1 - $2)", carried, up),
        "small": sql(engine, f"($1 + $2 * {unit})", rest, up),
    }


def _justify(unit: str) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        parts = fields(engine, args[0])
        if unit == "hours":
            moved = _carry(engine, parts.days, parts.micros, DAY)
            made = interval(engine, parts.months, moved["large"], moved["small"])
        else:
            moved = _carry(engine, parts.months, parts.days, 30)
            made = interval(engine, moved["large"], moved["small"], parts.micros)
        return unless_null(engine, args[0], made)

    return build


def _justify_interval(
    engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall
) -> exp.Expression:
    """Divide all microseconds into months of 30 days, days and the rest. PostgreSQL carries field by field and then
    brings the fields to one sign, which gives the same. The sum is repeated because Spark plans nested lambdas slowly.
    """
    parts = fields(engine, args[0])
    wide = "HUGEINT" if engine == "local" else "DECIMAL(38, 0)"
    total = sql(engine, f"((CAST($1 AS {wide}) * 30 + $2) * {DAY} + $3)", parts.months, parts.days, parts.micros)
    days = quotient(engine, total, DAY)
    made = interval(
        engine,
        quotient(engine, days, 30),
        sql(engine, "($1 % 30)", days),
        sql(engine, f"($1 % {DAY})", total),
    )
    return unless_null(engine, args[0], made)


# --- making -----------------------------------------------------------------------------------------------------------


def _make_interval(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    years, months, weeks, days, hours, minutes, seconds = [*args, *[integer(0)] * (7 - len(args))]
    micros = sql(
        engine,
        f"(CAST($1 AS BIGINT) * {HOUR} + CAST($2 AS BIGINT) * {MINUTE} + CAST($3 AS BIGINT))",
        hours,
        minutes,
        rint(engine, sql(engine, f"(CAST($1 AS DOUBLE) * {SECOND}.0)", seconds)),
    )
    made = interval(
        engine, sql(engine, "($1 * 12 + $2)", years, months), sql(engine, "($1 * 7 + $2)", weeks, days), micros
    )
    made = in_carrier(engine, made)
    if not args:
        return made
    missing = " OR ".join(f"${n} IS NULL" for n in range(1, len(args) + 1))
    return unless_null(engine, sql(engine, f"CASE WHEN NOT ({missing}) THEN 1 END", *args), made)


def _row(make: str, name: str, args: Sequence[t.PgType], build: EngineBuilder) -> Function:
    return (op if make == "op" else fn)(name, args, t.INTERVAL, local=on("local", build), spark=on("spark", build))


ROWS: tuple[Function, ...] = (
    _row("op", "+", (t.INTERVAL, t.INTERVAL), _field_by_field("+")),
    _row("op", "-", (t.INTERVAL, t.INTERVAL), _field_by_field("-")),
    _row("op", "-", (t.INTERVAL,), _negate),
    _row("op", "*", (t.INTERVAL, t.FLOAT8), _times(0)),
    _row("op", "*", (t.FLOAT8, t.INTERVAL), _times(1)),
    _row("op", "/", (t.INTERVAL, t.FLOAT8), _divide),
    _row("fn", "justify_hours", (t.INTERVAL,), _justify("hours")),
    _row("fn", "justify_days", (t.INTERVAL,), _justify("days")),
    _row("fn", "justify_interval", (t.INTERVAL,), _justify_interval),
    replace(
        fn(
            "make_interval",
            (*(t.INT4,) * 6, t.FLOAT8),
            t.INTERVAL,
            local=on("local", _make_interval),
            spark=on("spark", _make_interval),
            optional=7,
        ),
        names=("years", "months", "weeks", "days", "hours", "mins", "secs"),
        defaults=(0, 0, 0, 0, 0, 0, 0.0),
    ),
)

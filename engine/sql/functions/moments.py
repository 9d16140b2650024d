"""The arithmetic below dates, times and intervals: conversion to integers and back, in either engine.

A moment is microseconds since 1970. An interval is three integers (months, days, microseconds), which stay separate as
they do in PostgreSQL. DuckDB has an INTERVAL of the same three fields; in Spark it is a struct of them. PostgreSQL's
computations with these numbers are written once, over trees, for both engines.

Spark's own timestamp functions are used only where their result does not depend on the session's time zone or is
corrected for it: `to_instant` takes the later of the two instants that a wall clock shows twice, as PostgreSQL does and
Java does not.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.sql.functions.trees import bound, raises, sql
from wire.dataclass import dataclass
from wire.types import pg_types as t

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
SPARK_EPOCH: Final = "CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ)"

#: The condition that holds for a finite date or timestamp in Spark: infinities are stored as the least and the greatest
#: number of the type, which are outside of PostgreSQL's calendar. Source: datatype/timestamp.h; the carriers cover most
#: of its range.
FINITE_ON_SPARK: Final = {
    t.DATE: "unix_date($1) BETWEEN -2440588 AND 2145042905",
    t.TIMESTAMP: "$1 BETWEEN CAST('-4800-01-01 00:00:00' AS TIMESTAMP_NTZ)"
    " AND CAST('+294247-01-10 04:00:54.775806' AS TIMESTAMP_NTZ)",
    t.TIMESTAMPTZ: "unix_micros($1) BETWEEN -9223372036854775806 AND 9223372036854775806",
}


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of an interval, as integer trees."""

    months: exp.Expression
    days: exp.Expression
    micros: exp.Expression


def fields(engine: EngineName, interval: exp.Expression) -> Fields:
    """Return the three fields of an interval; null if the interval is null."""
    if engine == "spark":
        return Fields(*(sql("spark", f"($1).{name}", interval) for name in ("months", "days", "micros")))
    return Fields(
        sql("local", "(datepart('year', $1) * 12 + datepart('month', $1))", interval),
        sql("local", "datepart('day', $1)", interval),
        sql(
            "local",
            f"(datepart('hour', $1) * {HOUR} + datepart('minute', $1) * {MINUTE} + datepart('microsecond', $1))",
            interval,
        ),
    )


#: The range of an interval's time part: carriers count its nanoseconds in 64 bits (`wire.types.interval_input`).
HOURS_MAX: Final = 2_562_047
TOO_MANY_HOURS: Final = f"not supported: an interval's time part beyond {HOURS_MAX} hours"


def in_carrier(engine: EngineName, interval: exp.Expression) -> exp.Expression:
    """Return a computed interval, or an error if its carrier cannot represent it."""
    hours = "datepart('hour', $1)" if engine == "local" else f"(($1).micros div {HOUR})"
    guarded = f"CASE WHEN abs({hours}) >= {HOURS_MAX} THEN $2 ELSE $1 END"
    beyond = raises(engine, "0A000", TOO_MANY_HOURS)
    return bound(engine, "span__", interval, lambda span: sql(engine, guarded, span, beyond))


def interval(
    engine: EngineName, months: exp.Expression, days: exp.Expression, micros: exp.Expression
) -> exp.Expression:
    """Build an interval of three integers, none of which may be null; see `in_carrier` for large ones."""
    if engine == "spark":
        made = "named_struct('months', CAST($1 AS INT), 'days', CAST($2 AS INT), 'micros', CAST($3 AS BIGINT))"
    else:
        made = "(to_months(CAST($1 AS INTEGER)) + to_days(CAST($2 AS INTEGER)) + to_microseconds(CAST($3 AS BIGINT)))"
    return sql(engine, made, months, days, micros)


def unless_null(engine: EngineName, test: exp.Expression, interval: exp.Expression) -> exp.Expression:
    """Return `interval`, or null if `test` is null.

    In Spark, the null has a struct's type: its fields may be null, which is required if the struct can be.
    """
    typed = "CAST(NULL AS STRUCT<months: INT, days: INT, micros: BIGINT>)" if engine == "spark" else "NULL"
    return sql(engine, f"CASE WHEN $1 IS NULL THEN {typed} ELSE $2 END", test, interval)


def micros_of(engine: EngineName, value: exp.Expression, typ: t.PgType) -> exp.Expression:
    """Return microseconds since 1970 of a timestamp or timestamptz, since midnight of a time."""
    if engine == "local":
        return sql("local", "epoch_us($1)", value)
    if typ is t.TIME:
        return value
    if typ is t.TIMESTAMPTZ:
        return sql("spark", "unix_micros($1)", value)
    # timestampdiff would read both in the session's time zone and lose an hour that is skipped there.
    seconds = f"CAST(CAST($1 - {SPARK_EPOCH} AS INTERVAL SECOND) AS DECIMAL(19, 6))"
    return sql("spark", f"CAST({seconds} * {SECOND} AS BIGINT)", value)


def moment(engine: EngineName, micros: exp.Expression, typ: t.PgType) -> exp.Expression:
    """Return the inverse of `micros_of`."""
    if engine == "local":
        if typ is t.TIME:
            return sql("local", "(CAST('00:00:00' AS TIME) + to_microseconds(CAST($1 AS BIGINT)))", micros)
        name = "make_timestamptz" if typ is t.TIMESTAMPTZ else "make_timestamp"
        return sql("local", f"{name}(CAST($1 AS BIGINT))", micros)
    if typ is t.TIME:
        return micros
    if typ is t.TIMESTAMPTZ:
        return sql("spark", "timestamp_micros($1)", micros)
    return sql("spark", f"timestampadd(MICROSECOND, $1, {SPARK_EPOCH})", micros)


def modulo(engine: EngineName, value: exp.Expression, divisor: int) -> exp.Expression:
    """Return value mod divisor, never negative."""
    if engine == "spark":
        return sql("spark", f"pmod($1, {divisor})", value)
    return sql("local", f"((($1 % {divisor}) + {divisor}) % {divisor})", value)


def quotient(engine: EngineName, value: exp.Expression, divisor: int) -> exp.Expression:
    """Return value / divisor, truncated towards zero."""
    return sql(engine, f"($1 div {divisor})" if engine == "spark" else f"($1 // {divisor})", value)


def floor_quotient(engine: EngineName, value: exp.Expression, divisor: int) -> exp.Expression:
    """Return value / divisor, rounded down."""
    rest = modulo(engine, value, divisor)
    return sql(engine, f"(($1 - $2) div {divisor})" if engine == "spark" else f"(($1 - $2) // {divisor})", value, rest)


def rint(engine: EngineName, value: exp.Expression) -> exp.Expression:
    """Return a float8 rounded to a whole number, halves to even."""
    return sql(engine, "rint($1)" if engine == "spark" else "round_even($1, 0)", value)


def shift_moment(engine: EngineName, value: exp.Expression, by: Fields, typ: t.PgType) -> exp.Expression:
    """Shift a timestamp by months (the day is clipped to the month's end), then days, then microseconds.

    An instant is shifted by months and days in the session's time zone.
    """
    if typ is not t.TIMESTAMPTZ:
        moved = "$1 + to_months($2) + to_days($3) + to_microseconds($4)"
        if engine == "spark":
            moved = "timestampadd(MICROSECOND, $4, timestampadd(DAY, $3, timestampadd(MONTH, $2, $1)))"
        return sql(engine, moved, value, *_cast_fields(engine, by))
    months, days, micros = _cast_fields(engine, by)
    in_months = bound(engine, "start__", value, lambda start: _on_clock(engine, start, "MONTH", months))
    in_days = bound(engine, "after__", in_months, lambda after: _on_clock(engine, after, "DAY", days))
    later = "$1 + to_microseconds($2)" if engine == "local" else "timestamp_micros(unix_micros($1) + $2)"
    return sql(engine, later, in_days, micros)


def _cast_fields(engine: EngineName, by: Fields) -> tuple[exp.Expression, exp.Expression, exp.Expression]:
    if engine == "spark":
        return by.months, by.days, by.micros
    months, days = (sql("local", "CAST($1 AS INTEGER)", count) for count in (by.months, by.days))
    return months, days, sql("local", "CAST($1 AS BIGINT)", by.micros)


def _on_clock(engine: EngineName, value: exp.Expression, unit: str, count: exp.Expression) -> exp.Expression:
    if engine == "local":
        # DuckDB also takes the later of two instants for a local time.
        add = f"CAST(CAST($1 AS TIMESTAMP) + to_{unit.lower()}s($2) AS TIMESTAMPTZ)"
        moved = sql("local", add, value, count)
    else:
        moved = to_instant(sql("spark", f"timestampadd({unit}, $2, CAST($1 AS TIMESTAMP_NTZ))", value, count))
    return sql(engine, "CASE WHEN $2 = 0 THEN $1 ELSE $3 END", value, count, moved)


def to_instant(local: exp.Expression) -> exp.Expression:
    """Return, in Spark, the instant of a timestamp in the session's time zone.

    Of two such instants the later one is taken: the one with the offset of a day later, if it shows the same time.
    """
    next_day = f"timestamp_micros(unix_micros(CAST(timestampadd(DAY, 1, $1) AS TIMESTAMP)) - {DAY})"
    shows = "CASE WHEN CAST($2 AS TIMESTAMP_NTZ) = $1 THEN $2 ELSE CAST($1 AS TIMESTAMP) END"

    def choose(wall: exp.Expression) -> exp.Expression:
        later = sql("spark", next_day, wall)
        return bound("spark", "later__", later, lambda instant: sql("spark", shows, wall, instant))

    return bound("spark", "wall__", local, choose)

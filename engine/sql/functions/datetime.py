"""Dates and times: PostgreSQL 15, section 9.9, operators and constructors. Fields and truncation are in `timefields`,
time zones in `zones`, intervals' own arithmetic in `intervals`, series in `series`.

The binder handles now(), current_timestamp and their kin (values fixed when execution begins); this module has only
those that PostgreSQL evaluates at each call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import of
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Call, Column, ColumnRef, Const, Function, Volatility
from engine.sql.functions.building import Templates, fn, op
from engine.sql.functions.moments import (
    DAY,
    FINITE_ON_SPARK,
    SECOND,
    Fields,
    fields,
    interval,
    micros_of,
    modulo,
    moment,
    quotient,
    rint,
    shift_moment,
    unless_null,
)
from engine.sql.functions.textual import apply
from engine.sql.functions.trees import EngineBuilder, bound, concat, integer, on, pack, raises, sql, text
from wire.errors import InvalidParameterValue
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall

MOMENTS: Final = (t.TIMESTAMP, t.TIMESTAMPTZ)
_STORED: Final = {
    ("local", t.TIMESTAMP): "TIMESTAMP",
    ("local", t.TIMESTAMPTZ): "TIMESTAMPTZ",
    ("spark", t.TIMESTAMP): "TIMESTAMP_NTZ",
    ("spark", t.TIMESTAMPTZ): "TIMESTAMP",
}
#: The maximum number of hours of a numeric time zone (MAX_TZDISP_HOUR).
_ZONE_HOURS: Final = 15

#: The first day of PostgreSQL's calendar (Julian day 0) and the last, counted from 1970; and the first day in DuckDB's
#: spelling.
_FIRST_DAY: Final = -2_440_588
_LAST_DAY: Final = 2_145_042_905
_FIRST: Final = "4714-11-24 (BC)"


def date_to_timestamp(engine: EngineName, date: exp.Expression) -> exp.Expression:
    """Return a date's first moment, as a timestamp."""
    return sql(engine, f"CAST($1 AS {_STORED[engine, t.TIMESTAMP]})", date)


# --- moments and intervals --------------------------------------------------------------------------------------------


def _negate(engine: EngineName, by: Fields) -> Fields:
    return Fields(*(sql(engine, "(- $1)", field) for field in (by.months, by.days, by.micros)))


def _move(engine: EngineName, value: exp.Expression, by: exp.Expression, typ: t.PgType, sign: str) -> exp.Expression:
    """Build a date, timestamp or timestamptz plus or minus an interval."""
    if engine == "local" and typ is not t.TIMESTAMPTZ:
        return _in_calendar(sql("local", f"$1 {sign} $2", value, by), t.TIMESTAMP)
    start = date_to_timestamp("spark", value) if typ is t.DATE else value
    parts = fields(engine, by)
    moved = shift_moment(engine, start, parts if sign == "+" else _negate(engine, parts), typ)
    if engine == "local":
        moved = _in_calendar(moved, typ)
    return sql(engine, "CASE WHEN $2 IS NOT NULL THEN $1 END", moved, by)


def _in_calendar(value: exp.Expression, typ: t.PgType) -> exp.Expression:
    """Return a moment in DuckDB, or an error if it is before the beginning of PostgreSQL's calendar, where DuckDB's
    goes on.
    """
    kind = "TIMESTAMPTZ" if typ is t.TIMESTAMPTZ else "TIMESTAMP"
    zone = "+00" if typ is t.TIMESTAMPTZ else ""
    early = f"CASE WHEN $1 < CAST('{_FIRST} 00:00:00{zone}' AS {kind}) AND isfinite($1) THEN $2 ELSE $1 END"
    wrong = raises("local", "22008", "timestamp out of range")
    return bound("local", "moved__", value, lambda moved: sql("local", early, moved, wrong))


def _mover(typ: t.PgType, sign: str, interval_first: bool = False) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        value, by = reversed(args) if interval_first else args
        return _move(engine, value, by, typ, sign)

    return build


def _move_time(sign: str, interval_first: bool = False) -> EngineBuilder:
    """Return the builder of a time plus or minus an interval's time part, modulo 24 hours."""

    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        value, by = reversed(args) if interval_first else args
        return _after(engine, value, by, sign)

    return build


def _after(engine: EngineName, time: exp.Expression, by: exp.Expression, sign: str = "+") -> exp.Expression:
    moved = sql(engine, f"($1 {sign} $2)", micros_of(engine, time, t.TIME), fields(engine, by).micros)
    return moment(engine, modulo(engine, moved, DAY), t.TIME)


def _move_zoned_time(sign: str, interval_first: bool = False) -> EngineBuilder:
    """Return the builder of the same for a time with time zone, which keeps its offset."""

    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        value, by = reversed(args) if interval_first else args
        moved = sql(engine, f"(($1).micros {sign} $2)", value, fields(engine, by).micros)
        made = pack(engine, {"micros": modulo(engine, moved, DAY), "zone": sql(engine, "($1).zone", value)})
        return sql(engine, "CASE WHEN $1 IS NULL OR $2 IS NULL THEN NULL ELSE $3 END", value, by, made)

    return build


def _on_day(date_first: bool = True) -> EngineBuilder:
    """Return the builder of the instant of a time with time zone on a day; its offset counts seconds west. Infinite
    days stay.
    """

    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        day, time = args if date_first else reversed(args)
        start = micros_of(engine, date_to_timestamp(engine, day), t.TIMESTAMP)
        micros = sql(engine, f"($1 + ($2).micros + ($2).zone * CAST({SECOND} AS BIGINT))", start, time)
        made = moment(engine, micros, t.TIMESTAMPTZ)
        if engine == "spark":
            return made
        infinite = "CASE WHEN $3 IS NULL THEN NULL WHEN isfinite($1) THEN $2 ELSE CAST(CAST($1 AS TIMESTAMP) AS TIMESTAMPTZ) END"
        return sql("local", infinite, day, made, time)

    return build


def _operator(symbol: str, args: Sequence[t.PgType], returns: t.PgType, build: EngineBuilder) -> Function:
    return op(symbol, args, returns, local=on("local", build), spark=on("spark", build))


def _interval_operators() -> Iterator[Function]:
    for typ in (t.DATE, *MOMENTS):
        result = t.TIMESTAMP if typ is t.DATE else typ
        yield _operator("+", (typ, t.INTERVAL), result, _mover(typ, "+"))
        yield _operator("+", (t.INTERVAL, typ), result, _mover(typ, "+", interval_first=True))
        yield _operator("-", (typ, t.INTERVAL), result, _mover(typ, "-"))
    yield _operator("+", (t.TIME, t.INTERVAL), t.TIME, _move_time("+"))
    yield _operator("+", (t.INTERVAL, t.TIME), t.TIME, _move_time("+", interval_first=True))
    yield _operator("-", (t.TIME, t.INTERVAL), t.TIME, _move_time("-"))
    yield _operator("+", (t.TIMETZ, t.INTERVAL), t.TIMETZ, _move_zoned_time("+"))
    yield _operator("+", (t.INTERVAL, t.TIMETZ), t.TIMETZ, _move_zoned_time("+", interval_first=True))
    yield _operator("-", (t.TIMETZ, t.INTERVAL), t.TIMETZ, _move_zoned_time("-"))
    yield _operator("+", (t.DATE, t.TIMETZ), t.TIMESTAMPTZ, _on_day())
    yield _operator("+", (t.TIMETZ, t.DATE), t.TIMESTAMPTZ, _on_day(date_first=False))


# --- differences ------------------------------------------------------------------------------------------------------


def _subtract_moments(typ: t.PgType) -> EngineBuilder:
    """Return the builder of a difference of moments: days of 24 hours and the rest, without months. (DuckDB's own
    difference of instants counts days in the session's time zone.)
    """

    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        left, right = (micros_of(engine, arg, typ) for arg in args)

        def split(micros: exp.Expression) -> exp.Expression:
            rest = sql(engine, f"($1 % {DAY})", micros)
            made = interval(engine, integer(0), quotient(engine, micros, DAY), rest)
            return unless_null(engine, micros, made)

        elapsed = bound(engine, "elapsed__", sql(engine, "$1 - $2", left, right), split)
        if engine == "spark":
            return elapsed
        infinite = raises("local", "22008", "cannot subtract infinite timestamps")
        finite = "CASE WHEN isfinite($1) AND isfinite($2) THEN $3 WHEN $1 IS NOT NULL AND $2 IS NOT NULL THEN $4 END"
        return sql("local", finite, *args, elapsed, infinite)

    return build


def _between_times(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    micros = sql(engine, "($1 - $2)", *(micros_of(engine, arg, t.TIME) for arg in args))
    if engine == "local":
        return sql("local", "to_microseconds($1)", micros)
    return unless_null("spark", micros, interval("spark", integer(0), integer(0), micros))


_INFINITE_DATES = "RAISE('22008', 'cannot subtract infinite dates')"
_DIFFERENCES = (
    op(
        "-", (t.DATE, t.DATE), t.INT4,
        local=f"CASE WHEN isfinite($1) AND isfinite($2) THEN CAST($1 - $2 AS INTEGER) WHEN $1 IS NOT NULL AND $2 IS NOT NULL "
        f"THEN {_INFINITE_DATES} END",
        spark="datediff($1, $2)",
    ),
    *(_operator("-", (typ, typ), t.INTERVAL, _subtract_moments(typ)) for typ in MOMENTS),
    _operator("-", (t.TIME, t.TIME), t.INTERVAL, _between_times),
)  # fmt: skip


# --- dates with numbers and times -------------------------------------------------------------------------------------


def _date_time(date: int) -> EngineBuilder:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        day, time = args[date], args[1 - date]
        if engine == "local":
            return sql("local", "$1 + $2", day, time)
        return sql("spark", "timestampadd(MICROSECOND, $2, $1)", date_to_timestamp("spark", day), time)

    return build


def _days_later(date: str, sign: str, days: str) -> Templates:
    """Return a date that many days later (or earlier), or an error if PostgreSQL has no such date; the engines'
    calendars are larger.
    """
    wrong = "RAISE('22008', 'date out of range')"
    day = f"({date} - CAST('1970-01-01' AS DATE)) {sign} {days}"
    number = f"unix_date({date}) {sign} CAST({days} AS BIGINT)"
    outside = f"NOT BETWEEN {_FIRST_DAY} AND {_LAST_DAY}"
    return {
        "local": f"CASE WHEN isfinite({date}) AND {day} {outside} THEN {wrong} ELSE {date} {sign} {days} END",
        "spark": f"CASE WHEN {number} {outside} THEN {wrong} ELSE date_add({date}, {sign}{days}) END",
    }


_DATES = (
    op("+", (t.DATE, t.INT4), t.DATE, **_days_later("$1", "+", "$2")),
    op("+", (t.INT4, t.DATE), t.DATE, **_days_later("$2", "+", "$1")),
    op("-", (t.DATE, t.INT4), t.DATE, **_days_later("$1", "-", "$2")),
    _operator("+", (t.DATE, t.TIME), t.TIMESTAMP, _date_time(0)),
    _operator("+", (t.TIME, t.DATE), t.TIMESTAMP, _date_time(1)),
)

# --- age --------------------------------------------------------------------------------------------------------------


def _age(engine: EngineName, later: exp.Expression, earlier: exp.Expression) -> exp.Expression:
    """Build the years, months, days and time between two timestamps, field by field (timestamp_age).

    A borrowed month has as many days as the earlier timestamp's month. The age is computed for the later minus the
    earlier timestamp, then negated if the arguments came in the other order.
    """
    pair = "struct_pack(a := greatest($1, $2), b := least($1, $2), minus := $1 < $2)"
    if engine == "spark":
        pair = "named_struct('a', greatest($1, $2), 'b', least($1, $2), 'minus', $1 < $2)"
    span = bound(engine, "pair__", sql(engine, pair, later, earlier), lambda p: _span(engine, p))
    either = sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", later, earlier)
    return unless_null(engine, either, span)


def _span(engine: EngineName, pair: exp.Expression) -> exp.Expression:
    a, b = sql(engine, "($1).a", pair), sql(engine, "($1).b", pair)

    def of(name: str, value: exp.Expression) -> exp.Expression:
        return sql(engine, f"datepart('{name}', $1)" if engine == "local" else f"{name}($1)", value)

    clock = [modulo(engine, micros_of(engine, value, t.TIMESTAMP), DAY) for value in (a, b)]
    micros = sql(engine, "($1 - $2)", *clock)
    days = sql(engine, "($1 - $2 - CASE WHEN $3 < 0 THEN 1 ELSE 0 END)", of("day", a), of("day", b), micros)
    months = sql(
        engine,
        "(($1 - $2) * 12 + $3 - $4)",
        of("year", a), of("year", b), of("month", a), of("month", b),
    )  # fmt: skip
    length = sql(engine, "datepart('day', last_day($1))" if engine == "local" else "day(last_day(CAST($1 AS DATE)))", b)
    pack = "struct_pack(months := $1, days := $2, micros := $3, len := $4, sign := $5)"
    if engine == "spark":
        pack = "named_struct('months', $1, 'days', $2, 'micros', $3, 'len', $4, 'sign', $5)"
    sign = sql(engine, "CASE WHEN ($1).minus THEN -1 ELSE 1 END", pair)
    packed = sql(engine, pack, months, days, micros, length, sign)

    def apply_sign(found: exp.Expression) -> exp.Expression:
        return interval(
            engine,
            sql(engine, "(($1).sign * (($1).months - CASE WHEN ($1).days < 0 THEN 1 ELSE 0 END))", found),
            sql(engine, "(($1).sign * (($1).days + CASE WHEN ($1).days < 0 THEN ($1).len ELSE 0 END))", found),
            sql(engine, f"(($1).sign * (($1).micros + CASE WHEN ($1).micros < 0 THEN {DAY} ELSE 0 END))", found),
        )

    return bound(engine, "found__", packed, apply_sign)


def _local_time(engine: EngineName, value: exp.Expression, typ: t.PgType) -> exp.Expression:
    """Return a timestamp, or a timestamptz in the session's time zone."""
    return value if typ is t.TIMESTAMP else sql(engine, f"CAST($1 AS {_STORED[engine, t.TIMESTAMP]})", value)


def _age_row(typ: t.PgType, arity: int) -> Function:
    def build(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        today = date_to_timestamp(engine, sql(engine, "current_date()" if engine == "spark" else "today()"))
        both = [_local_time(engine, arg, typ) for arg in args]
        span = _age(engine, *(both if arity == 2 else (today, both[0])))
        if engine == "spark":
            return span
        # PostgreSQL treats infinity like its last day.
        infinite = raises("local", "0A000", "not supported: age of an infinite timestamp")
        condition = " AND ".join(f"isfinite(${n})" for n in range(3, 3 + arity))
        known = " AND ".join(f"${n} IS NOT NULL" for n in range(3, 3 + arity))
        return sql("local", f"CASE WHEN {condition} THEN $1 WHEN {known} THEN $2 END", span, infinite, *args)

    volatility: Volatility = "immutable" if arity == 2 and typ is t.TIMESTAMP else "stable"
    return fn(
        "age", (typ,) * arity, t.INTERVAL, local=on("local", build), spark=on("spark", build), volatility=volatility
    )


_AGE = tuple(_age_row(typ, arity) for typ in MOMENTS for arity in (1, 2))


# --- making -----------------------------------------------------------------------------------------------------------


def _pad_zeros(engine: EngineName, number: exp.Expression, width: int) -> exp.Expression:
    """Return a number with leading zeros; a longer number is printed in full."""
    shown = sql(engine, f"CAST($1 AS {'VARCHAR' if engine == 'local' else 'STRING'})", number)
    return sql(
        engine,
        f"CASE WHEN $1 BETWEEN 0 AND {10 ** (width - 1) - 1} THEN lpad($2, {width}, '0') ELSE $2 END",
        number,
        shown,
    )


def date_of(engine: EngineName, parts: Sequence[exp.Expression]) -> exp.Expression:
    """Build make_date: a negative year is before Christ, and there is no year zero."""
    year, month, day = parts
    shown = concat(
        engine,
        [
            sql(engine, f"CAST($1 AS {'VARCHAR' if engine == 'local' else 'STRING'})", year),
            text("-"),
            _pad_zeros(engine, month, 2),
            text("-"),
            _pad_zeros(engine, day, 2),
        ],
    )
    wrong = raises(engine, "22008", concat(engine, [text("date field value out of range: "), shown]))
    astronomical = sql(engine, "CASE WHEN $1 < 0 THEN $1 + 1 ELSE $1 END", year)
    length = "days_in_month(make_date($4, $2, 1))" if engine == "local" else "day(last_day(make_date($4, $2, 1)))"
    guarded = (
        "CASE WHEN $1 = 0 OR $2 < 1 OR $2 > 12 OR $3 < 1 OR $3 > 31 THEN $5 "
        f"WHEN $3 > {length} THEN $5 ELSE make_date($4, $2, $3) END"
    )
    return sql(engine, guarded, year, month, day, astronomical, wrong)


def _clock_of(engine: EngineName, parts: Sequence[exp.Expression]) -> exp.Expression:
    """Return make_time's microseconds; 24:00:00 and a 60th second are allowed."""
    hour, minute, second = parts
    shown = concat(
        engine,
        [
            _pad_zeros(engine, hour, 2),
            text(":"),
            _pad_zeros(engine, minute, 2),
            text(":"),
            _pad_zeros(engine, sql(engine, "CAST(floor($1) AS BIGINT)", second), 2),
        ],
    )
    wrong = raises(engine, "22008", concat(engine, [text("time field value out of range: "), shown]))
    micros = sql(
        engine,
        f"(($1 * 60 + $2) * {60 * SECOND} + CAST($3 AS BIGINT))",
        sql(engine, "CAST($1 AS BIGINT)", hour),
        minute,
        rint(engine, sql(engine, f"($1 * {SECOND}.0)", second)),
    )
    guarded = f"CASE WHEN $1 < 0 OR $2 < 0 OR $2 > 59 OR $3 < 0 OR $3 > 60 OR $1 > 24 THEN $4 WHEN $5 > {DAY} THEN $4 ELSE $5 END"
    return sql(engine, guarded, hour, minute, second, wrong, micros)


def _make_date(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    year, month, day = (f"CAST(${n} AS {'VARCHAR' if engine == 'local' else 'STRING'})" for n in (1, 2, 3))
    astronomical = sql(engine, "CASE WHEN $1 < 0 THEN $1 + 1 ELSE $1 END", args[0])
    shown = f"{year} || '-' || lpad({month}, 2, '0') || '-' || lpad({day}, 2, '0')"
    wrong = raises(engine, "22008", sql(engine, f"'date out of range: ' || {shown}", astronomical, *args[1:]))
    # The first day is in a year of which the calendar has only a part.
    outside = "$1 < -4714 OR $1 > 5874897 OR ($1 = -4714 AND $2 * 100 + $3 < 1124)"
    return sql(
        engine,
        f"CASE WHEN $1 IS NULL OR $2 IS NULL OR $3 IS NULL THEN NULL WHEN {outside} THEN $5 ELSE $4 END",
        *args, date_of(engine, args), wrong,
    )  # fmt: skip


def _make_time(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    made = moment(engine, _clock_of(engine, args), t.TIME)
    if engine == "local":
        # Adding to midnight would wrap around: 24:00:00 is a time of its own.
        made = sql(
            "local", f"CASE WHEN $2 = {DAY} THEN CAST('24:00:00' AS TIME) ELSE $1 END", made, _clock_of(engine, args)
        )
    return sql(engine, "CASE WHEN $1 IS NULL OR $2 IS NULL OR $3 IS NULL THEN NULL ELSE $4 END", *args, made)


def _make_timestamp(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    day = date_to_timestamp(engine, date_of(engine, args[:3]))
    clock = _clock_of(engine, args[3:])
    moved = "$1 + to_microseconds($2)" if engine == "local" else "timestampadd(MICROSECOND, $2, $1)"
    missing = " OR ".join(f"${n} IS NULL" for n in range(1, 7))
    made = sql(engine, moved, day, clock)
    made = _in_calendar(made, t.TIMESTAMP) if engine == "local" else made
    return sql(engine, f"CASE WHEN {missing} THEN NULL ELSE $7 END", *args, made)


def _to_timestamp(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build to_timestamp of seconds since 1970. PostgreSQL rounds the microseconds since 2000, which affects a
    float8's last digit.
    """
    shift = 946_684_800
    micros = sql(
        engine,
        f"CAST($1 AS BIGINT) + {shift * SECOND}",
        rint(engine, sql(engine, f"(($1 - {shift}) * {SECOND}.0)", args[0])),
    )
    made = moment(engine, micros, t.TIMESTAMPTZ)
    not_number = raises(engine, "22008", "timestamp cannot be NaN")
    shown = sql(engine, f"CAST($1 AS {'VARCHAR' if engine == 'local' else 'STRING'})", args[0])
    wrong = raises(engine, "22008", concat(engine, [text('timestamp out of range: "'), shown, text('"')]))
    infinite = "CASE WHEN $1 > 0 THEN CAST('infinity' AS TIMESTAMPTZ) ELSE CAST('-infinity' AS TIMESTAMPTZ) END"
    if engine == "spark":
        infinite = "raise_error('SQLSTATE:0A000:not supported: infinity')"
    unbounded = "isinf($1)" if engine == "local" else "abs($1) = CAST('Infinity' AS DOUBLE)"
    return sql(
        engine,
        f"CASE WHEN isnan($1) THEN $2 WHEN {unbounded} THEN {infinite} "
        "WHEN $1 < -210866803200 OR $1 >= 9224318016000 THEN $3 ELSE $4 END",
        args[0], not_number, wrong, made,
    )  # fmt: skip


def _make_instant(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build make_timestamptz in a zone, the session's unless one is given."""
    clock = _make_timestamp(engine, args[:6], call)
    value = ColumnRef(of(t.TIMESTAMP), Column(-1, "clock", of(t.TIMESTAMP)))
    from engine.sql.functions.registry import registry

    known = registry()
    if len(args) == 6:
        to_instant = known.find_cast(t.TIMESTAMP, t.TIMESTAMPTZ)
        assert to_instant is not None
        return apply(engine, to_instant, [clock], Call(of(t.TIMESTAMPTZ), to_instant, (value,)))
    at_zone = next(row for row in known.functions("timezone") if row.args == (t.TEXT, t.TIMESTAMP))
    zone, written = args[6], call.args[6]
    if isinstance(written, Const) and isinstance(written.value, str):
        written = replace(written, value=_zone_to_the_west(written.value))
        zone = text(str(written.value))
    return apply(engine, at_zone, [zone, clock], Call(of(t.TIMESTAMPTZ), at_zone, (written, value)))


def _zone_to_the_west(zone: str) -> str:
    """Convert a zone of make_timestamptz to that of AT TIME ZONE: a number counts to the east in the former, as in a
    timestamp's text, and to the west in the latter, as in POSIX (timestamp.c: parse_sane_timezone).
    """
    if zone[:1].isdigit():
        raise InvalidParameterValue(
            f'invalid input syntax for type numeric time zone: "{zone}"',
            hint='Numeric time zones must have "-" or "+" as first character.',
        )
    if zone[:1] not in ("+", "-"):
        return zone
    hours = re.match(r"[+-](\d+)", zone)
    if hours is not None and int(hours[1][:2]) > _ZONE_HOURS:
        raise InvalidParameterValue(f'numeric time zone "{zone}" out of range')
    return ("-" if zone[0] == "+" else "+") + zone[1:]


_MAKING = (
    *(
        fn(name, args, returns, local=on("local", build), spark=on("spark", build))
        for name, args, returns, build in (
            ("make_date", (t.INT4,) * 3, t.DATE, _make_date),
            ("make_time", (t.INT4, t.INT4, t.FLOAT8), t.TIME, _make_time),
            ("make_timestamp", (*(t.INT4,) * 5, t.FLOAT8), t.TIMESTAMP, _make_timestamp),
            ("to_timestamp", (t.FLOAT8,), t.TIMESTAMPTZ, _to_timestamp),
        )
    ),
    *(
        fn(
            "make_timestamptz", (*(t.INT4,) * 5, t.FLOAT8, *zone), t.TIMESTAMPTZ,
            local=on("local", _make_instant), spark=on("spark", _make_instant), volatility="stable",
        )
        for zone in ((), (t.TEXT,))
    ),
    fn("clock_timestamp", (), t.TIMESTAMPTZ, local="get_current_timestamp()", spark="current_timestamp()", volatility="volatile"),
    *(fn("isfinite", (typ,), t.BOOL, local="isfinite($1)", spark=FINITE_ON_SPARK[typ]) for typ in (t.DATE, *MOMENTS)),
    fn("isfinite", (t.INTERVAL,), t.BOOL, "CASE WHEN $1 IS NOT NULL THEN TRUE END"),
)  # fmt: skip


# --- overlaps ---------------------------------------------------------------------------------------------------------


def _overlaps(engine: EngineName, periods: Sequence[exp.Expression]) -> exp.Expression:
    """Build OVERLAPS: whether two periods share a moment. Periods are half-open, and a point is itself; null if the
    result depends on a null end.
    """
    start = "CASE WHEN {0} IS NULL OR {0} > {1} THEN {1} ELSE {0} END"
    end = "CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL WHEN {0} > {1} THEN {0} ELSE {1} END"
    named = {
        "s1": start.format("$1", "$2"), "e1": end.format("$1", "$2"),
        "s2": start.format("$3", "$4"), "e2": end.format("$3", "$4"),
    }  # fmt: skip
    if engine == "local":
        packed = sql("local", "struct_pack({})".format(", ".join(f"{k} := {v}" for k, v in named.items())), *periods)
    else:
        packed = sql("spark", "named_struct({})".format(", ".join(f"'{k}', {v}" for k, v in named.items())), *periods)
    decide = (
        "CASE WHEN ($1).s1 IS NULL OR ($1).s2 IS NULL THEN NULL "
        "WHEN ($1).s1 > ($1).s2 THEN CASE WHEN ($1).e2 IS NULL THEN NULL WHEN ($1).s1 < ($1).e2 THEN TRUE "
        "WHEN ($1).e1 IS NULL THEN NULL ELSE FALSE END "
        "WHEN ($1).s1 < ($1).s2 THEN CASE WHEN ($1).e1 IS NULL THEN NULL WHEN ($1).s2 < ($1).e1 THEN TRUE "
        "WHEN ($1).e2 IS NULL THEN NULL ELSE FALSE END "
        "WHEN ($1).e1 IS NULL OR ($1).e2 IS NULL THEN NULL ELSE TRUE END"
    )
    return bound(engine, "ends__", packed, lambda ends: sql(engine, decide, ends))


def _end(engine: EngineName, start: exp.Expression, length: exp.Expression, typ: t.PgType) -> exp.Expression:
    return _after(engine, start, length) if typ is t.TIME else _move(engine, start, length, typ, "+")


def _overlaps_row(typ: t.PgType, lengths: tuple[bool, bool]) -> Function:
    """Return a row of OVERLAPS. lengths: for each period, whether its second argument is an interval."""
    args = [t.INTERVAL if place % 2 and lengths[place // 2] else typ for place in range(4)]

    def build(engine: EngineName, given: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
        ends = list(given)
        for period, has_length in enumerate(lengths):
            if has_length:
                start, length = given[2 * period], given[2 * period + 1]
                ends[2 * period + 1] = _end(engine, start, length, typ)
        return _overlaps(engine, ends)

    return fn("overlaps", args, t.BOOL, local=on("local", build), spark=on("spark", build), strict=False)


_OVERLAPS = (
    *(_overlaps_row(typ, (a, b)) for typ in MOMENTS for a in (False, True) for b in (False, True)),
    *(_overlaps_row(t.TIME, (a, b)) for a in (False, True) for b in (False, True)),
)

ROWS: tuple[Function, ...] = (*_interval_operators(), *_DIFFERENCES, *_DATES, *_AGE, *_MAKING, *_OVERLAPS)

"""Fields of dates, times and intervals, and truncation: extract, date_part, date_trunc, date_bin (PostgreSQL 15,
9.9.1-9.9.3).

The field must be a constant: it decides which expression computes it, and how many digits extract's numeric has. A
field is kept as a whole number with a scale (seconds are microseconds with scale 6), so that extract is exact;
date_part divides it as a float8.

Fields that grow without bound have no number for infinite timestamps; extract refuses them when it meets one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import SqlType, numeric
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Const, Expr, Function
from engine.sql.functions.building import fn
from engine.sql.functions.moments import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Fields,
    fields,
    floor_quotient,
    interval,
    micros_of,
    modulo,
    moment,
    quotient,
    to_instant,
    unless_null,
)
from engine.sql.functions.trees import EngineBuilder, concat, constant_text, integer, on, raises, sql, text
from engine.sql.functions.zones import in_zone, to_zone
from engine.sql.trees.build import case, cast
from engine.sql.trees.storage_types import storage_type
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported, InvalidParameterValue
from wire.types import pg_types as t
from wire.types.carriers import NumericScale

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

#: Every spelling of a unit in PostgreSQL's datetime tables, by the unit's canonical name.
_SPELLINGS: Final[dict[str, tuple[str, ...]]] = {
    "microseconds": ("microsecond", "microsecon", "us", "usec", "usecond", "useconds", "usecs"),
    "milliseconds": ("millisecond", "millisecon", "ms", "msec", "msecond", "mseconds", "msecs"),
    "second": ("s", "sec", "seconds", "secs"),
    "minute": ("m", "min", "mins", "minutes"),
    "hour": ("h", "hours", "hr", "hrs"),
    "day": ("d", "days"),
    "week": ("w", "weeks"),
    "month": ("mon", "mons", "months"),
    "quarter": ("qtr",),
    "year": ("y", "years", "yr", "yrs"),
    "decade": ("dec", "decades", "decs"),
    "century": ("c", "cent", "centuries"),
    "millennium": ("mil", "millennia", "mils"),
    "isoyear": (),
    "isodow": (),
    "dow": (),
    "doy": (),
    "epoch": (),
    "julian": ("j", "jd"),
    "timezone": (),
    "timezone_hour": ("timezone_h",),
    "timezone_minute": ("timezone_m",),
}
_UNITS: Final[dict[str, str]] = {
    **{name: name for name in _SPELLINGS},
    **{spelling: name for name, spellings in _SPELLINGS.items() for spelling in spellings},
}
_CLOCK: Final = ("microseconds", "milliseconds", "second", "minute", "hour")
_CALENDAR: Final = (
    "day", "week", "month", "quarter", "year", "decade", "century", "millennium", "isoyear", "isodow", "dow", "doy",
)  # fmt: skip
_ZONE: Final = ("timezone", "timezone_hour", "timezone_minute")
#: Fields that grow without bound, which have no value for an infinite timestamp.
_GROWING: Final = ("year", "decade", "century", "millennium", "isoyear", "epoch", "julian")
_SUPPORTED: Final[dict[t.PgType, tuple[str, ...]]] = {
    t.DATE: (*_CALENDAR, "epoch", "julian"),
    t.TIMESTAMP: (*_CLOCK, *_CALENDAR, "epoch", "julian"),
    t.TIMESTAMPTZ: (*_CLOCK, *_CALENDAR, "epoch", "julian", *_ZONE),
    t.TIME: (*_CLOCK, "epoch"),
    t.TIMETZ: (*_CLOCK, "epoch", *_ZONE),
    t.INTERVAL: (*_CLOCK, "day", "month", "quarter", "year", "decade", "century", "millennium", "epoch"),
}
_SCALES: Final = {"second": 6, "milliseconds": 3, "epoch": 6}
#: The number of digits of a field: few enough for 64 bits where they fit.
_FEW: Final = 12
_PRECISION: Final = {"second": 8, "milliseconds": 8, "epoch": 19}
_JULIAN_OF_1970: Final = 2_440_588
#: Microseconds in a year of 365.25 days and in a month of 30, for an interval's epoch.
_YEAR_SECONDS: Final = 31_557_600
_MONTH_SECONDS: Final = 2_592_000


def unit_of(
    name: str, typ: t.PgType, supported: Sequence[str], *, known: Collection[str] = _SPELLINGS, why: str | None = None
) -> str:
    """Return a unit's canonical name. Raises 22023 for a word that is not in `known`, 0A000 for one that the type does
    not support. why: the detail of that error.
    """
    name = name.lower()
    unit = _UNITS.get(name)
    if unit is None or unit not in known:
        raise InvalidParameterValue(f'unit "{name}" not recognized for type {typ.sql_name}')
    if unit not in supported:
        raise FeatureNotSupported(f'unit "{name}" not supported for type {typ.sql_name}', detail=why)
    return unit


def _by_row(build: EngineBuilder) -> EngineBuilder:
    """Wrap `build` so that an unknown unit is an error of the rows whose moment is not null, as in PostgreSQL, where
    the functions are strict: there is none for a relation without rows.
    """

    def build_checked(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        try:
            return build(engine, args, call)
        except InvalidParameterValue as error:
            failure = raises(engine, error.sqlstate, error.message)
            found = sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", args[1], failure)
            return cast(found, storage_type(call.type, engine))

    return build_checked


# --- extract and date_part --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """A field's value times 10^scale, a whole number."""

    value: exp.Expression
    scale: int = 0


def _part_by_name(engine: EngineName, local: str, spark: str, value: exp.Expression) -> exp.Expression:
    return sql(engine, f"datepart('{local}', $1)" if engine == "local" else spark, value)


def _calendar_field(engine: EngineName, unit: str, value: exp.Expression) -> exp.Expression:
    """Return a field of a date or timestamp that depends on the day."""
    year = _part_by_name(engine, "year", "year($1)", value)
    if unit in ("year", "isoyear"):
        which = year if unit == "year" else _part_by_name(engine, "isoyear", "extract(YEAROFWEEK FROM $1)", value)
        # There is no year zero: the year before 1 is -1.
        return sql(engine, "(CASE WHEN $1 > 0 THEN $1 ELSE $1 - 1 END)", which)
    if unit == "decade":
        return floor_quotient(engine, year, 10)
    if unit in ("century", "millennium"):
        size = 100 if unit == "century" else 1000
        count = "(CASE WHEN $1 > 0 THEN ($1 + {0}) {1} {2} ELSE - (({0} - ($1 - 1)) {1} {2}) END)"
        return sql(engine, count.format(size - 1, "//" if engine == "local" else "div", size), year)
    spark = {
        "day": "day($1)",
        "month": "month($1)",
        "quarter": "quarter($1)",
        "week": "weekofyear($1)",
        "dow": "(dayofweek($1) - 1)",
        "isodow": "(weekday($1) + 1)",
        "doy": "dayofyear($1)",
    }
    return _part_by_name(engine, unit, spark[unit], value)


def _clock_field(engine: EngineName, unit: str, micros: exp.Expression) -> exp.Expression:
    """Return a field of microseconds since midnight (or of an interval's time, which has a sign)."""
    if unit == "hour":
        return quotient(engine, micros, HOUR)
    if unit == "minute":
        return sql(engine, "($1 % 60)", quotient(engine, micros, MINUTE))
    return sql(engine, f"($1 % {MINUTE})", micros)


def _zone_field(engine: EngineName, unit: str, seconds: exp.Expression) -> exp.Expression:
    """Return a field of an offset in seconds east of Greenwich."""
    if unit == "timezone":
        return seconds
    whole = quotient(engine, seconds, 3600 if unit == "timezone_hour" else 60)
    return whole if unit == "timezone_hour" else sql(engine, "($1 % 60)", whole)


def moment_field(engine: EngineName, unit: str, value: exp.Expression, typ: t.PgType) -> exp.Expression:
    local = to_local(engine, value) if typ is t.TIMESTAMPTZ else value
    if unit == "epoch":
        return micros_of(engine, value, typ)
    if unit in _ZONE:
        offset = sql(engine, "($1 - $2)", micros_of(engine, local, t.TIMESTAMP), micros_of(engine, value, typ))
        return _zone_field(engine, unit, quotient(engine, offset, SECOND))
    if unit in _CLOCK:
        return _clock_field(engine, unit, modulo(engine, micros_of(engine, local, t.TIMESTAMP), DAY))
    return _calendar_field(engine, unit, local)


def _date_field(engine: EngineName, unit: str, value: exp.Expression) -> exp.Expression:
    days = sql(engine, "($1 - CAST('1970-01-01' AS DATE))" if engine == "local" else "unix_date($1)", value)
    if unit == "epoch":
        return sql(engine, "(CAST($1 AS BIGINT) * 86400)", days)
    if unit == "julian":
        return sql(engine, f"($1 + {_JULIAN_OF_1970})", days)
    return _calendar_field(engine, unit, value)


def _interval_field(engine: EngineName, unit: str, value: exp.Expression) -> exp.Expression:
    parts = fields(engine, value)
    if unit in _CLOCK:
        return _clock_field(engine, unit, parts.micros)
    if unit == "day":
        return parts.days
    month = sql(engine, "($1 % 12)", parts.months)
    if unit == "month":
        return month
    if unit == "quarter":
        return sql(engine, "($1 + 1)", quotient(engine, month, 3))
    if unit == "epoch":
        seconds = f"CAST($1 AS BIGINT) * {_YEAR_SECONDS} + $2 * {_MONTH_SECONDS} + $3 * 86400"
        years = quotient(engine, parts.months, 12)
        return sql(engine, f"(({seconds}) * {SECOND} + $4)", years, month, parts.days, parts.micros)
    return quotient(engine, parts.months, {"year": 12, "decade": 120, "century": 1200, "millennium": 12000}[unit])


def _timetz_field(engine: EngineName, unit: str, value: exp.Expression) -> exp.Expression:
    micros, west = sql(engine, "($1).micros", value), sql(engine, "($1).zone", value)
    if unit in _ZONE:
        return _zone_field(engine, unit, sql(engine, "(- $1)", west))
    if unit == "epoch":
        return sql(engine, f"($1 + CAST($2 AS BIGINT) * {SECOND})", micros, west)
    return _clock_field(engine, unit, micros)


def _field(engine: EngineName, unit: str, value: exp.Expression, typ: t.PgType) -> Field:
    scale = 0 if typ is t.DATE else _SCALES.get(unit, 0)
    if typ is t.DATE:
        return Field(_date_field(engine, unit, value), scale)
    if typ is t.INTERVAL:
        return Field(_interval_field(engine, unit, value), scale)
    if typ is t.TIMETZ:
        return Field(_timetz_field(engine, unit, value), scale)
    if typ is t.TIME:
        micros = micros_of(engine, value, typ)
        return Field(micros if unit == "epoch" else _clock_field(engine, unit, micros), scale)
    return Field(moment_field(engine, unit, value, typ), scale)


def _unit(call: Call | AggregateCall, tree: exp.Expression, typ: t.PgType) -> str | None:
    """Return the unit that a call's first argument names for a type; None for a null."""
    name = constant_text(tree)
    if name is None and isinstance(call.args[0], Const):
        return None
    if name is None:
        raise FeatureNotSupported(f"not supported: {call.function.name} with a field that is not a constant")
    return unit_of(name, typ, _SUPPORTED[typ])


def _finite(
    engine: EngineName, unit: str, value: exp.Expression, typ: t.PgType, result: exp.Expression
) -> exp.Expression:
    if engine == "spark" or unit not in _GROWING or typ not in (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ):
        return result
    refusal = raises("local", "0A000", f"not supported: {unit} of an infinite {typ.name}")
    return sql("local", "CASE WHEN NOT isfinite($1) THEN $2 ELSE $3 END", value, refusal, result)


def _or_infinite(
    engine: EngineName, unit: str, value: exp.Expression, typ: t.PgType, result: exp.Expression
) -> exp.Expression:
    """Return a float8 field, or an infinity for an infinite moment."""
    if engine == "spark" or unit not in _GROWING or typ not in (t.TIMESTAMP, t.TIMESTAMPTZ):
        return result
    infinite = "CASE WHEN $1 > CAST('2000-01-01' AS TIMESTAMP) THEN CAST('Infinity' AS DOUBLE) ELSE CAST('-Infinity' AS DOUBLE) END"
    return sql("local", f"CASE WHEN NOT isfinite($1) THEN {infinite} ELSE $2 END", value, result)


def _extract(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    typ = call.args[1].type.pg
    unit = _unit(call, args[0], typ)
    if unit is None:
        return exp.Null()
    if unit == "julian" and typ is not t.DATE:
        return _finite(engine, unit, args[1], typ, _julian(engine, args[1], typ))
    field = _field(engine, unit, args[1], typ)
    whole = sql(engine, f"CAST($1 AS DECIMAL({_PRECISION.get(unit, _FEW)}, 0))", field.value)
    # A product of decimals is exact in both engines; DuckDB's quotient would be a float8.
    exact = {
        0: whole,
        3: sql(engine, "($1 * CAST(0.001 AS DECIMAL(4, 3)))", whole),
        6: sql(engine, "($1 * CAST(0.000001 AS DECIMAL(7, 6)))", whole),
    }[field.scale]
    return _finite(engine, unit, args[1], typ, exact)


#: Fractional digits of a day: numeric_div gives 20 of them, of less than 8.65 seconds 24, of less than 865 microseconds 28.
_JULIAN_DIGITS: Final = 28


def _julian(engine: EngineName, value: exp.Expression, typ: t.PgType) -> exp.Expression:
    """Return the julian day of a timestamp, with the elapsed fraction of the day."""
    if engine == "spark":
        raise FeatureNotSupported("not supported: extract(julian from a timestamp)")
    micros = micros_of(engine, to_local(engine, value) if typ is t.TIMESTAMPTZ else value, t.TIMESTAMP)
    day = sql(engine, f"($1 + {_JULIAN_OF_1970})", floor_quotient(engine, micros, DAY))
    part = sql(engine, "CAST($1 AS HUGEINT)", modulo(engine, micros, DAY))
    few, more, most = (
        f"($1 * CAST('1{'0' * digits}' AS HUGEINT) + {DAY // 2}) // {DAY} * CAST('1{'0' * (_JULIAN_DIGITS - digits)}' AS HUGEINT)"
        for digits in (20, 24, _JULIAN_DIGITS)
    )
    fraction = sql(engine, f"CASE WHEN $1 < 865 THEN {most} WHEN $1 < 8650000 THEN {more} ELSE {few} END", part)
    text = f"CAST($1 AS VARCHAR) || '.' || lpad(CAST($2 AS VARCHAR), {_JULIAN_DIGITS}, '0')"
    return sql(engine, f"CAST({text} AS DECIMAL(37, {_JULIAN_DIGITS}))", day, fraction)


def _digits(args: Sequence[Expr]) -> SqlType:
    """Return the type of extract's result: whole, or with the field's fractional digits."""
    name = args[0].value if isinstance(args[0], Const) else None
    unit = _UNITS.get(str(name).lower(), "")
    if unit == "julian" and args[1].type.pg is not t.DATE:
        return numeric(37, _JULIAN_DIGITS, NumericScale.TRIMMED, minimum=20)
    scale = 0 if args[1].type.pg is t.DATE else _SCALES.get(unit, 0)
    return numeric(_PRECISION.get(unit, _FEW), scale)


def _date_part(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    typ, value = call.args[1].type.pg, args[1]
    if typ is t.DATE:
        # date_part casts a date to a timestamp, which has more fields.
        typ, value = t.TIMESTAMP, to_local(engine, value)
    unit = _unit(call, args[0], typ)
    if unit is None:
        return sql(engine, "CAST(NULL AS DOUBLE)")
    if unit == "julian":
        local = to_local(engine, value) if typ is t.TIMESTAMPTZ else value
        micros = micros_of(engine, local, t.TIMESTAMP)
        days = sql(engine, f"($1 + {_JULIAN_OF_1970})", floor_quotient(engine, micros, DAY))
        rest = sql(engine, f"(CAST($1 AS DOUBLE) / {DAY}.0)", modulo(engine, micros, DAY))
        whole = sql(engine, "CAST($1 AS DOUBLE)", days)
        return _or_infinite(engine, unit, value, typ, sql(engine, "$1 + $2", whole, rest))
    if unit == "epoch" and typ is t.INTERVAL:
        return _interval_epoch(engine, fields(engine, value))
    field = _field(engine, unit, value, typ)
    divisor = f" / {10**field.scale}.0" if field.scale else ""
    return _or_infinite(engine, unit, value, typ, sql(engine, f"CAST($1 AS DOUBLE){divisor}", field.value))


def _interval_epoch(engine: EngineName, parts: Fields) -> exp.Expression:
    """Return an interval in seconds as a float8, summed in PostgreSQL's order, on which its last digits depend."""
    double = "CAST({} AS DOUBLE)"
    summed = (
        f"{double.format('$1')} / {SECOND}.0 + {double.format('$2')} * {_YEAR_SECONDS}.0 "
        f"+ {double.format('$3')} * {_MONTH_SECONDS}.0 + {double.format('$4')} * 86400.0"
    )
    month = sql(engine, "($1 % 12)", parts.months)
    return sql(engine, summed, parts.micros, quotient(engine, parts.months, 12), month, parts.days)


# --- date_trunc -------------------------------------------------------------------------------------------------------

_TRUNCATED: Final = (*_CLOCK, "day", "week", "month", "quarter", "year", "decade", "century", "millennium")
_CLOCK_MICROS: Final = {
    "microseconds": 1,
    "milliseconds": 1000,
    "second": SECOND,
    "minute": MINUTE,
    "hour": HOUR,
    "day": DAY,
}


def to_local(engine: EngineName, value: exp.Expression) -> exp.Expression:
    """Return an instant in the session's time zone, or a date's first moment."""
    return sql(engine, "CAST($1 AS TIMESTAMP)" if engine == "local" else "CAST($1 AS TIMESTAMP_NTZ)", value)


def _from_local(engine: EngineName, value: exp.Expression) -> exp.Expression:
    return sql("local", "CAST($1 AS TIMESTAMPTZ)", value) if engine == "local" else to_instant(value)


def _truncate(engine: EngineName, unit: str, value: exp.Expression) -> exp.Expression:
    """Return a timestamp truncated to a unit."""
    if unit in _CLOCK_MICROS:
        micros = micros_of(engine, value, t.TIMESTAMP)
        whole = sql(engine, "($1 - $2)", micros, modulo(engine, micros, _CLOCK_MICROS[unit]))
        return moment(engine, whole, t.TIMESTAMP)
    if unit in ("decade", "century", "millennium"):
        size = {"decade": 10, "century": 100, "millennium": 1000}[unit]
        year = _part_by_name(engine, "year", "year($1)", value)
        # Centuries and millennia begin with a year 1; years before Christ are astronomical years here.
        first = 0 if unit == "decade" else 1
        shifted = sql(engine, f"($1 - {first})", year)
        start = sql(engine, f"($1 * {size} + {first})", floor_quotient(engine, shifted, size))
        day = sql(engine, "make_date(CAST($1 AS INT), 1, 1)", start)
        return sql(engine, "CAST($1 AS TIMESTAMP)" if engine == "local" else "CAST($1 AS TIMESTAMP_NTZ)", day)
    if engine == "local":
        return sql("local", f"CAST(date_trunc('{unit}', $1) AS TIMESTAMP)", value)
    return sql("spark", f"CAST(trunc(CAST($1 AS DATE), '{unit}') AS TIMESTAMP_NTZ)", value)


def _trunc_moment(
    engine: EngineName, unit: str, value: exp.Expression, typ: t.PgType, zone: exp.Expression | None
) -> exp.Expression:
    if unit == "microseconds":
        return value
    if typ is t.TIMESTAMP:
        return _finite_trunc(engine, value, _truncate(engine, unit, value))
    local = to_local(engine, value) if zone is None else to_zone(engine, zone, value)
    if unit in _CLOCK:
        # Within an hour the offset is kept, so that an hour that occurs twice is not confused with the other one.
        rest = modulo(engine, micros_of(engine, local, t.TIMESTAMP), _CLOCK_MICROS[unit])
        start = moment(engine, sql(engine, "($1 - $2)", micros_of(engine, value, typ), rest), typ)
    elif zone is None:
        start = _from_local(engine, _truncate(engine, unit, local))
    else:
        start = in_zone(engine, zone, _truncate(engine, unit, local))
    return _finite_trunc(engine, value, start)


def _finite_trunc(engine: EngineName, value: exp.Expression, result: exp.Expression) -> exp.Expression:
    """Return an infinite timestamp unchanged, else `result`."""
    return sql("local", "CASE WHEN isfinite($1) THEN $2 ELSE $1 END", value, result) if engine == "local" else result


def _trunc_interval(engine: EngineName, unit: str, value: exp.Expression) -> exp.Expression:
    parts = fields(engine, value)
    zero = integer(0)
    if unit in _CLOCK:
        size = _CLOCK_MICROS[unit]
        micros = sql(engine, "($1 - $2)", parts.micros, sql(engine, f"($1 % {size})", parts.micros))
        made = interval(engine, parts.months, parts.days, micros)
    elif unit == "day":
        made = interval(engine, parts.months, parts.days, zero)
    else:
        size = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}[unit]
        months = sql(engine, "($1 - $2)", parts.months, sql(engine, f"($1 % {size})", parts.months))
        made = interval(engine, months, zero, zero)
    return unless_null(engine, value, made)


def _date_trunc(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    name, typ = constant_text(args[0]), call.args[1].type.pg
    if name is None and isinstance(call.args[0], Const):
        return sql(engine, "CASE WHEN FALSE THEN $1 END", args[1])
    if name is None:
        return _trunc_computed(engine, args, call)
    supported = tuple(unit for unit in _TRUNCATED if unit != "week") if typ is t.INTERVAL else _TRUNCATED
    week = typ is t.INTERVAL and _UNITS.get(name.lower()) == "week"
    why = "Months usually have fractional weeks." if week else None
    unit = unit_of(name, typ, supported, known=(*_TRUNCATED, *_ZONE), why=why)
    if typ is t.INTERVAL:
        return _trunc_interval(engine, unit, args[1])
    return _trunc_moment(engine, unit, args[1], typ, args[2] if len(args) == 3 else None)


def _trunc_computed(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build date_trunc with a computed unit: one branch for each unit."""
    if engine == "spark":
        raise FeatureNotSupported("not supported: date_trunc with a field that is not a constant")
    name, typ = sql(engine, "lower($1)", args[0]), call.args[1].type.pg
    branches: list[tuple[exp.Expression, exp.Expression]] = []
    for unit in _TRUNCATED:
        if typ is not t.INTERVAL or unit != "week":
            spellings = exp.In(this=name.copy(), expressions=[text(s) for s, of in _UNITS.items() if of == unit])
            branches.append((spellings, _date_trunc(engine, [text(unit), *(arg.copy() for arg in args[1:])], call)))
    refused = [text(s) for s, of in _UNITS.items() if of in _ZONE or (of == "week" and typ is t.INTERVAL)]
    message = concat(engine, [text('unit "'), name, text(f'" not supported for type {typ.sql_name}')])
    branches.append((exp.In(this=name.copy(), expressions=refused), raises(engine, "0A000", message)))
    message = concat(engine, [text('unit "'), name, text(f'" not recognized for type {typ.sql_name}')])
    branches.append((sql(engine, "$1 IS NOT NULL AND $2 IS NOT NULL", name, args[1]), raises(engine, "22023", message)))
    return case(branches, None)


# --- date_bin ---------------------------------------------------------------------------------------------------------


def _date_bin(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build date_bin: the start of the interval of length `stride`, counted from `origin`, that contains a timestamp."""
    typ = call.args[1].type.pg
    stride, value, origin = args
    parts = fields(engine, stride)
    size = sql(engine, f"($1 + CAST($2 AS BIGINT) * {DAY})", parts.micros, parts.days)
    distance = sql(engine, "($1 - $2)", *(micros_of(engine, side, typ) for side in (value, origin)))
    rest = "pmod($1, $2)" if engine == "spark" else "((($1 % $2) + $2) % $2)"
    start = sql(engine, "($1 - $2)", micros_of(engine, value, typ), sql(engine, rest, distance, size))
    months = raises(engine, "0A000", "timestamps cannot be binned into intervals containing months or years")
    positive = raises(engine, "22008", "stride must be greater than zero")
    binned = sql(
        engine,
        "CASE WHEN $1 IS NULL OR $2 IS NULL THEN NULL WHEN $3 <> 0 THEN $4 WHEN $5 <= 0 THEN $6 ELSE $7 END",
        value, origin, parts.months, months, size, positive, moment(engine, start, typ),
    )  # fmt: skip
    if engine == "spark":
        return binned
    # Any null argument gives null; if both the moment and the origin are infinite, the moment is returned.
    known = "$1 IS NOT NULL AND $2 IS NOT NULL AND $5 IS NOT NULL"
    outside = "CASE WHEN isfinite($1) THEN $4 ELSE $1 END"
    whether = f"CASE WHEN isfinite($1) AND isfinite($2) THEN $3 WHEN {known} THEN {outside} END"
    return sql("local", whether, value, origin, binned, raises("local", "22008", "origin out of range"), stride)


_SOURCES: Final = (t.DATE, t.TIMESTAMP, t.TIMESTAMPTZ, t.TIME, t.TIMETZ, t.INTERVAL)

ROWS: tuple[Function, ...] = (
    *(
        fn(
            "extract",
            (t.TEXT, typ),
            t.NUMERIC,
            local=on("local", _by_row(_extract)),
            spark=on("spark", _by_row(_extract)),
            by_value=_digits,
        )
        for typ in _SOURCES
    ),
    *(
        fn(
            "date_part",
            (t.TEXT, typ),
            t.FLOAT8,
            local=on("local", _by_row(_date_part)),
            spark=on("spark", _by_row(_date_part)),
        )
        for typ in _SOURCES
    ),
    *(
        fn(
            "date_trunc",
            (t.TEXT, *args),
            args[0],
            local=on("local", _by_row(_date_trunc)),
            spark=on("spark", _by_row(_date_trunc)),
        )
        for args in ((t.TIMESTAMP,), (t.TIMESTAMPTZ,), (t.TIMESTAMPTZ, t.TEXT), (t.INTERVAL,))
    ),
    *(
        fn("date_bin", (t.INTERVAL, typ, typ), typ, local=on("local", _date_bin), spark=on("spark", _date_bin))
        for typ in (t.TIMESTAMP, t.TIMESTAMPTZ)
    ),
)

"""Casts between types that are functions in PostgreSQL's pg_cast, and the casts of a type to itself, which apply a
modifier.

The binder handles casts that need no computation (it relabels). A cast that changes the digits of a numeric, the length
of a string or the decimals of a time finds them on its call's type. Rounding is PostgreSQL's: floats to integers half
to even, numerics and fractions of seconds half away from zero. An oid is unsigned, and values wrap where they wrap in
PostgreSQL.

Neighbours: `casts_output` for casts to text, `casts_input` for casts from it.

Source: PostgreSQL 15, pg_cast; int.c, float.c, numeric.c, varchar.c, timestamp.c (AdjustTimestampForTypmod).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.error_codec import as_text
from engine.common.sql_type import UNKNOWN_DIGITS, SqlType, element_type, numeric, of
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Call, Column, ColumnRef, Function, Volatility
from engine.sql.functions import digits
from engine.sql.functions.building import cast, parse, place
from engine.sql.functions.decimals import power
from engine.sql.functions.dimensions import each
from engine.sql.functions.moments import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    fields,
    interval,
    micros_of,
    modulo,
    moment,
    quotient,
    unless_null,
)
from engine.sql.functions.result_sizes import padded_length
from engine.sql.functions.textual import apply, typed_as_text
from engine.sql.functions.trees import both, bound, fail_with, pack, sql, text
from engine.sql.functions.widening import cast_widened
from engine.sql.trees.storage_types import storage_name
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t
from wire.types.carriers import PG_EPOCH_MICROS, NumericScale
from wire.types.interval_input import smallest_field
from wire.types.interval_modifiers import FULL_PRECISION
from wire.types.numbers_input import numeric_overflow

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall

_INTS: Final = {t.INT2: "SMALLINT", t.INT4: "INTEGER", t.INT8: "BIGINT"}
_FLOATS: Final = {t.FLOAT4: ("REAL", "FLOAT"), t.FLOAT8: ("DOUBLE", "DOUBLE")}
_STRINGS: Final = (t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME)
_WIDER: Final = {t.INT2: (t.INT4, t.INT8), t.INT4: (t.INT8,), t.INT8: ()}
_SPELLED: Final = {t.INT2: "smallint", t.INT4: "integer", t.INT8: "bigint"}
_NAME_BYTES: Final = 63
#: Digits of a decimal that a double holds without loss.
_EXACT_DIGITS: Final = 15
#: Significant digits of a float that PostgreSQL passes to numeric (FLT_DIG, DBL_DIG), minus one.
_FLOAT_DIGITS: Final = {t.FLOAT4: 5, t.FLOAT8: 14}


def _cast_to_storage(engine: EngineName, before: str = "$1") -> Builder:
    """Return a template of CAST(before AS the result's storage type)."""

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        return place(parse(engine, f"CAST({before} AS {storage_name(call.type, engine)})"), args)

    return build


def _cast_to_precision(engine: EngineName) -> Builder:
    """Return a template that rounds a numeric to declared digits. The cast to the storage type does that, except for a
    declared scale that is negative or greater than the precision.
    """

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        typmod = call.type.typmod
        precision, scale = t.numeric_precision_scale(typmod) if typmod >= 0 else (0, 0)
        if 0 <= scale <= precision:
            return _cast_to_storage(engine)(args, call)
        given, kept = call.args[0].type.scale, max(scale, 0)
        rounded = f"round(CAST($1 AS DECIMAL(38, {min(given, 38 - call.type.precision)})), {scale})"
        fitted = f"CAST({rounded} AS DECIMAL(38, {kept}))"
        limit = power(engine, precision - scale)
        sized = (
            f"CASE WHEN abs({fitted}) >= {limit} THEN $2 ELSE CAST({fitted} AS {storage_name(call.type, engine)}) END"
        )
        too_large = fail_with(engine, text(as_text(numeric_overflow(precision, scale))))
        return bound(engine, "given__", args[0], lambda value: place(parse(engine, sized), [value, too_large]))

    return build


def _integers() -> Iterator[Function]:
    for source in _INTS:
        for target, name in _INTS.items():
            plain = f"CAST($1 AS {name})"
            if target in _WIDER[source]:
                yield cast(source, target, local=plain, spark=cast_widened(target))
            elif source is not target:
                yield cast(source, target, plain)
        for target, (local, spark) in _FLOATS.items():
            yield cast(source, target, local=f"CAST($1 AS {local})", spark=f"CAST($1 AS {spark})")
        yield cast(
            source, t.NUMERIC, local=_cast_to_storage("local"), spark=_cast_to_storage("spark"), rule=_as_numeric
        )
        for target in t.OID_TYPES:
            wrapped = f"CAST($1 AS BIGINT) + CASE WHEN $1 < 0 THEN {2**32} ELSE 0 END"
            refused = f"CASE WHEN $1 < 0 OR $1 >= {2**32} THEN RAISE('22003', 'OID out of range') ELSE $1 END"
            yield cast(source, target, refused if source is t.INT8 else wrapped)
    for source in t.OID_TYPES:
        yield cast(source, t.INT4, f"CAST($1 - CASE WHEN $1 >= {2**31} THEN {2**32} ELSE 0 END AS INTEGER)")
        yield cast(source, t.INT8, "$1")
        if source is not t.OID:
            yield cast(source, t.OID, "$1")
            yield cast(t.OID, source, "$1")
    yield cast(t.BOOL, t.INT4, "CAST($1 AS INTEGER)")
    yield cast(t.INT4, t.BOOL, "$1 <> 0")


def _as_numeric(types: Sequence[SqlType]) -> SqlType:
    return digits.as_numeric(types[0])


def _from_float(types: Sequence[SqlType]) -> SqlType:
    del types
    precision, scale = UNKNOWN_DIGITS
    return numeric(precision, scale, NumericScale.TRIMMED)


def _narrow_double(tried: str, name: str) -> str:
    """Return a double cast to a float. DuckDB refuses values that are too large, and Java returns infinity; both
    silently round small values to zero.
    """
    infinity = "CAST('Infinity' AS DOUBLE)"
    return (
        f"CASE WHEN ({tried} IS NULL AND $1 IS NOT NULL) OR (abs({tried}) = {infinity} AND abs($1) <> {infinity})"
        " THEN RAISE('22003', 'value out of range: overflow')"
        f" WHEN {tried} = 0 AND $1 <> 0 THEN RAISE('22003', 'value out of range: underflow')"
        f" ELSE CAST($1 AS {name}) END"
    )


def _floats() -> Iterator[Function]:
    yield cast(t.FLOAT4, t.FLOAT8, "CAST($1 AS DOUBLE)")
    yield cast(
        t.FLOAT8,
        t.FLOAT4,
        local=_narrow_double("TRY_CAST($1 AS REAL)", "REAL"),
        spark=_narrow_double("CAST($1 AS FLOAT)", "FLOAT"),
    )
    for source in _FLOATS:
        for target, name in _INTS.items():
            low, high = _bounds(target)
            outside = (
                f"CASE WHEN isnan($1) OR $1 < {low} OR $1 >= {high} "
                f"THEN RAISE('22003', '{_SPELLED[target]} out of range')"
            )
            yield cast(
                source,
                target,
                local=f"{outside} ELSE CAST(round_even($1, 0) AS {name}) END",
                spark=f"{outside} ELSE CAST(rint($1) AS {name}) END",
            )
        yield cast(
            source, t.NUMERIC, local=_decimal("local", source), spark=_decimal("spark", source), rule=_from_float
        )


def _bounds(target: t.PgType) -> tuple[str, str]:
    """Return the doubles between which a float fits the integer type once it is rounded: low <= x < high."""
    bits = {t.INT2: 15, t.INT4: 31, t.INT8: 63}[target]
    half = "" if bits == 63 else ".5"
    low = f"CAST('-{2**bits}{half}' AS DOUBLE)"
    high = f"CAST('{2**bits - (0 if bits == 63 else 1)}{half}' AS DOUBLE)"
    return low, high


def _decimal(engine: EngineName, source: t.PgType) -> Builder:
    """Return a template of a float's significant digits, taken from its scientific notation: a direct cast in the
    engines would expose its binary noise.
    """
    shape = f"%.{_FLOAT_DIGITS[source]}e"
    written = (
        f"printf('{shape}', CAST($1 AS DOUBLE))"
        if engine == "local"
        else f"format_string('{shape}', CAST($1 AS DOUBLE))"
    )

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        refused = (
            "CASE WHEN $1 IS NULL THEN NULL WHEN isnan($1) OR abs($1) = CAST('Infinity' AS DOUBLE) "
            "THEN RAISE('0A000', 'not supported: NaN and infinity as numeric')"
        )
        # Digits beyond the storage would be rounded away silently, so the value is compared with 37 fractional digits.
        # Above 0.1, a float has too few digits for this to happen.
        stored = f"CAST({written} AS {storage_name(call.type, engine)})"
        precise = f"TRY_CAST({written} AS DECIMAL(38, 37))"
        kept = f"TRY_CAST(TRY_{stored} AS DECIMAL(38, 37))"
        lossy = (
            f"WHEN $1 <> 0 AND abs($1) < 0.1 AND ({kept} = 0 OR {precise} <> {kept})"
            " THEN RAISE('22003', 'value out of range: more digits than numeric can hold here')"
        )
        text = f"{refused} {lossy} ELSE {stored} END"
        return bound(engine, "float__", args[0], lambda value: place(parse(engine, text), [value]))

    return build


def _nearest(name: str) -> Builder:
    """Return a template that reads the value from its text. DuckDB's cast divides by a power of ten, which is off by a
    digit unless both are exact doubles.
    """

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        exact = call.args[0].type.precision <= _EXACT_DIGITS and name == "DOUBLE"
        return sql("local", f"CAST({'$1' if exact else 'CAST($1 AS VARCHAR)'} AS {name})", args[0])

    return build


def _numerics() -> Iterator[Function]:
    for target, name in _INTS.items():
        yield cast(t.NUMERIC, target, local=f"CAST(round($1, 0) AS {name})", spark=f"CAST(round($1, 0) AS {name})")
    for target, (local, spark) in _FLOATS.items():
        yield cast(t.NUMERIC, target, local=_nearest(local), spark=f"CAST($1 AS {spark})")
    yield cast(t.NUMERIC, t.NUMERIC, local=_cast_to_precision("local"), spark=_cast_to_precision("spark"))


def _strings() -> Iterator[Function]:
    for source in (t.UUID, t.JSON, t.JSONB, t.CHAR, t.NAME):
        yield cast(source, t.TEXT, "$1")
    yield cast(t.BPCHAR, t.TEXT, local="rtrim($1, ' ')", spark="rtrim($1)")
    yield cast(t.TEXT, t.NAME, f"left($1, {_NAME_BYTES})")
    # The output of boolout; text and varchar have a cast of their own.
    yield cast(t.BOOL, t.NAME, "CASE WHEN $1 THEN 't' WHEN NOT $1 THEN 'f' END")
    # "char" is one byte in PostgreSQL: it may be the first byte of a character, or be written as octal digits.
    letter = "RAISE('0A000', 'not supported: a letter beyond ASCII as \"char\"')"
    code = " + ".join(f"(ascii(substr($1, {place}, 1)) - 48) * {worth}" for place, worth in ((2, 64), (3, 8), (4, 1)))
    octal = f"CASE WHEN ({code}) % 256 = 0 THEN '' WHEN ({code}) % 256 > 127 THEN {letter} ELSE chr(({code}) % 256) END"
    is_octal = "length($1) = 4 AND left($1, 1) = chr(92) AND translate(substr($1, 2), '01234567', '') = ''"
    plain = f"CASE WHEN ascii($1) > 127 THEN {letter} ELSE left($1, 1) END"
    yield cast(t.TEXT, t.CHAR, f"CASE WHEN {is_octal} THEN {octal} ELSE {plain} END")
    yield cast(t.JSONB, t.JSON, "$1")


def _lengths() -> Iterator[Function]:
    """Yield the casts of a string type to itself, which apply a length; character(n) is padded."""

    def cut(engine: EngineName, padded: bool) -> Builder:
        def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
            length = call.type.typmod - 4
            given = args[0]
            if call.args[0].type.pg is t.BPCHAR and not padded:
                given = sql(engine, "rtrim($1, ' ')" if engine == "local" else "rtrim($1)", given)
            if length < 0:
                return given
            padding = f"rpad(left($1, {length}), {padded_length(engine, length)}, ' ')"
            return place(parse(engine, padding if padded else f"left($1, {length})"), [given])

        return build

    for source in (t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME):
        for target, padded in ((t.VARCHAR, False), (t.BPCHAR, True)):
            yield cast(source, target, local=cut("local", padded), spark=cut("spark", padded))


def _moments() -> Iterator[Function]:
    names = {
        t.DATE: ("DATE", "DATE"),
        t.TIMESTAMP: ("TIMESTAMP", "TIMESTAMP_NTZ"),
        t.TIMESTAMPTZ: ("TIMESTAMPTZ", "TIMESTAMP"),
    }
    for source in names:
        for target, (local, spark) in names.items():
            if source is not target:
                yield cast(
                    source,
                    target,
                    local=_keep_infinite_dates(f"CAST($1 AS {local})", local)
                    if source is t.DATE
                    else f"CAST($1 AS {local})",
                    spark=f"CAST($1 AS {spark})",
                    volatility="stable" if t.TIMESTAMPTZ in (source, target) else "immutable",
                )
    for source in (t.TIMESTAMP, t.TIMESTAMPTZ):
        stable: Volatility = "stable" if source is t.TIMESTAMPTZ else "immutable"
        yield cast(source, t.TIME, volatility=stable, **both(_time_of_day))
    yield cast(t.TIMESTAMPTZ, t.TIMETZ, volatility="stable", **both(_zoned_time_of_day))
    yield cast(t.TIME, t.TIMETZ, volatility="stable", **both(_zoned_time_of_today))
    yield cast(t.TIME, t.INTERVAL, **both(_span_of_time))
    yield cast(t.INTERVAL, t.TIME, **both(_time_of_span))
    yield cast(t.TIMETZ, t.TIME, **both(_time_of_zoned))


def _keep_infinite_dates(text: str, name: str) -> str:
    """Keep infinite dates, which DuckDB would convert to an ordinary moment."""
    infinities = " ".join(
        f"WHEN $1 = CAST('{word}' AS DATE) THEN CAST('{word}' AS {name})" for word in ("infinity", "-infinity")
    )
    return f"CASE {infinities} ELSE {text} END"


def _to_clock(engine: EngineName, value: exp.Expression, typ: t.PgType) -> exp.Expression:
    """Return a timestamp, or the session's local time of an instant."""
    if typ is t.TIMESTAMP:
        return value
    return sql(engine, f"CAST($1 AS {'TIMESTAMP' if engine == 'local' else 'TIMESTAMP_NTZ'})", value)


def _micros_of_day(engine: EngineName, value: exp.Expression, typ: t.PgType) -> exp.Expression:
    return modulo(engine, micros_of(engine, _to_clock(engine, value, typ), t.TIMESTAMP), DAY)


def _time_of_day(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    return moment(engine, _micros_of_day(engine, args[0], call.args[0].type.pg), t.TIME)


def _zoned_time_of_day(
    engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall
) -> exp.Expression:
    """Build the local time of an instant with the offset of the session's zone at that instant, in seconds west."""
    clock = micros_of(engine, _to_clock(engine, args[0], t.TIMESTAMPTZ), t.TIMESTAMP)
    instant = micros_of(engine, args[0], t.TIMESTAMPTZ)
    west = quotient(engine, sql(engine, "($1 - $2)", instant, clock), SECOND)
    kind = "INTEGER" if engine == "local" else "INT"
    fields_ = {"micros": modulo(engine, clock, DAY), "zone": sql(engine, f"CAST($1 AS {kind})", west)}
    none = "NULL" if engine == "local" else "CAST(NULL AS STRUCT<micros: BIGINT, zone: INT>)"
    unknown = "$1 IS NULL OR NOT isfinite($1)" if engine == "local" else "$1 IS NULL"
    return sql(engine, f"CASE WHEN {unknown} THEN {none} ELSE $2 END", args[0], pack(engine, fields_))


def _zoned_time_of_today(
    engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall
) -> exp.Expression:
    """Build the time with the offset that the session's zone has at that time today (date.c: time_timetz)."""
    moment_type = "TIMESTAMP" if engine == "local" else "TIMESTAMP_NTZ"
    midnight = micros_of(engine, sql(engine, f"CAST(current_date() AS {moment_type})"), t.TIMESTAMP)
    micros = micros_of(engine, args[0], t.TIME)
    clock = moment(engine, sql(engine, "$1 + $2", midnight, micros), t.TIMESTAMP)
    instant = sql(engine, f"CAST($1 AS {'TIMESTAMPTZ' if engine == 'local' else 'TIMESTAMP'})", clock)
    zone = sql(engine, "($1).zone", _zoned_time_of_day(engine, [instant], call))
    none = "NULL" if engine == "local" else "CAST(NULL AS STRUCT<micros: BIGINT, zone: INT>)"
    return sql(
        engine, f"CASE WHEN $1 IS NULL THEN {none} ELSE $2 END", args[0], pack(engine, {"micros": micros, "zone": zone})
    )


def _span_of_time(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    zero = sql(engine, "0")
    return unless_null(engine, args[0], interval(engine, zero, zero, micros_of(engine, args[0], t.TIME)))


def _time_of_span(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    micros = sql(engine, "CAST($1 AS BIGINT)", modulo(engine, fields(engine, args[0]).micros, DAY))
    time = moment(engine, micros, t.TIME)
    return sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", args[0], time)


def _time_of_zoned(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    micros = sql(engine, "($1).micros", args[0])
    midnight = sql(engine, "CAST('24:00:00' AS TIME)") if engine == "local" else micros
    return sql(engine, f"CASE WHEN $1 = {DAY} THEN $2 ELSE $3 END", micros, midnight, moment(engine, micros, t.TIME))


# --- decimals of seconds, fields of intervals -------------------------------------------------------------------------


def _round_micros(engine: EngineName, micros: exp.Expression, precision: int) -> exp.Expression:
    """Round microseconds to a number of decimals of a second, halves away from zero."""
    unit = 10 ** (6 - precision)
    up, down = (
        quotient(engine, sql(engine, text, micros), unit) for text in (f"($1 + {unit // 2})", f"($1 - {unit // 2})")
    )
    return sql(engine, f"(CASE WHEN $1 >= 0 THEN $2 ELSE $3 END * {unit})", micros, up, down)


def _decimals(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build the casts of time, timestamp and timestamptz to a precision. PostgreSQL rounds moments away from its
    epoch, the year 2000.
    """
    typ = call.type
    if not 0 <= typ.typmod < 6:
        return args[0]
    epoch = 0 if typ.pg is t.TIME else PG_EPOCH_MICROS
    micros = sql(engine, f"($1 - {epoch})", micros_of(engine, args[0], typ.pg))
    rounded = bound(engine, "since__", micros, lambda since: _round_micros(engine, since, typ.typmod))
    value = moment(engine, sql(engine, f"($1 + {epoch})", rounded), typ.pg)
    if engine == "spark":
        return value
    if typ.pg is not t.TIME:
        return sql("local", "CASE WHEN isfinite($1) THEN $2 ELSE $1 END", args[0], value)
    full = f"CASE WHEN epoch_us($1) >= {DAY - 10 ** (6 - typ.typmod) // 2} THEN CAST('24:00:00' AS TIME) ELSE $2 END"
    return sql("local", full, args[0], value)


def _zoned_decimals(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    if not 0 <= call.type.typmod < 6:
        return args[0]
    micros, zone = (sql(engine, f"($1).{name}", args[0]) for name in ("micros", "zone"))
    made = pack(engine, {"micros": _round_micros(engine, micros, call.type.typmod), "zone": zone})
    none = "NULL" if engine == "local" else "CAST(NULL AS STRUCT<micros: BIGINT, zone: INT>)"
    return sql(engine, f"CASE WHEN $1 IS NULL THEN {none} ELSE $2 END", args[0], made)


def _cut_span(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build an interval without the fields below those that its modifier names
    (`wire.types.interval_input.cut_interval`).
    """
    typmod = call.type.typmod
    if typmod < 0:
        return args[0]
    span, zero = fields(engine, args[0]), sql(engine, "0")
    smallest = smallest_field(typmod)
    months, days, micros = span.months, span.days, span.micros
    if smallest == "year":
        months = sql(engine, "($1 * 12)", quotient(engine, months, 12))
    if smallest in ("year", "month"):
        days = zero
    if smallest in ("year", "month", "day"):
        micros = zero
    if smallest in ("hour", "minute"):
        unit = HOUR if smallest == "hour" else MINUTE
        micros = sql(engine, f"($1 * {unit})", quotient(engine, micros, unit))
    precision = typmod & FULL_PRECISION
    if smallest == "second" and precision < 6:
        micros = bound(engine, "whole__", micros, lambda whole: _round_micros(engine, whole, precision))
    return unless_null(engine, args[0], interval(engine, months, days, micros))


def _modifiers() -> Iterator[Function]:
    for kind in (t.TIME, t.TIMESTAMP, t.TIMESTAMPTZ):
        yield cast(kind, kind, **both(_decimals))
    yield cast(t.TIMETZ, t.TIMETZ, **both(_zoned_decimals))
    yield cast(t.INTERVAL, t.INTERVAL, **both(_cut_span))


# --- arrays -----------------------------------------------------------------------------------------------------------


def _elements(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build the cast of an array, element by element."""
    from engine.sql.functions.registry import registry

    given, wanted = element_type(call.args[0].type), element_type(call.type)
    if given.pg in _STRINGS and wanted.pg in _STRINGS and wanted.typmod < 0:
        return args[0]
    value: exp.Expression = exp.column("e__")
    item = ColumnRef(given, Column(-1, "element", given))
    row = registry().find_cast(given.pg, wanted.pg)
    if row is None and wanted.pg in _STRINGS:
        value, item = typed_as_text(engine, value, given, item, "cast"), ColumnRef(of(t.TEXT), item.column)
        row = registry().find_cast(t.TEXT, wanted.pg)
    if row is None:
        raise FeatureNotSupported(f"not supported: cast from {call.args[0].type} to {call.type}")
    cast_item = apply(engine, row, [value], Call(wanted, row, (item,)))
    one = sql(engine, f"CAST($1 AS {storage_name(wanted, engine)})", cast_item)
    return each(engine, args[0], one, call.args[0].type.dimensions)


def _arrays() -> Iterator[Function]:
    yield cast(t.ANYARRAY, t.ANYARRAY, **both(_elements))


ROWS: Final[tuple[Function, ...]] = (
    *_integers(),
    *_floats(),
    *_numerics(),
    *_strings(),
    *_lengths(),
    *_moments(),
    *_modifiers(),
    *_arrays(),
)

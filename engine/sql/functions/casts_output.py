"""Casts to text: the types' output functions, computed inside the engines.

Numbers are written as PostgreSQL writes them: floats with the fewest digits that read back as the same float, in
scientific notation below 0.0001 and from 10^15 (real: 10^6) on; numerics with their display scale. Dates and times are
in ISO style, intervals in the `postgres` style. Strings and lengths are in `casts`.

DuckDB prints the shortest digits, but changes to scientific notation at 10^16. Java (17) prints digits that read back,
but not always the fewest: for Spark, the template finds the digits by trying.

Source: PostgreSQL 15, float.c (float8out), numeric.c, datetime.c (EncodeInterval, EncodeTimezone), varlena.c
(byteaout).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import SqlType, element_type
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Function
from engine.sql.functions.building import cast, let, parse, place
from engine.sql.functions.dimensions import array_out
from engine.sql.functions.moments import FINITE_ON_SPARK, HOUR, MINUTE, SECOND, Fields, fields, micros_of, quotient
from engine.sql.functions.textual import typed_as_text
from engine.sql.functions.trees import both, bound, concat, on, pack, sql
from engine.sql.functions.trees import text as literal
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t
from wire.types.carriers import NumericScale

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_STRING: Final[dict[EngineName, str]] = {"local": "VARCHAR", "spark": "STRING"}

# --- floats -----------------------------------------------------------------------------------------------------------


_HALFWAY: Final = "RAISE('0A000', 'not supported: a float whose shortest digits are halfway to another one, as text')"


def _inside(engine: EngineName, name: str) -> str:
    """Return a test whether the digits `p__.d` with exponent `p__.e` lie strictly within the range that rounds to the
    float.

    A number halfway between two floats reads back as the even one, but PostgreSQL does not print it: it finds other
    digits. The numbers slightly above and below must read back too.
    """
    wide = "HUGEINT" if engine == "local" else "DECIMAL(38, 0)"
    digits = "rpad(p__.d, 17, '0')"
    power = f"'e' || CAST(p__.e - 24 AS {_STRING[engine]})"
    more = f"{digits} || '00000001' || {power}"
    less = f"CAST(CAST({digits} AS {wide}) * 100000000 - 1 AS {_STRING[engine]}) || {power}"
    return f"(CAST({more} AS {name}) = abs($1) AND CAST({less} AS {name}) = abs($1))"


def _float_local(name: str, limit: str, halfway: int) -> str:
    """Return DuckDB's own text of a float, except where it writes out a number that PostgreSQL prints with an
    exponent.
    """
    shown = "CAST(abs($1) AS VARCHAR)"
    whole = f"regexp_replace({shown}, '[.]0$', '')"
    parts = {
        "d": f"rtrim(replace(regexp_replace({whole}, 'e.*', ''), '.', ''), '0')",
        "e": f"CASE WHEN {shown} LIKE '%e%' THEN CAST(regexp_replace({shown}, '^.*e', '') AS INTEGER)"
        f" ELSE CAST(strpos({whole} || '.', '.') - 2 AS INTEGER) END",
    }
    laid_out = (
        f"CASE WHEN p__.e >= {halfway} AND p__.e <= 41 AND NOT {_inside('local', name)} THEN {_HALFWAY} ELSE"
        " (CASE WHEN $1 < 0 THEN '-' ELSE '' END) || left(p__.d, 1)"
        " || (CASE WHEN length(p__.d) > 1 THEN '.' || substr(p__.d, 2) ELSE '' END)"
        " || (CASE WHEN p__.e < 10 THEN 'e+0' ELSE 'e+' END) || CAST(p__.e AS VARCHAR) END"
    )
    return (
        "CASE WHEN isnan($1) THEN 'NaN' WHEN isinf($1) THEN CASE WHEN $1 > 0 THEN 'Infinity' ELSE '-Infinity' END"
        f" WHEN abs($1) >= {limit} THEN {let('local', 'p__', parts, laid_out)}"
        " ELSE regexp_replace(CAST($1 AS VARCHAR), '[.]0$', '') END"
    )


def _float_spark(name: str, digits: Sequence[int], limit: int, halfway: int, least: str) -> str:
    """Return the layout of the fewest digits that read back.

    name: the type. digits: the possible numbers of digits after the first; the last always suffices. limit: the first
        exponent that is written. halfway: the first exponent at which few digits may be halfway between two floats.
    least: the least normal number; below it even fewer digits may do.
    """
    written = "format_string('%.{}e', CAST(abs($1) AS DOUBLE))"
    whens = " ".join(
        f"WHEN CAST({written.format(n)} AS {name}) = abs($1) THEN {written.format(n)}" for n in digits[:-1]
    )
    tried = (
        f"filter(transform(sequence(0, {digits[-1]}), n -> format_string(concat('%.', n, 'e'), CAST(abs($1) AS DOUBLE))),"
        f" s -> CAST(s AS {name}) = abs($1))[0]"
    )
    scientific = (
        f"CASE WHEN abs($1) < CAST('{least}' AS {name}) THEN {tried} {whens} ELSE {written.format(digits[-1])} END"
    )
    parts = {
        "d": "rtrim('0', replace(substring_index(s__.s, 'e', 1), '.', ''))",
        "e": "CAST(substring_index(s__.s, 'e', -1) AS INT)",
    }
    exponent = (
        "concat(left(p__.d, 1), CASE WHEN length(p__.d) > 1 THEN concat('.', substr(p__.d, 2)) ELSE '' END,"
        " CASE WHEN p__.e < 0 THEN 'e-' ELSE 'e+' END, CASE WHEN abs(p__.e) < 10 THEN '0' ELSE '' END, abs(p__.e))"
    )
    laid_out = (
        f"CASE WHEN p__.e >= {halfway} AND p__.e <= 41 AND NOT {_inside('spark', name)} THEN {_HALFWAY}"
        f" WHEN p__.e < -4 OR p__.e >= {limit} THEN {exponent}"
        " WHEN p__.e < 0 THEN concat('0.', repeat('0', -p__.e - 1), p__.d)"
        " WHEN length(p__.d) <= p__.e + 1 THEN rpad(p__.d, p__.e + 1, '0')"
        " ELSE concat(left(p__.d, p__.e + 1), '.', substr(p__.d, p__.e + 2)) END"
    )
    number = let("spark", "s__", {"s": scientific}, let("spark", "p__", parts, laid_out))
    sign = "CASE WHEN CAST($1 AS STRING) LIKE '-%' THEN '-' ELSE '' END"
    return (
        f"CASE WHEN $1 IS NULL THEN NULL WHEN isnan($1) THEN 'NaN'"
        f" WHEN abs($1) = CAST('Infinity' AS {name}) THEN CAST($1 AS STRING)"
        f" ELSE concat({sign}, CASE WHEN $1 = 0 THEN '0' ELSE {number} END) END"
    )


def _floats() -> Iterator[Function]:
    yield cast(
        t.FLOAT8,
        t.TEXT,
        local=_float_local("DOUBLE", "1e15", 16),
        spark=_float_spark("DOUBLE", (14, 15, 16), 15, 16, "2.2250738585072014E-308"),
    )
    yield cast(
        t.FLOAT4,
        t.TEXT,
        local=_float_local("REAL", "1e6", 7),
        spark=_float_spark("FLOAT", (5, 6, 7, 8), 6, 7, "1.17549435E-38"),
    )


# --- integers, numerics, bytes ----------------------------------------------------------------------------------------


def _numeric(engine: EngineName) -> Builder:
    string = _STRING[engine]

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        typ = call.args[0].type
        text = sql(engine, f"CAST($1 AS {string})", args[0])
        if engine == "local" and typ.precision == typ.scale:
            # DuckDB writes .5 for a decimal type without digits before the point.
            text = sql(engine, "regexp_replace($1, '^(-?)[.]', '\\10.')", text)
        if typ.display is NumericScale.FIXED or typ.scale == 0:
            return text
        return bound(engine, "n__", text, lambda digits: _numeric_text(engine, digits, typ))

    return build


def _numeric_text(engine: EngineName, digits: exp.Expression, typ: SqlType) -> exp.Expression:
    """Return a numeric's text with all digits of its storage, cut to those that PostgreSQL shows."""
    point = len("." if typ.scale else "")
    trimmed = "rtrim($1, '0')" if engine == "local" else "rtrim('0', $1)"
    given = f"({typ.scale} - (length($1) - length({trimmed})))"
    trims = typ.display is NumericScale.TRIMMED
    shown = f"greatest({given}, {typ.minimum})" if trims else _digits_by_value(engine, given, typ)
    cut = f"({typ.scale} - s__.s)"
    body = f"left($1, CAST(length($1) - {cut} - CASE WHEN s__.s = 0 THEN {point} ELSE 0 END AS INTEGER))"
    kept = parse(engine, let(engine, "s__", {"s": shown}, body))
    return sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", digits, place(kept, [digits]))


def _digits_by_value(engine: EngineName, given: str, typ: SqlType) -> str:
    """Return the display scale if it depends on the value, as `wire.types.output_numbers.value_scales` finds it."""
    plain = "replace(replace($1, '-', ''), '.', '')"
    unscaled = f"ltrim({plain}, '0')" if engine == "local" else f"ltrim('0', {plain})"
    ones = "rtrim(q__.u, '0')" if engine == "local" else "rtrim('0', q__.u)"
    place_ = f"(length(q__.u) - {1 + typ.scale})"
    power = f"CASE WHEN {ones} = '1' AND {place_} % 4 = 0 THEN 1 ELSE 0 END"
    weight = f"CASE WHEN q__.u = '' THEN -1 ELSE CAST(floor({place_} / 4.0) AS INTEGER) - {power} END"
    below = f"CASE WHEN {place_} < 0 AND {ones} <> '1' THEN 1 ELSE 0 END"
    wanted = {
        NumericScale.QUOTIENT: f"16 - 4 * ({weight})",
        NumericScale.ROOT: f"CASE WHEN q__.u = '' THEN 15 ELSE 15 - 2 * CAST(floor({place_} / 2.0) AS INTEGER) END",
        NumericScale.POWER: f"CASE WHEN q__.u = '' THEN 16 ELSE 16 - {place_} - {below} END",
    }[typ.display]
    wanted = f"greatest({wanted}, {typ.minimum}, 0)"
    group = 4 if typ.display is NumericScale.QUOTIENT else 0
    more = f"w__.w + CASE WHEN {given} > w__.w THEN {group} ELSE 0 END"
    inner = let(engine, "w__", {"w": wanted}, f"least(greatest({more}, {given}), {typ.scale})")
    return let(engine, "q__", {"u": unscaled}, inner)


def _plain() -> Iterator[Function]:
    local, spark = "CAST($1 AS VARCHAR)", "CAST($1 AS STRING)"
    for source in (t.BOOL, t.INT2, t.INT4, t.INT8, *t.UNSIGNED):
        yield cast(source, t.TEXT, local=local, spark=spark)
    yield cast(t.NUMERIC, t.TEXT, local=_numeric("local"), spark=_numeric("spark"))
    # Functions that return void return a value here, whose text is empty.
    yield cast(
        t.VOID,
        t.TEXT,
        local="coalesce(left(CAST($1 AS VARCHAR), 0), '')",
        spark="coalesce(left(CAST($1 AS STRING), 0), '')",
    )
    yield cast(t.BYTEA, t.TEXT, local="'\\x' || lower(hex($1))", spark="concat('\\\\x', lower(hex($1)))")


# --- dates and times --------------------------------------------------------------------------------------------------


def _pad_zeros(engine: EngineName, value: exp.Expression, width: int) -> exp.Expression:
    return sql(engine, f"lpad(CAST($1 AS {_STRING[engine]}), {width}, '0')", value)


def _clock(engine: EngineName, micros: exp.Expression) -> exp.Expression:
    """Return hh:mm:ss[.ffffff] of microseconds that are not negative; hours may have more than two digits."""
    hours = quotient(engine, micros, HOUR)
    two = sql(engine, f"CASE WHEN $1 < {10 * HOUR} THEN '0' ELSE '' END", micros)
    shown_hours = concat(engine, [two, sql(engine, f"CAST($1 AS {_STRING[engine]})", hours)])
    minutes = _pad_zeros(engine, sql(engine, "($1 % 60)", quotient(engine, micros, MINUTE)), 2)
    seconds = _pad_zeros(engine, sql(engine, "($1 % 60)", quotient(engine, micros, SECOND)), 2)
    trim = "rtrim($1, '0')" if engine == "local" else "rtrim('0', $1)"
    rest = sql(engine, f"($1 % {SECOND})", micros)
    digits = sql(engine, trim, _pad_zeros(engine, rest, 6))
    fraction = sql(engine, "CASE WHEN $1 = 0 THEN '' ELSE $2 END", rest, concat(engine, [literal("."), digits]))
    return concat(engine, [shown_hours, literal(":"), minutes, literal(":"), seconds, fraction])


def _time(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    if engine == "local":
        return sql("local", "CAST($1 AS VARCHAR)", args[0])
    return _clock(engine, micros_of(engine, args[0], t.TIME))


def _offset(engine: EngineName, west: exp.Expression) -> exp.Expression:
    """Return a zone's offset as EncodeTimezone writes it: +hh[:mm[:ss]], east of Greenwich."""
    sign = sql(engine, "CASE WHEN $1 <= 0 THEN '+' ELSE '-' END", west)
    size = sql(engine, "abs($1)", west)

    def offset_text(size: exp.Expression) -> exp.Expression:
        hours, minutes = quotient(engine, size, 3600), sql(engine, "($1 % 60)", quotient(engine, size, 60))
        seconds = sql(engine, "($1 % 60)", size)
        minute_part = concat(engine, [literal(":"), _pad_zeros(engine, minutes, 2)])
        second_part = concat(engine, [literal(":"), _pad_zeros(engine, seconds, 2)])
        return concat(
            engine,
            [
                sign,
                _pad_zeros(engine, hours, 2),
                sql(engine, "CASE WHEN $1 % 3600 <> 0 THEN $2 ELSE '' END", size, minute_part),
                sql(engine, "CASE WHEN $1 % 60 <> 0 THEN $2 ELSE '' END", size, second_part),
            ],
        )

    return bound(engine, "size__", size, offset_text)


def _timetz(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    micros, zone = (sql(engine, f"($1).{name}", args[0]) for name in ("micros", "zone"))
    return concat(engine, [_clock(engine, micros), _offset(engine, zone)])


def _interval(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build EncodeInterval in the style postgres: `1 year 2 mons -3 days +04:05:06`; a plus sign appears after a
    negative field.
    """
    span = fields(engine, args[0])
    values = {"months": span.months, "days": span.days, "micros": span.micros}
    values["clock"] = sql(engine, "abs($1)", span.micros)
    shown = bound(engine, "span__", pack(engine, values), lambda packed: _interval_fields(engine, packed))
    return sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", args[0], shown)


def _interval_fields(engine: EngineName, packed: exp.Expression) -> exp.Expression:
    span = Fields(*(sql(engine, f"($1).{name}", packed) for name in ("months", "days", "micros")))
    size = sql(engine, "($1).clock", packed)
    years, months = quotient(engine, span.months, 12), sql(engine, "($1 % 12)", span.months)
    pieces: list[exp.Expression] = []
    earlier: list[exp.Expression] = []
    for value, unit in ((years, "year"), (months, "mon"), (span.days, "day")):
        gap = _gap(engine, earlier)
        plus = sql(engine, "CASE WHEN $2 > 0 AND $1 THEN '+' ELSE '' END", _negative(engine, earlier), value)
        number = sql(engine, f"CAST($1 AS {_STRING[engine]})", value)
        name = sql(engine, f"CASE WHEN $1 = 1 THEN ' {unit}' ELSE ' {unit}s' END", value)
        piece = concat(engine, [gap, plus, number, name])
        pieces.append(sql(engine, "CASE WHEN $1 <> 0 THEN $2 ELSE '' END", value, piece))
        earlier.append(value)
    sign = sql(
        engine,
        "CASE WHEN $1 < 0 THEN '-' WHEN $2 THEN '+' ELSE '' END",
        span.micros,
        _negative(engine, earlier),
    )
    time = concat(engine, [_gap(engine, earlier), sign, _clock(engine, size)])
    nothing = " AND ".join(f"${n} = 0" for n in range(3, 6))
    pieces.append(sql(engine, f"CASE WHEN $1 <> 0 OR ({nothing}) THEN $2 ELSE '' END", span.micros, time, *earlier))
    return concat(engine, pieces)


def _gap(engine: EngineName, earlier: Sequence[exp.Expression]) -> exp.Expression:
    """Return a blank if a field precedes."""
    if not earlier:
        return literal("")
    some = " OR ".join(f"${n} <> 0" for n in range(1, len(earlier) + 1))
    return sql(engine, f"CASE WHEN {some} THEN ' ' ELSE '' END", *earlier)


def _negative(engine: EngineName, earlier: Sequence[exp.Expression]) -> exp.Expression:
    """Return a test whether the last preceding field that is not zero is negative."""
    if not earlier:
        return sql(engine, "FALSE")
    whens = " ".join(f"WHEN ${n} <> 0 THEN ${n} < 0" for n in range(len(earlier), 0, -1))
    return sql(engine, f"(CASE {whens} ELSE FALSE END)", *earlier)


#: Years before Christ: DuckDB puts (BC) after them, Java counts 0, -1 ...; after 9999 Java writes a plus.
_ERA_LOCAL: Final = "regexp_replace(CAST($1 AS VARCHAR), '^(.*) [(]BC[)](.*)$', '\\1\\2 BC')"


def _spark_era(typ: t.PgType, first: str, last: str, text: str) -> str:
    """Return Java's text if the year has four digits, an infinity's name, or an error for another year."""
    return (
        f"CASE WHEN $1 BETWEEN {first} AND {last} THEN {text}"
        f" WHEN {FINITE_ON_SPARK[typ]} THEN RAISE('0A000', 'not supported: years before 1 or after 9999 as text in Spark')"
        f" WHEN $1 > {last} THEN 'infinity' WHEN $1 < {first} THEN '-infinity' END"
    )


DATE_TEXT_ON_SPARK: Final = _spark_era(
    t.DATE, "CAST('0001-01-01' AS DATE)", "CAST('9999-12-31' AS DATE)", "CAST($1 AS STRING)"
)


def _instant_local(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Build DuckDB's text with an offset's seconds, which DuckDB omits: zones had some until 1972."""
    clock = sql(engine, "CAST($1 AS TIMESTAMP)", args[0])
    west = quotient(engine, sql(engine, "(epoch_us($1) - epoch_us($2))", args[0], clock), SECOND)
    digits = sql(engine, "regexp_replace(CAST($1 AS VARCHAR), ' [(]BC[)]', '')", clock)
    era = sql(engine, "CASE WHEN year($1) < 1 THEN ' BC' ELSE '' END", clock)
    early = concat(engine, [digits, _offset(engine, west), era])
    recent = "CAST('1973-01-01 00:00:00+00' AS TIMESTAMPTZ)"
    text = f"CASE WHEN NOT isfinite($1) OR $1 >= {recent} THEN CAST($1 AS VARCHAR) ELSE $2 END"
    return sql(engine, text, args[0], early)


def _instant_spark() -> str:
    first, last = "CAST('0001-01-03 00:00:00Z' AS TIMESTAMP)", "CAST('9999-12-29 00:00:00Z' AS TIMESTAMP)"
    offset = "regexp_replace(date_format($1, 'xxxxx'), ':00$', '')"
    return _spark_era(t.TIMESTAMPTZ, first, last, f"concat(CAST($1 AS STRING), {offset})")


def _moments() -> Iterator[Function]:
    yield cast(
        t.DATE,
        t.TEXT,
        local=_ERA_LOCAL,
        spark=DATE_TEXT_ON_SPARK,
    )
    kind = "TIMESTAMP_NTZ"
    yield cast(
        t.TIMESTAMP,
        t.TEXT,
        local=_ERA_LOCAL,
        spark=_spark_era(
            t.TIMESTAMP,
            f"CAST('0001-01-01 00:00:00' AS {kind})",
            f"CAST('9999-12-31 23:59:59.999999' AS {kind})",
            "CAST($1 AS STRING)",
        ),
    )
    yield cast(t.TIMESTAMPTZ, t.TEXT, local=on("local", _instant_local), spark=_instant_spark(), volatility="stable")
    yield cast(t.TIME, t.TEXT, **both(_time))
    yield cast(t.TIMETZ, t.TEXT, **both(_timetz))
    yield cast(t.INTERVAL, t.TEXT, **both(_interval))


# --- arrays -----------------------------------------------------------------------------------------------------------

#: Elements that array_out quotes; `@` stands for the delimiter.
_QUOTED: Final[dict[EngineName, str]] = {
    "local": "(CASE WHEN $1 = '' OR lower($1) = 'null' OR regexp_matches($1, '[{}\"@\\\\[:space:]]') "
    "THEN '\"' || replace(replace($1, '\\', '\\\\'), '\"', '\\\"') || '\"' ELSE $1 END)",
    "spark": "(CASE WHEN $1 = '' OR lower($1) = 'null' OR $1 RLIKE '[{}\"@\\\\\\\\ \\\\t\\\\n\\\\r\\\\x0B\\\\f]' "
    "THEN concat('\"', replace(replace($1, '\\\\', '\\\\\\\\'), '\"', '\\\\\"'), '\"') ELSE $1 END)",
}


def _array(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build array_out. A column of anyarray is carried as that text."""
    array = args[0]
    if call.args[0].type.pg is t.ANYARRAY:
        return array
    one = typed_as_text(engine, exp.column("e__"), element_type(call.args[0].type), call.args[0])
    delimiter = t.delimiter_of(t.element_of(call.args[0].type.pg))
    quoted = _QUOTED[engine].replace("@", delimiter)
    item = bound(engine, "i__", one, lambda text: sql(engine, quoted, text))
    shown = sql(engine, "coalesce($1, 'NULL')", item)
    if engine == "local" and t.element_of(call.args[0].type.pg).is_row:
        raise FeatureNotSupported("not supported: arrays of records as text")
    return array_out(engine, array, shown, delimiter, call.args[0].type.dimensions)


# --- records ----------------------------------------------------------------------------------------------------------

#: Fields that record_out quotes.
_FIELD: Final[dict[EngineName, str]] = {
    "local": "(CASE WHEN $1 = '' OR regexp_matches($1, '[(),\"\\\\[:space:]]') "
    "THEN '\"' || replace(replace($1, '\\', '\\\\'), '\"', '\"\"') || '\"' ELSE $1 END)",
    "spark": "(CASE WHEN $1 = '' OR $1 RLIKE '[(),\"\\\\\\\\ \\\\t\\\\n\\\\r\\\\x0B\\\\f]' "
    "THEN concat('\"', replace(replace($1, '\\\\', '\\\\\\\\'), '\"', '\"\"'), '\"') ELSE $1 END)",
}


def _record(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    """Build record_out."""
    value = call.args[0]
    if not value.type.fields:
        raise FeatureNotSupported("not supported: a record of unknown fields as text")
    pieces: list[exp.Expression] = []
    for number, (_name, typ) in enumerate(value.type.fields):
        one = typed_as_text(engine, sql(engine, f"($1).{value.type.pg.field(number)}", args[0]), typ, value)
        item = bound(engine, "i__", one, lambda field: sql(engine, _FIELD[engine], field))
        pieces += [literal("," if number else "("), sql(engine, "coalesce($1, '')", item)]
    return sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", args[0], concat(engine, [*pieces, literal(")")]))


def _arrays() -> Iterator[Function]:
    yield cast(t.ANYARRAY, t.TEXT, **both(_array))
    yield cast(t.RECORD, t.TEXT, **both(_record))


ROWS: Final[tuple[Function, ...]] = (*_floats(), *_plain(), *_moments(), *_arrays())

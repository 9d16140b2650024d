"""Casts from text: the types' input functions, computed inside the engines.

A literal is read by `wire.types.input`, which accepts everything that PostgreSQL accepts. A column of text is read
here, by expressions: numbers, booleans, uuid and bytes in every spelling; dates, times and intervals in the ISO
spellings and PostgreSQL's own output. Any other spelling may or may not be valid in PostgreSQL: it is refused with
0A000, never guessed.

Every reader trims what C's isspace() takes as white space, checks the spelling by a regular expression, and leaves the
conversion to the engine's own cast. That is a TRY_CAST, since engines fold constants without regard to the CASE around
them.

Source: PostgreSQL 15, numutils.c (pg_strtoint32), float.c (float8in), bool.c, uuid.c, varlena.c (byteain), datetime.c.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.common.sql_type import UNKNOWN_DIGITS, SqlType, numeric
from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Builder, Function
from engine.sql.functions.building import cast, let, parse, place
from engine.sql.functions.moments import DAY, HOUR, MINUTE, SECOND, interval, to_instant
from engine.sql.functions.trees import both, bound, raises, sql
from engine.sql.trees.storage_types import storage_name
from wire.types import pg_types as t
from wire.types.carriers import NumericScale

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

_STRING: Final[dict[EngineName, str]] = {"local": "VARCHAR", "spark": "STRING"}
_SPACE: Final[dict[EngineName, str]] = {"local": " \t\n\r\v\f", "spark": " \\t\\n\\r\\u000B\\f"}
_INTS: Final = {t.INT2: ("SMALLINT", 15), t.INT4: ("INTEGER", 31), t.INT8: ("BIGINT", 63)}


# --- what the readers share -------------------------------------------------------------------------------------------


def _trim(engine: EngineName, text: str = "$1") -> str:
    return f"{'trim' if engine == 'local' else 'btrim'}({text}, '{_SPACE[engine]}')"


def _matches(engine: EngineName, text: str, pattern: str) -> str:
    """Return a test whether `pattern` matches all of the text. The pattern must not contain a backslash: the engines'
    literals differ there.
    """
    whole = f"^({pattern})$"
    return f"regexp_matches({text}, '{whole}')" if engine == "local" else f"{text} RLIKE '{whole}'"


def _part(engine: EngineName, text: str, pattern: str, group: int) -> str:
    """Return a group of the pattern's first match; '' if it took no part."""
    return f"regexp_extract({text}, '{pattern}', {group})"


def _quoting_error(engine: EngineName, sqlstate: str, before: str, after: str) -> str:
    """Return an error whose message quotes the text: `before"text"after`."""
    head, tail = f"'SQLSTATE:{sqlstate}:{before}\"'", f"'\"{after}'"
    if engine == "local":
        return f"error({head} || $1 || {tail})"
    return f"raise_error(concat({head}, $1, {tail}))"


def _invalid(engine: EngineName, name: str, sqlstate: str = "22P02") -> str:
    return _quoting_error(engine, sqlstate, f"invalid input syntax for type {name}: ", "")


def _out_of_range(engine: EngineName, name: str) -> str:
    return _quoting_error(engine, "22003", "value ", f" is out of range for type {name}")


def _unusual(engine: EngineName, what: str) -> str:
    return _quoting_error(engine, "0A000", f"not supported: {what} in a column of text that is written like ", "")


_WORDS: Final = "now|today|tomorrow|yesterday|epoch|infinity|allballs|none|utc|gmt|z"


def _refuse_text(engine: EngineName, typ: t.PgType, what: str) -> str:
    """Return the error for a date or time of unexpected spelling. A text without a digit is one of a few keywords, or
    invalid.
    """
    perhaps = (
        f"regexp_matches(lower($1), '[0-9]|{_WORDS}')" if engine == "local" else f"lower($1) RLIKE '[0-9]|{_WORDS}'"
    )
    name = typ.sql_name if typ in (t.TIMESTAMPTZ, t.TIMETZ) else typ.name
    return f"CASE WHEN {perhaps} THEN {_unusual(engine, what)} ELSE {_invalid(engine, name, '22007')} END"


def _reader(engine: EngineName, body: str) -> str:
    """Return `body` over `t__.t`, the trimmed text; null for null. The trimmed text is repeated rather than bound,
    because nested lambdas are expensive to plan.
    """
    return f"CASE WHEN $1 IS NOT NULL THEN {body.replace('t__.t', _trim(engine))} END"


def _per_engine(source: t.PgType, target: t.PgType, text: dict[EngineName, str]) -> Function:
    return cast(source, target, local=text["local"], spark=text["spark"])


_ENGINES: Final[tuple[EngineName, ...]] = ("local", "spark")


# --- integers, floats, numeric ----------------------------------------------------------------------------------------


def _integer(engine: EngineName, target: t.PgType) -> str:
    storage, bits = _INTS[target]
    name = target.sql_name
    number = "TRY_CAST(t__.t AS DECIMAL(38, 0))"
    wide = "length(regexp_replace(t__.t, '^[+-]?0*', '')) > 19"
    return _reader(
        engine,
        f"CASE WHEN NOT {_matches(engine, 't__.t', '[+-]?[0-9]+')} THEN {_invalid(engine, name)}"
        f" WHEN {wide} THEN {_out_of_range(engine, name)}"
        f" WHEN {number} < -{2**bits} OR {number} >= {2**bits} THEN {_out_of_range(engine, name)}"
        f" ELSE CAST({number} AS {storage}) END",
    )


def _oid(engine: EngineName) -> str:
    """Return the reader of oids. oidin reads as C's strtoul does: -1 is the greatest value."""
    number = "TRY_CAST(t__.t AS DECIMAL(38, 0))"
    wide = "length(regexp_replace(t__.t, '^[+-]?0*', '')) > 19"
    return _reader(
        engine,
        f"CASE WHEN NOT {_matches(engine, 't__.t', '[+-]?[0-9]+')} THEN {_invalid(engine, 'oid')}"
        f" WHEN {wide} THEN {_out_of_range(engine, 'oid')}"
        f" WHEN {number} < -{2**31} OR {number} >= {2**32} THEN {_out_of_range(engine, 'oid')}"
        f" WHEN {number} < 0 THEN CAST({number} + {2**32} AS BIGINT) ELSE CAST({number} AS BIGINT) END",
    )


_DECIMAL: Final = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)"
_SCIENTIFIC: Final = f"{_DECIMAL}([eE][+-]?[0-9]+)?"
_INFINITE: Final = "[+-]?(inf|infinity)"


def _float(engine: EngineName, target: t.PgType, storage: str) -> str:
    name = target.sql_name
    number = f"TRY_CAST(t__.t AS {storage})"
    infinity = f"CAST('Infinity' AS {storage})"
    zero = _matches(engine, "t__.t", "[^1-9eE]*([eE].*)?")
    short = "[+-]?([0-9]{1,15}[.]?[0-9]{0,15}|[.][0-9]{1,15})"
    far = (
        f"CASE WHEN f__.f IS NULL OR abs(f__.f) = {infinity} OR (f__.f = 0 AND NOT {zero})"
        f" THEN {_quoting_error(engine, '22003', '', f' is out of range for type {name}')} ELSE f__.f END"
    )
    tried = f"TRY_CAST(t__.t AS {storage})"
    signed = f"CASE WHEN t__.t LIKE '-%' THEN CAST('-Infinity' AS {storage}) ELSE {infinity} END"
    return _reader(
        engine,
        f"CASE WHEN {_matches(engine, 't__.t', short)} THEN {number}"
        f" WHEN {_matches(engine, 't__.t', _SCIENTIFIC)} THEN {let(engine, 'f__', {'f': tried}, far)}"
        f" WHEN lower(t__.t) IN ('nan', '+nan', '-nan') THEN CAST('NaN' AS {storage})"
        f" WHEN {_matches(engine, 'lower(t__.t)', _INFINITE)} THEN {signed}"
        f" WHEN {_matches(engine, 'lower(t__.t)', '[+-]?(0x.*|nan[(].*)')} THEN {_unusual(engine, 'a float')}"
        f" ELSE {_invalid(engine, name)} END",
    )


def _numeric(engine: EngineName) -> Builder:
    return lambda args, call: read_numeric(engine, args[0], call.type)


def read_numeric(engine: EngineName, text: exp.Expression, typ: SqlType) -> exp.Expression:
    """Read a text as a numeric with the digits of `typ`."""
    reader = parse(engine, _reader(engine, _numeric_body(engine, typ)))
    return bound(engine, "n__", text, lambda tree: place(reader, [tree]))


def _numeric_body(engine: EngineName, typ: SqlType) -> str:
    """Return the reader of numerics. Digits that the storage cannot hold are an error: after the point they would be
    rounded away silently.
    """
    integers = typ.precision - typ.scale
    exponent = f"coalesce(TRY_CAST({_part(engine, 't__.t', '[eE]([+-]?[0-9]{1,6})$', 1)} AS INTEGER), 0)"
    after = f"length(regexp_replace({_part(engine, 't__.t', '[.]([0-9]*)', 1)}, '0+$', ''))"
    before = f"length({_part(engine, 't__.t', '^[+-]?0*([0-9]*)', 1)})"
    long = _quoting_error(engine, "22003", "value out of range: more digits than numeric can hold here: ", "")
    stored = f"TRY_CAST(t__.t AS {storage_name(typ, engine)})"
    return (
        f"CASE WHEN {_matches(engine, 't__.t', _DECIMAL)} THEN"
        f" CASE WHEN {after} > {typ.scale} OR {before} > {integers} THEN {long} ELSE {stored} END"
        f" WHEN {_matches(engine, 't__.t', _DECIMAL + '[eE][+-]?[0-9]{1,6}')} THEN"
        f" CASE WHEN {after} - {exponent} > {typ.scale} OR {before} + {exponent} > {integers} THEN {long}"
        f" ELSE {stored} END"
        f" WHEN {_matches(engine, 'lower(t__.t)', 'nan|' + _INFINITE)} THEN"
        " RAISE('0A000', 'not supported: NaN and infinity as numeric')"
        f" ELSE {_invalid(engine, 'numeric')} END"
    )


def _from_text(types: Sequence[SqlType]) -> SqlType:
    del types
    precision, scale = UNKNOWN_DIGITS
    return numeric(precision, scale, NumericScale.TRIMMED)


def _numbers() -> Iterator[Function]:
    for kind in _INTS:
        yield _per_engine(t.TEXT, kind, {engine: _integer(engine, kind) for engine in _ENGINES})
    for kind in (t.OID, t.XID, t.CID):
        yield _per_engine(t.TEXT, kind, {engine: _oid(engine) for engine in _ENGINES})
    yield cast(t.TEXT, t.FLOAT8, local=_float("local", t.FLOAT8, "DOUBLE"), spark=_float("spark", t.FLOAT8, "DOUBLE"))
    yield cast(t.TEXT, t.FLOAT4, local=_float("local", t.FLOAT4, "REAL"), spark=_float("spark", t.FLOAT4, "FLOAT"))
    yield cast(t.TEXT, t.NUMERIC, local=_numeric("local"), spark=_numeric("spark"), rule=_from_text)


# --- booleans, uuid, bytes --------------------------------------------------------------------------------------------

_TRUE: Final = "('t', 'tr', 'tru', 'true', 'y', 'ye', 'yes', 'on', '1')"
_FALSE: Final = "('f', 'fa', 'fal', 'fals', 'false', 'n', 'no', 'of', 'off', '0')"


def _bool(engine: EngineName) -> str:
    return _reader(
        engine,
        f"CASE WHEN lower(t__.t) IN {_TRUE} THEN TRUE WHEN lower(t__.t) IN {_FALSE} THEN FALSE"
        f" ELSE {_invalid(engine, 'boolean')} END",
    )


def _uuid(engine: EngineName) -> str:
    """Return the reader of uuids. Dashes may follow any group of four digits, braces may surround the whole; white
    space is not allowed inside.
    """
    digits = "replace(replace(replace(lower($1), '-', ''), '{', ''), '}', '')"
    group = "[0-9a-fA-F]{4}"
    spelled = f"({group}-?){{7}}{group}"
    braced = f"{spelled}|[{{]{spelled}[}}]"
    cuts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]
    pieces = [f"substr(u__.u, {start}, {length})" for start, length in cuts]
    joined = " || '-' || ".join(pieces) if engine == "local" else "concat_ws('-', {})".format(", ".join(pieces))
    return (
        f"CASE WHEN $1 IS NULL THEN NULL WHEN {_matches(engine, '$1', braced)}"
        f" THEN {let(engine, 'u__', {'u': digits}, joined)} ELSE {_invalid(engine, 'uuid')} END"
    )


def _bytea(engine: EngineName) -> str:
    """Return the reader of byte strings: hexadecimal, or plain text without escapes."""
    encoded = "encode($1)" if engine == "local" else "encode($1, 'UTF-8')"
    backslash = "chr(92)"
    hexadecimal = (
        f"left($1, 2) = {backslash} || 'x'" if engine == "local" else f"left($1, 2) = concat({backslash}, 'x')"
    )
    pairs = _matches(engine, "substr($1, 3)", "([0-9a-fA-F]{2})*")
    odd = _matches(engine, "substr($1, 3)", "[0-9a-fA-F]*")
    # An escape is two backslashes, or one and three octal digits: any other backslash is an error.
    escape = f"concat({backslash}, {backslash}, '(', {backslash}, {backslash}, '|[0-3][0-7]{{2}})')"
    everywhere = ", 'g'" if engine == "local" else ""
    left_over = f"regexp_replace($1, {escape}, ''{everywhere})"
    return (
        f"CASE WHEN $1 IS NULL THEN NULL WHEN {hexadecimal} THEN CASE WHEN {pairs} THEN unhex(substr($1, 3))"
        f" WHEN {odd} THEN RAISE('22023', 'invalid hexadecimal data: odd number of digits')"
        f" ELSE {_unusual(engine, 'bytes')} END"
        f" WHEN {_backslash_in(engine, '$1')} = 0 THEN {encoded}"
        f" WHEN {_backslash_in(engine, left_over)} > 0 THEN RAISE('22P02', 'invalid input syntax for type bytea')"
        f" ELSE {_unusual(engine, 'bytes')} END"
    )


def _backslash_in(engine: EngineName, text: str) -> str:
    """Return the position of the first backslash; 0 without one."""
    return f"strpos({text}, chr(92))" if engine == "local" else f"locate(chr(92), {text})"


def _words() -> Iterator[Function]:
    yield _per_engine(t.TEXT, t.BOOL, {engine: _bool(engine) for engine in _ENGINES})
    yield _per_engine(t.TEXT, t.UUID, {engine: _uuid(engine) for engine in _ENGINES})
    yield _per_engine(t.TEXT, t.BYTEA, {engine: _bytea(engine) for engine in _ENGINES})


# --- dates and times --------------------------------------------------------------------------------------------------

_DATE: Final = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_COMPACT_DATE: Final = "[0-9]{8}"
_CLOCK: Final = "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?"
_ZONE: Final = "(Z|z|UTC|utc|[+-][0-9]{1,2}(:[0-9]{2})?|[+-][0-9]{4})"


def _iso_day(engine: EngineName, text: str) -> str:
    """Return the day of a text that begins with yyyy-mm-dd or yyyymmdd. A day that does not exist is 22008, as in
    PostgreSQL.
    """
    kind = "BIGINT" if engine == "local" else "INT"
    pattern = "^([0-9]{4})-?([0-9]{1,2})-?([0-9]{1,2})"
    parts = {name: f"TRY_CAST({_part(engine, text, pattern, n)} AS {kind})" for n, name in enumerate("ymd", 1)}
    leap = "d__.y % 4 = 0 AND (d__.y % 100 <> 0 OR d__.y % 400 = 0)"
    last = (
        f"CASE WHEN d__.m = 2 THEN CASE WHEN {leap} THEN 29 ELSE 28 END WHEN d__.m IN (4, 6, 9, 11) THEN 30 ELSE 31 END"
    )
    wrong = _quoting_error(engine, "22008", "date/time field value out of range: ", "")
    bad = f"d__.y < 1 OR d__.m < 1 OR d__.m > 12 OR d__.d < 1 OR d__.d > {last}"
    return let(engine, "d__", parts, f"CASE WHEN {bad} THEN {wrong} ELSE make_date(d__.y, d__.m, d__.d) END")


def _date(engine: EngineName) -> str:
    return _reader(
        engine,
        f"CASE WHEN {_matches(engine, 't__.t', f'{_DATE}|{_COMPACT_DATE}')} THEN {_iso_day(engine, 't__.t')}"
        f" ELSE {_refuse_text(engine, t.DATE, 'a date')} END",
    )


def _clock_micros(engine: EngineName, text: str) -> str:
    """Return the microseconds of hh:mm[:ss[.f]] in a text; 22008 beyond 24:00. A second may be the sixtieth."""
    pattern = "([0-9]{1,2}):([0-9]{2})(:([0-9]{2})([.]([0-9]{1,6}))?)?"
    hour, minute, second, fraction = (_part(engine, text, pattern, n) for n in (1, 2, 4, 6))
    digits = {"h": hour, "m": minute, "s": f"lpad({second}, 2, '0')", "f": f"rpad({fraction}, 6, '0')"}
    parts = {name: f"TRY_CAST({part} AS BIGINT)" for name, part in digits.items()}
    total = f"k__.h * {HOUR} + k__.m * {MINUTE} + k__.s * {SECOND} + k__.f"
    wrong = _quoting_error(engine, "22008", "date/time field value out of range: ", "")
    bad = f"k__.h > 24 OR k__.m > 59 OR k__.s > 60 OR {total} > {DAY}"
    return let(engine, "k__", parts, f"CASE WHEN {bad} THEN {wrong} ELSE {total} END")


def _time(engine: EngineName) -> str:
    micros = _clock_micros(engine, "t__.t")
    value = micros if engine == "spark" else f"CAST('00:00:00' AS TIME) + to_microseconds({micros})"
    if engine == "local":
        midnight = _matches(engine, "t__.t", "(24:00(:00([.]0*)?)?|23:59:60)")
        value = f"CASE WHEN {midnight} THEN CAST('24:00:00' AS TIME) ELSE {value} END"
    return _reader(
        engine,
        f"CASE WHEN {_matches(engine, 't__.t', _CLOCK)} THEN {value} ELSE {_refuse_text(engine, t.TIME, 'a time')} END",
    )


def _timestamp(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Read a day and a time of day; 24:00 is the next day's first moment."""
    spelled = f"({_DATE}|{_COMPACT_DATE})([ T]{_CLOCK})?"
    return _read(engine, args[0], spelled, lambda text: _wall_clock(engine, text), (t.TIMESTAMP, "a timestamp"))


def _wall_clock(engine: EngineName, text: exp.Expression) -> exp.Expression:
    # The reader of days quotes $1 in its error message, which is the whole text here.
    day = place(parse(engine, _iso_day(engine, "$1")), [text])
    has_clock = _matches(engine, "$1", ".*:.*")
    micros = place(parse(engine, f"CASE WHEN {has_clock} THEN {_clock_micros(engine, '$1')} ELSE 0 END"), [text])
    if engine == "local":
        return sql("local", "(CAST($1 AS TIMESTAMP) + to_microseconds(CAST($2 AS BIGINT)))", day, micros)
    return sql("spark", "timestampadd(MICROSECOND, $2, CAST($1 AS TIMESTAMP_NTZ))", day, micros)


def _read(
    engine: EngineName,
    given: exp.Expression,
    spelled: str,
    value: Callable[[exp.Expression], exp.Expression],
    unread: tuple[t.PgType, str],
) -> exp.Expression:

    def build(text: exp.Expression) -> exp.Expression:
        fits = place(parse(engine, _matches(engine, "$1", spelled)), [text])
        refused = place(parse(engine, _refuse_text(engine, *unread)), [text])
        return sql(
            engine, "CASE WHEN $1 IS NULL THEN NULL WHEN $2 THEN $3 ELSE $4 END", text, fits, value(text), refused
        )

    return build(sql(engine, _trim(engine), given))


def _timestamptz(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Read a timestamptz: a timestamp with an offset, or in the session's time zone."""
    spelled = f"({_DATE}|{_COMPACT_DATE})([ T]{_CLOCK} ?{_ZONE}?)?"

    def value(text: exp.Expression) -> exp.Expression:
        wall = _wall_clock(engine, text)
        on_clock = sql("local", "CAST($1 AS TIMESTAMPTZ)", wall) if engine == "local" else to_instant(wall)
        zone = place(parse(engine, _part(engine, "$1", f":[0-9.]+ ?{_ZONE}$", 1)), [text])
        east = bound(engine, "zone__", zone, lambda zone: _east_seconds(engine, zone))
        if engine == "local":
            at = sql("local", f"make_timestamptz(epoch_us($1) - $2 * {SECOND})", wall, east)
        else:
            epoch = "CAST('1970-01-01 00:00:00' AS TIMESTAMP_NTZ)"
            seconds = f"CAST(CAST($1 - {epoch} AS INTERVAL SECOND) AS DECIMAL(19, 6))"
            at = sql("spark", f"timestamp_micros(CAST({seconds} * {SECOND} AS BIGINT) - $2 * {SECOND})", wall, east)
        zoned = place(parse(engine, _matches(engine, "$1", f".*:[0-9.]+ ?{_ZONE}")), [text])
        return sql(engine, "CASE WHEN $1 THEN $2 ELSE $3 END", zoned, at, on_clock)

    return _read(engine, args[0], spelled, value, (t.TIMESTAMPTZ, "a timestamp with time zone"))


def _east_seconds(engine: EngineName, zone: exp.Expression) -> exp.Expression:
    """Return the seconds east of Greenwich of `Z`, `+hh`, `+hh:mm` or `+hhmm`."""
    pattern = "^([+-])([0-9]{1,2}):?([0-9]{2})?$"
    hours = f"coalesce(TRY_CAST(nullif({_part(engine, '$1', pattern, 2)}, '') AS BIGINT), 0)"
    minutes = f"coalesce(TRY_CAST(nullif({_part(engine, '$1', pattern, 3)}, '') AS BIGINT), 0)"
    return sql(
        engine,
        f"(CASE WHEN left($1, 1) = '-' THEN -1 ELSE 1 END * ({hours} * 3600 + {minutes} * 60))",
        zone,
    )


def _timetz(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    def value(text: exp.Expression) -> exp.Expression:
        micros = place(parse(engine, _clock_micros(engine, "$1")), [text])
        zone = place(parse(engine, _part(engine, "$1", f":[0-9.]+ ?{_ZONE}$", 1)), [text])
        east = bound(engine, "zone__", zone, lambda zone: _east_seconds(engine, zone))
        made = (
            "struct_pack(micros := CAST($1 AS BIGINT), zone := CAST(-$2 AS INTEGER))"
            if engine == "local"
            else "named_struct('micros', CAST($1 AS BIGINT), 'zone', CAST(-$2 AS INT))"
        )
        return sql(engine, made, micros, east)

    return _read(engine, args[0], f"{_CLOCK} ?{_ZONE}", value, (t.TIMETZ, "a time with time zone"))


_UNITS: Final = (
    ("years?|yrs?|y", "months", 12),
    ("months?|mons?", "months", 1),
    ("weeks?|w", "days", 7),
    ("days?|d", "days", 1),
    ("hours?|hrs?|hr|h", "micros", HOUR),
    ("minutes?|mins?|min|m", "micros", MINUTE),
    ("seconds?|secs?|sec|s", "micros", SECOND),
)
_COUNT: Final = "[+-]?[0-9]{1,9}"


def _interval(engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall) -> exp.Expression:
    """Read whole numbers of units, each unit at most once and the largest first, optionally followed by a time:
    PostgreSQL's own output format.
    """
    items = "".join(f"({_COUNT} ?({names}) ?)?" for names, _, _ in _UNITS)
    spelled = f"{items}([+-]?[0-9]{{1,9}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?)?"

    def value(text: exp.Expression) -> exp.Expression:
        totals = {"months": "0", "days": "0", "micros": _span_clock(engine)}
        for names, field, factor in _UNITS:
            count = _part(engine, "$1", f"({_COUNT}) ?({names})([^a-z]|$)", 1)
            totals[field] += f" + coalesce(TRY_CAST(nullif({count}, '') AS BIGINT), 0) * {factor}"
        parts = (sql(engine, f"({text_})", text) for text_ in totals.values())
        empty = raises(engine, "22007", sql(engine, _QUOTING[engine], text))
        made = interval(engine, *parts)
        return sql(engine, "CASE WHEN $1 = '' THEN $2 ELSE $3 END", text, empty, made)

    lowered = sql(engine, "lower($1)", args[0])
    return _read(engine, lowered, spelled, value, (t.INTERVAL, "an interval"))


_QUOTING: Final[dict[EngineName, str]] = {
    "local": "('invalid input syntax for type interval: \"' || $1 || '\"')",
    "spark": "concat('invalid input syntax for type interval: \"', $1, '\"')",
}


def _span_clock(engine: EngineName) -> str:
    """Return the microseconds of the time at an interval's end; its hours have no limit, its sign applies to all of
    it.
    """
    pattern = "([+-]?)([0-9]{1,9}):([0-9]{2})(:([0-9]{2})([.]([0-9]{1,6}))?)?$"
    hours, minutes, seconds = (
        f"coalesce(TRY_CAST(nullif({_part(engine, '$1', pattern, n)}, '') AS BIGINT), 0)" for n in (2, 3, 5)
    )
    fraction = f"TRY_CAST(rpad({_part(engine, '$1', pattern, 7)}, 6, '0') AS BIGINT)"
    total = f"({hours} * {HOUR} + {minutes} * {MINUTE} + {seconds} * {SECOND} + {fraction})"
    return f"CASE WHEN {_part(engine, '$1', pattern, 1)} = '-' THEN -1 ELSE 1 END * {total}"


def _moments() -> Iterator[Function]:
    yield _per_engine(t.TEXT, t.DATE, {engine: _date(engine) for engine in _ENGINES})
    yield _per_engine(t.TEXT, t.TIME, {engine: _time(engine) for engine in _ENGINES})
    yield cast(t.TEXT, t.TIMESTAMP, **both(_timestamp))
    yield cast(t.TEXT, t.TIMESTAMPTZ, volatility="stable", **both(_timestamptz))
    yield cast(t.TEXT, t.TIMETZ, **both(_timetz))
    yield cast(t.TEXT, t.INTERVAL, **both(_interval))


ROWS: Final[tuple[Function, ...]] = (*_numbers(), *_words(), *_moments())

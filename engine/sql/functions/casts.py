"""Casts between types that are functions in PostgreSQL's pg_cast, and those by way of text.

What needs no work is the binder's (it relabels). A cast that changes the digits of a numeric, or the length of a string,
finds them on its call's type. Rounding is PostgreSQL's: floats to integers half to even, numerics half away from zero;
Spark cuts off, so it is told to round first. Casts from text accept what is unambiguous in both engines and PostgreSQL.

Source: PostgreSQL 15, pg_cast; int.c, float.c, numeric.c, varchar.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.executor import EngineName
from engine.plan.compile.storage import storage_name
from engine.sql.functions import Builder, Function, digits
from engine.sql.functions.building import cast, parse, place
from engine.sql.types import UNKNOWN_DIGITS, SqlType, numeric
from wire import types as t
from wire.carriers import NumericScale
from wire.errors import FeatureNotSupported

if TYPE_CHECKING:
    from engine.sql.expr import AggregateCall, Call

_INTS: Final = {t.INT2: "SMALLINT", t.INT4: "INTEGER", t.INT8: "BIGINT"}
_FLOATS: Final = {t.FLOAT4: ("REAL", "FLOAT"), t.FLOAT8: ("DOUBLE", "DOUBLE")}
_OBJECTS: Final = (t.OID, t.REGPROC, t.REGCLASS, t.REGTYPE, t.REGNAMESPACE)
_STRINGS: Final = (t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME)
_SPELLED: Final = {t.INT2: "smallint", t.INT4: "integer", t.INT8: "bigint"}
#: Significant digits of a float that PostgreSQL hands to numeric (FLT_DIG, DBL_DIG), less one.
_FLOAT_DIGITS: Final = {t.FLOAT4: 5, t.FLOAT8: 14}


def _stored(engine: EngineName, before: str = "$1") -> Builder:
    """CAST(before AS the result's storage type)."""

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        return place(parse(engine, f"CAST({before} AS {storage_name(call.type, engine)})"), args)

    return build


def _integers() -> Iterator[Function]:
    for source in _INTS:
        for target, name in _INTS.items():
            if source is not target:
                yield cast(source, target, f"CAST($1 AS {name})")
        for target, (local, spark) in _FLOATS.items():
            yield cast(source, target, local=f"CAST($1 AS {local})", spark=f"CAST($1 AS {spark})")
        yield cast(source, t.NUMERIC, local=_stored("local"), spark=_stored("spark"), rule=_as_numeric)
        for target in _OBJECTS:
            yield cast(source, target, "CAST($1 AS BIGINT)")
    for source in _OBJECTS:
        yield cast(source, t.INT4, "CAST($1 AS INTEGER)")
        yield cast(source, t.INT8, "CAST($1 AS BIGINT)")
        yield cast(source, t.OID, "$1") if source is not t.OID else cast(t.OID, t.REGCLASS, "$1")
    yield cast(t.BOOL, t.INT4, "CAST($1 AS INTEGER)")
    yield cast(t.INT4, t.BOOL, "$1 <> 0")


def _as_numeric(types: Sequence[SqlType]) -> SqlType:
    return digits.as_numeric(types[0])


def _from_float(types: Sequence[SqlType]) -> SqlType:
    del types
    precision, scale = UNKNOWN_DIGITS
    return numeric(precision, scale, NumericScale.TRIMMED)


def _floats() -> Iterator[Function]:
    yield cast(t.FLOAT4, t.FLOAT8, "CAST($1 AS DOUBLE)")
    yield cast(
        t.FLOAT8,
        t.FLOAT4,
        local="CAST($1 AS REAL)",
        spark="CASE WHEN abs(CAST($1 AS FLOAT)) = CAST('Infinity' AS FLOAT) AND abs($1) <> CAST('Infinity' AS DOUBLE)"
        " THEN RAISE('22003', 'value out of range: overflow') ELSE CAST($1 AS FLOAT) END",
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
    """The doubles between which a float fits the integer: rounded, low <= x < high."""
    bits = {t.INT2: 15, t.INT4: 31, t.INT8: 63}[target]
    half = "" if bits == 63 else ".5"
    low = f"CAST('-{2**bits}{half}' AS DOUBLE)"
    high = f"CAST('{2**bits - (0 if bits == 63 else 1)}{half}' AS DOUBLE)"
    return low, high


def _decimal(engine: EngineName, source: t.PgType) -> Builder:
    """A float's significant digits, by way of its scientific notation: the engines would expose its binary noise."""
    shape = f"%.{_FLOAT_DIGITS[source]}e"
    written = (
        f"printf('{shape}', CAST($1 AS DOUBLE))"
        if engine == "local"
        else f"format_string('{shape}', CAST($1 AS DOUBLE))"
    )

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        refused = (
            "CASE WHEN isnan($1) OR abs($1) = CAST('Infinity' AS DOUBLE) "
            "THEN RAISE('0A000', 'not supported: NaN and infinity as numeric')"
        )
        return place(parse(engine, f"{refused} ELSE CAST({written} AS {storage_name(call.type, engine)}) END"), args)

    return build


def _numerics() -> Iterator[Function]:
    for target, name in _INTS.items():
        yield cast(t.NUMERIC, target, local=f"CAST(round($1, 0) AS {name})", spark=f"CAST(round($1, 0) AS {name})")
    for target, (local, spark) in _FLOATS.items():
        yield cast(t.NUMERIC, target, local=f"CAST($1 AS {local})", spark=f"CAST($1 AS {spark})")
    yield cast(t.NUMERIC, t.NUMERIC, local=_stored("local"), spark=_stored("spark"))
    yield cast(t.NUMERIC, t.TEXT, local=_numeric_text("local"), spark=_numeric_text("spark"))


def _numeric_text(engine: EngineName) -> Builder:
    string = "VARCHAR" if engine == "local" else "STRING"

    def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        typ = call.args[0].type
        if typ.display is NumericScale.FIXED:
            return place(parse(engine, f"CAST($1 AS {string})"), args)
        if typ.display is NumericScale.TRIMMED and not typ.minimum:
            trimmed = f"regexp_replace(CAST($1 AS {string}), '[.]?0*$', '')"
            whole = f"CASE WHEN CAST($1 AS {string}) LIKE '%.%' THEN {trimmed} ELSE CAST($1 AS {string}) END"
            return place(parse(engine, whole), args)
        raise FeatureNotSupported("not supported: a quotient as text")

    return build


def _texts() -> Iterator[Function]:
    yield cast(t.BOOL, t.TEXT, local="CAST($1 AS VARCHAR)", spark="CAST($1 AS STRING)")
    for source in (*_INTS, *_OBJECTS, t.DATE):
        yield cast(source, t.TEXT, local="CAST($1 AS VARCHAR)", spark="CAST($1 AS STRING)")
    yield cast(t.TIMESTAMP, t.TEXT, local="CAST($1 AS VARCHAR)", spark="CAST($1 AS STRING)")
    yield cast(
        t.TIMESTAMPTZ,
        t.TEXT,
        local="CAST($1 AS VARCHAR)",
        spark="concat(CAST($1 AS STRING), regexp_replace(date_format($1, 'xxx'), ':00$', ''))",
        volatility="stable",
    )
    yield cast(t.TIME, t.TEXT, local="CAST($1 AS VARCHAR)")
    yield cast(t.FLOAT8, t.TEXT, local=_FLOAT_TEXT_LOCAL, spark=_FLOAT_TEXT_SPARK)
    for source in (t.UUID, t.JSON, t.JSONB, t.CHAR, t.NAME):
        yield cast(source, t.TEXT, "$1")
    yield cast(t.BPCHAR, t.TEXT, local="rtrim($1, ' ')", spark="rtrim($1)")
    yield cast(t.BYTEA, t.TEXT, local="'\\x' || lower(hex($1))", spark="concat('\\\\x', lower(hex($1)))")
    for target in (t.NAME, t.CHAR):
        length = 63 if target is t.NAME else 1
        yield cast(t.TEXT, target, f"left($1, {length})")
    yield cast(t.JSONB, t.JSON, "$1")


_FLOAT_TEXT_LOCAL: Final = (
    "CASE WHEN isnan($1) THEN 'NaN' WHEN isinf($1) THEN CASE WHEN $1 > 0 THEN 'Infinity' ELSE '-Infinity' END"
    " WHEN $1 = 0 OR (abs($1) >= 0.0001 AND abs($1) < 1e15) THEN regexp_replace(CAST($1 AS VARCHAR), '[.]0$', '')"
    " ELSE RAISE('0A000', 'not supported: so large or small a float as text') END"
)
_FLOAT_TEXT_SPARK: Final = (
    "CASE WHEN isnan($1) THEN 'NaN' WHEN abs($1) = CAST('Infinity' AS DOUBLE) THEN CAST($1 AS STRING)"
    " WHEN $1 = 0 OR (abs($1) >= 0.0001 AND abs($1) < 1e15) THEN"
    " CASE WHEN CAST(CAST(CAST($1 AS STRING) AS DECIMAL(38, 20)) AS STRING) LIKE '%.%' THEN"
    " regexp_replace(CAST(CAST(CAST($1 AS STRING) AS DECIMAL(38, 20)) AS STRING), '[.]?0*$', '')"
    " ELSE CAST(CAST(CAST($1 AS STRING) AS DECIMAL(38, 20)) AS STRING) END"
    " ELSE RAISE('0A000', 'not supported: so large or small a float as text') END"
)


def _from_text() -> Iterator[Function]:
    for target, name in _INTS.items():
        yield cast(
            t.TEXT,
            target,
            local=_parsed("local", r"^[ \t\n\r\f\v]*[+-]?[0-9]+[ \t\n\r\f\v]*$", target, name),
            spark=_parsed("spark", r"^[ \\t\\n\\r\\f]*[+-]?[0-9]+[ \\t\\n\\r\\f]*$", target, name),
        )
    yield cast(t.TEXT, t.FLOAT8, "CAST($1 AS DOUBLE)")
    yield cast(
        t.TEXT, t.NUMERIC, local=_stored("local", "trim($1)"), spark=_stored("spark", "trim($1)"), rule=_from_float
    )
    iso = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
    yield cast(
        t.TEXT,
        t.DATE,
        local=f"CASE WHEN regexp_matches($1, '{iso}') THEN CAST($1 AS DATE)"
        " ELSE RAISE('0A000', 'not supported: a date in a column of text that is not written YYYY-MM-DD') END",
        spark=f"CASE WHEN $1 RLIKE '{iso}' THEN CAST($1 AS DATE)"
        " ELSE RAISE('0A000', 'not supported: a date in a column of text that is not written YYYY-MM-DD') END",
    )
    moment = "^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?$"
    refused = "RAISE('0A000', 'not supported: a timestamp in a column of text that is not written as in ISO 8601')"
    yield cast(
        t.TEXT,
        t.TIMESTAMP,
        local=f"CASE WHEN regexp_matches($1, '{moment}') THEN CAST($1 AS TIMESTAMP) ELSE {refused} END",
        spark=f"CASE WHEN $1 RLIKE '{moment}' THEN CAST($1 AS TIMESTAMP_NTZ) ELSE {refused} END",
    )
    true, false = "('t', 'true', 'y', 'yes', 'on', '1')", "('f', 'false', 'n', 'no', 'off', '0')"
    yield cast(
        t.TEXT,
        t.BOOL,
        f"CASE WHEN lower(trim($1)) IN {true} THEN true WHEN lower(trim($1)) IN {false} THEN false"
        " WHEN $1 IS NOT NULL THEN RAISE('22P02', 'invalid input syntax for type boolean') END",
    )


def _parsed(engine: EngineName, pattern: str, target: t.PgType, name: str) -> str:
    """Text to an integer: PostgreSQL's syntax only, then by way of a wide decimal, so that overflow is told as such."""
    matches = f"regexp_matches($1, '{pattern}')" if engine == "local" else f"$1 RLIKE '{pattern}'"
    fail = "error" if engine == "local" else "raise_error"
    words = f"'SQLSTATE:22P02:invalid input syntax for type {_SPELLED[target]}: \"'"
    told = f"{words} || $1 || '\"'" if engine == "local" else f"concat({words}, $1, '\"')"
    number = "CAST(trim($1) AS DECIMAL(38, 0))"
    bits = {t.INT2: 15, t.INT4: 31, t.INT8: 63}[target]
    large = f"'SQLSTATE:22003:value \"' || $1 || '\" is out of range for type {_SPELLED[target]}'"
    if engine == "spark":
        large = f"concat('SQLSTATE:22003:value \"', $1, '\" is out of range for type {_SPELLED[target]}')"
    return (
        f"CASE WHEN $1 IS NULL THEN NULL WHEN NOT {matches} THEN {fail}({told})"
        f" WHEN {number} < -{2**bits} OR {number} >= {2**bits} THEN {fail}({large})"
        f" ELSE CAST({number} AS {name}) END"
    )


def _lengths() -> Iterator[Function]:
    """The casts of a string type to itself, which apply a length; character(n) is padded."""

    def cut(engine: EngineName, padded: bool) -> Builder:
        def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
            length = call.type.typmod - 4
            if length < 0:
                return args[0]
            snippet = f"rpad(left($1, {length}), {length}, ' ')" if padded else f"left($1, {length})"
            return place(parse(engine, snippet), args)

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
                stable = t.TIMESTAMPTZ in (source, target)
                yield cast(
                    source,
                    target,
                    local=f"CAST($1 AS {local})",
                    spark=f"CAST($1 AS {spark})",
                    volatility="stable" if stable else "immutable",
                )
    yield cast(
        t.TIMESTAMP,
        t.TIME,
        local="CAST($1 AS TIME)",
        spark="timestampdiff(MICROSECOND, CAST(CAST($1 AS DATE) AS TIMESTAMP_NTZ), $1)",
    )
    yield cast(t.TIMESTAMPTZ, t.TIME, local="CAST(CAST($1 AS TIMESTAMP) AS TIME)", volatility="stable")


def _arrays() -> Iterator[Function]:
    """Element by element, where the engines' casts between the elements' storage types are PostgreSQL's."""

    def elements(engine: EngineName) -> Builder:
        def build(args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
            source, target = (t.element_of(x.pg) for x in (call.args[0].type, call.type))
            widening = source in _INTS and target in (*_INTS, *_FLOATS, t.NUMERIC)
            if not (
                widening or (source in _INTS and target in _STRINGS) or (source in _STRINGS and target in _STRINGS)
            ):
                raise FeatureNotSupported(f"not supported: cast from {call.args[0].type} to {call.type}")
            return place(parse(engine, f"CAST($1 AS {storage_name(call.type, engine)})"), args)

        return build

    yield cast(t.ANYARRAY, t.ANYARRAY, local=elements("local"), spark=elements("spark"))


ROWS: Final[tuple[Function, ...]] = (
    *_integers(),
    *_floats(),
    *_numerics(),
    *_texts(),
    *_from_text(),
    *_lengths(),
    *_moments(),
    *_arrays(),
)

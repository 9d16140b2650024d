"""to_char of dates, times and intervals: PostgreSQL 15, section 9.8.

A short constant template of common keywords is compiled: each item (`engine.sql.text_templates.moments`) becomes an
expression, and they are concatenated. Any other template, including one that is not constant, runs in the local engine
only (`engine.executors.local.templates`).

Rejected: to use the local engine's function for all templates. 300,000 timestamps of a table, all different, took 2.5 s
of processor time there and 0.16 s compiled; 300,000 numerics took 2.8 s and 0.40 s.

Numbers are formatted in `number_formats`; texts are read by templates in `reading_formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.contracts.query_id import EngineName
from engine.plan_ir.expr import Function
from engine.sql.functions.building import fn
from engine.sql.functions.moments import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    Fields,
    fields,
    micros_of,
    modulo,
    quotient,
)
from engine.sql.functions.timefields import moment_field, to_local
from engine.sql.functions.trees import (
    CURSOR_NUMBER,
    both,
    bound,
    concat,
    constant_text,
    integer,
    is_null,
    required_text,
    sql,
    text,
)
from engine.sql.text_templates.lengths import COMPILED_CHARACTERS_MAX
from engine.sql.text_templates.moments import DAYS, MONTHS, ROMAN_MONTHS, Item, check_interval_keyword, moment_template
from wire.dataclass import dataclass
from wire.errors import FeatureNotSupported
from wire.types import pg_types as t

if TYPE_CHECKING:
    from engine.plan_ir.expr import AggregateCall, Call

#: The session's zone under DuckDB's name for it.
SESSION_ZONE: Final = "current_setting('TimeZone')"

# --- to_char ----------------------------------------------------------------------------------------------------------


def _number_text(engine: EngineName, number: exp.Expression) -> exp.Expression:
    return sql(engine, "CAST($1 AS VARCHAR)" if engine == "local" else "CAST($1 AS STRING)", number)


def pad_zeros(engine: EngineName, number: exp.Expression, width: int) -> exp.Expression:
    """Return a number padded with zeros to a width (without its sign); a longer number is printed in full: printf's
    %0*d.
    """
    text_ = _number_text(engine, number)
    if width <= 1:
        return text_
    most = 10 ** (width - 1) - 1
    plain = f"CASE WHEN $1 BETWEEN 0 AND {most} THEN lpad($2, {width}, '0')"
    negative = f"WHEN $1 BETWEEN {-most} AND -1 THEN concat('-', lpad($3, {width}, '0'))"
    return sql(
        engine, f"{plain} {negative} ELSE $2 END", number, text_, _number_text(engine, sql(engine, "(- $1)", number))
    )


def _choose_text(engine: EngineName, index: exp.Expression, texts: Sequence[str]) -> exp.Expression:
    """Return the text at a 1-based index."""
    listed = ", ".join(f"${n + 2}" for n in range(len(texts)))
    at = (
        f"list_extract([{listed}], CAST($1 AS INTEGER))"
        if engine == "local"
        else f"get(array({listed}), CAST($1 AS INT) - 1)"
    )
    return sql(engine, at, index, *(text(item) for item in texts))


def _name_text(
    engine: EngineName, piece: Item, index: exp.Expression, names: Sequence[str], width: int
) -> exp.Expression:
    """Return a name in the keyword's letter case; full names are padded to the longest one."""
    keyword = piece.keyword
    cut = [name[:3] for name in names] if len(keyword) == (3 if names is MONTHS else 2) else list(names)
    cased = [name.upper() if keyword.isupper() else name.lower() if keyword.islower() else name for name in cut]
    fits = piece.fill and not piece.translated and cut == list(names)
    return _choose_text(engine, index, [name.ljust(width) if fits else name for name in cased])


def _ordinal(engine: EngineName, piece: Item, number: exp.Expression, shown: exp.Expression) -> exp.Expression:
    if not piece.ordinal:
        return shown
    suffixes = [s.upper() if piece.ordinal == "TH" else s for s in ("st", "nd", "rd", "th")]
    ending = sql(
        engine,
        "CASE WHEN abs($1) % 100 BETWEEN 11 AND 13 THEN $5 WHEN abs($1) % 10 = 1 THEN $2 WHEN abs($1) % 10 = 2 THEN $3 "
        "WHEN abs($1) % 10 = 3 THEN $4 ELSE $5 END",
        number,
        *(text(s) for s in suffixes),
    )
    return concat(engine, [shown, ending])


@dataclass(frozen=True, slots=True)
class _Moment:
    """The moment or interval that keywords format. field: returns a field by its unit. micros: its time of day.
    interval: whether it is an interval. zoned: a timestamptz itself, or None.
    """

    engine: EngineName
    field: Callable[[str], exp.Expression]
    micros: exp.Expression
    interval: bool
    zoned: exp.Expression | None = None

    def year(self, unit: str = "year") -> exp.Expression:
        """Return a year without its sign: years before Christ count from 1 upwards."""
        year = self.field(unit)
        return year if self.interval else sql(self.engine, "abs($1)", year)


_WIDTHS: Final = {
    "HH24": 2, "HH12": 2, "HH": 2, "MI": 2, "SS": 2, "MM": 2, "DD": 2, "DDD": 3, "IDDD": 3, "WW": 2, "IW": 2, "CC": 2,
    "YYYY": 4, "YYY": 3, "YY": 2, "Y": 1, "IYYY": 4, "IYY": 3, "IY": 2, "I": 1,
}  # fmt: skip
_OF_INTERVAL: Final = (
    "HH24", "HH12", "HH", "MI", "SS", "SSSS", "SSSSS", "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6",
    "MM", "DD", "YYYY", "YYY", "YY", "Y",
)  # fmt: skip


def _number(moment: _Moment, keyword: str) -> exp.Expression:
    """Return the whole number that a keyword prints."""
    engine = moment.engine
    match keyword:
        case "HH24":
            return quotient(engine, moment.micros, HOUR)
        case "HH12" | "HH":
            hour = quotient(engine, moment.micros, HOUR)
            return sql(engine, "CASE WHEN $1 % 12 = 0 THEN 12 ELSE $1 % 12 END", hour)
        case "MI":
            return sql(engine, "($1 % 60)", quotient(engine, moment.micros, MINUTE))
        case "SS":
            return sql(engine, "($1 % 60)", quotient(engine, moment.micros, SECOND))
        case "SSSS" | "SSSSS":
            return quotient(engine, moment.micros, SECOND)
        case "YYYY":
            return moment.year()
        case "IYYY":
            return moment.year("isoyear")
        case "YYY" | "YY" | "Y" | "IYY" | "IY" | "I":
            unit = "isoyear" if keyword[0] == "I" else "year"
            return sql(engine, f"($1 % {10 ** len(keyword)})", moment.year(unit))
        case "WW":
            return sql(engine, "($1 + 1)", quotient(engine, sql(engine, "($1 - 1)", moment.field("doy")), 7))
        case "W":
            return sql(engine, "($1 + 1)", quotient(engine, sql(engine, "($1 - 1)", moment.field("day")), 7))
        case "D":
            return sql(engine, "($1 + 1)", moment.field("dow"))
        case "IDDD":
            week = moment.field("week")
            return sql(engine, "(($1 - 1) * 7 + $2)", week, moment.field("isodow"))
    units = {
        "MM": "month",
        "DD": "day",
        "DDD": "doy",
        "ID": "isodow",
        "IW": "week",
        "CC": "century",
        "J": "julian",
        "Q": "quarter",
    }
    return moment.field(units[keyword])


def _fraction(moment: _Moment, digits: int) -> exp.Expression:
    """Return that many decimals, of which an interval's sign takes one."""
    engine = moment.engine
    rest = quotient(engine, sql(engine, f"($1 % {SECOND})", moment.micros), 10 ** (6 - digits))
    if not moment.interval:
        return pad_zeros(engine, rest, digits)
    least = pad_zeros(engine, rest, digits - 1)
    return sql(engine, "CASE WHEN $1 < 0 THEN $2 ELSE $3 END", rest, least, pad_zeros(engine, rest, digits))


def _half(moment: _Moment, keyword: str) -> exp.Expression:
    dotted = "." in keyword
    texts = ["a.m.", "p.m."] if dotted else ["am", "pm"]
    cased = [item.upper() if keyword.isupper() else item for item in texts]
    hour = quotient(moment.engine, moment.micros, HOUR)
    return sql(moment.engine, "CASE WHEN $1 % 24 < 12 THEN $2 ELSE $3 END", hour, *(text(item) for item in cased))


def _era(moment: _Moment, keyword: str) -> exp.Expression:
    texts = ["b.c.", "a.d."] if "." in keyword else ["bc", "ad"]
    cased = [item.upper() if keyword.isupper() else item for item in texts]
    return sql(
        moment.engine, "CASE WHEN $1 < 0 THEN $2 ELSE $3 END", moment.field("year"), *(text(item) for item in cased)
    )


def _offset(moment: _Moment, piece: Item) -> exp.Expression:
    """Return TZH, TZM or OF: parts of the offset from Greenwich, which is 0 for a timestamp without time zone."""
    engine, keyword = moment.engine, piece.keyword
    seconds = moment.field("timezone") if moment.zoned is not None else integer(0)
    minutes = sql(engine, "($1 % 60)", quotient(engine, sql(engine, "abs($1)", seconds), 60))
    if keyword == "TZM":
        return pad_zeros(engine, minutes, 2)
    # FM applies to OF only.
    width = 2 if piece.fill or keyword == "TZH" else 1
    hours = pad_zeros(engine, quotient(engine, sql(engine, "abs($1)", seconds), 3600), width)
    signed = concat(engine, [sql(engine, "CASE WHEN $1 < 0 THEN '-' ELSE '+' END", seconds), hours])
    if keyword == "TZH":
        return signed
    rest = concat(engine, [text(":"), pad_zeros(engine, minutes, 2)])
    return concat(engine, [signed, sql(engine, "CASE WHEN $1 = 0 THEN '' ELSE $2 END", minutes, rest)])


def _piece(moment: _Moment, piece: Item) -> exp.Expression:
    engine, keyword = moment.engine, piece.keyword
    upper = keyword.upper()
    if not keyword or upper == "FX":
        return text("" if keyword else piece.written)
    if moment.interval:
        check_interval_keyword(keyword)
    if moment.interval and upper not in (*_OF_INTERVAL, "AM", "PM", "A.M.", "P.M."):
        raise FeatureNotSupported(f'not supported: to_char(interval, text) with "{keyword}"')
    if upper in ("AM", "PM", "A.M.", "P.M."):
        return _half(moment, keyword)
    if upper in ("AD", "BC", "A.D.", "B.C."):
        return _era(moment, keyword)
    if upper in ("MONTH", "MON"):
        return _name_text(engine, piece, moment.field("month"), MONTHS, 9)
    if upper in ("DAY", "DY"):
        return _name_text(engine, piece, sql(engine, "($1 + 1)", moment.field("dow")), DAYS, 9)
    if upper == "RM":
        names = [name.upper() if keyword.isupper() else name.lower() for name in ROMAN_MONTHS]
        return _choose_text(engine, moment.field("month"), [name.ljust(4) if piece.fill else name for name in names])
    if upper == "TZ":
        if moment.zoned is not None:
            raise FeatureNotSupported(f'not supported: to_char of a timestamp with time zone with "{keyword}"')
        return text("")
    if keyword in ("TZH", "TZM", "OF"):
        return _offset(moment, piece)
    if keyword in ("MS", "US") or keyword.startswith("FF"):
        digits = {"MS": 3, "US": 6}.get(keyword) or int(keyword[2])
        number = quotient(engine, sql(engine, f"($1 % {SECOND})", moment.micros), 10 ** (6 - digits))
        return _ordinal(engine, piece, number, _fraction(moment, digits))
    if keyword == "Y,YYY":
        year = moment.year()
        thousands = quotient(engine, year, 1000)
        shown = concat(
            engine, [_number_text(engine, thousands), text(","), pad_zeros(engine, sql(engine, "($1 % 1000)", year), 3)]
        )
        return _ordinal(engine, piece, year, shown)
    number = _number(moment, keyword)
    if moment.interval and keyword in ("HH12", "HH") and piece.fill:
        # A negative hour's sign widens the number by one place, also if the hour is shown as 12 instead of 0.
        negative = sql(engine, "$1 < 0", quotient(engine, moment.micros, HOUR))
        wide = sql(engine, "CASE WHEN $1 = 12 THEN '012' ELSE $2 END", number, pad_zeros(engine, number, 2))
        shown = sql(engine, "CASE WHEN $1 THEN $2 ELSE $3 END", negative, wide, pad_zeros(engine, number, 2))
        return _ordinal(engine, piece, number, shown)
    if moment.interval and keyword == "DD":
        # The sign is part of the width of two; other fields print it in addition to their width.
        few = pad_zeros(engine, number, 2 if piece.fill else 1)
        return _ordinal(
            engine,
            piece,
            number,
            sql(engine, "CASE WHEN $1 < 0 THEN $2 ELSE $3 END", number, _number_text(engine, number), few),
        )
    return _ordinal(engine, piece, number, pad_zeros(engine, number, _WIDTHS.get(keyword, 1) if piece.fill else 1))


def _join_items(engine: EngineName, moment: _Moment, items: Sequence[Item]) -> exp.Expression:
    """Concatenate all items; adjacent characters become one text."""
    pieces: list[exp.Expression] = []
    for literal, group in groupby(items, key=lambda item: not item.keyword):
        if literal:
            pieces.append(text("".join(item.written for item in group)))
        else:
            pieces.extend(_piece(moment, item) for item in group)
    return concat(engine, pieces)


def null_text(engine: EngineName) -> exp.Expression:
    return sql(engine, "CAST(NULL AS VARCHAR)" if engine == "local" else "CAST(NULL AS STRING)")


def _by_template(
    engine: EngineName,
    template: exp.Expression,
    compiled: Callable[[tuple[Item, ...]], exp.Expression],
    computed: Callable[[], exp.Expression],
) -> exp.Expression:
    """Return `compiled` of a constant template, or the local engine's function if SQL cannot express the template."""
    if is_null(template):
        return null_text(engine)
    if engine == "spark":
        return compiled(moment_template(required_text(template, "a template")))
    known = constant_text(template)
    if known is not None and len(known) <= COMPILED_CHARACTERS_MAX:
        try:
            return compiled(moment_template(known))
        except FeatureNotSupported:
            return computed()
    return computed()


def _to_char_moment(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    typ = call.args[0].type.pg
    finite = "isfinite($1)" if engine == "local" else "$1 IS NOT NULL"

    def compile_template(value: exp.Expression, items: tuple[Item, ...]) -> exp.Expression:
        local = to_local(engine, value) if typ is t.TIMESTAMPTZ else value

        def field(unit: str) -> exp.Expression:
            if unit == "timezone":
                return moment_field(engine, unit, value, typ)
            if unit == "julian":
                days = sql(engine, "CAST($1 AS DATE)", local)
                return sql(
                    engine,
                    "($1 - CAST('1970-01-01' AS DATE) + 2440588)" if engine == "local" else "(unix_date($1) + 2440588)",
                    days,
                )
            return moment_field(engine, unit, local, t.TIMESTAMP)

        if not items:
            return null_text(engine)
        clock = modulo(engine, micros_of(engine, local, t.TIMESTAMP), DAY)
        moment = _Moment(engine, field, clock, False, value if typ is t.TIMESTAMPTZ else None)
        return sql(engine, f"CASE WHEN {finite} THEN $2 END", value, _join_items(engine, moment, items))

    def compute_by_function(value: exp.Expression) -> exp.Expression:
        zone = f", {SESSION_ZONE}" if typ is t.TIMESTAMPTZ else ""
        return sql(
            "local",
            f"CASE WHEN {finite} THEN sluice_{typ.name}_to_char($2, nullif($3, ''){zone}, {CURSOR_NUMBER}) END",
            value, micros_of("local", value, typ), args[1],
        )  # fmt: skip

    def format_value(value: exp.Expression) -> exp.Expression:
        return _by_template(
            engine, args[1], lambda items: compile_template(value, items), lambda: compute_by_function(value)
        )

    return bound(engine, "moment__", args[0], format_value)


def _to_char_interval(
    engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall
) -> exp.Expression:
    def compile_template(value: exp.Expression, items: tuple[Item, ...]) -> exp.Expression:
        parts: Fields = fields(engine, value)
        units = {
            "year": quotient(engine, parts.months, 12),
            "month": sql(engine, "($1 % 12)", parts.months),
            "day": parts.days,
        }
        if not items:
            return null_text(engine)
        moment = _Moment(engine, lambda unit: units[unit].copy(), parts.micros, True)
        return sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", value, _join_items(engine, moment, items))

    def compute_by_function(value: exp.Expression) -> exp.Expression:
        parts = fields(engine, value)
        return sql(
            "local",
            "sluice_interval_to_char(CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT), nullif($4, ''), "
            f"{CURSOR_NUMBER})",
            parts.months, parts.days, parts.micros, args[1],
        )  # fmt: skip

    def format_value(value: exp.Expression) -> exp.Expression:
        return _by_template(
            engine, args[1], lambda items: compile_template(value, items), lambda: compute_by_function(value)
        )

    return bound(engine, "span__", args[0], format_value)


ROWS: tuple[Function, ...] = (
    *(
        fn("to_char", (typ, t.TEXT), t.TEXT, **both(_to_char_moment), volatility="stable")
        for typ in (t.TIMESTAMP, t.TIMESTAMPTZ)
    ),
    fn("to_char", (t.INTERVAL, t.TEXT), t.TEXT, **both(_to_char_interval), volatility="stable"),
)

"""to_char of dates, times and intervals, to_date and to_timestamp: PostgreSQL 15, section 9.8.

The template must be a constant. It is read into pieces (keywords with their modifiers, literal text), and each piece becomes
an expression; to_char concatenates them. Reading text is stricter than PostgreSQL: a text that does not have the template's
shape exactly is refused (0A000) when it is met, where PostgreSQL would guess.

Numbers are formatted in `number_formats`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from engine.executor import EngineName
from engine.sql.functions import Function
from engine.sql.functions.building import fn
from engine.sql.functions.datetime import date_of, timestamped
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
    to_instant,
)
from engine.sql.functions.timefields import moment_field, to_local
from engine.sql.functions.trees import both, bound, concat, integer, is_null, raises, required_text, sql, text
from wire import types as t
from wire.errors import FeatureNotSupported, InvalidDatetimeFormat

if TYPE_CHECKING:
    from engine.sql.expr import AggregateCall, Call

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ROMAN: Final = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")

#: Keywords that exist in one spelling, in any letter case (longer ones first where one begins another).
_NUMBERS: Final = (
    "HH24", "HH12", "HH", "MI", "SSSSS", "SSSS", "SS", "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6",
    "Y,YYY", "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I", "MM", "DDD", "IDDD", "DD", "ID", "D", "WW", "IW", "W",
    "CC", "J", "Q", "TZH", "TZM", "OF",
)  # fmt: skip
#: Keywords whose letter case is that of what they print.
_NAMES: Final = (
    "MONTH", "Month", "month", "MON", "Mon", "mon", "DAY", "Day", "day", "DY", "Dy", "dy", "RM", "rm",
    "AM", "am", "PM", "pm", "A.M.", "a.m.", "P.M.", "p.m.", "AD", "ad", "BC", "bc", "A.D.", "a.d.", "B.C.", "b.c.", "TZ", "tz",
)  # fmt: skip
_KEYWORDS: Final = sorted({*_NAMES, *_NUMBERS, *(k.lower() for k in _NUMBERS)}, key=lambda keyword: -len(keyword))


_PADDED_NAMES: Final = frozenset({"MONTH", "DAY"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A keyword with its modifiers, or literal text (keyword empty)."""

    keyword: str
    literal: str = ""
    fill: bool = True
    ordinal: str = ""


def read_template(template: str) -> list[Piece]:
    """A template as pieces. FM turns padding off for the keyword it precedes, TM for a name; TH and th follow one."""
    pieces: list[Piece] = []
    at = 0
    while at < len(template):
        fill, translated, start = True, False, at
        while (prefix := template[at : at + 2].upper()) in ("FM", "FX", "TM"):
            fill, translated = fill and prefix != "FM", translated or prefix == "TM"
            at += 2
        keyword = next((k for k in _KEYWORDS if template.startswith(k, at)), None)
        if keyword is None:
            found, at = _literal(template, at if at > start else start)
            pieces.append(Piece("", found))
            continue
        at += len(keyword)
        # lc_time is C: a translated name is the English one, which is never padded.
        fill = fill and not (translated and keyword.upper() in _PADDED_NAMES)
        ordinal = template[at : at + 2] if template[at : at + 2] in ("TH", "th") else ""
        at += len(ordinal)
        if template[at : at + 2] in ("SP", "sp"):
            raise FeatureNotSupported("not supported: the template modifier SP")
        pieces.append(Piece(keyword if keyword in _NAMES else keyword.upper(), "", fill, ordinal))
    return pieces


def _literal(template: str, at: int) -> tuple[str, int]:
    """Literal text from `at`: quoted, an escaped quotation mark, or one character."""
    if template.startswith('\\"', at):
        return '"', at + 2
    if template[at : at + 1] == '"':
        out, at = "", at + 1
        while at < len(template) and template[at] != '"':
            at += template[at] == "\\" and at + 1 < len(template)
            out, at = out + template[at], at + 1
        return out, at + 1
    return template[at : at + 1], at + 1


# --- to_char ----------------------------------------------------------------------------------------------------------


def _shown(engine: EngineName, number: exp.Expression) -> exp.Expression:
    return sql(engine, "CAST($1 AS VARCHAR)" if engine == "local" else "CAST($1 AS STRING)", number)


def padded(engine: EngineName, number: exp.Expression, width: int) -> exp.Expression:
    """A number with zeros up to a width (its sign beyond it), a longer one in full: printf's %0*d."""
    text_ = _shown(engine, number)
    if width <= 1:
        return text_
    most = 10 ** (width - 1) - 1
    plain = f"CASE WHEN $1 BETWEEN 0 AND {most} THEN lpad($2, {width}, '0')"
    negative = f"WHEN $1 BETWEEN {-most} AND -1 THEN concat('-', lpad($3, {width}, '0'))"
    return sql(engine, f"{plain} {negative} ELSE $2 END", number, text_, _shown(engine, sql(engine, "(- $1)", number)))


def _chosen(engine: EngineName, index: exp.Expression, texts: Sequence[str]) -> exp.Expression:
    """The text at a 1-based index."""
    listed = ", ".join(f"${n + 2}" for n in range(len(texts)))
    at = (
        f"list_extract([{listed}], CAST($1 AS INTEGER))"
        if engine == "local"
        else f"get(array({listed}), CAST($1 AS INT) - 1)"
    )
    return sql(engine, at, index, *(text(item) for item in texts))


def _named(engine: EngineName, piece: Piece, index: exp.Expression, names: Sequence[str], width: int) -> exp.Expression:
    """A name in the keyword's letter case; full names are padded to the longest one."""
    keyword = piece.keyword
    cut = [name[:3] for name in names] if len(keyword) == (3 if names is MONTHS else 2) else list(names)
    cased = [name.upper() if keyword.isupper() else name.lower() if keyword.islower() else name for name in cut]
    fits = piece.fill and cut == list(names)
    return _chosen(engine, index, [name.ljust(width) if fits else name for name in cased])


def _ordinal(engine: EngineName, piece: Piece, number: exp.Expression, shown: exp.Expression) -> exp.Expression:
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
    """What the keywords are asked of: a field by its unit, and whether it is an interval's."""

    engine: EngineName
    field: Callable[[str], exp.Expression]
    micros: exp.Expression
    interval: bool
    zoned: exp.Expression | None = None

    def year(self, unit: str = "year") -> exp.Expression:
        """A year without its sign: before Christ counts from 1 upwards."""
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
_FORBIDDEN_TO_INTERVAL: Final = (
    "MONTH",
    "MON",
    "DAY",
    "DY",
    "D",
    "ID",
    "BC",
    "AD",
    "B.C.",
    "A.D.",
    "TZ",
    "OF",
    "TZH",
    "TZM",
)


def _number(moment: _Moment, keyword: str) -> exp.Expression:
    """The whole number that a keyword prints."""
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
    rest = sql(moment.engine, f"($1 % {SECOND})", moment.micros)
    return padded(moment.engine, quotient(moment.engine, rest, 10 ** (6 - digits)), digits)


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


def _offset(moment: _Moment, piece: Piece) -> exp.Expression:
    """TZH, TZM and OF: parts of the offset from Greenwich, which is 0 for a timestamp without zone."""
    engine, keyword = moment.engine, piece.keyword
    seconds = moment.field("timezone") if moment.zoned is not None else integer(0)
    minutes = sql(engine, "($1 % 60)", quotient(engine, sql(engine, "abs($1)", seconds), 60))
    if keyword == "TZM":
        return padded(engine, minutes, 2)
    # FM counts for OF alone.
    width = 2 if piece.fill or keyword == "TZH" else 1
    hours = padded(engine, quotient(engine, sql(engine, "abs($1)", seconds), 3600), width)
    signed = concat(engine, [sql(engine, "CASE WHEN $1 < 0 THEN '-' ELSE '+' END", seconds), hours])
    if keyword == "TZH":
        return signed
    rest = concat(engine, [text(":"), padded(engine, minutes, 2)])
    return concat(engine, [signed, sql(engine, "CASE WHEN $1 = 0 THEN '' ELSE $2 END", minutes, rest)])


def _piece(moment: _Moment, piece: Piece) -> exp.Expression:
    engine, keyword = moment.engine, piece.keyword
    upper = keyword.upper()
    if not keyword:
        return text(piece.literal)
    if moment.interval and upper in _FORBIDDEN_TO_INTERVAL:
        raise InvalidDatetimeFormat(
            "invalid format specification for an interval value",
            hint="Intervals are not tied to specific calendar dates.",
        )
    if moment.interval and upper not in (*_OF_INTERVAL, "AM", "PM", "A.M.", "P.M."):
        raise FeatureNotSupported(f'not supported: to_char(interval, text) with "{keyword}"')
    if upper in ("AM", "PM", "A.M.", "P.M."):
        return _half(moment, keyword)
    if upper in ("AD", "BC", "A.D.", "B.C."):
        return _era(moment, keyword)
    if upper in ("MONTH", "MON"):
        return _named(engine, piece, moment.field("month"), MONTHS, 9)
    if upper in ("DAY", "DY"):
        return _named(engine, piece, sql(engine, "($1 + 1)", moment.field("dow")), DAYS, 9)
    if upper == "RM":
        names = [name.upper() if keyword.isupper() else name.lower() for name in _ROMAN]
        return _chosen(engine, moment.field("month"), [name.ljust(4) if piece.fill else name for name in names])
    if upper == "TZ":
        if moment.zoned is not None:
            raise FeatureNotSupported('not supported: to_char of a timestamp with time zone with "TZ"')
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
            engine, [_shown(engine, thousands), text(","), padded(engine, sql(engine, "($1 % 1000)", year), 3)]
        )
        return _ordinal(engine, piece, year, shown)
    number = _number(moment, keyword)
    if moment.interval and keyword == "DD":
        # Two places with its sign, where other fields have the sign beside them.
        few = padded(engine, number, 2 if piece.fill else 1)
        return _ordinal(
            engine,
            piece,
            number,
            sql(engine, "CASE WHEN $1 < 0 THEN $2 ELSE $3 END", number, _shown(engine, number), few),
        )
    return _ordinal(engine, piece, number, padded(engine, number, _WIDTHS.get(keyword, 1) if piece.fill else 1))


def _to_char_moment(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
    typ = call.args[0].type.pg
    if is_null(args[1]):
        return sql(engine, "CAST(NULL AS VARCHAR)" if engine == "local" else "CAST(NULL AS STRING)")
    pieces = read_template(required_text(args[1], "a template"))

    def made(value: exp.Expression) -> exp.Expression:
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

        clock = modulo(engine, micros_of(engine, local, t.TIMESTAMP), DAY)
        moment = _Moment(engine, field, clock, False, value if typ is t.TIMESTAMPTZ else None)
        joined = concat(engine, [_piece(moment, piece) for piece in pieces])
        finite = "isfinite($1)" if engine == "local" else "$1 IS NOT NULL"
        return (
            sql(engine, f"CASE WHEN {finite} THEN $2 END", value, joined) if pieces else sql(engine, "nullif('', '')")
        )

    return bound(engine, "moment__", args[0], made)


def _to_char_interval(
    engine: EngineName, args: Sequence[exp.Expression], _call: Call | AggregateCall
) -> exp.Expression:
    if is_null(args[1]):
        return sql(engine, "CAST(NULL AS VARCHAR)" if engine == "local" else "CAST(NULL AS STRING)")
    pieces = read_template(required_text(args[1], "a template"))

    def made(value: exp.Expression) -> exp.Expression:
        parts: Fields = fields(engine, value)
        units = {
            "year": quotient(engine, parts.months, 12),
            "month": sql(engine, "($1 % 12)", parts.months),
            "day": parts.days,
        }
        moment = _Moment(engine, lambda unit: units[unit].copy(), parts.micros, True)
        joined = concat(engine, [_piece(moment, piece) for piece in pieces])
        return sql(engine, "CASE WHEN $1 IS NOT NULL THEN $2 END", value, joined)

    return bound(engine, "span__", args[0], made)


# --- to_date, to_timestamp --------------------------------------------------------------------------------------------

#: The digits that a keyword reads: as few and as many as these, or exactly as many where another number follows at once.
_READ: Final = {
    "YYYY": (1, 4), "MM": (1, 2), "DD": (1, 2), "HH24": (1, 2), "HH12": (1, 2), "HH": (1, 2), "MI": (1, 2), "SS": (1, 2),
    "MS": (3, 3), "US": (6, 6), "FF3": (3, 3), "FF6": (6, 6), "DDD": (1, 3),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """A template for reading: the regular expression of the texts it reads, and what each group of it holds."""

    pattern: str
    keywords: tuple[str, ...]


def read_shape(template: str) -> Shape:
    """Raises FeatureNotSupported for keywords that are not read."""
    pieces = read_template(template)
    said, keywords = [r"^\s*"], []
    for place, piece in enumerate(pieces):
        upper = piece.keyword.upper()
        if not piece.keyword:
            said.append(_separator(piece.literal))
            continue
        if piece.ordinal:
            raise FeatureNotSupported("not supported: reading a number with TH")
        if upper in ("MONTH", "MON"):
            names = [name if upper == "MONTH" else name[:3] for name in MONTHS]
            said.append(f"((?i:{'|'.join(names)}))")
        elif upper in ("AM", "PM", "A.M.", "P.M."):
            said.append("((?i:[ap]\\.m\\.))" if "." in upper else "((?i:[ap]m))")
        elif upper in _READ:
            low, high = _READ[upper]
            following = pieces[place + 1] if place + 1 < len(pieces) else None
            exact = following is not None and following.keyword.upper() in _READ
            said.append(f"([0-9]{{{high if exact else low},{high}}})")
        else:
            raise FeatureNotSupported(f'not supported: reading "{piece.keyword}" by a template')
        keywords.append(upper)
    if len(set(keywords)) < len(keywords):
        raise FeatureNotSupported("not supported: a template that reads a field twice")
    return Shape("".join([*said, r"\s*$"]), tuple(keywords))


def _separator(literal: str) -> str:
    """A separator reads any separator, a blank several; a letter or digit that is meant literally reads itself."""
    if re.fullmatch(r"[^A-Za-z0-9]", literal):
        return r"[^A-Za-z0-9]" if literal != " " else r"\s+"
    return "".join(char if char.isalnum() else f"\\x{{{ord(char):x}}}" for char in literal)


def _read_fields(engine: EngineName, value: exp.Expression, shape: Shape) -> dict[str, exp.Expression]:
    pattern = text(shape.pattern)
    return {
        keyword: sql(engine, f"regexp_extract($1, $2, {number})", value, pattern)
        for number, keyword in enumerate(shape.keywords, 1)
    }


def _as_int(engine: EngineName, tree: exp.Expression) -> exp.Expression:
    """Digits that were read; null where the template did not fit, of which the error is told elsewhere."""
    return sql(engine, "TRY_CAST($1 AS INT)", tree)


def _month(engine: EngineName, read: dict[str, exp.Expression]) -> exp.Expression:
    for keyword in ("MONTH", "MON"):
        if keyword in read:
            names = "".join(name[:3].lower() for name in MONTHS)
            position = "strpos($2, lower(left($1, 3)))" if engine == "local" else "instr($2, lower(left($1, 3)))"
            return sql(
                engine, f"(({position} + 2) {'//' if engine == 'local' else 'div'} 3)", read[keyword], text(names)
            )
    return _as_int(engine, read["MM"]) if "MM" in read else integer(1)


def _read_date(engine: EngineName, read: dict[str, exp.Expression]) -> exp.Expression:
    year = _as_int(engine, read["YYYY"]) if "YYYY" in read else integer(1)
    if "DDD" in read:
        if read.keys() & {"MM", "MON", "MONTH", "DD"}:
            raise FeatureNotSupported("not supported: reading a day of the year beside a month or day")
        first = sql(engine, "make_date($1, 1, 1)", year)
        return sql(
            engine,
            "($1 + $2 - 1)" if engine == "local" else "date_add($1, $2 - 1)",
            first,
            _as_int(engine, read["DDD"]),
        )
    day = _as_int(engine, read["DD"]) if "DD" in read else integer(1)
    return date_of(engine, [year, _as_int(engine, _month(engine, read)), day])


def _read_micros(engine: EngineName, read: dict[str, exp.Expression]) -> exp.Expression:
    halves = [keyword for keyword in ("AM", "PM", "A.M.", "P.M.") if keyword in read]
    if halves and "HH24" in read:
        raise FeatureNotSupported("not supported: reading HH24 beside AM or PM")
    parts = []
    for keyword, size, most in (
        ("HH24", HOUR, 23),
        ("HH12", HOUR, 12),
        ("HH", HOUR, 12),
        ("MI", MINUTE, 59),
        ("SS", SECOND, 59),
        ("MS", 1000, 999),
        ("FF3", 1000, 999),
        ("US", 1, 999999),
        ("FF6", 1, 999999),
    ):
        if keyword not in read:
            continue
        number = _as_int(engine, read[keyword])
        wrong = raises(engine, "22008", "date/time field value out of range")
        least = 1 if keyword in ("HH12", "HH") else 0
        checked = sql(engine, f"CASE WHEN $1 > {most} OR $1 < {least} THEN $2 ELSE $1 END", number, wrong)
        if keyword in ("HH12", "HH"):
            after = (
                sql(engine, "CASE WHEN lower(left($1, 1)) = 'p' THEN 12 ELSE 0 END", read[halves[0]])
                if halves
                else integer(0)
            )
            hour = "($1 % 12 + $2)" if halves else "CASE WHEN $1 = 12 THEN 0 ELSE $1 END + $2"
            checked = sql(engine, f"({hour})", checked, after)
        parts.append(sql(engine, f"CAST($1 AS BIGINT) * {size}", checked))
    total = integer(0)
    for part in parts:
        total = sql(engine, "($1 + $2)", total, part)
    return total


def _parsed(as_date: bool) -> Callable[[EngineName, Sequence[exp.Expression], Call | AggregateCall], exp.Expression]:
    def build(engine: EngineName, args: Sequence[exp.Expression], call: Call | AggregateCall) -> exp.Expression:
        result = "DATE" if as_date else "TIMESTAMPTZ" if engine == "local" else "TIMESTAMP"
        if is_null(args[1]):
            return sql(engine, f"CAST(NULL AS {result})")
        shape = read_shape(required_text(args[1], "a template"))

        def made(value: exp.Expression) -> exp.Expression:
            read = _read_fields(engine, value, shape)
            day = _read_date(engine, read)
            if as_date:
                found = day
            else:
                moved = "$1 + to_microseconds($2)" if engine == "local" else "timestampadd(MICROSECOND, $2, $1)"
                wall = sql(engine, moved, timestamped(engine, day), _read_micros(engine, read))
                found = sql("local", "CAST($1 AS TIMESTAMPTZ)", wall) if engine == "local" else to_instant(wall)
            matches = "regexp_matches($1, $2)" if engine == "local" else "regexp_like($1, $2)"
            said = concat(
                engine, [text(f'not supported: {call.function.name} of "'), value, text('" by this template')]
            )
            return sql(
                engine, f"CASE WHEN {matches} THEN $3 WHEN $1 IS NOT NULL THEN $4 END",
                value, text(shape.pattern), found, raises(engine, "0A000", said),
            )  # fmt: skip

        return bound(engine, "read__", args[0], made)

    return build


ROWS: tuple[Function, ...] = (
    *(
        fn("to_char", (typ, t.TEXT), t.TEXT, **both(_to_char_moment), volatility="stable")
        for typ in (t.TIMESTAMP, t.TIMESTAMPTZ)
    ),
    fn("to_char", (t.INTERVAL, t.TEXT), t.TEXT, **both(_to_char_interval), volatility="stable"),
    fn("to_date", (t.TEXT, t.TEXT), t.DATE, **both(_parsed(True)), volatility="stable"),
    fn("to_timestamp", (t.TEXT, t.TEXT), t.TIMESTAMPTZ, **both(_parsed(False)), volatility="stable"),
)

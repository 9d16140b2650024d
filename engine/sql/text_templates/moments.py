"""Templates for dates, times and intervals, as to_char writes by them, one value at a time; `reading` reads by them.

A template is read once into items: keywords with their modifiers, separators, blanks, other characters. lc_time is C,
so the names that TM gives are English. A date's fields are those of PostgreSQL's `struct pg_tm`: the year before 1 is
0, and divisions round towards zero, which is visible where intervals are negative.

Neighbours: `engine.executors.local.templates` calls this for the distinct values of a batch;
`engine.sql.functions.formatting` compiles the common templates into SQL instead.

Source: PostgreSQL 15, section 9.8; formatting.c, timestamp.c (ISO weeks).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from engine.sql.text_templates.lengths import PARSED_TEMPLATES, require_short
from engine.sql.text_templates.numbers import literal_at, ordinal_ending
from wire.dataclass import dataclass
from wire.errors import InvalidDatetimeFormat
from wire.types.civil_calendar import civil_from_days, days_from_civil
from wire.types.time_zones import zone

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
ROMAN_MONTHS: Final = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
#: Julian day of 1970-01-01.
JULIAN_OF_1970: Final = 2_440_588
_SECOND: Final = 1_000_000
_DAY: Final = 86_400 * _SECOND

#: Keywords that mean the same in upper and lower case, and read digits.
_NUMBERS: Final = (
    "HH24", "HH12", "HH", "MI", "SSSSS", "SSSS", "SS", "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "TZM",
    "Y,YYY", "YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I", "MM", "DDD", "IDDD", "DD", "ID", "D", "WW", "IW", "W",
    "CC", "J", "Q",
)  # fmt: skip
#: Keywords that mean the same in upper and lower case, and do not read digits.
_OTHERS: Final = ("TZH", "OF", "FX")
#: Keywords whose letter case determines that of their output.
NAMES: Final = (
    "MONTH", "Month", "month", "MON", "Mon", "mon", "DAY", "Day", "day", "DY", "Dy", "dy", "RM", "rm",
    "AM", "am", "PM", "pm", "A.M.", "a.m.", "P.M.", "p.m.", "AD", "ad", "BC", "bc", "A.D.", "a.d.", "B.C.", "b.c.", "TZ", "tz",
)  # fmt: skip
_WORDS: Final = {*NAMES, *_NUMBERS, *_OTHERS, *(word.lower() for word in (*_NUMBERS, *_OTHERS))}
_KEYWORD: Final = re.compile("|".join(re.escape(word) for word in sorted(_WORDS, key=lambda word: -len(word))))
_PREFIX: Final = re.compile("FM|fm|TM|tm")
_SUFFIX: Final = re.compile("TH|th|SP")
SPACES: Final = " \t\n\r\v\f"


@dataclass(frozen=True, slots=True)
class Item:
    """A keyword with its modifiers, or one character of another kind.

    keyword: in upper case, except names (`NAMES`), which stay as written; empty for a character. written: the keyword
        as written, or the character.
    ordinal: TH, th or empty. quoted: whether it is a character that was written between quotes.
    """

    kind: Literal["keyword", "separator", "space", "character"]
    keyword: str
    written: str
    fill: bool = True
    translated: bool = False
    ordinal: str = ""
    quoted: bool = False

    @property
    def reads_digits(self) -> bool:
        return self.keyword in _NUMBERS


@lru_cache(PARSED_TEMPLATES)
def moment_template(text: str) -> tuple[Item, ...]:
    """Parse a template. Raises FeatureNotSupported for one that is too long."""
    require_short(text)
    items: list[Item] = []
    at = 0
    while at < len(text):
        prefix = _PREFIX.match(text, at)
        at = prefix.end() if prefix is not None else at
        modifier = prefix[0].upper() if prefix is not None else ""
        if (found := _KEYWORD.match(text, at)) is not None:
            at = found.end()
            suffix = _SUFFIX.match(text, at)
            at = suffix.end() if suffix is not None else at
            ordinal = suffix[0] if suffix is not None and suffix[0] != "SP" else ""
            keyword = found[0] if found[0] in NAMES else found[0].upper()
            items.append(Item("keyword", keyword, found[0], modifier != "FM", modifier == "TM", ordinal))
        elif at < len(text):
            quoted = text[at] == '"'
            literal, at = literal_at(text, at)
            items.extend(_character(character, quoted) for character in literal)
    return tuple(items)


def _character(character: str, quoted: bool) -> Item:
    if not quoted and is_separator(character):
        return Item("separator", "", character)
    if not quoted and character in SPACES:
        return Item("space", "", character)
    return Item("character", "", character, quoted=quoted)


def is_separator(character: str) -> bool:
    """Return whether it is a printable ASCII character other than a letter, a digit or a blank."""
    return "!" <= character <= "~" and not character.isalnum()


# --- the calendar -----------------------------------------------------------------------------------------------------


def _quotient(dividend: int, divisor: int) -> int:
    """Divide and round towards zero, as in C."""
    return -(-dividend // divisor) if dividend < 0 else dividend // divisor


def _rest(dividend: int, divisor: int) -> int:
    return dividend - _quotient(dividend, divisor) * divisor


def julian_day(year: int, month: int, day: int) -> int:
    """Return date2j, which also accepts fields that no calendar has: an interval's."""
    month, year = (month + 1, year + 4800) if month > 2 else (month + 13, year + 4799)
    century = _quotient(year, 100)
    days = year * 365 - 32167 + _quotient(year, 4) - century + _quotient(century, 4)
    return days + _quotient(7834 * month, 256) + day


def iso_week_start(year: int, week: int = 1) -> int:
    """Return the Julian day on which a week of an ISO year begins."""
    fourth = julian_day(year, 1, 4)
    return (week - 1) * 7 + fourth - fourth % 7


def _iso(year: int, month: int, day: int) -> tuple[int, int, int]:
    """Return the ISO year, week and day of the year."""
    here = julian_day(year, month, day)
    iso_year = year - 1 if here < iso_week_start(year) else year
    week = _quotient(here - iso_week_start(iso_year), 7) + 1
    if week >= 52 and here >= iso_week_start(year + 1):
        iso_year = year + 1
        week = _quotient(here - iso_week_start(iso_year), 7) + 1
    return iso_year, week, here - iso_week_start(iso_year) + 1


# --- to_char ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields that are written. east, zone_name: for a moment in a zone, the seconds east of Greenwich and the
    zone's abbreviation at that moment.
    """

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    micros: int
    day_of_year: int
    interval: bool = False
    weekday: int = 0
    east: int = 0
    zone_name: str = ""

    def shown_year(self, year: int) -> int:
        """Return the year as it is shown: years before Christ count from 1 upwards."""
        return year if self.interval or year > 0 else 1 - year


_OFFSET: Final = re.compile(r"GMT([+-])(\d\d):(\d\d)")


def _in_zone(second: int, name: str) -> tuple[int, str]:
    """Return the seconds east of Greenwich and the abbreviation of a zone at an instant; the local engine passes the
    zone's name.
    """
    if (given := _OFFSET.fullmatch(name)) is not None:
        east = (int(given[2]) * 60 + int(given[3])) * 60
        minutes = f":{given[3]}" if given[3] != "00" else ""
        return (-east if given[1] == "-" else east), f"{given[1]}{given[2]}{minutes}"
    where = zone(name)
    kind = int(where.types_at(np.array([second], np.int64))[0])
    return int(where.offsets[kind]), where.abbreviations[kind]


def offset_of_local(second: int, name: str) -> int:
    """Return the seconds east of Greenwich of a local time, which is given as if it were UTC."""
    return _in_zone(0, name)[0] if _OFFSET.fullmatch(name) else zone(name).offset_of_local(second)


def fixed_offset(name: str) -> int | None:
    """Return the seconds east of Greenwich of a zone that always has the same offset; None for others."""
    if _OFFSET.fullmatch(name):
        return _in_zone(0, name)[0]
    where = zone(name)
    return int(where.offsets[where.types[0]]) if len(where.starts) == 1 else None


def timestamp_text(micros: int, template: str) -> str:
    return _write(_moment(micros, 0, ""), template)


def timestamptz_text(micros: int, template: str, zone_name: str) -> str:
    east, abbreviation = _in_zone(micros // _SECOND, zone_name)
    return _write(_moment(micros + east * _SECOND, east, abbreviation), template)


def _moment(micros: int, east: int, abbreviation: str) -> Fields:
    days, clock = divmod(micros, _DAY)
    year, month, day = civil_from_days(days)
    seconds, rest = divmod(clock, _SECOND)
    return Fields(
        year, month, day, seconds // 3600, seconds // 60 % 60, seconds % 60, rest,
        days - days_from_civil(year, 1, 1) + 1, False, (days + 4) % 7, east, abbreviation,
    )  # fmt: skip


def interval_text(months: int, days: int, micros: int, template: str) -> str:
    year, month = _quotient(months, 12), _rest(months, 12)
    seconds, rest = _quotient(micros, _SECOND), _rest(micros, _SECOND)
    minutes = _quotient(seconds, 60)
    fields = Fields(
        year, month, days, _quotient(minutes, 60), _rest(minutes, 60), _rest(seconds, 60), rest,
        months * 30 + days, True,
    )  # fmt: skip
    return _write(fields, template)


def _write(fields: Fields, template: str) -> str:
    return "".join(_item(fields, item) if item.keyword else item.written for item in moment_template(template))


_NOT_OF_INTERVALS: Final = frozenset({
    "TZ", "TZH", "TZM", "OF", "AD", "BC", "A.D.", "B.C.", "MONTH", "MON", "DAY", "DY", "D", "ID",
})  # fmt: skip


def check_interval_keyword(keyword: str) -> None:
    """Raises InvalidDatetimeFormat for a keyword that does not apply to intervals."""
    if keyword.upper() in _NOT_OF_INTERVALS:
        raise InvalidDatetimeFormat(
            "invalid format specification for an interval value",
            hint="Intervals are not tied to specific calendar dates.",
        )


def _item(f: Fields, item: Item) -> str:
    if f.interval:
        check_interval_keyword(item.keyword)
    upper = item.keyword.upper()
    match upper:
        case "AM" | "PM" | "A.M." | "P.M.":
            return _match_case(item, ("p" if _rest(f.hour, 24) >= 12 else "a") + ("m" if len(upper) == 2 else ".m."))
        case "AD" | "BC" | "A.D." | "B.C.":
            return _match_case(
                item, ".".join("bc" if f.year <= 0 else "ad") + "." if "." in upper else "bc" if f.year <= 0 else "ad"
            )
        case "MONTH" | "DAY":
            name = MONTHS[f.month - 1] if upper == "MONTH" else DAYS[f.weekday]
            return _match_case(item, name.ljust(9) if item.fill and not item.translated else name)
        case "MON" | "DY":
            return _match_case(item, (MONTHS[f.month - 1] if upper == "MON" else DAYS[f.weekday])[:3])
        case "RM":
            numeral = _roman_month(f)
            return _match_case(item, numeral.ljust(4) if item.fill and numeral else numeral)
        case "TZ":
            return f.zone_name.lower() if item.keyword == "tz" else f.zone_name
        case "TZH":
            return f"{'-' if f.east < 0 else '+'}{abs(f.east) // 3600:02}"
        case "TZM":
            return f"{abs(f.east) // 60 % 60:02}"
        case "OF":
            minutes = f":{abs(f.east) // 60 % 60:02}" if f.east % 3600 else ""
            return f"{'-' if f.east < 0 else '+'}{abs(f.east) // 3600:0{2 if item.fill else 1}}{minutes}"
        case "FX":
            return ""
    shown = _number(f, upper, item.fill)
    if not item.ordinal or not shown:
        return shown
    ending = ordinal_ending(shown)
    return shown + (ending.upper() if item.ordinal == "TH" else ending)


def _match_case(item: Item, text: str) -> str:
    """Return a name in its keyword's letter case."""
    if item.keyword.isupper():
        return text.upper()
    return text.lower() if item.keyword.islower() else text


def _roman_month(f: Fields) -> str:
    """Return the Roman month of an interval. Its months may be zero or negative: these count from the year's other
    end, and whole years are December.
    """
    if f.month == 0:
        if f.year == 0:
            return ""
        return ROMAN_MONTHS[11 if f.year >= 0 else 0]
    return ROMAN_MONTHS[f.month - 1] if f.month > 0 else ROMAN_MONTHS[12 + f.month]


def _number(f: Fields, keyword: str, fill: bool) -> str:
    def pad(number: int, width: int, like: int | None = None) -> str:
        """Pad a number to that many places, plus one for the sign of `like`, by default the number itself."""
        wide = width + ((number if like is None else like) < 0)
        return f"{number:0{wide}d}" if fill else str(number)

    match keyword:
        case "HH24":
            return pad(f.hour, 2)
        case "HH12" | "HH":
            return pad(_rest(f.hour, 12) or 12, 2, f.hour)
        case "MI":
            return pad(f.minute, 2)
        case "SS":
            return pad(f.second, 2)
        case "SSSS" | "SSSSS":
            return str((f.hour * 60 + f.minute) * 60 + f.second)
        case "MS" | "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6":
            digits = {"MS": 3, "US": 6}.get(keyword) or int(keyword[2])
            return f"{_quotient(f.micros, 10 ** (6 - digits)):0{digits}d}"
        case "MM":
            return pad(f.month, 2)
        case "DD":
            return pad(f.day, 2, 0)
        case "DDD":
            return pad(f.day_of_year, 3, 0)
        case "D":
            return str(f.weekday + 1)
        case "ID":
            return str(f.weekday or 7)
        case "W":
            return str(_quotient(f.day - 1, 7) + 1)
        case "WW":
            return pad(_quotient(f.day_of_year - 1, 7) + 1, 2, 0)
        case "IW" | "IDDD":
            _year, week, day = _iso(f.year, f.month, f.day)
            return pad(week, 2, 0) if keyword == "IW" else pad(day, 3, 0)
        case "Q":
            return str(_quotient(f.month - 1, 3) + 1) if f.month else ""
        case "CC":
            return _century(f, fill)
        case "J":
            return str(julian_day(f.year, f.month, f.day))
        case "Y,YYY":
            year = f.shown_year(f.year)
            thousands = _quotient(year, 1000)
            return f"{thousands},{year - thousands * 1000:03d}"
    year = f.shown_year(_iso(f.year, f.month, f.day)[0] if keyword.startswith("I") else f.year)
    if len(keyword) == 4:
        return pad(year, 4, f.shown_year(f.year))
    cut = _rest(year, 10 ** len(keyword))
    return str(cut) if len(keyword) == 1 else pad(cut, len(keyword), f.shown_year(f.year))


def _century(f: Fields, fill: bool) -> str:
    century = _quotient(f.year, 100)
    if not f.interval:
        century = _quotient(f.year - 1, 100) + 1 if f.year > 0 else century - 1
    if not fill or not -99 <= century <= 99:
        return str(century)
    return f"{century:0{2 if century >= 0 else 3}d}"

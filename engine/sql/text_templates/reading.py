"""Dates and times read by a template: to_date and to_timestamp, and jsonpath's datetime(), one text at a time.

The template's items are processed from left to right with a position in the text. Each keyword takes its digits or its
name; characters in between are skipped, generously unless FX says otherwise. The fields are then combined in
PostgreSQL's order of precedence, checked, and converted to a number that counts from 1970.

The SQL standard's mode, which datetime() uses, is stricter: there are few separators, each stands for itself, and
neither the text nor the template may go on when the other has ended. The type of the result follows from the template's
keywords.

Neighbours: `engine.sql.text_templates.moments` reads templates; `engine.executors.local.templates` calls this for the
distinct texts of a batch; `engine.executors.local.json_path_moments` has the other caller.

Source: PostgreSQL 15, section 9.8; formatting.c (DCH_from_char, do_to_timestamp, parse_datetime), datetime.c
(ValidateDate).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NoReturn

from engine.sql.text_templates.moments import (
    DAYS,
    JULIAN_OF_1970,
    MONTHS,
    ROMAN_MONTHS,
    SPACES,
    Item,
    is_separator,
    iso_week_start,
    moment_template,
    offset_of_local,
)
from wire.common.digits import parse_digits
from wire.dataclass import dataclass
from wire.errors import (
    DatetimeFieldOverflow,
    FeatureNotSupported,
    InvalidDatetimeFormat,
    InvalidTimeZoneDisplacement,
)
from wire.types.carriers import PG_EPOCH_MICROS
from wire.types.civil_calendar import DAY_MICROS, civil_from_days, days_from_civil
from wire.types.datetime_input import DATE_END, DATE_FIRST, TIMESTAMP_END, TIMESTAMP_FIRST, check_carried, round_micros

_INTEGER: Final = re.compile(r"[ \t\n\r\v\f]*([+-]?[0-9]+)")
_YEARS: Final = re.compile(r"[ \t\n\r\v\f]*([+-]?[0-9]+),[ \t\n\r\v\f]*([+-]?[0-9]{1,3})")
_INT_LEAST, _INT_MOST = -(2**31), 2**31 - 1
_ZONE_HOURS_MOST: Final = 15
_GREGORIAN: Final = frozenset({
    "MONTH", "MON", "MM", "DDD", "DD", "D", "WW", "W", "Y,YYY", "YYYY", "YYY", "YY", "Y", "RM",
})  # fmt: skip
_ISO: Final = frozenset({"IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I"})
#: The number of digits that a keyword reads if another number follows directly, where it differs from the number of its
#: letters.
_PLACES: Final = {"HH24": 2, "HH12": 2, "MS": 3, "US": 6, "IDDD": 3, "ID": 1, "TZH": 2, "TZM": 2}
#: The field that a keyword's number sets.
_FIELDS: Final = {
    "HH24": "hour", "HH12": "hour", "HH": "hour", "MI": "minute", "SS": "second", "SSSS": "of day", "SSSSS": "of day",
    "MM": "month", "DDD": "day of year", "IDDD": "day of year", "DD": "day", "D": "weekday", "ID": "weekday", "WW": "week",
    "IW": "week", "CC": "century", "W": "week of month", "J": "julian", "TZH": "zone hours", "TZM": "zone minutes",
    "MS": "millis",
    **dict.fromkeys(("US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6"), "micros"),
    **dict.fromkeys(("YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I"), "year"),
}  # fmt: skip
_STANDARD_SEPARATORS: Final = "-./,':; "
_TIMED: Final = frozenset({
    "A.M.", "P.M.", "AM", "PM", "HH", "HH12", "HH24", "MI", "SS", "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "SSSS",
    "SSSSS",
})  # fmt: skip
_ZONED: Final = frozenset({"TZH", "TZM"})
_MONTH_ENDS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_NOT_FIXED: Final = 'If your source string is not fixed-width, try using the "FM" modifier.'


class _Reader:
    """A reader of a text by a template's items.

    `at`: the position in the text. `read`: the fields so far; a 0 counts as not read. `skipped`: the number of
    characters that were skipped in excess of the template's, for which a literal character may stand. `standard`:
    whether it is as strict as the SQL standard.
    """

    def __init__(self, text: str, items: Sequence[Item], *, standard: bool = False) -> None:
        self.text = text
        self.items = items
        self.standard = standard
        self.at = self.skipped = 0
        self.read: dict[str, int] = dict.fromkeys((*_FIELDS.values(), "pm", "bc", "zone sign"), 0)
        self.conventions = ""
        self.twelve_hours, self.fixed = False, standard
        self.year_places = self.fraction_places = 0

    def _here(self) -> str:
        return self.text[self.at : self.at + 1]

    def run(self) -> None:
        for place, item in enumerate(self.items):
            if self.at >= len(self.text):
                if self.standard:
                    raise InvalidDatetimeFormat("input string is too short for datetime format")
                return
            if not self.fixed and item.keyword != "FX" and (item.keyword or place == 0):
                self._skip_spaces()
            if not item.keyword:
                self._read_separator(item)
                continue
            self._keyword(place, item)
            if not self.fixed:
                self.skipped = 0
                self._skip_spaces()
        if self.standard and self.text[self.at :].strip(SPACES):
            raise InvalidDatetimeFormat("trailing characters remain in input string after datetime format")

    def _skip_spaces(self) -> None:
        while self._here() and self._here() in SPACES:
            self.at += 1
            self.skipped += 1

    def _read_separator(self, item: Item) -> None:
        if self.standard and self._here() != item.written:
            what = "character" if item.kind == "character" else "separator"
            raise InvalidDatetimeFormat(f'unmatched format {what} "{item.written}"')
        if self.fixed:
            self.at += 1
        elif item.kind == "character":
            if self.skipped > 0:
                self.skipped -= 1
            else:
                self.at += 1
        elif self._here() and (self._here() in SPACES or is_separator(self._here())):
            self.at += 1
        else:
            self.skipped -= 1

    def _keyword(self, place: int, item: Item) -> None:
        upper = item.keyword.upper()
        self._agree("Gregorian" if upper in _GREGORIAN else "ISO week" if upper in _ISO else "")
        match upper:
            case "FX":
                self.fixed = True
            case "AM" | "PM" | "A.M." | "P.M.":
                self._set("pm", self._name(item, ("a.m.", "p.m.") if "." in upper else ("am", "pm")), item)
                self.twelve_hours = True
            case "AD" | "BC" | "A.D." | "B.C.":
                self._set("bc", self._name(item, ("a.d.", "b.c.") if "." in upper else ("ad", "bc")), item)
            case "MONTH" | "MON":
                self._set("month", self._name(item, _shorten(MONTHS, upper == "MON")) + 1, item)
            case "RM":
                # In this order, no numeral comes before a longer one that begins with it.
                self._set("month", 12 - self._name(item, ROMAN_MONTHS[::-1]), item)
            case "DAY" | "DY":
                self._set("weekday", self._name(item, _shorten(DAYS, upper == "DY")), item)
                self.read["weekday"] += 1
            case "TZ" | "OF":
                raise FeatureNotSupported(f'formatting field "{item.written}" is only supported in to_char')
            case "TZH":
                self._zone_hours(place, item)
            case "Y,YYY":
                self._years_with_comma(item)
            case "Q":
                self._integer(place, item)
                self._skip_ordinal(item)
            case _:
                self._number(place, item)

    def _agree(self, convention: str) -> None:
        if convention and self.conventions not in ("", convention):
            raise InvalidDatetimeFormat(
                "invalid combination of date conventions",
                hint="Do not mix Gregorian and ISO week date conventions in a formatting template.",
            )
        self.conventions = self.conventions or convention

    def _set(self, field: str, value: int, item: Item) -> None:
        if self.read[field] not in (0, value):
            raise InvalidDatetimeFormat(
                f'conflicting values for "{item.written}" field in formatting string',
                detail="This value contradicts a previous setting for the same field type.",
            )
        self.read[field] = value

    def _name(self, item: Item, names: Sequence[str]) -> int:
        """Read one of the names; return its index."""
        rest = self.text[self.at : self.at + 9].lower()
        for index, name in enumerate(names):
            if rest.startswith(name.lower()):
                self.at += len(name)
                return index
        shown = re.split("[ \t\n\r\f]", self.text[self.at :], maxsplit=1)[0]
        raise InvalidDatetimeFormat(
            f'invalid value "{shown}" for "{item.written}"',
            detail="The given value did not match any of the allowed values for this field.",
        )

    def _digits_follow(self, place: int) -> bool:
        """Return whether the next item reads or is a digit, so that this one must stop after its own digits."""
        if self.items[place].ordinal or place + 1 == len(self.items):
            return False
        following = self.items[place + 1]
        return following.reads_digits if following.keyword else following.written in "0123456789"

    def _integer(self, place: int, item: Item) -> tuple[int, int]:
        """Read a number; return it and the number of characters that it took, including the blanks before it."""
        start = self.at
        while self._here() and self._here() in SPACES:
            self.at += 1
        places = int(item.keyword[2]) if item.keyword.startswith("FF") else _PLACES.get(item.keyword, len(item.keyword))
        # Places are counted in bytes, so an error message may show a part of a character.
        rest = self.text[self.at : self.at + places].encode()[:places]
        given = rest.decode(errors="replace")
        if not item.fill or not self._digits_follow(place):
            found = _INTEGER.match(self.text, start)
            self.at = found.end() if found is not None else start
        else:
            if len(rest) < places:
                raise InvalidDatetimeFormat(
                    f'source string too short for "{item.written}" formatting field',
                    detail=f"Field requires {places} characters, but only {len(rest)} remain.", hint=_NOT_FIXED,
                )  # fmt: skip
            found = _INTEGER.match(given)
            if found is not None and found.end() < places:
                raise InvalidDatetimeFormat(
                    f'invalid value "{given}" for "{item.written}"',
                    detail=f"Field requires {places} characters, but only {found.end()} could be parsed.", hint=_NOT_FIXED,
                )  # fmt: skip
            self.at += found.end() if found is not None else 0
        if self.at == start:
            raise InvalidDatetimeFormat(
                f'invalid value "{given}" for "{item.written}"', detail="Value must be an integer."
            )
        value = parse_digits(found[1]) if found is not None else 0
        if not _INT_LEAST <= value <= _INT_MOST:
            raise DatetimeFieldOverflow(
                f'value for "{item.written}" in source string is out of range',
                detail=f"Value must be in the range {_INT_LEAST} to {_INT_MOST}.",
            )
        if item.keyword in _FIELDS:
            self._set(_FIELDS[item.keyword], value, item)
        return value, self.at - start

    def _number(self, place: int, item: Item) -> None:
        keyword = item.keyword
        if keyword == "TZM":
            self.read["zone sign"] = self.read["zone sign"] or 1
            self._integer(place, item)
            return
        if keyword.startswith("FF"):
            self.fraction_places = int(keyword[2])
        value, taken = self._integer(place, item)
        if keyword == "MS":
            self.read["millis"] *= 10 ** max(3 - taken, 0)
        elif _FIELDS[keyword] == "micros":
            self.read["micros"] *= 10 ** max(6 - taken, 0)
        elif keyword in ("HH", "HH12"):
            self.twelve_hours = True
        elif keyword == "ID":
            self.read["weekday"] = value + 1 if value + 1 <= 7 else 1
        elif _FIELDS[keyword] == "year":
            self.year_places = len(keyword)
            if len(keyword) < 4 and taken < 4:
                self.read["year"] = _near_2020(value)
        self._skip_ordinal(item)

    def _skip_ordinal(self, item: Item) -> None:
        if item.ordinal:
            self.at = min(self.at + 2, len(self.text))

    def _zone_hours(self, place: int, item: Item) -> None:
        """Read TZH. Its sign may already have been skipped as a separator."""
        if self._here() in ("+", "-", " "):
            self.read["zone sign"] = -1 if self._here() == "-" else 1
            self.at += 1
        else:
            minus = self.skipped > 0 and self.text[self.at - 1 : self.at] == "-"
            self.read["zone sign"] = -1 if minus else 1
        self._integer(place, item)

    def _years_with_comma(self, item: Item) -> None:
        found = _YEARS.match(self.text, self.at)
        if found is None:
            raise InvalidDatetimeFormat('invalid input string for "Y,YYY"')
        years = parse_digits(found[1]) * 1000 + int(found[2])
        if abs(years) > _INT_MOST:
            raise DatetimeFieldOverflow('value for "Y,YYY" in source string is out of range')
        self._set("year", years, item)
        self.year_places = 4
        self.at = found.end()
        self._skip_ordinal(item)


def _shorten(names: Sequence[str], short: bool) -> Sequence[str]:
    return [name[:3] for name in names] if short else names


def _near_2020(year: int) -> int:
    """Complete a year without its first digits: the nearest one to 2020."""
    for below, added in ((70, 2000), (100, 1900), (520, 2000), (1000, 1000)):
        if year < below:
            return year + added
    return year


class _Date:
    """The year, month and day as they are composed, and which of them were given."""

    def __init__(self) -> None:
        self.year, self.month, self.day = 0, 1, 1
        self.said: set[str] = set()

    def set_julian(self, julian: int) -> None:
        # PostgreSQL counts these days in unsigned 32 bits, from 4800 years before Christ.
        days = (julian + 32044) % 2**32 - 32044 - JULIAN_OF_1970
        self.year, self.month, self.day = civil_from_days(days)
        self.said |= {"year", "month", "day"}

    def valid(self) -> bool:
        if "month" in self.said and not 1 <= self.month <= 12:
            return False
        if "day" in self.said and not 1 <= self.day <= 31:
            return False
        return len(self.said) < 3 or self.day <= _MONTH_ENDS[self.month - 1] + (self.month == 2 and _leap(self.year))


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _parse(text: str, template: str, *, standard: bool = False) -> tuple[_Reader, _Date, int]:
    """Parse a text; return the fields read, its date, and its microseconds since midnight."""
    reader = _Reader(text, moment_template(template), standard=standard)
    reader.run()
    hour, minute, second = _clock(reader)
    date = _read_date(reader)
    fraction = reader.read["millis"] * 1000 + reader.read["micros"]
    in_range = 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= fraction < 1_000_000
    if not date.valid() or not in_range:
        raise DatetimeFieldOverflow(f'date/time field value out of range: "{text}"')
    if reader.read["zone sign"] and not (
        0 <= reader.read["zone hours"] <= _ZONE_HOURS_MOST and 0 <= reader.read["zone minutes"] < 60
    ):
        raise InvalidTimeZoneDisplacement(f'time zone displacement out of range: "{text}"')
    return reader, date, ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction


def _clock(reader: _Reader) -> tuple[int, int, int]:
    read = reader.read
    of_day = read["of day"]
    sign = -1 if of_day < 0 else 1
    hour, minute, second = (sign * part for part in (abs(of_day) // 3600, abs(of_day) // 60 % 60, abs(of_day) % 60))
    hour, minute, second = read["hour"] or hour, read["minute"] or minute, read["second"] or second
    if reader.twelve_hours:
        if not 1 <= hour <= 12:
            raise InvalidDatetimeFormat(
                f'hour "{hour}" is invalid for the 12-hour clock',
                hint="Use the 24-hour clock, or give an hour between 1 and 12.",
            )
        hour = hour % 12 + 12 * bool(read["pm"])
    return hour, minute, second


def _read_date(reader: _Reader) -> _Date:
    read, date = reader.read, _Date()
    _set_year(reader, date)
    if read["julian"]:
        date.set_julian(read["julian"])
    day_of_year = read["day of year"]
    if read["week"] and reader.conventions == "ISO week":
        weekday = read["weekday"]
        monday = iso_week_start(date.year, read["week"])
        date.set_julian(monday + (0 if not weekday else weekday - 2 if weekday > 1 else 6))
    elif read["week"]:
        day_of_year = (read["week"] - 1) * 7 + 1
    day = (read["week of month"] - 1) * 7 + 1 if read["week of month"] else read["day"]
    for field, value in (("day", day), ("month", read["month"])):
        if value:
            setattr(date, field, value)
            date.said.add(field)
    if day_of_year and (date.month <= 1 or date.day <= 1):
        _set_day_of_year(reader, date, day_of_year)
    return date


def _set_year(reader: _Reader, date: _Date) -> None:
    read = reader.read
    year, century = read["year"], -read["century"] if read["bc"] else read["century"]
    if year and century and reader.year_places <= 2:
        short = year % 100 if year >= 0 else -(-year % 100)
        if short:
            date.year = (century - 1) * 100 + short if century >= 0 else (century + 1) * 100 - short + 1
        else:
            date.year = century * 100 + (century < 0)
    elif year:
        year = -year if read["bc"] else year
        date.year = year + (year < 0)
    elif century:
        date.year = (century - 1) * 100 + 1 if century >= 0 else century * 100 + 1
    else:
        return
    date.said.add("year")


def _set_day_of_year(reader: _Reader, date: _Date, day_of_year: int) -> None:
    if not date.year and not reader.read["bc"]:
        raise InvalidDatetimeFormat("cannot calculate day of year without year information")
    if reader.conventions == "ISO week":
        date.set_julian(iso_week_start(date.year) - 1 + day_of_year)
        return
    ends = [0]
    for month, days in enumerate(_MONTH_ENDS, 1):
        ends.append(ends[-1] + days + (month == 2 and _leap(date.year)))
    month = next((m for m in range(1, 13) if day_of_year <= ends[m]), 13)
    if date.month <= 1:
        date.month = month
    if date.day <= 1:
        date.day = day_of_year - ends[month - 1]
    date.said |= {"month", "day"}


def read_date(text: str, template: str) -> int:
    """Return the result of to_date, in days since 1970."""
    _reader, date, _micros = _parse(text, template)
    days = days_from_civil(date.year, date.month, date.day)
    if not DATE_FIRST <= days < DATE_END:
        raise DatetimeFieldOverflow(f'date out of range: "{text}"')
    return days


def read_timestamp(text: str, template: str, zone_name: str) -> int:
    """Return the result of to_timestamp, in microseconds since 1970; a time without offset is in the zone."""
    reader, date, clock = _parse(text, template)
    micros = days_from_civil(date.year, date.month, date.day) * DAY_MICROS + clock
    if not TIMESTAMP_FIRST - DAY_MICROS <= micros < TIMESTAMP_END + DAY_MICROS:
        raise DatetimeFieldOverflow("timestamp out of range")
    east = _east(reader) if reader.read["zone sign"] else offset_of_local(micros // 1_000_000, zone_name)
    micros -= east * 1_000_000
    if not TIMESTAMP_FIRST <= micros < TIMESTAMP_END:
        raise DatetimeFieldOverflow("timestamp out of range")
    if reader.fraction_places:
        micros = round_micros(micros - PG_EPOCH_MICROS, reader.fraction_places) + PG_EPOCH_MICROS
    return check_carried(micros)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, a time or both.

    value: days since 1970, microseconds since midnight, or microseconds since 1970 (in UTC, if it has a time zone).
    east: the offset that was written, in seconds.
    """

    kind: Literal["date", "time", "timetz", "timestamp", "timestamptz"]
    value: int
    east: int = 0


def check_standard(template: str) -> None:
    """Raises InvalidDatetimeFormat for a template with separators that the standard lacks."""
    for item in moment_template(template):
        if not item.keyword and not item.quoted and item.written not in _STANDARD_SEPARATORS:
            raise InvalidDatetimeFormat(f'invalid datetime format separator: "{item.written}"')


def read_moment(text: str, template: str) -> Moment:
    """Read a moment by a template of the standard that has passed `check_standard`."""
    if not template:
        _raise_neither()
    reader, date, clock = _parse(text, template, standard=True)
    keywords = {item.keyword.upper() for item in reader.items if item.keyword and item.keyword != "FX"}
    timed, zoned = bool(keywords & _TIMED), bool(keywords & _ZONED)
    if not keywords - _TIMED - _ZONED:
        return _time(reader, clock, zoned) if timed else _raise_neither()
    days = days_from_civil(date.year, date.month, date.day)
    if timed:
        return _timestamp(reader, days * DAY_MICROS + clock, zoned)
    if zoned:
        raise InvalidDatetimeFormat("datetime format is zoned but not timed")
    if not DATE_FIRST <= days < DATE_END:
        raise DatetimeFieldOverflow(f'date out of range: "{text}"')
    return Moment("date", days)


def _raise_neither() -> NoReturn:
    raise InvalidDatetimeFormat("datetime format is not dated and not timed")


def _east(reader: _Reader) -> int:
    return reader.read["zone sign"] * (reader.read["zone hours"] * 60 + reader.read["zone minutes"]) * 60


def _time(reader: _Reader, clock: int, zoned: bool) -> Moment:
    if reader.fraction_places:
        clock = round_micros(clock, reader.fraction_places)
    return Moment("timetz", clock, _east(reader)) if zoned else Moment("time", clock)


def _timestamp(reader: _Reader, local: int, zoned: bool) -> Moment:
    east = _east(reader) if zoned else 0
    micros = local - east * 1_000_000
    if not TIMESTAMP_FIRST <= micros < TIMESTAMP_END:
        raise DatetimeFieldOverflow("timestamptz out of range" if zoned else "timestamp out of range")
    if reader.fraction_places:
        micros = round_micros(micros - PG_EPOCH_MICROS, reader.fraction_places) + PG_EPOCH_MICROS
    return Moment("timestamptz", micros, east) if zoned else Moment("timestamp", micros)

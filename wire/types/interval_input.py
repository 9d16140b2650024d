"""Text to interval: PostgreSQL's own spelling, the SQL standard's and ISO 8601's.

An interval is three independent numbers: months, days and microseconds. Units are read from the right, so a bare number
takes its unit from the word after it, or from the type's field qualifier (`interval '3' month`). The fraction of a unit
is converted to the next smaller one, at 30 days a month and 24 hours a day.

`wire.types.input` calls this module. Source: PostgreSQL 15 documentation 8.5.4; a real server, with which the tests
compare.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from wire.common.digits import parse_digits
from wire.errors import DatetimeFieldOverflow, FeatureNotSupported, IntervalFieldOverflow, InvalidDatetimeFormat
from wire.types.civil_calendar import DAY_MICROS, HOUR_MICROS
from wire.types.datetime_fields import ClockOverflow
from wire.types.datetime_input import read_clock, round_micros
from wire.types.datetime_tokens import BadFormat, Kind, Token, split
from wire.types.interval_modifiers import FIELD_BITS, FULL_PRECISION, FULL_RANGE
from wire.types.text_settings import InputSettings

_INT32: Final = 1 << 31
_INT64: Final = 1 << 63
#: The maximum number of microseconds that fits the carrier's nanoseconds.
_CARRIED_MICROS: Final = _INT64 // 1000

_MICROS: Final = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
}
_YEARS: Final = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}

#: Spellings of each unit, of which the first ten letters count.
_SPELLINGS: Final = {
    "microsecond": "us usec usecs usecond useconds microsecon",
    "millisecond": "ms msec msecs mseconds millisecon",
    "second": "s sec secs second seconds",
    "minute": "m min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "d day days",
    "week": "w week weeks",
    "month": "mon mons month months",
    "year": "y yr yrs year years",
    "decade": "dec decs decade decades",
    "century": "c cent century centuries",
    "millennium": "mil mils millennia millennium",
}
_UNITS: Final = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings.split()}

#: A bare number is of the first of these fields that the modifier has.
_FROM_SMALLEST: Final = ("second", "minute", "hour", "day", "month", "year")


def smallest_field(typmod: int) -> str:
    bits = FULL_RANGE if typmod < 0 else (typmod >> 16) & FULL_RANGE
    if bits == FULL_RANGE:
        return "second"
    return next(name for name in _FROM_SMALLEST if bits & FIELD_BITS[name])


@dataclass(slots=True)
class _Sum:
    """An interval under construction.

    all_negative: the SQL standard's reading of a leading minus, when no other sign follows. seen: the units given so
    far; none may be given twice.
    """

    months: int = 0
    days: int = 0
    micros: int = 0
    years: int = 0
    all_negative: bool = False
    seen: set[str] = field(default_factory=set)

    def claim(self, *units: str) -> None:
        if not self.seen.isdisjoint(units):
            raise BadFormat
        self.seen.update(units)

    def add(self, unit: str, whole: int, fraction: float) -> None:
        """Add `whole` + `fraction` of a unit, both with their sign."""
        if self.all_negative:
            whole, fraction = -abs(whole), -abs(fraction)
        if unit in _MICROS:
            self.micros += whole * _MICROS[unit]
            self.add_fraction_micros(fraction, _MICROS[unit])
        elif unit in ("day", "week"):
            size = 7 if unit == "week" else 1
            self.days += whole * size
            self._add_fraction_days(fraction, size)
        elif unit == "month":
            self.months += whole
            self._add_fraction_days(fraction, 30)
        else:
            self.years += whole * _YEARS[unit]
            self.months += round(fraction * _YEARS[unit] * 12)
        self._check()

    def add_fraction_micros(self, fraction: float, size: int) -> None:
        scaled = fraction * size
        whole = math.trunc(scaled)
        rest = scaled - whole
        self.micros += whole + (rest > 0.5) - (rest < -0.5)

    def _add_fraction_days(self, fraction: float, size: int) -> None:
        scaled = fraction * size
        whole = math.trunc(scaled)
        self.days += whole
        self.add_fraction_micros(scaled - whole, DAY_MICROS)

    def _check(self) -> None:
        small = all(-_INT32 <= n < _INT32 for n in (self.months, self.days, self.years))
        if not small or not -_INT64 <= self.micros < _INT64:
            raise ClockOverflow

    def negate(self) -> None:
        self.months, self.days, self.micros, self.years = -self.months, -self.days, -self.micros, -self.years


def read_interval(text: str, typmod: int, settings: InputSettings) -> pa.MonthDayNano:
    """Return the interval, cut to the fields and decimals of `typmod`.

    Raises 22007, 22015, 22008, and FeatureNotSupported for a time part beyond 292 years of hours.
    """
    try:
        total = _parse(text, typmod, settings)
    except BadFormat:
        raise InvalidDatetimeFormat(f'invalid input syntax for type interval: "{text}"') from None
    except ClockOverflow:
        raise IntervalFieldOverflow(f'interval field value out of range: "{text}"') from None
    months = total.years * 12 + total.months
    if not -_INT32 <= months < _INT32 or not -_INT32 <= total.days < _INT32 or not -_INT64 <= total.micros < _INT64:
        raise DatetimeFieldOverflow("interval out of range")
    return interval_value(*cut_interval(months, total.days, total.micros, typmod))


def _parse(text: str, typmod: int, settings: InputSettings) -> _Sum:
    try:
        return _parse_words(split(text), typmod, settings)
    except BadFormat:
        return _parse_iso(text)


def interval_value(months: int, days: int, micros: int) -> pa.MonthDayNano:
    """Return the canonical value. Raises FeatureNotSupported if the carrier's nanoseconds overflow."""
    if abs(micros) > _CARRIED_MICROS:
        raise FeatureNotSupported("not supported: an interval's time part beyond 2562047 hours")
    return pa.MonthDayNano([months, days, micros * 1000])


def cut_interval(months: int, days: int, micros: int, typmod: int) -> tuple[int, int, int]:
    """Return an interval without the fields that `typmod` leaves out, its seconds rounded to the modifier's decimals."""
    if typmod < 0:
        return months, days, micros
    smallest = smallest_field(typmod)
    if smallest == "year":
        return math.trunc(months / 12) * 12, 0, 0
    if smallest == "month":
        return months, 0, 0
    if smallest == "day":
        return months, days, 0
    if smallest in ("hour", "minute"):
        unit = _MICROS[smallest]
        return months, days, abs(micros) // unit * unit * (1 if micros >= 0 else -1)
    precision = typmod & FULL_PRECISION
    return months, days, micros if precision == FULL_PRECISION else round_micros(micros, precision)


_YEAR_MONTH: Final = re.compile(r"([+-]?)(\d+)-(-\d+|\d*)")
_NUMBER: Final = re.compile(r"([+-]?)(\d*)(\.\d*)?")


def _parse_words(tokens: list[Token], typmod: int, settings: InputSettings) -> _Sum:
    total = _Sum()
    unit = ""
    ago = False
    bits = FULL_RANGE if typmod < 0 else (typmod >> 16) & FULL_RANGE
    minute_to_second = bits == FIELD_BITS["minute"] | FIELD_BITS["second"]
    signed = [token.text[0] in "+-" for token in tokens]
    total.all_negative = settings.interval_style == "sql_standard" and tokens[0].text[0] == "-" and not any(signed[1:])
    for token in reversed(tokens):
        if token.kind is Kind.TIME or (token.kind is Kind.ZONE and ":" in token.text):
            _add_clock(total, token.text, minute_to_second=minute_to_second)
            unit = "day"
        elif token.kind in (Kind.WORD, Kind.SIGNED_WORD):
            if token.text == "ago":
                ago, unit = True, "ago"
            else:
                unit = _unit(token.text)
        else:
            unit = _add_number(total, token.text, unit or smallest_field(typmod))
    if not total.seen:
        raise BadFormat
    if ago:
        total.negate()
    return total


def _unit(word: str) -> str:
    if word[:10] not in _UNITS:
        raise BadFormat
    return _UNITS[word[:10]]


def _add_clock(total: _Sum, text: str, *, minute_to_second: bool) -> None:
    hours, below = read_clock(text.lstrip("+-"), minute_to_second=minute_to_second)
    micros = hours * HOUR_MICROS + below
    if micros >= _INT64:
        raise ClockOverflow
    total.claim("hour", "minute", "second", "millisecond", "microsecond")
    total.micros += -micros if text.startswith("-") or total.all_negative else micros


def _add_number(total: _Sum, text: str, unit: str) -> str:
    """Add a number of `unit`. Returns the unit of a number before it that has no word."""
    if match := _YEAR_MONTH.fullmatch(text):
        total.claim("month")
        years, months = parse_digits(match[2]), parse_digits(match[3] or "0")
        if not 0 <= months < 12:
            raise ClockOverflow
        sign = -1 if match[1] == "-" else 1
        total.add("month", sign * (years * 12 + months), 0.0)
        return "month"
    match = _NUMBER.fullmatch(text)
    # The unit of a number directly before `ago` is not given.
    if unit == "ago" or not match or not (match[2] or match[3]):
        raise BadFormat
    sign = -1 if match[1] == "-" else 1
    number = parse_digits(match[2])
    fraction = float(match[3]) if match[3] and match[3] != "." else 0.0
    if number >= _INT64:
        raise ClockOverflow
    if unit == "second" and fraction:
        total.claim("second", "millisecond", "microsecond")
    else:
        total.claim(unit)
    total.add(unit, sign * number, sign * fraction)
    return "day" if unit == "hour" else unit


_ISO_DATE_UNITS: Final = {"Y": "year", "M": "month", "W": "week", "D": "day"}
_ISO_TIME_UNITS: Final = {"H": "hour", "M": "minute", "S": "second"}
_ISO_NUMBER: Final = r"-?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?"
_ISO_PART: Final = re.compile(rf"({_ISO_NUMBER})([A-Z])")
_ISO_BASIC_DATE: Final = re.compile(r"(\d{4})(\d\d)(\d\d)")
_ISO_EXTENDED_DATE: Final = re.compile(rf"({_ISO_NUMBER})(?:-({_ISO_NUMBER})(?:-({_ISO_NUMBER}))?)?")
_ISO_BASIC_TIME: Final = re.compile(r"(\d\d)(\d\d)(\d\d(?:\.\d*)?)")
_ISO_EXTENDED_TIME: Final = re.compile(rf"({_ISO_NUMBER})(?::({_ISO_NUMBER})(?::({_ISO_NUMBER}))?)?")
#: A number of the ISO format beyond this is out of range.
_ISO_MAX: Final = 1.0e15


def _parse_iso(text: str) -> _Sum:
    """Parse `P1Y2M3DT4H5M6.7S` (designators) and `P0001-02-03T04:05:06.7` (alternative format)."""
    if len(text) < 2 or text[0] != "P":
        raise BadFormat
    total = _Sum()
    date, _, time = text[1:].partition("T")
    _iso_half(total, date, _ISO_DATE_UNITS, ("year", "month", "day"), _ISO_BASIC_DATE, _ISO_EXTENDED_DATE)
    _iso_half(total, time, _ISO_TIME_UNITS, ("hour", "minute", "second"), _ISO_BASIC_TIME, _ISO_EXTENDED_TIME)
    return total


def _iso_half(
    total: _Sum,
    text: str,
    designators: dict[str, str],
    units: tuple[str, str, str],
    basic: re.Pattern[str],
    extended: re.Pattern[str],
) -> None:
    if match := basic.fullmatch(text) or extended.fullmatch(text):
        for unit, number in zip(units, match.groups(), strict=True):
            _iso_add(total, unit, number or "0")
        return
    at = 0
    while at < len(text):
        part = _ISO_PART.match(text, at)
        if not part or part[2] not in designators:
            raise BadFormat
        _iso_add(total, designators[part[2]], part[1])
        at = part.end()


def _iso_add(total: _Sum, unit: str, number: str) -> None:
    value = float(number)
    if not abs(value) <= _ISO_MAX:
        raise ClockOverflow
    whole = math.trunc(value)
    total.add(unit, whole, value - whole)

"""The fields of one date/time text, grouped into date, time of day and time zone, and the value that they make when all
are read.

`wire.types.datetime_input` decides which field a token is.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from wire.types.civil_calendar import DAY_MICROS, HOUR_MICROS, civil_from_days, days_from_civil, month_days
from wire.types.datetime_tokens import BadFormat
from wire.types.time_zones import Zone, zone

#: The fields that make a date.
DATE_NAMES: Final = frozenset(("year", "month", "day"))


class ClockOverflow(Exception):
    """A field is outside its range. order: whether another DateStyle might have read it."""

    def __init__(self, *, order: bool = False) -> None:
        self.order = order


class ZoneOverflow(Exception):
    """A time zone offset is outside its range."""


@dataclass(slots=True)
class DateFields:
    """The date of a text. year_day: the day of the year, instead of month and day. bc: whether BC was written.
    short_year: whether the year has two digits. text_month: whether the month was a word. julian: whether the date was
    a Julian day.
    """

    year: int = 0
    month: int = 0
    day: int = 0
    year_day: int = 0
    bc: bool = False
    short_year: bool = False
    text_month: bool = False
    julian: bool = False

    def set_days(self, days: int) -> None:
        """Set the date from days since 1970."""
        self.year, self.month, self.day = civil_from_days(days)

    def days(self) -> int:
        """Return the days since 1970."""
        return days_from_civil(self.year, self.month, self.day)

    def finish(self, have: Set[str]) -> None:
        """Make a date from the fields. have: the names of the fields that are given. Raises ClockOverflow."""
        if "year" in have and not self.julian:
            self._finish_year()
        if self.year_day:
            self.set_days(days_from_civil(self.year, 1, 1) + self.year_day - 1)
        if "month" in have and not 1 <= self.month <= 12:
            raise ClockOverflow(order=True)
        if "day" in have and not 1 <= self.day <= 31:
            raise ClockOverflow(order=True)
        if have >= DATE_NAMES and self.day > month_days(self.year, self.month):
            raise ClockOverflow

    def _finish_year(self) -> None:
        if self.bc:
            if self.year <= 0:
                raise ClockOverflow
            self.year = 1 - self.year
        elif self.short_year:
            self.year += 2000 if self.year < 70 else 1900
        elif self.year <= 0:
            raise ClockOverflow


@dataclass(slots=True)
class ClockFields:
    """The time of day of a text. time_only: whether the type is a time and nothing else. micros: minutes and seconds.
    is_loose: whether these were taken from digits without separators, and exceed the range of a clock. half: am or pm.
    """

    time_only: bool
    hour: int = 0
    micros: int = 0
    is_loose: bool = False
    half: str = ""

    def set(self, hour: int, micros: int) -> None:
        """Set the time of day. micros: minutes and seconds; with a leap second they may be a whole hour."""
        self.hour, self.micros = hour, micros
        if not self.time_only and self.micros_of_day > DAY_MICROS:
            raise ClockOverflow

    @property
    def micros_of_day(self) -> int:
        return self.hour * HOUR_MICROS + self.micros

    def finish(self) -> None:
        """Make a time of day from the fields. Raises ClockOverflow."""
        if self.half and self.hour > 12:
            raise ClockOverflow
        if self.half == "am" and self.hour == 12:
            self.hour = 0
        elif self.half == "pm" and self.hour != 12:
            self.hour += 12
        if self.time_only and (self.is_loose or self.micros_of_day > DAY_MICROS):
            raise ClockOverflow


@dataclass(slots=True)
class ZoneFields:
    """The time zone of a text. offset: seconds east of Greenwich, as written. named: a zone by name, or by an
    abbreviation whose offset changes. summer: whether DST was written.
    """

    offset: int | None = None
    named: Zone | None = None
    abbreviation: str = ""
    summer: bool = False

    def offset_east(self, local_second: int, session_zone: str) -> int:
        """Return the seconds east of Greenwich, as written or of the zone in force at that local time."""
        if self.offset is not None:
            return self.offset
        where = self.named or zone(session_zone)
        offset = where.offset_of_local(local_second)
        if self.abbreviation:
            known = where.offset_of_abbreviation(self.abbreviation, local_second - offset)
            return offset if known is None else known
        return offset

    def finish(self, special: str) -> None:
        """Raise BadFormat if DST was written without an offset before it, to which it adds an hour: DST has no meaning
        after a named zone or without a zone. special: a special value such as `infinity`, which allows it.
        """
        if self.summer and self.offset is None and not special:
            raise BadFormat

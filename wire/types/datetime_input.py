"""Text to date, time, timetz, timestamp and timestamptz, in every spelling that PostgreSQL 15 accepts.

Reading has two steps. `split` cuts the text into typed tokens (`wire.types.datetime_tokens`). `_Reader` gives each
token a meaning from its form and from the fields that are already known: it reads `1/2/2003` by DateStyle's order,
`2003` as a year because it is long, `EST` as a zone. The meaning of fields, and the conditions for errors, follow
PostgreSQL's documentation, appendix B.1, and the behaviour of a real server, with which the tests compare.

`wire.types.input` chooses among the `read_*` functions by type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from wire.common.digits import parse_digits
from wire.errors import (
    DatetimeFieldOverflow,
    FeatureNotSupported,
    InvalidDatetimeFormat,
    InvalidTimeZoneDisplacement,
    SqlError,
)
from wire.types import pg_types as t
from wire.types.carriers import PG_EPOCH_MICROS
from wire.types.civil_calendar import DAY_MICROS
from wire.types.datetime_fields import DATE_NAMES, ClockFields, ClockOverflow, DateFields, ZoneFields, ZoneOverflow
from wire.types.datetime_tokens import BadFormat, Kind, Token, split, word_meaning
from wire.types.text_settings import InputSettings
from wire.types.time_zone_abbreviations import OFFSETS, SUMMER, ZONES
from wire.types.time_zones import find_zone, zone

DATE_INFINITY: Final = (1 << 31) - 1
DATE_MINUS_INFINITY: Final = -(1 << 31)
TIMESTAMP_INFINITY: Final = (1 << 63) - 1
TIMESTAMP_MINUS_INFINITY: Final = -(1 << 63)

#: Days from 4714-11-24 BC, where PostgreSQL's calendar begins, to 1970; and from 1970 to 5874898-01-01, before which it
#: ends.
DATE_FIRST: Final = -2_440_588
DATE_END: Final = 2_145_042_906
TIMESTAMP_FIRST: Final = DATE_FIRST * DAY_MICROS
#: 294277-01-01, where PostgreSQL's timestamps end. Ours, counted from 1970, end about thirty years before.
TIMESTAMP_END: Final = 9_223_371_331_200_000_000 + PG_EPOCH_MICROS
_INT_MAX: Final = (1 << 31) - 1


@dataclass(slots=True)
class _Reader:
    """The reader of one text, with the fields read so far. have: the names of these fields."""

    settings: InputSettings
    time_only: bool = False
    have: set[str] = field(default_factory=set)
    date: DateFields = field(default_factory=DateFields)
    clock: ClockFields = field(init=False)
    zone: ZoneFields = field(default_factory=ZoneFields)
    prefix: str = ""
    special: str = ""

    def __post_init__(self) -> None:
        self.clock = ClockFields(self.time_only)

    def read(self, tokens: list[Token]) -> None:
        """Read all tokens. Raises BadFormat, ClockOverflow, ZoneOverflow, and SqlError for an unknown zone."""
        for index, token in enumerate(tokens):
            self._token(tokens, index, token)
        self.date.finish(self.have)
        self.clock.finish()
        self.zone.finish(self.special)

    def _claim(self, *names: str) -> None:
        """Note that the present token gives these fields; none may be given twice."""
        if not self.have.isdisjoint(names):
            raise BadFormat
        self.have.update(names)

    def _token(self, tokens: list[Token], index: int, token: Token) -> None:
        match token.kind:
            case Kind.DATE:
                self._date_token(tokens, index, token.text)
            case Kind.TIME:
                if not self.time_only:
                    self._take_prefix("time")
                self._clock(token.text)
            case Kind.ZONE:
                offset = read_offset(token.text)
                self._claim("zone")
                self.zone.offset = offset
            case Kind.NUMBER:
                self._number_token(tokens, index, token.text)
            case Kind.WORD | Kind.SIGNED_WORD:
                self._word(tokens, index, token.text)

    def _take_prefix(self, expected: str) -> None:
        if self.prefix and self.prefix != expected:
            raise BadFormat
        self.prefix = ""

    # --- tokens with a date's punctuation ---------------------------------------------------------------------------

    def _date_token(self, tokens: list[Token], index: int, text: str) -> None:
        if self.time_only and not self.prefix:
            complete = (
                index != 0 or len(tokens) < 2 or not (tokens[-1].kind is Kind.DATE or tokens[1].kind is Kind.TIME)
            )
        else:
            complete = bool(self.prefix) or {"month", "day"} <= self.have
        if not complete:
            self._date(text)
        elif text[0].isdigit() or self.prefix:
            self._clock_with_zone(text)
        else:
            named = zone(text)
            self._claim("zone")
            self.zone.named = named

    def _clock_with_zone(self, text: str) -> None:
        """Read `040506-08`: digits of a time (or after J, of a Julian day) and an offset."""
        digits, minus, offset = text.partition("-")
        if not minus or "time" in self.have:
            raise BadFormat
        east = read_offset(minus + offset)
        prefix, self.prefix = self.prefix, ""
        if prefix == "julian":
            self._julian_day(digits)
        elif prefix in ("", "time"):
            self._digits_field(digits, dated=self.time_only)
        else:
            raise BadFormat
        self._claim("zone")
        self.zone.offset = east

    def _date(self, text: str) -> None:
        """Read a date in one token: `1999-01-08`, `8.1.1999`, `08-jan-1999`."""
        parts = re.findall(r"\d+|[^\W\d_]+", text)
        numbers = []
        for part in parts:
            if part[0].isdigit():
                numbers.append(part)
                continue
            meaning = word_meaning(part)
            if meaning is None or meaning[0] != "month":
                raise BadFormat
            self._claim("month")
            self.date.month, self.date.text_month = int(meaning[1]), True
        if len(parts) > 25 or not parts:
            raise BadFormat
        for number in numbers:
            self._number(number)
        # Such a date must come first: only a zone may precede it.
        if self.have - {"zone"} != {"year", "month", "day"}:
            raise BadFormat

    # --- numbers ----------------------------------------------------------------------------------------------------

    def _number_token(self, tokens: list[Token], index: int, text: str) -> None:
        if self.prefix:
            self._read_prefixed(text)
            return
        digits, point, _ = text.partition(".")
        dated = not self.have.isdisjoint(DATE_NAMES)
        if self.time_only:
            self._time_only_number(tokens, index, text)
        elif point and not dated:
            self._date(text)
        elif (point and len(digits) > 2) or (len(text) >= 6 and (not dated or "time" not in self.have)):
            self._digits_field(text)
        else:
            self._number(text)

    def _time_only_number(self, tokens: list[Token], index: int, text: str) -> None:
        digits, point, _ = text.partition(".")
        with_date = index == 0 and len(tokens) >= 2 and tokens[-1].kind is Kind.DATE
        if point and with_date:
            self._date(text)
        elif not point or len(digits) > 2:
            self._digits_field(text, dated=True)
        else:
            raise BadFormat

    def _read_prefixed(self, text: str) -> None:
        prefix, self.prefix = self.prefix, ""
        if prefix == "julian":
            self._julian_day(text)
        elif prefix == "time":
            before = set(self.have)
            self._digits_field(text, dated=True)
            if "time" not in self.have - before:
                raise BadFormat
        else:
            raise FeatureNotSupported(f"not supported: date/time input with the field letter {prefix}")

    def _julian_day(self, text: str) -> None:
        whole, _, fraction = text.partition(".")
        number = _read_bounded(whole or "0")
        self._claim("year", "month", "day")
        self.special = ""
        self.date.julian = True
        self.date.set_days(number - 2_440_588)
        if fraction:
            self._claim("time")
            self.clock.set(0, int(float(f".{fraction}") * DAY_MICROS))

    def _digits_field(self, text: str, *, dated: bool = False) -> None:
        """Read digits without separators: `19990108`, `990108`, `040506.789`, `0405`."""
        digits, point, fraction = text.partition(".")
        dated = dated or self.have >= DATE_NAMES
        micros = _fraction_micros(fraction)
        if not point and not dated and len(digits) >= 6:
            self._run_together_date(digits)
        elif "time" not in self.have and len(digits) in (4, 6):
            self._claim("time")
            minute, second = int(digits[2:4]), int(digits[4:] or 0)
            # PostgreSQL accepts up to 99 minutes here, except for a type that is only a time.
            self.clock.hour, self.clock.micros = int(digits[:2]), (minute * 60 + second) * 1_000_000 + micros
            self.clock.is_loose = minute > 59 or second > 60
        elif point and not dated and len(digits) >= 6:
            self._run_together_date(digits)
        else:
            raise BadFormat

    def _run_together_date(self, digits: str) -> None:
        self._claim("year", "month", "day")
        self.date.day, self.date.month = int(digits[-2:]), int(digits[-4:-2])
        self.date.year = _read_bounded(digits[:-4])
        self.date.short_year = len(digits) == 6

    def _number(self, text: str) -> None:
        """Read a number whose position decides which field it is, by DateStyle's order."""
        digits, point, fraction = text.partition(".")
        value = _read_bounded(digits or "0")
        if point and not digits and not fraction:
            raise BadFormat
        if len(digits) > 2 and point:
            self._digits_field(text)
            return
        if point:
            # As in PostgreSQL, the fraction of `8 jan 12.5` is a fraction of a second.
            self.clock.micros = _fraction_micros(fraction)
        known = DATE_NAMES & self.have
        order = self.settings.date_order
        length = len(text)
        if length == 3 and known == {"year"} and 1 <= value <= 366:
            self._claim("month", "day")
            self.date.year_day = value
        elif not known:
            first = "year" if length >= 3 or order == "YMD" else "day" if order == "DMY" else "month"
            self._set(first, value, length)
        elif known == {"month"}:
            leads = self.date.text_month and (length >= 3 or order == "YMD")
            self._set("year" if leads else "day", value, length)
        elif known in ({"year"}, {"day"}):
            self._set("month", value, length)
        elif known == {"year", "month"}:
            self._day_or_year(value, length)
        elif known == {"month", "day"}:
            self._set("year", value, length)
        elif known == {"year", "month", "day"}:
            self._digits_field(text)
        else:
            raise BadFormat

    def _day_or_year(self, value: int, length: int) -> None:
        """Set the day, or correct the year: with `08-jan-1999` under YMD, the 8 was read as a year and is the day."""
        if self.date.text_month and length >= 3 and self.date.short_year:
            self._claim("day")
            self.date.day, self.date.year, self.date.short_year = self.date.year, value, False
        else:
            self._set("day", value, length)

    def _set(self, name: str, value: int, length: int) -> None:
        self._claim(name)
        setattr(self.date, name, value)
        if name == "year":
            self.date.short_year = length <= 2

    # --- words ------------------------------------------------------------------------------------------------------

    def _word(self, tokens: list[Token], index: int, text: str) -> None:
        if text[:10] in OFFSETS:
            self._claim("zone", *(("summer",) if text[:10] in SUMMER else ()))
            self.zone.offset = OFFSETS[text[:10]]
            return
        if text[:10] in ZONES:
            self._claim("zone", "changing zone")
            self.zone.named, self.zone.abbreviation = zone(ZONES[text[:10]]), text[:10]
            return
        meaning = word_meaning(text)
        if meaning is None:
            self._zone_word(text)
            return
        kind, value = meaning
        match kind:
            case "reserved":
                self._read_reserved_word(str(value))
            case "month" if not self.time_only:
                self._month_word(int(value))
            case "weekday" if not self.time_only:
                self._claim("weekday")
            case "ampm":
                self._claim("ampm")
                self.clock.half = str(value)
            case "era":
                self._claim("era")
                self.date.bc = value == "bc"
            case "summer":
                self._claim("summer")
                self.zone.summer = True
                self.zone.offset = None if self.zone.offset is None else self.zone.offset + 3600
            case "time":
                self._time_marker(tokens, index)
            case "unit":
                self.prefix = str(value)
            case "ignore":
                pass
            case _:
                raise BadFormat

    def _zone_word(self, text: str) -> None:
        found = find_zone(text)
        if found is None:
            raise BadFormat
        self._claim("zone")
        self.zone.named = found

    def _month_word(self, value: int) -> None:
        if "month" in self.have and not self.date.text_month and "day" not in self.have and 1 <= self.date.month <= 31:
            self.date.day = self.date.month
            self._claim("day")
        else:
            self._claim("month")
        self.date.text_month = True
        self.date.month = value

    def _time_marker(self, tokens: list[Token], index: int) -> None:
        """Read the T of ISO 8601: a date before it, a time after it."""
        if not self.time_only and not self.have >= DATE_NAMES:
            raise BadFormat
        if index + 1 >= len(tokens) or tokens[index + 1].kind not in (Kind.NUMBER, Kind.TIME, Kind.DATE):
            raise BadFormat
        self.prefix = "time"

    def _read_reserved_word(self, word: str) -> None:
        if word == "allballs":
            self._claim("time", "zone")
            self.zone.offset = 0
        elif word == "now":
            self._now()
        elif self.time_only:
            raise BadFormat
        elif word in ("today", "yesterday", "tomorrow"):
            self.special = ""
            self._claim("year", "month", "day")
            shift = {"today": 0, "yesterday": -1, "tomorrow": 1}[word]
            self.date.set_days(self.local_now() // DAY_MICROS + shift)
        else:
            self._claim("special")
            self.special = word

    def _now(self) -> None:
        self._claim("year", "month", "day", "time", "zone")
        self.special = ""
        self.zone.offset = zone(self.settings.time_zone).offset_at(self.settings.now // 1_000_000)
        days, micros = divmod(self.local_now(), DAY_MICROS)
        self.clock.set(0, micros)
        self.date.set_days(days)

    def local_now(self) -> int:
        """Return the microseconds since 1970 on the session's clock at the start of the transaction."""
        now = self.settings.now
        return now + zone(self.settings.time_zone).offset_at(now // 1_000_000) * 1_000_000

    def _clock(self, text: str) -> None:
        self._claim("time")
        self.clock.set(*read_clock(text))


def _read_bounded(digits: str) -> int:
    value = parse_digits(digits)
    if value > _INT_MAX:
        raise ClockOverflow
    return value


def _fraction_micros(digits: str) -> int:
    return round(float(f"0.{digits}") * 1_000_000) if digits else 0


_CLOCK: Final = re.compile(r"(\d+):(\d*)(?::(\d*)(?:\.(\d*))?|\.(\d*))?")
_OFFSET: Final = re.compile(r"([+-])(\d+)(?::(\d*)(?::(\d*))?)?")


def read_clock(text: str, *, minute_to_second: bool = False) -> tuple[int, int]:
    """Return (hour, microseconds since the hour) of `hh:mm`, `hh:mm:ss.fff` or `mm:ss.fff`; the hour is not limited
    here.

    minute_to_second: whether two fields are minutes and seconds (an interval's MINUTE TO SECOND).
    """
    match = _CLOCK.fullmatch(text)
    if not match:
        raise BadFormat
    hour, minute, second = _bounded_hour(match[1]), _read_bounded(match[2] or "0"), _read_bounded(match[3] or "0")
    fraction = match[4] or match[5] or ""
    if match[5] is not None or (minute_to_second and match[3] is None):
        hour, minute, second = 0, hour, minute
    _check_clock(minute, second)
    return hour, (minute * 60 + second) * 1_000_000 + _fraction_micros(fraction)


def _bounded_hour(digits: str) -> int:
    value = parse_digits(digits)
    if value >= 1 << 63:
        raise ClockOverflow
    return value


def _check_clock(minute: int, second: int) -> None:
    if minute > 59 or second > 60:
        raise ClockOverflow


def read_offset(text: str) -> int:
    """Return the seconds east of Greenwich of `+hh`, `-hhmm`, `+hh:mm`, `+hh:mm:ss`."""
    match = _OFFSET.match(text)
    if not match:
        raise BadFormat
    at_end = match.end() == len(text)
    hour, minute, second = parse_digits(match[2]), parse_digits(match[3] or "0"), parse_digits(match[4] or "0")
    if match[3] is None and at_end and len(text) > 3:
        hour, minute = divmod(hour, 100)
    if hour > 15 or minute > 59 or second > 59:
        raise ZoneOverflow
    if not at_end:
        raise BadFormat
    seconds = (hour * 60 + minute) * 60 + second
    return -seconds if match[1] == "-" else seconds


def _parse(text: str, type_name: str, settings: InputSettings, *, time_only: bool = False) -> _Reader:
    reader = _Reader(settings, time_only)
    try:
        reader.read(split(text))
    except (BadFormat, ClockOverflow, ZoneOverflow) as error:
        raise describe(error, type_name, text) from None
    return reader


def describe(error: Exception, type_name: str, text: str) -> SqlError:
    """Return the client's error for an exception that a reader raised."""
    if isinstance(error, ClockOverflow):
        hint = 'Perhaps you need a different "datestyle" setting.' if error.order else None
        return DatetimeFieldOverflow(f'date/time field value out of range: "{text}"', hint=hint)
    if isinstance(error, ZoneOverflow):
        return InvalidTimeZoneDisplacement(f'time zone displacement out of range: "{text}"')
    return InvalidDatetimeFormat(f'invalid input syntax for type {type_name}: "{text}"')


def _need_date(reader: _Reader, type_name: str, text: str) -> None:
    if not reader.have >= DATE_NAMES:
        raise describe(BadFormat(), type_name, text)


def read_date(text: str, settings: InputSettings) -> int:
    """Return days since 1970; infinity and -infinity are the limits of int32."""
    reader = _parse(text, "date", settings)
    if reader.special == "epoch":
        return 0
    if reader.special:
        return DATE_INFINITY if reader.special == "infinity" else DATE_MINUS_INFINITY
    _need_date(reader, "date", text)
    days = reader.date.days()
    if not DATE_FIRST <= days < DATE_END:
        raise DatetimeFieldOverflow(f'date out of range: "{text}"')
    return days


def read_timestamp(typ: t.PgType, text: str, typmod: int, settings: InputSettings) -> int:
    """Return microseconds since 1970 for timestamp and timestamptz; the infinities are the limits of int64."""
    name = "timestamp" if typ is t.TIMESTAMP else typ.sql_name
    reader = _parse(text, name, settings)
    if reader.special == "epoch":
        return 0
    if reader.special:
        return TIMESTAMP_INFINITY if reader.special == "infinity" else TIMESTAMP_MINUS_INFINITY
    _need_date(reader, name, text)
    micros = reader.date.days() * DAY_MICROS + reader.clock.micros_of_day
    if typ is t.TIMESTAMPTZ:
        micros -= reader.zone.offset_east(micros // 1_000_000, settings.time_zone) * 1_000_000
    micros = round_micros(micros - PG_EPOCH_MICROS, typmod) + PG_EPOCH_MICROS
    if not TIMESTAMP_FIRST <= micros < TIMESTAMP_END:
        raise DatetimeFieldOverflow(f'timestamp out of range: "{text}"')
    return check_carried(micros)


def check_carried(micros: int) -> int:
    """Check that the carrier holds a timestamp. PostgreSQL counts from 2000, our carrier from 1970: the last thirty of
    its 292,277 years do not fit.
    """
    if micros >= TIMESTAMP_INFINITY:
        raise FeatureNotSupported("not supported: timestamps after 294247-01-10 04:00:54")
    return micros


def read_time(text: str, typmod: int, settings: InputSettings) -> int:
    """Return microseconds since midnight."""
    return round_micros(_time_reader(text, "time", settings).clock.micros_of_day, typmod)


def read_timetz(text: str, typmod: int, settings: InputSettings) -> dict[str, int]:
    """Return microseconds since midnight and seconds *west* of Greenwich; a bare time is in the session's zone, today."""
    reader = _time_reader(text, "time with time zone", settings)
    dated = reader.have >= DATE_NAMES
    days = reader.date.days() if dated else reader.local_now() // DAY_MICROS
    west = -reader.zone.offset_east(days * 86_400 + reader.clock.micros_of_day // 1_000_000, settings.time_zone)
    return {"micros": round_micros(reader.clock.micros_of_day, typmod), "zone": west}


def _time_reader(text: str, type_name: str, settings: InputSettings) -> _Reader:
    reader = _parse(text, type_name, settings, time_only=True)
    dated = reader.have >= DATE_NAMES
    named = reader.zone.named if not reader.zone.abbreviation else None
    changing = named is not None and len(named.offsets) > 1
    if "time" not in reader.have or (changing and not dated):
        raise describe(BadFormat(), type_name, text)
    return reader


def round_micros(micros: int, typmod: int) -> int:
    """Round microseconds to `typmod` decimals of a second, half away from zero."""
    if typmod < 0 or typmod >= 6:
        return micros
    unit: int = 10 ** (6 - typmod)
    rounded = (abs(micros) + unit // 2) // unit * unit
    return rounded if micros >= 0 else -rounded

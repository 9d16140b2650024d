"""Dates, times, timestamps and intervals as text, a column at a time, in every DateStyle and IntervalStyle.

numpy splits a column of timestamps into integer fields, and a `Sheet` writes them. The offset of a time zone is found
by one binary search over the zone's transitions. Years before Christ end in ` BC`; years after 9999 have as many digits
as they need.

`wire.types.output` calls this module. Source: PostgreSQL 15 documentation 8.5.2 and 8.5.5; a real server, with which
the tests compare.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from wire.dataclass import dataclass
from wire.types.byte_columns import Bools, ByteColumn, Ints, Sheet, validity_of, values_of
from wire.types.civil_calendar import DAY_MICROS
from wire.types.datetime_input import DATE_INFINITY, DATE_MINUS_INFINITY, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY
from wire.types.text_settings import OutputSettings
from wire.types.time_zones import zone

_WEEKDAYS: Final = (b"Sun", b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat")
_MONTHS: Final = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")
_HOUR: Final = 3_600_000_000
_MINUTE: Final = 60_000_000
_SECOND: Final = 1_000_000
#: A lookup table of all days between the first and the last is used if it has at most this many times the column's
#: length.
_TABLE_FACTOR: Final = 1


@dataclass(frozen=True, slots=True)
class _Days:
    """Dates in fields. year: as written, never below 1. bc: whether it is before Christ."""

    days: Ints
    year: Ints
    month: Ints
    day: Ints
    bc: Bools


def _civil(days: Ints) -> _Days:
    """Return the fields of days since 1970 (the algorithm of `wire.types.civil_calendar.civil_from_days`, for a
    column).
    """
    shifted = days + 719_468
    era = shifted // 146_097
    day_of_era = shifted - era * 146_097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = np.where(shifted_month < 10, shifted_month + 3, shifted_month - 9)
    year = era * 400 + year_of_era + (month <= 2)
    bc = year <= 0
    return _Days(days, np.where(bc, 1 - year, year), month, day, bc)


def date_text(array: pa.Array, settings: OutputSettings) -> ByteColumn:
    days = values_of(array, np.int32).astype(np.int64)
    valid = validity_of(array)
    if valid is not None:
        days = np.where(valid, days, days[valid][0] if valid.any() else 0)
    table = _date_table(days, settings)
    return table if table is not None else _dates(days, settings)


def _date_table(days: Ints, settings: OutputSettings) -> ByteColumn | None:
    """Return the texts of days that lie close together from a lookup table, so that each text is made once."""
    if not len(days):
        return None
    first, last = int(days.min()), int(days.max())
    if last - first >= len(days) * _TABLE_FACTOR:
        return None
    texts = _dates(np.arange(first, last + 1, dtype=np.int64), settings)
    width = texts.fixed_width
    if width is None:
        return None
    [matrix] = texts.pieces
    items = np.ascontiguousarray(matrix).view(f"V{width}").ravel()
    return ByteColumn(len(days), (items[days - first].view(np.uint8).reshape(-1, width),))


def _dates(days: Ints, settings: OutputSettings) -> ByteColumn:
    infinite = (days == DATE_INFINITY) | (days == DATE_MINUS_INFINITY)
    fields = _civil(np.where(infinite, 0, days))
    sheet = Sheet(len(days))
    _write_date(sheet, fields, settings)
    sheet.literal(b" BC", fields.bc)
    sheet.replace(days == DATE_INFINITY, b"infinity")
    sheet.replace(days == DATE_MINUS_INFINITY, b"-infinity")
    return sheet.finish()


def _write_date(sheet: Sheet, fields: _Days, settings: OutputSettings) -> None:
    """Write year, month and day as numbers."""
    day_first = settings.date_order == "DMY"
    if settings.date_format == "ISO":
        _write_fields(sheet, b"-", (fields.year, 4), (fields.month, 2), (fields.day, 2))
    elif settings.date_format == "German":
        _write_fields(sheet, b".", (fields.day, 2), (fields.month, 2), (fields.year, 4))
    else:
        delimiter = b"/" if settings.date_format == "SQL" else b"-"
        first, second = (fields.day, fields.month) if day_first else (fields.month, fields.day)
        _write_fields(sheet, delimiter, (first, 2), (second, 2), (fields.year, 4))


def _write_fields(sheet: Sheet, delimiter: bytes, *fields: tuple[Ints, int]) -> None:
    for index, (values, least) in enumerate(fields):
        if index:
            sheet.literal(delimiter)
        sheet.number(values, least=least)


def _write_clock(sheet: Sheet, micros: Ints) -> None:
    """Write microseconds since midnight as hh:mm:ss.ffffff."""
    seconds, fraction = micros // _SECOND, micros % _SECOND
    sheet.digits(seconds // 3600, 2)
    sheet.literal(b":")
    sheet.digits(seconds // 60 % 60, 2)
    sheet.literal(b":")
    sheet.digits(seconds % 60, 2)
    sheet.fraction(fraction)


def _write_offset(sheet: Sheet, east: Ints) -> None:
    """Write +hh, +hh:mm or +hh:mm:ss, whichever is needed."""
    size = np.abs(east)
    sheet.literal(b"+", east >= 0)
    sheet.literal(b"-", east < 0)
    sheet.digits(size // 3600, 2)
    minutes, seconds = size // 60 % 60, size % 60
    sheet.literal(b":", (minutes != 0) | (seconds != 0))
    sheet.digits(minutes, 2, (minutes != 0) | (seconds != 0))
    sheet.literal(b":", seconds != 0)
    sheet.digits(seconds, 2, seconds != 0)


def time_text(array: pa.Array) -> ByteColumn:
    sheet = Sheet(len(array))
    _write_clock(sheet, _without_nulls(array, values_of(array, np.int64)))
    return sheet.finish()


def timetz_text(array: pa.StructArray) -> ByteColumn:
    micros, west = timetz_fields(array)
    sheet = Sheet(len(array))
    _write_clock(sheet, micros)
    _write_offset(sheet, -west)
    return sheet.finish()


def timetz_fields(array: pa.StructArray) -> tuple[Ints, Ints]:
    """Return (microseconds, seconds west) of a timetz column; 0 under nulls."""
    micros, west = array.field(0), array.field(1)
    return (
        _without_nulls(array, values_of(micros, np.int64)),
        _without_nulls(array, values_of(west, np.int32).astype(np.int64)),
    )


def _without_nulls(array: pa.Array, values: Ints) -> Ints:
    """Set values under nulls to 0: they are undefined, and must not widen the column."""
    valid = validity_of(array)
    return values if valid is None else np.where(valid, values, 0)


def timestamp_text(array: pa.Array, settings: OutputSettings) -> ByteColumn:
    """Return timestamp as text and, if the Arrow type has a zone, timestamptz in the session's zone."""
    stored = _without_nulls(array, values_of(array, np.int64))
    infinite = (stored == TIMESTAMP_INFINITY) | (stored == TIMESTAMP_MINUS_INFINITY)
    micros = np.where(infinite, 0, stored) if infinite.any() else stored
    zoned = array.type.tz is not None
    sheet = Sheet(len(array))
    if not zoned:
        _write_timestamp(sheet, micros, None, None, settings)
    else:
        where = zone(settings.time_zone)
        types = where.types_at(micros // _SECOND)
        east = where.offsets[types].astype(np.int64)
        names = tuple(name.encode()[:10] for name in where.abbreviations)
        _write_timestamp(sheet, micros, east, (names, types), settings)
    sheet.replace(stored == TIMESTAMP_INFINITY, b"infinity")
    sheet.replace(stored == TIMESTAMP_MINUS_INFINITY, b"-infinity")
    return sheet.finish()


def _write_timestamp(
    sheet: Sheet,
    utc: Ints,
    east: Ints | None,
    names: tuple[tuple[bytes, ...], Ints] | None,
    settings: OutputSettings,
) -> None:
    """Write timestamps. east: the offsets of timestamps with a zone. names: the zone's abbreviations and the index of
    each row's.
    """
    # The parts are added one by one, since the sum may not fit 64 bits at the calendar's end.
    days, micros = utc // DAY_MICROS, utc % DAY_MICROS
    if east is not None:
        micros = micros + east * _SECOND
        days, micros = days + micros // DAY_MICROS, micros % DAY_MICROS
    fields = _civil(days)
    if settings.date_format == "Postgres":
        _write_postgres_timestamp(sheet, fields, micros, settings)
    else:
        _write_date(sheet, fields, settings)
        sheet.literal(b" ")
        _write_clock(sheet, micros)
    if east is not None and names is not None:
        if settings.date_format == "ISO":
            _write_offset(sheet, east)
        else:
            sheet.literal(b" ")
            sheet.choice(names[0], names[1])
    sheet.literal(b" BC", fields.bc)


def _write_postgres_timestamp(sheet: Sheet, fields: _Days, micros: Ints, settings: OutputSettings) -> None:
    """Write `Wed Dec 17 07:37:16 1997`."""
    # 1970-01-01 was a Thursday.
    sheet.choice(_WEEKDAYS, (fields.days + 4) % 7)
    sheet.literal(b" ")
    if settings.date_order == "DMY":
        sheet.digits(fields.day, 2)
        sheet.literal(b" ")
        sheet.choice(_MONTHS, fields.month - 1)
    else:
        sheet.choice(_MONTHS, fields.month - 1)
        sheet.literal(b" ")
        sheet.digits(fields.day, 2)
    sheet.literal(b" ")
    _write_clock(sheet, micros)
    sheet.literal(b" ")
    sheet.number(fields.year, least=4)


# --- interval -----------------------------------------------------------------------------------------------------------


def interval_fields(array: pa.Array) -> tuple[Ints, Ints, Ints]:
    """Return (months, days, microseconds) of an interval column; 0 under nulls."""
    items = values_of(array, np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")]))
    months, days = items["months"].astype(np.int64), items["days"].astype(np.int64)
    return (
        _without_nulls(array, months),
        _without_nulls(array, days),
        _without_nulls(array, items["nanos"] // 1000),
    )


@dataclass(frozen=True, slots=True)
class _Interval:
    """Fields of intervals, each with its sign: years and months of one sign, hours to microseconds of one sign."""

    years: Ints
    months: Ints
    days: Ints
    hours: Ints
    minutes: Ints
    seconds: Ints
    micros: Ints

    @property
    def has_time(self) -> Bools:
        return np.asarray((self.hours != 0) | (self.minutes != 0) | (self.seconds != 0) | (self.micros != 0))

    @property
    def time_negative(self) -> Bools:
        return np.asarray((self.hours < 0) | (self.minutes < 0) | (self.seconds < 0) | (self.micros < 0))


def _divide_toward_zero(values: Ints, unit: int) -> tuple[Ints, Ints]:
    """Return quotient and remainder as in C: toward zero, the remainder with the value's sign."""
    sign = np.where(values < 0, -1, 1)
    size = np.abs(values)
    return sign * (size // unit), sign * (size % unit)


def interval_text(array: pa.Array, settings: OutputSettings) -> ByteColumn:
    all_months, days, time = interval_fields(array)
    years, months = _divide_toward_zero(all_months, 12)
    hours, rest = _divide_toward_zero(time, _HOUR)
    minutes, rest = _divide_toward_zero(rest, _MINUTE)
    seconds, micros = _divide_toward_zero(rest, _SECOND)
    fields = _Interval(years, months, days, hours, minutes, seconds, micros)
    sheet = Sheet(len(array))
    {
        "postgres": _write_postgres,
        "postgres_verbose": _write_verbose,
        "sql_standard": _write_sql,
        "iso_8601": _write_iso,
    }[settings.interval_style](sheet, fields)
    return sheet.finish()


def _write_unsigned_clock(sheet: Sheet, fields: _Interval, keep: Bools, *, least: int) -> None:
    """Write hours:mm:ss.ffffff without a sign, with as many digits of hours as needed."""
    sheet.number(np.abs(fields.hours), least=least, keep=keep)
    sheet.literal(b":", keep)
    sheet.digits(np.abs(fields.minutes), 2, keep)
    sheet.literal(b":", keep)
    sheet.digits(np.abs(fields.seconds), 2, keep)
    sheet.fraction(np.abs(fields.micros), keep)


def _write_postgres(sheet: Sheet, fields: _Interval) -> None:
    """Write `1 year 2 mons -3 days +04:05:06`: a plus sign only after a negative field."""
    written = np.zeros(sheet.rows, np.bool_)
    before_negative = np.zeros(sheet.rows, np.bool_)
    for values, unit in ((fields.years, b" year"), (fields.months, b" mon"), (fields.days, b" day")):
        shown = values != 0
        sheet.literal(b" ", shown & written)
        sheet.literal(b"-", shown & (values < 0))
        sheet.literal(b"+", shown & (values > 0) & before_negative)
        sheet.number(np.abs(values), keep=shown)
        sheet.literal(unit, shown)
        sheet.literal(b"s", shown & (values != 1))
        before_negative = np.where(shown, values < 0, before_negative)
        written = written | shown
    shown = fields.has_time | ~written
    sheet.literal(b" ", shown & written)
    sheet.literal(b"-", shown & fields.time_negative)
    sheet.literal(b"+", shown & ~fields.time_negative & before_negative)
    _write_unsigned_clock(sheet, fields, shown, least=2)


def _write_verbose(sheet: Sheet, fields: _Interval) -> None:
    """Write `@ 1 year 2 mons 3 days 4 hours 5 mins 6.7 secs ago`: signs are relative to the first field, and inverted
    if it is negative.
    """
    sheet.literal(b"@")
    written = np.zeros(sheet.rows, np.bool_)
    turned = np.zeros(sheet.rows, np.bool_)
    units = (
        (fields.years, b" year"),
        (fields.months, b" mon"),
        (fields.days, b" day"),
        (fields.hours, b" hour"),
        (fields.minutes, b" min"),
    )
    for values, unit in units:
        shown = values != 0
        turned = np.where(shown & ~written, values < 0, turned)
        signed = np.where(turned, -values, values)
        sheet.literal(b" ", shown)
        sheet.literal(b"-", shown & (signed < 0))
        sheet.number(np.abs(values), keep=shown)
        sheet.literal(unit, shown)
        sheet.literal(b"s", shown & (signed != 1))
        written = written | shown
    shown = (fields.seconds != 0) | (fields.micros != 0)
    negative = (fields.seconds < 0) | (fields.micros < 0)
    turned = np.where(shown & ~written, negative, turned)
    sheet.literal(b" ", shown)
    sheet.literal(b"-", shown & (negative != turned))
    sheet.number(np.abs(fields.seconds), keep=shown)
    sheet.fraction(np.abs(fields.micros), shown)
    sheet.literal(b" sec", shown)
    sheet.literal(b"s", shown & ((np.abs(fields.seconds) != 1) | (fields.micros != 0)))
    written = written | shown
    sheet.literal(b" 0", ~written)
    sheet.literal(b" ago", turned)


def _write_sql(sheet: Sheet, fields: _Interval) -> None:
    """Write `1-2`, `3 4:05:06` where the standard has a form for it, else `+1-2 -3 +4:05:06`."""
    values = (fields.years, fields.months, fields.days, fields.hours, fields.minutes, fields.seconds, fields.micros)
    negative = np.logical_or.reduce([v < 0 for v in values])
    positive = np.logical_or.reduce([v > 0 for v in values])
    year_month = (fields.years != 0) | (fields.months != 0)
    day_time = fields.has_time | (fields.days != 0)
    has_day = fields.days != 0
    standard = ~(negative & positive) & ~(year_month & day_time)
    zero = ~negative & ~positive
    mixed = ~standard
    plain = standard & ~zero
    sheet.literal(b"0", zero)
    sheet.literal(b"-", plain & negative)
    # An interval that has no standard form: all three parts, each with its sign.
    months_negative = (fields.years < 0) | (fields.months < 0)
    sheet.literal(b"-", mixed & months_negative)
    sheet.literal(b"+", mixed & ~months_negative)
    shown = mixed | (plain & year_month)
    sheet.number(np.abs(fields.years), keep=shown)
    sheet.literal(b"-", shown)
    sheet.number(np.abs(fields.months), keep=shown)
    sheet.literal(b" ", mixed)
    sheet.literal(b"-", mixed & (fields.days < 0))
    sheet.literal(b"+", mixed & (fields.days >= 0))
    shown = mixed | (plain & has_day)
    sheet.number(np.abs(fields.days), keep=shown)
    sheet.literal(b" ", shown)
    sheet.literal(b"-", mixed & fields.time_negative)
    sheet.literal(b"+", mixed & ~fields.time_negative)
    _write_unsigned_clock(sheet, fields, mixed | (plain & day_time), least=1)


def _write_iso(sheet: Sheet, fields: _Interval) -> None:
    """Write `P1Y2M3DT4H5M6.7S`."""
    sheet.literal(b"P")
    dated = np.zeros(sheet.rows, np.bool_)
    for values, unit in ((fields.years, b"Y"), (fields.months, b"M"), (fields.days, b"D")):
        _write_designated(sheet, values, unit)
        dated = dated | (values != 0)
    sheet.literal(b"T", fields.has_time)
    _write_designated(sheet, fields.hours, b"H")
    _write_designated(sheet, fields.minutes, b"M")
    shown = (fields.seconds != 0) | (fields.micros != 0)
    sheet.literal(b"-", (fields.seconds < 0) | (fields.micros < 0))
    sheet.number(np.abs(fields.seconds), keep=shown)
    sheet.fraction(np.abs(fields.micros), shown)
    sheet.literal(b"S", shown)
    sheet.literal(b"T0S", ~dated & ~fields.has_time)


def _write_designated(sheet: Sheet, values: Ints, unit: bytes) -> None:
    shown = values != 0
    sheet.literal(b"-", values < 0)
    sheet.number(np.abs(values), keep=shown)
    sheet.literal(unit, shown)

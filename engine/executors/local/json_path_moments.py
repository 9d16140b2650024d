"""Dates and times as items of a jsonpath: how datetime() reads them, how they are printed, and how two of them
compare.

Items of the same type compare by value, and so do dates and timestamps. An item with a time zone and one without
compare in the session's time zone, which only the functions that end in _tz may use. An item that has a date and one
that has none do not compare.

Source: PostgreSQL 15, jsonpath_exec.c (executeDateTimeMethod, compareDatetime), json.c (JsonEncodeDateTime).
"""

from __future__ import annotations

from typing import Any, Final

from engine.sql.text_templates.moments import fixed_offset, offset_of_local
from engine.sql.text_templates.reading import Moment, read_moment
from wire.errors import FeatureNotSupported, InvalidArgumentForJsonDatetime, SqlError
from wire.types.civil_calendar import DAY_MICROS, civil_from_days

#: The formats that are tried if no template is given.
_ISO: Final = (
    "yyyy-mm-dd",
    *(f"HH24:MI:SS{fraction}{zone}" for zone, fraction in (
        ("TZH:TZM", ".US"), ("TZH", ".US"), ("TZH:TZM", ""), ("TZH", ""), ("", ".US"), ("", ""),
    )),
    *(f"yyyy-mm-dd{between}HH24:MI:SS{fraction}{zone}" for zones in (("TZH:TZM", "TZH"), ("",)) for between in (" ", '"T"')
      for fraction in (".US", "") for zone in zones),
)  # fmt: skip
_NAMES: Final = {
    "date": "date",
    "time": "time without time zone",
    "timetz": "time with time zone",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
}
_CLOCKS: Final = ("time", "timetz")


def read(text: str, template: str | None) -> Moment:
    """Read a date or time. Raises an SqlError if the text does not fit."""
    if template is not None:
        return read_moment(text, template)
    for known in _ISO:
        try:
            return read_moment(text, known)
        except SqlError:
            continue
    raise InvalidArgumentForJsonDatetime(
        f'datetime format is not recognized: "{text}"',
        hint="Use a datetime template argument to specify the input data format.",
    )


def type_name(moment: Moment) -> str:
    return _NAMES[moment.kind]


def text(moment: Moment) -> str:
    """Write a moment as JSON shows it; a timestamp with time zone keeps the offset with which it was written."""
    offset = _offset(moment.east) if moment.kind in ("timetz", "timestamptz") else ""
    if moment.kind == "date":
        return "".join(_date(moment.value))
    if moment.kind in _CLOCKS:
        return _clock(moment.value) + offset
    days, clock = divmod(moment.value + moment.east * 1_000_000, DAY_MICROS)
    date, era = _date(days)
    return f"{date}T{_clock(clock)}{offset}{era}"


def _date(days: int) -> tuple[str, str]:
    year, month, day = civil_from_days(days)
    return f"{year if year > 0 else 1 - year:04d}-{month:02d}-{day:02d}", "" if year > 0 else " BC"


def _clock(micros: int) -> str:
    seconds, fraction = divmod(micros, 1_000_000)
    shown = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{shown}.{fraction:06d}".rstrip("0") if fraction else shown


def _offset(east: int) -> str:
    return f"{'-' if east < 0 else '+'}{abs(east) // 3600:02d}:{abs(east) // 60 % 60:02d}"


def compare_moments(a: Moment, b: Moment, zone: str | None) -> int | None:
    """Compare two moments. Returns a number below, at or above 0; None if they do not compare. zone: the session's
    time zone; None for functions that may not use it.

    Raises FeatureNotSupported.
    """
    if (a.kind in _CLOCKS) != (b.kind in _CLOCKS):
        return None
    if a.kind == b.kind:
        return _sign(_key(a), _key(b))
    if a.kind in _CLOCKS:
        return _sign(*(_key(_zoned_time(moment, zone)) for moment in (a, b)))
    if "timestamptz" in (a.kind, b.kind):
        return _sign(_instant(a, zone), _instant(b, zone))
    return _sign(_micros(a), _micros(b))


def _sign(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def _key(moment: Moment) -> tuple[int, int]:
    """Return a sort key: a time with time zone sorts by its UTC time, and equal ones from east to west."""
    return (moment.value - moment.east * 1_000_000, -moment.east) if moment.kind == "timetz" else (moment.value, 0)


def _micros(moment: Moment) -> int:
    return moment.value * DAY_MICROS if moment.kind == "date" else moment.value


def _without_zone(source: str, target: str) -> FeatureNotSupported:
    return FeatureNotSupported(
        f"cannot convert value from {source} to {target} without time zone usage",
        hint="Use *_tz() function for time zone support.",
    )


def _instant(moment: Moment, zone: str | None) -> int:
    if moment.kind == "timestamptz":
        return moment.value
    if zone is None:
        raise _without_zone(moment.kind, "timestamptz")
    local = _micros(moment)
    return local - offset_of_local(local // 1_000_000, zone) * 1_000_000


def _zoned_time(moment: Moment, zone: str | None) -> Moment:
    if moment.kind == "timetz":
        return moment
    if zone is None:
        raise _without_zone("time", "timetz")
    east = fixed_offset(zone)
    if east is None:
        raise FeatureNotSupported("not supported: comparing times with and without time zone where offsets change")
    return Moment("timetz", moment.value, east)

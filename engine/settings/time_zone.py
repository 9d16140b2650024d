"""The setting TimeZone: the values that it accepts, and the zones that they stand for.

Source: PostgreSQL 15, variable.c (check_timezone), pgtz.c (pg_tzset_offset).
"""

from __future__ import annotations

import math
import re
from typing import Final

from wire.errors import FeatureNotSupported, SqlError
from wire.types.interval_input import read_interval
from wire.types.text_settings import InputSettings
from wire.types.time_zones import canonical_name, find_zone

#: TZ_STRLEN_MAX.
_LENGTH_MAX: Final = 255
_OFFSET_MAX: Final = 18 * 3600
_WEEK: Final = 7 * 86_400


def zone_setting(value: str) -> str:
    """Return the zone as SHOW prints it. Raises ValueError for an invalid one, FeatureNotSupported.

    The value is an interval or a number of hours, which count east of Greenwich; `default` or `local`, which mean UTC;
    an IANA name in any letter case; or a POSIX specification (`JST-9`, `+02:00`), which counts west.
    """
    text = value.strip()
    if len(text) > _LENGTH_MAX:
        raise ValueError
    if match := re.fullmatch(r"interval\s*'([^']*)'", text, re.IGNORECASE):
        return _offset_name(_interval_seconds(match[1]))
    if re.fullmatch(r"[+-]?([0-9]++\.?[0-9]*+|\.[0-9]++)", text):
        hours = float(text)
        if not math.isfinite(hours):
            raise ValueError
        return _offset_name(int(hours * 3600))
    if text.lower() in ("default", "local"):
        return "UTC"
    if (name := canonical_name(text)) is not None:
        return name
    found = find_zone(text)
    if found is None:
        raise ValueError
    if len(found.starts) > 1:
        raise FeatureNotSupported(
            f'not supported: the time zone "{text}", which has rules of its own', hint="Name a zone, as Europe/Paris."
        )
    _require_offset(int(found.offsets[0]))
    return text.upper()


def _interval_seconds(text: str) -> int:
    """Return the seconds of an interval. Raises ValueError."""
    try:
        span = read_interval(text, -1, InputSettings())
    except SqlError:
        raise ValueError from None
    if span.months or span.days:
        raise ValueError(f"Cannot specify {'months' if span.months else 'days'} in time zone interval.")
    return int(span.nanoseconds // 1_000_000_000)


def _offset_name(east: int) -> str:
    """Return the POSIX specification of an offset, as pg_tzset_offset does."""
    if abs(east) > _WEEK:
        raise ValueError("UTC timezone offset is out of range.")
    _require_offset(east)
    hours, minutes = divmod(abs(east) // 60, 60)
    shown = f"{hours:02}:{minutes:02}" if minutes else f"{hours:02}"
    return f"<-{shown}>+{shown}" if east < 0 else f"<+{shown}>-{shown}"


def _require_offset(east: int) -> None:
    """Check that both engines support the offset: whole minutes, at most 18 hours (java.time.ZoneOffset). Raises
    FeatureNotSupported.
    """
    if east % 60 or abs(east) > _OFFSET_MAX:
        raise FeatureNotSupported("not supported: a time zone with seconds, or of more than 18 hours")

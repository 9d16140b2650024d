"""Time zones by the names that DuckDB (ICU) has for them."""

from __future__ import annotations

import re
from typing import Final

#: `<+02>-02`, as PostgreSQL names a zone that was given by its offset.
_OFFSET_ZONE: Final = re.compile(r"<([+-]\d\d)(?::?(\d\d))?>.*|([+-]\d\d):?(\d\d)?")


def zone_name(time_zone: str) -> str:
    """DuckDB's (ICU's) name of a zone: offsets are spelled `GMT+02:00` there."""
    found = _OFFSET_ZONE.fullmatch(time_zone)
    if not found:
        return time_zone
    hours, minutes = found[1] or found[3], found[2] or found[4] or "00"
    return f"GMT{hours}:{minutes}"

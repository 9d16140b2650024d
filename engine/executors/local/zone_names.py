"""The names of time zones in DuckDB (ICU) and Spark (java.time)."""

from __future__ import annotations

from wire.types.time_zones import canonical_name, zone


def zone_name(time_zone: str) -> str:
    """Return the engines' name of a session's zone, which PostgreSQL may know by an offset: `GMT+02:00`, two hours
    east of Greenwich.
    """
    if canonical_name(time_zone) is not None:
        return time_zone
    east = int(zone(time_zone).offsets[0])
    hours, minutes = divmod(abs(east) // 60, 60)
    return f"GMT{'-' if east < 0 else '+'}{hours:02}:{minutes:02}"

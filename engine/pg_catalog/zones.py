"""pg_timezone_names: the zones that SET TimeZone accepts, with their current offsets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa

from engine.pg_catalog.declared import Row, SystemContext, postgres


def _pg_timezone_names(_context: SystemContext) -> Iterator[Row]:
    now = datetime.now(UTC)
    for name in sorted(available_timezones()):
        there = now.astimezone(ZoneInfo(name))
        yield name, there.tzname(), _interval(there.utcoffset()), bool(there.dst())


def _interval(offset: timedelta | None) -> pa.MonthDayNano | None:
    return None if offset is None else pa.MonthDayNano([0, 0, round(offset.total_seconds()) * 1_000_000_000])


SYSTEM: Final = (postgres("pg_timezone_names", _pg_timezone_names, volatile=True),)

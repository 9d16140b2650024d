"""Time zones by PostgreSQL's rules: offsets for whole columns of timestamps, and for single local times.

A `Zone` is a table of transitions. It comes from the IANA database (the system's copy, else the one that pytz carries)
or from a POSIX specification (`EST5EDT,M3.2.0,M11.1.0`, `<+03>-03`). Rules without an end are written out for 400
years. After that the Gregorian calendar, and with it every rule, repeats, so one binary search serves any year.

Besides zones, input accepts abbreviations (`PST`, `CEST`): `wire.types.time_zone_abbreviations`.

Sources: RFC 8536 (TZif); POSIX.1 on TZ; PostgreSQL 15 documentation 8.5.3 and B.2 (ambiguous local times), B.5 (POSIX).
"""

from __future__ import annotations

import calendar
import re
import struct
import zoneinfo
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pytz

from wire.dataclass import dataclass
from wire.errors import InvalidParameterValue

_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()

Int64s = npt.NDArray[np.int64]

#: The number of seconds after which the Gregorian calendar repeats.
_CYCLE_YEARS: Final = 400
_CYCLE_SECONDS: Final = 146_097 * 86_400
_NAME: Final = re.compile(r"[A-Za-z0-9_+\-]+(?:/[A-Za-z0-9_+\-]+)*")


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """A time zone: local time types, and the times at which each begins.

    name: as the IANA database spells it, or the POSIX specification.
    starts: seconds since 1970 UTC, ascending; the first is earlier than any timestamp, and its type holds before the
        first change.
    types: for each start, an index into offsets and abbreviations.
    offsets: seconds east of Greenwich. abbreviations: `PST`.
    horizon: the first time from which on the last 400 years repeat, or None if nothing repeats.
    endless: whether they repeat backwards too, as a POSIX specification's rules do.
    """

    name: str
    starts: Int64s
    types: npt.NDArray[np.int16]
    offsets: npt.NDArray[np.int32]
    abbreviations: tuple[str, ...]
    horizon: int | None = None
    endless: bool = False

    def types_at(self, seconds: Int64s) -> npt.NDArray[np.int16]:
        """Return the local time type at each time (seconds since 1970 UTC)."""
        if len(self.starts) == 1:
            return np.zeros(len(seconds), np.int16)
        if self.horizon is not None and len(seconds) and (self.endless or int(seconds.max()) >= self.horizon):
            beyond = seconds - self.horizon
            folded = self.horizon - _CYCLE_SECONDS + beyond % _CYCLE_SECONDS
            seconds = folded if self.endless else np.where(beyond >= 0, folded, seconds)
        return self.types[np.searchsorted(self.starts, seconds, side="right") - 1]

    def offsets_at(self, seconds: Int64s) -> npt.NDArray[np.int32]:
        """Return the seconds east of Greenwich at each time."""
        return self.offsets[self.types_at(seconds)]

    def offset_at(self, second: int) -> int:
        """Return the seconds east of Greenwich at one time."""
        return int(self.offsets_at(np.array([second], np.int64))[0])

    def offset_of_abbreviation(self, abbreviation: str, second: int) -> int | None:
        """Return the seconds east that `abbreviation` means at a time: as last used in this zone before it, else as
        first used after it; None if the zone has never used it.
        """
        kinds = [i for i, name in enumerate(self.abbreviations) if name.lower() == abbreviation]
        uses = np.flatnonzero(np.isin(self.types, kinds))
        if not len(uses):
            return None
        past = uses[self.starts[uses] <= second]
        return int(self.offsets[self.types[past[-1] if len(past) else uses[0]]])

    def offset_of_local(self, second: int) -> int:
        """Return the seconds east of Greenwich for a local time given as if it were UTC.

        A local time that is skipped by a change of the clocks is read with the offset before the change; one that
        occurs twice is the later one, after the change (PostgreSQL 15, B.2).
        """
        before, after = self.offset_at(second - 86_400), self.offset_at(second + 86_400)
        candidates = {before, after, self.offset_at(second - before), self.offset_at(second - after)}
        fitting = [offset for offset in candidates if self.offset_at(second - offset) == offset]
        # Of two possible times, the later one has the smaller offset east.
        return min(fitting) if fitting else before


def _fixed_zone(name: str, offset: int, abbreviation: str) -> Zone:
    return Zone(name, np.array([-(1 << 62)]), np.zeros(1, np.int16), np.array([offset], np.int32), (abbreviation,))


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """Return the zone with this name or POSIX specification, in any letter case.

    Raises InvalidParameterValue: time zone "x" not recognized.
    """
    found = find_zone(name)
    if found is None:
        raise InvalidParameterValue(f'time zone "{name}" not recognized')
    return found


@lru_cache(maxsize=1024)
def find_zone(name: str) -> Zone | None:
    """Return the same as `zone`, but None for an unknown name."""
    if name.upper() in ("UTC", "GMT"):
        return _fixed_zone(name.upper(), 0, name.upper())
    if _NAME.fullmatch(name):
        known = canonical_name(name)
        if known is not None:
            return _read_tzif(known, _load(known))
    return _posix_zone(name)


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    names = zoneinfo.available_timezones() | set(pytz.all_timezones)
    return {name.lower(): name for name in names if name not in ("localtime", "posixrules")}


def canonical_name(name: str) -> str | None:
    """Return the IANA database's spelling of a zone's name, or None if the database does not have it.

    `posix/` before a name means the database without leap seconds, which is the one used here.
    """
    return _names().get(name.lower().removeprefix("posix/"))


def _load(name: str) -> bytes:
    for folder in zoneinfo.TZPATH:
        path = Path(folder, name)
        if path.is_file():
            return path.read_bytes()
    with pytz.open_resource(name) as resource:
        return bytes(resource.read())


def _read_tzif(name: str, data: bytes) -> Zone:
    """Read a zone from a TZif file of version 2 or later (RFC 8536): its second block has 64-bit transition times."""
    counts = struct.unpack(">4sc15x6I", data[:44])
    utc_count, std_count, leap_count, time_count, type_count, text_count = counts[2:]
    skip = 44 + time_count * 5 + type_count * 6 + text_count + leap_count * 8 + std_count + utc_count
    utc_count, std_count, leap_count, time_count, type_count, text_count = struct.unpack(
        ">20x6I", data[skip : skip + 44]
    )
    at = skip + 44
    times = np.frombuffer(data, ">i8", time_count, at).astype(np.int64)
    at += time_count * 8
    types = np.frombuffer(data, "u1", time_count, at).astype(np.int16)
    at += time_count
    kinds = np.frombuffer(data, [("offset", ">i4"), ("dst", "u1"), ("text", "u1")], type_count, at)
    at += type_count * 6
    texts = data[at : at + text_count]
    at += text_count + leap_count * 12 + std_count + utc_count
    footer = data[at:].strip(b"\n").decode("ascii")
    abbreviations = tuple(texts[i : texts.index(b"\0", i)].decode("ascii") for i in kinds["text"].tolist())
    base = Zone(
        name,
        np.concatenate(([-(1 << 62)], times)),
        np.concatenate((np.zeros(1, np.int16), types)),
        kinds["offset"].astype(np.int32),
        abbreviations,
    )
    rule = _parse_posix(footer) if footer else None
    return base if rule is None or rule.summer is None else _extend_zone(base, rule)


@dataclass(frozen=True, slots=True)
class _Change:
    """The time at which clocks change: `kind` J (1-365, no leap day), D (0-365) or M (month, week, weekday); local
    second of the day.
    """

    kind: str
    numbers: tuple[int, ...]
    second: int

    def local(self, year: int) -> int:
        """Return the seconds since 1970 of the change, on the clock before it."""
        january = _days(year, 1, 1)
        if self.kind == "J":
            day = january + self.numbers[0] - 1 + (calendar.isleap(year) and self.numbers[0] >= 60)
        elif self.kind == "D":
            day = january + self.numbers[0]
        else:
            month, week, weekday = self.numbers
            first = _days(year, month, 1)
            # 1970-01-01 was a Thursday; POSIX counts weekdays from Sunday.
            offset = (weekday - (first + 4)) % 7 + 7 * (week - 1)
            last = calendar.monthrange(year, month)[1]
            day = first + (offset if offset < last else offset - 7)
        return day * 86_400 + self.second


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970 of a Gregorian date, any year from 1."""
    return date(year, month, day).toordinal() - _EPOCH_ORDINAL


@dataclass(frozen=True, slots=True)
class _Rule:
    """A POSIX specification: (offset east, abbreviation) of standard and of summer time, and the time at which each
    begins.
    """

    standard: tuple[int, str]
    summer: tuple[int, str] | None
    begins: _Change
    ends: _Change

    def changes(self, years: range) -> Iterator[tuple[int, bool]]:
        """Yield (time, whether summer time begins) in those years, ascending."""
        assert self.summer is not None
        found = []
        for year in years:
            found.append((self.begins.local(year) - self.standard[0], True))
            found.append((self.ends.local(year) - self.summer[0], False))
        yield from sorted(found)


#: PostgreSQL does not check the names: any text that ends in a number may be a zone, and the name may be empty before
#: hours and minutes.
_POSIX: Final = re.compile(
    r"(?P<std><[^>]*>|[^<0-9,+\-][^0-9,+\-]*|(?=[+-]?\d+:))(?P<stdoff>[+-]?\d+(?::\d+){0,2})"
    r"(?:(?P<dst><[^>]*>|[^<0-9,+\-:][^0-9,+\-]*)(?P<dstoff>[+-]?\d+(?::\d+){0,2})?"
    r"(?:,(?P<begin>[^,]+),(?P<end>[^,]+))?)?"
)
_CHANGE: Final = re.compile(
    r"(?:J(?P<julian>\d{1,3})|(?P<day>\d{1,3})|M(?P<month>\d{1,2})\.(?P<week>[1-5])\.(?P<weekday>[0-6]))"
    r"(?:/(?P<time>[+-]?\d+(?::\d+){0,2}))?"
)
#: The dates of a specification without dates: the rule of the United States, as in PostgreSQL.
_DEFAULT_DATES: Final = ("M3.2.0", "M11.1.0")


_HOURS_MAX: Final = 167


def _hms(text: str) -> int | None:
    """Return the seconds of `[+-]hh[:mm[:ss]]`, or None for a week of hours and more, or too many minutes or seconds."""
    sign = -1 if text.startswith("-") else 1
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    if any(part > limit for part, limit in zip(parts, (_HOURS_MAX, 59, 60), strict=False)):
        return None
    return sign * sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))


def _parse_change(text: str) -> _Change | None:
    match = _CHANGE.fullmatch(text)
    if not match:
        return None
    second = _hms(match["time"]) if match["time"] else 7200
    if second is None:
        return None
    if match["julian"]:
        return _Change("J", (int(match["julian"]),), second)
    if match["day"]:
        return _Change("D", (int(match["day"]),), second)
    month = int(match["month"])
    return _Change("M", (month, int(match["week"]), int(match["weekday"])), second) if 1 <= month <= 12 else None


def _parse_posix(text: str) -> _Rule | None:
    match = _POSIX.fullmatch(text)
    if not match:
        return None
    west, summer_west = _hms(match["stdoff"]), _hms(match["dstoff"] or "0")
    if west is None or summer_west is None:
        return None
    begins = _parse_change(match["begin"] or _DEFAULT_DATES[0])
    ends = _parse_change(match["end"] or _DEFAULT_DATES[1])
    if begins is None or ends is None:
        return None
    summer = None
    if match["dst"]:
        summer = (-summer_west if match["dstoff"] else 3600 - west, match["dst"].strip("<>"))
    return _Rule((-west, match["std"].strip("<>")), summer, begins, ends)


def _posix_zone(text: str) -> Zone | None:
    rule = _parse_posix(text.upper())
    # PostgreSQL takes a zone whose offset has seconds for one of a database with leap seconds, and refuses it.
    if rule is None or rule.standard[0] % 60:
        return None
    base = _fixed_zone(text, *rule.standard)
    return base if rule.summer is None else _extend_zone(base, rule)


def _extend_zone(base: Zone, rule: _Rule) -> Zone:
    """Return `base` with the rule's changes after its last one, for a whole cycle of the calendar."""
    assert rule.summer is not None
    last = int(base.starts[-1]) if len(base.starts) > 1 else _days(1901, 1, 1) * 86_400
    first_year = 1970 + last // (86_400 * 366)
    years = range(max(first_year - 1, 1), first_year + _CYCLE_YEARS + 2)
    changes = [(at, begins) for at, begins in rule.changes(years) if at > last]
    kinds = list(zip(base.offsets.tolist(), base.abbreviations, strict=True))
    kinds += [kind for kind in (rule.standard, rule.summer) if kind not in kinds]
    standard, summer = kinds.index(rule.standard), kinds.index(rule.summer)
    return Zone(
        base.name,
        np.concatenate((base.starts, np.array([at for at, _ in changes], np.int64))),
        np.concatenate((base.types, np.array([summer if begins else standard for _, begins in changes], np.int16))),
        np.array([offset for offset, _ in kinds], np.int32),
        tuple(abbreviation for _, abbreviation in kinds),
        horizon=changes[0][0] + _CYCLE_SECONDS,
        endless=len(base.starts) == 1,
    )

"""The session settings that decide how values are read and written as text.

They are plain values, made once when a statement is bound or a portal is opened. Code that converts a value gets them
as an argument and reads neither session nor clock. `wire.types.input` reads with `InputSettings`; `wire.types.output`
and `wire.pg` write with `OutputSettings`.

Source: PostgreSQL 15, chapter 20.11 (DateStyle, IntervalStyle, TimeZone, extra_float_digits, bytea_output,
client_encoding).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

from wire.dataclass import dataclass

DateFormat = Literal["ISO", "SQL", "Postgres", "German"]
DateOrder = Literal["MDY", "DMY", "YMD"]
IntervalStyle = Literal["postgres", "postgres_verbose", "sql_standard", "iso_8601"]
ByteaOutput = Literal["hex", "escape"]


def split_date_style(value: str) -> tuple[DateFormat, DateOrder]:
    """Return the two halves of a DateStyle as SHOW prints it: `ISO, MDY`."""
    form, _, order = value.partition(", ")
    return cast("DateFormat", form), cast("DateOrder", order)


@dataclass(frozen=True, slots=True)
class InputSettings:
    """The settings for reading text.

    date_order: which field of 1/2/2003 is the day.
    time_zone: the session's TimeZone, any spelling that `wire.types.time_zones.zone` knows.
    interval_style: decides only whether a leading minus of an SQL-standard interval applies to all fields.
    now: microseconds since 1970 UTC at which the transaction began, for 'now', 'today' and zones of a bare time.
    client_encoding: PostgreSQL's name of the encoding in which parameters arrive.
    """

    date_order: DateOrder = "MDY"
    time_zone: str = "UTC"
    interval_style: IntervalStyle = "postgres"
    now: int = 0
    client_encoding: str = "UTF8"

    @classmethod
    def read(cls, get: Callable[[str], str], now: int) -> InputSettings:
        """Read a session's settings. get: returns a setting's value as SHOW prints it."""
        return cls(
            split_date_style(get("DateStyle"))[1],
            get("TimeZone"),
            cast("IntervalStyle", get("IntervalStyle")),
            now,
            get("client_encoding"),
        )


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """The settings for writing values; the names are those of PostgreSQL's settings, DateStyle in its two halves."""

    date_format: DateFormat = "ISO"
    date_order: DateOrder = "MDY"
    time_zone: str = "UTC"
    interval_style: IntervalStyle = "postgres"
    extra_float_digits: int = 1
    bytea_output: ByteaOutput = "hex"
    client_encoding: str = "UTF8"

    @classmethod
    def read(cls, get: Callable[[str], str]) -> OutputSettings:
        """Read a session's settings. get: returns a setting's value as SHOW prints it."""
        date_format, date_order = split_date_style(get("DateStyle"))
        return cls(
            date_format,
            date_order,
            get("TimeZone"),
            cast("IntervalStyle", get("IntervalStyle")),
            int(get("extra_float_digits")),
            cast("ByteaOutput", get("bytea_output")),
            get("client_encoding"),
        )

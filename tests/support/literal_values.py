"""Canonical values of every type, at the limits of its range, for tests of literals on both engines."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

from wire.types import pg_types as t


def _days(year: int, month: int, day: int) -> int:
    return date(year, month, day).toordinal() - 719_163


def _micros(*parts: int) -> int:
    delta = datetime(*parts, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)  # type: ignore[arg-type,misc]
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


LITERALS: list[tuple[t.PgType, Any]] = [
    (t.BOOL, True),
    (t.INT2, -(2**15)),
    (t.INT4, -(2**31)),
    (t.INT4, 2**31 - 1),
    (t.INT8, -(2**63)),
    (t.INT8, 2**63 - 1),
    (t.OID, 2**32 - 1),
    (t.FLOAT4, 3.4028234663852886e38),
    (t.FLOAT8, 5e-324),
    (t.FLOAT8, 1.7976931348623157e308),
    (t.FLOAT8, math.inf),
    (t.FLOAT8, -math.inf),
    (t.TEXT, 'it\'s a \\ "test" -- /* $1 \n\t é 🙂'),
    (t.BYTEA, bytes(range(256))),
    (t.BYTEA, b""),
    (t.DATE, _days(1994, 1, 1)),
    (t.DATE, _days(1, 1, 1)),
    (t.DATE, _days(9999, 12, 31)),
    (t.DATE, _days(9999, 12, 31) + 1),
    (t.DATE, -2_451_545),
    (t.TIME, 0),
    (t.TIME, 86_399_999_999),
    (t.TIME, 86_400_000_000),
    (t.TIMESTAMP, _micros(2000, 2, 29, 12, 0, 0, 1)),
    (t.TIMESTAMP, _micros(9999, 12, 31, 23, 59, 59, 999_999) + 1),
    (t.TIMESTAMP, -(2**62)),
    (t.TIMESTAMPTZ, _micros(2020, 7, 1)),
    (t.TIMESTAMPTZ, _micros(1, 1, 1) - 1),
    (t.TIMETZ, {"micros": 3_600_000_000, "zone": -7200}),
    (t.UUID, "00112233-4455-6677-8899-aabbccddeeff"),
    (t.INTERVAL, pa.MonthDayNano([-14, 3, -5_000])),
    (t.INTERVAL, pa.MonthDayNano([0, 0, 0])),
    (t.array_of(t.INT4), [1, None, 3]),
    (t.array_of(t.INT4), []),
    (t.array_of(t.TEXT), ["a", "b'"]),
    (t.VOID, None),
    (t.TEXT, None),
    (t.array_of(t.INT8), None),
]

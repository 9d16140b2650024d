"""Time zones: offsets equal zoneinfo's, abbreviations and local times a real PostgreSQL 15's."""

from __future__ import annotations

import datetime
import random
import zoneinfo
from typing import Any

import numpy as np
import psycopg
import pytest
from support.postgres_server import PostgresServer

from wire.errors import InvalidParameterValue
from wire.types.time_zone_abbreviations import OFFSETS, SUMMER, ZONES
from wire.types.time_zones import find_zone, zone

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    "name",
    [
        "America/New_York",
        "Europe/Dublin",
        "Asia/Kolkata",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "UTC",
        "Pacific/Apia",
    ],
)
def test_offsets(name: str) -> None:
    chance = random.Random(name)
    seconds = [chance.randint(-6_000_000_000, 250_000_000_000) for _ in range(2000)]
    there = zoneinfo.ZoneInfo(name)
    moments = [(EPOCH + datetime.timedelta(seconds=second)).astimezone(there) for second in seconds]
    expected = [int(offset.total_seconds()) for moment in moments if (offset := moment.utcoffset()) is not None]
    assert zone(name).offsets_at(np.array(seconds)).tolist() == expected


def test_names_fold_case_and_unknown_ones_are_refused() -> None:
    assert zone("america/new_york").name == "America/New_York"
    assert zone("posix/Europe/Paris").name == "Europe/Paris"
    for name in ("", "Nowhere", "FOO", "FOO168", "FOO5:60", "FOO5BAR,M13.1.0,M1.1.0", "FOO0:0:30", "+5"):
        assert find_zone(name) is None
        with pytest.raises(InvalidParameterValue, match="not recognized"):
            zone(name)


def test_rules_repeat_without_end_in_both_directions() -> None:
    rule = zone("FOO5BAR,M3.2.0,M11.1.0")
    cycle = 146_097 * 86_400
    seconds = np.arange(0, 86_400 * 366, 86_400)
    now = rule.offsets_at(seconds).tolist()
    assert set(now) == {-18_000, -14_400}
    for times in (-20, -1, 1, 700):
        assert rule.offsets_at(seconds + times * cycle).tolist() == now


@pytest.mark.postgres
def test_abbreviations(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.dsn) as connection:
        rows = connection.execute(
            "select lower(abbrev), extract(epoch from utc_offset)::int, is_dst from pg_timezone_abbrevs"
        )
        known = {name: (offset, summer) for name, offset, summer in rows}
    assert set(known) == set(OFFSETS) | set(ZONES)
    assert {name: known[name][0] for name in OFFSETS} == OFFSETS
    assert {name for name in OFFSETS if known[name][1]} == SUMMER


@pytest.mark.postgres
@pytest.mark.parametrize(
    "name", ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "EST5EDT", "FOO5BAR"]
)
def test_local_times_that_are_skipped_or_occur_twice(postgres: PostgresServer, name: str) -> None:
    chance = random.Random(name)
    there = zone(name)
    changes = [int(second) for second in there.starts[1:] if abs(int(second)) < 10_000_000_000][:150]
    seconds = [change + chance.randint(-16 * 3600, 16 * 3600) for change in changes]
    with psycopg.connect(postgres.dsn) as connection:
        connection.execute("select set_config('timezone', %s, false)", (name,))
        rows: list[tuple[Any, ...]] = connection.execute(
            """select extract(epoch from ('1970-01-01'::timestamp + make_interval(secs => s))::timestamptz)::int8
               from unnest(%s::float8[]) with ordinality q(s, i) order by i""",
            (seconds,),
        ).fetchall()
    assert [second - there.offset_of_local(second) for second in seconds] == [row[0] for row in rows]

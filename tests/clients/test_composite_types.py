"""Composite types as drivers read and write them: in text and binary, as parameters, in COPY, in arrays; also after a
restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg.types.composite import CompositeInfo, register_composite
from support.local_member import LocalMember, local_member

_DEFINITIONS = """
    create type place as (x int, price numeric(10,2), label text);
    create type way as (start place, stops place[]);
    create table trips (id int, at place, along way)
"""


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


@pytest.fixture
def trips(ground: LocalMember) -> Iterator[psycopg.Connection[Any]]:
    with ground.connect() as connection:
        for statement in _DEFINITIONS.split(";"):
            connection.execute(statement.encode())
        yield connection


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg(trips: psycopg.Connection[Any], binary: bool) -> None:
    for name in ("place", "way"):
        info = CompositeInfo.fetch(trips, name)
        assert info is not None
        register_composite(info, trips)
    place = CompositeInfo.fetch(trips, "place")
    assert place is not None
    assert place.field_names == ("x", "price", "label")
    trips.execute("insert into trips values (1, row(1, 2.5, 'a, \"b\"'), row(row(1, null, ''), '{\"(2,3,c)\",NULL}'))")
    cursor = trips.cursor(binary=binary)
    at, along = cursor.execute("select at, along from trips").fetchall()[0]
    assert at == (1, Decimal("2.50"), 'a, "b"')
    assert at.label == 'a, "b"'
    assert along == ((1, None, ""), [(2, Decimal("3.00"), "c"), None])
    for placeholder in ("%s", "%t", "%b") if not binary else ("%b",):
        assert cursor.execute(f"select id from trips where at = {placeholder}::place", (at,)).fetchall() == [(1,)]


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_copy(trips: psycopg.Connection[Any], form: str) -> None:
    trips.execute(
        'insert into trips values (1, \'(1,2,"q "" r")\', \'(,"{""(2,3,c)""}")\'), (2, null, null), (3, \'(,,)\', null)'
    )
    with trips.cursor().copy(f"copy trips to stdout (format {form})") as copy:
        data = b"".join(bytes(part) for part in copy)
    with trips.cursor().copy(f"copy trips from stdin (format {form})") as copy:
        copy.write(data)
    twice = trips.execute("select id, at, along, count(*) from trips group by 1, 2, 3 order by 1").fetchall()
    assert twice == [(1, '(1,2.00,"q "" r")', '(,"{""(2,3.00,c)""}")', 2), (2, None, None, 2), (3, "(,,)", None, 2)]


def test_asyncpg(ground: LocalMember) -> None:
    async def talk() -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=ground.port, user="tester", database="sluice", ssl=False
        )
        try:
            await connection.execute(_DEFINITIONS)
            value = (1, Decimal("2.50"), "a")
            await connection.execute("insert into trips values (1, $1, $2)", value, (value, [value, None]))
            row = await connection.fetchrow("select at, along, t from trips t")
            assert row["at"]["label"] == "a"
            assert row["along"] == (value, [value, None])
            assert row["t"] == (1, value, (value, [value, None]))
            await connection.execute("alter type place add attribute y int")
            with pytest.raises(asyncpg.OutdatedSchemaCacheError):
                await connection.fetchrow("select at from trips")
            assert await connection.fetchval("select at from trips") == (*value, None)
        finally:
            await connection.close()

    asyncio.run(talk())


def test_restart(tmp_path: Path) -> None:
    with local_member(tmp_path) as member, member.connect() as connection:
        for statement in (*_DEFINITIONS.split(";"), "insert into trips (id, at) values (1, '(1,2,a)')"):
            connection.execute(statement.encode())
        connection.execute("alter type place drop attribute price")
        connection.execute("alter type place add attribute y int")
    with local_member(tmp_path) as member, member.connect() as connection:
        connection.execute("insert into trips (id, at) values (2, row(2, 'b', 3))")
        assert connection.execute("select at from trips order by id").fetchall() == [("(1,a,)",), ("(2,b,3)",)]

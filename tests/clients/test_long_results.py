"""Functions that make long texts of short ones fail before a batch of them takes the member's memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import local_member, say

pytestmark = pytest.mark.long

#: Each makes some GB of 2,048 rows.
_LONG = (
    "repeat(g::text, 400000)",
    "repeat('ab', 400000 + g)",
    "lpad(g::text, 1000000)",
    "rpad(g::text, 1000000 + g, 'abc')",
    "g::text::char(1000000)",
    "octet_length(g::bit(1000000))",
    "format('%1000000s', g)",
    "format('%*s', -1000000, g)",
    "replace(repeat('a', 1000) || g, 'a', repeat('b', 1000))",
    "regexp_replace(repeat('a', 1000) || g, 'a', repeat('b', 1000), 'g')",
    r"regexp_replace(g::text, '(?=.)\d', repeat('b', 100000), 'g')",
    "array_to_string(array_fill(g, array[1000]), repeat('b', 1000))",
    "array_to_string(array_fill(g, array[1000]), repeat('b', 1000) || g)",
    "array_to_string(array_fill(null::int, array[1000]), '', repeat('b', 1000) || g)",
    "array_fill(g, array[100000])",
)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection[Any]]:
    folder: Path = tmp_path_factory.mktemp("member")
    with local_member(folder) as member, member.connect() as connection:
        yield connection


@pytest.mark.parametrize("long", _LONG)
def test_batches_of_long_results(connection: psycopg.Connection[Any], long: str) -> None:
    said = say(connection, f"select count({long}), max({long}) from generate_series(1, 2048) g")
    assert said.error is not None
    assert said.error[:2] == ("53200", "out of memory")
    assert say(connection, f"select count({long}) from generate_series(1, 3) g").rows == [(3,)]


def test_columns_of_padded_strings(connection: psycopg.Connection[Any]) -> None:
    connection.execute("create temp table padded (c char(1000000))")
    said = say(connection, "insert into padded select g from generate_series(1, 2048) g")
    assert said.error is not None
    assert said.error[:2] == ("53200", "out of memory")
    connection.execute("insert into padded select g from generate_series(1, 3) g")
    assert say(connection, "select sum(octet_length(c)) from padded").rows == [(3_000_000,)]


def test_a_single_long_result(connection: psycopg.Connection[Any]) -> None:
    assert say(connection, "select length(repeat(repeat('abcdefghij', 6000), 10000))").rows == [(600_000_000,)]

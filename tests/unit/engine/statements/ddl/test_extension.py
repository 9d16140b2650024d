"""CREATE EXTENSION: extensions that come with PostgreSQL are accepted and do nothing; all others are not available."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from support.local_member import local_member, say

Client = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with local_member(tmp_path_factory.mktemp("member")) as running, running.connect() as connection:
        yield connection


@pytest.mark.parametrize(
    "sql",
    ['create extension "uuid-ossp"', "create extension if not exists citext with schema public version '1.6' cascade"],
)
def test_one_of_postgres_is_accepted_and_brings_nothing(member: Client, sql: str) -> None:
    said = say(member, sql)
    assert said.tag == "CREATE EXTENSION"
    assert [(severity, "brings nothing" in text) for severity, text, _ in said.notices] == [("NOTICE", True)]
    assert say(member, "select extname from pg_extension").rows == [("sluice",)]


def test_any_other_is_not_available(member: Client) -> None:
    assert (say(member, "create extension nosuch").error or ())[:2] == ("0A000", 'extension "nosuch" is not available')


def test_what_a_member_has_itself_stays(member: Client) -> None:
    assert (say(member, "create extension sluice").error or ())[:2] == ("42710", 'extension "sluice" already exists')
    said = say(member, "create extension if not exists sluice")
    assert [text for _, text, _ in said.notices] == ['extension "sluice" already exists, skipping']
    assert (say(member, "drop extension sluice").error or ())[:1] == ("2BP01",)


def test_none_is_there_to_be_dropped(member: Client) -> None:
    assert (say(member, "drop extension citext").error or ())[:2] == ("42704", 'extension "citext" does not exist')
    said = say(member, "drop extension if exists a, b cascade")
    assert said.tag == "DROP EXTENSION"
    assert [text for _, text, _ in said.notices] == [
        'extension "a" does not exist, skipping',
        'extension "b" does not exist, skipping',
    ]

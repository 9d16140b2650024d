"""A WITH whose parts change the same table is refused where they would not see each other's changes and have to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from support.local_member import local_member


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection[Any]]:
    with local_member(tmp_path_factory.mktemp("with")) as member, member.connect() as connection:
        connection.execute("create table t (a int primary key, b text)")
        connection.execute("insert into t values (1, 'x'), (2, 'y')")
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "with u as (update t set b = 'u' where a = 1) update t set b = 'v' where a = 2",
        "with d as (delete from t where a = 1) update t set b = 'v' where a = 2",
        "with i as (insert into t values (3) on conflict do nothing) insert into t values (3) on conflict do nothing",
        "with i as (insert into t values (3)) insert into t values (3) on conflict (a) do update set b = 'v'",
        "with d as (delete from t where a = 1 returning *) insert into t select * from d on conflict (a) do nothing",
    ],
)
def test_parts_that_would_meet_are_refused(connection: psycopg.Connection[Any], statement: str) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        connection.execute(statement.encode())
    assert connection.execute("table t order by a").fetchall() == [(1, "x"), (2, "y")]


def test_one_part_may_look_for_conflicts(connection: psycopg.Connection[Any]) -> None:
    connection.execute("create table log (a int)")
    insert = "with l as (insert into log values (1) returning a) insert into t select a from l on conflict do nothing"
    assert connection.execute(insert.encode()).statusmessage == "INSERT 0 0"

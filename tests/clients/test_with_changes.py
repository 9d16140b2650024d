"""WITH queries that change rows, as drivers send them: with parameters, described before they run, prepared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import local_member


@pytest.fixture
def session(tmp_path: Path) -> Iterator[psycopg.Connection[Any]]:
    with local_member(tmp_path) as member, member.connect() as connection:
        connection.execute("create table t (id int primary key, v text)")
        connection.execute("create table log (id int, said text, at int)")
        connection.execute("insert into t values (1, 'one'), (2, 'two')")
        yield connection


def test_parameters_are_those_of_all_parts(session: psycopg.Connection[Any]) -> None:
    text = """with u as (update t set v = %(v)s where id = %(id)s returning id, v)
        insert into log select id, v || %(mark)s, %(at)s from u returning said, at"""
    for number in range(6):  # psycopg prepares what comes again
        values = {"v": f"v{number}", "id": 1, "mark": "!", "at": number}
        cursor = session.execute(text, values)
        assert (cursor.statusmessage, cursor.fetchall()) == ("INSERT 0 1", [(f"v{number}!", number)])
    assert session.execute("select v from t order by id").fetchall() == [("v5",), ("two",)]


def test_what_fails_leaves_nothing(session: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        session.execute("with d as (delete from t where id = 1 returning id) insert into t values (2, 'x'), (3, 'y')")
    with pytest.raises(psycopg.errors.DivisionByZero):
        session.execute("with d as (delete from t returning id) select 1 / (id - 1) from d")
    assert session.execute("select id from t order by id").fetchall() == [(1,), (2,)]


def test_rows_of_chance_are_not_made_twice(session: psycopg.Connection[Any]) -> None:
    text = "with r as (select random() as x), i as (insert into log select 1, x::text, 1 from r) select x from r"
    with pytest.raises(psycopg.errors.FeatureNotSupported, match='WITH query "r" with volatile functions'):
        session.execute(text)
    once = "with r as (select random() as x), i as (insert into log select 1, x::text, 1 from r returning said) select said from i"
    [(said,)] = session.execute(once).fetchall()
    assert session.execute("select said from log").fetchall() == [(said,)]

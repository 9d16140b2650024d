"""EXPLAIN of statements that change rows: its output, and that it changes nothing without ANALYZE."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from support.local_member import local_member


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[psycopg.Connection[Any]]:
    with local_member(tmp_path) as running, running.connect() as connection:
        make(connection)
        yield connection


def make(connection: psycopg.Connection[Any]) -> None:
    """Two files: rows 1 to 10, and 11 to 20."""
    connection.execute("create table t (id int primary key, v int constraint positive check (v > 0))")
    connection.execute("insert into t select n, n from generate_series(1, 10) n")
    connection.execute("insert into t select n, n from generate_series(11, 20) n")


def plan(connection: psycopg.Connection[Any], sql: str, *options: str) -> dict[str, Any]:
    told = connection.execute(f"explain ({', '.join(('format json', *options))}) {sql}".encode()).fetchone()
    assert told is not None
    (whole,) = told[0]
    assert isinstance(whole, dict)
    return whole


@pytest.mark.parametrize(
    ("sql", "properties"),
    [
        ("insert into t values (30, 1) returning id",
         {"Kind": "insert", "Keys checked": "t_pkey (id)", "Checks": "positive", "Returning": "id"}),
        ("update t set v = 1 where id = 3", {"Kind": "update", "Checks": "positive", "Files": "1 of 2 may be written anew"}),
        ("update t set id = 40 where id > 3", {"Keys checked": "t_pkey (id)", "Files": "2 of 2 may be written anew"}),
        ("delete from t where id > 2000", {"Kind": "delete", "Files": "0 of 2 may be written anew"}),
        ("merge into t using (values (3)) s (n) on n = id when matched then delete", {"Kind": "merge"}),
    ],
)  # fmt: skip
def test_what_is_told(connection: psycopg.Connection[Any], sql: str, properties: dict[str, str]) -> None:
    told = plan(connection, sql)["Plan"]
    assert told["Node Type"] == "MUTATE"
    assert told["Table"] == "public.t"
    assert {name: told.get(name) for name in properties} == properties
    assert "Rows" not in plan(connection, sql)
    assert connection.execute("select count(*), sum(v) from t").fetchall() == [(20, 210)]


def test_analyze_runs_the_statement(connection: psycopg.Connection[Any]) -> None:
    assert plan(connection, "update t set v = 100 where id in (3, 13) returning *", "analyze")["Rows"] == 2
    assert connection.execute("select id from t where v = 100 order by id").fetchall() == [(3,), (13,)]
    connection.execute("prepare gone (int) as delete from t where id > $1")
    assert plan(connection, "execute gone (15)", "analyze")["Rows"] == 5
    with pytest.raises(errors.UniqueViolation):
        connection.execute("explain analyze insert into t values (1, 1)")
    connection.execute("begin read only")
    connection.execute("explain delete from t")
    with pytest.raises(errors.ReadOnlySqlTransaction, match="cannot execute DELETE"):
        connection.execute("explain analyze delete from t")


def test_the_text_says_the_same(connection: psycopg.Connection[Any]) -> None:
    lines = [line for (line,) in connection.execute("explain delete from t where id = 3").fetchall()]
    assert lines[:4] == ["MUTATE", "  Kind: delete", "  Table: public.t", "  Files: 1 of 2 may be written anew"]
    assert any(line.endswith("Columns: id, (file)") for line in lines)
    assert lines.index("  Files to write anew") > 4
    assert not any("\0" in line for line in lines)

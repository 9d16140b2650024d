"""A transaction that inserts one row at a time: its files stay few, and statements, cursors and savepoints see the
right rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member

from engine.statements.dml import statement

#: Files that are written anew as one: fewer than in a member, so that few rows are enough.
COALESCED = 8
ROWS = 3 * COALESCED + 1


@pytest.fixture(autouse=True)
def _coalesced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement, "COALESCED", COALESCED)


@pytest.fixture
def member(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


@pytest.fixture
def connection(member: LocalMember) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with member.connect() as connection:
        connection.execute("create table t (k int primary key, s text)")
        connection.execute("create table u (k int)")
        yield connection


def insert(connection: psycopg.Connection[tuple[Any, ...]], first: int, end: int) -> None:
    for number in range(first, end):
        connection.execute("insert into t values (%s, %s)", (number, f"row {number}"))


def keys(connection: psycopg.Connection[tuple[Any, ...]]) -> list[int]:
    return [key for (key,) in connection.execute("select k from t").fetchall()]


def files(member: LocalMember) -> list[Path]:
    """Data files of all tables."""
    return [path for path in member.engine.store.tables.rglob("*.parquet") if "_delta_log" not in path.parts]


def test_files_are_few_and_rows_in_order(member: LocalMember, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    with connection.transaction():
        insert(connection, 0, ROWS)
        assert keys(connection) == list(range(ROWS))
    assert len(files(member)) == 4
    assert keys(connection) == list(range(ROWS))


def test_a_rollback_leaves_nothing(member: LocalMember, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    with connection.transaction(force_rollback=True):
        insert(connection, 0, ROWS)
    assert files(member) == []
    assert keys(connection) == []


def test_savepoints(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    with connection.transaction():
        insert(connection, 0, 5)
        with connection.transaction(force_rollback=True):
            insert(connection, 5, ROWS)
            assert keys(connection) == list(range(ROWS))
        assert keys(connection) == list(range(5))
        insert(connection, 5, ROWS)
        assert keys(connection) == list(range(ROWS))
    assert keys(connection) == list(range(ROWS))


def test_keys_are_unique_among_all_rows(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    with connection.transaction():
        insert(connection, 0, ROWS)
        for duplicate in (0, COALESCED - 1, COALESCED, ROWS - 1):
            with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
                insert(connection, duplicate, duplicate + 1)
    assert keys(connection) == list(range(ROWS))


def test_a_cursor_reads_on(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    with connection.transaction():
        insert(connection, 0, 6)
        connection.execute("declare c cursor for select k from t")
        assert connection.execute("fetch 1 from c").fetchall() == [(0,)]
        insert(connection, 6, ROWS)
        assert connection.execute("fetch all from c").fetchall() == [(number,) for number in range(1, 6)]


def test_two_tables_in_turns_and_other_changes(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    with connection.transaction():
        for number in range(ROWS):
            insert(connection, number, number + 1)
            connection.execute("insert into u values (%s)", (number,))
            if number in (10, 20):
                connection.execute("update t set s = 'changed' where k = 3")
                connection.execute("delete from u where k = %s", (number,))
    assert sorted(keys(connection)) == list(range(ROWS))
    assert connection.execute("select count(*), sum(k) from u").fetchall() == [(ROWS - 2, sum(range(ROWS)) - 30)]
    assert connection.execute("select s from t where k = 3").fetchall() == [("changed",)]


def test_others_commits_do_not_disturb(member: LocalMember, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    with member.connect() as other, connection.transaction():
        for number in range(ROWS):
            connection.execute("insert into u values (%s)", (number,))
            if number in (5, 15):
                other.execute("insert into u values (%s)", (1000 + number,))
        assert connection.execute("select count(*) from u").fetchall() == [(ROWS + 2,)]
    assert connection.execute("select count(*) from u where k < 1000").fetchall() == [(ROWS,)]

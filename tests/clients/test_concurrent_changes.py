"""Sessions that change one table concurrently, each statement in its own transaction: as in PostgreSQL, none gets a
conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from support.local_member import LocalMember, local_member
from support.shared_members import SESSIONS, two_members
from support.shared_members import at_once as at_once_on

_SESSIONS = 6
_EACH = 8


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


def at_once(shared: LocalMember, work: Callable[[psycopg.Connection[Any], int], None]) -> None:
    """`work(connection, number)` in sessions of their own. Raises what one of them raises."""

    def session(number: int) -> None:
        with shared.connect() as connection:
            work(connection, number)

    with ThreadPoolExecutor(_SESSIONS) as pool:
        list(pool.map(session, range(_SESSIONS)))


def test_rows_of_a_table_with_a_key(shared: LocalMember) -> None:
    def insert(connection: psycopg.Connection[Any], number: int) -> None:
        for step in range(_EACH):
            connection.execute("insert into t values (%s)", (number * _EACH + step,))

    with shared.connect() as connection:
        connection.execute("create table t (n int primary key)")
        at_once(shared, insert)
        found = connection.execute("select n from t order by n").fetchall()
    assert found == [(n,) for n in range(_SESSIONS * _EACH)]


def test_one_row_that_all_of_them_change(shared: LocalMember) -> None:
    def count(connection: psycopg.Connection[Any], _number: int) -> None:
        for _ in range(_EACH):
            assert connection.execute("update t set n = n + 1").rowcount == 1

    with shared.connect() as connection:
        connection.execute("create table t (n int)")
        connection.execute("insert into t values (0)")
        at_once(shared, count)
        assert connection.execute("select n from t").fetchall() == [(_SESSIONS * _EACH,)]


def test_one_key_is_taken_once(shared: LocalMember) -> None:
    taken: list[int] = []

    def insert(connection: psycopg.Connection[Any], number: int) -> None:
        for step in range(_EACH):
            try:
                connection.execute("insert into t values (%s, %s)", (step, number))
            except errors.UniqueViolation:
                continue
            taken.append(step)

    with shared.connect() as connection:
        connection.execute("create table t (n int unique, who int)")
        at_once(shared, insert)
        found = connection.execute("select n from t order by n").fetchall()
    assert found == [(n,) for n in range(_EACH)]
    assert sorted(taken) == list(range(_EACH))


def test_a_transaction_is_told(shared: LocalMember) -> None:
    with shared.connect() as one, shared.connect() as two:
        one.execute("create table t (n int)")
        one.execute("insert into t values (0)")
        two.execute("begin")
        two.execute("update t set n = n + 10")
        one.execute("update t set n = n + 1")
        with pytest.raises(errors.SerializationFailure):
            two.execute("commit")
        assert one.execute("select n from t").fetchall() == [(1,)]


def changed_between(shared: LocalMember, returning: str) -> None:
    """A statement has run, and told its rows, when somebody else's transaction changes its row; then it commits."""
    with shared.connect() as one, shared.connect() as two:
        one.execute("create table t (n int)")
        one.execute("insert into t values (0)")
        with one.pipeline():
            assert one.execute(f"update t set n = n + 1 returning {returning}").fetchall() == [(1,)]
            with two.transaction():
                two.execute("update t set n = n + 10")


def test_a_statement_runs_again_where_its_commit_conflicts(shared: LocalMember) -> None:
    changed_between(shared, "1")
    with shared.connect() as connection:
        assert connection.execute("select n from t").fetchall() == [(11,)]


def test_what_was_told_is_not_taken_back(shared: LocalMember) -> None:
    # psycopg does not expect an error from Sync itself, and says that it is busy.
    with pytest.raises(psycopg.OperationalError):
        changed_between(shared, "n")
    with shared.connect() as connection:
        assert connection.execute("select n from t").fetchall() == [(10,)]
        # Its turn is over.
        connection.execute("update t set n = 0")


@pytest.mark.long
def test_different_rows_of_one_table_over_two_members(tmp_path: Path) -> None:
    """Rows of one file, and of a table with a key: those of another member do not wait for a turn, and run again."""

    def work(connection: psycopg.Connection[Any], number: int) -> None:
        for step in range(_EACH):
            assert connection.execute("update t set v = v + 1 where n = %s", (number,)).rowcount == 1
            connection.execute("insert into t values (%s, 0)", (SESSIONS * (step + 2) + number,))
            assert connection.execute("delete from t where n = %s", (SESSIONS * (step + 2) + number,)).rowcount == 1

    with two_members(tmp_path) as members, members[0].connect() as connection:
        connection.execute("create table t (n int primary key, v int)")
        connection.execute("insert into t select n, 0 from generate_series(0, 7) n")
        at_once_on(members, work)
        assert connection.execute("select n, v from t order by n").fetchall() == [(n, _EACH) for n in range(SESSIONS)]

"""Cached plans over system relations whose rows change without a commit: they return the current rows, as the current
role sees them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

from engine.session.context import statement_cache
from engine.sql.binder import bind_query

Connection = psycopg.Connection[tuple[Any, ...]]
#: Of plans that are kept, here: what 1,200 comparisons take is more, and as one plan of a long statement (`PlanningPool`).
_ENTRY_BYTES = 1 << 19


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(Path(tmp_path_factory.mktemp("kept"))) as running:
        with running.connect() as connection:
            connection.execute(
                "create table t (a int primary key, b text); create sequence s; create role limited login"
            )
        yield running


@pytest.fixture
def connection(sluice: LocalMember) -> Iterator[Connection]:
    with sluice.connect() as opened:
        yield opened


def bound(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the queries that are bound from now on."""
    texts: list[str] = []

    def binding(query: Any, context: Any) -> Any:
        texts.append(query.text)
        return bind_query(query, context)

    monkeypatch.setattr("engine.statements.query.run.bind_query", binding)
    return texts


def test_a_view_of_information_schema_is_bound_once(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = bound(monkeypatch)
    query = "select column_name from information_schema.columns where table_name = 't' order by ordinal_position"
    for _ in range(3):
        assert connection.execute(query).fetchall() == [("a",), ("b",)]
    assert texts == [query]


def test_settings_are_those_of_now(sluice: LocalMember, connection: Connection) -> None:
    query = "select setting from pg_settings where name = 'application_name'"
    with sluice.connect() as other:
        for name in ("one", "two", "three"):
            connection.execute(f"set application_name to {name}")
            assert connection.execute(query).fetchone() == (name,)
            assert other.execute(query).fetchone() == ("",)


def test_a_sequence_stands_where_it_stands_now(connection: Connection) -> None:
    for number in (1, 2, 3):
        assert connection.execute("select nextval('s')").fetchone() == (number,)
        assert connection.execute("select last_value, is_called from s").fetchone() == (number, True)


def test_sessions_are_those_of_now(sluice: LocalMember, connection: Connection) -> None:
    query = "select count(*) from pg_stat_activity where application_name = 'counted'"
    assert connection.execute(query).fetchone() == (0,)
    for number in (1, 2):
        with sluice.connect(application_name="counted"):
            assert connection.execute(query).fetchone() == (1,), number
        # The server hears of its end a moment later.
        wait_until(lambda: connection.execute(query).fetchone() == (0,))
    assert connection.execute("select pid from pg_stat_activity where pid = pg_backend_pid()").fetchone() is not None


def test_privileges_are_of_who_asks(connection: Connection) -> None:
    columns = "select count(*) from information_schema.columns where table_name = 't'"
    may = "select has_table_privilege('t', 'select')"
    assert (connection.execute(columns).fetchone(), connection.execute(may).fetchone()) == ((2,), (True,))
    connection.execute("set role limited")
    assert (connection.execute(columns).fetchone(), connection.execute(may).fetchone()) == ((0,), (False,))
    connection.execute("reset role; grant select on t to limited; set role limited")
    assert (connection.execute(columns).fetchone(), connection.execute(may).fetchone()) == ((2,), (True,))
    connection.execute("reset role; revoke select on t from limited; set role limited")
    assert (connection.execute(columns).fetchone(), connection.execute(may).fetchone()) == ((0,), (False,))
    connection.execute("reset role")


def test_what_is_closed_stays_closed(sluice: LocalMember, connection: Connection) -> None:
    query = "select count(*) from pg_authid"
    for _ in range(2):
        assert connection.execute(query).fetchone() is not None
        connection.execute("set role limited")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for table pg_authid"):
            connection.execute(query)
        connection.execute("reset role")
    with sluice.connect(user="limited") as other:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            other.execute(query)
        assert other.execute("select current_user, session_user").fetchone() == ("limited", "limited")
        assert connection.execute("select current_user, session_user").fetchone() != ("limited", "limited")


def test_a_plan_too_large_to_be_kept_is_made_once_a_run(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan that was made to prepare the statement runs."""
    monkeypatch.setattr(statement_cache, "_ENTRY_BYTES", _ENTRY_BYTES)
    texts = bound(monkeypatch)
    query = f"select count(*) from t where {' or '.join(f'a = {number}' for number in range(1_200))}"
    for _ in range(2):
        assert connection.execute(query.encode()).fetchone() == (0,)
    assert texts == [query, query]


def test_a_large_plan_is_made_anew_after_a_change(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_cache, "_ENTRY_BYTES", _ENTRY_BYTES)
    query = f"select n from w where n not in (-1) or {' or '.join(f'n = {number}' for number in range(10_000, 11_200))}"
    connection.execute("create view w as select 1 as n")
    connection.pgconn.prepare(b"large", query.encode())
    texts = bound(monkeypatch)

    def answered() -> list[bytes | None]:
        result = connection.pgconn.exec_prepared(b"large", [])
        return [result.get_value(row, 0) for row in range(result.ntuples)]

    assert answered() == [b"1"]
    assert texts == []
    connection.execute("create or replace view w as select 2 as n")
    assert answered() == [b"2"]
    connection.execute("drop view w")

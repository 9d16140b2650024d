"""Sessions that change definitions concurrently, each statement in its own transaction. As in PostgreSQL, each waits
for those that it conflicts with, and then does the rest of its work or reports PostgreSQL's error; on one member and on
two with one catalog.
"""

from __future__ import annotations

import contextlib
import functools
import random
import select
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors, pq
from support.local_member import LocalMember, Said, say
from support.shared_members import SESSIONS, at_once, two_members

Session = psycopg.Connection[Any]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.long])])
def members(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[LocalMember]]:
    catalog = request.getfixturevalue("postgres_database").url if request.param == "postgres" else None
    with two_members(tmp_path, catalog) as both:
        yield both


def code(said: Said) -> str | None:
    return said.error[0] if said.error is not None else None


def _code(statement: str, connection: Session, _number: int) -> str | None:
    return code(say(connection, statement))


def test_different_tables_and_schemas(members: list[LocalMember]) -> None:
    def work(connection: Session, number: int) -> None:
        for step in range(3):
            name = f"s{number}_{step}"
            connection.execute(f"create schema {name}".encode())
            connection.execute(f"create table {name}.t (a int primary key, b text)".encode())
            connection.execute(f"alter table {name}.t add column c int default 1".encode())
            connection.execute(f"create view {name}.v as select a, c from {name}.t".encode())
            connection.execute(f"comment on table {name}.t is 'one'".encode())
            connection.execute(f"create table {name}.u as select * from {name}.v".encode())
            connection.execute(f"drop table {name}.t cascade".encode())

    at_once(members, work)
    with members[0].connect() as connection:
        found = connection.execute("select count(*), count(distinct schemaname) from pg_tables where tablename = 'u'")
        assert found.fetchone() == (SESSIONS * 3, SESSIONS * 3)


@pytest.mark.table
@pytest.mark.parametrize(
    ("make", "drop", "there", "gone"),
    [
        ("create table t (a int)", "drop table t", "42P07", "42P01"),
        ("create table t as select 1 as a", "drop table t", "42P07", "42P01"),
        ("create schema t", "drop schema t", "42P06", "3F000"),
        ("create view t as select 1 as a", "drop view t", "42P07", "42P01"),
        ("create sequence t", "drop sequence t", "42P07", "42P01"),
        ("create role t", "drop role t", "42710", "42704"),
        ("create type t as enum ('a')", "drop type t", "42710", "42704"),
    ],
)
def test_one_thing_is_made_and_dropped_once(
    members: list[LocalMember], make: str, drop: str, there: str, gone: str
) -> None:
    for _ in range(4):
        for statement, otherwise in ((make, there), (drop, gone)):
            said = at_once(members, functools.partial(_code, statement))
            assert Counter(said) == {None: 1, otherwise: SESSIONS - 1}


def test_if_not_exists_is_told_once_a_session(members: list[LocalMember]) -> None:
    def work(connection: Session, _number: int) -> list[Said]:
        return [
            say(connection, "create table if not exists t (a int)"),
            say(connection, "create schema if not exists s"),
            say(connection, "create or replace view v as select 1 as a"),
        ]

    for tables, schemas, views in [zip(*at_once(members, work), strict=True)]:
        assert Counter(code(said) for said in (*tables, *schemas, *views)) == {None: 3 * SESSIONS}
        skipped = [[notice[:2] for notice in said.notices] for said in tables]
        assert sorted(skipped) == [[], *[[("NOTICE", 'relation "t" already exists, skipping')]] * (SESSIONS - 1)]
        assert sorted(len(said.notices) for said in schemas) == [0, *[1] * (SESSIONS - 1)]


@pytest.mark.long
def test_every_column_is_added(members: list[LocalMember]) -> None:
    with members[0].connect() as connection:
        connection.execute("create table t (a int)")
        connection.execute("insert into t values (1)")

    def work(connection: Session, number: int) -> None:
        for step in range(2):
            connection.execute(f"alter table t add column c{number}_{step} int".encode())
            connection.execute(f"alter table t alter column c{number}_{step} set default {step}".encode())
            connection.execute(
                "alter table t alter column a type int8" if step % 2 else "alter table t alter a type int4"
            )
            connection.execute(f"grant select on t to role_{number}".encode())

    with members[0].connect() as connection:
        connection.execute("create role tester superuser login")
        for number in range(SESSIONS):
            connection.execute(f"create role role_{number}".encode())
    at_once(members, work)
    with members[1].connect() as connection:
        assert connection.execute("select count(*) from pg_attribute where attrelid = 't'::regclass and attnum > 0 and "
                                  "not attisdropped").fetchone() == (1 + 2 * SESSIONS,)  # fmt: skip
        assert connection.execute("select a from t").fetchone() == (1,)
        granted = connection.execute("select count(distinct grantee) from information_schema.role_table_grants "
                                     "where table_name = 't' and grantee like 'role%'")  # fmt: skip
        assert granted.fetchone() == (SESSIONS,)


def test_definitions_beside_rows(members: list[LocalMember]) -> None:
    """Rows that are inserted meanwhile are there at the end, whichever came first."""
    with members[0].connect() as connection:
        connection.execute("create table t (a int)")

    def work(connection: Session, number: int) -> None:
        for step in range(4):
            if number % 2:
                connection.execute(f"alter table t add column c{number}_{step} int".encode())
            else:
                connection.execute("insert into t (a) values (1)")

    at_once(members, work)
    with members[0].connect() as connection:
        assert connection.execute("select count(*) from t").fetchone() == (4 * SESSIONS // 2,)


def test_whatever_happens_nothing_is_left_half(members: list[LocalMember]) -> None:
    """Random definitions over few names: no error but what PostgreSQL says, and at the end everything can be read and dropped."""
    allowed = {
        None, "42P07", "42P01", "42P06", "3F000", "2BP01", "42701", "42703", "42809", "42P16",
    }  # fmt: skip
    statements = (
        "create schema {s}", "drop schema {s}", "drop schema {s} cascade", "create table {s}.{t} (a int)",
        "drop table {s}.{t}", "drop table if exists {s}.{t} cascade", "create view {s}.v_{t} as select a from {s}.{t}",
        "create or replace view {s}.v_{t} as select a from {s}.{t}", "drop view {s}.v_{t}",
        "alter table {s}.{t} add column b int", "alter table {s}.{t} drop column b",
        "alter table {s}.{t} rename to {u}", "create table {s}.{t} as select 1 as a", "truncate {s}.{t}",
        "insert into {s}.{t} (a) values (1)", "alter table {s}.{t} set schema s0",
    )  # fmt: skip

    def work(connection: Session, number: int) -> Counter[str | None]:
        chance, told = random.Random(number), Counter[str | None]()
        for _ in range(30):
            names = {name: chance.choice(those) for name, those in (("s", ("s0", "s1")), ("t", "xy"), ("u", "xy"))}
            told[code(say(connection, chance.choice(statements).format(**names)))] += 1
        return told

    told = sum(at_once(members, work), Counter[str | None]())
    assert set(told) <= allowed, told
    with members[0].connect() as connection:
        found = connection.execute(
            "select schemaname, tablename from pg_tables where schemaname in ('s0', 's1') union all "
            "select schemaname, viewname from pg_views where schemaname in ('s0', 's1')"
        ).fetchall()
        for schema, name in found:
            connection.execute(f'select count(*) from "{schema}"."{name}"'.encode())
        for schema in ("s0", "s1"):
            connection.execute(f"drop schema if exists {schema} cascade".encode())
        assert connection.execute(
            "select count(*) from pg_class where relname in ('x', 'y', 'v_x', 'v_y')"
        ).fetchone() == (0,)


def test_with_parameters_and_pipelines(members: list[LocalMember]) -> None:
    """By the extended protocol too, where the commit comes with Sync."""

    def work(connection: Session, _number: int) -> str | None:
        try:
            connection.execute("create table t as select %s::int as a", (1,))
        except errors.DuplicateTable:
            return "42P07"
        return None

    assert Counter(at_once(members, work)) == {None: 1, "42P07": SESSIONS - 1}


def test_a_block_is_told(members: list[LocalMember]) -> None:
    with members[0].connect() as one, members[1].connect() as other:
        one.execute("create table t (a int)")
        other.execute("begin")
        other.execute("alter table t add column b int")
        one.execute("alter table t add column c int")
        with pytest.raises(errors.SerializationFailure):
            other.execute("commit")
        assert [column.name for column in one.execute("select * from t").description or ()] == ["a", "c"]


@pytest.mark.table
@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("drop schema s", "create table s.u (a int)"),
        ("drop schema s", "create type s.e as enum ('a')"),
        ("drop table t", "create view v as select a from t"),
        ("create view v as select a from t", "drop table t"),
        ("create table s.u (a int)", "drop schema s"),
        ("create table u (a int references t)", "drop table t"),
        ("drop table t", "create table u (a int references t)"),
        ("alter table t drop column b", "create view v as select b from t"),
        ("create view v as select b from t", "alter table t drop column b"),
        ("drop view w", "create view v as select a from w"),
        ("create view v as select a from w", "drop view w"),
    ],
)
def test_what_a_block_depends_on_stays(members: list[LocalMember], first: str, other: str) -> None:
    """Nothing is left that names what is gone: the second to commit is told, or finds it gone."""
    with members[0].connect() as one, members[1].connect() as two:
        one.execute("create schema s")
        one.execute("create table t (a int primary key, b int)")
        one.execute("create view w as select a from t where false")
        if "w" not in first.split():
            one.execute("drop view w")
        one.execute("begin")
        one.execute(first.encode())
        two.execute(other.encode())
        with pytest.raises((errors.SerializationFailure, errors.UndefinedTable)):
            one.execute("commit")
        if "create view" in other:
            assert two.execute("select * from v").fetchall() == []


def _result(connection: Any) -> Any:
    """libpq's next one, waited for without holding the interpreter."""
    while connection.is_busy():
        select.select([connection.socket], [], [])
        connection.consume_input()
    return connection.get_result()


def _altered_between(one: Session, two: Session) -> Any:
    """A definition has run, and its client knows, when another one changes the table; then it commits. What Sync says."""
    one.execute("create table t (a int)")
    connection = one.pgconn
    connection.enter_pipeline_mode()
    connection.send_query_params(b"alter table t add column b int", None)
    connection.send_flush_request()
    connection.flush()
    said = _result(connection)
    assert said.command_status == b"ALTER TABLE"
    assert _result(connection) is None
    two.execute("alter table t add column c int")
    connection.pipeline_sync()
    return _result(connection)


def _columns(connection: Session) -> list[str]:
    return [column.name for column in connection.execute("select * from t").description or ()]


def test_a_commit_that_conflicts_is_made_again(members: list[LocalMember]) -> None:
    with contextlib.closing(members[0].connect()) as one, members[1].connect() as two:
        said = _altered_between(one, two)
        assert said.status == pq.ExecStatus.PIPELINE_SYNC
        assert _columns(two) == ["a", "c", "b"]


def test_lock_timeout_ends_the_wait(members: list[LocalMember]) -> None:
    turn = members[0].engine.turns.of_definitions()
    with contextlib.suppress(StopIteration):
        turn.acquire().send(None)
    try:
        with contextlib.closing(members[0].connect()) as one, members[1].connect() as two:
            one.execute("set lock_timeout = '100ms'")
            said = _altered_between(one, two)
            assert said.error_field(pq.DiagnosticField.SQLSTATE) == b"55P03"
            assert _columns(two) == ["a", "c"]
    finally:
        turn.release()

"""Definitions as drivers send them, and two sessions that define and change the same objects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from support.local_member import LocalMember, local_member


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


def test_create_table_as_with_parameters(local: LocalMember) -> None:
    with local.connect() as connection:
        for form in ("%s", "%b"):
            connection.execute("drop table if exists t")
            cursor = connection.execute(f"create table t as select {form}::int as a, {form}::text as b", (1, "x"))
            assert cursor.statusmessage == "SELECT 1"
            assert connection.execute("select * from t").fetchall() == [(1, "x")]


def test_what_a_statement_defined_another_session_sees(local: LocalMember) -> None:
    with local.connect() as one, local.connect() as two:
        one.execute("create table t (a serial primary key, b text default 'x')")
        assert two.execute("insert into t default values returning *").fetchall() == [(1, "x")]
        one.execute("alter table t rename b to c")
        assert two.execute("select c from t").fetchall() == [("x",)]
        with pytest.raises(psycopg.errors.UndefinedColumn):
            two.execute("select b from t")


def test_a_statement_prepared_before_a_change(local: LocalMember) -> None:
    with local.connect() as one, local.connect() as two:
        one.execute("create table t (a int)")
        one.execute("insert into t values (1)")
        for _ in range(7):
            assert one.execute("select * from t", prepare=True).fetchall() == [(1,)]
        two.execute("alter table t add column b int default 2")
        with pytest.raises(
            psycopg.errors.FeatureNotSupported, match="cached plan must not change result type"
        ) as caught:
            one.execute("select * from t", prepare=True)
        # By this pgjdbc and asyncpg know that they are to prepare again.
        assert caught.value.diag.source_function == "RevalidateCachedQuery"


def test_a_value_of_another_type_is_known_by_the_routine(local: LocalMember) -> None:
    with local.connect() as connection:
        connection.execute("create table t (a date, b int[])")
        for statement in ("insert into t (a) values (1)", "update t set a = 2", "insert into t (b) select 3"):
            with pytest.raises(psycopg.errors.DatatypeMismatch) as caught:
                connection.execute(statement)
            assert caught.value.diag.source_function == "transformAssignedExpr"


def test_a_role_by_the_name_of_a_system_schema_makes_its_tables_in_public(local: LocalMember) -> None:
    for name in ("sluice", "information_schema"):
        with local.connect(user=name) as connection:
            assert connection.execute("select current_schema, current_schemas(false)").fetchone() == (
                "public",
                ["public"],
            )
            connection.execute(f"create table {name}_own (a int)")
            assert connection.execute(f"select a from public.{name}_own").fetchall() == []
            connection.execute("set search_path = sluice")
            assert connection.execute("select current_schema").fetchone() == ("sluice",)


def test_a_promise_of_rows_that_another_transaction_breaks_first(local: LocalMember) -> None:
    with local.connect(autocommit=False) as one, local.connect() as two:
        two.execute("create table t (a int)")
        two.execute("insert into t values (1)")
        one.execute("alter table t alter a set not null")
        two.execute("insert into t values (null)")
        with pytest.raises(psycopg.errors.SerializationFailure):
            one.commit()
        one.rollback()
        with pytest.raises(psycopg.errors.NotNullViolation):
            one.execute("alter table t alter a set not null")


def test_rows_written_anew_and_rows_that_come_meanwhile(local: LocalMember) -> None:
    with local.connect(autocommit=False) as one, local.connect() as two:
        two.execute("create table t (a int)")
        two.execute("insert into t values (1)")
        one.execute("alter table t add column b int default 5")
        two.execute("insert into t values (2)")
        with pytest.raises(psycopg.errors.SerializationFailure):
            one.commit()
        one.rollback()
        one.execute("alter table t add column b int default 5")
        one.commit()
        assert two.execute("select * from t order by a").fetchall() == [(1, 5), (2, 5)]


def test_two_that_create_the_same_name(local: LocalMember) -> None:
    with local.connect(autocommit=False) as one, local.connect(autocommit=False) as two:
        one.execute("create table t (a int)")
        two.execute("create table t (b int)")
        one.commit()
        with pytest.raises(psycopg.errors.SerializationFailure):
            two.commit()


def test_nothing_is_left_of_what_was_rolled_back(local: LocalMember) -> None:
    tables = local.engine.store.tables
    with local.connect(autocommit=False) as connection:
        connection.execute("create table t (a serial, b int)")
        connection.execute("insert into t (b) values (1), (2)")
        connection.execute("alter table t add column c int")
        connection.execute("create materialized view mv as select * from t")
        connection.rollback()
        assert connection.execute(
            "select count(*) from pg_class where relname in ('t', 'mv', 't_a_seq')"
        ).fetchone() == (0,)
    assert list(tables.iterdir()) == []


def test_explain_calls_nothing_that_does_something(local: LocalMember) -> None:
    with local.connect() as connection:
        connection.execute("create sequence s")
        connection.execute("explain select nextval('s')")
        assert connection.execute("select nextval('s')").fetchone() == (1,)
        connection.execute("explain analyze select nextval('s')")
        assert connection.execute("select nextval('s')").fetchone() == (3,)


def test_tables_outlive_the_member(tmp_path: Path) -> None:
    with local_member(tmp_path) as running, running.connect() as connection:
        connection.execute("create table t (a int generated always as identity, b int check (b > 0), c int)")
        connection.execute("insert into t (b) values (1)")
        connection.execute("alter table t rename b to d")
        connection.execute("alter table t drop column c")
        connection.execute("create view v as select * from t")
        connection.execute("create materialized view mv as select d from v")
        connection.execute("comment on column t.d is 'renamed'")
    with local_member(tmp_path) as running, running.connect() as connection:
        assert connection.execute("insert into t (d) values (2) returning *").fetchall() == [(2, 2)]
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute("insert into t (d) values (0)")
        connection.execute("alter table t add column c int default 9")
        connection.execute("refresh materialized view mv")
        assert connection.execute("select * from v order by a").fetchall() == [(1, 1), (2, 2)]
        assert connection.execute("select * from mv order by d").fetchall() == [(1,), (2,)]
        assert connection.execute("select col_description('t'::regclass, 2)").fetchone() == ("renamed",)


def test_a_view_that_saw_fewer_columns_reads_the_same_table(local: LocalMember) -> None:
    """A plan reads the table with all of its columns, whoever asks: engines keep it by its version."""
    with local.connect() as connection:
        connection.execute("create table t (a int, b int)")
        connection.execute("insert into t values (1, 2)")
        connection.execute("create view v as select * from t")
        connection.execute("alter table t rename a to x")
        connection.execute("alter table t add column c int default 3")
        for _ in range(3):
            assert connection.execute("select * from v").fetchall() == [(1, 2)]
            assert connection.execute("select * from t").fetchall() == [(1, 2, 3)]
            assert connection.execute("select v.a, t.c from v join t on v.a = t.x").fetchall() == [(1, 3)]

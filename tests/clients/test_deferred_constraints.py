"""Constraints that are checked at the commit while others commit; LOCK TABLE; and what a failed commit leaves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from psycopg import errors
from support.local_member import LocalMember, local_member


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("deferred")) as member:
        yield member


@pytest.fixture
def shared(running: LocalMember) -> Iterator[LocalMember]:
    yield running
    with running.connect() as session:
        session.execute("drop table if exists t, told, c, p")


def test_of_two_that_insert_one_key_the_second_fails(shared: LocalMember) -> None:
    with shared.connect(autocommit=False) as one, shared.connect() as other:
        other.execute("create table t (a int unique deferrable initially deferred)")
        one.execute("insert into t values (1)")
        other.execute("insert into t values (1)")
        with pytest.raises((errors.UniqueViolation, errors.SerializationFailure)):
            one.commit()
        assert other.execute("select a from t").fetchall() == [(1,)]


def test_a_row_that_names_a_key_which_another_takes_away(shared: LocalMember) -> None:
    with shared.connect(autocommit=False) as one, shared.connect() as other:
        other.execute("create table p (id int primary key)")
        other.execute("create table c (p int references p deferrable initially deferred)")
        other.execute("insert into p values (1)")
        one.execute("insert into c values (1)")
        other.execute("delete from p")
        with pytest.raises((errors.ForeignKeyViolation, errors.SerializationFailure)):
            one.commit()
        assert other.execute("select p from c").fetchall() == []


def test_a_commit_that_fails_leaves_temporary_tables_as_they_were(shared: LocalMember) -> None:
    with shared.connect() as session:
        session.execute("create temporary table kept as select 1 as a")
        session.execute("create table t (a int unique deferrable initially deferred)")
        with pytest.raises(errors.UniqueViolation):
            session.execute("begin; insert into kept values (2); insert into t values (1), (1); commit")
        assert session.execute("select * from kept").fetchall() == [(1,)]
        assert session.execute("select * from t").fetchall() == []
        with pytest.raises(errors.UniqueViolation):
            session.execute("insert into t values (2), (2)")


@pytest.mark.parametrize(("mode", "fails"), [("row exclusive", False), ("share", True), ("access exclusive", True)])
def test_a_locked_table_is_as_it_was_at_the_commit(shared: LocalMember, mode: str, *, fails: bool) -> None:
    with shared.connect(autocommit=False) as one, shared.connect() as other:
        other.execute("create table t (a int)")
        other.execute("create table told (a bigint)")
        other.execute("insert into t values (1)")
        one.execute(f"lock table t in {mode} mode".encode())
        one.execute("insert into told select count(*) from t")
        other.execute("insert into t values (2)")
        if fails:
            with pytest.raises(errors.SerializationFailure):
                one.commit()
        else:
            one.commit()
        assert other.execute("select a from told").fetchall() == ([] if fails else [(1,)])


def test_who_may_change_rows_may_lock_them(shared: LocalMember) -> None:
    with shared.connect() as session:
        session.execute("create table t (a int)")
        session.execute("create role reader")
        session.execute("grant select on t to reader")
        session.execute("set role reader")
        session.execute("begin; lock table t in access share mode; rollback")
        with pytest.raises(errors.InsufficientPrivilege, match="permission denied for table t"):
            session.execute("begin; lock table t in share mode; commit")
        session.execute("rollback; reset role; grant delete on t to reader; set role reader")
        session.execute("begin; lock table t; rollback")
        session.execute("reset role; drop table t; drop role reader")


def test_checkpoint_is_a_superusers(shared: LocalMember) -> None:
    with shared.connect() as session:
        session.execute("checkpoint")
        session.execute("create role plain")
        session.execute("set role plain")
        with pytest.raises(errors.InsufficientPrivilege):
            session.execute("checkpoint")

"""SELECT ... FOR UPDATE as clients use it: read, decide, write; and job queues."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from support.local_member import LocalMember, local_member

_WORKERS = 4
_JOBS = 12


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        yield running


def test_a_decision_holds_only_while_the_rows_it_was_made_from_do(shared: LocalMember) -> None:
    with shared.connect(autocommit=False) as one, shared.connect() as other:
        other.execute("create table accounts (id int primary key, balance int)")
        other.execute("create table transfers (amount int)")
        other.execute("insert into accounts values (1, 100)")
        assert one.execute("select balance from accounts where id = 1 for update").fetchall() == [(100,)]
        one.execute("insert into transfers values (100)")
        other.execute("update accounts set balance = 0 where id = 1")
        with pytest.raises(errors.SerializationFailure):
            one.commit()
        one.rollback()
        assert one.execute("select count(*) from transfers").fetchall() == [(0,)]
        one.execute("select balance from accounts for share")
        other.execute("insert into accounts values (2, 5)")
        one.execute("insert into transfers values (1)")
        one.commit()
        assert other.execute("select amount from transfers").fetchall() == [(1,)]


def test_a_query_that_is_a_transaction_of_its_own_depends_on_nothing(shared: LocalMember) -> None:
    with shared.connect() as one, shared.connect() as other:
        other.execute("create table t (n int)")
        other.execute("insert into t select generate_series(1, 3)")
        with one.cursor() as cursor:
            rows = cursor.stream("select n from t order by n for update")
            assert next(rows) == (1,)
            other.execute("delete from t")
            assert list(rows) == [(2,), (3,)]


def test_jobs_are_taken_once(shared: LocalMember) -> None:
    take = """update jobs set taken_by = %s where id = (select id from jobs where taken_by is null order by id limit 1
        for update skip locked) returning id"""

    def work(number: int) -> list[int]:
        done = []
        with shared.connect() as connection:
            while row := connection.execute(take, (number,)).fetchone():
                done.append(row[0])
        return done

    with shared.connect() as connection:
        connection.execute("create table jobs (id int primary key, taken_by int)")
        connection.execute("insert into jobs (id) select generate_series(1, %s)", (_JOBS,))
        with ThreadPoolExecutor(_WORKERS) as pool:
            taken = sorted(job for jobs in pool.map(work, range(_WORKERS)) for job in jobs)
    assert taken == list(range(1, _JOBS + 1))


def test_what_reads_only_asks_for_nothing(shared: LocalMember) -> None:
    with shared.connect() as connection:
        connection.execute("create table t (n int)")
        connection.execute("begin read only")
        with pytest.raises(errors.ReadOnlySqlTransaction, match="SELECT FOR NO KEY UPDATE"):
            connection.execute("select * from t for no key update")
        connection.execute("rollback")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="FOR UPDATE is not allowed with DISTINCT clause"):
            connection.execute("select distinct n from t for update")

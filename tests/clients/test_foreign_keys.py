"""Foreign keys between sessions: a key is not deleted while another transaction references it, whichever commits first."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from support.local_member import LocalMember, local_member

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running, running.connect() as connection:
        connection.execute("create table p (id int primary key, note text)")
        connection.execute("create table c (id int, pid int references p)")
        connection.execute("insert into p values (1), (2)")
        yield running


@pytest.fixture
def one(shared: LocalMember) -> Iterator[Connection]:
    with shared.connect() as connection:
        yield connection


@pytest.fixture
def two(shared: LocalMember) -> Iterator[Connection]:
    with shared.connect() as connection:
        yield connection


def orphans(connection: Connection) -> list[tuple[Any, ...]]:
    sql = "select pid from c where pid is not null and not exists (select from p where p.id = c.pid)"
    return connection.execute(sql).fetchall()


def test_a_row_names_a_key_that_goes_meanwhile(one: Connection, two: Connection) -> None:
    one.execute("begin")
    one.execute("insert into c values (1, 1)")
    two.execute("delete from p where id = 1")
    with pytest.raises(errors.SerializationFailure):
        one.execute("commit")
    assert orphans(two) == []
    with pytest.raises(errors.ForeignKeyViolation):
        one.execute("insert into c values (1, 1)")


def test_a_key_goes_that_a_row_names_meanwhile(one: Connection, two: Connection) -> None:
    one.execute("begin")
    one.execute("delete from p where id = 1")
    two.execute("insert into c values (1, 1)")
    with pytest.raises(errors.SerializationFailure):
        one.execute("commit")
    assert orphans(two) == []
    with pytest.raises(errors.ForeignKeyViolation):
        one.execute("delete from p where id = 1")


def test_keys_that_come_are_in_nobodys_way(one: Connection, two: Connection) -> None:
    one.execute("begin")
    one.execute("insert into c values (1, 1)")
    two.execute("insert into p values (3)")
    two.execute("insert into c values (2, 3)")
    one.execute("commit")
    assert one.execute("select id, pid from c order by id").fetchall() == [(1, 1), (2, 3)]


def test_a_statement_of_its_own_is_judged_again(shared: LocalMember) -> None:
    """Autocommit: whoever comes second is told of the key, not of a conflict."""

    def insert(number: int) -> None:
        with shared.connect() as connection:
            for step in range(5):
                connection.execute("insert into c values (%s, %s)", (number * 10 + step, 2))

    def change(number: int) -> None:
        with shared.connect() as connection:
            for step in range(5):
                connection.execute("update p set note = %s where id = 2", (f"{number} {step}",))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda work: work[0](work[1]), [(insert, 1), (insert, 2), (change, 3), (change, 4)]))
    with shared.connect() as connection:
        assert connection.execute("select count(*) from c where pid = 2").fetchone() == (10,)


def test_a_failure_takes_its_cascades_back(one: Connection) -> None:
    one.execute("create table d (pid int references p on delete cascade)")
    one.execute("insert into d values (1), (2)")
    one.execute("insert into c values (1, 2)")
    with pytest.raises(errors.ForeignKeyViolation):
        one.execute("delete from p")
    assert one.execute("select pid from d order by pid").fetchall() == [(1,), (2,)]
    assert one.execute("delete from p where id = 1").rowcount == 1
    assert one.execute("select pid from d").fetchall() == [(2,)]


def test_copy_names_only_keys_that_are_there(one: Connection) -> None:
    with pytest.raises(errors.ForeignKeyViolation, match="c_pid_fkey"), one.cursor().copy("copy c from stdin") as copy:
        copy.write("1\t1\n2\t9\n")
    with one.cursor().copy("copy c from stdin") as copy:
        copy.write("1\t1\n2\t\\N\n")
    assert one.execute("select count(*) from c").fetchone() == (2,)

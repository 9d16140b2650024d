"""SERIALIZABLE transactions have the effect of some serial order, and those that need not fail do not."""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import psycopg
import pytest
from psycopg import IsolationLevel, errors
from support.local_member import LocalMember, local_member

_TABLES = ("r", "s")
_STATEMENTS = (
    "select sum(n) from {0}",
    "select count(*) from {0}",
    "select sum(n) from {0} where n > (select min(n) from {1})",
    "insert into {0} select coalesce(sum(n), 0) + 1 from {1}",
    "insert into {0} values (7)",
    "update {0} set n = n + (select count(*) from {1}) where n > 2",
    "delete from {0} where n = (select min(n) from {1})",
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("member")) as running:
        yield running


@pytest.fixture
def one(shared: LocalMember) -> Iterator[psycopg.Connection]:
    with _session(shared) as connection:
        for table in (*_TABLES, "doctors"):
            connection.execute(f"drop table if exists {table}")
        for table in _TABLES:
            connection.execute(f"create table {table} (n int)")
            connection.execute(f"insert into {table} values (1), (2), (3)")
        connection.commit()
        yield connection


@pytest.fixture
def other(shared: LocalMember) -> Iterator[psycopg.Connection]:
    with _session(shared) as connection:
        yield connection


def _session(shared: LocalMember) -> psycopg.Connection:
    connection = shared.connect(autocommit=False)
    connection.isolation_level = IsolationLevel.SERIALIZABLE
    return connection


def test_write_skew_is_detected(one: psycopg.Connection, other: psycopg.Connection) -> None:
    one.execute("create table doctors (name text, on_call bool)")
    one.execute("insert into doctors values ('ann', true), ('bob', true)")
    one.commit()
    leave = "update doctors set on_call = false where name = %s and (select count(*) from doctors where on_call) > 1"
    one.execute(leave, ("ann",))
    other.execute(leave, ("bob",))
    one.commit()
    with pytest.raises(errors.SerializationFailure):
        other.commit()
    assert one.execute("select name from doctors where on_call").fetchall() == [("bob",)]


def test_rows_that_others_add_were_not_counted(one: psycopg.Connection, other: psycopg.Connection) -> None:
    for connection in (one, other):
        connection.execute("insert into r select sum(n) from r")
    one.commit()
    with pytest.raises(errors.SerializationFailure):
        other.commit()


@pytest.mark.parametrize(
    "reads",
    [
        "declare c cursor for select n from r",
        "copy (select n from r) to stdout",
        "explain analyze select n from r",
        "prepare p as select sum(n) from r; execute p",
        "create table made as select n from r",
        "create materialized view made as select n from r",
        "merge into s using r on s.n = r.n when matched then delete",
        "with moved as (insert into s select n from r returning n) select * from moved",
        "select n from v",
        "select (select max(n) from r)",
        "delete from r where false",
    ],
)
def test_whatever_reads_counts(one: psycopg.Connection, other: psycopg.Connection, reads: str) -> None:
    one.execute("drop materialized view if exists made")
    one.execute("create or replace view v as select n from r")
    one.commit()
    if reads.startswith("copy"):
        with one.cursor().copy(reads) as copy:
            assert len(list(copy)) == 3
    else:
        one.execute(reads)
    one.execute("insert into s values (4)")
    other.execute("insert into r values (10)")
    other.commit()
    with pytest.raises(errors.SerializationFailure):
        one.commit()
    one.execute("drop view v")
    one.commit()


def test_a_read_is_not_forgotten_with_its_savepoint(one: psycopg.Connection, other: psycopg.Connection) -> None:
    one.execute("insert into s values (0)")
    with one.transaction(force_rollback=True):
        (total,) = one.execute("select sum(n) from r").fetchone() or (0,)
    one.execute("insert into s values (%s)", (total,))
    other.execute("insert into r values (10)")
    other.commit()
    with pytest.raises(errors.SerializationFailure):
        one.commit()


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("select sum(n) from r", "insert into r values (1)"),
        ("insert into r values (1)", "insert into r values (2)"),
        ("insert into r select sum(n) from s", "insert into r values (2)"),
        ("create temp table kept as select n from r", "delete from r"),
        ("insert into r select n from s", "select count(*) from r"),
    ],
)
def test_who_could_have_been_first_does_not_fail(
    one: psycopg.Connection, other: psycopg.Connection, mine: str, theirs: str
) -> None:
    one.execute(mine)
    other.execute(theirs)
    other.commit()
    one.commit()


def test_repeatable_read_depends_on_nothing_that_it_reads(one: psycopg.Connection, other: psycopg.Connection) -> None:
    one.isolation_level = IsolationLevel.REPEATABLE_READ
    one.execute("insert into s select sum(n) from r")
    other.execute("insert into r values (10)")
    other.commit()
    one.commit()


def test_a_statement_of_its_own_runs_again(shared: LocalMember, one: psycopg.Connection) -> None:
    with shared.connect() as alone:
        alone.execute("set default_transaction_isolation = 'serializable'")
        with alone.pipeline():
            for _ in range(3):
                alone.execute("insert into r select sum(n) from r")
        assert alone.execute("select sum(n) from r").fetchall() == [(48,)]


@dataclass
class _Transaction:
    """A transaction of a random history: its statements and their answers. committed: whether its commit succeeded."""

    connection: psycopg.Connection
    statements: Sequence[str]
    answers: list[list[tuple[object, ...]]] = field(default_factory=list)
    committed: bool = False

    def step(self) -> None:
        statement = self.statements[len(self.answers)]
        cursor = self.connection.execute(statement)
        self.answers.append(cursor.fetchall() if cursor.description else [])

    def end(self) -> None:
        try:
            self.connection.commit()
        except errors.SerializationFailure:
            self.connection.rollback()
        else:
            self.committed = True


@pytest.mark.parametrize("seed", range(12))
def test_committed_transactions_have_a_serial_order(
    shared: LocalMember, one: psycopg.Connection, other: psycopg.Connection, seed: int
) -> None:
    chance = random.Random(seed)
    with _session(shared) as third:
        history = [
            _Transaction(connection, [_statement(chance) for _ in range(chance.randint(1, 3))])
            for connection in (one, other, third)
        ]
        turns = [transaction for transaction in history for _ in range(len(transaction.statements) + 1)]
        chance.shuffle(turns)
        for transaction in turns:
            if len(transaction.answers) < len(transaction.statements):
                transaction.step()
            else:
                transaction.end()
    committed = [transaction for transaction in history if transaction.committed]
    assert committed, "the first to commit has nobody to conflict with"
    state = {table: sorted(one.execute(f"select n from {table}").fetchall()) for table in _TABLES}
    orders = itertools.permutations(committed)
    assert any(_is_explained(order, state) for order in orders), [t.statements for t in history]


def _statement(chance: random.Random) -> str:
    return chance.choice(_STATEMENTS).format(*chance.sample(_TABLES, 2))


def _is_explained(order: Sequence[_Transaction], state: dict[str, list[tuple[object, ...]]]) -> bool:
    """Return whether the transactions, run one after the other by SQLite, give the same answers and the same tables."""
    with sqlite3.connect(":memory:") as serial:
        for table in _TABLES:
            serial.execute(f"create table {table} (n int)")
            serial.executemany(f"insert into {table} values (?)", [(1,), (2,), (3,)])
        for transaction in order:
            for statement, answer in zip(transaction.statements, transaction.answers, strict=True):
                if serial.execute(statement).fetchall() != answer:
                    return False
        return all(sorted(serial.execute(f"select n from {t}").fetchall()) == state[t] for t in _TABLES)

"""Aggregates that a stored table's log answers equal those computed from its rows: after each random change the same
aggregates run twice, once so that the log may answer and once behind a condition that every row passes and that
statistics cannot decide.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member

_ASKED = (
    "count(*), count(1), count(i), min(i), max(i), count(l), min(l), max(l), min(s), max(s), min(d)::text, max(d)::text"
)
_SCANNED = "(k + 1 > 0) is true"
_VALUES: dict[str, list[str]] = {
    "i": ["null", "-2147483648", "2147483647", "0", "17"],
    "l": ["null", "-9223372036854775808", "9223372036854775807", "9007199254740993", "-9007199254740993", "5"],
    "s": ["null", "-32768", "32767", "1"],
    "d": ["null", "'1970-01-01'", "'0001-01-01'", "'9999-12-31'", "'1969-12-31'", "'2024-02-29'"],
    "x": ["null", "'a'", "'" + "z" * 40 + "'"],
}
#: Dates that the log cannot say.
_ODD_DATES = ["'infinity'", "'-infinity'", "'0044-03-15 BC'"]


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("log_answers"), compact_after=4) as member:
        yield member


class Table:
    """A table of random rows, and statements that change it."""

    def __init__(
        self, connection: psycopg.Connection[Any], name: str, chance: random.Random, partitioned: bool
    ) -> None:
        self._connection = connection
        self._name = name
        self._chance = chance
        self._key = 0
        how = " partition by list (s)" if partitioned else ""
        self.run(f"create table {name} (k int, i int4, l int8, s int2, d date, x text){how}")

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def change(self) -> None:
        kinds = (self._insert, self._insert, self._insert, self._update, self._delete, self._rewrite, self._empty)
        self._chance.choices(kinds, (5, 5, 5, 4, 3, 1, 0.3))[0]()

    def _insert(self) -> None:
        rows = ", ".join(self._row() for _ in range(self._chance.randint(1, 4)))
        self.run(f"insert into {self._name} values {rows}")

    def _row(self) -> str:
        self._key += 1
        values = dict(_VALUES)
        if self._chance.random() < 0.03:
            values["d"] = _ODD_DATES
        return f"({self._key}, " + ", ".join(self._chance.choice(texts) for texts in values.values()) + ")"

    def _update(self) -> None:
        column = self._chance.choice(list(_VALUES))
        value = self._chance.choice(_VALUES[column])
        self.run(f"update {self._name} set {column} = {value} where k % 5 = {self._chance.randrange(5)}")

    def _delete(self) -> None:
        self.run(f"delete from {self._name} where k % 7 = {self._chance.randrange(7)}")

    def _rewrite(self) -> None:
        if self._connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self.run(
                self._chance.choice([f"vacuum full {self._name}", f"vacuum {self._name}", f"analyze {self._name}"])
            )

    def _empty(self) -> None:
        self.run(f"truncate {self._name}")

    def require_same(self) -> None:
        """Also for a cursor, a subquery and each earlier version."""
        told = self.run(f"select {_ASKED} from {self._name}")
        assert told == self.run(f"select {_ASKED} from {self._name} where {_SCANNED}")
        inner = self.run(
            f"select (select max(l) from {self._name}), c from (select count(*) + 1 as c from {self._name}) q"
        )
        assert inner == [(told[0][7], told[0][0] + 1)]

    def require_same_versions(self) -> None:
        (newest,) = self.run(f"select version from sluice.tables where name = '{self._name}'")[0]
        for version in range(max(0, newest - 3), newest + 1):
            at = f"{self._name} for version as of {version}"
            assert self.run(f"select {_ASKED} from {at}") == self.run(f"select {_ASKED} from {at} where {_SCANNED}")


@pytest.mark.table
@pytest.mark.parametrize("seed", range(4))
def test_the_log_answers_what_the_rows_say(member: LocalMember, seed: int) -> None:
    chance = random.Random(seed)
    with member.connect() as connection, member.connect() as other:
        table = Table(connection, f"t{seed}", chance, partitioned=seed == 3)
        table.require_same()
        for _ in range(14):
            if chance.random() < 0.4:
                _transaction(table, chance)
            else:
                table.change()
            table.require_same()
            counted = other.execute(f"select count(*) from t{seed}".encode()).fetchone()
            assert counted == table.run(f"select count(*) from t{seed} where {_SCANNED}")[0]
            if chance.random() < 0.4:
                member.engine.store.publish()
                table.require_same()
        table.require_same_versions()


def _transaction(table: Table, chance: random.Random) -> None:
    """Some changes, of which some are taken back."""
    table.run("begin" if chance.random() < 0.5 else "begin isolation level repeatable read")
    for _ in range(chance.randint(1, 3)):
        table.change()
        table.require_same()
    if chance.random() < 0.5:
        table.run("savepoint s")
        table.change()
        table.require_same()
        table.run("rollback to s")
        table.require_same()
    table.run(chance.choice(["commit", "commit", "rollback"]))


def _plan(connection: psycopg.Connection[Any], select: str) -> str:
    return "\n".join(line for (line,) in connection.execute(f"explain (costs off) {select}".encode()))


def test_which_queries_the_log_answers(member: LocalMember) -> None:
    with member.connect() as connection:
        connection.execute("create table asked (k int, x text, f float8, n numeric(10, 2), m timestamp)")
        connection.execute(
            "insert into asked values (1, 'a', 'NaN', 1.5, '2000-01-01 00:00:00.000001'), (null, null, 1, 2, null)"
        )
        for aggregates in ("count(*)", "min(k), max(k), count(k), count(*)", "count(*) + 1", "count('x')"):
            assert "TABLE READER" not in _plan(connection, f"select {aggregates} from asked"), aggregates
        assert connection.execute("select min(k), max(k), count(k), count(*) from asked").fetchone() == (1, 1, 1, 2)
        for aggregates in (
            "min(x)", "max(f)", "min(n)", "max(m)", "count(distinct k)", "count(*) filter (where k = 1)", "sum(k)", "min(k + 1)",
            "count(null)",
        ):  # fmt: skip
            assert "TABLE READER" in _plan(connection, f"select {aggregates} from asked"), aggregates
        for rest in ("where k = 1", "group by k", "having count(*) > 0"):
            assert "TABLE READER" in _plan(connection, f"select count(*) from asked {rest}"), rest


def test_a_column_that_came_later(member: LocalMember) -> None:
    with member.connect() as connection:
        connection.execute("create table less (k int)")
        connection.execute("insert into less values (1), (2)")
        connection.execute("alter table less add column later int")
        connection.execute("insert into less values (3, 4)")
        told = connection.execute("select count(*), min(k), max(later), count(later) from less").fetchone()
        assert told == (3, 1, 4, 1)

"""Histories of concurrent transactions over three members, checked by `histories`: the anomalies that the isolation
levels forbid do not occur, also when members are killed in the middle.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql
from support.fault_ground import Ground, mesh_address
from support.histories import Append, Key, Level, Read, Transaction, anomalies
from support.member_process import MemberProcess, wait_until

TABLES = ("here", "there")
KEYS = range(3)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(tmp_path, stack)


def create(member: MemberProcess) -> None:
    """The lists, each in a file of its own: transactions over different ones seldom meet."""
    with member.connect() as connection:
        for table in TABLES:
            connection.execute(f"drop table if exists {table}")
            connection.execute(f"create table {table} (k int primary key, v int[] not null)")
            for key in KEYS:
                connection.execute(f"insert into {table} values ({key}, '{{}}')")


def final(member: MemberProcess) -> dict[Key, list[int]]:
    with member.connect() as connection:
        return {
            (table, k): v for table in TABLES for k, v in connection.execute(f"select k, v from {table}").fetchall()
        }


class Clients:
    """Sessions that append and read until `stop`. Each goes to the members in turn, from the next one on where one is gone."""

    def __init__(self, members: Sequence[MemberProcess], sessions: int, level: Level) -> None:
        self.history: list[Transaction] = []
        self._members, self._level = list(members), level
        self._values, self._stop = itertools.count(1), threading.Event()
        self._failed: list[BaseException] = []
        self._threads = [threading.Thread(target=self._session, args=(i,)) for i in range(sessions)]
        for thread in self._threads:
            thread.start()

    def replace(self, number: int, member: MemberProcess) -> None:
        self._members[number] = member

    def acknowledged(self) -> int:
        return sum(one.end == "ok" for one in self.history)

    def wait(self, more: int) -> None:
        """Until so many more transactions have been acknowledged."""
        goal = self.acknowledged() + more
        wait_until(lambda: self.acknowledged() >= goal or self._failed, seconds=120)

    def stop(self) -> list[Transaction]:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert self._failed == []
        return self.history

    def _session(self, number: int) -> None:
        chance = random.Random(number)
        try:
            for turn in itertools.count(number):
                if self._stop.is_set():
                    return
                with (
                    contextlib.suppress(psycopg.OperationalError),
                    self._members[turn % len(self._members)].connect() as connection,
                ):
                    while not self._stop.is_set():
                        self._transaction(connection, chance)
        except BaseException as error:  # noqa: BLE001
            self._failed.append(error)

    def _transaction(self, connection: psycopg.Connection[Any], chance: random.Random) -> None:
        """Raises OperationalError where the connection is gone."""
        one, committing = Transaction("failed"), False
        try:
            connection.execute(f"begin isolation level {self._level}")
            for _ in range(chance.randint(1, 4)):
                self._step(connection, chance, one)
            committing = True
            connection.execute("commit")
            one.end = "ok"
        except (errors.SerializationFailure, errors.TransactionRollback):
            connection.rollback()
        except errors.StatementCompletionUnknown:
            one.end = "unknown"
            connection.rollback()
        except psycopg.OperationalError:
            one.end = "unknown" if committing else "failed"
            raise
        finally:
            self.history.append(one)

    def _step(self, connection: psycopg.Connection[Any], chance: random.Random, one: Transaction) -> None:
        table, key = chance.choice(TABLES), chance.choice(KEYS)
        of = sql.Identifier(table)
        if chance.random() < 0.5:
            value = next(self._values)
            append = sql.SQL("update {} set v = v || %s::int4 where k = %s").format(of)
            # Known before it is said: it may take place unseen.
            one.done.append(Append((table, key), value))
            connection.execute(append, (value, key))
        else:
            row = connection.execute(sql.SQL("select v from {} where k = %s").format(of), (key,)).fetchone()
            assert row is not None
            one.done.append(Read((table, key), tuple(row[0])))


@pytest.mark.long
def test_three_members(ground: Ground) -> None:
    members = ground.three()
    levels: tuple[Level, ...] = ("read committed", "repeatable read", "serializable")
    for level in levels:
        create(members[0])
        clients = Clients(members, 5, level)
        clients.wait(40)
        history = clients.stop()
        assert anomalies(history, level, final(members[2])) == []
        assert sum(len(list(one.reads())) for one in history if one.end == "ok") > 10


@pytest.mark.long
@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_members_that_are_killed(ground: Ground, level: Level) -> None:
    members = list(ground.three())
    create(members[0])
    clients = Clients(members, 6, level)
    chance = random.Random(3)
    for number in (1, 2, 1, 2):
        clients.wait(chance.randint(10, 40))
        members[number].kill()
        clients.wait(10)
        members[number] = ground.start(f"m{number + 1}", mesh_address(members[0]))
        clients.replace(number, members[number])
    clients.wait(30)
    history = clients.stop()
    assert anomalies(history, level, final(members[0])) == []
    assert final(members[1]) == final(members[0])

"""No statement changes the disk on the event loop, where a slow disk would keep all clients waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.local_member import LocalMember, local_member
from support.member_process import wait_until

from engine.storage.disk import Disk, replace_disk


class _WatchedDisk(Disk):
    """The disk, which records the operations that begin on a thread whose event loop runs."""

    def __init__(self) -> None:
        self.on_loop: list[str] = []
        self.operations = 0

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("_") and callable(found):
            self.operations += 1
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                pass
            else:
                self.on_loop.append(name)
        return found


@pytest.fixture
def disk() -> Iterator[_WatchedDisk]:
    watched = _WatchedDisk()
    with replace_disk(watched):
        yield watched


@pytest.fixture
def running_member(tmp_path: Path, disk: _WatchedDisk) -> Iterator[LocalMember]:
    with local_member(tmp_path) as running:
        disk.on_loop.clear()
        yield running


_TRANSACTIONS = {
    "rolled back": "begin; create table a (n int); insert into a select * from generate_series(1, 9); rollback",
    "rolled back to a savepoint": (
        "begin; create table a (n int); savepoint s; insert into a values (1); select * from a; create table b (n int);"
        " rollback to s; commit; drop table a"
    ),
    "temporary tables": "create temp table t (n int); insert into t values (1); discard temp",
    "temporary tables at commit": (
        "begin; create temp table t (n int) on commit drop; create temp table u (n int) on commit delete rows;"
        " insert into t values (1); insert into u values (1); commit; drop table u"
    ),
    "definitions": (
        "create table a as select 1 as n; alter table a add column m int; alter table a rename to b; truncate b;"
        " drop table b"
    ),
    "changes": (
        "create table a (n int primary key); insert into a values (1), (2); update a set n = 3 where n = 1;"
        " delete from a where n = 2; select * from a; drop table a"
    ),
}


@pytest.mark.parametrize("statements", _TRANSACTIONS.values(), ids=_TRANSACTIONS)
def test_a_transaction_changes_the_disk_on_threads(
    running_member: LocalMember, disk: _WatchedDisk, statements: str
) -> None:
    before = disk.operations
    with running_member.connect() as connection:
        for statement in statements.split(";"):
            connection.execute(statement)
    assert disk.operations > before
    assert disk.on_loop == []


def test_a_statement_that_fails_changes_the_disk_on_threads(running_member: LocalMember, disk: _WatchedDisk) -> None:
    with running_member.connect() as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("create table a as select 1 / (n - 5) as x from generate_series(1, 9) n")
        connection.execute("begin")
        connection.execute("create table a (n int)")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("select * from nowhere")
        connection.execute("rollback")
    assert disk.on_loop == []


def test_a_session_that_ends_changes_the_disk_on_threads(running_member: LocalMember, disk: _WatchedDisk) -> None:
    """The open transaction is rolled back, and temporary tables are dropped."""
    tables = Path(running_member.engine.config.data) / "tables"
    with running_member.connect() as connection:
        connection.execute("create temp table t (n int)")
        connection.execute("insert into t values (1)")
        connection.execute("begin")
        connection.execute("create table a (n int)")
        assert len(list(tables.iterdir())) == 2
        connection.close()
    wait_until(lambda: not list(tables.iterdir()))
    assert disk.on_loop == []

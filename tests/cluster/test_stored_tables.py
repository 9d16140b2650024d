"""Stored tables on several members: written on one, read on all, and the state that a killed member leaves to the
others.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from deltalake import DeltaTable
from support.fault_ground import Ground, connect, participants
from support.member_process import MemberProcess, wait_until

from engine.catalog.model.objects import Table
from engine.catalog.store.store import CatalogStore
from engine.lakes.foreign_files import refresh


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(tmp_path, stack)


def numbers(connection: psycopg.Connection[Any], table: str) -> list[int]:
    return [row[0] for row in connection.execute(f"select n from {table} order by n")]


def write(member: MemberProcess, first: int, acknowledged: list[int]) -> None:
    """Numbers into two tables, each into both in one transaction, until the member is gone."""
    with contextlib.suppress(psycopg.OperationalError), member.connect() as connection:
        for number in itertools.count(first):
            with connection.transaction():
                connection.execute("insert into a values (%s)", (number,))
                connection.execute("insert into b values (%s)", (number,))
            acknowledged.append(number)


def stored(folder: Path) -> list[Table]:
    with closing(CatalogStore(folder / "catalog.sqlite")) as store:
        return [refresh(table) for table in store.snapshot.tables() if table.storage is not None]


def is_published(table: Table) -> bool:
    assert table.storage is not None
    return not table.storage.added and sorted(DeltaTable(table.path).file_uris()) == list(table.files)


def test_members_write_and_read_the_same_tables_and_one_is_killed(ground: Ground, tmp_path: Path) -> None:
    m1, m2, m3 = ground.three()
    with connect(m1) as one, connect(m2) as two:
        one.execute("create table a (n int)")
        two.execute("create table b (n int)")
        for number in range(6):
            (one, two)[number % 2].execute("insert into a values (%s)", (number,))
            assert numbers((two, one)[number % 2], "a") == list(range(number + 1))
        one.execute("insert into b select n from a")
        assert participants(two) == {"m1", "m2", "m3"}
        assert two.execute("select count(*), sum(a.n + b.n) from a join b using (n)").fetchone() == (6, 30)
    acknowledged: list[int] = []
    writers = [threading.Thread(target=write, args=(m, 1000 * i, acknowledged)) for i, m in enumerate((m1, m3), 1)]
    for writer in writers:
        writer.start()
    wait_until(lambda: len(acknowledged) > 20)
    m1.kill()
    before = len(acknowledged)
    wait_until(lambda: len(acknowledged) > before + 10)
    m3.kill()
    for writer in writers:
        writer.join()
    with m2.connect() as two:
        found = numbers(two, "a")
        assert found == numbers(two, "b")
        assert set(acknowledged) <= set(found)
        assert len(found) <= 6 + len(acknowledged) + 2
        two.execute("delete from a where n < 6")
        assert numbers(two, "a") == found[6:]
        wait_until(lambda: all(is_published(table) for table in stored(tmp_path)))
        assert {table.name: len(table.files) > 10 for table in stored(tmp_path)} == {"a": True, "b": True}

"""The progress of VACUUM and ANALYZE, as another session sees it in PostgreSQL's views."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from support.local_member import LocalMember, local_member
from support.member_process import wait_until


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMember]:
    with local_member(tmp_path_factory.mktemp("progress")) as member:
        with member.connect() as connection:
            connection.execute("create table t as select n from generate_series(1, 20000) n")
            connection.execute("create role ann login")
        yield member


class _Repeated:
    """Runs a statement again and again in a session of its own, until the block ends."""

    def __init__(self, sluice: LocalMember, statement: str) -> None:
        self._connection = sluice.connect()
        self.pid = self._connection.info.backend_pid
        self._statement = sql.SQL(statement)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._over.is_set():
            self._connection.execute(self._statement)

    def __enter__(self) -> _Repeated:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._connection.close()


def _first(watcher: psycopg.Connection[Any], query: str) -> tuple[Any, ...]:
    found: list[tuple[Any, ...]] = []

    def is_seen() -> bool:
        found[:] = watcher.execute(sql.SQL(query)).fetchall()
        return bool(found)

    wait_until(is_seen, seconds=100)
    return found[0]


_OF = "pid, datname, relid = 't'::regclass"


def test_analyze(sluice: LocalMember) -> None:
    query = f"select {_OF}, sample_blks_total > 0 from pg_stat_progress_analyze where phase = 'acquiring sample rows'"
    with sluice.connect() as watcher, _Repeated(sluice, "analyze t") as running:
        assert _first(watcher, query) == (running.pid, "sluice", True, True)


def test_vacuum(sluice: LocalMember) -> None:
    query = f"select {_OF}, phase, heap_blks_total > 0 from pg_stat_progress_vacuum"
    with sluice.connect() as watcher, _Repeated(sluice, "vacuum t") as running:
        assert _first(watcher, query) == (running.pid, "sluice", True, "vacuuming heap", True)


def test_vacuum_full_is_a_cluster(sluice: LocalMember) -> None:
    query = f"select {_OF}, command, phase from pg_stat_progress_cluster"
    with sluice.connect() as watcher, _Repeated(sluice, "vacuum full t") as running:
        assert _first(watcher, query) == (running.pid, "sluice", True, "VACUUM FULL", "writing new heap")


def test_somebody_else_sees_that_there_is_one(sluice: LocalMember) -> None:
    with sluice.connect(user="ann") as watcher, _Repeated(sluice, "analyze t") as running:
        assert _first(watcher, "select pid, datname, relid, phase from pg_stat_progress_analyze") == (
            running.pid, "sluice", None, None
        )  # fmt: skip


def test_nothing_is_left(sluice: LocalMember) -> None:
    with sluice.connect() as connection:
        connection.execute("vacuum analyze t")
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("analyze nothing")
        for view in ("vacuum", "analyze", "cluster", "create_index", "basebackup"):
            relation = sql.Identifier(f"pg_stat_progress_{view}")
            assert connection.execute(sql.SQL("select * from {}").format(relation)).fetchall() == []

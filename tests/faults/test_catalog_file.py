"""The catalog's file is removed, replaced, lost, damaged, or locked by another process, while real members run.

(A catalog in PostgreSQL that is not available: `test_catalog_lost.py`.)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from support import storage_ground
from support.local_member import local_member
from support.member_fork import fork_command
from support.member_process import MemberProcess, wait_until
from support.recoveries import Recovery

from engine.catalog.store import sqlite, sqlite_connections
from engine.catalog.store.request_clock import asked_now
from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.runtime.operation_pool import OperationPool
from wire.errors import DataCorrupted, IoError

LAZY = {"SLUICE_SPARK__START": "lazy"}
COUNT = "select count(*) from t"


def catalog_of(data: Path) -> Path:
    return data / ".sluice" / "catalog.sqlite"


def told_at_start(data: Path, *flags: str) -> str:
    """Return the error output of `sluice serve`, which must fail to start with the catalog."""
    words = (
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--mesh",
        "127.0.0.1:0",
        "--console",
        "127.0.0.1:0",
        "--data",
        str(data),
    )
    done = fork_command([*words, *flags], os.environ)
    assert done.returncode == 1, done.stderr
    return done.stderr


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let another process hold an open write transaction."""
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('begin immediate'); "
        "print('locked', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        (sys.executable, "-c", program, str(path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        yield
    finally:
        holder.communicate("")


def test_a_file_that_is_removed_or_replaced_takes_no_commits(tmp_path: Path) -> None:
    """Changes that would be lost are refused. Acknowledged rows are there once the file is back, and after a restart."""
    away, inserted = tmp_path / "away", 0
    with MemberProcess(tmp_path, environment=LAZY) as member, member.connect() as client:
        client.execute("create table t (x int)")
        client.execute("create sequence s")
        for part, replaced in (("", False), ("", True), ("-wal", False), ("-wal", True)):
            file = Path(f"{catalog_of(tmp_path)}{part}")
            file.rename(away)
            if replaced:
                shutil.copyfile(away, file)
            for statement in (
                "insert into t values (0)",
                "create table u ()",
                "select nextval('s')",
                "drop table t",
                COUNT,
            ):
                with pytest.raises(psycopg.errors.UndefinedFile, match="was removed or replaced") as told:
                    client.execute(statement.encode())
                assert told.value.diag.message_hint is not None
            away.rename(file)
            inserted += 1
            client.execute("insert into t values (nextval('s'))")
    with MemberProcess(tmp_path, environment=LAZY) as member, member.connect() as client:
        rows = client.execute("select x from t order by x").fetchall()
        assert rows == [(number,) for number in range(1, inserted + 1)]


def test_an_empty_catalog_beside_tables_is_not_begun_with(tmp_path: Path) -> None:
    catalog, kept = catalog_of(tmp_path), tmp_path / "kept"
    with MemberProcess(tmp_path, environment=LAZY) as member, member.connect() as client:
        client.execute("create table t as select x from generate_series(1, 5) x")
    catalog.rename(kept)
    assert "--allow-empty-catalog" in told_at_start(tmp_path)
    with MemberProcess(tmp_path, "--allow-empty-catalog", environment=LAZY) as member, member.connect() as client:
        assert client.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone() == (0,)
    # Nothing was committed to it yet: it is empty still.
    with pytest.raises(DataCorrupted, match="is empty, but"):
        CatalogStore(catalog, tmp_path / "tables")
    kept.rename(catalog)
    with closing(CatalogStore(catalog, tmp_path / "tables")) as store:
        assert ("public", "t") in store.snapshot.relations


def test_a_damaged_catalog_is_told_at_the_start(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path)
    with closing(CatalogStore(catalog)) as store:
        for number in range(20):
            storage_ground.created(SessionCatalog(store), f"t{number}")
    whole = catalog.read_bytes()
    for damaged in (
        b"no database at all" * 1000,
        whole[:8192] + bytes(4096) + whole[12288:],
        whole[: len(whole) // 2],
        # Pages that are as they should be, and a row that is not.
        whole.replace(b'{"columns":[', b'{"columns":]'),
    ):
        catalog.write_bytes(damaged)
        with pytest.raises(DataCorrupted, match="is damaged"):
            CatalogStore(catalog)
    assert "sluice restore" in told_at_start(tmp_path)
    catalog.write_bytes(whole)
    with closing(CatalogStore(catalog)) as store:
        assert len(list(store.snapshot.tables())) == 20


def test_those_who_wait_for_a_lock_are_told_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty clients ask while two can be served at a time: one after the other would take a minute."""
    monkeypatch.setattr(sqlite_connections, "_BUSY_SECONDS", 1.0)
    database, pool = sqlite.SqliteDatabase(tmp_path / "catalog.sqlite", tmp_path), OperationPool(2)
    try:
        first = database.next_oid()
        with locked(tmp_path / "catalog.sqlite"):
            told = [pool.submit(None, asked_now(database.next_oid)) for _ in range(60)]
            assert not wait(told, timeout=30).not_done
            for each in told:
                with pytest.raises(IoError, match="another process has held its lock"):
                    each.result()
            # What reads waits for nobody.
            assert database.version() == database.load().version == 0
        assert pool.submit(None, asked_now(database.next_oid)).result() == first + 1
    finally:
        pool.close()
        database.close()


@pytest.mark.long
def test_sessions_of_a_member_whose_catalog_is_locked(tmp_path: Path) -> None:
    with MemberProcess(tmp_path, environment=LAZY) as member, ExitStack() as stack:
        clients = [stack.enter_context(member.connect()) for _ in range(8)]
        clients[0].execute("create table t (x int)")
        threads = stack.enter_context(ThreadPoolExecutor(8))

        def insert(client: psycopg.Connection[tuple[object, ...]]) -> Future[object]:
            return threads.submit(client.execute, "insert into t values (1)")

        with locked(catalog_of(tmp_path)):
            fault = Recovery("the catalog's file is locked, eight insert")
            told = [insert(client) for client in clients]
            assert not wait(told, timeout=40).not_done, "told one after the other"
            for each in told:
                with pytest.raises(psycopg.errors.IoError, match="another process has held its lock"):
                    each.result()
            fault.reached("all told")
        for each in [insert(client) for client in clients]:
            each.result()
        assert clients[0].execute(COUNT).fetchone() == (8,)


def test_other_statements_go_on_while_many_wait_for_the_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commits of twenty clients wait for the lock, together on one of two operation threads; clients that only read
    are answered meanwhile.
    """
    monkeypatch.setattr(sqlite_connections, "_BUSY_SECONDS", 600.0)
    with local_member(tmp_path, operation_threads=2) as member, ExitStack() as stack:
        clients = [stack.enter_context(member.connect()) for _ in range(20)]
        reader = stack.enter_context(member.connect())
        reader.execute("create table t (x int)")
        threads = stack.enter_context(ThreadPoolExecutor(20))
        with locked(catalog_of(tmp_path)):
            told = [threads.submit(client.execute, b"insert into t values (1)") for client in clients]
            wait_until(lambda: member.engine.monitor.statistics()["operations"]["aside"] >= 1)
            for number in range(5):
                # A text of its own each time: it is bound and planned on an operation thread.
                assert reader.execute(f"select count(*) + {number} from t".encode()).fetchone() == (number,)
            assert not any(each.done() for each in told)
        for each in told:
            each.result()
        assert reader.execute(COUNT).fetchone() == (20,)

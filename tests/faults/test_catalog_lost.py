"""The catalog database is not available: stopped, so that it neither answers nor breaks a connection, gone, and back.

(What a commit reports whose answer was lost: `tests/cluster/test_shared_catalog.py`.)
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest
from support.fault_ground import Running
from support.member_process import MemberProcess
from support.member_state import wait_idle
from support.postgres_server import PostgresServer
from support.recoveries import Recovery

from engine.catalog.store import postgres
from engine.catalog.store.request_clock import asked_now
from engine.runtime.operation_pool import OperationPool
from wire.errors import IoError

pytestmark = pytest.mark.postgres
COUNT = "select count(*) from t"


@pytest.fixture
def database(postgres_packages: None) -> Iterator[PostgresServer]:
    """A server that the test may break."""
    with PostgresServer() as server:
        yield server


@contextmanager
def stopped(server: PostgresServer) -> Iterator[None]:
    """Stop all processes of the server; the kernel continues to accept connections and bytes for them."""
    postmaster = psutil.Process(server.pid)
    family = [postmaster, *postmaster.children()]
    for process in family:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in family:
            process.send_signal(signal.SIGCONT)


def test_many_ask_a_database_that_is_silent(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each client gets an error within the timeout of one; when the database continues, so do they."""
    monkeypatch.setattr(postgres, "_VERSION_SECONDS", 1.0)
    monkeypatch.setattr(postgres, "_CONNECT_SECONDS", 2)
    catalog = postgres.PostgresDatabase(database.url, tmp_path)
    try:
        assert catalog.version() == 0
        with stopped(database):
            for _ in range(2):
                with pytest.raises(IoError, match="cannot be used"):
                    catalog.version()
        assert catalog.version() == 0
    finally:
        catalog.close()


def test_those_who_wait_for_a_thread_are_told_with_the_others(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six clients ask while two can be served at a time: one of them finds out that the database does not answer."""
    monkeypatch.setattr(postgres, "_VERSION_SECONDS", 1.0)
    monkeypatch.setattr(postgres, "_CONNECT_SECONDS", 2)
    catalog, pool = postgres.PostgresDatabase(database.url, tmp_path), OperationPool(2)
    asked: list[postgres.Connection] = []
    version = postgres._version

    def asking(connection: postgres.Connection) -> int:
        asked.append(connection)
        return version(connection)

    try:
        assert catalog.version() == 0
        monkeypatch.setattr(postgres, "_version", asking)
        with stopped(database):
            told = [pool.submit(None, asked_now(catalog.version)) for _ in range(6)]
            for each in told:
                with pytest.raises(IoError, match="cannot be used"):
                    each.result()
        assert len(asked) == 1
        assert pool.submit(None, asked_now(catalog.version)).result() == 0
    finally:
        pool.close()
        catalog.close()


@pytest.mark.long
def test_a_member_whose_catalog_stands_still_and_goes_on(database: PostgresServer, tmp_path: Path) -> None:
    environment = {"SLUICE_SPARK__START": "lazy", "SLUICE_CATALOG": database.url}
    with MemberProcess(tmp_path, environment=environment) as member, ExitStack() as stack:
        clients = [stack.enter_context(member.connect()) for _ in range(8)]
        clients[0].execute("create table t as select x from generate_series(1, 1000) x")
        reading = clients[1]
        reading.execute("begin")
        reading.execute("declare c cursor for select x from t")
        assert len(reading.execute("fetch 10 from c").fetchall()) == 10
        with stopped(database):
            fault = Recovery("the catalog is silent, six ask")
            running = [Running(client, COUNT) for client in clients[2:]]
            for each in running:
                with pytest.raises(psycopg.errors.IoError, match="cannot be used"):
                    each.result()
            fault.reached("all told")
        fault = Recovery("the catalog answers again")
        assert len(reading.execute("fetch all from c").fetchall()) == 990
        reading.execute("commit")
        for client in clients:
            assert client.execute(COUNT).fetchone() == (1000,)
        fault.reached("eight sessions answered")
        clients[0].execute("insert into t values (0)")
        assert clients[1].execute(COUNT).fetchone() == (1001,)
        clients[0].execute("drop table t")
        stack.close()
        wait_idle(member)

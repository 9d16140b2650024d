"""Checks for commits of other members: which statements make one, and which reuse the result of another statement's
recent check.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from support.catalog_writer import table
from support.local_member import LocalMember, local_member

from engine.catalog.store.store import CatalogStore
from engine.catalog.store.transaction import SessionCatalog
from engine.engine import Engine
from engine.exchange.listener import DataListener
from engine.executors.engine_config import EngineConfig, SparkConfig


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    listener = DataListener("127.0.0.1", 0)
    await listener.start()
    engine = Engine(EngineConfig(tmp_path, spark=SparkConfig(start="lazy")), listener)
    await engine.start()
    yield engine
    await engine.close()
    await listener.close()


def _commit_elsewhere(engine: Engine, name: str) -> None:
    """Commit a table as another member does."""
    with closing(CatalogStore(engine.config.catalog_location, engine.tables)) as store:
        catalog = SessionCatalog(store)
        catalog.objects.put(table(catalog.objects.new_oid(), name))


def _sees(engine: Engine, name: str) -> bool:
    return ("public", name) in engine.store.snapshot.relations


async def test_a_look_that_began_after_a_message_arrived_serves_its_statement(engine: Engine) -> None:
    arrived = time.monotonic()
    await engine.see_commits()
    _commit_elsewhere(engine, "t")
    await engine.see_commits(arrived)
    assert not _sees(engine, "t")


async def test_a_message_that_arrived_after_the_look_has_the_catalog_looked_at_again(engine: Engine) -> None:
    await engine.see_commits()
    _commit_elsewhere(engine, "t")
    await engine.see_commits(time.monotonic())
    assert _sees(engine, "t")


async def test_a_statement_without_a_message_looks_in_any_case(engine: Engine) -> None:
    await engine.see_commits()
    _commit_elsewhere(engine, "t")
    await engine.see_commits()
    assert _sees(engine, "t")


@pytest.fixture
def member(tmp_path: Path) -> Iterator[LocalMember]:
    with local_member(tmp_path) as member:
        yield member


def test_a_statement_sees_what_was_committed_while_the_one_before_it_ran(member: LocalMember) -> None:
    with member.connect() as connection, ThreadPoolExecutor(1) as thread:
        # Its session lets go of the lock when it ends, and looks for nothing.
        other = member.connect()
        other.execute("select pg_advisory_lock(1)")
        asked = thread.submit(connection.execute, "select pg_advisory_lock(1); select to_regclass('later')::text")
        while not member.engine.advisory_locks._waiting:
            time.sleep(0.01)
        _commit_elsewhere(member.engine, "later")
        other.close()
        answers = asked.result()
        answers.nextset()
        assert answers.fetchone() == ("later",)

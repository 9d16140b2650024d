"""The cursor of a statement, and which statement owns it when an interrupt arrives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from engine.executors.engine_config import EngineConfig
from engine.executors.local.database import LocalDatabase
from engine.executors.local.statement_cursor import Databases, StatementCursor
from engine.executors.local.work import LocalWork

_SCHEMA = pa.schema([("c1", pa.int64())])
_LONG = "SELECT COUNT(*) AS c1 FROM RANGE(100000000) AS a, RANGE(1000000) AS b WHERE a.range % 7 = b.range % 11"


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[Databases]:
    database = LocalDatabase(EngineConfig(tmp_path / "member"))
    yield Databases(database, database, None)
    database.close()


def _statement(databases: Databases, text: str) -> StatementCursor:
    return StatementCursor(databases, LocalWork(text, _SCHEMA, 1 << 20))


def test_a_statement_is_interrupted(databases: Databases) -> None:
    statement = _statement(databases, _LONG)
    statement.borrow()
    ended = threading.Event()

    def interrupt() -> None:
        while not ended.wait(0.01):
            statement.interrupt()

    def run() -> None:
        statement.start({}, 2048, again=False)
        statement.reader.read_next_batch()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(duckdb.InterruptException):
            run()
    finally:
        ended.set()
        thread.join()
        statement.release(healthy=False)


def test_who_has_borrowed_the_cursor_since_is_not_interrupted(databases: Databases) -> None:
    first, second = (_statement(databases, f"SELECT {number}::BIGINT AS c1 FROM RANGE(5000)") for number in (1, 2))
    first.start({}, 2048, again=False)
    cursor = first.cursor
    first.reader.read_all()
    first.release()
    second.start({}, 2048, again=False)
    assert second.cursor is cursor
    first.interrupt()
    assert second.reader.read_all().num_rows == 5000
    second.release()
    second.interrupt()


def test_a_cursor_outlives_the_database_that_is_retired(tmp_path: Path) -> None:
    database = LocalDatabase(EngineConfig(tmp_path / "member"))
    databases = Databases(database, database, None)
    first, second = (_statement(databases, "SELECT 1::BIGINT AS c1") for _ in range(2))
    for statement in (first, second):
        statement.borrow()
    database.retire()
    first.start({}, 2048, again=False)
    assert first.reader.read_all().num_rows == 1
    first.release()
    second.start({}, 2048, again=False)
    assert second.reader.read_all().num_rows == 1
    kept = second.cursor
    second.release()
    assert database.statistics() == {"cursors": 0, "idle_cursors": 0}
    assert kept is not None
    with pytest.raises(duckdb.ConnectionException):
        kept.run("SELECT 1::BIGINT AS c1", (), 2048, {}, in_memory=False)

"""Statements that DuckDB takes long to plan: they take turns. A cancelled statement does not wait for its plan, and
neither does an executor that closes.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import pytest_asyncio
from support.session_server import eventually

from engine.common import fragment_pool
from engine.executors.engine_config import EngineConfig
from engine.executors.local import abandonment
from engine.executors.local.executor import LocalExecutor
from engine.executors.local.work import LocalWork
from wire.errors import QueryCanceled

_SCHEMA = pa.schema([("c1", pa.int32())])


class Planning:
    """A statement whose planning takes until `go`: its parameters are looked for as it begins, on the thread that plans it."""

    def __init__(self, characters: int, statement: str = "SELECT 1 AS c1") -> None:
        self.began, self.go = threading.Event(), threading.Event()
        self.work = LocalWork(statement + " " * characters, _SCHEMA, 2048, find=self._find)

    def _find(self) -> Mapping[str, Any]:
        self.began.set()
        assert self.go.wait(60)
        return {}


@pytest_asyncio.fixture
async def executor(tmp_path: Path) -> AsyncIterator[LocalExecutor]:
    executor = LocalExecutor(EngineConfig(tmp_path, fragment_threads=2))
    await executor.start()
    yield executor
    await executor.close()
    assert executor.statistics() == {"streams": 0}


@pytest.mark.parametrize("characters", [100_000, 0])
async def test_who_closes_a_statement_does_not_wait_for_its_plan(executor: LocalExecutor, characters: int) -> None:
    """A short one may take DuckDB long, too: the client is told that it was canceled."""
    long = Planning(characters)
    stream = executor.run(long.work)
    assert await asyncio.to_thread(long.began.wait, 60)
    async with asyncio.timeout(30):
        await stream.close()
    assert executor.statistics()["streams"] == 1
    with pytest.raises(QueryCanceled):
        await stream.next_batch()
    long.go.set()
    await eventually(lambda: executor.statistics()["streams"] == 0)
    assert executor.statistics()["cursors"] == 0


@pytest.mark.parametrize(
    ("statement", "characters"),
    [
        ("SELECT 1 AS c1", 100_000),
        (f"SELECT 1 AS c1 /* {'COUNT(DISTINCT a), ' * 101} */", 0),
        (f"SELECT 1 AS c1 /* {'EXISTS(SELECT 1) ' * 13} */", 0),
    ],
    ids=["a long text", "many aggregates of DISTINCT", "many subqueries"],
)
async def test_long_statements_take_turns(executor: LocalExecutor, statement: str, characters: int) -> None:
    """The second and the third wait for the first, and a thread is left to a short one."""
    works = [Planning(characters, statement) for _ in range(3)]
    streams = [executor.run(each.work) for each in works]
    assert await asyncio.to_thread(works[0].began.wait, 60)
    short = executor.run(LocalWork("SELECT 2 AS c1", _SCHEMA, 2048))
    async with asyncio.timeout(30):
        batch = await short.next_batch()
    assert batch is not None
    assert batch.to_pydict() == {"c1": [2]}
    await short.close()
    assert [each.began.is_set() for each in works] == [True, False, False]
    await streams[1].close()
    for each in works:
        each.go.set()
    for stream in (streams[0], streams[2]):
        batch = await stream.next_batch()
        assert batch is not None
        await stream.close()
    assert not works[1].began.is_set()


async def test_who_cancels_does_not_use_up_the_threads(executor: LocalExecutor) -> None:
    """Of two threads, three plan what was given up, and a short statement has one; the last who cancels waits."""
    aside = fragment_pool.ASIDE_MAX
    long = [Planning(0) for _ in range(aside + 1)]
    streams = []
    for each in long:
        streams.append(executor.run(each.work))
        assert await asyncio.to_thread(each.began.wait, 60)
        if each is not long[-1]:
            async with asyncio.timeout(30):
                await streams[-1].close()
    last = asyncio.ensure_future(streams[-1].close())
    done, _ = await asyncio.wait([last], timeout=0.5)
    assert not done
    short = executor.run(LocalWork("SELECT 2 AS c1", _SCHEMA, 2048))
    async with asyncio.timeout(30):
        assert await short.next_batch() is not None
    await short.close()
    long[0].go.set()
    async with asyncio.timeout(30):
        await last
    for each in long:
        each.go.set()
    await eventually(lambda: executor.statistics()["streams"] == 0)


async def test_an_executor_waits_for_what_it_plans(tmp_path: Path) -> None:
    executor = LocalExecutor(EngineConfig(tmp_path, fragment_threads=2))
    await executor.start()
    long = Planning(100_000)
    stream = executor.run(long.work)
    assert await asyncio.to_thread(long.began.wait, 60)
    await stream.close()
    closing = asyncio.ensure_future(executor.close())
    done, _ = await asyncio.wait([closing], timeout=0.5)
    assert not done
    long.go.set()
    await closing
    assert executor.statistics() == {"streams": 0}
    assert executor.abandoned_threads == []


async def test_an_executor_abandons_what_is_not_planned_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """All threads plan, one statement waits for a thread, and one for its turn."""
    monkeypatch.setattr(abandonment, "ABANDON_SECONDS", 0.1)
    executor = LocalExecutor(EngineConfig(tmp_path, fragment_threads=2))
    await executor.start()
    long = [Planning(100_000), Planning(0), Planning(0), Planning(100_000)]
    for each in long:
        executor.run(each.work)
        if each in long[:2]:
            assert await asyncio.to_thread(each.began.wait, 60)
    with caplog.at_level(logging.ERROR):
        async with asyncio.timeout(60):
            await executor.close()
    assert executor.statistics() == {"streams": 0}
    assert not any(each.began.is_set() for each in long[2:])
    threads = {thread.name: thread for thread in threading.enumerate() if thread.name in executor.abandoned_threads}
    assert len(threads) == 2
    assert all(f"thread {name}" in caplog.text and "SELECT 1 AS c1" in caplog.text for name in threads)
    for each in long:
        each.go.set()
    for thread in threads.values():
        await asyncio.to_thread(thread.join, 60)
        assert not thread.is_alive()

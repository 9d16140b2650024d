"""The longest waits for the event loop and the pools are measured, those that have not ended too."""

from __future__ import annotations

import asyncio
import threading
import time

from support.session_server import eventually

from engine.common.pool_calls import Call
from engine.runtime.operation_pool import OperationPool
from engine.runtime.stall_watch import StallWatch


async def test_a_loop_that_computes_is_late() -> None:
    watch = StallWatch({})
    watch.start()
    before = watch.statistics()["loop_stalls"]
    time.sleep(1)  # noqa: ASYNC251 (that is what is watched)
    await eventually(lambda: watch.statistics()["loop_ms_max"] >= 500)
    assert watch.statistics()["loop_stalls"] > before
    watch.close()


async def test_a_pool_whose_threads_are_all_at_work_is_seen_before_they_are_free() -> None:
    pool, go = OperationPool(2), threading.Event()
    watch = StallWatch({"operations": lambda call: pool.post(None, call)})
    for _ in range(2):
        pool.post(None, go.wait)
    watch.start()
    await eventually(lambda: watch.statistics()["operations_ms_max"] >= 300)
    go.set()
    await eventually(lambda: pool.statistics()["running"] == 0)
    worst = watch.statistics()["operations_ms_max"]
    watch.close()
    await asyncio.to_thread(pool.close)
    assert watch.statistics()["operations_ms_max"] >= worst >= 300


async def test_a_pool_is_never_asked_twice_at_once() -> None:
    calls: list[Call] = []
    watch = StallWatch({"operations": calls.append})
    watch.start()
    await eventually(lambda: len(calls) == 1)
    await asyncio.sleep(0.6)
    assert len(calls) == 1
    calls.pop()()
    await eventually(lambda: len(calls) == 1)
    watch.close()


async def test_a_closed_pool_does_not_end_the_watch() -> None:
    pool, calls = OperationPool(1), list[Call]()
    await asyncio.to_thread(pool.close)
    watch = StallWatch({"closed": lambda call: pool.post(None, call), "operations": calls.append})
    watch.start()
    for _ in range(2):
        await eventually(lambda: len(calls) == 1)
        calls.pop()()
    statistics = watch.statistics()
    watch.close()
    assert statistics["closed_ms_max"] == 0

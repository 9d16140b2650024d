"""Processes of the simulation: turns of their event loops, pauses, kills, clocks."""

from __future__ import annotations

import asyncio

from simulated.network import Network
from simulated.pools import SimulatedPool
from simulated.world import Process, World


def _process(world: World, **more: object) -> Process:
    process = Process(world, Network(world, (1e-5, 1e-3)), "a", **more)  # type: ignore[arg-type]
    process.pool = SimulatedPool(process, 1)
    return process


def test_calls_run_in_order_and_timers_in_time() -> None:
    world = World(1)
    process = _process(world)
    said: list[str] = []
    process.do(lambda: process.call_later(0.2, said.append, "later"))
    process.do(lambda: process.call_later(0.1, said.append, "sooner"))
    process.do(lambda: process.call_later(0.05, said.append, "never")).cancel()
    process.do(lambda: process.call_soon(said.append, "first"))
    process.do(lambda: process.call_soon(said.append, "second"))
    world.run(lambda: False, 1.0)
    assert said == ["first", "second", "sooner", "later"]


def test_who_is_paused_does_nothing_and_finds_that_time_has_passed() -> None:
    world = World(1)
    process = _process(world)
    woken: list[float] = []

    async def sleep() -> None:
        await asyncio.sleep(0.1)
        woken.append(world.now)

    process.start(sleep())
    world.run(lambda: False, 0.05)
    process.pause()
    world.run(lambda: False, 5.0)
    assert woken == []
    process.go_on()
    world.run(lambda: False, 6.0)
    assert len(woken) == 1
    assert woken[0] >= 5.0


def test_who_is_killed_has_no_last_word() -> None:
    world = World(1)
    process = _process(world)
    said: list[str] = []

    async def live() -> None:
        try:
            await asyncio.sleep(1.0)
        finally:
            said.append("goodbye")

    process.start(live())
    world.run(lambda: False, 0.5)
    process.kill()
    world.run(lambda: False, 5.0)
    assert said == []
    world.bury([process])
    assert said == ["goodbye"], "what it held is given back when it is buried"
    assert process.tasks() == []


def test_a_clock_may_be_wrong() -> None:
    world = World(1)
    fast = _process(world, skew=(100.0, 2.0))
    woken: list[float] = []

    async def sleep() -> None:
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(1.0)
        woken.append(asyncio.get_running_loop().time() - began)

    fast.start(sleep())
    world.run(lambda: bool(woken), 5.0)
    assert woken[0] >= 1.0
    assert world.now < 0.6, "it counts two seconds for one"


def test_threads_of_a_process_take_time_and_stand_when_it_does() -> None:
    world = World(1)
    process = _process(world)

    async def work() -> int:
        return await asyncio.get_running_loop().run_in_executor(None, lambda: 42)

    task = process.start(work())
    world.run(lambda: False, 1e-6)
    process.pause()
    world.run(lambda: False, 1.0)
    assert not task.done()
    process.go_on()
    assert world.run(task.done, 2.0)
    assert task.result() == 42

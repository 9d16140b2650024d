"""Waits that no number of cancels interrupts, cancelled at each turn of the event loop."""

from __future__ import annotations

import asyncio

import pytest

from engine.common.shielded import closed_in_turn, shielded, stop_task, together

TURNS = 6


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("cancels", range(4))
async def test_a_call_ends_whatever_number_of_cancels_come(cancels: int) -> None:
    call: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    waiting = asyncio.ensure_future(shielded(call))
    for _ in range(cancels):
        await turns(2)
        waiting.cancel()
    await turns(2)
    assert not waiting.done()
    call.set_result(7)
    if cancels:
        with pytest.raises(asyncio.CancelledError):
            await waiting
    else:
        assert await waiting == 7


async def test_all_have_ended_when_the_first_error_is_told() -> None:
    ended: list[str] = []

    async def fails() -> None:
        raise ValueError("the first")

    async def clears_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await turns(3)
            ended.append("cleared up")

    with pytest.raises(ValueError, match="the first"):
        await together(clears_up(), fails(), clears_up())
    assert ended == ["cleared up"] * 2


@pytest.mark.parametrize("first", range(TURNS))
@pytest.mark.parametrize("second", range(TURNS))
async def test_each_of_several_is_cancelled_once(first: int, second: int) -> None:
    """One ends at once, the other clears up for a while: two cancels of who waits break neither."""
    ended: list[str] = []

    async def ends_at_once() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("at once")

    async def clears_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await turns(3)
            ended.append("later")

    waiting = asyncio.ensure_future(together(ends_at_once(), clears_up()))
    await turns(2 + first)
    waiting.cancel()
    await turns(second)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended == ["at once", "later"]


async def test_what_a_stopped_task_comes_to_is_nobodys_concern() -> None:
    async def fails() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError

    task = asyncio.ensure_future(fails())
    await turns(1)
    await stop_task(task)
    assert task.done()


async def test_every_step_of_a_close_is_taken_and_the_first_error_told() -> None:
    taken: list[int] = []

    async def step(number: int, error: Exception | None = None) -> None:
        taken.append(number)
        await turns(1)
        if error is not None:
            raise error

    with pytest.raises(ValueError, match="first"):
        await closed_in_turn(
            lambda: step(1),
            lambda: step(2, ValueError("first")),
            lambda: taken.append(3),
            lambda: step(4, KeyError("second")),
            lambda: None,
            lambda: step(5),
        )
    assert taken == [1, 2, 3, 4, 5]

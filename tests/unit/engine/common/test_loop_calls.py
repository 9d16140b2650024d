"""Calls that other threads pass to an event loop."""

from __future__ import annotations

import asyncio
import threading

from engine.common.loop_calls import call_on_loop


async def test_a_call_of_another_thread_runs_on_the_loop_s() -> None:
    ran: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()

    def call(text: str) -> None:
        ran.set_result((threading.get_ident(), text))

    await asyncio.to_thread(call_on_loop, asyncio.get_running_loop(), call, "text")
    assert await ran == (threading.get_ident(), "text")


def test_a_closed_loop_runs_nothing() -> None:
    loop, calls = asyncio.new_event_loop(), list[int]()
    loop.close()
    call_on_loop(loop, calls.append, 1)
    assert calls == []

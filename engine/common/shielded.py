"""Waits that repeated cancellation does not break.

Theory. A task may be cancelled any number of times: by the code that stops its query, again by the code that closes the
stream that it feeds, again by the event loop that ends. A cancel breaks the one await at which the task stands. So an
await in a `finally`, or in a handler of the first cancel, is broken by the second, and the operation that it waited for
goes on unattended: a call on a thread with a cursor that another task then uses, a stream that nobody releases. So code
that must not leave before something has ended waits here: cancels that arrive meanwhile are kept, and raised once it
has ended.

`asyncio.gather` is not suitable for such waits. It passes a cancel on to everything that it runs and returns with the
first that ends, not the last, so the code that cleans up after it cancels the others a second time, in the middle of
their own cleanup. `together` is `asyncio.TaskGroup`, which cancels each task once and waits for all, except that it
raises the first error and not a group of them.

The awaited operation must end by itself or have been stopped before.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

_log = logging.getLogger(__name__)
T = TypeVar("T")


async def wait_out(*futures: asyncio.Future[Any]) -> None:
    """Wait until all are done, whatever their outcome. Raises CancelledError afterwards if the caller was cancelled
    meanwhile.
    """
    cancelled: asyncio.CancelledError | None = None
    while left := [future for future in futures if not future.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


async def shielded(call: Awaitable[T]) -> T:
    """Await a call that cannot be stopped half-way: one on a thread, or a shutdown. Cancels are delivered after it has
    ended; if there were any, an error of the call is not raised.
    """
    future = asyncio.ensure_future(call)
    try:
        await wait_out(future)
    except asyncio.CancelledError as cancelled:
        if not future.cancelled() and (error := future.exception()) is not None:
            raise cancelled from error
        raise
    return future.result()


async def stop_task(task: asyncio.Future[Any]) -> None:
    """Cancel a task once, and wait until it has ended. Its outcome is ignored."""
    task.cancel()
    await wait_out(task)
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log that it never was


async def together(*work: Coroutine[Any, Any, T]) -> list[T]:
    """Run all concurrently and return their results in order. The first error, or a cancel, stops the others; all have
    ended when this returns or raises.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as errors:
        first = errors.exceptions[0]
    else:
        return [task.result() for task in tasks]
    raise first


async def closed_in_turn(*steps: Callable[[], Awaitable[object] | object]) -> None:
    """Run every step of a close in this order, whatever the outcome of the preceding ones. Errors are logged as they
    occur; the first one, or a cancel, is raised after the last step.
    """
    await awaited_in_turn(*(functools.partial(_close, step) for step in steps))


async def _close(step: Callable[[], Awaitable[object] | object]) -> None:
    try:
        taken = step()
        if isinstance(taken, Awaitable):
            await shielded(taken)
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        _log.error("something could not be closed in order", exc_info=error)
        raise


async def awaited_in_turn(*steps: Callable[[], Awaitable[object]]) -> None:
    """Await every step in this order, whatever the outcome of the preceding ones. The first error is raised after the
    last step. The steps get no task of their own, so a cancel must break none of them.
    """
    first: BaseException | None = None
    for step in steps:
        try:
            await step()
        except BaseException as error:  # noqa: BLE001 - the following steps must run all the same
            first = first or error
    if first is not None:
        raise first

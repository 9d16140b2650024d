"""Awaiting a call that runs on a thread and cannot be stopped there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def to_its_end(call: Awaitable[T]) -> T:
    """Await a call on a thread; a cancel waits for it, as nobody else may use what it uses meanwhile."""
    future = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait([future])
        raise

"""Passes calls to an event loop from any thread, also while the loop may be closing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any


def call_on_loop(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: Any) -> None:
    """Run a call on the loop's thread. A loop that is closed does not run it.

    The loop is not asked first whether it is closed, because its thread may close it between the question and the call.
    """
    # The only error of `call_soon_threadsafe`: the loop is closed.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *args)
